"""The simulated release: its law, its record, its labels, and what it refuses.

Sampling checks compare p-values with goodness.FALSE_ALARM = 1e-6 under fixed seeds.
"""

from __future__ import annotations

import inspect
import pickle
from functools import partial

import numpy as np
import pytest
from scipy import stats

import p0sim as p0
from tests.oracles.covariance import laplace_variance
from tests.oracles.goodness import FALSE_ALARM, p_value
from tests.oracles.refusals import refusal


def degrees(n: int = 3, q: int = 3, nodes=None) -> p0.BiDegree:
    return p0.BiDegree(np.full(n, q - 1), np.full(n, q - 1), q=q, nodes=nodes)


def noise(n: int, q: int, epsilon: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    d = degrees(n, q)
    z = p0.simulate_release(d, epsilon=epsilon, rng=np.random.default_rng(seed))
    return z.out_degree - d.out_degree, z.in_degree - d.in_degree


def chi_square(draws: np.ndarray, q: int, epsilon: float) -> float:
    rate = epsilon / (2 * (q - 1))
    reach = int(40 / rate) + 2
    counts = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=2 * reach + 1)
    return p_value(counts, stats.dlaplace.pmf(np.arange(-reach, reach + 1), rate))


@pytest.mark.parametrize(("q", "epsilon"), [(2, 1.0), (3, 2.0), (5, 0.7)])
def test_both_sides_get_the_noise_of_the_whole_sensitivity(q, epsilon):
    """200 000 noises, scale 2(q-1)/epsilon on the out- and on the in-degrees."""
    for side in noise(100_000, q, epsilon, seed=q):
        assert chi_square(side, q, epsilon) > FALSE_ALARM


def test_control_half_the_budget_a_side_is_found():
    """Spending epsilon on each side apart would show as another law."""
    out_noise, _ = noise(100_000, 3, 2.0, seed=3)
    assert chi_square(out_noise, 3, 4.0) < FALSE_ALARM
    assert chi_square(out_noise, 3, 1.0) < FALSE_ALARM


def test_the_two_sides_are_independent():
    """Correlation of 100 000 pairs within 5 standard errors (false alarm 6e-7)."""
    out_noise, in_noise = noise(100_000, 3, 1.0, seed=8)
    assert abs(np.corrcoef(out_noise, in_noise)[0, 1]) < 5 / np.sqrt(100_000)


def test_the_record_says_what_was_done():
    d = degrees(nodes=["ann", "01", "α,β"])
    z = p0.simulate_release(d, epsilon=2, rng=np.random.default_rng(0))
    assert (z.n, z.q, float(z.epsilon)) == (3, 3, 2.0)
    assert z.nodes == ("ann", "01", "α,β")
    assert z.noise_variance == pytest.approx(laplace_variance(3, 2.0), rel=1e-9)
    assert "laplace" in z.mechanism
    assert z.is_release is False
    assert "simulation" in repr(z)


def test_released_values_are_integers_and_read_only():
    z = p0.simulate_release(degrees(), epsilon=2, rng=np.random.default_rng(0))
    assert z.out_degree.dtype == z.in_degree.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        z.out_degree[0] = 0


def test_values_are_neither_clamped_nor_balanced():
    """At epsilon = 0.01 some value leaves 0..(n-1)(q-1) and the totals differ."""
    z = p0.simulate_release(degrees(50), epsilon=0.01, rng=np.random.default_rng(1))
    both = np.append(z.out_degree, z.in_degree)
    assert both.min() < 0
    assert both.max() > 98
    assert z.out_degree.sum() != z.in_degree.sum()


def release(epsilon):
    return p0.simulate_release(degrees(), epsilon=epsilon, rng=np.random.default_rng(0))


@pytest.mark.parametrize("bad", [0, 0.0, -1, -1.0, np.nan, np.inf, -np.inf])
def test_epsilon_must_be_positive_and_finite(bad):
    refusal(
        partial(release, epsilon=bad),
        "epsilon must be positive and finite",
        f"got {float(bad)}"[:7],
    )


@pytest.mark.parametrize("tiny", [1e-12, 1e-20, 5e-324])
def test_tiny_epsilon_is_refused_and_never_noiseless(tiny):
    """Floating-point geometric draws would clip to 0 noise here and publish the true degrees."""
    refusal(partial(release, epsilon=tiny), "epsilon", f"{tiny:g}")


@pytest.mark.parametrize("bad", [True, None, "2", 1j, np.array([1.0, 2.0])])
def test_epsilon_must_be_a_number(bad):
    refusal(partial(release, epsilon=bad), "epsilon", error=TypeError)


def test_large_epsilon_is_silent_and_noiseless():
    """epsilon = 10 000: noise variance 0, no overflow warning."""
    z = p0.simulate_release(degrees(), epsilon=1e4, rng=np.random.default_rng(0))
    assert z.noise_variance == 0
    np.testing.assert_array_equal(z.out_degree, degrees().out_degree)


def test_rng_is_keyword_only_and_has_no_default():
    """Two releases may never share a hidden seed."""
    rng = inspect.signature(p0.simulate_release).parameters["rng"]
    assert rng.kind is inspect.Parameter.KEYWORD_ONLY
    assert rng.default is inspect.Parameter.empty
    refusal(lambda: p0.simulate_release(degrees(), epsilon=1, rng=7), "rng", error=TypeError)


def test_one_seed_one_release():
    one, same, other = (noise(200, 3, 1.0, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (np.array(one) != np.array(other)).any()


def test_expected_degrees_cannot_be_released():
    """A release is of whole numbers: float answers show their precision."""
    expected = p0.linear_design(n=4, L=0, q=2).expected_bidegree()
    refusal(
        lambda: p0.simulate_release(expected, epsilon=1, rng=np.random.default_rng(0)),
        "bidegree",
        error=TypeError,
    )


def test_a_release_can_be_pickled():
    z = p0.simulate_release(degrees(nodes=["a", "b", "c"]), 1, rng=np.random.default_rng(0))
    back = pickle.loads(pickle.dumps(z))
    np.testing.assert_array_equal(back.out_degree, z.out_degree)
    assert (back.nodes, back.epsilon, back.q) == (z.nodes, z.epsilon, z.q)
