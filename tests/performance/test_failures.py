"""Failures and problems counted together: plain loops over the rows, and the texts we write."""

import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from p0sim.columns import column_names, empty_frame
from p0sim.performance.failures import group_failures, group_problems, kinds, problem_line

TAIL = "after balancing; an estimate needs every degree strictly between 0 and (n-1)(q-1) ="


def fits(*rows):
    """Rows of cell, method, rep, status, reason."""
    return pd.DataFrame(rows, columns=["cell", "method", "rep", "status", "reason"])


def said(*rows):
    """Rows of problems: cell, rep, kind, message, where."""
    names = ["cell", "rep", "kind", "message", "where"]
    return pd.DataFrame(rows, columns=names).assign(method="paper")[list(column_names("problems"))]


def test_reasons_that_differ_in_numbers_are_one_row():
    table = group_failures(
        fits(
            ("c2", "paper", 1, "no_estimate", "out_degree of node 3 is 0"),
            ("c1", "paper", 1, "ok", ""),
            ("c1", "paper", 2, "no_estimate", "out_degree of node 17 is 0"),
            ("c1", "paper", 3, "no_estimate", "out_degree of node 17 is 0"),
            ("c1", "paper", 4, "ok", ""),
        )
    )
    assert table.to_dict("records") == [
        {
            "method": "paper",
            "status": "no_estimate",
            "reason": "out_degree of node # is 0",
            "count": 3,
            "share": 3 / 5,
            "cells": 2,
            "cell": "c2",
            "rep": 1,
        }
    ]


def test_one_text_is_shown_as_it_is_however_often():
    row = ("no_estimate", "out_degree of node 3 is 0")
    table = group_failures(fits(("c1", "paper", 1, *row), ("c2", "paper", 1, *row)))
    assert table["reason"].tolist() == ["out_degree of node 3 is 0"]


def test_methods_and_statuses_are_told_apart():
    table = group_failures(
        fits(
            ("c1", "paper", 1, "no_estimate", "reason 1"),
            ("c1", "balanced", 1, "no_estimate", "reason 2"),
            ("c1", "paper", 2, "not_converged", "reason 3"),
            ("c1", "balanced", 2, "ok", ""),
            ("c1", "balanced", 3, "ok", ""),
            ("c1", "balanced", 4, "ok", ""),
        )
    )
    assert table[["method", "status", "reason", "count", "share"]].to_numpy().tolist() == [
        ["paper", "no_estimate", "reason 1", 1, 0.5],
        ["balanced", "no_estimate", "reason 2", 1, 0.25],
        ["paper", "not_converged", "reason 3", 1, 0.5],
    ]


def test_the_most_frequent_come_first_and_ties_go_by_text():
    rows = [("c1", "paper", i, "error", text) for i, text in enumerate(["b", "c", "a", "c"])]
    assert group_failures(fits(*rows))["reason"].tolist() == ["c", "a", "b"]


def test_every_status_but_ok_is_a_failure_also_without_a_reason():
    rows = [("c1", "paper", 1, "killed", ""), ("c1", "paper", 2, "timeout", None)]
    table = group_failures(fits(*rows, ("c1", "paper", 3, "ok", "")))
    assert sorted(table["status"]) == ["killed", "timeout"]
    assert table["reason"].tolist() == ["", ""]


def test_numbers_that_never_differ_stay():
    reasons = [f"out-degree of {k} is 0 {TAIL} 198" for k in (3, 41, 7)]
    assert set(kinds(reasons)[1]) == {f"out-degree of # is 0 {TAIL} 198"}


def test_lists_of_any_length_are_one_number():
    """The forms that p0sim/estimate/existence.py gives: several margins, long lists, blocks."""
    margins = [
        f"out-degree of 3 is 0 {TAIL} 198",
        f"out-degree of 3 is -0.5, out-degree of 8 is 1.5e-05, in-degree of 2 is 0 {TAIL} 198",
        f"out-degree of 1 is 0, in-degree of 2 is 199.25 and 7 more {TAIL} 198",
    ]
    assert kinds(margins)[1] == [f"out-degree of # is # {TAIL} 198"]
    blocks = [
        "the margins need weight 2 or more from 3 to 1",
        "the margins need weight 2 or more from 3, 5, 9 and 4 more to 1, 2",
    ]
    assert kinds(blocks)[1] == ["the margins need weight 2 or more from # to #"]


def test_texts_that_differ_in_words_stay_apart():
    reasons = ["out-degree of 3 is 0", "in-degree of 3 is 0", "from 1 to 2", "from 1 to 2 and 3"]
    codes, patterns = kinds(reasons)
    assert codes.tolist() == [0, 1, 2, 3]
    assert patterns == reasons


@pytest.mark.parametrize(
    ("first", "second", "pattern"),
    [
        ("residual 1.2e-05 left", "residual inf left", "residual # left"),
        ("<object at 0x7f3a>", "<object at 0x99bc01>", "<object at #>"),
        ("x is -1", "x is 2", "x is #"),
        ("bug #3 of 4", "bug #3 of 5", "bug #3 of #"),
        ("information 1", "information 2", "information #"),
    ],
)
def test_numbers_of_every_form_are_seen(first, second, pattern):
    assert kinds([first, second])[1] == [pattern]


