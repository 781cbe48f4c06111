"""Compiled sums of mu and mu' over the arcs of every node, by expansions or plainly.

Both sides stand in one array: theta = alpha, then beta; sums = rows, then columns. The ordinary
case is a square of n rows and n columns, where row k and column k are the same node and make no
pair. Where some nodes have left one side, the others are ordered so that only the first `shared`
rows are the same nodes as the columns of that place.

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
from p0sim.model.edge_kernels import (
    edge_centred_square,
    edge_log_normalizer,
    edge_moments,
    kernel,
)
from p0sim.model.expansions import CENTRED_SQUARE, LOG_NORMALIZER, MOMENTS, expand

# below this share of its own diagonal term a rest is summed again
ISOLATED = 1e-3
# plain variances are kept for the products up to this n: 128 MB
KEPT = 4096


class Pairs(NamedTuple):
    """Which pairs there are: all rows with all columns but (k, k) for k < shared."""

    rows: int
    shared: int


class Expansion(NamedTuple):
    """Where the expansions of mu and mu' hold, and their coefficients; none for plain sums."""

    layout: Layout
    means: FloatMatrix
    variances: FloatMatrix


class PairSums(NamedTuple):
    """Everything known at one theta.

    `means` and `variances` have the shape of theta, `loops` holds mu'(x_kk) for k < shared, `kept`
    the variances of all pairs, or is empty. Without expansion the sides and the loops are not
    filled in.
    """

    theta: FloatVector
    pairs: Pairs
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
def square(n: int) -> Pairs:
    """All ordered pairs of n nodes."""
    return Pairs(n, n)


@kernel
def pair_sums(
    theta: FloatVector, q: int, pairs: Pairs, room: float, expansion: Expansion
) -> PairSums:
    """Row and column sums of mu and mu' over the pairs.

    The expansion given is used if it holds at theta; else there is a new one, with some room
    around theta, or none where plain sums are cheaper.
    """
    n = pairs.rows
    if len(expansion.means) == 0 or not covers(expansion.layout, theta[:n], theta[n:]):
        layout, terms = lay_out(theta[:n], theta[n:], q, room)
        coefficients = expand(layout, terms, q, MOMENTS)
        expansion = Expansion(layout, coefficients[0], coefficients[1])
    layout, loops = expansion.layout, np.zeros(pairs.shared)
    alpha = sort_by_piece(theta[:n], layout.low_alpha, layout.width, layout.alpha_pieces)
    beta = sort_by_piece(theta[n:], layout.low_beta, layout.width, layout.beta_pieces)
    means, variances, kept = np.zeros(len(theta)), np.zeros(len(theta)), np.zeros((0, 0))
    if len(expansion.means) > 0:
        _fill_from_expansion(alpha, beta, expansion, means, variances)
        _take_loops(theta, q, pairs, means, variances, loops)
    else:
        columns = len(theta) - n
        kept = np.zeros((n, columns)) if n * columns <= KEPT**2 else kept
        _add_plainly(theta, q, pairs, means, variances, kept)
    return PairSums(theta, pairs, expansion, alpha, beta, means, variances, loops, kept)


@kernel
def _fill_from_expansion(
    alpha: Side, beta: Side, expansion: Expansion, means: FloatVector, variances: FloatVector
) -> None:
    n, terms = len(alpha.order), expansion.means.shape[1]
    ones = np.ones(max(n, len(beta.order)))
    for side, other, start in ((alpha, beta, 0), (beta, alpha, n)):
        heads, pieces = moments(other, ones, terms), len(side.starts) - 1
        end = start + len(side.order)
        evaluate(side, spread(expansion.means, heads, pieces), means[start:end])
        evaluate(side, spread(expansion.variances, heads, pieces), variances[start:end])


@kernel
def _add_plainly(
    theta: FloatVector,
    q: int,
    pairs: Pairs,
    means: FloatVector,
    variances: FloatVector,
    kept: FloatMatrix,
) -> None:
    n = pairs.rows
    lost = np.zeros(len(theta))
    for i in range(n):
        for j in range(len(theta) - n):
            if i == j and i < pairs.shared:
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
    theta: FloatVector,
    q: int,
    pairs: Pairs,
    means: FloatVector,
    variances: FloatVector,
    loops: FloatVector,
) -> None:
    """Subtract the diagonal terms, and keep those of mu'."""
    n = pairs.rows
    for i in range(pairs.shared):
        mean, loops[i] = edge_moments(theta[i] + theta[n + i], q)
        for k in (i, n + i):
            means[k] -= mean
            variances[k] -= loops[i]
            if means[k] < ISOLATED * mean or variances[k] < ISOLATED * loops[i]:
                means[k], variances[k] = _sums_of(k, theta, q, pairs)


@kernel
def _sums_of(k: int, theta: FloatVector, q: int, pairs: Pairs) -> tuple[float, float]:
    """Plain sums of row k, or of column k - n, without the diagonal."""
    own, others, end = _opposite(k, len(theta), pairs)
    means, variances = 0.0, 0.0
    for j in range(others, end):
        if j != own:
            mean, variance = edge_moments(theta[k] + theta[j], q)
            means += mean
            variances += variance
    return means, variances


