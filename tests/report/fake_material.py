"""What a report is drawn from, made from a fake study: no network, no disk."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from p0sim.columns import empty_frame
from p0sim.performance.failures import group_failures, group_problems
from p0sim.performance.quantiles import points_summary, qq_summary, zipper_summary
from p0sim.performance.summarise import performance
from p0sim.report.material import Material
from p0sim.studies.reading import with_rules
from tests.report.fake_study import METHODS, contrasts, fake_study

HOSTILE = r"<b>5%</b>_&{x}#1$y$|\`c`*d*"
NEWTON = {"margins": "balanced", "variance": "noise", "solver": "newton"}
IDENTITY = {
    "experiment": "private_p0",
    "model": {"theta": "linear"},
    "share_network_across": ["epsilon"],
    "estimands": {"contrasts": ["alpha[1]-alpha[2]", "alpha[n-1]-alpha[n]"], "sup_error": True},
    "methods": {
        "nonprivate": {"release": False, **NEWTON},
        "paper": {"release": True, **NEWTON, "margins": "drop_last", "variance": "S"},
        "balanced": {"release": True, **NEWTON},
    },
    "level": 0.95,
}


def measured_of(cells, *frames, **given) -> pd.DataFrame:
    """Measures as a study has them, its estimands without formulas."""
    return with_rules(performance(cells, *frames, **given), {}, cells)


def material_of(cells, replicates, estimates, estimands=None, problems=None, **changes) -> Material:
    """Material of any frames, with the words of the fake study unless others are given."""
    if "reason" not in replicates:
        failed = replicates["status"] != "ok"
        replicates = replicates.assign(reason=failed.map({True: "out-degree of 3 is 0", False: ""}))
    problems = empty_frame("problems") if problems is None else problems
    given = {"estimands": estimands}
    material = Material(
        cells=cells,
        performance=measured_of(cells, replicates, estimates, **given),
        qq=qq_summary(estimates, cells, replicates, **given),
        zipper=zipper_summary(estimates, cells, replicates, **given),
        points=points_summary(estimates, cells, replicates, **given),
        failures=group_failures(replicates),
        problems=group_problems(problems),
        study={"study": {"name": "fake", "aims": "Coverage & length", "seed": 1, "reps": 60}},
        identity=IDENTITY,
        copies={"nonprivate": ["epsilon"]},
        seed=20240501,
        versions={"python": "3.11.7", "p0sim": "0.1.0", "numpy": "2.4.6"},
        level=0.95,
        labels={"paper": HOSTILE},
        reference=None,
        done=len(replicates[["cell", "rep"]].drop_duplicates()),
        asked=int(cells["target_reps"].sum()),
        commands=["p0sim run fake.toml", "p0sim report results/fake"],
        made_from="0f3a",
    )
    return replace(material, **changes)


def fake_material(reps=60, problems=None, n_contrasts=1, **grid) -> Material:
    """Of the fake study, with the first of its contrasts alone unless more are asked for."""
    cells, replicates, estimates = fake_study(reps=reps, **grid)
    asked = {cell.cell: contrasts(cell.n)[:n_contrasts] for cell in cells.itertuples()}
    wanted = {name for names in asked.values() for name in names}
    estimates = estimates[estimates["estimand"].isin(wanted)]
    return material_of(cells, replicates, estimates, asked, problems)


def two_problems() -> pd.DataFrame:
    """A warning and an error whose texts CSV and HTML could stumble over."""
    return pd.DataFrame(
        {
            "cell": "c000",
            "method": METHODS[1],
            "rep": [1, 2, 2],
            "kind": ["warning", "error", "error"],
            "message": [
                'RuntimeWarning: a\rb, "c"',
                "ValueError: <script>alert(1)</script>\nx",
                "NA",
            ],
            "where": ["mine.py:3", "mine.py:12", ""],
        }
    )
