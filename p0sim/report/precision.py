"""How many decimals a number deserves, given its Monte Carlo standard error.

The rule: a measure is printed in one table with the decimals of the first significant digit of
its median Monte Carlo standard error there, at most two. A measure that is neither a share nor a
percentage may have more, up to four, where its median size in the table needs them to show two
significant digits; a mean may have them anyway. A cell whose own error is more than ten times
coarser prints fewer. A share of exactly 0 or 1 is printed as 0 or 100, and only such a share: any
other gets the decimals that tell it from them. A p value, which has no Monte Carlo error, has three
decimals or is "<0.001". A difference shows its sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from p0sim.arrays import FloatVector
from p0sim.columns import MEASURES

MAX_DECIMALS = 2
# of a measure that is small and neither a share nor a percentage
MAX_DECIMALS_OF_NUMBERS = 4
# Fewer estimates than these say almost nothing.
FEW = 30
# of a measure without Monte Carlo error
DECIMALS_OF_THEORY = 1
DECIMALS_OF_P_VALUES = 3
SMALLEST_P_VALUE = 10.0**-DECIMALS_OF_P_VALUES
DASH = "–"
# In a template, the Monte Carlo standard error of a measure: {mean} ({mean_mcse}).
MCSE_SUFFIX = "_mcse"
# Numbers on scales of their own, which deserve whatever digits their errors leave.
MEANS = ("mean", "mean_diff")


def measure_of(field: str) -> str:
    """The measure that a name in a template speaks of.

    Examples
    --------
    >>> measure_of("mean_mcse"), measure_of("coverage")
    ('mean', 'coverage')
    """
    return field.removesuffix(MCSE_SUFFIX)


def is_proportion(measure: str) -> bool:
    """Whether a measure is stored as 0..1 and printed as a percentage."""
    known = measure_of(measure)
    return known in MEASURES and MEASURES[known].kind == "proportion"


def is_difference(measure: str) -> bool:
    """Whether a measure is the difference of two methods."""
    return measure.endswith("_diff")


def is_p_value(measure: str) -> bool:
    """Whether a measure is the p value of a test."""
    return measure.startswith("normality")


def scale_of(measure: str) -> float:
    """What a stored value is multiplied with in print."""
    return 100.0 if is_proportion(measure) else 1.0


def printed_mcse(measure: str, rows: pd.DataFrame) -> FloatVector:
    """Monte Carlo standard errors in printed units, one a row of value, mcse, n_used.

    A share of 0 or 1 has the binomial error 0, which says nothing; it gets
    sqrt(p (1-p)/(n+4)) with p = (x+2)/(n+4) (Agresti, Coull 1998).
    """
    mcse = rows["mcse"].to_numpy(np.float64)
    if not is_proportion(measure) or is_difference(measure):
        return mcse * scale_of(measure)
    n = rows["n_used"].to_numpy(np.float64)
    p = (rows["value"].to_numpy(np.float64) * n + 2) / (n + 4)
    return 100 * np.where((mcse == 0) & (n > 0), np.sqrt(p * (1 - p) / (n + 4)), mcse)


def digits_of(mcse: float) -> int:
    """Decimals of the first significant digit; negative left of the point.

    Examples
    --------
    >>> digits_of(0.78), digits_of(0.021), digits_of(3.5), digits_of(27)
    (1, 2, 0, -1)
    """
    return -math.floor(math.log10(mcse))


def most_decimals(measure: str, values: FloatVector) -> int:
    """Decimals that a measure may have in a table of these values at most.

    Examples
    --------
    >>> most_decimals("ci_width", np.array([0.0412, 0.05])), most_decimals("coverage", np.ones(1))
    (3, 2)
    """
    if measure_of(measure) in MEANS:
        return MAX_DECIMALS_OF_NUMBERS
    sizes = np.abs(values[np.isfinite(values)])
    middle = float(np.median(sizes)) if sizes.size else 0.0
    plain = measure not in MEASURES or MEASURES[measure].kind == "number"
    if middle == 0 or not plain:
        return MAX_DECIMALS
    return min(max(digits_of(middle) + 1, MAX_DECIMALS), MAX_DECIMALS_OF_NUMBERS)


def decimals(mcse: FloatVector, most: int = MAX_DECIMALS) -> list[int]:
    """Decimals of each cell of one measure in one table.

    Examples
    --------
    >>> decimals(np.array([0.8, 0.7, 1.1, 27.0]))
    [1, 1, 1, 0]
    """
    known = mcse[np.isfinite(mcse) & (mcse > 0)]
    common = digits_of(float(np.median(known))) if known.size else DECIMALS_OF_THEORY
    common = min(max(common, 0), most)
    return [
        min(common, max(digits_of(own) + 1, 0)) if np.isfinite(own) and own > 0 else common
        for own in mcse.tolist()
    ]


def printed(measure: str, value: float, places: int) -> str:
    """A value as text, a missing one as a dash.

    Examples
    --------
    >>> printed("coverage", 0.9343, 1), printed("coverage", 1.0, 1), printed("bias", -0.001, 2)
    ('93.4', '100', '0.00')
    >>> printed("fail_rate", 0.004, 0), printed("bias_diff", 0.02, 2), printed("normality", 1e-7, 7)
    ('0.4', '+0.02', '<0.001')
    """
    if math.isnan(value):
        return DASH
    if is_p_value(measure):
        small = f"<{SMALLEST_P_VALUE:.{DECIMALS_OF_P_VALUES}f}"
        return small if value < SMALLEST_P_VALUE else f"{value:.{places}f}"
    # Adding zero turns a rounded -0.0 into 0.0.
    number = round(value * scale_of(measure), places) + 0.0
    if is_difference(measure):
        return f"{number:+.{places}f}" if number else f"{number:.{places}f}"
    if not is_proportion(measure):
        return f"{number:.{places}f}"
    if value in (0.0, 1.0):
        return f"{100 * value:.0f}"
    while places < MAX_DECIMALS and round(100 * value, places) in (0.0, 100.0):
        places += 1
    return f"{100 * value:.{places}f}"


def places_of(measure: str, rows: pd.DataFrame) -> list[int]:
    """Decimals of a measure in every row of value, mcse, n_used.

    p values too small to be printed have one digit: a frame holds them as numbers.
    """
    values = rows["value"].to_numpy(np.float64)
    if is_p_value(measure):
        small = [0 < value < SMALLEST_P_VALUE for value in values.tolist()]
        return [
            digits_of(value) if tiny else DECIMALS_OF_P_VALUES
            for value, tiny in zip(values.tolist(), small, strict=True)
        ]
    most = most_decimals(measure, values)
    return decimals(printed_mcse(measure, rows), most)


def places_by_estimand(measure: str, rows: pd.DataFrame) -> list[int]:
    """As `places_of`, each estimand for itself: a mean of ranks and one of shares are not alike."""
    if "estimand" not in rows:
        return places_of(measure, rows)
    places = np.zeros(len(rows), dtype=np.int64)
    for at in rows.reset_index(drop=True).groupby("estimand", sort=False).indices.values():
        mine = rows.iloc[at]
        places[at] = 0 if are_counts(mine) else places_of(measure, mine)
    return [int(digits) for digits in places]


def are_counts(rows: pd.DataFrame) -> bool:
    """Whether values are whole and without error."""
    values, mcse = rows["value"].dropna(), rows["mcse"].dropna()
    return bool((values == values.round()).all() and (mcse == 0).all())


def cell_texts(
    cell: str, measured: Mapping[str, pd.DataFrame], places: Mapping[str, list[int]]
) -> list[str]:
    """The template filled in for every target."""
    columns = [
        [printed(name, *pair) for pair in zip(rows["value"], places[name], strict=True)]
        for name, rows in measured.items()
    ]
    # a mean that is missing has no error either: one dash says so
    means_alone = all(measure_of(name) in MEANS for name in measured)
    return [
        DASH
        if means_alone and set(texts) == {DASH}
        else cell.format(**dict(zip(measured, texts, strict=True)))
        for texts in zip(*columns, strict=True)
    ]


def printed_frame(
    levels: pd.DataFrame,
    targets: pd.DataFrame,
    measured: Mapping[str, pd.DataFrame],
    places: Mapping[str, list[int]],
) -> pd.DataFrame:
    """Levels, measures at printed precision, counts."""
    frame = levels.copy()
    for name, rows in measured.items():
        title = f"{name}_pct" if is_proportion(name) else name
        pairs = zip(rows["value"] * scale_of(name), places[name], strict=True)
        frame[title] = [round(value, digits) + 0.0 for value, digits in pairs]
    counts = targets[["n_attempted", "n_failed"]]
    return frame.assign(n_used=next(iter(measured.values()))["n_used"], **counts)
