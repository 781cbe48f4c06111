"""Between a uniform draw and no noise: what epsilon and the calibration make of MAP."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from p0sim.studies.study import Study

EPSILONS = [0.1, 1, 10, 100, 1e7]
FALSE_ALARM = 1e-4
TOML = """
[study]
name = "limits"
experiment = "link_prediction"
seed = 3
reps = 12
[factors]
epsilon = {epsilons}
[factors.text]
dataset = ["usair", "celegans"]
protocol = ["CN", "AA", "JC"]
[model]
draws = 20
[methods.sharp]
[methods.paper]
calibration = "paper"
[methods.uniform]
mechanism = "uniform"
[methods.nonprivate]
mechanism = "none"
"""


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    """MAP by dataset, protocol, split and method, a column an epsilon: splits are the same."""
    folder: Path = tmp_path_factory.mktemp("limits")
    (folder / "limits.toml").write_text(TOML.format(epsilons=EPSILONS))
    found = Study.from_toml(folder / "limits.toml").run(folder / "out", n_jobs=2, progress=False)
    rows = found.estimates.merge(found.cells, on="cell")
    rows = rows[rows["estimand"] == "map"]
    keys = ["dataset", "protocol", "method", "rep"]
    return rows.set_index([*keys, "epsilon"])["estimate"].unstack("epsilon").sort_index()


CASES = [(name, protocol) for name in ("usair", "celegans") for protocol in ("CN", "AA", "JC")]


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "protocol"), CASES)
def test_map_rises_with_epsilon_under_the_sharp_calibration(maps, dataset, protocol):
    """From 1 to 100 at the level of 1 in a million, and no step on the way falls; by split.

    Steps below 1 are smaller than what 12 splits can show. A step that does not fall is called one
    once in 10 000, and so often the control moves, a uniform draw.
    """
    found = maps.loc[(dataset, protocol)]
    sharp, flat = (found.loc[name].to_numpy() for name in ("sharp", "uniform"))
    whole = sharp[:, EPSILONS.index(100)] - sharp[:, EPSILONS.index(1)]
    assert stats.ttest_1samp(whole, 0, alternative="greater").pvalue < 1e-6
    falls = stats.ttest_1samp(np.diff(sharp, axis=1), 0, alternative="less")
    assert falls.pvalue.min() > FALSE_ALARM
    assert stats.ttest_1samp(np.diff(flat, axis=1), 0).pvalue.min() > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "protocol"), CASES)
def test_lists_without_noise_are_the_limit(maps, dataset, protocol):
    """Paired by split; false alarm once in 10 000. At epsilon = 10 they are told apart."""
    found = maps.loc[(dataset, protocol)]
    apart = found.loc["sharp"] - found.loc["nonprivate"]
    assert stats.ttest_1samp(apart[1e7], 0).pvalue > FALSE_ALARM
    assert stats.ttest_1samp(apart[10.0], 0).pvalue < FALSE_ALARM
    assert abs(apart[1e7].mean()) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "protocol"), CASES)
def test_the_papers_sigma_at_a_tenth_is_nearly_a_uniform_draw(maps, dataset, protocol):
    """Within 10 percent, three standard errors included; lists without noise are five times it."""
    found = maps.loc[(dataset, protocol)][0.1]
    ratio = found.loc["paper"] / found.loc["uniform"].mean()
    assert abs(ratio.mean() - 1) < 0.1 + 3 * ratio.sem()
    assert found.loc["nonprivate"].mean() > 3 * found.loc["uniform"].mean()
