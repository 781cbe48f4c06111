"""The networks inside the package, each with its source."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import as_file, files
from typing import Any

from p0sim.errors import InvalidNetworkError
from p0sim.model.edge_files import read_network
from p0sim.model.networks import Network
from p0sim.validation import nearest


def load_network(name: str) -> Network:
    """One of the embedded networks.

    Parameters
    ----------
    name : str
        "fraternity": how often each of 58 members of a fraternity recalled talking to each other
        one, 0 (least) to 4; every ordered pair was rated (Bernard, Killworth and Sailer 1980).

    Returns
    -------
    Network

    Raises
    ------
    InvalidNetworkError
        If no network has this name.

    Examples
    --------
    >>> load_network("fraternity")
    Network(n=58, q=5, arcs=2934)
    """
    known = sources()
    if name not in known:
        raise InvalidNetworkError(
            f"network must be one of {', '.join(known)}; got {name!r}, "
            f"did you mean {nearest(name, known)!r}?"
        )
    with as_file(files(__package__) / f"{name}.csv") as path:
        return read_network(path, q=known[name]["q"])


@cache
def sources() -> dict[str, dict[str, Any]]:
    """What each embedded network is and where it comes from, by name."""
    return tomllib.loads((files(__package__) / "sources.toml").read_text(encoding="utf-8"))
