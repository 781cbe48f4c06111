"""When a cell has replicates enough: coverage known to the wanted Monte Carlo error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from p0sim.arrays import FloatVector
from p0sim.performance.samples import covers, factorize
from p0sim.performance.summarise import floats


def coverage_is_precise(
    estimates: pd.DataFrame, methods: Sequence[str], mcse: float, min_reps: int
) -> bool:
    """Whether every coverage of one cell is known to the wanted Monte Carlo error.

    Parameters
    ----------
    estimates : DataFrame
        Rows of one cell with method, estimand, lower, upper, true_value. A
        failed fit has none.
    methods : sequence of str
        Methods that must be precise. Rows of others are not looked at.
    mcse : float
        Wanted Monte Carlo standard error of coverage, as a share: 0.005 is
        half a percentage point.
    min_reps : int
        Intervals that every method and estimand must have at least.

    Returns
    -------
    bool
        False if a method has no interval for an estimand that any row names.

    Notes
    -----
    Rows without an interval or a truth do not count, as in `coverage`. With x
    of n intervals covering, the error is sqrt(p (1-p)/(n+4)) at
    p = (x+2)/(n+4) (Agresti, Coull 1998): 0 and 100 % do not stop at once.

    Examples
    --------
    >>> estimates = pd.DataFrame({"method": "paper", "estimand": "alpha[1]",
    ...     "lower": [-1.0] * 96, "upper": 1.0, "true_value": [0.0, 2.0] * 48})
    >>> coverage_is_precise(estimates, ["paper"], mcse=0.05, min_reps=50)
    True
    >>> coverage_is_precise(estimates[:95], ["paper"], mcse=0.05, min_reps=50)
    False
    """
    # How far coverage lies from its nominal level plays no part: a rule that stops once the value
    # looks right, or wrong, keeps the replicates that made it look so, and biases it.
    estimand, estimands = factorize(estimates["estimand"])
    method = pd.Index(methods).get_indexer(pd.Index(estimates["method"]))
    covered = covers(*(floats(estimates[name]) for name in ("lower", "true_value", "upper")))
    counts = (method >= 0) & ~np.isnan(covered)
    targets = (method * len(estimands) + estimand)[counts]
    size = len(methods) * len(estimands)
    n = np.bincount(targets, minlength=size).astype(np.float64)
    x = np.bincount(targets, weights=covered[counts], minlength=size).astype(np.float64)
    p = plus_four(x, n)
    return size > 0 and bool(np.all((n >= min_reps) & (np.sqrt(p * (1 - p) / (n + 4)) <= mcse)))


def checkpoints(min_reps: int, max_reps: int, check_every: int) -> tuple[int, ...]:
    """Replicates of a cell at which its precision is looked at; the last ends it.

    Examples
    --------
    >>> checkpoints(500, 1200, 250)
    (500, 750, 1000, 1200)
    """
    return (*range(min_reps, max_reps, check_every), max_reps)


def plus_four(successes: FloatVector, trials: FloatVector) -> FloatVector:
    """The share (x+2)/(n+4), never 0 or 1: an error made from it is never 0 (Agresti, Coull 1998).

    Examples
    --------
    >>> plus_four(np.array([0.0, 96.0]), np.array([96.0, 96.0])).tolist()
    [0.02, 0.98]
    """
    return (successes + 2) / (trials + 4)
