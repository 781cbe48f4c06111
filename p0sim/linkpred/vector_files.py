"""Node vectors that were computed elsewhere, from text files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from p0sim.arrays import FloatMatrix
from p0sim.errors import InvalidNetworkError
from p0sim.linkpred.graphs import Graph
from p0sim.model.file_content import file_text
from p0sim.validation import shown

Line: TypeAlias = tuple[int, list[str]]


def read_vectors(path: str | Path, graph: Graph) -> FloatMatrix:
    r"""Node vectors from a text file as Word2Vec, LINE and others write it.

    Parameters
    ----------
    path : str or Path
        A line for each node, in any order: its label and the entries of its vector, separated by
        blanks. A first line with two whole numbers, of vectors and of entries, may stand above.
    graph : Graph
        Its labels say which vector belongs to which node.

    Returns
    -------
    ndarray, shape (n, d)
        In the order of the graph.

    Raises
    ------
    InvalidNetworkError
        If a node has no vector or two, a label is not in the graph, a line is no vector of the
        same length as the others, or there are not as many as the first line says; the line is
        named.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "vectors.txt"
    >>> _ = path.write_text("2 2\nbob 0.5 1\nann -1 2\n")
    >>> read_vectors(path, Graph([[0, 1], [1, 0]], ["ann", "bob"]))
    array([[-1. ,  2. ],
           [ 0.5,  1. ]])
    """
    path = Path(path)
    lines = [(k, line.split()) for k, line in enumerate(file_text(path).splitlines(), 1)]
    lines = [(k, cells) for k, cells in lines if cells]
    lines, width = _without_header(lines, path)
    vectors: dict[int, list[float]] = {}
    for k, cells in lines:
        place = f"in line {k} of {path}"
        vector = _entries(cells, width, place)
        u = _position(graph, cells[0], place)
        if u in vectors:
            raise InvalidNetworkError(
                f"each node must have one vector; got another of {cells[0]} {place}"
            )
        vectors[u], width = vector, len(vector)
    _refuse_missing(vectors, graph, path)
    return np.array([vectors[u] for u in range(graph.n)])


def _without_header(lines: list[Line], path: Path) -> tuple[list[Line], int | None]:
    """The lines of vectors, and how many entries the first line promises where it holds sizes.

    It does if it is two whole numbers of which the second is that of the next line's entries. If
    that is 1 the first must be right too, since "7 1" may be the vector of node 7.
    """
    head = [cells for _, cells in lines[:2]]
    if len(head) < 2 or len(head[0]) != 2 or not all(cell.isdigit() for cell in head[0]):
        return lines, None
    promised, width = map(int, head[0])
    right = promised == len(lines) - 1
    if len(head[1]) != width + 1 or (width == 1 and not right):
        return lines, None
    if not right:
        raise InvalidNetworkError(
            f"{path} must hold {promised} vectors, as its first line says; got {len(lines) - 1}"
        )
    return lines[1:], width


def _position(graph: Graph, label: str, place: str) -> int:
    try:
        return graph.position(label)
    except InvalidNetworkError as error:
        raise InvalidNetworkError(f"{error} {place}") from None


def _entries(cells: Sequence[str], width: int | None, place: str) -> list[float]:
    try:
        vector = [float(cell) for cell in cells[1:]]
    except ValueError:
        vector = []
    if not vector and "," in cells[0]:
        raise InvalidNetworkError(
            f"a label and the entries of its vector must be separated by blanks; got commas {place}"
        )
    if not vector or not np.isfinite(vector).all() or len(vector) != (width or len(vector)):
        raise InvalidNetworkError(
            f"a vector must be {width or 'one or more'} finite numbers after a label; "
            f"got {shown(' '.join(cells))} {place}"
        )
    return vector


def _refuse_missing(vectors: dict[int, list[float]], graph: Graph, path: Path) -> None:
    missing = [label for u, label in enumerate(graph.nodes) if u not in vectors]
    if missing:
        raise InvalidNetworkError(
            f"each node must have a vector; got none of {missing[0]} in {path}, "
            f"nor of {len(missing) - 1} more"
        )
