"""Checks of what people write in files: one line naming the key, its place and the rule."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from p0sim.errors import InvalidStudyError

Model = TypeVar("Model", bound=BaseModel)
LENGTH_SHOWN = 80


def nearest(name: str, known: Collection[str]) -> str:
    """Return the known name that looks most like this one.

    Examples
    --------
    >>> nearest("Epsilom", ["n", "q", "epsilon"])
    'epsilon'
    """
    lowered = name.lower()
    ratios = {k: difflib.SequenceMatcher(None, lowered, k.lower()).ratio() for k in known}
    return max(ratios, key=ratios.__getitem__)


def refuse_unknown(keys: Iterable[str], allowed: Collection[str], place: str) -> None:
    """Refuse the first key that is not allowed.

    Parameters
    ----------
    keys : iterable of str
        What was written.
    allowed : collection of str
        What may be written.
    place : str
        Where, as the reader finds it: ``"[study]"``.

    Raises
    ------
    InvalidStudyError
        Names the key, the place, the nearest allowed key and all of them.

    Examples
    --------
    >>> refuse_unknown(["name", "rep"], ["name", "reps"], "[study]")
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: [study] has an unknown key 'rep'; did you mean 'reps'? \
Known here: name, reps
    """
    for key in keys:
        if key not in allowed:
            raise InvalidStudyError(f"{place} has an unknown key {key!r}; {_advice(key, allowed)}")


def check_table(model: type[Model], table: object, place: str) -> Model:
    """Read a table of a study file as a pydantic model, errors told in one line.

    Parameters
    ----------
    model : type of pydantic model
        Its fields are the allowed keys. Values are read strictly: "1" is no number.
    table : object
        What the file holds there.
    place : str
        Where, as the reader finds it: ``"[study]"``.

    Returns
    -------
    model instance

    Raises
    ------
    InvalidStudyError
        For anything but a table, an unknown key, or the first value that breaks a rule.

    Examples
    --------
    >>> from pydantic import BaseModel, Field
    >>> class Measures(BaseModel):
    ...     level: float = Field(default=0.95, gt=0, lt=1)
    >>> check_table(Measures, {"level": 0.9}, "[measures]")
    Measures(level=0.9)
    >>> check_table(Measures, {"level": 95.0}, "[measures]")
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: [measures] level must be less than 1; got 95.0
    """
    if not isinstance(table, dict):
        raise InvalidStudyError(f"{place} must be a table of keys and values; got {shown(table)}")
    refuse_unknown(table, model.model_fields, place)
    try:
        return model.model_validate(table, strict=True)
    except ValidationError as error:
        raise InvalidStudyError(f"{place} {_one_line(error.errors()[0])}") from None


def shown(value: object) -> str:
    """Show a value in an error message on one line, cut when long.

    Examples
    --------
    >>> shown("a" * 200)[-5:]
    'aa...'
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= LENGTH_SHOWN else text[: LENGTH_SHOWN - 3] + "..."


def _advice(key: str, allowed: Collection[str]) -> str:
    if not allowed:
        return "no keys are known here"
    known = ", ".join(sorted(allowed))
    return f"did you mean {nearest(key, allowed)!r}? Known here: {known}"


def _one_line(problem: ErrorDetails) -> str:
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "missing":
        return f"needs the key {where!r}"
    if problem["type"] == "extra_forbidden":
        return f"has an unknown key {where!r}"
    got: Any = problem["input"]
    return f"{where} {_rule(problem['msg'])}; got {shown(got)}"


def _rule(message: str) -> str:
    return re.sub(r"^\w+ should ", "must ", message).removeprefix("Value error, ")
