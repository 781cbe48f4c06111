"""Formulas against an independent evaluation, and everything else refused."""

from __future__ import annotations

import math
import re

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from p0sim.errors import InvalidStudyError
from p0sim.formulas import evaluate, fill_positions, names_in

NAMES = {"n": 100.0, "q": 3.0, "L": 0.25}

# A formula as a tree: a number, a name, or (operation, parts ...). The oracle walks the tree in
# 60-digit arithmetic; only its text, fully or sparsely bracketed, is what evaluate() sees.
leaves = st.one_of(
    st.sampled_from(sorted(NAMES)),
    st.integers(0, 50),
    st.floats(0.01, 50).map(lambda x: round(x, 3)),
)
trees = st.recursive(
    leaves,
    lambda part: st.one_of(
        st.tuples(st.sampled_from("+-*/^"), part, part),
        st.tuples(st.sampled_from(["neg", "log", "sqrt", "exp"]), part),
    ),
    max_leaves=8,
)
RANK = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 3, "^": 4}
MP = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "^": mpmath.power,
    "neg": lambda x: -x,
    "log": mpmath.log,
    "sqrt": mpmath.sqrt,
    "exp": mpmath.exp,
}


def oracle(tree):
    """Value of the tree; raises where there is no real one or it leaves moderate numbers."""
    if isinstance(tree, str):
        return mpmath.mpf(NAMES[tree])
    if not isinstance(tree, tuple):
        return mpmath.mpf(tree)
    parts = [oracle(part) for part in tree[1:]]
    if tree[0] == "^" and (abs(parts[1]) > 200 or parts[0] <= 0):
        raise ValueError("left to the tests written by hand")
    if tree[0] == "exp" and parts[0] > 200:
        raise ValueError("too large")
    if tree[0] in {"log", "sqrt"} and parts[0] <= 0:
        raise ValueError("no real value")
    value = MP[tree[0]](*parts)
    if value != 0 and not 1e-100 < abs(value) < 1e100:
        raise ValueError("not moderate")
    return value


def condition(tree):
    """Smallest ratio of a sum or difference to its parts: how much of the digits is lost."""
    if not isinstance(tree, tuple):
        return mpmath.mpf(1)
    worst = min(condition(part) for part in tree[1:])
    values = [abs(oracle(part)) for part in tree[1:]]
    if tree[0] in {"+", "-"} and max(values) > 0:
        worst = min(worst, abs(oracle(tree)) / max(values))
    if tree[0] == "log":
        worst = min(worst, abs(oracle(tree)))
    return worst


def text(tree, rank=0, right=False, spaced=True):
    """The tree with brackets only where the usual rules of precedence need them."""
    if not isinstance(tree, tuple):
        return str(tree)
    name, *parts = tree
    if name in {"log", "sqrt", "exp"}:
        return f"{name}({text(parts[0])})"
    mine = RANK[name]
    if name == "neg":
        written = f"-{text(parts[0], mine)}"
    else:
        left_rank, right_rank = (mine + 1, mine) if name == "^" else (mine, mine + 1)
        written = f"{text(parts[0], left_rank)} {name} {text(parts[1], right_rank)}"
    return f"({written})" if mine < rank else written


@given(trees)
def test_value_is_that_of_sixty_digit_arithmetic(tree):
    with mpmath.workdps(60):
        try:
            want, lost = oracle(tree), condition(tree)
        except (ValueError, ZeroDivisionError):
            assume(False)
        assume(lost > 1e-3)
    formula = text(tree)
    assume(len(formula) <= 200)
    assert evaluate(formula, NAMES) == pytest.approx(float(want), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("2^3^2", 512),
        ("-2^2", -4),
        ("2^-1", 0.5),
        ("2**3", 8),
        ("(-8)^3", -512),
        ("n - q - 1", 96),
        ("n/q/2", 100 / 6),
        (" n ", 100),
        ("1e2", 100),
        (".5", 0.5),
        ("0^0", 1),
    ],
)
def test_precedence_is_that_of_the_printed_page(formula, value):
    assert evaluate(formula, NAMES) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("formula", "what", "position"),
    [
        ("n % 2", "'%'", 3),
        ("n^2 // 3", "'//'", 5),
        ("n^2 + n.real", "'n.real'", 7),
        ("__import__('os')", '"\'"', 12),
        ("n if q else 1", "'n if q else 1'", 1),
        ("log(n, 2)", "','", 6),
        ("n == 2", "'='", 3),
        ("[n]", "'['", 1),
        ("lambda: 1", "':'", 7),
        ("1j", "'1j'", 1),
        ("True", "'True'", 1),
        ("not n", "'not n'", 1),
        ("2(n)", "'2(n)'", 1),
        ("abs(n)", "'abs(n)'", 1),
        ("n # x", "'#'", 3),
        ("n\n+1", r"'\n'", 2),
        ("ｎ", "'ｎ'", 1),
    ],
)
def test_what_is_not_arithmetic_is_named_with_its_position(formula, what, position):
    message = f"[factors] L: {formula!r} is not a formula: {what} at position {position} "
    with pytest.raises(InvalidStudyError, match=re.escape(message + "is not allowed; use numbers")):
        evaluate(formula, NAMES, place="[factors] L")


