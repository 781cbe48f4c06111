"""Compiled sums of mu and mu' over the arcs of every node, by expansions or plainly.

Both sides stand in one array of length 2n: theta = alpha, then beta; sums = rows, then columns.
Diagonal terms are taken from the sums over all pairs; a node whose own term was nearly all of its
sum is summed again without it, so that the rest keeps its digits. That happens to few: another
node j with beta_j near beta_i has a term of like size in row i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from p0sim.arrays import FloatMatrix, FloatVector
from p0sim.model.chebyshev import (
    Layout,
    Side,
    covers,
    evaluate,
    lay_out,
    moments,
    sort_by_piece,
    spread,
)
from p0sim.model.edge_kernels import edge_log_normalizer, edge_moments, kernel
from p0sim.model.expansions import LOG_NORMALIZER, MOMENTS, expand

# below this share of its own diagonal term a rest is summed again
ISOLATED = 1e-3
# plain variances are kept for the products up to this n: 128 MB
KEPT = 4096


class Expansion(NamedTuple):
    """Where the expansions of mu and mu' hold, and their coefficients; none for plain sums."""

    layout: Layout
    means: FloatMatrix
    variances: FloatMatrix


class PairSums(NamedTuple):
    """Everything known at one theta.

    `means` and `variances` have shape (2n,), `loops` holds mu'(x_ii), `kept` the variances of all
    pairs, or is empty. Without expansion the sides and the loops are not filled in.
    """

    theta: FloatVector
    expansion: Expansion
    alpha: Side
    beta: Side
    means: FloatVector
    variances: FloatVector
    loops: FloatVector
    kept: FloatMatrix


@kernel
def no_expansion() -> Expansion:
    """What to give to :func:`pair_sums` the first time."""
    nothing = np.empty((0, 0, 0))
    return Expansion(Layout(0.0, 0.0, 1.0, 1, 1), nothing, nothing)


@kernel
def pair_sums(theta: FloatVector, q: int, room: float, expansion: Expansion) -> PairSums:
    """Row and column sums of mu and mu' over i != j.

    The expansion given is used if it holds at theta; else there is a new one, with some room
    around theta, or none where plain sums are cheaper.
    """
    n = len(theta) // 2
    if len(expansion.means) == 0 or not covers(expansion.layout, theta[:n], theta[n:]):
        layout, terms = lay_out(theta[:n], theta[n:], q, room)
        coefficients = expand(layout, terms, q, MOMENTS)
        expansion = Expansion(layout, coefficients[0], coefficients[1])
    layout, loops = expansion.layout, np.zeros(n)
    alpha = sort_by_piece(theta[:n], layout.low_alpha, layout.width, layout.alpha_pieces)
    beta = sort_by_piece(theta[n:], layout.low_beta, layout.width, layout.beta_pieces)
    means, variances, kept = np.zeros(2 * n), np.zeros(2 * n), np.zeros((0, 0))
    if len(expansion.means) > 0:
        _fill_from_expansion(alpha, beta, expansion, means, variances)
        _take_loops(theta, q, means, variances, loops)
    else:
        kept = np.zeros((n, n)) if n <= KEPT else kept
        _add_plainly(theta, q, means, variances, kept)
    return PairSums(theta, expansion, alpha, beta, means, variances, loops, kept)


@kernel
def _fill_from_expansion(
    alpha: Side, beta: Side, expansion: Expansion, means: FloatVector, variances: FloatVector
) -> None:
    n, terms = len(alpha.order), expansion.means.shape[1]
    ones = np.ones(n)
    for side, other, start in ((alpha, beta, 0), (beta, alpha, n)):
        heads, pieces = moments(other, ones, terms), len(side.starts) - 1
        evaluate(side, spread(expansion.means, heads, pieces), means[start : start + n])
        evaluate(side, spread(expansion.variances, heads, pieces), variances[start : start + n])


@kernel
def _add_plainly(
    theta: FloatVector, q: int, means: FloatVector, variances: FloatVector, kept: FloatMatrix
) -> None:
    n = len(theta) // 2
    lost = np.zeros(2 * n)
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            mean, variance = edge_moments(theta[i] + theta[n + j], q)
            _add_exactly(means, lost, i, mean)
            _add_exactly(means, lost, n + j, mean)
            variances[i] += variance
            variances[n + j] += variance
            if len(kept) > 0:
                kept[i, j] = variance


