"""Meaning, unit and kind of every column of every frame, and of every measure: the one truth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

import pandas as pd

Kind: TypeAlias = Literal["text", "integer", "integer or missing", "number"]
MeasureKind: TypeAlias = Literal["proportion", "percent", "number"]

# "integer or missing" is pandas' nullable Int64: nan would turn a count into a float.
DTYPES: Mapping[Kind, str] = MappingProxyType(
    {"text": "str", "integer": "int64", "integer or missing": "Int64", "number": "float64"}
)
STATUSES = ("ok", "no_estimate", "not_converged", "error", "timeout", "killed")
KEYS = ("cell", "method", "rep")
FITTED = "ok"
WHOLE_FIT = "theta"
RULE_SUFFIX = "_rule"


@dataclass(frozen=True)
class Column:
    """What a column holds.

    Attributes
    ----------
    name : str
        As written in the frame.
    meaning : str
        One phrase for a reader who knows the statistics.
    unit : str
        Unit of its numbers; empty where there is none.
    kind : str
        A key of `DTYPES`.
    """

    name: str
    meaning: str
    unit: str
    kind: Kind


@dataclass(frozen=True)
class MeasureColumn:
    """What a measure of the performance frame says.

    Attributes
    ----------
    name : str
        As in the column `measure`.
    meaning : str
        One phrase, used in the notes under tables.
    kind : str
        "proportion" (stored as 0..1, printed x 100), "percent" or "number".
    """

    name: str
    meaning: str
    kind: MeasureKind


CELL = Column("cell", "short content id of a cell, one data-generating setting", "", "text")
METHOD = Column("method", "name of the method in the study file", "", "text")
REP = Column("rep", "number of the replicate in its cell, from 1", "", "integer")
ESTIMAND = Column("estimand", "what is estimated, node numbers filled in, from 1", "", "text")

FACTORS: Mapping[str, Column] = MappingProxyType(
    {
        column.name: column
        for column in (
            Column("n", "number of nodes", "nodes", "integer"),
            Column("q", "number of weight levels: weights lie in 0..q-1", "levels", "integer"),
            Column("L", "largest parameter of the linear design", "log-odds", "number"),
            Column("epsilon", "privacy loss of the release", "nats", "number"),
        )
    }
)

FRAMES: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {
        "replicates": (
            CELL,
            METHOD,
            REP,
            Column("status", f"{', '.join(STATUSES)}: how the fit ended", "", "text"),
            Column("reason", "why there is no estimate; empty when there is one", "", "text"),
            Column("n_iter", "iterations of the solver", "iterations", "integer or missing"),
            Column("residual", "largest residual left by the solver", "margin SDs", "number"),
            Column("sup_error", "largest absolute error over theta", "log-odds", "number"),
        ),
        "timings": (CELL, METHOD, REP, Column("seconds", "time of the fit", "seconds", "number")),
        "estimates": (
            CELL,
            METHOD,
            REP,
            ESTIMAND,
            Column("estimate", "point estimate", "that of the estimand", "number"),
            Column("std_error", "standard error the method reports", "as estimate", "number"),
            Column("lower", "lower end of the confidence interval", "as estimate", "number"),
            Column("upper", "upper end of the confidence interval", "as estimate", "number"),
            Column("true_value", "value in the data-generating setting", "as estimate", "number"),
            Column("z", "(estimate - true_value) / std_error", "standard errors", "number"),
        ),
        "problems": (
            CELL,
            METHOD,
            REP,
            Column("kind", "error or warning", "", "text"),
            Column("message", "what was said", "", "text"),
            Column("where", "file and line it came from", "", "text"),
        ),
    }
)

TARGET_REPS = Column("target_reps", "replicates asked for in the cell", "replicates", "integer")

# How far a study is; these follow the columns of a cell.
PROGRESS: tuple[Column, ...] = (
    Column("n_done", "replicates that are there", "replicates", "integer"),
    Column("n_fits", "fits of all methods in them", "fits", "integer"),
    *(Column(status, f"fits that ended in {status}", "fits", "integer") for status in STATUSES),
    Column("n_problems", "errors and warnings", "problems", "integer"),
    Column("seconds", "time of the workers", "seconds", "number"),
)

PERFORMANCE: tuple[Column, ...] = (
    METHOD,
    Column("estimand", "what is estimated, the name of a pool, or theta: a whole fit", "", "text"),
    Column("estimand_rule", "the estimand as written in the study file", "", "text"),
    Column("measure", "name of the performance measure", "", "text"),
    Column("value", "the measure, estimated from the replicates", "that of the measure", "number"),
    Column("mcse", "Monte Carlo standard error of value", "as value", "number"),
    Column("lower", "lower end of the Monte Carlo interval of value", "as value", "number"),
    Column("upper", "upper end of the Monte Carlo interval of value", "as value", "number"),
    Column("n_used", "replicates that have what the measure needs", "replicates", "integer"),
    Column("n_attempted", "replicates tried by the method in the cell", "replicates", "integer"),
    Column("n_failed", "replicates without a fit, for any reason", "replicates", "integer"),
)

COUNTS: tuple[Column, ...] = (
    Column("n_used", "replicates that have what the summary needs", "replicates", "integer"),
    *PERFORMANCE[-2:],
)
COVERS = Column("covers", "1 where the interval holds the truth, 0 where not", "", "number")

# What figures are drawn from: small, and kept beside them. The first row of a target that has
# nothing to show stands alone, its numbers missing.
SUMMARIES: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {
        "qq": (
            CELL,
            METHOD,
            ESTIMAND,
            Column("rank", "place of z in the sorted sample, from 1", "", "integer or missing"),
            Column("expected", "normal quantile of rank/(n_used + 1)", "", "number"),
            Column("z", "standardised error", "standard errors", "number"),
            Column("lower", "lower end of the simultaneous band at this rank", "as z", "number"),
            Column("upper", "upper end of the simultaneous band at this rank", "as z", "number"),
            *COUNTS,
            Column("n_outside", "z outside the band, those not shown too", "", "integer"),
        ),
        "zipper": (
            CELL,
            METHOD,
            ESTIMAND,
            Column("centile", "of the distance of truth from mid-interval", "percent", "number"),
            Column("lower", "lower end of the interval", "as estimate", "number"),
            Column("upper", "upper end of the interval", "as estimate", "number"),
            COVERS,
            Column("true_value", "value in the data-generating setting", "as estimate", "number"),
            *COUNTS,
            Column("coverage", "share of all intervals that hold the truth", "", "number"),
            Column("coverage_lower", "lower Clopper-Pearson end of it, 95 %", "", "number"),
            Column("coverage_upper", "upper Clopper-Pearson end of it, 95 %", "", "number"),
        ),
        "points": (
            CELL,
            METHOD,
            ESTIMAND,
            Column("rep", "number of the replicate in its cell", "", "integer or missing"),
            Column("estimate", "point estimate", "that of the estimand", "number"),
            Column("std_error", "standard error the method reports", "as estimate", "number"),
            COVERS,
            Column("true_value", "value in the data-generating setting", "as estimate", "number"),
            *COUNTS,
        ),
    }
)

MEASURES: Mapping[str, MeasureColumn] = MappingProxyType(
    {
        measure.name: measure
        for measure in (
            MeasureColumn("bias", "mean error of the estimate", "number"),
            MeasureColumn("mean", "mean of the estimate", "number"),
            MeasureColumn("emp_se", "standard deviation of the estimate", "number"),
            MeasureColumn("mse", "mean squared error", "number"),
            MeasureColumn("rmse", "root mean squared error", "number"),
            MeasureColumn("mae", "mean absolute error", "number"),
            MeasureColumn("mod_se", "root mean squared standard error", "number"),
            MeasureColumn("rel_err_se", "relative error of the standard error", "percent"),
            MeasureColumn("coverage", "coverage given an estimate", "proportion"),
            MeasureColumn(
                "coverage_uncond",
                "coverage over all replicates, failures not covering",
                "proportion",
            ),
            MeasureColumn(
                "coverage_uncond_upper",
                "coverage over all replicates, failures covering",
                "proportion",
            ),
            MeasureColumn("predicted_coverage", "coverage by large-sample theory", "proportion"),
            MeasureColumn("be_coverage", "coverage once the bias is taken away", "proportion"),
            MeasureColumn("ci_width", "mean interval length", "number"),
            MeasureColumn("reject", "share of intervals without the null value", "proportion"),
            MeasureColumn("z_mean", "mean of the standardised error", "number"),
            MeasureColumn("z_sd", "standard deviation of the standardised error", "number"),
            MeasureColumn("normality", "p value of standardised errors against N(0, 1)", "number"),
            MeasureColumn(
                "normality_anderson",
                "Anderson-Darling p value, mean and variance free",
                "number",
            ),
            MeasureColumn(
                "normality_lilliefors",
                "Lilliefors p value, mean and variance free",
                "number",
            ),
            MeasureColumn("rel_prec", "precision relative to the reference method", "percent"),
            MeasureColumn("mean_diff", "mean minus that of the reference method", "number"),
            MeasureColumn("bias_diff", "bias minus that of the reference method", "number"),
            MeasureColumn("mse_diff", "mse minus that of the reference method", "number"),
            MeasureColumn(
                "coverage_diff",
                "coverage minus that of the reference method",
                "proportion",
            ),
            MeasureColumn(
                "ci_width_diff",
                "interval length minus that of the reference method",
                "number",
            ),
            MeasureColumn("fail_rate", "no-estimate share", "proportion"),
            MeasureColumn("sup_error_median", "median largest error over theta", "number"),
            MeasureColumn("sup_error_mean", "mean largest error over theta", "number"),
        )
    }
)


def column_names(frame: str) -> tuple[str, ...]:
    """Columns of a stored frame, in order.

    Examples
    --------
    >>> column_names("timings")
    ('cell', 'method', 'rep', 'seconds')
    """
    return tuple(column.name for column in FRAMES[frame])


def cell_columns(factors: Iterable[str], words: Collection[str] = ()) -> tuple[Column, ...]:
    """Columns of the frame `cells`: a value and a rule for each factor of the study.

    Parameters
    ----------
    factors : iterable of str
    words : collection of str
        Those whose levels are words; the others hold numbers.

    Examples
    --------
    >>> [column.name for column in cell_columns(["n", "epsilon"])]
    ['cell', 'n', 'n_rule', 'epsilon', 'epsilon_rule', 'target_reps']
    """
    kinds: dict[bool, Kind] = {False: "number", True: "text"}
    pairs = [
        column
        for name in factors
        for column in (
            FACTORS.get(name, Column(name, "factor of the study", "", kinds[name in words])),
            Column(name + RULE_SUFFIX, f"{name} as written in the study file", "", "text"),
        )
    ]
    return (CELL, *pairs, TARGET_REPS)


def performance_columns(factors: Iterable[str]) -> tuple[Column, ...]:
    """Columns of the frame `performance`.

    Examples
    --------
    >>> [column.name for column in performance_columns(["q"])][:5]
    ['cell', 'q', 'q_rule', 'method', 'estimand']
    """
    return (*cell_columns(factors)[:-1], *PERFORMANCE)


def empty_frame(frame: str) -> pd.DataFrame:
    """A stored frame without rows, its columns in order and typed.

    Examples
    --------
    >>> len(empty_frame("problems"))
    0
    """
    return pd.DataFrame(
        {column.name: pd.Series(dtype=DTYPES[column.kind]) for column in FRAMES[frame]}
    )
