"""The networks inside the package, each with its source."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

from p0sim.errors import InvalidNetworkError
from p0sim.model.edge_files import arcs_of_file
from p0sim.model.networks import Network, from_arcs
from p0sim.validation import nearest

if TYPE_CHECKING:
    import pandas as pd

DESCRIPTION = ("title", "n", "q", "arcs", "weight")


def load_network(name: str) -> Network:
    """One of the embedded networks.

    Parameters
    ----------
    name : str
        "fraternity": how often each of 58 members of a fraternity recalled talking to each other
        one, 0 (least) to 4; every ordered pair was rated (Bernard, Killworth and Sailer 1980).
        "eies": how well 32 researchers knew each other, 0 (not) to 4 (close friend), at the end of
        a study of electronic mail (Freeman and Freeman 1979).
        "lazega": how many of three relations, advice, friendship and co-work, lead from one of 71
        lawyers to another, 0 to 3 (Lazega 2001).

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
    entry = known[name]
    labels = [str(k) for k in range(1, entry["n"] + 1)]
    with as_file(files(__package__) / entry["file"]) as path:
        return from_arcs(arcs_of_file(path), entry["q"], labels)


def describe_networks() -> pd.DataFrame:
    """The embedded networks, one a row.

    Returns
    -------
    DataFrame
        Columns name, title, n (nodes), q (weights lie in 0..q-1), arcs (of positive weight),
        weight (what it measures) and citation.

    Examples
    --------
    >>> describe_networks()[["name", "n", "q", "arcs"]]
             name   n  q  arcs
    0  fraternity  58  5  2934
    1        eies  32  5   759
    2      lazega  71  4  1574
    """
    import pandas as pd

    rows = [
        {"name": name}
        | {key: entry[key] for key in DESCRIPTION}
        | {"citation": " ".join(entry["citation"])}
        for name, entry in sources().items()
    ]
    return pd.DataFrame(rows)


@cache
def sources() -> dict[str, dict[str, Any]]:
    """What each embedded network is and where it comes from, by name."""
    return tomllib.loads((files(__package__) / "sources.toml").read_text(encoding="utf-8"))
