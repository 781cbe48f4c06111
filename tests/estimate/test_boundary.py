"""The extended estimate against all networks with the same degrees, and as a limit."""

from __future__ import annotations

import time

import numpy as np
import pytest

import p0sim as p0
from p0sim.errors import NoEstimateError
from p0sim.estimate.boundary import find_boundary
from p0sim.estimate.margins import treat_margins
from tests.datasets.test_real_networks import LISTED, file_of
from tests.oracles import examples
from tests.oracles.extended import arc_ranges, arc_ranges_by_lp, block_moments
from tests.oracles.refusals import refusal

TREATMENTS = ("balanced", "drop_last")


def fixed_arcs(found, q: int) -> np.ndarray:
    """Weight of each arc that the boundary fixes, -1 where it does not."""
    pull = np.sign(found.alpha_rates[:, None] + found.beta_rates)
    weights = np.select([pull < 0, pull > 0], [0, q - 1], -1)
    np.fill_diagonal(weights, 0)
    return weights


def arcs_at_an_end(least: np.ndarray, largest: np.ndarray, q: int) -> np.ndarray:
    """The same from ranges, taken to 1e-7."""
    weights = np.select([largest < 1e-7, least > q - 1 - 1e-7], [0, q - 1], -1)
    np.fill_diagonal(weights, 0)
    return weights


@pytest.mark.parametrize("margins", TREATMENTS)
@pytest.mark.parametrize(("n", "q", "fitted", "cut"), [(3, 3, 30, 0), (4, 2, 1, 2)])
def test_arcs_are_fixed_where_all_networks_with_these_degrees_agree(n, q, fitted, cut, margins):
    """Every bi-degree of every network: 729 and 4096 networks. What leaves is fixed in all of
    them; where an estimate of the rest exists, no other arc is; where not, another one is, or
    everything left, or the last pair of nodes is alone."""
    seen = {"fitted": 0, "cut": 0}
    for degrees, least, largest in arc_ranges(n, q):
        treated = treat_margins(degrees[:n], degrees[n:], margins)
        found = find_boundary(treated, q)
        got, expected = fixed_arcs(found, q), arcs_at_an_end(least, largest, q)
        assert (got[got >= 0] == expected[got >= 0]).all(), degrees
        answer = found.check([str(k) for k in range(n)])
        if answer.exists:
            np.testing.assert_array_equal(got, expected, err_msg=str(degrees))
            seen["fitted"] += found.forced > 0
        elif "weight" in answer.reason:
            assert (got != expected).any(), degrees
            seen["cut"] += 1
        else:
            assert "nothing is left" in answer.reason or "only the arcs between" in answer.reason
    assert seen["fitted"] >= fitted
    assert seen["cut"] >= cut


@pytest.mark.parametrize("margins", TREATMENTS)
def test_arcs_are_fixed_where_a_linear_program_finds_no_room(margins):
    """30 mixtures of two networks on 5 nodes with one silent row or full column: real margins."""
    rng, checked = np.random.default_rng(3), 0
    for _ in range(30):
        networks = rng.choice(4, size=(2, 5, 5), p=[0.5, 0.2, 0.1, 0.2])
        networks[:, rng.integers(5)] = 0
        if rng.random() < 0.5:
            networks[:, :, rng.integers(5)] = 3
        mixed = networks[0] * 0.75 + networks[1] * 0.25
        np.fill_diagonal(mixed, 0)
        rows, cols = mixed.sum(axis=1), mixed.sum(axis=0)
        found = find_boundary(treat_margins(rows, cols, margins), 4)
        if found.check("abcde").exists:
            expected = arcs_at_an_end(*arc_ranges_by_lp(rows, cols, 4), 4)
            np.testing.assert_array_equal(fixed_arcs(found, 4), expected)
            checked += 1
    assert checked > 15


def sparse_network(n: int, q: int, seed: int, level: float = -2.5) -> np.ndarray:
    """Some nodes send nothing, or receive nothing."""
    rng = np.random.default_rng(seed)
    alpha, beta = examples.parameters(n, 1.0, rng)
    return examples.network(alpha + level, beta, q, rng)


SPARSE = [(12, 3, 1), (30, 2, 2), (40, 5, 3)]


