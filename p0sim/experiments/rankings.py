"""What experiments with ordered lists share: the sections of their study files, their methods."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from p0sim.errors import InvalidStudyError
from p0sim.experiments.estimates import Estimate, outcome_of
from p0sim.experiments.list_rules import NONE, UNIFORM, Rule
from p0sim.experiments.sections import (
    SHOWN,
    LabelSection,
    MeasuresSection,
    StopSection,
    check_shown,
    read_measures,
)
from p0sim.linkpred.calibration import CALIBRATIONS, DRAWING, MECHANISMS, Calibration
from p0sim.linkpred.query import require_length
from p0sim.linkpred.scores import Protocol, find_protocol
from p0sim.replicate import Cell, Outcome
from p0sim.validation import check_table, one_of, refuse_unknown

# what a cell or a method may choose, and what is taken where neither does
DEFAULTS: Mapping[str, Any] = {
    "protocol": "CN",
    "mechanism": "dplp",
    "calibration": "sharp",
    "k": 10,
}
NOT_PRIVATE = "not private"
# candidates and neighbours of a query that is tried before a study starts
FEW = 5

Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Mechanism: TypeAlias = Literal["dplp", "laplace", "gaussian", "exponential", "none", "uniform"]


class RankingSection(LabelSection):
    """[methods.NAME] of an experiment with lists: what it fixes is no longer the cell's to say."""

    mechanism: Mechanism | None = None
    calibration: Literal["paper", "sharp", "exact"] | None = None
    sensitivity: Positive | None = None


class ListSection(BaseModel):
    """Keys of [model] that every experiment with lists has."""

    model_config = ConfigDict(frozen=True)

    draws: Annotated[int, Field(ge=1)] = 10
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5
    sensitivity: Positive | None = None


Model = TypeVar("Model", bound=ListSection)

BOTH_ENDS: Mapping[str, RankingSection] = {
    "private": RankingSection(),
    UNIFORM: RankingSection(mechanism=UNIFORM),
    "nonprivate": RankingSection(mechanism=NONE),
}


