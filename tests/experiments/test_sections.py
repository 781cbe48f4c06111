"""Tables that experiments own: what may stand in them, and how a mistake is told."""

from __future__ import annotations

import pytest

from p0sim.errors import InvalidStudyError
from p0sim.experiments.sections import (
    check_pools,
    read_estimands,
    read_measures,
    read_methods,
)


def test_without_a_table_the_level_is_95_percent_and_nothing_stops():
    measures = read_measures({})
    assert (measures.level, measures.stop) == (0.95, None)


def test_a_stop_rule_needs_its_precision_alone():
    stop = read_measures({"level": 0.9, "stop": {"coverage_mcse": 0.005}}).stop
    assert (stop.coverage_mcse, stop.min_reps, stop.max_reps, stop.check_every) == (
        0.005,
        500,
        None,
        250,
    )


def test_least_and_most_replicates_may_agree():
    assert (
        read_measures(
            {"stop": {"coverage_mcse": 0.1, "min_reps": 20, "max_reps": 20}}
        ).stop.max_reps
        == 20
    )


def test_sections_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        read_measures({}).level = 0.5


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"level": 1}, "[measures] level must be less than 1; got 1"),
        ({"levels": 0.9}, "[measures] has an unknown key 'levels'; did you mean 'level'?"),
        ({"stop": 3}, "[measures.stop] must be a table of keys and values; got 3"),
        ({"stop": {}}, "[measures.stop] needs the key 'coverage_mcse'"),
        ({"stop": {"coverage_mcse": 0}}, "coverage_mcse must be greater than 0; got 0"),
        ({"stop": {"coverage_mcse": 0.5}}, "coverage_mcse must be less than 0.5; got 0.5"),
        ({"stop": {"coverage_mcse": 0.1, "min_rep": 9}}, "did you mean 'min_reps'?"),
        (
            {"stop": {"coverage_mcse": 0.1, "min_reps": 0}},
            "[measures.stop] min_reps must be greater than or equal to 1; got 0",
        ),
        (
            {"stop": {"coverage_mcse": 0.1, "check_every": 0}},
            "[measures.stop] check_every must be greater than or equal to 1; got 0",
        ),
        (
            {"stop": {"coverage_mcse": 0.1, "max_reps": 499}},
            "[measures.stop] max_reps must be at least min_reps = 500; got 499",
        ),
        (
            {"stop": {"coverage_mcse": 0.1, "min_reps": 20, "max_reps": 19}},
            "[measures.stop] max_reps must be at least min_reps = 20; got 19",
        ),
        ({"stop": {"coverage_mcse": 0.1, "min_reps": 20.5}}, "min_reps must be a valid integer"),
        ([], "[measures] must be a table"),
        ({"pool": 3}, "[measures] pool must be a valid dictionary; got 3"),
        ({"pool": {"senders": 3}}, "[measures] pool.senders must be a valid string; got 3"),
        ({"pool": {"senders": " "}}, "[measures.pool] senders must be a pattern of estimands"),
        ({"pool": {"theta": "alpha[*]"}}, "[measures.pool] names must not be empty or 'theta'"),
        ({"pool": {" ": "alpha[*]"}}, "[measures.pool] names must not be empty or 'theta'"),
    ],
)
def test_a_table_of_measures_that_breaks_a_rule_is_told_in_one_line(table, message):
    with pytest.raises(InvalidStudyError) as caught:
        read_measures(table)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "[methods] must hold at least one method; got none"),
        ({"a": 3}, "[methods.a] must be a table"),
        ({"a": {}, "b": {"label": "a"}}, "[methods] labels must differ and not be empty; got 'a'"),
        ({"a": {"label": " "}}, "[methods] labels must differ and not be empty; got ' '"),
        (
            {"a": {"reference": True}, "b": {}, "c": {"reference": True}},
            "[methods] reference = true must stand at one method; got a, c",
        ),
        ({"a": {"reference": "yes"}}, "[methods.a] reference must be a valid boolean; got 'yes'"),
    ],
)
def test_methods_that_break_a_rule_are_told_in_one_line(tables, message):
    with pytest.raises(InvalidStudyError) as caught:
        read_methods(tables)
    assert message in str(caught.value)


def test_a_contrast_is_a_text_or_a_table_with_its_null():
    read = read_estimands({"contrasts": ["alpha[1]", {"contrast": "beta[1]", "null": 1}]})
    assert [(entry.contrast, entry.null) for entry in read.contrasts] == [
        ("alpha[1]", 0.0),
        ("beta[1]", 1.0),
    ]


@pytest.mark.parametrize(
    ("contrasts", "message"),
    [
        ("alpha[1]", "[estimands] contrasts must be a valid list; got 'alpha[1]'"),
        ([3], "[estimands] contrasts must hold texts or tables {contrast = TEXT, null = NUMBER}"),
        ([{"null": 1}], "[estimands] contrasts needs the key 'contrast'"),
        ([{"contrast": "alpha[1]", "nul": 1}], "did you mean 'null'?"),
        ([{"contrast": "alpha[1]", "null": "1"}], "null must be a valid number; got '1'"),
        ([{"contrast": "alpha[1]", "null": float("inf")}], "null must be a finite number; got inf"),
    ],
)
def test_contrasts_that_break_a_rule_are_told_in_one_line(contrasts, message):
    with pytest.raises(InvalidStudyError) as caught:
        read_estimands({"contrasts": contrasts})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pool_may_not_be_called_as_an_estimand():
    check_pools(["senders"], ["alpha[1]"])
    with pytest.raises(
        InvalidStudyError, match=r"must not be those of estimands; got 'alpha\[1\]'"
    ):
        check_pools(["senders", "alpha[1]"], ["alpha[1]"])
