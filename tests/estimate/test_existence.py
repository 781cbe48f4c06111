"""The existence test against all cuts in exact fractions and against a linear program."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import p0sim as p0
from tests.oracles import existence as oracle
from tests.oracles.refusals import refusal

KINDS = ("integer", "noisy", "real")


@dataclass(frozen=True)
class Case:
    """Degrees as they might be met, and their exact treated margins."""

    out_degree: np.ndarray
    in_degree: np.ndarray
    q: int
    margins: str

    @property
    def exact(self) -> tuple[list[Fraction], list[Fraction]]:
        return oracle.treat(self.out_degree.tolist(), self.in_degree.tolist(), self.margins)

    def asked(self) -> bool:
        return p0.existence((self.out_degree, self.in_degree), self.margins, q=self.q).exists


def boundary_matrix(rng: np.random.Generator, n: int, top: int, kind: str) -> np.ndarray:
    """Random weights; in two cases of three a random cut (I, J) is tight: full, then empty."""
    weights = rng.uniform(0, top, (n, n)) if kind == "real" else rng.integers(0, top + 1, (n, n))
    if rng.random() < 2 / 3:
        senders, receivers = rng.random(n) < 0.5, rng.random(n) < 0.5
        weights[np.ix_(senders, ~receivers)] = top
        weights[np.ix_(~senders, receivers)] = 0
    np.fill_diagonal(weights, 0)
    return weights


def random_case(rng: np.random.Generator, sizes: tuple[int, int], top: int, kind: str) -> Case:
    """Margins of such a matrix, as they are, with one unit moved, or with noise."""
    n = int(rng.integers(sizes[0], sizes[1] + 1))
    weights = boundary_matrix(rng, n, top, kind)
    out_degree, in_degree = weights.sum(axis=1), weights.sum(axis=0)
    if kind == "noisy":
        out_degree = out_degree + rng.integers(-1, 2, n)
        in_degree = in_degree + rng.integers(-1, 2, n)
    elif rng.random() < 0.5:
        side, unit = (out_degree, in_degree)[rng.integers(2)], rng.choice([1, top])
        i, j = rng.choice(n, 2, replace=False)
        side[i], side[j] = side[i] - unit, side[j] + unit
    return Case(out_degree, in_degree, top + 1, ("balanced", "drop_last")[rng.integers(2)])


def random_cases(
    seed: int, count: int, sizes: tuple[int, int], tops: tuple[int, ...] = (1, 2, 3, 4)
) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [
        random_case(rng, sizes, int(rng.choice(tops)), str(rng.choice(KINDS))) for _ in range(count)
    ]


@pytest.fixture(scope="module")
def twenty_thousand() -> list[tuple[Case, bool]]:
    """Cases with the answer of all 4^n cuts."""
    cases = random_cases(seed=1, count=20_000, sizes=(3, 5))
    return [(case, oracle.exists_by_cuts(*case.exact, case.q)) for case in cases]


def test_agrees_with_all_cuts(twenty_thousand):
    """Oracle: every cut (I, J), exact; q = 2..5, n = 3..5, integer, noisy and real degrees."""
    wrong = [case for case, answer in twenty_thousand if case.asked() != answer]
    assert not wrong, f"{len(wrong)} wrong, the first: {wrong[0]}"


def test_the_cases_above_are_worth_asking(twenty_thousand):
    """Both answers are common, and a thousand refusals pass every single-margin check."""
    answers = Counter(answer for _, answer in twenty_thousand)
    assert min(answers.values()) > 3000
    hidden = [
        case
        for case, answer in twenty_thousand
        if not answer and oracle.exists_by_single_margins(*case.exact, case.q)
    ]
    assert len(hidden) > 1000


@pytest.mark.parametrize("control", [oracle.exists_by_single_margins, oracle.exists_by_sorted_rows])
def test_control_simpler_tests_are_found_wrong(twenty_thousand, control):
    """Looking at single degrees, or sorting by r alone, disagrees with the cuts somewhere."""
    assert any(control(*case.exact, case.q) != answer for case, answer in twenty_thousand)


def test_agrees_with_all_sets_of_senders():
    """Oracle: all 2^n sets I, each with its worst J; n = 6..12, q = 2..20."""
    rng = np.random.default_rng(5)
    tops = tuple(range(1, 20))
    cases = [random_case(rng, (6, 12), int(rng.choice(tops)), KINDS[k % 2]) for k in range(600)]
    answers = [oracle.exists_by_senders(*case.exact, case.q) for case in cases]
    assert 150 < sum(answers) < 450
    assert [case.asked() for case in cases] == answers


def test_all_sets_of_senders_are_all_cuts(twenty_thousand):
    """The oracle above against that of every I and J."""
    for case, answer in twenty_thousand[:2000]:
        if case.out_degree.dtype.kind == "i":
            assert oracle.exists_by_senders(*case.exact, case.q) == answer


def test_agrees_with_a_linear_program():
    """Oracle: largest t with t <= x_ij <= K - t (scipy HiGHS), n = 4..8.

    Real degrees at a cut differ from it by rounding, which a solver in floats cannot see: there
    the cases are whole or noisy ones.
    """
    rng = np.random.default_rng(2)
    cases = [
        random_case(rng, (4, 8), int(rng.choice([1, 2, 3, 4])), KINDS[k % 2]) for k in range(300)
    ]
    answers = [oracle.exists_by_lp(*case.exact, case.q) for case in cases]
    assert 50 < sum(answers) < 250
    assert [case.asked() for case in cases] == answers


def test_large_levels_are_decided_exactly():
    """The same cuts with K up to 2**40: sums of scaled margins pass 64 bits."""
    cases = random_cases(seed=3, count=600, sizes=(3, 5), tops=(10**6, 10**9 + 7, 2**40))
    answers = [oracle.exists_by_cuts(*case.exact, case.q) for case in cases]
    assert 100 < sum(answers) < 500
    assert [case.asked() for case in cases] == answers


def test_balanced_margins_exactly_on_a_cut_are_refused():
    """Thirds, fifths and tenths: the cut is tight in fractions and off by an ulp in floats."""
    rng = np.random.default_rng(4)
    found = Counter()
    while min(found["tight"], found["near"]) < 150:
        case = random_case(rng, (3, 5), int(rng.choice([1, 2, 3])), "noisy")
        rows, cols = oracle.treat(case.out_degree.tolist(), case.in_degree.tolist(), "balanced")
        slack = oracle.smallest_slack(rows, cols, case.q)
        if rows[0].denominator == 1 or not 0 <= slack <= Fraction(1, 2 * len(rows)):
            continue
        found["near" if slack else "tight"] += 1
        asked = p0.existence((case.out_degree, case.in_degree), q=case.q)
        assert asked.exists == (slack > 0), (case, slack)


def nine_nodes_on_a_cut(extra_inside: int) -> tuple[Case, Fraction]:
    """I = J = the first three of nine nodes, K = 2; noise with total 3, some of it inside I.

    The balanced shift is 3/18 = 1/6 and the cut feels six of them: tight if 1 of the noise is in I.
    """
    weights = np.ones((9, 9), dtype=int)
    weights[:3, 3:], weights[3:, :3] = 2, 0
    np.fill_diagonal(weights, 0)
    out_degree = weights.sum(axis=1)
    out_degree[1] += extra_inside
    out_degree[7] += 3 - extra_inside
    case = Case(out_degree, weights.sum(axis=0), 3, "balanced")
    return case, oracle.cut_slack(*case.exact, 3, {0, 1, 2}, {0, 1, 2})


def test_sixths_add_up():
    """By hand: the slack of that cut is 1 - (noise inside I)."""
    for inside in (0, 1, 2):
        case, slack = nine_nodes_on_a_cut(inside)
        assert slack == 1 - inside
        assert oracle.exists_by_single_margins(*case.exact, 3)
        assert case.asked() == (slack > 0) == oracle.exists_by_lp(*case.exact, 3)


def test_a_case_that_sorting_by_rows_gets_wrong():
    """r = (2, 6, 5), c = (7, 1, 5), K = 4: the cut I = {3}, J = {2} is tight."""
    answer = p0.existence(([2, 6, 5], [7, 1, 5]), q=5)
    assert not answer.exists
    assert "4" in answer.reason
    with pytest.raises(p0.NoEstimateError):
        p0.fit(([2, 6, 5], [7, 1, 5]), q=5)


BLOCK_LABELS = ("ann", "bob", "cy", "dan", "eve", "fay")


def separated_blocks() -> p0.BiDegree:
    """ann, bob, cy give dan, eve, fay weight 2 and get 0 back; inside each block weight 1."""
    weights = 1 - np.eye(6, dtype=int)
    weights[:3, 3:], weights[3:, :3] = 2, 0
    order = [4, 0, 5, 2, 1, 3]
    labels = [BLOCK_LABELS[k] for k in order]
    return p0.bidegree(weights[np.ix_(order, order)], q=3, nodes=labels)


def test_separated_blocks_are_refused_and_named():
    """No degree is 0 or full (10), yet there is no estimate: both blocks stand in the reason."""
    degrees = separated_blocks()
    assert min(degrees.out_degree.min(), degrees.in_degree.min()) > 0
    assert max(degrees.out_degree.max(), degrees.in_degree.max()) < 10
    answer = p0.existence(degrees)
    assert not answer.exists
    assert all(label in answer.reason for label in BLOCK_LABELS)
    assert "\n" not in answer.reason
    assert answer.nodes
    assert set(answer.nodes) <= set(BLOCK_LABELS)


@pytest.mark.parametrize("solver", ["newton", "fixed_point"])
@pytest.mark.parametrize("margins", ["balanced", "drop_last"])
def test_separated_blocks_are_not_fitted(margins, solver):
    with pytest.raises(p0.NoEstimateError) as caught:
        p0.fit(separated_blocks(), margins=margins, solver=solver)
    assert all(label in caught.value.reason for label in BLOCK_LABELS)


CLAIM = re.compile(r"weight (\d+) or (?:more|less) from (.+?) to (.+?)(?= and weight |$)")


def claimed_arcs(reason: str, labels: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Masks of the arcs the reason calls full and empty: 'weight W or .. from A, B to C'."""
    n = len(labels)
    full, empty = np.zeros((n, n)), np.zeros((n, n))
    for weight, senders, receivers in CLAIM.findall(reason):
        mask = empty if weight == "0" else full
        ends = [[labels.index(k) for k in names.split(", ")] for names in (senders, receivers)]
        mask[np.ix_(*ends)] = 1
    return full * (1 - np.eye(n)), empty * (1 - np.eye(n))


