"""The truncated geometric law in 50-digit arithmetic, summed term by term."""

from __future__ import annotations

from mpmath import mp, mpf

DIGITS = 50


def law(x: float, q: int) -> list[mpf]:
    """P(a = 0), .., P(a = q - 1) by definition, with 50 digits."""
    with mp.workdps(DIGITS):
        step = mp.exp(mpf(x))
        terms = [mpf(1)]
        for _ in range(q - 1):
            terms.append(terms[-1] * step)
        total = mp.fsum(terms)
        return [term / total for term in terms]


def mean(x: float, q: int) -> mpf:
    """Sum of a P(a)."""
    with mp.workdps(DIGITS):
        return mp.fsum(a * p for a, p in enumerate(law(x, q)))


def variance(x: float, q: int) -> mpf:
    """Sum of (a - mean)^2 P(a): all terms positive, so nothing cancels."""
    with mp.workdps(DIGITS):
        centre = mean(x, q)
        return mp.fsum((a - centre) ** 2 * p for a, p in enumerate(law(x, q)))


def log_normalizer(x: float, q: int) -> mpf:
    """Log of sum_a exp(a x); 50 digits leave 32 where the sum is 1 + exp(-40)."""
    with mp.workdps(DIGITS):
        return mp.log1p(mp.fsum(mp.exp(a * mpf(x)) for a in range(1, q)))


def tail(x: float, q: int, k: int) -> mpf:
    """P(a >= k)."""
    with mp.workdps(DIGITS):
        return mp.fsum(law(x, q)[k:])