def test_a_sign_that_stands_in_a_text_is_no_number():
    assert len(kinds(["a # b", "a 3 b", "a ## b"])[1]) == 3


def test_counts_equal_those_of_a_loop_over_the_rows():
    rng = np.random.default_rng(5)
    rows = 2000
    frame = pd.DataFrame(
        {
            "cell": rng.choice(["c1", "c2", "c3"], rows),
            "method": rng.choice(["paper", "balanced"], rows, p=[0.7, 0.3]),
            "rep": np.arange(rows),
            "status": rng.choice(["ok", "no_estimate", "error"], rows),
            "reason": [
                f"{word} at {k}" for word, k in zip(rng.choice(["low", "up"], rows), range(rows))
            ],
        },
        index=rng.permutation(rows),
    )
    counts, cells, first, tried = Counter(), {}, {}, Counter(frame["method"])
    for cell, method, rep, status, reason in frame.itertuples(index=False):
        if status != "ok":
            key = method, status, f"{reason.split()[0]} at #"
            counts[key] += 1
            cells.setdefault(key, set()).add(cell)
            first.setdefault(key, (cell, rep))
    table = group_failures(frame)
    assert len(table) == len(counts) == 8
    for row in table.itertuples():
        key = row.method, row.status, row.reason
        assert (row.count, row.cells, (row.cell, row.rep)) == (
            counts[key],
            len(cells[key]),
            first[key],
        )
        assert row.share == pytest.approx(counts[key] / tried[row.method], rel=1e-12)


def test_shares_of_a_method_add_up_to_its_failure_rate():
    rows = [("c1", "paper", i, "no_estimate" if i % 3 else "ok", f"kind {i}") for i in range(30)]
    assert group_failures(fits(*rows))["share"].sum() == pytest.approx(20 / 30)


def test_nothing_failed_gives_a_frame_without_rows():
    names = ["method", "status", "reason", "count", "share", "cells", "cell", "rep"]
    for frame in (empty_frame("replicates"), fits(("c1", "paper", 1, "ok", ""))):
        table = group_failures(frame)
        assert table.empty
        assert list(table) == names


def test_problems_are_grouped_by_kind_message_and_place():
    table = group_problems(
        said(
            ("c1", 3, "warning", "RuntimeWarning: overflow in 3", "a.py:1"),
            ("c1", 4, "error", "ValueError: 3", "a.py:1"),
            ("c2", 1, "warning", "RuntimeWarning: overflow in 4", "a.py:1"),
            ("c2", 1, "warning", "RuntimeWarning: overflow in 4", "a.py:9"),
        )
    )
    assert list(table) == ["kind", "message", "where", "count", "cells", "cell", "rep"]
    assert table.to_numpy().tolist() == [
        ["warning", "RuntimeWarning: overflow in #", "a.py:1", 2, 2, "c1", 3],
        ["warning", "RuntimeWarning: overflow in 4", "a.py:9", 1, 1, "c2", 1],
        ["error", "ValueError: 3", "a.py:1", 1, 1, "c1", 4],
    ]


def test_no_problems_give_an_empty_frame_and_an_empty_line():
    assert group_problems(empty_frame("problems")).empty
    assert problem_line(empty_frame("problems")) == ""


def test_the_line_tells_errors_before_warnings_and_counts_other_kinds():
    error = ("error", "ArithmeticError: the draw was too unlucky", "mine.py:3")
    rows = [("c1", i, "warning", "RuntimeWarning: overflow", f"a.py:{i}") for i in range(10)]
    rows += [("c1", 1, "warning", "UserWarning: one", ""), ("c1", 2, "warning", "two", "")]
    rows += [("c1", i, *error) for i in range(4)]
    assert problem_line(said(*rows)) == (
        "problems: 4 errors (ArithmeticError: the draw was too unlucky), "
        "12 warnings (RuntimeWarning: overflow and 2 other kinds)"
    )


def test_the_line_is_one_line_of_some_length_and_speaks_of_one_in_the_singular():
    line = problem_line(said(("c1", 1, "error", "ValueError: bad\n" + "word " * 200, "a.py:1")))
    assert line.startswith("problems: 1 error (ValueError: bad word ")
    assert "\n" not in line
    assert len(line) < 140


def test_the_line_names_one_other_kind_in_the_singular():
    rows = [("c1", 1, "error", "a", ""), ("c1", 2, "error", "a", ""), ("c1", 3, "error", "b", "")]
    assert problem_line(said(*rows)) == "problems: 3 errors (a and 1 other kind)"


@pytest.mark.slow
def test_a_million_rows_are_grouped_in_seconds():
    """Measured 0.3 s, and 4 s where all reasons differ; 30 s says that it became quadratic."""
    rows = 1_000_000
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "cell": rng.choice([f"c{i}" for i in range(50)], rows),
            "method": rng.choice(["paper", "balanced"], rows),
            "rep": np.arange(rows),
            "status": rng.choice(["ok", "no_estimate"], rows),
            "reason": [f"out-degree of {i % 100} is -{i / 7:.4f} {TAIL} 198" for i in range(rows)],
        }
    )
    start = time.perf_counter()
    table = group_failures(frame)
    assert time.perf_counter() - start < 30
    assert table["count"].sum() == (frame["status"] != "ok").sum()
    assert len(table) == 2
