"""How many replicates a wanted Monte Carlo standard error takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from p0sim.arrays import FloatVector, require_level
from p0sim.columns import MEASURES
from p0sim.errors import InvalidStudyError
from p0sim.performance.samples import divide
from p0sim.performance.stopping import plus_four
from p0sim.performance.summarise import floats
from p0sim.validation import refuse_unknown

Row: TypeAlias = dict[str, Any]

KEYS = ("cell", "method", "estimand")
# What theory predicts has no Monte Carlo error, nor have p values.
WITHOUT_ERROR = frozenset(
    {"predicted_coverage", "normality", "normality_anderson", "normality_lilliefors"}
)
PLANNED = tuple(name for name in MEASURES if name not in WITHOUT_ERROR)
AT_NOMINAL_LEVEL = ("coverage", "coverage_uncond", "coverage_uncond_upper")
MOST_REPS = 10**15
LARGEST_SHARE_MCSE = 0.5
# ceil() must not turn the rounding of 0.95 x 0.05 / 0.005^2 = 1900 into one replicate more.
ROUNDING = 1e-12


def plan(
    performance: pd.DataFrame | None, wanted: Mapping[str, float], level: float = 0.95
) -> pd.DataFrame:
    """Replicates a cell needs for the wanted Monte Carlo errors.

    Parameters
    ----------
    performance : DataFrame or None
        A pilot, as `p0sim.performance.summarise.performance` gives it.
    wanted : mapping of str to float
        Monte Carlo standard error by measure. Those of proportions are
        shares: 0.005 is half a percentage point.
    level : float
        Nominal level of the intervals under study.

    Returns
    -------
    DataFrame
        measure, mcse, basis, cell, method, estimand, reps, n_unknown. A
        measure that the pilot knows has one row: the cell, method and
        estimand that need most; n_unknown counts those without an error to
        plan from. Any other proportion has a row for the worst case, and one
        at the nominal level if it is a coverage.

    Raises
    ------
    InvalidStudyError
        If `wanted` is empty or names an unknown measure, a wanted error is not
        positive and finite or needs more than 10^15 replicates, or a measure
        that is no proportion has no pilot.

    Notes
    -----
    Monte Carlo errors fall as 1/sqrt(n), so reps = attempted (mcse/wanted)^2.
    A proportion C needs C(1-C)/wanted^2 usable replicates; from a pilot
    C = (x+2)/(n+4), since 0 and 100 % have the binomial error 0, and the
    share of usable replicates stays what it was there.

    Examples
    --------
    >>> print(plan(None, {"coverage": 0.005})[["basis", "reps"]].to_string(index=False))
                basis  reps
     at 95 % coverage  1900
    worst case (50 %) 10000
    """
    require_wanted(wanted)
    level = require_level(level)
    rows: list[Row] = []
    for measure, mcse in wanted.items():
        rows += pilot_rows(performance, measure, mcse) or rows_without(measure, mcse, level)
    return pd.DataFrame(rows)


def parse_wanted(texts: Sequence[str]) -> dict[str, float]:
    """Wanted errors as written on a command line.

    Raises
    ------
    InvalidStudyError
        If a text is not MEASURE=NUMBER, or a measure stands there twice.

    Examples
    --------
    >>> parse_wanted(["coverage=0.005", "bias=0.01"])
    {'coverage': 0.005, 'bias': 0.01}
    """
    wanted: dict[str, float] = {}
    for text in texts:
        name, number = parse_pair(text)
        if name in wanted:
            raise InvalidStudyError(f"mcse must name each measure once; got {name!r} twice")
        wanted[name] = number
    return wanted


def parse_pair(text: str) -> tuple[str, float]:
    """Measure and number of one text."""
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise InvalidStudyError(
            f"mcse must be MEASURE=NUMBER, such as coverage=0.005; got {text!r}"
        ) from None


def require_wanted(wanted: Mapping[str, float]) -> None:
    """Refuse measures nobody knows and errors nobody can reach."""
    if not wanted:
        raise InvalidStudyError("mcse must be wanted of at least one measure; got none")
    refuse_unknown(wanted, PLANNED, "mcse")
    for measure, mcse in wanted.items():
        if not 0 < mcse < math.inf:
            raise InvalidStudyError(f"mcse of {measure} must be positive and finite; got {mcse}")
        if is_share(measure) and mcse >= LARGEST_SHARE_MCSE:
            raise InvalidStudyError(
                f"mcse of {measure} must be a share below 0.5, half a percentage point being "
                f"0.005; got {mcse}"
            )


def is_share(measure: str) -> bool:
    """Whether a measure is a share of replicates, stored as 0..1; a difference is none."""
    return MEASURES[measure].kind == "proportion" and measure != "coverage_diff"


def pilot_rows(performance: pd.DataFrame | None, measure: str, mcse: float) -> list[Row]:
    """The row of the target that needs most; none where the pilot knows nothing of the measure."""
    if performance is None:
        return []
    targets = performance[performance["measure"] == measure]
    reps = reps_of_share(targets, mcse) if is_share(measure) else reps_of_number(targets, mcse)
    unknown = np.isnan(reps)
    if unknown.all():
        return []
    most = int(np.nanargmax(reps))
    keys = {name: str(targets[name].iloc[most]) for name in KEYS}
    basis = "pilot, largest over cells"
    return [plan_row(measure, mcse, basis, float(reps[most]), keys, int(unknown.sum()))]


def reps_of_share(targets: pd.DataFrame, mcse: float) -> FloatVector:
    """Replicates each proportion needs, nan where no replicate of the pilot was usable."""
    used, attempted = floats(targets["n_used"]), floats(targets["n_attempted"])
    p = plus_four(floats(targets["value"]) * used, used)
    with np.errstate(over="ignore"):
        return p * (1 - p) / mcse / mcse * divide(attempted, used)


def reps_of_number(targets: pd.DataFrame, mcse: float) -> FloatVector:
    """Replicates each measure needs, nan where the pilot has no Monte Carlo error."""
    with np.errstate(over="ignore"):
        return floats(targets["n_attempted"]) * (floats(targets["mcse"]) / mcse) ** 2


def rows_without(measure: str, mcse: float, level: float) -> list[Row]:
    """Rows that need no pilot."""
    if not is_share(measure):
        raise InvalidStudyError(
            f"mcse of {measure} must be planned from results and there are none; "
            "run p0sim run STUDY --reps 50 first"
        )
    shares = {"worst case (50 %)": 0.5}
    if measure in AT_NOMINAL_LEVEL:
        shares = {f"at {100 * level:g} % coverage": level} | shares
    return [
        plan_row(measure, mcse, basis, share * (1 - share) / mcse / mcse)
        for basis, share in shares.items()
    ]


def plan_row(
    measure: str,
    mcse: float,
    basis: str,
    reps: float,
    keys: Mapping[str, str] | None = None,
    n_unknown: int = 0,
) -> Row:
    """One row of the plan; at least one replicate."""
    if reps > MOST_REPS:
        raise InvalidStudyError(
            f"mcse of {measure} must need at most {MOST_REPS:.0e} replicates; got {mcse}"
        )
    whole = max(1, math.ceil(reps * (1 - ROUNDING)))
    place = dict(keys or dict.fromkeys(KEYS, ""))
    head = {"measure": measure, "mcse": float(mcse), "basis": basis}
    return head | place | {"reps": whole, "n_unknown": n_unknown}
