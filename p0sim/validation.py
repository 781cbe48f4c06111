"""Checks of what people write in files: one line naming the key, its place and the rule."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from p0sim.errors import LABELS_SHOWN, InvalidStudyError, P0SimError

Model = TypeVar("Model", bound=BaseModel)
LENGTH_SHOWN = 80


def suggestion(name: str, known: Collection[str]) -> str:
    """The end of a refusal: the known name that was meant, if any looks like it.

    Examples
    --------
    >>> suggestion("Epsilom", ["n", "q", "epsilon"])
    ", did you mean 'epsilon'?"
    >>> suggestion("rho", ["n", "q", "epsilon"])
    ''
    """
    near = _nearest(name, known)
    return "" if near is None else f", did you mean {near!r}?"


def one_of(name: str, known: Collection[str], beside: str = "") -> str:
    """The middle and the end of a refusal: what may stand there, what does, what was meant.

    Parameters
    ----------
    name : str
        What was written.
    known : collection of str
        What may be written; many names are listed only where none looks like this one.
    beside : str
        Another way to be right, after the names.

    Examples
    --------
    >>> one_of("singel", ["single", "double"])
    "one of single, double; got 'singel', did you mean 'single'?"
    >>> one_of("noed19", [f"node{k}" for k in range(1, 21)])
    "one of 20 names; got 'noed19', did you mean 'node19'?"
    """
    meant = suggestion(name, known)
    listed = f"{len(known)} names" if meant and len(known) > LABELS_SHOWN else ", ".join(known)
    return f"one of {listed}{beside}; got {name!r}{meant}"


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
        Names the key, the place, the allowed key that looks like it, and all of them if few.

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
            told = advice(key, sorted(allowed))
            raise InvalidStudyError(f"{place} has an unknown key {key!r}; {told}")


def advice(name: str, known: Collection[str]) -> str:
    """What to write in place of an unknown name: the one that was meant, and all if they are few.

    Examples
    --------
    >>> advice("rep", ["name", "reps"])
    "did you mean 'reps'? Known here: name, reps"
    >>> advice("zz", ["name", "reps"])
    'known here: name, reps'
    """
    if not known:
        return "nothing is known here"
    meant = suggestion(name, known).removeprefix(", ")
    if not meant:
        return f"known here: {', '.join(known)}"
    return meant if len(known) > LABELS_SHOWN else f"{meant} Known here: {', '.join(known)}"


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


@contextmanager
def placed(names: Collection[str], place: str) -> Iterator[None]:
    """Say in which table of a study file a name stands, where a refusal begins with it.

    Examples
    --------
    >>> with placed(["n", "q"], "[factors]"):
    ...     raise InvalidStudyError("q must be at least 2; got 1")
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: [factors] q must be at least 2; got 1
    """
    try:
        yield
    except P0SimError as error:
        if str(error).partition(" ")[0] not in names:
            raise
        raise InvalidStudyError(f"{place} {error}") from None


def shown(value: object) -> str:
    """Show a value in an error message on one line, cut when long.

    Examples
    --------
    >>> shown("a" * 200)[-5:]
    'aa...'
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= LENGTH_SHOWN else text[: LENGTH_SHOWN - 3] + "..."


def _nearest(name: str, known: Collection[str]) -> str | None:
    """The known name that looks like this one; by difflib's own measure of what is far-fetched."""
    by_lower = {k.lower(): k for k in reversed([*known])}
    return next(map(by_lower.get, difflib.get_close_matches(name.lower(), by_lower, n=1)), None)


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
