"""The description of the frames: complete, unique, in the order of the contract."""

import pandas as pd
import pytest

from p0sim.columns import (
    DTYPES,
    FRAMES,
    KEYS,
    PERFORMANCE,
    cell_columns,
    column_names,
    empty_frame,
    performance_columns,
)


@pytest.mark.parametrize("frame", FRAMES)
def test_every_stored_frame_starts_with_its_keys(frame):
    assert column_names(frame)[:3] == KEYS


@pytest.mark.parametrize("columns", [*FRAMES.values(), PERFORMANCE, cell_columns(["n", "mine"])])
def test_columns_are_named_once_and_described(columns):
    names = [column.name for column in columns]
    assert len(set(names)) == len(names)
    assert all(column.meaning and column.kind in DTYPES for column in columns)


def test_estimates_are_in_the_order_of_the_contract():
    assert " ".join(column_names("estimates")) == (
        "cell method rep estimand estimate std_error lower upper true_value z"
    )


def test_a_factor_has_its_number_and_then_its_rule():
    names = [column.name for column in cell_columns(["q", "epsilon"])]
    assert names == ["cell", "q", "q_rule", "epsilon", "epsilon_rule", "target_reps"]


def test_performance_leaves_the_target_out():
    names = [column.name for column in performance_columns(["q"])]
    assert names[:5] == ["cell", "q", "q_rule", "method", "estimand"]
    assert "target_reps" not in names


def test_an_empty_frame_has_its_types():
    frame = empty_frame("replicates")
    assert str(frame["n_iter"].dtype) == "Int64"
    assert pd.api.types.is_float_dtype(frame["residual"])
    assert list(frame) == list(column_names("replicates"))
