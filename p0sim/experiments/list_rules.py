"""How one method of a study draws ordered lists in one cell, and what each list costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from p0sim.arrays import FloatVector, IntMatrix
from p0sim.linkpred.calibration import DRAWING, Calibration, calibrate
from p0sim.linkpred.mechanisms import rank
from p0sim.linkpred.query import Query
from p0sim.linkpred.scores import Protocol, find_protocol

UNIFORM: Final = "uniform"
NONE: Final = "none"


@dataclass(frozen=True)
class Rule:
    """How one method draws the lists of one cell.

    Attributes
    ----------
    mechanism : str
        A mechanism of :func:`~p0sim.linkpred.mechanisms.rank`, or "uniform": no look at scores.
    protocol : str or Protocol
        The score, of which the name and the sensitivity count here.
    calibration : str
        Of a mechanism that has a choice of one; the others do not look at it.
    k : int
        Longest list; a query with fewer candidates has a list of all.
    epsilon : float
        nan for none and uniform.
    delta : float
        Of gaussian.
    sensitivity : float or None
        Set by hand in place of what is proved; such lists are not private at epsilon.
    """

    mechanism: str
    protocol: str | Protocol
    calibration: str
    k: int
    epsilon: float
    delta: float
    sensitivity: float | None

    @property
    def looks_at_scores(self) -> bool:
        """Whether scores decide how it draws."""
        return self.mechanism != UNIFORM

    @property
    def is_private(self) -> bool:
        """Whether epsilon decides how it draws."""
        return self.mechanism not in (NONE, UNIFORM)

    def law(self, m: int, degree: int | None) -> Calibration:
        """How lists of a query with m candidates and this degree are drawn."""
        if self.mechanism == UNIFORM:
            return Calibration(UNIFORM, "", 0.0, 1.0, 0.0, 0.0)
        found = find_protocol(self.protocol)
        query = Query(min(self.k, m), m, found.name, degree, found.sensitivity, found.one_direction)
        return _law(self, query)

    def lists(
        self, scores: FloatVector, law: Calibration, draws: int, rng: np.random.Generator
    ) -> IntMatrix:
        """Ordered lists from the candidates' scores, shape (draws, min(k, m))."""
        k = min(self.k, len(scores))
        if self.mechanism == UNIFORM:
            return rank(np.zeros(len(scores)), k, NONE, 0.0, rng=rng, draws=draws)
        given = law.sensitivity
        return rank(
            scores, k, self.mechanism, law.parameter, rng=rng, sensitivity=given, draws=draws
        )


@lru_cache(maxsize=2**14)
def _law(rule: Rule, query: Query) -> Calibration:
    epsilon = rule.epsilon if rule.is_private else 1.0
    delta = rule.delta if rule.mechanism == "gaussian" else None
    by_hand = rule.sensitivity if rule.is_private else None
    chosen = rule.calibration if rule.mechanism in DRAWING else None
    return calibrate(rule.mechanism, epsilon, query, chosen, sensitivity=by_hand, delta=delta)
