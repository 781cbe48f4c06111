"""Networks from text files: comma or tab separated edge lists, labels verbatim."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from p0sim.errors import InvalidNetworkError
from p0sim.model.arcs import WHOLE_NUMBER
from p0sim.model.networks import EDGE_COLUMNS, Network, from_arcs, require_single_columns

if TYPE_CHECKING:
    import pandas as pd

TOKENIZER_PREFIX = "Error tokenizing data. C error: "


def read_network(
    path: str | Path, q: int, nodes: str | Path | Sequence[str] | None = None
) -> Network:
    r"""Read a weighted directed edge list.

    Parameters
    ----------
    path : str or Path
        CSV, or TSV where the name ends in .tsv; a further .gz is unpacked. The header is
        source,target,weight (other columns are ignored) or source,target (every weight 1). A file
        without header needs three columns with a number in the third. Labels are kept as written.
    q : int
        Weights lie in 0..q-1.
    nodes : path or sequence of str, optional
        All node labels in order, or a text file with one a line. Without it the nodes are those
        that occur in the file, whole numbers by size and other labels by letter.

    Returns
    -------
    Network

    Raises
    ------
    InvalidNetworkError
        If the file cannot be read, or an edge breaks a rule; the row is named.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "friends.csv"
    >>> _ = path.write_text("source,target,weight\nann,bob,2\nbob,cy,1\n")
    >>> read_network(path, q=3).nodes
    ('ann', 'bob', 'cy')
    """
    path = Path(path)
    table = read_text_table(path)
    header = [name.strip().lower() for name in table.iloc[0]]
    if {"source", "target"} <= set(header):
        require_single_columns(header)
        columns = [header.index(name) if name in header else None for name in EDGE_COLUMNS]
        table = table.iloc[1:]
    elif len(header) == 3 and WHOLE_NUMBER.fullmatch(header[2]):
        columns = [0, 1, 2]
    else:
        raise InvalidNetworkError(
            f"{path} must start with the header source,target,weight or with an edge that has a "
            f"whole-number weight; got {','.join(table.iloc[0])!r}"
        )
    table = table[(table != "").any(axis=1)]
    line = table.index.to_numpy() + 1
    source, target = (table[columns[k]].to_numpy() for k in (0, 1))
    has_weight = columns[2] is not None
    weight = table[columns[2]].to_numpy() if has_weight else np.ones(len(table), dtype=np.int64)
    labels = read_labels(nodes) if isinstance(nodes, str | Path) else nodes
    return from_arcs(source, target, weight, q, labels, lambda k: f"in row {line[k]} of {path}")


def read_labels(path: str | Path) -> list[str]:
    """Node labels from a text file, one a line, in the order of the file.

    Raises
    ------
    InvalidNetworkError
        If the file cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidNetworkError(
            f"nodes must be a readable text file; got {path}: {error}"
        ) from None
    return [line for line in text.splitlines() if line]


def read_text_table(path: Path) -> pd.DataFrame:
    """All cells of a delimited file as text, nothing guessed, numbered by line."""
    import pandas as pd

    separator = "\t" if ".tsv" in path.suffixes else ","
    try:
        table = pd.read_csv(
            path,
            sep=separator,
            header=None,
            dtype=str,
            keep_default_na=False,
            na_filter=False,
            skip_blank_lines=False,
            encoding="utf-8-sig",
        )
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        words = str(error).strip().splitlines()[-1].removeprefix(TOKENIZER_PREFIX)
        raise InvalidNetworkError(f"network file must be readable; got {path}: {words}") from None
    return table.fillna("")
