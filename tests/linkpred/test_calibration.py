"""Calibrations against the exact laws of ordered lists on all graphs with a few nodes."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy import integrate, stats

from p0sim.errors import InvalidParametersError, InvalidPrivacyError
from p0sim.linkpred.calibration import CALIBRATIONS, calibrate, epsilon_of, sigma_of
from p0sim.linkpred.exact_laws import (
    common_neighbours_loss,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_scale,
)
from p0sim.linkpred.privacy_loss import realised_epsilon
from p0sim.linkpred.query import Query
from tests.oracles import ranking

SIGMAS = (0.05, 0.5, 2.0, 12.0)
ROUNDING = 1e-10
score_table = cache(ranking.score_table)


def cases(n: int = 5) -> list[tuple[tuple[int, ...], int]]:
    """Neighbours of the query and length of the list, wherever there is a candidate."""
    known = [(near, n - 1 - len(near)) for near in ranking.all_neighbourhoods(n)]
    return [(near, k) for near, m in known for k in range(1, min(3, m) + 1)]


def largest_loss(protocol, near, k, sigma, n=5, shift=None) -> float:
    scores = score_table(protocol, n, near)
    shift = ranking.SENSITIVITY[protocol] + 1 if shift is None else shift
    return ranking.largest_log_ratio(ranking.list_law((scores + shift) ** sigma, k))


def query(protocol, near, k, n=5) -> Query:
    return Query(k, n - 1 - len(near), protocol, len(near))


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("protocol", ["CN", "JC", "AA"])
def test_no_list_on_any_graph_with_5_nodes_tells_more_than_is_reported(protocol, sigma):
    """All 1024 labelled graphs, each against those one edge away that is not at the query."""
    for near, k in cases():
        loss, asked = largest_loss(protocol, near, k, sigma), query(protocol, near, k)
        names = CALIBRATIONS if protocol == "CN" else CALIBRATIONS[:2]
        reported = [epsilon_of(sigma, asked, name) for name in names]
        reported.append(realised_epsilon("dplp", sigma, asked))
        assert loss <= min(reported) + ROUNDING, (near, k)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("near", [(1,), (1, 2), (1, 2, 3)], ids=len)
def test_the_sharp_bound_of_adamic_adar_holds_and_is_near_on_6_nodes(near, sigma):
    """Also for the first few candidates alone, as studies have them. Degrees up to 5 occur."""
    scores, bound = score_table("AA", 6, near), 1 / math.log(2)
    shares = []
    for m in range(2, scores.shape[1] + 1):
        for k in range(1, min(3, m) + 1):
            law = ranking.list_law((scores[:, :m] + bound + 1) ** sigma, k)
            told = epsilon_of(sigma, Query(k, m, "AA", len(near)), "sharp")
            shares.append(ranking.largest_log_ratio(law) / told)
    assert max(shares) <= 1 + ROUNDING
    if sigma == max(SIGMAS):
        assert max(shares) > 0.7


def directions(protocol: str, near: tuple[int, ...]) -> set[tuple[bool, bool]]:
    """Whether one more edge raises a score, and whether it lowers one, over all graphs."""
    scores = score_table(protocol, 5, near)
    numbers, found = np.arange(len(scores)), set()
    for bit in (2**k for k in range(int(math.log2(len(scores))))):
        without = numbers[numbers & bit == 0]
        change = scores[without | bit] - scores[without]
        found |= set(zip((change > 0).any(axis=1), (change < 0).any(axis=1), strict=True))
    return found


def test_one_edge_moves_scores_one_way_for_cn_and_jc_and_both_ways_for_aa():
    both = {
        name: any((True, True) in directions(name, near) for near, _ in cases())
        for name in ("CN", "JC", "AA")
    }
    assert both == {"CN": False, "JC": False, "AA": True}


@pytest.mark.parametrize("sigma", SIGMAS)
def test_the_exact_loss_of_common_neighbours_is_reached(sigma):
    for near, k in cases():
        loss = largest_loss("CN", near, k, sigma)
        assert loss == pytest.approx(
            epsilon_of(sigma, query("CN", near, k), "exact"), abs=ROUNDING
        ), (near, k)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize(("d", "m"), [(2, 4), (3, 3), (5, 2)])
def test_the_exact_loss_is_reached_among_all_score_vectors_of_larger_graphs(d, m, sigma):
    """Scores 0..d of m candidates all occur: the edges between them and N(u) are free."""
    scores = np.array(list(itertools.product(range(d + 1), repeat=m)), dtype=float)
    raised = scores + np.eye(m)[0]
    kept = raised[:, 0] <= d
    for k in range(1, m + 1):
        before, after = (ranking.list_law((s[kept] + 2) ** sigma, k) for s in (scores, raised))
        loss = np.abs(np.log(after) - np.log(before)).max()
        asked = Query(k, m, "CN", d)
        assert loss == pytest.approx(epsilon_of(sigma, asked, "exact"), abs=ROUNDING)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
@pytest.mark.parametrize(("near", "k"), [((1, 2), 1), ((1, 2), 2), ((1,), 2), ((3,), 3)])
def test_control_a_sigma_5_percent_above_the_exact_one_costs_more_than_epsilon(near, k, epsilon):
    sigma = sigma_of(epsilon, query("CN", near, k), "exact")
    assert epsilon - 1e-8 <= largest_loss("CN", near, k, sigma) <= epsilon + ROUNDING
    assert largest_loss("CN", near, k, 1.05 * sigma) > epsilon * 1.005


@pytest.mark.parametrize("protocol", ["CN", "JC", "AA"])
@pytest.mark.parametrize("by_hand", [0.0001, 0.5, 3.0])
def test_a_sensitivity_set_by_hand_is_marked_and_the_true_loss_told(protocol, by_hand):
    for near, k in cases():
        asked = query(protocol, near, k)
        found = calibrate("dplp", 0.5, asked, sensitivity=by_hand)
        assert found.note == f"not private: sensitivity set to {by_hand:g} by hand"
        if not math.isinf(found.parameter):
            sigma = min(found.parameter, 60.0)
            loss = largest_loss(protocol, near, k, sigma, shift=by_hand + 1)
            told = realised_epsilon("dplp", sigma, asked, sensitivity=by_hand)
            assert loss <= told * (1 + 1e-9) + ROUNDING


def test_the_published_sensitivity_costs_thousands_of_times_what_it_says():
    found = calibrate("dplp", 0.1, Query(10, 500, "AA", 20), "paper", sensitivity=0.0001)
    assert found.epsilon_claimed == 0.1
    assert found.epsilon_realised > 400


@pytest.mark.parametrize("protocol", ["CN", "JC", "AA"])
def test_sensitivities_are_reached_and_never_passed(protocol):
    """One score, the sum and the Euclidean norm over all graphs with 5 nodes."""
    changes = [ranking.largest_changes(score_table(protocol, 5, near)) for near, _ in cases()]
    assert np.max(changes, axis=0) == pytest.approx([ranking.SENSITIVITY[protocol]] * 3, abs=1e-12)
    asked = Query(1, 2, protocol)
    sizes = [calibrate("laplace", 1.0, asked).parameter, asked.sensitivity]
    assert sizes == [ranking.SENSITIVITY[protocol]] * 2


def test_sensitivities_of_jaccard_for_one_degree_are_reached_and_never_passed():
    """Degrees 1 and 2 have the rise of one score and the fall of two at their worst."""
    for near in (near for near, _ in cases(6) if len(near) < 4):
        asked = Query(1, 5 - len(near), "JC", len(near))
        _, total, _ = ranking.largest_changes(score_table("JC", 6, near))
        told = realised_epsilon("laplace", 1.0, asked)
        assert total <= told + 1e-12
        if len(near) in (1, 2):
            assert total == pytest.approx(told)


@pytest.mark.parametrize("eta", SIGMAS)
@pytest.mark.parametrize("protocol", ["CN", "JC", "AA"])
def test_the_exponential_mechanism_costs_no_more_than_is_reported(protocol, eta):
    for near, k in cases():
        asked = query(protocol, near, k)
        law = ranking.list_law(np.exp(eta * score_table(protocol, 5, near)), k)
        loss, told = ranking.largest_log_ratio(law), realised_epsilon("exponential", eta, asked)
        assert loss <= told + ROUNDING
        if protocol == "CN":
            assert loss == pytest.approx(told, abs=ROUNDING)


def test_one_direction_halves_the_price_of_the_exponential_mechanism_and_no_more():
    """k eta D is approached by common neighbours as the degree grows."""
    two_ways, one_way = (
        calibrate("exponential", 1.0, Query(2, 4, "CN"), name).parameter
        for name in ("paper", "sharp")
    )
    assert (two_ways, one_way) == (0.25, 0.5)
    found = [realised_epsilon("exponential", 0.5, Query(2, 4, "CN", d)) for d in (1, 5, 80)]
    assert found == sorted(found)
    assert found[-1] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("bound", "gain"), [(1.0, 1.7095), (0.001, 1.001), (100.0, 6.7062)])
def test_what_a_score_of_ones_own_gains_over_the_published_bound_depends_on_its_size(bound, gain):
    """By hand: log(1+D) over log((2D+1)/(D+1)), and twice that if declared to move one way."""
    both, one = (Query(10, 500, "own", declared=bound, one_direction=way) for way in (False, True))
    published = sigma_of(0.1, both, "paper")
    assert sigma_of(0.1, both) / published == pytest.approx(gain, rel=1e-4)
    assert sigma_of(0.1, one) / published == pytest.approx(2 * gain, rel=1e-4)


def test_the_published_sigma_draws_almost_uniformly():
    """Ten draws of 200 candidates, ten with all 40 common neighbours and the rest with none."""
    sigma = sigma_of(0.1, Query(10, 200, "CN", 40), "paper")
    best = 21**sigma
    chance = math.prod(best / (best * (10 - j) + 190) * (200 - j) for j in range(10))
    assert best == pytest.approx(1.0222, abs=1e-4)
    assert 1.2 < chance <= best**10 < 1.25


def test_an_unproved_score_pays_for_rise_and_fall_and_for_every_candidate():
    asked = Query(3, 16, "own", declared=2.0)
    assert epsilon_of(0.5, asked, "sharp") == pytest.approx(3 * math.log(5 / 3))
    assert calibrate("laplace", 0.5, asked).parameter == 16 * 2 / 0.5
    wide = calibrate("gaussian", 0.5, asked, delta=1e-6).parameter
    assert wide == pytest.approx(4 * 2 * gaussian_scale(0.5, 1e-6))
    assert calibrate("exponential", 0.6, asked).parameter == pytest.approx(0.6 / (2 * 3 * 2))


def test_the_bound_for_scores_that_move_both_ways_is_approached():
    """One rises by D from 0 and all others fall by D to 0, each among very many."""
    before, after = np.r_[0.0, np.ones(9999)], np.r_[1.0, np.zeros(9999)]
    weights = [(scores + 2) ** 3.0 for scores in (before, after)]
    first = [w[0] / w.sum() for w in weights]
    told = epsilon_of(3.0, Query(1, 10000, "own", declared=1.0))
    assert 0.999 * told < math.log(first[1] / first[0]) <= told


def test_numbers_of_the_comparison_with_the_published_bound():
    """Worked out by hand: 2 log 2/log 1.5, the same with 1 + 1/log 2, and 0.1/log 1.5."""
    ratios = {
        name: sigma_of(0.1, Query(10, 500, name), "sharp")
        / sigma_of(0.1, Query(10, 500, name), "paper")
        for name in ("CN", "JC", "AA")
    }
    assert {name: round(ratio, 3) for name, ratio in ratios.items()} == {
        "CN": 3.419, "JC": 3.419, "AA": 3.849,
    }  # fmt: skip
    asked = Query(10, 10**6, "CN", 100)
    assert round(sigma_of(0.1, asked, "paper"), 4) == 0.0072
    assert round(sigma_of(0.1, asked, "exact"), 3) == 0.247
    assert round(sigma_of(0.1, asked, "exact") / sigma_of(0.1, asked, "paper")) == 34


@pytest.mark.parametrize(("protocol", "share"), [("CN", 0.2925), ("JC", 0.2925), ("AA", 0.2598)])
def test_the_published_bound_is_realised_to_less_than_a_third(protocol, share):
    found = calibrate("dplp", 0.1, Query(10, 500, protocol), "paper")
    assert found.epsilon_claimed == 0.1
    assert round(found.epsilon_realised / found.epsilon_claimed, 4) == share


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 30.0, 1e4, 1e9])
@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("mechanism", ["dplp", "exponential"])
def test_the_realised_loss_is_never_above_the_claimed_one(mechanism, name, epsilon):
    for k, m, d in [(1, 2, 1), (10, 10, 3), (10, 4000, 60), (3, 50, 1000)]:
        found = calibrate(mechanism, epsilon, Query(k, m, "CN", d), name)
        assert found.epsilon_realised <= epsilon * (1 + 1e-13)
        if name == "exact":
            assert found.epsilon_realised == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("k", [1, 5, 40, 4000])
def test_the_exact_loss_in_50_digits(k):
    """The sum of the derivation, with mpmath."""
    from mpmath import log, mp, mpf

    d, m, sigma = 7, 4000, 1e-4
    with mp.workdps(50):
        weight = [mpf(s + 2) ** mpf(sigma) for s in range(d + 1)]
        losses = [
            max(
                sum(
                    log((weight[s + 1] + (m - j) * weight[0]) / (weight[s] + (m - j) * weight[0]))
                    for j in range(1, min(k, m - 1) + 1)
                ),
                log(weight[s + 1] / weight[s])
                - log((weight[s + 1] + (m - 1) * weight[d]) / (weight[s] + (m - 1) * weight[d])),
            )
            for s in range(d)
        ]
        wanted = float(max(losses))
    got = common_neighbours_loss(sigma * np.log(np.arange(d + 1) + 2.0), k, m)
    assert got == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("mechanism", ["dplp", "laplace", "exponential"])
@pytest.mark.parametrize(("k", "m", "d"), [(1, 1, 3), (2, 4, 0)])
def test_a_list_that_no_protected_edge_can_change_costs_nothing(mechanism, k, m, d):
    """One candidate only, or a query without neighbours, whose scores are all 0."""
    for protocol in ("CN", "JC", "AA"):
        assert calibrate(mechanism, 0.5, Query(k, m, protocol, d)).epsilon_realised == 0
    assert sigma_of(0.5, Query(k, m, "CN", d), "exact") == math.inf


def density_delta(scale: float, epsilon: float) -> float:
    """Integral of the positive part of p - e^epsilon q, for normal laws at 1 and 0."""
    p, q = stats.norm(1, scale), stats.norm(0, scale)
    start = epsilon * scale**2 + 0.5
    end = max(start, 1) + 40 * scale
    found, _ = integrate.quad(
        lambda x: p.pdf(x) - math.exp(epsilon) * q.pdf(x), start, end, epsabs=1e-14, limit=200
    )
    return found


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0, 30.0])
def test_delta_of_gaussian_noise_is_the_integral_of_the_densities(scale, epsilon):
    assert gaussian_delta(scale, epsilon) == pytest.approx(density_delta(scale, epsilon), abs=1e-11)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.9])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 100.0, 1e9])
def test_the_scale_of_gaussian_noise_is_private_and_the_least_one(epsilon, delta):
    scale = gaussian_scale(epsilon, delta)
    assert gaussian_delta(scale, epsilon) <= delta < gaussian_delta(scale * (1 - 1e-6), epsilon)
    # relative precision of delta, hence of epsilon, falls where epsilon hardly matters
    assert gaussian_epsilon(scale, delta) == pytest.approx(epsilon, rel=1e-6, abs=1e-4 * delta)


@pytest.mark.parametrize("delta", [1e-300, 1e-15, 1e-5, 0.5, 0.99])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 1.0, 100.0])
def test_gaussian_noise_never_realises_more_than_is_claimed(epsilon, delta):
    for protocol in ("CN", "AA"):
        law = calibrate("gaussian", epsilon, Query(3, 9, protocol, 4), delta=delta)
        assert (1 - 1e-4) * epsilon <= law.epsilon_realised <= epsilon


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "none"])
def test_a_calibration_is_refused_where_there_is_no_choice_of_one(mechanism):
    delta = 1e-6 if mechanism == "gaussian" else None
    assert calibrate(mechanism, 1.0, Query(2, 5), delta=delta).calibration == ""
    for word in CALIBRATIONS:
        with pytest.raises(InvalidPrivacyError, match=f"must be left out for {mechanism}"):
            calibrate(mechanism, 1.0, Query(2, 5), word, delta=delta)


def test_gaussian_noise_that_needs_no_epsilon_costs_none():
    assert gaussian_epsilon(1e7, 1e-6) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive and finite; got 0.0"),
        ({"epsilon": math.nan}, "epsilon must be positive and finite; got nan"),
        ({"mechanism": "lapalce"}, "mechanism must be one of dplp, laplace"),
        ({"calibration": "tight"}, "calibration must be one of paper, sharp, exact; got 'tight'"),
        ({"calibration": "exact"}, "calibration exact must go with .* CN.*; got AA"),
        ({"delta": 0.1}, "delta must be given for gaussian and for it alone; got 0.1 for dplp"),
        ({"mechanism": "gaussian"}, "delta must be given for gaussian and for it alone; got None"),
        ({"mechanism": "gaussian", "delta": 1.0}, "delta must lie strictly between 0 and 1"),
        ({"sensitivity": -1.0}, "sensitivity must be positive and finite; got -1.0"),
        ({"query": Query(1, 3, "katz")}, "sensitivity must be given for katz, for which no bound"),
    ],
)
def test_what_cannot_be_calibrated_is_refused_in_one_line(change, words):
    given = {"mechanism": "dplp", "epsilon": 1.0, "query": Query(2, 5, "AA"), **change}
    with pytest.raises(InvalidPrivacyError, match=words):
        calibrate(**given)


@pytest.mark.parametrize(
    ("k", "words"),
    [(0, "k must be at least 1; got 0"), (6, "k must be at most 5, the number of candidates")],
)
def test_a_list_longer_than_the_candidates_or_empty_is_refused(k, words):
    with pytest.raises(InvalidParametersError, match=words):
        Query(k, 5)


def test_no_noise_is_marked_and_costs_everything():
    found = calibrate("none", 1.0, Query(2, 5))
    assert (found.epsilon_realised, found.note) == (math.inf, "not private: no noise")
