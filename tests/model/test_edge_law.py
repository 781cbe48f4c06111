"""The edge law against 50-digit arithmetic, its symmetries and its derivatives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from p0sim.model.edge_law import (
    edge_log_normalizer,
    edge_mean,
    edge_variance,
)
from tests.oracles import edge_law as oracle

FUNCTIONS = {
    "mean": (edge_mean, oracle.mean),
    "variance": (edge_variance, oracle.variance),
    "log_normalizer": (edge_log_normalizer, oracle.log_normalizer),
}
MAIN_Q = (2, 3, 5, 10, 20, 50)


def fine_grid(q: int) -> np.ndarray:
    """Zero, tiny, ordinary and large x of both signs, and the seam q|x| = 1 from both sides."""
    seam = np.array([0.5, 0.9, 1 - 1e-9, 1 - 1e-15, 1.0, 1 + 1e-15, 1 + 1e-9, 1.1, 2.0]) / q
    tiny = np.array([5e-324, 1e-300, 1e-100, 1e-20, 1e-12, 1e-8, 1e-6, 1e-4, 1e-3])
    plain = np.array([0.01, 0.03, 0.1, 0.3, 0.7, 1.0, 1.7, 3.0, 6.0, 11.0, 20.0, 30.0, 36.7, 40.0])
    positive = np.concatenate([seam, tiny, plain])
    return np.concatenate([-positive, [0.0], positive])


def assert_matches_oracle(name: str, q: int, x: np.ndarray) -> None:
    function, exact = FUNCTIONS[name]
    expected = np.array([float(exact(value, q)) for value in x])
    np.testing.assert_allclose(function(x, q), expected, rtol=1e-12, atol=0, err_msg=f"q={q}")


@pytest.mark.parametrize("q", MAIN_Q)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_agrees_with_fifty_digits(name, q):
    """Oracle: mpmath, term by term; every digit but the last four or so."""
    assert_matches_oracle(name, q, fine_grid(q))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_agrees_with_fifty_digits_for_every_q_to_fifty(name):
    """Oracle: mpmath, on a coarser grid that follows the seam of each q."""
    for q in range(2, 51):
        assert_matches_oracle(name, q, np.array([-40, -3, -0.4, -0.9 / q, 0, 1.1 / q, 0.2, 7, 40]))


@pytest.mark.parametrize("q", MAIN_Q)
def test_no_jump_where_series_and_closed_form_meet(q):
    """Neighbouring doubles around q|x| = 1 give values that differ by rounding only."""
    below, above = np.nextafter(1 / q, [0, 1])
    for function, _ in FUNCTIONS.values():
        for sign in (-1, 1):
            left, right = (function(np.array([sign * x]), q) for x in (below, above))
            np.testing.assert_allclose(left, right, rtol=2e-14)


@pytest.mark.parametrize("q", MAIN_Q)
def test_values_at_zero(q):
    """The uniform law on 0..q-1: mean (q-1)/2, variance (q^2-1)/12, log of q terms."""
    zero = np.zeros(1)
    assert edge_mean(zero, q)[0] == pytest.approx((q - 1) / 2, rel=1e-15)
    assert edge_variance(zero, q)[0] == pytest.approx((q**2 - 1) / 12, rel=1e-15)
    assert edge_log_normalizer(zero, q)[0] == pytest.approx(np.log(q), rel=1e-15)


@pytest.mark.parametrize("q", MAIN_Q)
def test_very_large_arguments_are_finite_and_silent(q):
    """At |x| = 1000 the law is a point mass: mean 0 or q-1, variance 0, no warning."""
    x = np.array([-1e3, 1e3, -800.0, 800.0, -1e6, 1e6])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean, variance = edge_mean(x, q), edge_variance(x, q)
        log_normalizer = edge_log_normalizer(x, q)
    np.testing.assert_allclose(mean, np.where(x > 0, q - 1.0, 0.0), atol=1e-300)
    np.testing.assert_allclose(variance, 0, atol=1e-300)
    np.testing.assert_allclose(log_normalizer, np.where(x > 0, (q - 1) * x, 0), atol=1e-300)


@pytest.mark.parametrize("q", MAIN_Q)
def test_mean_and_variance_are_symmetric(q):
    """Reversing the weights: mu(-x) = q - 1 - mu(x), mu'(-x) = mu'(x)."""
    x = fine_grid(q)
    np.testing.assert_allclose(edge_mean(-x, q) + edge_mean(x, q), q - 1, rtol=1e-14)
    np.testing.assert_allclose(edge_variance(-x, q), edge_variance(x, q), rtol=1e-14)


@pytest.mark.parametrize("q", MAIN_Q)
def test_derivatives_match_finite_differences(q):
    """mu is the slope of the log normaliser, mu' of mu: central differences, error O(h^2)."""
    x, h = np.linspace(-6, 6, 61), 1e-5
    slope = (edge_log_normalizer(x + h, q) - edge_log_normalizer(x - h, q)) / (2 * h)
    np.testing.assert_allclose(slope, edge_mean(x, q), rtol=1e-6, atol=1e-8 * q)
    curve = (edge_mean(x + h, q) - edge_mean(x - h, q)) / (2 * h)
    np.testing.assert_allclose(curve, edge_variance(x, q), rtol=1e-6, atol=1e-8 * q**2)


def test_works_elementwise_on_any_shape():
    """A matrix of x gives a matrix whose entries are those of the flat call."""
    x = np.linspace(-4, 4, 12).reshape(3, 4)
    for function, _ in FUNCTIONS.values():
        assert function(x, 3).shape == (3, 4)
        np.testing.assert_array_equal(function(x, 3).ravel(), function(x.ravel(), 3))