@pytest.mark.parametrize("margins", TREATMENTS)
@pytest.mark.parametrize(("n", "q", "seed"), SPARSE)
def test_the_fit_reproduces_degrees_and_forces_silent_nodes(n, q, seed, margins):
    """Means by sums of q terms over the arcs of nodes that are not forced."""
    weights = sparse_network(n, q, seed)
    fit = p0.fit(p0.bidegree(weights, q=q), boundary="extend", margins=margins)
    silent = weights.sum(axis=1) == 0
    assert fit.moments.n_forced > 0
    assert np.isneginf(fit.alpha[silent]).all()
    assert np.isneginf(fit.beta[weights.sum(axis=0) == 0]).all()
    free = np.isfinite(fit.alpha)[:, None] & np.isfinite(fit.beta)
    np.fill_diagonal(free, False)
    mean, _ = block_moments(fit.alpha, fit.beta, q, free)
    for axis in (0, 1):
        np.testing.assert_allclose(mean.sum(axis=axis), weights.sum(axis=axis), atol=1e-6)
    expected = fit.model.expected_bidegree()
    np.testing.assert_allclose(expected.out_degree, weights.sum(axis=1), atol=1e-6)
    np.testing.assert_allclose(expected.in_degree, fit.moments.margins.columns, atol=1e-6)


@pytest.mark.parametrize(("n", "q", "seed"), SPARSE)
def test_solvers_agree_on_what_is_left(n, q, seed):
    degrees = p0.bidegree(sparse_network(n, q, seed), q=q)
    one, other = (
        p0.fit(degrees, boundary="extend", solver=name) for name in ("newton", "fixed_point")
    )
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-6)


def test_the_fit_is_the_limit_of_fits_moved_inside():
    """Degrees drawn by delta towards those of an even network: log-odds of the arcs that are left
    come as near as delta, those of the fixed arcs go to their infinity like log delta."""
    checked = 0
    for degrees, _, _ in list(arc_ranges(4, 2))[::7]:
        try:
            fit = p0.fit((degrees[:4], degrees[4:]), q=2, boundary="extend")
        except NoEstimateError:
            continue
        if fit.moments.n_forced == 0:
            continue
        rates = fit.model.alpha_rates[:, None] + fit.model.beta_rates
        distances, fixed = [], []
        for delta in (1e-2, 1e-4, 1e-6):
            moved = (1 - delta) * degrees + delta * 1.5
            inside = p0.fit((moved[:4], moved[4:]), q=2)
            x = np.add.outer(inside.alpha, inside.beta)
            left = (rates == 0) & ~np.eye(4, dtype=bool)
            pairs = np.nonzero(left)
            sums = fit.alpha[pairs[0]] + fit.beta[pairs[1]]
            distances.append(np.abs(x[pairs] - sums).max())
            fixed.append((np.sign(rates) * x)[(rates != 0) & ~np.eye(4, dtype=bool)].min())
        assert distances[2] < 1e-4, degrees
        assert fixed[0] < fixed[1] < fixed[2], degrees
        assert fixed[2] > 5, degrees
        checked += 1
    assert checked > 10


def test_one_infinity_may_be_larger_than_another():
    """All send 2 to node 5, which is full; node 1 sends nothing else: its other arcs are 0, that
    one is 2. Worked by hand: after column 5 leaves, row 1 has nothing left."""
    weights = np.array(
        [[0, 0, 0, 0, 2], [1, 0, 2, 0, 2], [0, 1, 0, 1, 2], [1, 0, 1, 0, 2], [0, 2, 0, 1, 0]]
    )
    fit = p0.fit(p0.bidegree(weights, q=3), boundary="extend")
    assert list(fit.forced.index) == ["alpha[1]", "beta[5]"]
    assert list(fit.forced) == [-np.inf, np.inf]
    assert fit.beta[3] == 0
    drawn = fit.simulate(rng=np.random.default_rng(1))
    assert (drawn[:4, 4] == 2).all()
    assert (drawn[0, 1:4] == 0).all()
    np.testing.assert_allclose(fit.model.expected_bidegree().out_degree, weights.sum(axis=1))


def finite_shift(one: np.ndarray, other: np.ndarray) -> float:
    """The constant between two parameter vectors with the same infinities."""
    finite = np.isfinite(one)
    np.testing.assert_array_equal(one[~finite], other[~finite])
    gaps = one[finite] - other[finite]
    assert np.ptp(gaps) < 1e-8
    return float(gaps.mean())


def noisy_or_not(noisy: bool) -> tuple[np.ndarray, np.ndarray, dict]:
    weights = sparse_network(25, 3, 5)
    out_degree, in_degree = weights.sum(axis=1), weights.sum(axis=0)
    if noisy:
        noise = examples.laplace_noise(50, 3, 4.0, np.random.default_rng(1))
        return out_degree + noise[:25], in_degree + noise[25:], {"q": 3, "epsilon": 4.0}
    return out_degree, in_degree, {"q": 3}