@dataclass(frozen=True, eq=False)
class RankingStudy:
    """What the engine asks of an experiment with lists that does not depend on its data.

    Attributes
    ----------
    model : ListSection
        [model], with the keys of the experiment.
    specs : dict of str to RankingSection
    measures : MeasuresSection
    factors : tuple of str
        Names of the study's factors.
    """

    model: Any
    specs: Mapping[str, RankingSection]
    measures: MeasuresSection
    factors: tuple[str, ...]

    name: ClassVar[str]
    # factors that make the data; across all others the data are the same
    data_factors: ClassVar[frozenset[str]]

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in file order."""
        return tuple(self.specs)

    @property
    def shared_factors(self) -> frozenset[str]:
        """All factors but those that make the data."""
        return frozenset(self.factors) - self.data_factors

    @property
    def constants(self) -> dict[str, int]:
        """Nothing is fixed."""
        return {}

    @property
    def level(self) -> float:
        """Level of the intervals; the estimates here have none."""
        return self.measures.level

    @property
    def stop(self) -> StopSection | None:
        """When enough is known."""
        return self.measures.stop

    @property
    def sources(self) -> dict[str, str]:
        """No Python file is used."""
        return {}

    def content(self, cell: Cell) -> dict[str, Any]:
        """What generates the data of a cell, beyond its factors."""
        return {"experiment": self.name, "model": self.model.model_dump()}

    def identity(self) -> dict[str, Any]:
        """Everything whose change makes old rows another study; not what is only for show."""
        return {
            "experiment": self.name,
            "model": self.model.model_dump(),
            "methods": {name: spec.model_dump(exclude=SHOWN) for name, spec in self.specs.items()},
            "level": self.level,
        }

    def predicted(self, cell: Cell) -> list[tuple[str, str, float]]:
        """No theory is known."""
        return []

    def nulls(self, cell: Cell) -> dict[str, float]:
        """Nothing is tested."""
        return {}

    def rules(self, cell: Cell) -> dict[str, Rule]:
        """How each method draws in one cell.

        Raises
        ------
        P0SimError
            If a factor is out of its range, or a list has no calibration there.
        """
        protocol = self.protocol(cell)
        return {name: self._rule(spec, protocol, cell.factors) for name, spec in self.specs.items()}

    def protocol(self, cell: Cell) -> Protocol:
        """The score in one cell."""
        return find_protocol(str(cell.factors.get("protocol", DEFAULTS["protocol"])))

    def require(self, cell: Cell) -> None:
        """Refuse a cell that cannot run."""
        for rule in self.rules(cell).values():
            require_length(rule.k, rule.k + 1)
            rule.law(m=FEW, degree=FEW)

    def _rule(self, spec: RankingSection, protocol: Protocol, factors: Mapping[str, Any]) -> Rule:
        mechanism = _choice(spec.mechanism, factors, "mechanism", (*MECHANISMS, UNIFORM))
        k = factors.get("k", DEFAULTS["k"])
        if not isinstance(k, int):
            raise InvalidStudyError(f"[factors] k must hold whole numbers; got {k}")
        return Rule(
            mechanism,
            protocol,
            _choice(spec.calibration, factors, "calibration", CALIBRATIONS),
            k,
            math.nan if mechanism in (NONE, UNIFORM) else float(factors["epsilon"]),
            self.model.delta,
            spec.sensitivity or self.model.sensitivity,
        )


def read_lists(
    sections: Mapping[str, Any],
    factors: Collection[str],
    model: type[Model],
    needed: Sequence[str],
) -> tuple[Model, dict[str, RankingSection], MeasuresSection]:
    """Check the sections of an experiment with lists.

    Parameters
    ----------
    sections : mapping
        The tables model, estimands, methods and measures as read. Without methods there are
        three: private, and uniform and nonprivate lists, between which it must lie.
    factors : collection of str
        Names of the study's factors.
    model : type of ListSection
        The keys of [model].
    needed : sequence of str
        Factors there must be.

    Raises
    ------
    InvalidStudyError
        Naming the section, the key, the rule and the value.
    """
    if sections.get("estimands"):
        raise InvalidStudyError("[estimands] must be left out: this experiment has its own")
    optional = ("protocol", "mechanism", "calibration", "epsilon", "k")
    refuse_unknown(factors, list(dict.fromkeys([*needed, *optional])), "[factors]")
    settings = check_table(model, sections.get("model", {}), "[model]")
    specs: dict[str, RankingSection] = {
        name: check_table(RankingSection, table, f"[methods.{name}]")
        for name, table in sections.get("methods", {}).items()
    } or dict(BOTH_ENDS)
    check_shown(specs)
    private = [name for name in specs if specs[name].mechanism not in (NONE, UNIFORM)]
    for name in [*needed, *(["epsilon"] if private else [])]:
        if name not in factors:
            raise InvalidStudyError(
                f"[factors] must have {name}; got {', '.join(factors) or 'none'}"
            )
    for name, spec in specs.items():
        _refuse_idle(name, spec)
    for name in private:
        _require_mark(name, specs[name], settings)
    return settings, specs, read_measures(sections.get("measures", {}))


def realised(laws: Sequence[Calibration]) -> list[Estimate]:
    """The privacy loss that is proved, over queries; nothing where there is none."""
    losses = np.array([law.epsilon_realised for law in laws])
    if not len(losses) or not np.isfinite(losses).all():
        return []
    return [
        number("realised_epsilon_worst", losses.max()),
        number("realised_epsilon_median", np.median(losses)),
    ]


def number(estimand: str, value: float) -> Estimate:
    """A number without a standard error of its own, and without a true value."""
    return Estimate(estimand, float(value), None, math.nan)


def outcome_of_lists(estimates: Sequence[Estimate]) -> Outcome:
    """The fit of a method; without standard errors there is no interval for any level."""
    return outcome_of(estimates, level=0.95)


def _choice(
    fixed: str | None, factors: Mapping[str, Any], name: str, known: Collection[str]
) -> str:
    chosen = str(factors.get(name, DEFAULTS[name]) if fixed is None else fixed)
    if chosen not in known:
        raise InvalidStudyError(f"[factors.text] {name} must be {one_of(chosen, known)}")
    return chosen


def _refuse_idle(name: str, spec: RankingSection) -> None:
    if spec.calibration is not None and spec.mechanism not in (None, *DRAWING):
        raise InvalidStudyError(
            f"[methods.{name}] calibration must be left out for {spec.mechanism}: "
            f"{' and '.join(DRAWING)} have a choice of one; got {spec.calibration!r}"
        )


def _require_mark(name: str, spec: RankingSection, model: ListSection) -> None:
    by_hand = spec.sensitivity or model.sensitivity
    if by_hand is not None and NOT_PRIVATE not in spec.label:
        raise InvalidStudyError(
            f"[methods.{name}] label must say {NOT_PRIVATE!r} beside sensitivity = {by_hand:g}, "
            f"which no proof supports; got {spec.label!r}"
        )
