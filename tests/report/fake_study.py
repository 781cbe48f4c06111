"""A study that looks like the paper's, without a single network: for tables and figures."""

import math

import numpy as np
import pandas as pd

METHODS = ("nonprivate", "paper", "balanced")
EPSILONS = {
    "2": lambda n: 2.0,
    "log(n)/n^(1/4)": lambda n: math.log(n) / n**0.25,
    "log(n)/n^(1/2)": lambda n: math.log(n) / n**0.5,
}
LS = {
    "0": lambda n: 0.0,
    "log(log(n))": lambda n: math.log(math.log(n)),
    "sqrt(log(n))": lambda n: math.sqrt(math.log(n)),
    "log(n)": math.log,
}


def fake_cells(sizes=(100, 200), qs=(2,), epsilons=tuple(EPSILONS), ls=tuple(LS), reps=200):
    rows = [
        {
            "n": n,
            "n_rule": str(n),
            "q": q,
            "q_rule": str(q),
            "L": LS[l_rule](n),
            "L_rule": l_rule,
            "epsilon": EPSILONS[e_rule](n),
            "epsilon_rule": e_rule,
        }
        for n in sizes
        for q in qs
        for l_rule in ls
        for e_rule in epsilons
    ]
    cells = pd.DataFrame(rows)
    cells.insert(0, "cell", [f"c{i:03d}" for i in range(len(cells))])
    return cells.assign(target_reps=reps)


def contrasts(n):
    pairs = ((1, 2), (n // 2, n // 2 + 1), (n - 1, n))
    return [f"alpha[{i}]-alpha[{j}]" for i, j in pairs]


def failure_rate(method, cell):
    if cell.L_rule == "log(n)":
        return 1.0
    if method == "nonprivate":
        return 0.0
    size = {"0": 0.02, "log(log(n))": 0.2, "sqrt(log(n))": 0.7}[cell.L_rule]
    return size * (0.2 if method == "balanced" else 1.0)


def fake_study(seed=20240501, reps=200, **grid):
    """Frames cells, replicates, estimates; the paper's intervals are too short by a tenth."""
    rng = np.random.default_rng(seed)
    cells = fake_cells(reps=reps, **grid)
    replicates, estimates = [], []
    for cell in cells.itertuples():
        for method in METHODS:
            failed = rng.uniform(size=reps) < failure_rate(method, cell)
            level = math.sqrt(math.log(cell.n) / cell.n) * (1 + (method != "nonprivate") * 0.5)
            replicates.append(
                pd.DataFrame(
                    {
                        "cell": cell.cell,
                        "method": method,
                        "rep": np.arange(1, reps + 1),
                        "status": np.where(failed, "no_estimate", "ok"),
                        "sup_error": np.where(
                            failed, np.nan, 3 * level * rng.lognormal(0, 0.2, size=reps)
                        ),
                    }
                )
            )
            sd = 2 / math.sqrt(cell.n / 4)
            fitted = np.flatnonzero(~failed) + 1
            for estimand in contrasts(cell.n):
                error = sd * rng.normal(size=fitted.size)
                std_error = sd * (0.9 if method == "paper" else 1) * np.ones(fitted.size)
                estimates.append(
                    pd.DataFrame(
                        {
                            "cell": cell.cell,
                            "method": method,
                            "rep": fitted,
                            "estimand": estimand,
                            "estimate": 0.1 + error,
                            "std_error": std_error,
                            "lower": 0.1 + error - 1.96 * std_error,
                            "upper": 0.1 + error + 1.96 * std_error,
                            "true_value": 0.1,
                            "z": error / std_error,
                        }
                    )
                )
    return cells, pd.concat(replicates, ignore_index=True), pd.concat(estimates, ignore_index=True)


def texts(figure):
    """Words of the panels and titles of a figure."""
    return " | ".join(
        [text.get_text() for axis in figure.axes for text in [*axis.texts, axis.title]]
        + ([figure.get_suptitle()] if figure.get_suptitle() else [])
    )
