"""Tables of a study file that experiments own, as people write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from p0sim.errors import InvalidStudyError
from p0sim.experiments.truth import LINEAR
from p0sim.validation import check_table, refuse_unknown

CALL = "call"


class ModelSection(BaseModel):
    """[model]: where the truth comes from, and which cells share their networks."""

    model_config = ConfigDict(frozen=True)

    theta: str = LINEAR
    q: Annotated[int, Field(ge=2)] | None = None
    share_network_across: list[str] = []


class EstimandsSection(BaseModel):
    """[estimands]: what is estimated in every replicate."""

    model_config = ConfigDict(frozen=True)

    contrasts: list[str] = []
    sup_error: bool = True


class MethodSection(BaseModel):
    """[methods.NAME]: one way of ours from degrees to intervals."""

    model_config = ConfigDict(frozen=True)

    release: bool = True
    margins: Literal["balanced", "drop_last"] = "balanced"
    variance: Literal["noise", "S", "exact"] = "noise"
    solver: Literal["newton", "fixed_point"] = "newton"
    label: str = ""


class CallSection(BaseModel):
    """[methods.NAME] with call: an estimator of the user's own."""

    model_config = ConfigDict(frozen=True)

    call: str
    release: bool = True
    label: str = ""


class LabelSection(BaseModel):
    """[methods.NAME] of a custom experiment, which knows by itself what its methods do."""

    model_config = ConfigDict(frozen=True)

    label: str = ""


class StopSection(BaseModel):
    """[measures.stop]: end a cell once its coverage is known well enough."""

    model_config = ConfigDict(frozen=True)

    coverage_mcse: Annotated[float, Field(gt=0, lt=0.5)]
    min_reps: Annotated[int, Field(ge=1)] = 500
    max_reps: Annotated[int, Field(ge=1)] | None = None
    check_every: Annotated[int, Field(ge=1)] = 250

    @field_validator("max_reps")
    @classmethod
    def _reach_the_least(cls, max_reps: int | None, info: ValidationInfo) -> int | None:
        least = info.data.get("min_reps", 0)
        if max_reps is not None and max_reps < least:
            raise ValueError(f"must be at least min_reps = {least}")
        return max_reps


class MeasuresSection(BaseModel):
    """[measures]: the level of the intervals, and when enough is known of them."""

    model_config = ConfigDict(frozen=True)

    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    stop: StopSection | None = None


Method: TypeAlias = MethodSection | CallSection


def read_measures(table: object) -> MeasuresSection:
    """Check [measures] and, within it, [measures.stop].

    Parameters
    ----------
    table : object
        What the study file holds there.

    Raises
    ------
    InvalidStudyError
        Naming the table, the key, the rule and the value.

    Examples
    --------
    >>> read_measures({"level": 0.9, "stop": {"coverage_mcse": 0.01}}).stop.min_reps
    500
    >>> read_measures({"stop": {"coverage_mcse": 0.01, "max_reps": 100}})
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: [measures.stop] max_reps must be at least min_reps = 500; \
got 100
    """
    if isinstance(table, dict) and "stop" in table:
        table = {**table, "stop": check_table(StopSection, table["stop"], "[measures.stop]")}
    return check_table(MeasuresSection, table, "[measures]")


def read_methods(tables: Mapping[str, object]) -> dict[str, Method]:
    """Check every [methods.NAME] of a study: ours, or one with `call`.

    Examples
    --------
    >>> read_methods({"mine": {"call": "my_methods.py:fit", "margins": "balanced"}})
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: [methods.mine] margins must not stand beside call: \
the function does all of it
    """
    if not tables:
        raise InvalidStudyError("[methods] must hold at least one method; got none")
    methods = {name: _read_method(table, f"[methods.{name}]") for name, table in tables.items()}
    check_labels(methods)
    return methods


def check_labels(methods: Mapping[str, Method | LabelSection]) -> None:
    """Refuse two methods that tables and figures could not tell apart."""
    shown = [method.label or name for name, method in methods.items()]
    for label in shown:
        if not label.strip() or shown.count(label) > 1:
            raise InvalidStudyError(f"[methods] labels must differ and not be empty; got {label!r}")


def _read_method(table: object, place: str) -> Method:
    if not isinstance(table, dict):
        return check_table(MethodSection, table, place)
    refuse_unknown(table, [*MethodSection.model_fields, CALL], place)
    if CALL not in table:
        return check_table(MethodSection, table, place)
    for key in table:
        if key not in CallSection.model_fields:
            raise InvalidStudyError(
                f"{place} {key} must not stand beside call: the function does all of it"
            )
    return check_table(CallSection, table, place)
