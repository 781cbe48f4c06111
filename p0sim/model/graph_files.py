"""Graphs in GraphML files, read by networkx."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from p0sim.errors import InvalidNetworkError
from p0sim.model.arcs import Arcs, objects
from p0sim.model.file_content import file_bytes
from p0sim.validation import shown

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
NUMBERS = ("int", "integer", "long", "float", "double")


def arcs_of_graphml(path: Path) -> Arcs:
    """Arcs of a directed GraphML graph, in the order of the file.

    Raises
    ------
    InvalidNetworkError
        If it cannot be read or is no directed graph; the rules of arcs are not checked yet.
    """
    arcs, directed = edges_of_graphml(path)
    if not directed:
        raise InvalidNetworkError(
            f'graph must be directed; got {path} with edgedefault="undirected" (write each arc, '
            'or both of an edge, with edgedefault="directed")'
        )
    return arcs


def edges_of_graphml(path: Path) -> tuple[Arcs, bool]:
    """Edges of a GraphML graph in the order of the file, and whether they are directed.

    networkx would drop an edge whose id another has, read 1_0 as 10, leave the default of a weight
    aside and forget a second graph. So each edge gets its number as id first, weights become text,
    and what is neither node, edge nor weight goes.

    Raises
    ------
    InvalidNetworkError
        If it cannot be read; the rules of edges are not checked yet.
    """
    root = _root(path)
    default = _leave_weights_only(root, path)
    graph = _graph(root, path)
    edges = sorted(graph.edges(keys=True, data="weight", default=default), key=lambda e: e[2])
    source, target, number, weight = (objects(edge[k] for edge in edges) for k in range(4))
    if default is None and all(value is None for value in weight):
        weight = np.ones(len(edges), dtype=np.int64)
    arcs = Arcs(source, target, weight, lambda k: f"in edge {number[k]} of {path}", list(graph))
    return arcs, graph.is_directed()


def _root(path: Path) -> Element:
    try:
        root = ElementTree.fromstring(file_bytes(path))
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise InvalidNetworkError(f"file must be GraphML; got {path}: {error}") from None
    for element in root.iter():
        element.tag = f"{{{NAMESPACE}}}{_kind(element)}"
    graphs = len(list(_all(root, "graph")))
    if _kind(root) != "graphml" or graphs != 1:
        raise InvalidNetworkError(f"file must hold one GraphML graph; got {path} with {graphs}")
    return root


def _kind(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _all(root: Element, kind: str) -> Iterator[Element]:
    return root.iter(f"{{{NAMESPACE}}}{kind}")


def _leave_weights_only(root: Element, path: Path) -> str | None:
    """Strip all but nodes, edges and weights as text; the default weight, if one is declared."""
    keys = [key for key in _all(root, "key") if key.get("for", "all") in ("edge", "all")]
    weights = {key.get("id"): key for key in keys if key.get("attr.name") == "weight"}
    numbers = [key.get("attr.name") for key in keys if key.get("attr.type") in NUMBERS]
    if numbers and not weights:
        raise InvalidNetworkError(
            f"edges of {path} must have their weight in the attribute 'weight'; "
            f"got numbers in {shown(numbers[0])} and no weight"
        )
    for key in weights.values():
        key.set("attr.type", "string")
    _strip(root, lambda child: _kind(child) == "key" and child.get("id") not in weights)
    for number, edge in enumerate(_all(root, "edge"), 1):
        edge.set("id", str(number))
        _strip(edge, lambda child: child.get("key") not in weights)
    for node in _all(root, "node"):
        _strip(node, lambda child: True)
    texts = [key.findtext(f"{{{NAMESPACE}}}default") for key in weights.values()]
    return next((text for text in texts if text is not None), None)


def _strip(parent: Element, goes: Callable[[Element], bool]) -> None:
    for child in list(parent):
        if goes(child):
            parent.remove(child)


def _graph(root: Element, path: Path) -> Any:
    import networkx as nx

    declared = _declared(root, path)
    text = ElementTree.tostring(root, encoding="unicode")
    try:
        graph = nx.parse_graphml(text, force_multigraph=True)
    except nx.NetworkXError as error:
        raise InvalidNetworkError(f"file must be GraphML; got {path}: {error}") from None
    for number, edge in enumerate(_all(root, "edge"), 1):
        for end in (edge.get("source"), edge.get("target")):
            if end not in declared:
                raise InvalidNetworkError(
                    f"node must be declared; got {shown(end)} in edge {number} of {path}"
                )
    return graph


def _declared(root: Element, path: Path) -> set[str | None]:
    """Ids of the nodes; networkx would make one node of two."""
    ids: set[str | None] = set()
    for node in _all(root, "node"):
        if node.get("id") in ids:
            raise InvalidNetworkError(
                f"node must be declared once; got {shown(node.get('id'))} twice in {path}"
            )
        ids.add(node.get("id"))
    return ids
