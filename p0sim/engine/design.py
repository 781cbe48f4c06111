"""From a study file to its cells."""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from p0sim.columns import FACTORS, PERFORMANCE, PROGRESS, RULE_SUFFIX, TARGET_REPS, column_names
from p0sim.engine.streams import EXACT_LIMIT, SEED_LIMIT, WORD_LIMIT, canonical_number, cell_id
from p0sim.errors import InvalidStudyError
from p0sim.formulas import FUNCTIONS, evaluate, names_in
from p0sim.replicate import Cell, Experiment
from p0sim.validation import check_table, refuse_unknown, shown

Level: TypeAlias = int | float | str

SECTIONS = ("model", "estimands", "methods", "measures")
EXCLUDE, TEXT = "exclude", "text"
FACTOR_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
RESERVED = {
    *FUNCTIONS,
    *(column.name for column in PERFORMANCE),
    *column_names("replicates"),
    *column_names("estimates"),
    TARGET_REPS.name,
    *(column.name for column in PROGRESS),
    EXCLUDE,
    TEXT,
}


class StudySection(BaseModel):
    """The table [study]: what the study is called, what runs, how often.

    Where [measures.stop] gives max_reps, that is how often at most, and reps may be left out.
    """

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    aims: str = ""
    experiment: Annotated[str, Field(min_length=1)] = "private_p0"
    seed: Annotated[int, Field(ge=0, lt=SEED_LIMIT)] | None = None
    reps: Annotated[int, Field(ge=1, lt=WORD_LIMIT)]


@dataclass(frozen=True)
class StudyFile:
    """A study file, read and checked as far as the engine knows it.

    Attributes
    ----------
    study : StudySection
        name, aims, experiment, seed and reps.
    factors : dict of str to tuple
        Levels as written: numbers or formulas.
    excluded : tuple of dict
        Holes of the grid.
    sections : dict
        The tables model, estimands, methods and measures, unchecked: the experiment's own.
    document : dict
        The whole file, as stored beside the results.
    folder : str
        Where it stands; paths within it are relative to that.
    words : frozenset of str
        Factors whose levels are words, from [factors.text].
    """

    study: StudySection
    factors: dict[str, tuple[Level, ...]]
    excluded: tuple[dict[str, Level], ...]
    sections: dict[str, Any]
    document: dict[str, Any] = field(repr=False)
    folder: str = "."
    words: frozenset[str] = frozenset()