@pytest.mark.parametrize("noisy", [False, True])
def test_relabelling_permutes_and_transposing_swaps_up_to_the_shift(noisy):
    out_degree, in_degree, given = noisy_or_not(noisy)
    fit = p0.fit((out_degree, in_degree), boundary="extend", **given)
    assert fit.moments.n_forced > 0
    order = np.random.default_rng(2).permutation(25)
    moved = p0.fit((out_degree[order], in_degree[order]), boundary="extend", **given)
    shift = finite_shift(moved.alpha, fit.alpha[order])
    assert finite_shift(moved.beta, fit.beta[order]) == pytest.approx(-shift, abs=1e-8)
    swapped = p0.fit((in_degree, out_degree), boundary="extend", **given)
    shift = finite_shift(swapped.alpha, fit.beta)
    assert finite_shift(swapped.beta, fit.alpha) == pytest.approx(-shift, abs=1e-8)


def test_reversing_the_weights_turns_the_signs():
    weights = sparse_network(25, 3, 5)
    reversed_weights = 2 - weights
    np.fill_diagonal(reversed_weights, 0)
    one, other = (
        p0.fit(p0.bidegree(w, q=3), boundary="extend") for w in (weights, reversed_weights)
    )
    shift = finite_shift(other.alpha, -one.alpha)
    assert finite_shift(other.beta, -one.beta) == pytest.approx(-shift, abs=1e-8)


def test_what_noise_takes_beyond_the_range_is_shared_by_those_left():
    """By hand. Balanced out-degrees are (-3, 4, 5, 4), in-degrees (2, 3, 2, 3), totals 10. Row 1
    leaves 3 too many in the rows: 7 margins are left and each gives or takes 3/7."""
    fit = p0.fit(([-3, 4, 5, 4], [2, 3, 2, 3]), q=4, epsilon=1.0, boundary="extend")
    assert np.isneginf(fit.alpha[0])
    share = 3 / 7
    np.testing.assert_allclose(
        fit.moments.margins.rows, [0, 4 - share, 5 - share, 4 - share], atol=1e-12
    )
    np.testing.assert_allclose(
        fit.moments.margins.columns, np.array([2, 3, 2, 3]) + share, atol=1e-12
    )
    expected = fit.model.expected_bidegree()
    np.testing.assert_allclose(expected.out_degree, fit.moments.margins.rows, atol=1e-7)
    np.testing.assert_allclose(expected.in_degree, fit.moments.margins.columns, atol=1e-7)


def test_drop_last_never_uses_the_last_in_degree():
    """While the last column is left it takes what row 1 leaves: 4 + 5 + 4 - (2 + 3 + 4) = 4."""
    fits = [
        p0.fit(
            ([-3, 4, 5, 4], [2, 3, 4, last]), q=4, epsilon=1.0, boundary="extend",
            margins="drop_last",
        )
        for last in (3, 50)
    ]  # fmt: skip
    np.testing.assert_array_equal(fits[0].theta, fits[1].theta)
    np.testing.assert_allclose(fits[0].moments.margins.columns, [2, 3, 4, 4])
    assert not fits[0].moments.excess_shared


def test_drop_last_shares_the_excess_once_the_last_column_has_left():
    """Implied for node 4: 8 - 15 < 0. It leaves, and 6 margins and one column share 7."""
    fit = p0.fit(
        ([2, 2, 2, 2], [5, 5, 5, 9]), q=4, epsilon=1.0, boundary="extend", margins="drop_last"
    )
    assert np.isneginf(fit.beta[3])
    np.testing.assert_allclose(fit.moments.margins.rows, np.full(4, 2 + 1))
    np.testing.assert_allclose(fit.moments.margins.columns, [4, 4, 4, 0])
    assert fit.moments.excess_shared


def test_without_forced_nodes_it_is_the_plain_fit():
    weights = sparse_network(20, 4, 1, level=0.0)
    degrees = p0.bidegree(weights, q=4)
    plain, extended = p0.fit(degrees), p0.fit(degrees, boundary="extend")
    np.testing.assert_array_equal(plain.theta, extended.theta)
    assert type(extended.model) is p0.P0Model
    assert extended.forced.empty


@pytest.mark.parametrize("margins", TREATMENTS)
def test_separated_blocks_are_refused_by_name(margins):
    """a and b send all they can to c and d, who send nothing back; e, f, g are silent. After those
    left, the margins still need the arcs between the blocks."""
    weights = np.zeros((7, 7), dtype=int)
    weights[:2, :4] = 2
    weights[0, 1], weights[1, 0] = 1, 1
    weights[2, 3], weights[3, 2] = 1, 1
    np.fill_diagonal(weights, 0)
    degrees = p0.bidegree(weights, q=3, nodes=list("abcdefg"))
    message = refusal(
        lambda: p0.fit(degrees, boundary="extend", margins=margins),
        "after 6 parameters left", "weight 2 or more from a to c, d", 'ridge="auto"',
        error=NoEstimateError,
    )  # fmt: skip
    assert "extend" not in message
    assert p0.fit(degrees, ridge=1.0).moments.n_forced == 0


