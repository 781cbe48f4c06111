"""Networks from files: delimited text, Parquet, GraphML. Labels are kept as written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from p0sim.errors import InvalidNetworkError
from p0sim.model.arcs import Arcs, Wishes
from p0sim.model.file_content import file_text
from p0sim.model.graph_files import arcs_of_graphml
from p0sim.model.networks import Network, from_arcs
from p0sim.model.parquet_files import arcs_of_parquet
from p0sim.model.table_files import arcs_of_text, read_text_table

__all__ = ["arcs_of_file", "read_labels", "read_network", "read_text_table"]

READERS = {
    ".csv": arcs_of_text,
    ".tsv": arcs_of_text,
    ".csv.gz": arcs_of_text,
    ".tsv.gz": arcs_of_text,
    ".parquet": arcs_of_parquet,
    ".graphml": arcs_of_graphml,
    ".graphml.gz": arcs_of_graphml,
}


def read_network(
    path: str | Path,
    q: int,
    nodes: str | Path | Sequence[str] | None = None,
    *,
    clip: bool = False,
    sum_duplicates: bool = False,
) -> Network:
    r"""Read a weighted directed network.

    Parameters
    ----------
    path : str or Path
        The name's end says what it is: .csv and .tsv (edge lists in UTF-8), .parquet, .graphml;
        text formats also with a further .gz.

        A table has the columns source, target and weight, in any order; others are left aside.
        Without weight there may be no other column either, and every weight is 1. Text without a
        header needs three columns with a whole number in the third. No character starts a comment,
        blanks count, and "NA" is a label like any other. GraphML is read by networkx: a node's
        label is its id, a weight the edge attribute "weight", 1 where no edge has one.
    q : int
        Weights lie in 0..q-1.
    nodes : path or sequence of str, optional
        All node labels in order, or a text file with one a line. Without it the nodes are those of
        the graph, or those that occur in the table, whole numbers by size and other labels by
        letter; the network then says ``nodes_given`` False and cannot be released.
    clip : bool
        Move whole-number weights outside 0..q-1 to the nearer end instead of refusing them. That
        it was asked for is recorded on the network; how often it happened is not.
    sum_duplicates : bool
        Add up the weights of a pair that stands more than once instead of refusing it. A sum above
        q-1 is refused; with `clip` weights are added up first, then their sum is clipped.

    Returns
    -------
    Network
        Its ``source`` is the file.

    Raises
    ------
    InvalidNetworkError
        If the file cannot be read, or an edge breaks a rule; the row is named.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "friends.csv"
    >>> _ = path.write_text("source,target,weight\nann,bob,2\nbob,cy,1\n")
    >>> read_network(path, q=3).nodes
    ('ann', 'bob', 'cy')
    """
    path = Path(path)
    arcs = arcs_of_file(path)
    labels = read_labels(nodes) if isinstance(nodes, str | Path) else nodes
    if labels is None and not len(arcs.source) and not arcs.nodes:
        raise InvalidNetworkError(f"file must hold an edge, or nodes be given; got {path}")
    wishes: Wishes = {"clip": clip, "sum_duplicates": sum_duplicates}
    return from_arcs(arcs, q, labels, source=path.resolve(), **wishes)


def arcs_of_file(path: Path) -> Arcs:
    """Arcs of a file of any kind that can be read, their rules not checked yet."""
    name = path.name.lower()
    for suffix, reader in READERS.items():
        if name.endswith(suffix):
            return reader(path)
    raise InvalidNetworkError(f"network file must end in {', '.join(READERS)}; got {path}")


def read_labels(path: str | Path) -> list[str]:
    """Node labels from a text file, one a line, in the order of the file.

    Raises
    ------
    InvalidNetworkError
        If the file cannot be read or a label stands twice; both lines are named.
    """
    lines: dict[str, int] = {}
    # str.splitlines would also cut at characters that a label may hold
    for number, label in enumerate(re.split("\r\n|\n|\r", file_text(Path(path))), 1):
        if label and lines.setdefault(label, number) != number:
            raise InvalidNetworkError(
                f"nodes must be different; got {label!r} in lines {lines[label]} and {number} "
                f"of {path}"
            )
    return list(lines)
