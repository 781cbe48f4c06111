"""Graphs that a study of recommendations runs on: embedded ones, and files of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from p0sim.arrays import IntVector
from p0sim.datasets import graph_names, load_graph
from p0sim.errors import InvalidStudyError, P0SimError
from p0sim.experiments.sources import digest_of
from p0sim.linkpred.graphs import Graph, read_graph
from p0sim.linkpred.splits import query_nodes
from p0sim.model.file_content import file_bytes
from p0sim.validation import one_of


class GraphSection(BaseModel):
    """[model.graphs.NAME]: a graph of one's own, which the factor dataset may name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    nodes: str | None = None
    symmetrise: bool = False


@dataclass(frozen=True)
class GraphSource:
    """Where the graph of a dataset comes from.

    Attributes
    ----------
    name : str
    file, nodes : Path or None
        As for :func:`~p0sim.linkpred.graphs.read_graph`; an embedded graph has none.
    symmetrise : bool
    digest : str
        Hash of the files' content, so that a changed file is another study; empty for an embedded
        graph.
    """

    name: str
    file: Path | None = None
    nodes: Path | None = None
    symmetrise: bool = False
    digest: str = ""

    @property
    def material(self) -> tuple[Graph, IntVector]:
        """The graph, and its nodes that are in a triangle."""
        return _material(self)


def find_graphs(sections: Mapping[str, GraphSection], folder: Path) -> dict[str, GraphSource]:
    """The graphs that a study file defines, each read once to see that it can be.

    Parameters
    ----------
    sections : mapping
        The tables [model.graphs.NAME].
    folder : Path
        Where the study file stands; paths in it are relative to that.

    Raises
    ------
    InvalidStudyError
        In one line, if a name is that of an embedded graph or a file breaks a rule. What is
        studied is not protected: its estimates tell of the graph.
    """
    return {name: _find(name, section, folder) for name, section in sections.items()}


def graph_source(name: str, own: Mapping[str, GraphSource]) -> GraphSource:
    """The graph that a cell names.

    Raises
    ------
    InvalidStudyError
        If there is none of this name; the nearest is told.

    Examples
    --------
    >>> graph_source("usair", {}).material[0]
    Graph(n=332, edges=2126)
    """
    known = [*graph_names(), *own]
    if name not in known:
        raise InvalidStudyError(
            "[factors.text] dataset must be "
            + one_of(name, known, beside=", or have a table [model.graphs.NAME]")
        )
    return own.get(name) or GraphSource(name)


def _find(name: str, section: GraphSection, folder: Path) -> GraphSource:
    if name in graph_names():
        raise InvalidStudyError(
            f"[model.graphs.{name}] must have a name that no embedded graph has; got {name!r}"
        )
    file = folder / section.file
    nodes = None if section.nodes is None else folder / section.nodes
    try:
        digest = digest_of(file_bytes(file) + (file_bytes(nodes) if nodes else b""))
        found = GraphSource(name, file, nodes, section.symmetrise, digest)
        _ = found.material
    except P0SimError as error:
        raise InvalidStudyError(f"[model.graphs.{name}] {error}") from None
    return found


@lru_cache(maxsize=8)
def _material(source: GraphSource) -> tuple[Graph, IntVector]:
    if source.file is None:
        graph = load_graph(source.name)
    else:
        graph = read_graph(source.file, source.nodes, symmetrise=source.symmetrise)
    return graph, query_nodes(graph)
