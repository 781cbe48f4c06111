"""Parquet files by pyarrow: types of ids and weights, row numbers, refusals."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import p0sim as p0
from tests.oracles.refusals import refusal

SOURCE, TARGET = ["ann", "ann", "bob", "cy"], ["bob", "cy", "ann", "bob"]


@pytest.fixture
def read(tmp_path):
    def saved_and_read(q: int = 3, nodes=None, **columns):
        path = tmp_path / "friends.parquet"
        parquet.write_table(pa.table(columns), path)
        return p0.read_network(path, q, nodes)

    return saved_and_read


WEIGHTS = {
    "int8": pa.array([1, 2, 2, 1], pa.int8()),
    "uint64": pa.array([1, 2, 2, 1], pa.uint64()),
    "double": pa.array([1.0, 2.0, 2.0, 1.0]),
    "half float": pa.array(np.array([1, 2, 2, 1], np.float16)),
    "decimal": pa.array([Decimal("1.00"), Decimal(2), Decimal(2), Decimal(1)], pa.decimal128(9, 2)),
    "text": pa.array(["1", "2", "2", "1.0"]),
    "dictionary": pa.array(["1", "2", "2", "1"]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_of_every_type_are_the_same_weights(kind, read):
    network = read(source=SOURCE, target=TARGET, weight=WEIGHTS[kind])
    assert network.nodes == ("ann", "bob", "cy")
    assert network.bidegree().out_degree.tolist() == [3, 2, 1]
    assert network.bidegree().in_degree.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.int64(), pa.string(), pa.large_string()]
)
def test_ids_may_be_text_or_whole_numbers(kind, read):
    network = read(source=pa.array([1, 2, 10]).cast(kind), target=pa.array([2, 10, 1]).cast(kind))
    assert network.nodes == ("1", "2", "10")


def test_text_ids_are_verbatim(read):
    labels = ["01", "1", "NA", " x", "nan", "1e3"]
    network = read(source=labels, target=labels[1:] + labels[:1], nodes=labels)
    assert network.bidegree().out_degree.tolist() == [1] * 6
    network = read(
        source=pa.array(labels).dictionary_encode(), target=labels[1:] + labels[:1], nodes=labels
    )
    assert network.bidegree().in_degree.tolist() == [1] * 6


@pytest.mark.parametrize(
    "ids",
    [pa.array([1.0, 2.0]), pa.array([b"a", b"b"]), pa.array([True, False]), pa.array([[1], [2]])],
)
def test_ids_of_other_types_are_refused(ids, read):
    """1.0 is not the id 1, and b'a' not the id a."""
    refusal(lambda: read(source=ids, target=["x", "y"]), "column source", "text or whole numbers")


@pytest.mark.parametrize("bad", [0.5, 3.0, -1.0, float("nan"), None])
def test_bad_weights_are_named_with_their_row(bad, read):
    """The first row is row 1: a Parquet file has no line for its header."""
    weight = pa.array([1.0, 2.0, bad, 1.0])
    refusal(lambda: read(source=SOURCE, target=TARGET, weight=weight), "weight", "row 3 of")


@pytest.mark.parametrize("ids", [pa.array(["ann", None, "bob", "cy"]), pa.array([1, None, 2, 3])])
def test_missing_ids_are_named_with_their_row(ids, read):
    refusal(lambda: read(source=ids, target=TARGET), "node", "row 2 of")


def test_columns_are_found_by_name(read):
    network = read(year=[1957] * 4, Weight=[1, 2, 2, 1], target=TARGET, Source=SOURCE)
    assert network.bidegree().out_degree.tolist() == [3, 2, 1]
    refusal(lambda: read(a=SOURCE, b=TARGET), "source, target, weight", "a, b")
    refusal(lambda: read(source=SOURCE, target=TARGET, count=[1, 2, 2, 1]), "count", "no weight")


def test_a_column_that_pandas_saved_as_its_index_is_still_a_column(tmp_path):
    frame = pd.DataFrame({"source": SOURCE, "target": TARGET, "weight": [1, 2, 2, 1]})
    frame.set_index("source").to_parquet(tmp_path / "indexed.parquet")
    assert p0.read_network(tmp_path / "indexed.parquet", q=3).n == 3


def test_folder_names_are_no_columns(tmp_path):
    """weight=2/friends.parquet would be a partition to some readers."""
    folder = tmp_path / "weight=2"
    folder.mkdir()
    frame = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    frame.to_parquet(folder / "friends.parquet")
    assert p0.read_network(folder / "friends.parquet", q=3).weights.max() == 1
