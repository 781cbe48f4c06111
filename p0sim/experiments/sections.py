"""Tables of a study file that experiments own, as people write them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
)

from p0sim.columns import WHOLE_FIT
from p0sim.errors import InvalidStudyError
from p0sim.experiments.truth import LINEAR
from p0sim.validation import check_table, refuse_unknown, shown

CALL = "call"
# what a method is given
PLAIN, LAPLACE, EDGE_FLIP = "plain", "laplace", "edge_flip"


class ModelSection(BaseModel):
    """[model]: where the truth comes from, and which cells share their networks."""

    model_config = ConfigDict(frozen=True)

    theta: str = LINEAR
    q: Annotated[int, Field(ge=2)] | None = None
    share_network_across: list[str] = []


class ContrastSection(BaseModel):
    """An entry of [estimands] contrasts: a sum of parameters, and what it is tested against."""

    model_config = ConfigDict(frozen=True)

    contrast: str
    null: Annotated[float, Field(allow_inf_nan=False)] = 0.0


class EstimandsSection(BaseModel):
    """[estimands]: what is estimated in every replicate."""

    model_config = ConfigDict(frozen=True)

    contrasts: list[ContrastSection] = []
    sup_error: bool = True

    def identity(self) -> dict[str, Any]:
        """What makes old rows those of another study: the nulls do not."""
        return {
            "contrasts": [entry.contrast for entry in self.contrasts],
            "sup_error": self.sup_error,
        }


class MechanismSection(BaseModel):
    """What the methods of [methods.NAME] are given: degrees without noise, or made private."""

    model_config = ConfigDict(frozen=True)

    release: bool = True
    mechanism: Literal["laplace", "edge_flip"] = "laplace"

    @field_validator("mechanism")
    @classmethod
    def _go_with_release(cls, mechanism: str, info: ValidationInfo) -> str:
        if not info.data.get("release", True):
            raise ValueError("must not stand beside release = false")
        return mechanism

    @model_serializer(mode="wrap")
    def _without_default(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # results written before there was a choice hold no mechanism, and stay those of this study
        fields: dict[str, Any] = dump(self)
        if fields.get("mechanism") == LAPLACE:
            del fields["mechanism"]
        return fields

    @property
    def data(self) -> str:
        """Which data set of a replicate the method sees: one of PLAIN, LAPLACE and EDGE_FLIP."""
        return self.mechanism if self.release else PLAIN


class MethodSection(MechanismSection):
    """[methods.NAME]: one way of ours from degrees to intervals."""

    margins: Literal["balanced", "drop_last"] = "balanced"
    variance: Literal["noise", "S", "exact"] = "noise"
    solver: Literal["newton", "fixed_point"] = "newton"
    label: str = ""
    reference: bool = False


class CallSection(MechanismSection):
    """[methods.NAME] with call: an estimator of the user's own."""

    call: str
    label: str = ""
    reference: bool = False


class LabelSection(BaseModel):
    """[methods.NAME] of a custom experiment, which knows by itself what its methods do."""

    model_config = ConfigDict(frozen=True)

    label: str = ""
    reference: bool = False


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
    """[measures]: the level of the intervals, when enough is known of them, and what is pooled."""

    model_config = ConfigDict(frozen=True)

    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    stop: StopSection | None = None
    pool: dict[str, str] = {}


Method: TypeAlias = MethodSection | CallSection
# Keys of [methods.NAME] that say how results are shown, and change none.
SHOWN = {"label", "reference"}


def read_estimands(table: object) -> EstimandsSection:
    """Check [estimands]; a contrast is a text, or a table with what it is tested against.

    Raises
    ------
    InvalidStudyError
        Naming the table, the key, the rule and the value.

    Examples
    --------
    >>> read = read_estimands({"contrasts": ["alpha[1]", {"contrast": "alpha[2]", "null": 0.5}]})
    >>> [(entry.contrast, entry.null) for entry in read.contrasts]
    [('alpha[1]', 0.0), ('alpha[2]', 0.5)]
    """
    if isinstance(table, dict) and isinstance(table.get("contrasts"), list):
        table = {**table, "contrasts": [_read_contrast(entry) for entry in table["contrasts"]]}
    return check_table(EstimandsSection, table, "[estimands]")


def _read_contrast(entry: object) -> ContrastSection:
    if isinstance(entry, str):
        return ContrastSection(contrast=entry)
    if isinstance(entry, dict):
        return check_table(ContrastSection, entry, "[estimands] contrasts")
    raise InvalidStudyError(
        "[estimands] contrasts must hold texts or tables {contrast = TEXT, null = NUMBER}; "
        f"got {shown(entry)}"
    )


def read_measures(table: object) -> MeasuresSection:
    """Check [measures] and, within it, [measures.stop] and [measures.pool].

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
    measures = check_table(MeasuresSection, table, "[measures]")
    for name, pattern in measures.pool.items():
        _require_pool(name, pattern)
    return measures


def _require_pool(name: str, pattern: str) -> None:
    if not name.strip() or name == WHOLE_FIT:
        raise InvalidStudyError(
            f"[measures.pool] names must not be empty or {WHOLE_FIT!r}, which stands for whole "
            f"fits in tables; got {name!r}"
        )
    if not pattern.strip():
        raise InvalidStudyError(
            f"[measures.pool] {name} must be a pattern of estimands such as 'alpha[*]'; "
            f"got {pattern!r}"
        )


def check_pools(pools: Collection[str], estimands: Collection[str]) -> None:
    """Refuse a pool that has the name of an estimand.

    Examples
    --------
    >>> check_pools(["alpha[1]"], ["alpha[1]", "alpha[2]"])
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: [measures.pool] names must not be those of estimands; \
got 'alpha[1]'
    """
    taken = set(estimands)
    for name in pools:
        if name in taken:
            raise InvalidStudyError(
                f"[measures.pool] names must not be those of estimands; got {name!r}"
            )


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
    check_shown(methods)
    return methods


def check_shown(methods: Mapping[str, Method | LabelSection]) -> None:
    """Refuse two methods that tables could not tell apart, and two references."""
    shown = [method.label or name for name, method in methods.items()]
    for label in shown:
        if not label.strip() or shown.count(label) > 1:
            raise InvalidStudyError(f"[methods] labels must differ and not be empty; got {label!r}")
    references = [name for name, method in methods.items() if method.reference]
    if len(references) > 1:
        raise InvalidStudyError(
            f"[methods] reference = true must stand at one method; got {', '.join(references)}"
        )


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
