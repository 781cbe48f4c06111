"""The benchmarks compare like with like: one model, one input, one yardstick, honest tables."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import p0sim as p0
from benchmarks import naive_replicate, networks, rivals
from benchmarks.figure import draw_times, fitted_exponents, power_law
from benchmarks.results_page import COLUMNS, join, page, summarise, table, timed
from benchmarks.tasks import COVERAGE, COVERAGE_CELLS, TASKS
from benchmarks.worker import in_words
from tests.oracles.enumeration import bidegree_moments

ROOT = Path(__file__).parents[1]
MODULES = sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py"))
N, Q, EPSILON = 40, 3, 2.0
PAIRS = [(0, 1), (19, 20), (38, 39)]
TERMS = [f"alpha[{i + 1}]-alpha[{j + 1}]" for i, j in PAIRS]


@pytest.mark.parametrize("module", MODULES)
def test_every_module_loads_without_the_extra(module):
    import_module(f"benchmarks.{module}")


@pytest.fixture(scope="module")
def released():
    """Noisy degrees of one network of the dense design, as the script draws them."""
    parameters = networks.dense_design(N)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        network = naive_replicate.draw_network(parameters, parameters, Q, rng)
        noisy = [
            naive_replicate.add_noise(network.sum(axis=axis), Q, EPSILON, rng) for axis in (1, 0)
        ]
        if p0.existence(tuple(noisy), "drop_last", Q).exists:
            return noisy
    raise AssertionError("no network of the first hundred has an estimate")


def test_script_and_package_agree_on_one_network_and_one_noise(released):
    """Control: with the last in-degree as released, the script's answer is another one."""
    out_degree, in_degree = released
    package = p0.fit(p0.NoisyBiDegree(out_degree, in_degree, Q, EPSILON), "drop_last")
    wanted = package.contrast(TERMS, variance="S")[["estimate", "std_error"]].to_numpy()
    treated = naive_replicate.drop_last(out_degree, in_degree)
    alpha, beta = naive_replicate.fit(out_degree, treated, Q, tol=1e-11)
    np.testing.assert_allclose(alpha, package.alpha, atol=1e-7)
    np.testing.assert_allclose(beta, package.beta, atol=1e-7)
    np.testing.assert_allclose(naive_replicate.contrasts(alpha, beta, Q, PAIRS), wanted, atol=1e-7)
    assert out_degree.sum() != in_degree.sum()
    shifted = in_degree + (out_degree.sum() - in_degree.sum()) / N
    other, _ = naive_replicate.fit(out_degree, shifted, Q, tol=1e-11)
    assert np.abs(other - package.alpha).max() > 1e-3


def test_script_and_package_try_the_same_design():
    model = p0.linear_design(N, np.log(np.log(N)), Q)
    np.testing.assert_allclose(networks.dense_design(N), model.alpha, rtol=1e-14)
    np.testing.assert_array_equal(model.alpha, model.beta)


def test_the_script_draws_the_law():
    """Oracle: enumeration. means within 5 errors, variances within about 6: below 1e-5."""
    alpha, beta = np.array([0.6, -0.2, 0.1]), np.array([0.4, -0.5, 0.0])
    rng, reps = np.random.default_rng(5), 20_000
    draws = np.array([naive_replicate.draw_network(alpha, beta, 3, rng) for _ in range(reps)])
    degrees = np.hstack([draws.sum(axis=2), draws.sum(axis=1)])
    mean, covariance = bidegree_moments(3, 3, alpha, beta)
    error = np.sqrt(np.diag(covariance) / reps)
    assert (np.abs(degrees.mean(axis=0) - mean) < 5 * error).all()
    np.testing.assert_allclose(degrees.var(axis=0), np.diag(covariance), rtol=0.06)


