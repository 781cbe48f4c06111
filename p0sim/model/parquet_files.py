"""Edge lists in Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from p0sim.errors import InvalidNetworkError
from p0sim.model.arc_sources import arcs_of_frame
from p0sim.model.arcs import Arcs
from p0sim.model.edge_columns import edge_columns


def arcs_of_parquet(path: Path) -> Arcs:
    """Arcs of a Parquet file; its first row is row 1.

    Raises
    ------
    InvalidNetworkError
        If it cannot be read or is no edge list; the rules of arcs are not checked yet.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(path).read()
    except (OSError, pa.ArrowException) as error:
        words = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InvalidNetworkError(f"file must be readable; got {path}: {words}") from None
    columns = edge_columns(table.column_names)
    if columns is None:
        raise InvalidNetworkError(
            f"{path} must have columns source, target, weight; got {', '.join(table.column_names)}"
        )
    for end in columns[:2]:
        _require_ids(table.schema.field(end), path)
    # pandas would turn a column that it once saved as an index back into one
    frame = table.to_pandas(ignore_metadata=True)
    return arcs_of_frame(frame, columns, lambda k: f"in row {k + 1} of {path}")


def _require_ids(field: Any, path: Path) -> None:
    """Refuse ids that are neither text nor whole numbers: 1.0 is not the id 1."""
    from pyarrow import types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    if not (text or types.is_integer(kind)):
        raise InvalidNetworkError(
            f"column {field.name} of {path} must hold text or whole numbers; got {kind}"
        )
