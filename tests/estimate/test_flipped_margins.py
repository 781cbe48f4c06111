"""Margins of flipped degrees: exact, unbiased, with equal totals, and fitted like any others."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import p0sim as p0
from p0sim.estimate.margins import margins_of
from tests.oracles import edge_flip as oracle
from tests.oracles import examples, newton
from tests.oracles.refusals import refusal

TREATMENTS = ("balanced", "drop_last")


def flipped_degrees(n: int, q: int, epsilon: float, seed: int, spread: float = 0.5):
    """A network of tests.oracles.examples after oracle flips."""
    rng = np.random.default_rng(seed)
    weights = examples.network(*examples.parameters(n, spread, rng), q, rng)
    flipped = oracle.flip(weights, oracle.keep(epsilon, q), q, rng)
    return p0.FlippedBiDegree(flipped.sum(axis=1), flipped.sum(axis=0), q, epsilon)


def by_definition(degrees: np.ndarray, n: int, q: int, epsilon: float) -> np.ndarray:
    """(Y - (n-1)(1-rho)(q-1)/2)/rho in floats."""
    rho = oracle.keep(epsilon, q)
    return (degrees - (n - 1) * (1 - rho) * (q - 1) / 2) / rho


@pytest.mark.parametrize("treatment", TREATMENTS)
@pytest.mark.parametrize(("n", "q", "epsilon"), [(12, 2, 1.0), (40, 5, 0.1), (7, 3, 30.0)])
def test_margins_are_the_unbiased_ones(n, q, epsilon, treatment):
    y = flipped_degrees(n, q, epsilon, seed=n)
    margins = margins_of(y, treatment)
    scale = (n - 1) * (q - 1) / oracle.keep(epsilon, q)
    for got, degree in ((margins.rows, y.out_degree), (margins.columns, y.in_degree)):
        expected = by_definition(degree, n, q, epsilon)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * scale)
    for got, expected in zip((margins.rows, margins.columns), y.unbiased_margins()):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13 * scale)


def test_totals_agree_exactly_so_both_treatments_coincide():
    """Whole numbers: no rounding is left for a treatment to move."""
    y = flipped_degrees(30, 3, 3.0, seed=4)
    one, other = (margins_of(y, treatment) for treatment in TREATMENTS)
    assert sum(one.scaled_rows.tolist()) == sum(one.scaled_columns.tolist())
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.columns, other.columns)
    fits = [p0.fit(y, margins=treatment) for treatment in TREATMENTS]
    np.testing.assert_array_equal(fits[0].theta, fits[1].theta)
    np.testing.assert_array_equal(fits[0].cov_params(), fits[1].cov_params())


def test_margins_are_exact_fractions_of_the_chance_to_keep():
    """Oracle: the same formula in Python's fractions, rho taken at its binary value."""
    y = flipped_degrees(9, 4, 0.3, seed=2)
    rho = Fraction(y.keep_probability)
    margins = margins_of(y, "balanced")
    for scaled, degree in (
        (margins.scaled_rows, y.out_degree),
        (margins.scaled_columns, y.in_degree),
    ):
        expected = [(int(d) - 8 * (1 - rho) * 3 / 2) / rho for d in degree]
        assert [Fraction(int(s), margins.denominator) for s in scaled] == expected


@pytest.mark.parametrize("solver", ["newton", "fixed_point"])
def test_the_fit_solves_the_unbiased_equations(solver):
    """Oracle: dense Newton on margins by definition."""
    n, q, epsilon = 40, 3, 3.0
    y = flipped_degrees(n, q, epsilon, seed=6)
    sides = (by_definition(side, n, q, epsilon) for side in (y.out_degree, y.in_degree))
    expected = newton.solve(*sides, q)
    np.testing.assert_allclose(p0.fit(y, solver=solver).theta, expected, atol=1e-7)


def test_a_large_epsilon_gives_the_networks_own_fit():
    weights = examples.network(np.zeros(20), np.zeros(20), 3, np.random.default_rng(1))
    y = p0.simulate_edge_flip(weights, 50.0, q=3, rng=np.random.default_rng(2))
    plain = p0.fit(p0.bidegree(weights, q=3))
    np.testing.assert_allclose(p0.fit(y).theta, plain.theta, atol=1e-8)


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_existence_and_fit_refuse_margins_out_of_range(treatment):
    """An out-degree of 0 was mostly replaced weights: less than nothing is left of it."""
    y = p0.FlippedBiDegree([0, 3, 3, 2], [2, 2, 2, 2], q=3, epsilon=1.0)
    answer = p0.existence(y, margins=treatment)
    assert not answer.exists
    assert answer.nodes[0] == "1"
    rho = oracle.keep(1.0, 3)
    assert (
        f"out-degree of 1 is {-3 * (1 - rho) / rho:.6g} without the bias of flips" in answer.reason
    )
    with pytest.raises(p0.NoEstimateError, match="without the bias of flips"):
        p0.fit(y, margins=treatment)


def test_words_that_are_no_treatment_are_refused():
    y = flipped_degrees(12, 2, 3.0, seed=1)
    refusal(lambda: p0.fit(y, margins="equal"), "margins must be one of", "'equal'")


def test_q_and_epsilon_are_the_degrees_own():
    y = flipped_degrees(12, 2, 3.0, seed=1)
    refusal(lambda: p0.fit(y, epsilon=2.0), "pair of vectors only", error=TypeError)
    refusal(lambda: p0.existence(y, q=5), "q must be the degrees' own 2")