def test_the_yardstick_is_enumeration_and_sees_a_small_shift():
    """Oracle: exact moments on three nodes; degrees one tenth off are so many deviations off."""
    alpha, beta = np.array([0.6, -0.2, 0.1]), np.array([0.4, -0.5, 0.0])
    mean, covariance = bidegree_moments(3, 3, alpha, beta)
    exact = networks.largest_residual(alpha, beta, 3, mean[:3], mean[3:])
    assert exact < 1e-13
    off = mean + np.array([0, 0.1, 0, 0, 0, 0])
    residual = networks.largest_residual(alpha, beta, 3, off[:3], off[3:])
    assert residual == pytest.approx(0.1 / np.sqrt(covariance[1, 1]), rel=1e-12)


def test_large_degrees_have_the_moments_of_the_design():
    """Oracle: the same sums pair by pair. |z| < 6 in 2n, false alarms below 1e-6."""
    n, q = 300, 5
    x = np.add.outer(networks.dense_design(n), networks.dense_design(n))
    mean, variance = networks.moments(x, q)
    for matrix in (mean, variance):
        np.fill_diagonal(matrix, 0)
    grid = np.log(np.log(n)) * np.arange(2 * n - 1) / (n - 1)
    for values, matrix in zip(networks.moments(grid, q), (mean, variance)):
        sums = networks._window_sums(values, n)
        np.testing.assert_allclose(sums, matrix.sum(axis=1), rtol=1e-11)
    out_degree, in_degree = networks.large_degrees(n, q, seed=1)
    assert out_degree.sum() == in_degree.sum()
    z = (out_degree - mean.sum(axis=1)) / np.sqrt(variance.sum(axis=1))
    assert 0.7 < z.std() < 1.3
    assert np.abs(z).max() < 6


@pytest.mark.parametrize("fit", [rivals.fixed_point, rivals.dense_newton])
def test_numpy_rivals_agree_with_the_package(fit):
    degrees = networks.binary_degrees(networks.binary_network(30, seed=20240501))
    package = p0.fit(p0.BiDegree(*degrees, 2))
    alpha, beta = fit(*degrees)
    np.testing.assert_allclose(alpha, package.alpha, atol=1e-3)
    np.testing.assert_allclose(beta, package.beta, atol=1e-3)
    assert networks.largest_residual(alpha, beta, 2, *degrees) < 1e-3