def test_the_named_arcs_are_the_obstacle():
    """Whatever x is, its sum over the full arcs minus that over the empty ones is fixed by the
    margins, and is at least K times the number of full arcs: linear algebra, no cut search."""
    rng, checked = np.random.default_rng(6), 0
    while checked < 100:
        case = random_case(rng, (4, 6), 3, "integer")
        n = len(case.out_degree)
        labels = [f"node{k}" for k in range(n)]
        hidden = oracle.exists_by_single_margins(*case.exact, case.q)
        if not hidden or oracle.exists_by_cuts(*case.exact, case.q):
            continue
        answer = p0.existence(p0.BiDegree(case.out_degree, case.in_degree, 4, labels))
        checked += 1
        full, empty = claimed_arcs(answer.reason, labels)
        assert full.any() or empty.any(), answer.reason
        off = ~np.eye(n, dtype=bool)
        rows, cols = np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))
        sums = np.vstack([rows, cols])[:, off.ravel()]
        claim = (full - empty)[off]
        weights, *_ = np.linalg.lstsq(sums.T, claim, rcond=None)
        np.testing.assert_allclose(sums.T @ weights, claim, atol=1e-9, err_msg=answer.reason)
        assert weights @ np.append(case.out_degree, case.in_degree) >= 3 * full.sum() - 1e-9