def read_study_file(path: str | Path) -> StudyFile:
    """Read a study file.

    Parameters
    ----------
    path : str or Path
        A TOML file.

    Returns
    -------
    StudyFile

    Raises
    ------
    InvalidStudyError
        If the file is missing, is no TOML, or breaks a rule; in one line.

    Examples
    --------
    >>> read_study_file("no_such_file.toml")
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: study file no_such_file.toml cannot be read: \
No such file or directory
    """
    try:
        document = tomllib.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InvalidStudyError(f"study file {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidStudyError(f"study file {path} is not valid TOML: {error}") from None
    return parse_study(document, str(Path(path).parent.resolve()))


def parse_study(document: Mapping[str, Any], folder: str = ".") -> StudyFile:
    """Check the tables of a study file that the engine owns.

    Parameters
    ----------
    document : mapping
        The file as tomllib reads it.
    folder : str
        Where the file stands.

    Raises
    ------
    InvalidStudyError
        Names the key, its place and the rule.

    Examples
    --------
    >>> file = parse_study({"study": {"name": "tiny", "reps": 10}, "factors": {"n": [10, 20]}})
    >>> file.study.reps, file.factors
    (10, {'n': (10, 20)})
    """
    refuse_unknown(document, ("study", "factors", *SECTIONS), "the study file")
    study = check_table(StudySection, _with_reps(document), "[study]")
    table = _table(document, "factors")
    words = _words(table.get(TEXT, {}), table)
    named = (name for name in table if name not in (EXCLUDE, TEXT))
    factors = {name: _levels(name, table[name]) for name in named} | words
    excluded = _holes(table.get(EXCLUDE, []), factors)
    sections = {name: _table(document, name) for name in SECTIONS}
    return StudyFile(study, factors, excluded, sections, dict(document), folder, frozenset(words))


def build_cells(
    study_file: StudyFile, experiment: Experiment, constants: Mapping[str, float] | None = None
) -> tuple[Cell, ...]:
    """Cells of the grid, in file order, the last factor fastest.

    Parameters
    ----------
    study_file : StudyFile
        What to build.
    experiment : Experiment
        Names the content of a cell beyond its factors.
    constants : mapping of str to number, optional
        Numbers formulas may speak of though they are no factors: n and q of a given network.

    Returns
    -------
    tuple of Cell
        Levels of equal value are one cell, which keeps the first way it was written.

    Raises
    ------
    InvalidStudyError
        If a formula has no value, a hole matches nothing, or no cell is left.
    """
    constants = constants or {}
    for name in study_file.factors.keys() & constants.keys():
        raise InvalidStudyError(f"[factors] {name} is fixed by the model; leave it out")
    hits = [0] * len(study_file.excluded)
    cells: dict[str, Cell] = {}
    for cell in _grid(study_file, constants):
        matched = [_matches(hole, cell, constants) for hole in study_file.excluded]
        hits = [count + hit for count, hit in zip(hits, matched, strict=True)]
        if not any(matched):
            named = replace(cell, id=cell_id(cell, experiment))
            cells.setdefault(named.id, named)
    for hole, count in zip(study_file.excluded, hits, strict=True):
        if count == 0:
            raise InvalidStudyError(f"[[factors.exclude]] {_written(hole)} matches no cell")
    if not cells:
        raise InvalidStudyError("[[factors.exclude]] leaves no cell")
    return tuple(cells.values())


def _with_reps(document: Mapping[str, Any]) -> object:
    """[study]; where it gives no count, cells may go on to the most that [measures.stop] allows."""
    match document:
        case {"study": {**study}, "measures": {"stop": {"max_reps": int(most)}}} if most > 0:
            return {"reps": most, **study}
    return document.get("study", {})


def _table(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise InvalidStudyError(f"[{name}] must be a table of keys and values; got {shown(table)}")
    return table


def _words(table: object, factors: Mapping[str, object]) -> dict[str, tuple[Level, ...]]:
    """Factors whose levels are words."""
    if not isinstance(table, dict):
        raise InvalidStudyError(f"[factors.text] must be a table of factors; got {shown(table)}")
    for name, levels in table.items():
        _require_name(name)
        if name in factors or name in FACTORS:
            raise InvalidStudyError(f"[factors.text] {name} must not be a factor of numbers too")
        if not isinstance(levels, list) or not levels or not all(map(_is_word, levels)):
            raise InvalidStudyError(
                f"[factors.text] {name} must be a list of words; got {shown(levels)}"
            )
        _refuse_repeated(f"[factors.text] {name}", levels)
    return {name: tuple(levels) for name, levels in table.items()}


def _is_word(level: object) -> bool:
    return isinstance(level, str) and bool(level.strip())


def _require_name(name: str) -> None:
    if not FACTOR_NAME.fullmatch(name) or name in RESERVED or name.endswith(RULE_SUFFIX):
        raise InvalidStudyError(
            f"[factors] {name!r} cannot name a factor; it must be letters, digits and _, "
            f"not end in {RULE_SUFFIX} and not name a function or a result column"
        )


def _levels(name: str, levels: object) -> tuple[Level, ...]:
    _require_name(name)
    if not isinstance(levels, list) or not levels:
        raise InvalidStudyError(
            f"[factors] {name} must be a list of numbers or formulas; got {shown(levels)}"
        )
    checked = tuple(_level(level, f"[factors] {name}") for level in levels)
    _refuse_repeated(f"[factors] {name}", checked)
    return checked


def _refuse_repeated(place: str, levels: Sequence[Level]) -> None:
    """Refuse a level that is written twice: it would be one cell, run once."""
    rules = ["".join(_rule(level).split()) for level in levels]
    for level, rule in zip(levels, rules, strict=True):
        if rules.count(rule) > 1:
            raise InvalidStudyError(f"{place} must not repeat a level; got {shown(level)} twice")


def _level(level: object, place: str) -> Level:
    match level:
        case bool():
            pass
        case str():
            return level
        case int() if abs(level) < EXACT_LIMIT:
            return level
        case float() if math.isfinite(level):
            return level
    raise InvalidStudyError(
        f"{place} must hold finite numbers, whole ones below 2^53, or formulas; got {shown(level)}"
    )


def _holes(holes: object, factors: Mapping[str, object]) -> tuple[dict[str, Level], ...]:
    place = "[[factors.exclude]]"
    if not isinstance(holes, list) or not all(isinstance(hole, dict) and hole for hole in holes):
        raise InvalidStudyError(f"{place} must be tables naming factors; got {shown(holes)}")
    for hole in holes:
        refuse_unknown(hole, factors.keys(), place)
        for name, level in hole.items():
            _level(level, f"{place} {name}")
    return tuple(holes)


def _grid(study_file: StudyFile, constants: Mapping[str, float]) -> Iterator[Cell]:
    names, reps = tuple(study_file.factors), study_file.study.reps
    for levels in itertools.product(*study_file.factors.values()):
        written = dict(zip(names, levels, strict=True))
        numbers = {name: level for name, level in written.items() if name not in study_file.words}
        values = {**written, **_Solver(numbers, dict(constants)).values()}
        rules = {name: _rule(level) for name, level in written.items()}
        yield Cell(id="", factors=values, rules=rules, target_reps=reps)


@dataclass(frozen=True)
class _Solver:
    """Values of the factors of one cell, formulas after what they speak of."""

    written: Mapping[str, Level]
    known: dict[str, float]

    def values(self) -> dict[str, int | float]:
        # Plain numbers first, so that a mistyped name is told all of them.
        for name in sorted(self.written, key=lambda name: isinstance(self.written[name], str)):
            self._value(name, ())
        return {name: self.known[name] for name in self.written}

    def _value(self, name: str, asked_by: tuple[str, ...]) -> float:
        if name in asked_by:
            circle = " -> ".join([*asked_by, name])
            raise InvalidStudyError(f"[factors] formulas must not go round in a circle: {circle}")
        if name not in self.known:
            value = self._evaluate(name, (*asked_by, name))
            _require_kind(name, value)
            self.known[name] = value
        return self.known[name]

    def _evaluate(self, name: str, asked_by: tuple[str, ...]) -> float:
        level = self.written[name]
        if not isinstance(level, str):
            return canonical_number(level)
        for other in sorted(names_in(level) & self.written.keys()):
            self._value(other, asked_by)
        try:
            return canonical_number(evaluate(level, self.known, f"[factors] {name}"))
        except InvalidStudyError as error:
            hint = "; words go under [factors.text]" if level.isidentifier() else ""
            raise InvalidStudyError(f"{error}{hint}") from None


def _require_kind(name: str, value: float) -> None:
    if name in FACTORS and FACTORS[name].kind == "integer" and not isinstance(value, int):
        raise InvalidStudyError(f"[factors] {name} must hold whole numbers; got {value}")


def _rule(level: Level) -> str:
    return level.strip() if isinstance(level, str) else str(canonical_number(level))


def _matches(hole: Mapping[str, Level], cell: Cell, constants: Mapping[str, float]) -> bool:
    return all(_level_in(hole, name, cell, constants) == cell.factors[name] for name in hole)


def _level_in(
    hole: Mapping[str, Level], name: str, cell: Cell, constants: Mapping[str, float]
) -> Level:
    """The level a hole names, its formula worked out in the cell."""
    level = hole[name]
    if isinstance(cell.factors[name], str):
        return level
    if isinstance(level, str):
        names: dict[str, Any] = {**constants, **cell.factors}
        level = evaluate(level, names, f"[[factors.exclude]] {name}")
    return canonical_number(level)


def _written(hole: Mapping[str, Level]) -> str:
    return ", ".join(f"{name} = {level}" for name, level in hole.items())
