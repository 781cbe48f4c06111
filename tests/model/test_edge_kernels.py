"""The compiled weight law against 50-digit arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from p0sim.model.edge_kernels import edge_log_normalizer, edge_moments, inverse_mean
from p0sim.model.edge_law import edge_mean, edge_variance
from tests.oracles import edge_law as oracle

LEVELS = [2, 3, 5, 20, 560]


def log_odds(q: int) -> list[float]:
    """0, both sides of each switch of formula, and far out."""
    switches = [0.5, 1 / q]
    sizes = [0.0, 1e-300, 1e-9, 0.3 / q, 2.0, 30.0, 600.0]
    sizes += [s * (1 + sign * 1e-12) for s in switches for sign in (-1, 1)]
    return [sign * size for size in sizes for sign in (1.0, -1.0)]


@pytest.mark.parametrize("q", LEVELS)
def test_mean_and_variance_agree_with_fifty_digits(q):
    """Relative error below 3e-14 on either side of every switch of formula."""
    for x in log_odds(q):
        mean, variance = edge_moments(x, q)
        assert mean == pytest.approx(float(oracle.mean(x, q)), rel=3e-14, abs=0)
        assert variance == pytest.approx(float(oracle.variance(x, q)), rel=3e-14, abs=0)


@pytest.mark.parametrize("q", LEVELS)
def test_log_normalizer_agrees_with_fifty_digits(q):
    for x in log_odds(q):
        expected = float(oracle.log_normalizer(x, q))
        assert edge_log_normalizer(x, q) == pytest.approx(expected, rel=1e-14, abs=0)


@pytest.mark.parametrize("q", LEVELS)
def test_compiled_and_elementwise_laws_agree(q):
    """Both evaluate the same formulas: a thousand log-odds, 2e-14."""
    x = np.random.default_rng(q).normal(scale=3 / np.sqrt(q), size=1000)
    got = np.array([edge_moments(value, q) for value in x])
    np.testing.assert_allclose(got[:, 0], edge_mean(x, q), rtol=2e-14)
    np.testing.assert_allclose(got[:, 1], edge_variance(x, q), rtol=2e-14)


def test_far_out_nothing_overflows():
    """At |x| = 800 the smaller tail underflows to 0."""
    assert edge_moments(800.0, 4) == (3.0, 0.0)
    assert edge_moments(-800.0, 4) == (0.0, 0.0)


@pytest.mark.parametrize("q", LEVELS)
def test_inverse_mean_is_close(q):
    """A start: the mean at the x returned is within a tenth of the smaller tail."""
    top = q - 1
    for mean in [1e-12 * top, 1e-3 * top, 0.2 * top, 0.5 * top, 0.9 * top, 0.9999 * top]:
        back = float(oracle.mean(inverse_mean(mean, q), q))
        assert abs(back - mean) < 0.1 * min(mean, top - mean)