@pytest.mark.parametrize(
    ("out_degree", "in_degree", "named"),
    [([0, 3, 3], [2, 2, 2], "ann"), ([2, 4, 2], [3, 2, 3], "bob"), ([2, 2, 2], [3, 3, 0], "cy")],
)
def test_a_single_degree_at_its_end_is_named(out_degree, in_degree, named):
    """0 and (n-1)(q-1) = 4 on three nodes."""
    answer = p0.existence(p0.BiDegree(out_degree, in_degree, q=3, nodes=["ann", "bob", "cy"]))
    assert not answer.exists
    assert answer.nodes == (named,)
    assert named in answer.reason


def test_an_answer_that_exists_has_no_reason():
    answer = p0.existence(([2, 2, 2], [2, 2, 2]), q=3)
    assert answer.exists is True
    assert answer.reason == ""
    assert answer.nodes == ()


def test_drop_last_judges_the_implied_in_degree():
    """Observed 2 is fine; the implied one, 6 - 2 - 4 = 0, is not."""
    pair = ([2, 2, 2], [3, 3, 2])
    assert not p0.existence(pair, margins="drop_last", q=3).exists
    assert p0.existence(pair, margins="balanced", q=3).exists


def test_relabelling_does_not_change_a_balanced_answer(twenty_thousand):
    rng = np.random.default_rng(8)
    for case, _ in twenty_thousand[:300]:
        order = rng.permutation(len(case.out_degree))
        one = p0.existence((case.out_degree, case.in_degree), q=case.q).exists
        other = p0.existence((case.out_degree[order], case.in_degree[order]), q=case.q).exists
        assert one == other


def test_reversing_arcs_does_not_change_a_balanced_answer(twenty_thousand):
    for case, _ in twenty_thousand[:300]:
        one = p0.existence((case.out_degree, case.in_degree), q=case.q).exists
        assert one == p0.existence((case.in_degree, case.out_degree), q=case.q).exists


def test_many_nodes_take_moderate_time_and_memory():
    """n = 2000: a mid-sized network that exists, and the same with one silent node."""
    n = 2000
    out_degree, in_degree = np.full(n, n // 2), np.full(n, n // 2)
    assert p0.existence((out_degree, in_degree), q=2).exists
    out_degree[7], in_degree[:1000] = 0, n // 2 - 1
    answer = p0.existence((out_degree, in_degree), q=2)
    assert answer.nodes == ("8",)


def test_bad_arguments_are_refused():
    pair = ([2, 2, 2], [2, 2, 2])
    refusal(lambda: p0.existence(pair), "q must be given", error=TypeError)
    refusal(lambda: p0.existence(pair, q=1), "q must be at least 2", "got 1")
    refusal(lambda: p0.existence(pair, margins="raw", q=3), "margins must be one of", "'raw'")
    refusal(lambda: p0.existence(([2, 2], [2, 2]), q=3), "n must be at least 3", "got 2")
    refusal(lambda: p0.existence(([2, 2, 2], [2, 2]), q=3), "out_degree", "in_degree")
    refusal(lambda: p0.existence(([2, 2, np.nan], [2, 2, 2]), q=3), "out_degree must be finite")
