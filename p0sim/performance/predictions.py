"""What theory predicts, as one more measure."""

from __future__ import annotations

import pandas as pd


def with_predictions(measured: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    """Put predicted coverage beside the measured one.

    Parameters
    ----------
    measured : DataFrame
        As `p0sim.performance.summarise.performance` gives it.
    predictions : DataFrame
        Columns cell, method, estimand, predicted_coverage.

    Returns
    -------
    DataFrame
        The same columns; a row predicted_coverage follows each target's own measures. It has no
        Monte Carlo error.
    """
    coverage = measured[measured["measure"] == "coverage"]
    if coverage.empty or predictions.empty:
        return measured
    keys = ["cell", "method", "estimand"]
    rows = coverage.reset_index().merge(predictions, on=keys, validate="1:1").set_index("index")
    rows = rows.assign(
        measure="predicted_coverage",
        value=rows["predicted_coverage"],
        mcse=float("nan"),
        lower=float("nan"),
        upper=float("nan"),
    )
    both = pd.concat([measured, rows[measured.columns]])
    return both.sort_index(kind="stable").reset_index(drop=True)
