"""The networks and graphs inside the package, each with its source."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

from p0sim.errors import InvalidNetworkError
from p0sim.linkpred.graph_facts import average_degree, clustering, diameter
from p0sim.linkpred.graphs import Graph, read_graph
from p0sim.model.edge_files import arcs_of_file
from p0sim.model.networks import Network, as_network, from_arcs
from p0sim.validation import one_of

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
        The graphs of :func:`load_graph` are networks too, each edge an arc both ways, q = 2.

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
    entry = _entry(name, sources(), "network")
    if not entry["directed"]:
        return as_network(load_graph(name).adjacency, entry["q"], _labels(entry))
    with as_file(files(__package__) / entry["file"]) as path:
        return from_arcs(arcs_of_file(path), entry["q"], _labels(entry))


def load_graph(name: str) -> Graph:
    """One of the embedded undirected graphs, on which link prediction was studied.

    Parameters
    ----------
    name : str
        "usair": air lines; "celegans": neurons; "yeast": proteins; "facebook": friends; "ns":
        coauthors; "pb": political blogs; "power": stations of a power grid; "ecoli": metabolites.

    Returns
    -------
    Graph
        Nodes are numbered "1".."n" in the order of the source.

    Raises
    ------
    InvalidNetworkError
        If no graph has this name.

    Examples
    --------
    >>> load_graph("usair")
    Graph(n=332, edges=2126)
    """
    entry = _entry(name, _of_kind(directed=False), "graph")
    with as_file(files(__package__) / entry["file"]) as path:
        read = read_graph(path, _labels(entry))
    # a file of the package is nobody's data: what is spent on it is not recorded beside it
    return Graph(read.adjacency, read.nodes)


def graph_names() -> tuple[str, ...]:
    """Names that :func:`load_graph` takes."""
    return tuple(_of_kind(directed=False))


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
        for name, entry in _of_kind(directed=True).items()
    ]
    return pd.DataFrame(rows)


def describe_graphs() -> pd.DataFrame:
    """The embedded undirected graphs, one a row, every figure computed from the graph itself.

    Returns
    -------
    DataFrame
        Columns name, V (nodes), E (edges), average_degree (2E/V), clustering (global transitivity),
        diameter (inf where some nodes are not connected) and title.

    References
    ----------
    .. [1] De, A. and Chakrabarti, S., Differentially private link prediction with protected
       connections, arXiv 1908.04849 version 1: Table 2.

    Examples
    --------
    >>> describe_graphs()[["name", "V", "E", "diameter"]].head(2)
           name    V     E  diameter
    0     usair  332  2126       6.0
    1  celegans  297  2148       5.0
    """
    import pandas as pd

    return pd.DataFrame([_figures(name) for name in _of_kind(directed=False)])


@cache
def sources() -> dict[str, dict[str, Any]]:
    """What each embedded network is and where it comes from, by name."""
    return tomllib.loads((files(__package__) / "sources.toml").read_text(encoding="utf-8"))


def _figures(name: str) -> dict[str, object]:
    graph = load_graph(name)
    return {
        "name": name,
        "V": graph.n,
        "E": graph.n_edges,
        "average_degree": average_degree(graph),
        "clustering": clustering(graph),
        "diameter": diameter(graph),
        "title": sources()[name]["title"],
    }


def _of_kind(*, directed: bool) -> dict[str, dict[str, Any]]:
    return {name: entry for name, entry in sources().items() if entry["directed"] == directed}


def _entry(name: str, known: dict[str, dict[str, Any]], kind: str) -> dict[str, Any]:
    if name not in known:
        raise InvalidNetworkError(f"{kind} must be {one_of(name, known)}")
    return known[name]


def _labels(entry: dict[str, Any]) -> list[str]:
    return [str(k) for k in range(1, entry["n"] + 1)]
