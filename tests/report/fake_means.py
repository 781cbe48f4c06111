"""A study of lists without a single list: means without a truth, for tables, figures and pages."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from p0sim.report.quantities import quantities_of
from tests.report.fake_material import material_of, measured_of

METHODS = {"sharp": 0.02, "published": 0.3, "uniform": 0.0, "nonprivate": 0.4}
SPEC = {"mechanism": "dplp", "calibration": None, "sensitivity": None}
IDENTITY = {
    "experiment": "link_prediction",
    "model": {"draws": 10, "delta": 1e-5, "sensitivity": None, "share": 0.15},
    "methods": {
        "sharp": {**SPEC, "calibration": "sharp"},
        "published": {**SPEC, "calibration": "paper", "sensitivity": 0.0001},
        "uniform": {**SPEC, "mechanism": "uniform"},
        "nonprivate": {**SPEC, "mechanism": "none"},
    },
    "level": 0.95,
}
LABELS = {
    "published": "Published, not private",
    "uniform": "Uniform draw",
    **{each.name: each.label for each in quantities_of(IDENTITY)},
}


def means_cells(epsilons=(0.1, 1.0, 10.0), datasets=("usair", "yeast"), protocols=("CN", "AA")):
    rows = [
        {"dataset": dataset, "protocol": protocol, "epsilon": epsilon, "epsilon_rule": str(epsilon)}
        for dataset, protocol, epsilon in product(datasets, protocols, epsilons)
    ]
    cells = pd.DataFrame(rows)
    cells.insert(0, "cell", [f"c{i:02d}" for i in range(len(cells))])
    return cells.assign(target_reps=8)


def numbers_of(method, cell, rng):
    """What one replicate of a method gives: MAP rises with epsilon where there is any."""
    gain = METHODS[method] * (np.sqrt(cell.epsilon) if method == "sharp" else 1)
    found = {"map": 0.1 + gain + 0.01 * rng.normal(), "queries_used": 120}
    claims = {"sharp": 0.1 * cell.epsilon, "published": 500 * cell.epsilon, "uniform": 0.0}
    if method in claims:
        found["realised_epsilon_worst"] = claims[method]
    return found


def means_study(reps=8, seed=20240601, **grid):
    """Frames cells, replicates, estimates."""
    rng = np.random.default_rng(seed)
    cells = means_cells(**grid)
    keys = list(product(cells.itertuples(), METHODS, range(1, reps + 1)))
    replicates = pd.DataFrame(
        [{"cell": cell.cell, "method": method, "rep": rep} for cell, method, rep in keys]
    ).assign(status="ok", reason="", sup_error=np.nan)
    rows = [
        {"cell": cell.cell, "method": method, "rep": rep, "estimand": name, "estimate": value}
        for cell, method, rep in keys
        for name, value in numbers_of(method, cell, rng).items()
    ]
    missing = dict.fromkeys(("std_error", "lower", "upper", "true_value", "z"), np.nan)
    return cells, replicates, pd.DataFrame(rows).assign(**missing)


def means_material(**changes):
    """What a report of it is drawn from, compared with the uniform draw."""
    study = means_study()
    material = material_of(*study, identity=IDENTITY, labels=LABELS, copies={})
    measured = measured_of(*study, reference="uniform")
    return replace(material, **{"performance": measured, "reference": "uniform", **changes})


def growing_material(sizes=(100, 200, 400), epsilons=(1.0, 10.0), reps=8, seed=20240601):
    """Of the latent space: the loss falls with n without noise and at epsilon = 10 alone."""
    rng = np.random.default_rng(seed)
    grid = list(product(sizes, epsilons))
    cells = pd.DataFrame([{"n": n, "n_rule": str(n), "epsilon": e, "epsilon_rule": str(e)}
                          for n, e in grid])  # fmt: skip
    cells.insert(0, "cell", [f"c{i:02d}" for i in range(len(cells))])
    cells = cells.assign(target_reps=reps)
    keys = list(product(cells.itertuples(), ("sharp", "uniform", "nonprivate"), range(1, reps + 1)))
    replicates = pd.DataFrame(
        [{"cell": cell.cell, "method": method, "rep": rep} for cell, method, rep in keys]
    ).assign(status="ok", reason="", sup_error=np.nan)
    still = {(m, e) for m in ("sharp", "uniform") for e in epsilons} - {("sharp", 10.0)}
    losses = [
        0.24 * (1 if (method, cell.epsilon) in still else 10 / np.sqrt(cell.n))
        + 0.004 * rng.normal()
        for cell, method, _ in keys
    ]
    missing = dict.fromkeys(("std_error", "lower", "upper", "true_value", "z"), np.nan)
    estimates = replicates[["cell", "method", "rep"]].assign(
        estimand="loss", estimate=losses, **missing
    )
    methods = {name: IDENTITY["methods"][name] for name in ("sharp", "uniform", "nonprivate")}
    identity = {**IDENTITY, "experiment": "latent_space", "methods": methods}
    study = (cells, replicates, estimates)
    material = material_of(*study, identity=identity, labels={}, copies={})
    return replace(material, performance=measured_of(*study), reference="uniform")
