"""Edge lists in delimited text: every cell as it stands, nothing guessed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from p0sim.errors import InvalidNetworkError
from p0sim.model.arc_sources import arcs_of_frame
from p0sim.model.arc_weights import WHOLE_NUMBER
from p0sim.model.arcs import Arcs
from p0sim.model.edge_columns import EdgeColumns, edge_columns
from p0sim.model.file_content import file_text
from p0sim.validation import shown

if TYPE_CHECKING:
    import pandas as pd

TOKENIZER_PREFIX = "Error tokenizing data. C error: "
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", " ": "blanks"}


def arcs_of_text(path: Path) -> Arcs:
    """Arcs of a CSV or TSV file; rows count from 1 as an editor counts lines.

    Raises
    ------
    InvalidNetworkError
        If it is no edge list; the rules of arcs are not checked yet.
    """
    table = read_text_table(path)
    header = [str(cell) for cell in table.iloc[0]]
    columns = edge_columns(header)
    edges = table if columns is None else table.iloc[1:]
    if columns is None:
        columns = _columns_without_header(table, path)
    edges = _without_blank_rows(edges)
    row = edges.index.to_numpy()

    def place(k: int) -> str:
        # a line break inside quotes is a line of the file too
        above = sum(cell.count("\n") for cell in table.iloc[: row[k]].to_numpy().ravel())
        return f"in row {row[k] + 1 + above} of {path}"

    return arcs_of_frame(edges, columns, place)


def read_text_table(path: Path) -> pd.DataFrame:
    """All cells of a delimited file as text, numbered by line from 0.

    Raises
    ------
    InvalidNetworkError
        If the file is empty, cannot be read, or has rows of different lengths.
    """
    import pandas as pd

    text = file_text(path)
    separator = "\t" if ".tsv" in path.name.lower()[-7:] else ","
    first = text.partition("\n")[0]
    if not first.strip():
        raise InvalidNetworkError(f"file must begin with a header or an edge; got {path}: no text")
    _refuse_other_separator(first, separator, path)
    try:
        table = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            header=None,
            dtype=object,
            keep_default_na=False,
            na_filter=False,
            skip_blank_lines=False,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        words = str(error).strip().splitlines()[-1].removeprefix(TOKENIZER_PREFIX)
        if words.startswith("EOF inside string"):
            words = "a quotation mark is not closed"
        raise InvalidNetworkError(f"file must be a table; got {path}: {words}") from None
    # a row that ends early lacks its last cell
    return table.fillna("") if table.iloc[:, -1].isna().any() else table


def _without_blank_rows(table: pd.DataFrame) -> pd.DataFrame:
    if not (table.iloc[:, -1] == "").any():
        return table
    return table[(table != "").any(axis=1)]


def _refuse_other_separator(first: str, separator: str, path: Path) -> None:
    """Refuse a table that is one wide column to this separator, as another one was used."""
    if separator in first:
        return
    for other, name in SEPARATORS.items():
        if other in first.strip():
            raise InvalidNetworkError(
                f"cells must be separated by {SEPARATORS[separator]} in a file of this name; "
                f"got {path} with {name} in row 1"
            )


def _columns_without_header(table: pd.DataFrame, path: Path) -> EdgeColumns:
    """Columns of a file whose first row is an edge; a matrix is told from three edges."""
    first = [str(cell) for cell in table.iloc[0]]
    if _is_matrix(table):
        raise InvalidNetworkError(
            f"{path} must be an edge list with the header source,target,weight; got what looks "
            f"like a {len(first)} x {len(first)} matrix (as_network takes those as arrays)"
        )
    if len(first) == 3 and WHOLE_NUMBER.fullmatch(first[2]):
        return EdgeColumns(0, 1, 2)
    raise InvalidNetworkError(
        f"{path} must start with the header source,target,weight or with an edge that has a "
        f"whole-number weight; got {shown(','.join(first))} in row 1"
    )


def _is_matrix(table: pd.DataFrame) -> bool:
    """As many rows as columns, whole numbers all, zeros on the diagonal.

    Three edges look so only if the first starts at "0", the second ends there and the third has
    weight 0.
    """
    cells = table.to_numpy()
    if cells.shape[0] != cells.shape[1]:
        return False
    matches = [WHOLE_NUMBER.fullmatch(cell) for cell in cells.ravel()]
    return all(matches) and not np.diag(cells.astype(float)).any()
