"""Mistakes in files become one line naming key, place and rule."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from p0sim.errors import InvalidStudyError
from p0sim.validation import advice, check_table, one_of, refuse_unknown, suggestion

FACTORS = ["n", "q", "L", "epsilon"]
CASES = [
    ("N", FACTORS, "n"),
    ("eps", FACTORS, "epsilon"),
    ("rep", ["name", "reps", "seed"], "reps"),
]
FAR = [
    ("rho", FACTORS),
    ("delta", FACTORS),
    ("ridge", ["margins", "variance", "solver", "mechanism"]),
    ("zz", ["a", "b"]),
    ("karate", ["fraternity", "eies", "lazega"]),
]
MANY = [f"node{number}" for number in range(1, 31)]


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: int = 1


class Table(BaseModel):
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    margins: Literal["balanced", "drop_last"] = "balanced"
    contrasts: list[str] = []
    inner: Inner = Inner()

    @field_validator("contrasts")
    @classmethod
    def not_empty_texts(cls, value: list[str]) -> list[str]:
        if "" in value:
            raise ValueError("must not hold empty texts")
        return value


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"levle": 0.9},
            "[measures] has an unknown key 'levle'; did you mean 'level'? Known here:",
        ),
        ({"level": 1.5}, "[measures] level must be less than 1; got 1.5"),
        ({"level": float("nan")}, "[measures] level must be less than 1; got nan"),
        ({"level": "0.9"}, "[measures] level must be a valid number; got '0.9'"),
        ({"margins": "both"}, "[measures] margins must be 'balanced' or 'drop_last'; got 'both'"),
        ({"contrasts": ["a", 3]}, "[measures] contrasts.1 must be a valid string; got 3"),
        ({"contrasts": [""]}, "[measures] contrasts must not hold empty texts; got ['']"),
        ({"inner": {"cuont": 3}}, "[measures] has an unknown key 'inner.cuont'"),
        ([1], "[measures] must be a table of keys and values; got [1]"),
    ],
)
def test_mistake_is_told_in_one_line(table, message):
    with pytest.raises(InvalidStudyError, match=re.escape(message)) as caught:
        check_table(Table, table, "[measures]")
    assert "\n" not in str(caught.value)


def test_right_table_comes_back_as_the_model():
    assert check_table(Table, {"level": 0.5}, "[measures]").level == 0.5


def test_known_keys_pass():
    refuse_unknown(["a"], ["a", "b"], "[x]")


def test_nothing_known_is_said():
    with pytest.raises(
        InvalidStudyError, match=r"\[x\] has an unknown key 'a'; nothing is known here"
    ):
        refuse_unknown(["a"], [], "[x]")


@pytest.mark.parametrize(("typed", "known", "meant"), CASES)
def test_what_is_near_is_suggested(typed, known, meant):
    assert suggestion(typed, known) == f", did you mean {meant!r}?"


@pytest.mark.parametrize(("typed", "known"), FAR)
def test_nothing_far_fetched_is_suggested(typed, known):
    assert suggestion(typed, known) == ""
    assert advice(typed, known) == f"known here: {', '.join(known)}"
    with pytest.raises(InvalidStudyError) as caught:
        refuse_unknown([typed], known, "[x]")
    assert "did you mean" not in str(caught.value)


def test_many_names_are_listed_only_where_none_is_near():
    assert one_of("noed19", MANY) == "one of 30 names; got 'noed19', did you mean 'node19'?"
    assert one_of("zz", MANY) == f"one of {', '.join(MANY)}; got 'zz'"
    assert advice("noed19", MANY) == "did you mean 'node19'?"
    assert advice("zz", MANY) == f"known here: {', '.join(MANY)}"