@kernel
def _opposite(k: int, size: int, pairs: Pairs) -> tuple[int, int, int]:
    """Where the node of row k, or of column k - n, stands on the other side (-1: it does not).

    Then the ends of that side.
    """
    n = pairs.rows
    if k < n:
        return (n + k if k < pairs.shared else -1), n, size
    return (k - n if k - n < pairs.shared else -1), 0, n


@kernel
def variance_product(x: FloatVector, q: int, sums: PairSums) -> FloatVector:
    """V x in full form: rows sum_j mu'_ij (x_i + x_{n+j}), columns alike, over the pairs."""
    n, coefficients = sums.pairs.rows, sums.expansion.variances
    product = np.empty(len(x))
    for k in range(len(x)):
        product[k] = sums.variances[k] * x[k]
    if len(coefficients) == 0:
        _add_plain_cross(x, q, sums, product)
        return product
    for side, other, start in ((sums.alpha, sums.beta, 0), (sums.beta, sums.alpha, n)):
        cross, first = np.empty(len(side.order)), n - start
        weights = x[first : first + len(other.order)]
        heads = moments(other, weights, coefficients.shape[1])
        evaluate(side, spread(coefficients, heads, len(side.starts) - 1), cross)
        for i in range(len(cross)):
            if i >= sums.pairs.shared:
                product[start + i] += cross[i]
            elif sums.variances[start + i] < ISOLATED * sums.loops[i]:
                product[start + i] += _cross_of(start + i, x, q, sums)
            else:
                product[start + i] += cross[i] - sums.loops[i] * weights[i]
    return product


@kernel
def _add_plain_cross(x: FloatVector, q: int, sums: PairSums, product: FloatVector) -> None:
    n, kept = sums.pairs.rows, sums.kept
    if len(kept) == 0:
        for k in range(len(x)):
            product[k] += _cross_of(k, x, q, sums)
        return
    for i in range(n):
        for j in range(len(x) - n):
            product[n + j] += kept[i, j] * x[i]
            product[i] += kept[i, j] * x[n + j]


@kernel
def _cross_of(k: int, x: FloatVector, q: int, sums: PairSums) -> float:
    """sum_j mu'_kj x_j over the other side, without the diagonal."""
    own, others, end = _opposite(k, len(x), sums.pairs)
    total = 0.0
    for j in range(others, end):
        if j != own:
            total += edge_moments(sums.theta[k] + sums.theta[j], q)[1] * x[j]
    return total


@kernel
def centred_square_sums(theta: FloatVector, q: int, pairs: Pairs) -> FloatVector:
    """Row and column sums of (mu(x_ij) - (q-1)/2)^2 over the pairs."""
    n, sums = pairs.rows, np.zeros(len(theta))
    layout, terms = lay_out(theta[:n], theta[n:], q, 0.0)
    coefficients, _ = expand(layout, terms, q, CENTRED_SQUARE)
    if len(coefficients) == 0:
        _add_squares_plainly(theta, q, pairs, sums)
        return sums
    alpha = sort_by_piece(theta[:n], layout.low_alpha, layout.width, layout.alpha_pieces)
    beta = sort_by_piece(theta[n:], layout.low_beta, layout.width, layout.beta_pieces)
    for side, other, start in ((alpha, beta, 0), (beta, alpha, n)):
        heads = moments(other, np.ones(len(other.order)), coefficients.shape[1])
        polynomials = spread(coefficients, heads, len(side.starts) - 1)
        evaluate(side, polynomials, sums[start : start + len(side.order)])
    for i in range(pairs.shared):
        own = edge_centred_square(theta[i] + theta[n + i], q)
        sums[i] -= own
        sums[n + i] -= own
    return sums


@kernel
def _add_squares_plainly(theta: FloatVector, q: int, pairs: Pairs, sums: FloatVector) -> None:
    n = pairs.rows
    for i in range(n):
        for j in range(len(theta) - n):
            if i != j or i >= pairs.shared:
                distance = edge_centred_square(theta[i] + theta[n + j], q)
                sums[i] += distance
                sums[n + j] += distance


@kernel
def log_normalizer_sum(theta: FloatVector, q: int, pairs: Pairs) -> float:
    """Sum over the pairs of log sum_k exp(k x_ij)."""
    n = pairs.rows
    layout, terms = lay_out(theta[:n], theta[n:], q, 0.0)
    coefficients, _ = expand(layout, terms, q, LOG_NORMALIZER)
    if len(coefficients) == 0:
        return _log_normalizers_plainly(theta, q, pairs)
    alpha = sort_by_piece(theta[:n], layout.low_alpha, layout.width, layout.alpha_pieces)
    beta = sort_by_piece(theta[n:], layout.low_beta, layout.width, layout.beta_pieces)
    heads = moments(beta, np.ones(len(beta.order)), coefficients.shape[1])
    rows = np.empty(n)
    evaluate(alpha, spread(coefficients, heads, layout.alpha_pieces), rows)
    for i in range(pairs.shared):
        rows[i] -= edge_log_normalizer(theta[i] + theta[n + i], q)
    return float(rows.sum())


@kernel
def _log_normalizers_plainly(theta: FloatVector, q: int, pairs: Pairs) -> float:
    n, total = pairs.rows, 0.0
    for i in range(n):
        for j in range(len(theta) - n):
            if i != j or i >= pairs.shared:
                total += edge_log_normalizer(theta[i] + theta[n + j], q)
    return total