def test_nothing_left_is_refused():
    star = np.zeros((4, 4), dtype=int)
    star[0, 1:] = 1
    for weights in (star, np.zeros((4, 4), dtype=int), 1 - np.eye(4, dtype=int)):
        degrees = p0.bidegree(weights, q=2)
        refusal(
            lambda degrees=degrees: p0.fit(degrees, boundary="extend"),
            "nothing is left to fit", error=NoEstimateError,
        )  # fmt: skip


def test_a_pair_of_nodes_alone_is_refused():
    """Two arcs, four parameters, two constraints: the fit is not unique."""
    degrees = p0.BiDegree([1, 1, 0], [1, 1, 0], q=3)
    refusal(
        lambda: p0.fit(degrees, boundary="extend"),
        "only the arcs between 1 and 2 are left", error=NoEstimateError,
    )  # fmt: skip


def test_the_plain_refusal_names_both_ways_on():
    degrees = p0.bidegree(sparse_network(12, 3, 1), q=3)
    refusal(lambda: p0.fit(degrees), "degree", 'boundary="extend"', "ridge=", error=NoEstimateError)
    with pytest.raises(NoEstimateError) as caught:
        p0.fit(degrees)
    assert caught.value.hint == (
        'to go on: either boundary="extend" (for little or no noise) or ridge="auto" (for sparse '
        "degrees with noise)"
    )
    assert "extend" not in caught.value.reason


@pytest.mark.parametrize("weight", [0, 1])
def test_no_way_on_is_named_where_none_is(weight):
    """Nothing, or everything: no arc is left to fit, and nothing stops the common level."""
    degrees = p0.bidegree(weight * (1 - np.eye(4, dtype=int)), q=2)
    for boundary in ("refuse", "extend"):
        with pytest.raises(NoEstimateError) as caught:
            p0.fit(degrees, boundary=boundary)
        assert caught.value.ways == ()
        assert "to go on" not in str(caught.value)


def test_of_two_ways_on_only_those_that_work_are_named():
    """After 3 left, 1 and 2 are a pair alone: no extended estimate. Control: both work."""
    degrees = p0.BiDegree([1, 1, 0], [1, 1, 0], q=3)
    with pytest.raises(NoEstimateError) as caught:
        p0.fit(degrees)
    assert [way.partition(" ")[0] for way in caught.value.ways] == ['ridge="auto"']
    p0.fit(degrees, ridge="auto")


def test_boundary_is_one_of_two_words():
    degrees = p0.BiDegree([1, 1, 0], [1, 1, 0], q=3)
    refusal(lambda: p0.fit(degrees, boundary="clip"), "boundary must be one of", "'clip'")
    refusal(lambda: p0.fit(degrees, boundary="extend", ridge=1.0), "boundary", "ridge=1.0")


def test_chains_of_departures_of_any_length_are_followed():
    """A threshold network, node k sending to the first k: nothing is left after many rounds."""
    n = 40
    weights = np.tril(np.ones((n, n), dtype=int), -1)
    found = find_boundary(treat_margins(weights.sum(axis=1), weights.sum(axis=0)), 2)
    assert not found.check([str(k) for k in range(n)]).exists
    got = fixed_arcs(found, 2)
    np.testing.assert_array_equal(got[got >= 0], weights[got >= 0])


@pytest.mark.parametrize("listed", LISTED, ids=[x[0] for x in LISTED])
def test_real_networks_are_usable(listed, network_data):
    """Plain: exactly where the table says so. Extended and ridge: all, degrees reproduced."""
    name, n, _, q, _, _, exists = listed
    path = file_of(network_data, name)
    degrees = p0.read_network(path, q=q, nodes=[str(k) for k in range(n)]).bidegree()
    if exists:
        assert p0.fit(degrees).moments.n_forced == 0
    else:
        with pytest.raises(NoEstimateError):
            p0.fit(degrees)
    started = time.perf_counter()
    fit = p0.fit(degrees, boundary="extend")
    assert time.perf_counter() - started < 60
    assert (fit.moments.n_forced > 0) != exists
    expected = fit.model.expected_bidegree()
    tolerance = 1e-6 * (1 + degrees.out_degree.max())
    np.testing.assert_allclose(expected.out_degree, degrees.out_degree, atol=tolerance)
    np.testing.assert_allclose(expected.in_degree, degrees.in_degree, atol=tolerance)
    assert np.isfinite(fit.bse[np.isfinite(fit.params)]).all()
    shrunk = p0.fit(degrees, ridge=1.0)
    assert np.isfinite(shrunk.conf_int().to_numpy()).all()
