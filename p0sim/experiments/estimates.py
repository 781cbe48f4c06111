"""From numbers to rows: interval and z of an estimate, and what no estimate is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from scipy.stats import norm

from p0sim.errors import NoEstimateError, NotConvergedError
from p0sim.replicate import ESTIMATE_FIELDS, Outcome


@dataclass(frozen=True, slots=True)
class Estimate:
    """One estimand as one method sees it, whoever wrote the method.

    Attributes
    ----------
    estimand : str
    value : float
    std_error : float or None
        None where the method gives none: no z, and no interval but its own. 0 is an interval
        without length, which may fail to cover, and no z.
    true_value : float
        nan where it is unknown.
    bounds : tuple of float, optional
        An interval other than value -+ normal quantile x std_error.

    Examples
    --------
    >>> row = Estimate("mu", 1.0, 0.5, true_value=0.0).row(level=0.95)
    >>> round(row["lower"], 3), round(row["upper"], 3), row["z"]
    (0.02, 1.98, 2.0)
    >>> Estimate("mu", float("nan"), None, true_value=0.0).flaw
    'estimate of mu is nan'
    """

    estimand: str
    value: float
    std_error: float | None
    true_value: float
    bounds: tuple[float, float] | None = None

    @property
    def flaw(self) -> str:
        """Why this is no estimate; empty when it is one."""
        if not math.isfinite(self.value):
            return f"estimate of {self.estimand} is {self.value}"
        if self.std_error is not None and not 0 <= self.std_error < math.inf:
            return f"std_error of {self.estimand} is {self.std_error}"
        if self.bounds is not None and any(map(math.isnan, self.bounds)):
            return f"interval of {self.estimand} is {self.bounds[0]} to {self.bounds[1]}"
        return ""

    def row(self, level: float) -> dict[str, Any]:
        """The row of `estimates`, with the keys of ESTIMATE_FIELDS."""
        std_error = math.nan if self.std_error is None else self.std_error
        half = normal_quantile(level) * std_error
        lower, upper = self.bounds or (self.value - half, self.value + half)
        z = (self.value - self.true_value) / std_error if std_error > 0 else math.nan
        row = (self.estimand, self.value, std_error, lower, upper, self.true_value, z)
        return dict(zip(ESTIMATE_FIELDS, row, strict=True))


def outcome_of(estimates: Sequence[Estimate], level: float, **solver: Any) -> Outcome:
    """A fit with its rows; no fit where one number of it is none, for nan must never count as one.

    Parameters
    ----------
    estimates : sequence of Estimate
    level : float
        Of the intervals.
    **solver
        Further fields of the outcome: n_iter, residual, sup_error.

    Examples
    --------
    >>> outcome_of([Estimate("mu", 1.0, -0.5, true_value=0.0)], level=0.95).reason
    'std_error of mu is -0.5'
    """
    for estimate in estimates:
        if estimate.flaw:
            return Outcome("no_estimate", reason=estimate.flaw)
    return Outcome("ok", estimates=tuple(each.row(level) for each in estimates), **solver)


def failed(error: NoEstimateError | NotConvergedError) -> Outcome:
    """The outcome of a fit that ended with one of the two errors that are data."""
    told = error.reason if isinstance(error, NoEstimateError) else str(error)
    reason = " ".join(told.split()) or "no reason given"
    if isinstance(error, NotConvergedError):
        return Outcome("not_converged", reason, residual=error.residual)
    return Outcome("no_estimate", reason)


@lru_cache(maxsize=8)
def normal_quantile(level: float) -> float:
    """Half-length of an interval, in standard errors.

    Examples
    --------
    >>> round(normal_quantile(0.95), 3)
    1.96
    """
    return float(norm.ppf((1 + level) / 2))
