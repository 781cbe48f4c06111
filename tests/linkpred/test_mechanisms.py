"""Drawn lists against the law of Algorithm 1, seeded and with the system's randomness."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest
from mpmath import exp, mp, mpf
from scipy import stats

from p0sim.errors import InvalidParametersError, InvalidPrivacyError
from p0sim.linkpred import secure_ranking
from p0sim.linkpred.mechanisms import NOISE, rank
from p0sim.linkpred.secure_ranking import draw_place, rank_securely, whole_weights
from tests.oracles import ranking
from tests.oracles.goodness import FALSE_ALARM, p_value

DRAWS = 200_000
SCORES = np.array([0.0, 2.0, 1.0, 5.0])
# a case of its own: nodes of a star at hub h with pendant paths, scores of candidates
STAR = np.array([1.0, 4.0, 2.0, 0.0, 3.0, 0.5])
BEST = [1, 4, 2, 0, 5, 3]
EXTREME = {"dplp": math.inf, "exponential": math.inf, "laplace": 0.0, "gaussian": 0.0, "none": 0.0}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def drawn(k, mechanism, parameter, *, scores=SCORES, draws=DRAWS, seed=1):
    return rank(scores, k, mechanism, parameter, rng=rng(seed), sensitivity=1.0, draws=draws)


def weights(mechanism: str, parameter: float) -> np.ndarray:
    base = SCORES + 2 if mechanism == "dplp" else np.exp(SCORES)
    return base**parameter


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("mechanism", "parameter"), [("dplp", 0.0), ("dplp", 0.5), ("dplp", 3.0), ("exponential", 0.4)]
)
def test_gumbel_top_k_follows_the_ordered_law_of_weighted_draws(mechanism, parameter, k):
    """False-alarm rate 1e-6 each."""
    counts = ranking.places(drawn(k, mechanism, parameter), 4)
    law = ranking.list_law(weights(mechanism, parameter), k)[0]
    assert p_value(counts, law) > FALSE_ALARM


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize(("mechanism", "parameter"), [("dplp", 0.5), ("exponential", 0.4)])
def test_control_a_parameter_10_percent_larger_is_another_law(mechanism, parameter, k):
    counts = ranking.places(drawn(k, mechanism, 1.1 * parameter), 4)
    law = ranking.list_law(weights(mechanism, parameter), k)[0]
    assert p_value(counts, law) < FALSE_ALARM


@pytest.mark.parametrize(
    ("mechanism", "law"), [("laplace", stats.laplace), ("gaussian", stats.norm)]
)
def test_noise_of_the_baselines_puts_the_better_of_two_first_as_often_as_integrals_say(
    mechanism, law
):
    """Chance that the noisy 1 beats the noisy 0, scale 0.8; false-alarm rate 1e-6."""
    chance = law.expect(lambda x: law.cdf(x + 1 / 0.8), epsabs=1e-9)
    first = drawn(1, mechanism, 0.8, scores=[0.0, 1.0])[:, 0]
    assert stats.binomtest(int(first.sum()), DRAWS, chance).pvalue > FALSE_ALARM
    assert stats.binomtest(int(first.sum()), DRAWS, chance + 0.01).pvalue < FALSE_ALARM


@pytest.mark.parametrize("mechanism", sorted(NOISE))
@pytest.mark.parametrize("k", [1, 3, 6])
def test_without_noise_the_list_is_the_top_k_by_score_in_order(mechanism, k):
    """Case 3: elsewhere a noisy maximum gave the minimum."""
    found = drawn(k, mechanism, EXTREME[mechanism], scores=STAR, draws=50)
    assert (found == BEST[:k]).all()


@pytest.mark.parametrize(
    ("mechanism", "parameter"),
    [*EXTREME.items(), ("dplp", 1e12), ("dplp", 1e60), ("laplace", 1e-300), ("gaussian", 1e-300)],
)
def test_equal_scores_come_in_a_uniform_order_however_faint_the_noise(mechanism, parameter):
    """The best is always first, four equal ones follow; false-alarm rate 1e-6."""
    found = drawn(3, mechanism, parameter, scores=[7.0, 7.0, 9.0, 7.0, 7.0])
    assert (found[:, 0] == 2).all()
    counts = Counter(map(tuple, found[:, 1:].tolist()))
    assert len(counts) == 12
    assert p_value(np.array([*counts.values()]), np.full(12, 1 / 12)) > FALSE_ALARM


def test_lists_hold_k_different_candidates():
    found = drawn(30, "dplp", 1.0, scores=np.arange(100.0), draws=200)
    assert found.shape == (200, 30)
    assert all(len(set(row)) == 30 for row in found.tolist())


def test_one_seed_gives_one_list_and_another_seed_another():
    one, same, other = (drawn(3, "dplp", 1.0, draws=20, seed=seed) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


@pytest.mark.parametrize("draw", [rank, rank_securely])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": 5}, "k must be at most 4, the number of candidates; got 5"),
        ({"k": 0}, "k must be at least 1; got 0"),
        ({"scores": [1.0, math.nan]}, "scores must be finite"),
        ({"scores": [1.0, -0.5]}, "scores must not be negative; got -0.5"),
        ({"mechanism": "max"}, "mechanism must be one of dplp, "),
        ({"parameter": -1.0}, "parameter must not be negative; got -1.0"),
        ({"parameter": math.nan}, "parameter must not be negative; got nan"),
        ({"sensitivity": None}, "sensitivity must be positive for dplp; got None"),
    ],
)
def test_what_cannot_be_ranked_is_refused_in_one_line(draw, change, words):
    given = {"scores": SCORES, "k": 1, "mechanism": "dplp", "parameter": 1.0, "sensitivity": 1.0}
    given |= change | ({"rng": rng()} if draw is rank else {})
    with pytest.raises((InvalidParametersError, InvalidPrivacyError), match=words):
        draw(**given)


def test_a_place_is_found_by_exactly_as_many_whole_numbers_as_it_weighs(monkeypatch):
    """All outcomes of the uniform whole number."""
    found = Counter()
    for number in range(6):
        monkeypatch.setattr(secure_ranking.secrets, "randbelow", lambda _, number=number: number)
        found[draw_place([2, 0, 3, 1])] += 1
    assert found == {0: 2, 2: 3, 3: 1}


def test_whole_weights_have_the_ratios_asked_for_in_50_digits():
    logs = np.array([0.3, -5.0, -690.0, 2.0, 1e-9])
    with mp.workdps(60):
        for whole, log_weight in zip(whole_weights(logs), logs):
            wanted = exp(mpf(float(log_weight - 2.0))) * mpf(2) ** 1100
            assert abs(whole / wanted - 1) < 1e-25


def secure_lists(monkeypatch, k: int, mechanism: str, parameter: float, draws: int) -> np.ndarray:
    """Lists of the secure path, its randomness replaced by a seeded one to be repeatable."""
    source = random.Random(1)
    monkeypatch.setattr(secure_ranking.secrets, "randbelow", source.randrange)
    monkeypatch.setattr(secure_ranking.os, "urandom", source.randbytes)
    return np.array([rank_securely(SCORES, k, mechanism, parameter, 1.0) for _ in range(draws)])


@pytest.mark.parametrize(("mechanism", "parameter"), [("dplp", 1.5), ("exponential", 0.4)])
def test_secure_draws_follow_the_ordered_law_of_weighted_draws(monkeypatch, mechanism, parameter):
    """False-alarm rate 1e-6; the control is a parameter that is half as large again."""
    counts = ranking.places(secure_lists(monkeypatch, 2, mechanism, parameter, 4000), 4)
    laws = [ranking.list_law(weights(mechanism, x * parameter), 2)[0] for x in (1, 1.5)]
    assert p_value(counts, laws[0]) > FALSE_ALARM > p_value(counts, laws[1])


@pytest.mark.parametrize(("mechanism", "scale"), [("laplace", 2.0), ("gaussian", 2.0)])
def test_secure_noise_follows_its_law(monkeypatch, mechanism, scale):
    """Kolmogorov's test of the noise itself; false-alarm rate 1e-6, control 5 % wider."""
    monkeypatch.setattr(secure_ranking.os, "urandom", random.Random(2).randbytes)
    law = {"laplace": stats.laplace, "gaussian": stats.norm}[mechanism]
    noise = secure_ranking._noise(mechanism, 100_000)
    assert stats.kstest(noise, law.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(1.05 * noise, law.cdf).pvalue < FALSE_ALARM


@pytest.mark.parametrize("mechanism", ["dplp", "exponential", "laplace", "gaussian"])
@pytest.mark.parametrize("strength", [1.0, 1e3, math.inf])
def test_a_secure_list_without_noise_is_the_top_k_in_order(mechanism, strength):
    """Strengths of which one leaves candidates far beyond 2^1100 apart."""
    strong = 1e3 * strength
    parameter = strong if mechanism in ("dplp", "exponential") else 1 / (100 * strong)
    assert rank_securely(STAR, 6, mechanism, parameter, 1.0).tolist() == BEST


def test_the_secure_path_has_no_list_without_noise():
    with pytest.raises(InvalidPrivacyError, match=r"mechanism must be one of .*; got 'none'"):
        rank_securely(STAR, 1, "none", 0.0)


def test_secure_lists_differ():
    """Chance of a false alarm: that of drawing one order of 40 twice, below 1e-47."""
    one, other = (rank_securely(np.zeros(40), 40, "dplp", 1.0, 1.0) for _ in range(2))
    assert one.tolist() != other.tolist()