@pytest.mark.parametrize(
    ("package", "fit", "given"),
    [
        ("NEMtropy", rivals.nemtropy, lambda network, degrees: np.concatenate(degrees)),
        ("pyfixest", rivals.pyfixest, lambda network, degrees: rivals.pair_frame(network)),
        ("fereg", rivals.fereg, lambda network, degrees: rivals.pair_frame(network)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.filterwarnings("ignore")
def test_other_packages_agree_with_ours_where_installed(package, fit, given):
    pytest.importorskip(package)
    network = networks.binary_network(30, seed=20240501)
    degrees = networks.binary_degrees(network)
    ours = p0.fit(p0.BiDegree(*degrees, 2))
    alpha, beta = fit(given(network, degrees))
    np.testing.assert_allclose(alpha, ours.alpha, atol=1e-4)
    np.testing.assert_allclose(beta, ours.beta, atol=1e-4)


def test_effects_are_read_off_additive_log_odds():
    rng = np.random.default_rng(2)
    alpha, beta = rng.normal(size=6), np.append(rng.normal(size=5), 0.0)
    frame = rivals.pair_frame(np.zeros((6, 6), dtype=np.int8))
    log_odds = alpha[frame["sender"]] + beta[frame["receiver"]]
    found = rivals.read_effects(frame, log_odds)
    np.testing.assert_allclose(found, (alpha, beta), atol=1e-13)


def rows_of(task: str, contender: str, seconds: list[float], **facts: object) -> list[dict]:
    common = {"task": task, "contender": contender, "version": "", "n": 100, "q": 2, "threads": 1}
    return [
        common
        | {"repeat": k, "units": 10, "cpu_seconds": s, "wall_seconds": 2 * s, "status": "ok"}
        | facts
        for k, s in enumerate(seconds, start=1)
    ]


def frame_of(rows: list[dict]) -> pd.DataFrame:
    return pd.DataFrame(rows).assign(machine="two cores").reindex(columns=COLUMNS)


def test_tables_give_medians_per_unit_and_ratios_to_the_first():
    rows = rows_of("fit", "fereg", [0.3, 0.5, 0.4]) + rows_of("fit", "p0sim", [0.2, 0.1, 9.0])
    summary = summarise(frame_of(rows), TASKS["fit"])
    assert summary["contender"].tolist() == ["p0sim", "fereg"]
    np.testing.assert_allclose(summary["median"], [0.02, 0.04])
    np.testing.assert_allclose(summary["ratio"], [1, 2])
    shown = table(summary, TASKS["fit"])
    assert shown.loc[:, "CPU ms per fit"].tolist() == ["20 (15, 460)", "40 (35, 45)"]
    assert shown.loc[:, "wall ms"].tolist() == ["40", "80"]


def test_a_contender_that_cannot_take_part_is_shown_with_its_reason():
    absent = rows_of("fit", "fereg", [np.nan], units=np.nan, status="not available: no fereg")
    slow = rows_of("fit", "numpy fixed point", [np.nan], units=np.nan, status="over 120 s")
    text = page(frame_of(rows_of("fit", "p0sim", [0.2, 0.1]) + slow + absent))
    (line,) = (line for line in text.splitlines() if "fereg" in line)
    assert "not available: no fereg" in line
    assert "over 120 s" in text


def test_renewed_tasks_replace_their_old_rows_only():
    old = frame_of(rows_of("fit", "p0sim", [1.0, 1.0]) + rows_of("engine", "engine", [3.0]))
    both = join(old, frame_of(rows_of("fit", "p0sim", [2.0]) + rows_of("large", "p0sim", [5.0])))
    assert both["task"].tolist() == ["fit", "large", "engine"]
    assert both["cpu_seconds"].tolist() == [2.0, 5.0, 3.0]


def test_the_exponent_of_a_power_law_is_found_and_drawn():
    sizes = [100, 100, 1000, 1000, 10_000, 10_000]
    rows = [
        row
        for k, n in enumerate(sizes)
        for row in rows_of("fit", "p0sim", [3e-5 * n**1.5 * (1 + 0.01 * (-1) ** k)], n=n)
    ]
    fits = timed(frame_of(rows))
    _, slope, lower, upper = power_law(fits["n"], fits["cpu"])
    assert lower < 1.5 < upper
    assert slope == pytest.approx(1.5, abs=1e-3)
    assert fitted_exponents(fits)["exponent"].tolist() == ["1.50"]
    assert "1.50" in draw_times(fits).legends[0].get_texts()[0].get_text()


def test_reasons_carry_no_paths():
    problem = ImportError("cannot import name 'f' from 'm' (/home/me/m.py)")
    assert in_words(problem) == "not available: cannot import name 'f' from 'm'"
    failed = subprocess.CalledProcessError(3, ["/home/me/p0sim"])
    assert in_words(failed) == "failed: exit code 3"
    assert in_words(ValueError("/home/me")) == "failed: ValueError"


def test_the_study_has_the_cells_it_is_divided_by():
    assert len(p0.Study.from_toml(COVERAGE).cells) == COVERAGE_CELLS


@pytest.mark.slow
def test_a_quick_run_writes_its_results(tmp_path):
    """Every contender runs in its process, or says why it does not."""
    line = [sys.executable, "-m", "benchmarks.run", "--quick", "--repeats", "1"]
    tasks = ["--task", "replicate", "--task", "fit", "--out", str(tmp_path)]
    subprocess.run([*line, *tasks], cwd=ROOT, check=True, capture_output=True)
    frame = pd.read_csv(tmp_path / "bench.csv")
    assert set(frame["contender"]) == {*TASKS["replicate"].contenders, *TASKS["fit"].contenders}
    ours = frame[frame["contender"] == "p0sim"]
    assert (ours["status"] == "ok").all()
    assert (ours["residual"].dropna() < 1e-8).all()
    text = (tmp_path / "README.md").read_text()
    assert str(Path.home()) not in text
    assert all((tmp_path / f"fit_times.{kind}").stat().st_size for kind in ("png", "pdf"))
