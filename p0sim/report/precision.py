"""How many decimals a number deserves, given its Monte Carlo standard error.

The rule: a measure is printed in one table with the decimals of the first significant digit of
its median Monte Carlo standard error there, at most two. A measure that is neither a share nor a
percentage may have more, up to four, where its median size in the table needs them to show two
significant digits. A cell whose own error is more than ten times coarser prints fewer. A mean shows
at least the first digit of its own error; without one it has three significant digits, and where
its error is exactly 0, two. Means beyond a million, and tiny ones, are written as 1.2e+07. An
error is printed as 0 if it is 0, and only then. A share of exactly 0 or 1 is printed as 0 or 100,
and only such a share: any other gets the decimals that tell it from them. A p value, which has no
Monte Carlo error, has three decimals or is "<0.001". A difference shows its sign.
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
# beyond these a number is written as 1.2e+07
HUGE, MOST_PLACES = 1e6, 6


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
    if measure.endswith(MCSE_SUFFIX) and value == 0:
        return "0"
    if measure_of(measure) in MEANS and (abs(value) >= HUGE or places > MOST_PLACES):
        return in_powers(value, places, "+" if is_difference(measure) else "")
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
    mcse = printed_mcse(measure, rows)
    if measure_of(measure) in MEANS:
        return places_of_means(values, mcse)
    places = decimals(mcse, most_decimals(measure, values))
    if not measure.endswith(MCSE_SUFFIX):
        return places
    return [
        max(digits, digits_of(own)) if own > 0 else digits
        for digits, own in zip(places, (values * scale_of(measure)).tolist(), strict=True)
    ]


def places_of_means(values: FloatVector, mcse: FloatVector) -> list[int]:
    """Decimals of means, or of their errors, in one table.

    Examples
    --------
    >>> places_of_means(np.array([0.07, 0.5, 2.9e-5]), np.array([0.0004, 0.02, 0.0]))
    [4, 2, 6]
    >>> places_of_means(np.array([0.0712, 46.5]), np.array([np.nan, np.nan]))
    [4, 1]
    """
    has_errors = bool((mcse > 0).any())
    common = decimals(mcse, MAX_DECIMALS_OF_NUMBERS) if has_errors else [0] * len(mcse)
    without = 1 if has_errors else 2
    return [
        max(digits, digits_of(own) if own > 0 else significant(value) + without)
        for digits, own, value in zip(common, mcse.tolist(), values.tolist(), strict=True)
    ]


def significant(value: float) -> int:
    """Decimals of the first significant digit, 0 where there is none."""
    return digits_of(abs(value)) if value and math.isfinite(value) else 0


def in_powers(value: float, places: int, sign: str = "") -> str:
    """A number as 1.2e+07, with the digits that so many decimals would show, at most six.

    Examples
    --------
    >>> in_powers(2.91e-9, 10), in_powers(12345678.9, 0)
    ('2.9e-09', '1.23457e+07')
    """
    digits = min(max(places - significant(value) + 1, 1), 6)
    return f"{value:{sign}.{digits}g}"


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
