"""What people's own functions return, checked and read as estimates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from p0sim.columns import WHOLE_FIT
from p0sim.errors import InvalidStudyError
from p0sim.experiments.estimates import Estimate
from p0sim.validation import refuse_unknown, shown

Row: TypeAlias = Mapping[str, Any]

METHOD = "method"
OPTIONAL = ("std_error", "lower", "upper", "true_value")
KEYS = ("estimand", "estimate", *OPTIONAL, METHOD)


def read_pairs(answer: object, true_values: Mapping[str, float], place: str) -> list[Estimate]:
    """Read what a custom method returned.

    Parameters
    ----------
    answer : object
        Should be a dict of estimand to (estimate, std_error), std_error None where there is none.
    true_values : mapping of str to float
        The estimands of the study, in order, and their true values.
    place : str
        Names the method in error messages.

    Raises
    ------
    InvalidStudyError
        If an estimand is missing or unknown, or an entry is no pair of numbers.

    Examples
    --------
    >>> read_pairs({"alpha[1]": (0.5, 0.1)}, {"alpha[1]": 0.4}, "[methods.mine]")[0].value
    0.5
    >>> read_pairs({}, {"alpha[1]": 0.4}, "[methods.mine]")
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: [methods.mine] must return every estimand; \
alpha[1] is missing
    """
    if not isinstance(answer, Mapping):
        raise InvalidStudyError(
            f"{place} must return a dict of estimand to (estimate, std_error); got {shown(answer)}"
        )
    refuse_unknown(map(str, answer), tuple(true_values), f"the answer of {place}")
    for estimand in true_values:
        if estimand not in answer:
            raise InvalidStudyError(f"{place} must return every estimand; {estimand} is missing")
    return [
        Estimate(estimand, *_pair(answer[estimand], f"{place} {estimand}"), true_value)
        for estimand, true_value in true_values.items()
    ]


def rows_by_method(answer: object, methods: Sequence[str], place: str) -> dict[str, list[Row]]:
    """Sort the rows a custom experiment returned by their method.

    Parameters
    ----------
    answer : object
        Should be a list of dicts.
    methods : sequence of str
        Of the study. A row may leave out its method where there is only one.
    place : str
        Names the function in error messages.

    Raises
    ------
    InvalidStudyError
        If the answer is anything else, or a row names no method or an unknown one.

    Examples
    --------
    >>> rows_by_method([{"estimand": "mu", "estimate": 1.0}], ["mean", "median"], "my.py:run")
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: my.py:run: a row must name its method, one of mean, median; \
got {'estimand': 'mu', 'estimate': 1.0}
    """
    if not isinstance(answer, Iterable) or isinstance(answer, str | Mapping):
        raise InvalidStudyError(f"{place} must return a list of dicts; got {shown(answer)}")
    rows: dict[str, list[Row]] = {method: [] for method in methods}
    for row in answer:
        if not isinstance(row, Mapping):
            raise InvalidStudyError(f"{place} must return a list of dicts; got {shown(row)} in it")
        rows[_method_of(row, methods, place)].append(row)
    return rows


def read_rows(rows: Iterable[Row], place: str) -> list[Estimate]:
    """Read the rows of one method of a custom experiment.

    Raises
    ------
    InvalidStudyError
        If a key is missing or unknown, a value is no number, or an estimand stands twice.

    Examples
    --------
    >>> read_rows([{"estimand": "mu", "estimate": 1, "true_value": 0}], "my.py:run")
    [Estimate(estimand='mu', value=1.0, std_error=None, true_value=0.0, bounds=None)]
    """
    estimates = [_read_row(row, place) for row in rows]
    names = [estimate.estimand for estimate in estimates]
    for name in names:
        if names.count(name) > 1:
            raise InvalidStudyError(f"{place} must return each estimand once; got {name} twice")
    return estimates


def _method_of(row: Row, methods: Sequence[str], place: str) -> str:
    if METHOD not in row and len(methods) == 1:
        return methods[0]
    known = ", ".join(methods)
    if METHOD not in row:
        raise InvalidStudyError(
            f"{place}: a row must name its method, one of {known}; got {shown(dict(row))}"
        )
    method: str = row[METHOD]
    if method not in methods:
        raise InvalidStudyError(
            f"{place}: method must be one of {known}, as the tables [methods.NAME] have it; "
            f"got {shown(method)}"
        )
    return method


def _read_row(row: Row, place: str) -> Estimate:
    refuse_unknown(map(str, row), KEYS, f"a row of {place}")
    estimand = row.get("estimand")
    if not isinstance(estimand, str) or not estimand.strip():
        raise InvalidStudyError(f"{place}: estimand must be text; got {shown(estimand)}")
    if estimand == WHOLE_FIT:
        raise InvalidStudyError(
            f"{place}: estimand must not be {WHOLE_FIT!r}, which stands for whole fits in tables; "
            f"call it {WHOLE_FIT}_1, say"
        )
    value = _number(row.get("estimate"), f"{place}: estimate of {estimand}")
    std_error, lower, upper, true_value = (
        _number_or_none(row.get(name), f"{place}: {name} of {estimand}") for name in OPTIONAL
    )
    bounds = _bounds(lower, upper, f"{place}: interval of {estimand}")
    truth = math.nan if true_value is None else true_value
    return Estimate(estimand, value, std_error, truth, bounds)


def _bounds(lower: float | None, upper: float | None, what: str) -> tuple[float, float] | None:
    if lower is None and upper is None:
        return None
    if lower is None or upper is None:
        raise InvalidStudyError(f"{what} must have both lower and upper; got {lower}, {upper}")
    if lower > upper:
        raise InvalidStudyError(f"{what} must not have lower above upper; got {lower}, {upper}")
    return lower, upper


def _pair(entry: object, what: str) -> tuple[float, float | None]:
    parts = list(entry) if isinstance(entry, tuple | list | np.ndarray) else []
    if len(parts) != 2:
        raise InvalidStudyError(f"{what} must be (estimate, std_error); got {shown(entry)}")
    estimate, std_error = parts
    return _number(estimate, f"{what}: estimate"), _number_or_none(std_error, f"{what}: std_error")


def _number_or_none(value: object, what: str) -> float | None:
    return None if value is None else _number(value, what)


def _number(value: object, what: str) -> float:
    # True is a number to Python, and no estimate to anybody
    if not isinstance(value, Real) or isinstance(value, bool):
        raise InvalidStudyError(f"{what} must be a number; got {shown(value)}")
    return float(value)