@kernel
def _add_exactly(sums: FloatVector, lost: FloatVector, k: int, term: float) -> None:
    """Kahan's summation: equal terms, added one by one, would all be rounded the same way."""
    corrected = term - lost[k]
    total = sums[k] + corrected
    lost[k] = (total - sums[k]) - corrected
    sums[k] = total


@kernel
def _take_loops(
    theta: FloatVector, q: int, means: FloatVector, variances: FloatVector, loops: FloatVector
) -> None:
    """Subtract the diagonal terms, and keep those of mu'."""
    n = len(theta) // 2
    for i in range(n):
        mean, loops[i] = edge_moments(theta[i] + theta[n + i], q)
        for k in (i, n + i):
            means[k] -= mean
            variances[k] -= loops[i]
            if means[k] < ISOLATED * mean or variances[k] < ISOLATED * loops[i]:
                means[k], variances[k] = _sums_of(k, theta, q)


@kernel
def _sums_of(k: int, theta: FloatVector, q: int) -> tuple[float, float]:
    """Plain sums of row k, or of column k - n, without the diagonal."""
    n = len(theta) // 2
    others = n if k < n else 0
    means, variances = 0.0, 0.0
    for j in range(n):
        if j != k % n:
            mean, variance = edge_moments(theta[k] + theta[others + j], q)
            means += mean
            variances += variance
    return means, variances


@kernel
def variance_product(x: FloatVector, q: int, sums: PairSums) -> FloatVector:
    """V x in full 2n form: rows sum_j mu'_ij (x_i + x_{n+j}), columns alike, over i != j."""
    n, coefficients = len(x) // 2, sums.expansion.variances
    product = np.empty(2 * n)
    for k in range(2 * n):
        product[k] = sums.variances[k] * x[k]
    if len(coefficients) == 0:
        _add_plain_cross(x, sums.theta, q, sums.kept, product)
        return product
    cross = np.empty(n)
    for side, other, start in ((sums.alpha, sums.beta, 0), (sums.beta, sums.alpha, n)):
        weights = x[n - start : 2 * n - start]
        heads = moments(other, weights, coefficients.shape[1])
        evaluate(side, spread(coefficients, heads, len(side.starts) - 1), cross)
        for i in range(n):
            if sums.variances[start + i] < ISOLATED * sums.loops[i]:
                product[start + i] += _cross_of(start + i, x, sums.theta, q)
            else:
                product[start + i] += cross[i] - sums.loops[i] * weights[i]
    return product


@kernel
def _add_plain_cross(
    x: FloatVector, theta: FloatVector, q: int, kept: FloatMatrix, product: FloatVector
) -> None:
    n = len(theta) // 2
    if len(kept) == 0:
        for k in range(2 * n):
            product[k] += _cross_of(k, x, theta, q)
        return
    for i in range(n):
        for j in range(n):
            product[n + j] += kept[i, j] * x[i]
            product[i] += kept[i, j] * x[n + j]


@kernel
def _cross_of(k: int, x: FloatVector, theta: FloatVector, q: int) -> float:
    """sum_j mu'_kj x_j over the other side, without the diagonal."""
    n = len(theta) // 2
    others = n if k < n else 0
    total = 0.0
    for j in range(n):
        if j != k % n:
            total += edge_moments(theta[k] + theta[others + j], q)[1] * x[others + j]
    return total


@kernel
def log_normalizer_sum(theta: FloatVector, q: int) -> float:
    """sum_{i != j} log sum_k exp(k x_ij)."""
    n = len(theta) // 2
    layout, terms = lay_out(theta[:n], theta[n:], q, 0.0)
    coefficients, _ = expand(layout, terms, q, LOG_NORMALIZER)
    if len(coefficients) == 0:
        return _log_normalizers_plainly(theta, q)
    alpha = sort_by_piece(theta[:n], layout.low_alpha, layout.width, layout.alpha_pieces)
    beta = sort_by_piece(theta[n:], layout.low_beta, layout.width, layout.beta_pieces)
    heads = moments(beta, np.ones(n), coefficients.shape[1])
    rows = np.empty(n)
    evaluate(alpha, spread(coefficients, heads, layout.alpha_pieces), rows)
    for i in range(n):
        rows[i] -= edge_log_normalizer(theta[i] + theta[n + i], q)
    return float(rows.sum())


@kernel
def _log_normalizers_plainly(theta: FloatVector, q: int) -> float:
    n = len(theta) // 2
    total = 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                total += edge_log_normalizer(theta[i] + theta[n + j], q)
    return total