@pytest.mark.parametrize(
    "formula",
    ["", "  ", "((n)", "n n", "n +", "log n", "1 +* 2", "2n", "(" * 150, "n" * 201, "log"],
)
def test_what_cannot_be_read_is_refused_in_one_line(formula):
    with pytest.raises(InvalidStudyError, match="is not a formula: ") as caught:
        evaluate(formula, NAMES)
    assert "\n" not in str(caught.value)


def test_unknown_name_gets_the_nearest_known_one():
    with pytest.raises(
        InvalidStudyError, match="'nn' at position 5 is not known; did you mean 'n'"
    ):
        evaluate("2 * nn", NAMES)


@pytest.mark.parametrize(
    ("formula", "part", "where"),
    [
        ("1/0", "'1/0' at position 1", ""),
        ("1 + q/(n - 100)", "'q/(n - 100)' at position 5", " where n = 100, q = 3"),
        ("log(q - n)", "'log(q - n)' at position 1", " where n = 100, q = 3"),
        ("sqrt(0-1)", "'sqrt(0-1)' at position 1", ""),
        ("exp(n^2)", "'exp(n^2)' at position 1", " where n = 100"),
        ("9^9^9^9", "'9^9^9' at position 3", ""),
        ("(0-8)^(1/3)", "'(0-8)^(1/3)' at position 1", ""),
        ("0^-1", "'0^-1' at position 1", ""),
        ("1/(1e308*10)", "'1e308*10' at position 4", ""),
        ("1e999", "'1e999' at position 1", ""),
    ],
)
def test_formula_without_a_finite_value_names_the_part(formula, part, where):
    message = f"{formula!r} must have a finite value; {part} has none{where}"
    with pytest.raises(InvalidStudyError, match=re.escape(message) + "$"):
        evaluate(formula, NAMES)


@given(st.text(max_size=30))
def test_any_text_is_a_finite_number_or_refused(formula):
    try:
        assert math.isfinite(evaluate(formula, NAMES))
    except InvalidStudyError as error:
        assert len(str(error).splitlines()) == 1


@given(st.text(alphabet="nq0123456789+-*/^() .eloxpsr", max_size=25))
def test_any_text_of_allowed_characters_is_a_finite_number_or_refused(formula):
    try:
        assert math.isfinite(evaluate(formula, NAMES))
    except InvalidStudyError as error:
        assert "formula" in str(error) or "finite" in str(error)


def test_names_are_the_factors_spoken_of():
    assert names_in("log(n)/n^(1/4) + q") == {"n", "q"}


@pytest.mark.parametrize(
    ("estimand", "filled"),
    [
        ("alpha[n/2]-alpha[n/2+1]", "alpha[50]-alpha[51]"),
        ("alpha[1] - beta[n-1]", "alpha[1] - beta[99]"),
        ("alpha[sqrt(n)]", "alpha[10]"),
        ("theta", "theta"),
    ],
)
def test_positions_are_filled_in(estimand, filled):
    assert fill_positions(estimand, NAMES) == filled


@pytest.mark.parametrize(
    ("estimand", "message"),
    [
        ("alpha[n/3]", "position [n/3] in 'alpha[n/3]' must be a whole number in 1..100; got 33.3"),
        ("alpha[0]", "position [0] in 'alpha[0]' must be a whole number in 1..100; got 0"),
        ("alpha[n+1]", "position [n+1] in 'alpha[n+1]' must be a whole number in 1..100; got 101"),
        ("alpha[-1]", "must be a whole number in 1..100; got -1"),
        ("alpha[1", "brackets do not match in 'alpha[1'"),
        ("alpha[[1]]", "brackets do not match"),
        ("alpha[]", "'' is not a formula: it is empty"),
        ("alpha[m]", "'m' at position 1 is not known"),
    ],
)
def test_bad_position_is_named(estimand, message):
    with pytest.raises(InvalidStudyError, match=re.escape(message)):
        fill_positions(estimand, NAMES)
