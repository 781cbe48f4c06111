r"""Sums over all pairs of f(alpha_i + beta_j) in O(nN): compiled Chebyshev expansions.

On a box f(a + b) is analytic in both arguments, so it equals sum_{jk} C_jk T_j(u) T_k(v) up to
rounding, u and v the arguments scaled to [-1, 1]. A sum over j is then the vector of Chebyshev
moments sum_j w_j T_k(v_j), times C, evaluated at u_i by Clenshaw's rule. C is found in
:mod:`p0sim.model.expansions`.

Both ranges are cut into pieces of one width, for two reasons. The poles of mu stand at
2 pi i k/q, so a box of half-width h needs N about log(1/eps)/asinh(2 pi/(q h)) terms. And an
expansion has an error near eps times the largest value in its box, while mu and mu' fall by at
most about exp(2 width) across one: rows far out in a tail keep their digits. As widths agree,
the box of pieces (p, r) depends on p + r only, and its C is symmetric.

Derived here. Arrays are float64 and C-contiguous; N is even.
"""

from __future__ import annotations

from math import asinh, ceil, log, pi
from typing import NamedTuple

import numpy as np

from p0sim.arrays import FloatMatrix, FloatVector, IntVector
from p0sim.model.edge_kernels import kernel

EPS = 2.0**-52
# e^(2 * 4) = 3000: twelve digits are left at the low end of a box
WIDEST = 4.0
# poles no nearer than 0.79 half-widths: N is at most about 50
WIDEST_TIMES_Q = 16.0
NARROWEST = 2.0**-10
# nodes side by side in registers, and nodes between two additions to the total
LANES, CHUNK = 64, 4096


class Layout(NamedTuple):
    """Pieces [low + p width, low + (p + 1) width] of both ranges."""

    low_alpha: float
    low_beta: float
    width: float
    alpha_pieces: int
    beta_pieces: int


class Side(NamedTuple):
    """Parameters of one side, sorted by piece: piece p holds order[starts[p]:starts[p + 1]].

    `local` is each one's place in its piece, scaled to [-1, 1], in that order.
    """

    order: IntVector
    starts: IntVector
    local: FloatVector


@kernel
def lay_out(alpha: FloatVector, beta: FloatVector, q: int, room: float) -> tuple[Layout, int]:
    """Pieces that cover both sides with some room at either end, and N; N = 0 asks for plain sums.

    With P and R pieces the expansions are no saving unless P N times R N is less than the number of
    pairs.
    """
    low_alpha, high_alpha = _ends(alpha)
    low_beta, high_beta = _ends(beta)
    long_alpha, long_beta = high_alpha - low_alpha + 2 * room, high_beta - low_beta + 2 * room
    longest = max(long_alpha, long_beta, NARROWEST)
    # the last piece reaches a little further, so that rounding leaves nobody outside
    width = longest * (1 + 1e-12) / np.ceil(longest / min(WIDEST, WIDEST_TIMES_Q / q))
    pieces_alpha = max(np.ceil(long_alpha / width), 1.0)
    pieces_beta = max(np.ceil(long_beta / width), 1.0)
    terms = _safe_terms(width, q)
    # written so that infinite ranges, nan by now, fail it
    if not pieces_alpha * pieces_beta * terms**2 < float(len(alpha)) * len(beta):
        pieces_alpha, pieces_beta, terms = 1.0, 1.0, 0
    lows = low_alpha - room, low_beta - room
    return Layout(lows[0], lows[1], width, int(pieces_alpha), int(pieces_beta)), terms


@kernel
def _ends(values: FloatVector) -> tuple[float, float]:
    low, high = values[0], values[0]
    for value in values:
        low, high = min(low, value), max(high, value)
    return low, high


@kernel
def _safe_terms(width: float, q: int) -> int:
    """N at which the pole nearest to the middle of a box leaves nothing above rounding."""
    decay = asinh(4 * pi / (q * width))
    return 4 * ceil((log(1 / EPS) / decay + 3) / 4)


@kernel
def covers(layout: Layout, alpha: FloatVector, beta: FloatVector) -> bool:
    """Whether every parameter lies in a piece."""
    low_alpha, high_alpha = _ends(alpha)
    low_beta, high_beta = _ends(beta)
    return bool(
        low_alpha >= layout.low_alpha
        and low_beta >= layout.low_beta
        and high_alpha - layout.low_alpha <= layout.alpha_pieces * layout.width
        and high_beta - layout.low_beta <= layout.beta_pieces * layout.width
    )


@kernel
def sort_by_piece(values: FloatVector, low: float, width: float, pieces: int) -> Side:
    """Each parameter's piece and place in it, by a counting sort."""
    n = len(values)
    starts = np.zeros(pieces + 1, np.int64)
    for i in range(n):
        starts[_piece(values[i], low, width, pieces) + 1] += 1
    for piece in range(pieces):
        starts[piece + 1] += starts[piece]
    order, local, filled = np.empty(n, np.int64), np.empty(n), starts.copy()
    for i in range(n):
        piece = _piece(values[i], low, width, pieces)
        order[filled[piece]] = i
        local[filled[piece]] = 2 * ((values[i] - low) / width - piece) - 1
        filled[piece] += 1
    return Side(order, starts, local)


@kernel
def _piece(value: float, low: float, width: float, pieces: int) -> int:
    return min(max(int((value - low) / width), 0), pieces - 1)


@kernel
def moments(side: Side, weights: FloatVector, terms: int) -> FloatMatrix:
    """sum_i w_i T_k(u_i) over the nodes of each piece; (pieces, N)."""
    pieces = len(side.starts) - 1
    totals = np.zeros((pieces, terms))
    lanes, work = np.zeros((terms, LANES)), np.empty((3, LANES))
    for piece in range(pieces):
        stop = side.starts[piece + 1]
        for start in range(side.starts[piece], stop, CHUNK):
            end = min(start + CHUNK, stop)
            _add_to_lanes(side, weights, start, end, lanes, work)
            _empty_lanes(lanes, totals[piece])
    return totals


@kernel
def _add_to_lanes(
    side: Side,
    weights: FloatVector,
    start: int,
    end: int,
    lanes: FloatMatrix,
    work: FloatMatrix,
) -> None:
    """Add w T_k to lanes[k], by T_{k+1} = 2 u T_k - T_{k-1} on many nodes side by side."""
    even, odd, twice = work[0], work[1], work[2]
    for first in range(start, end, LANES):
        count = min(LANES, end - first)
        for lane in range(count):
            u, weight = side.local[first + lane], weights[side.order[first + lane]]
            even[lane], odd[lane], twice[lane] = weight, weight * u, 2 * u
        for k in range(0, len(lanes), 2):
            total_even, total_odd = lanes[k], lanes[k + 1]
            for lane in range(count):
                now, following = even[lane], odd[lane]
                total_even[lane] += now
                total_odd[lane] += following
                now = twice[lane] * following - now
                even[lane] = now
                odd[lane] = twice[lane] * now - following


@kernel
def _empty_lanes(lanes: FloatMatrix, totals: FloatVector) -> None:
    """Move the lanes' sums to the totals, by four sums that do not wait for each other."""
    for k in range(len(lanes)):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for lane in range(0, LANES, 4):
            a, b = a + lanes[k, lane], b + lanes[k, lane + 1]
            c, d = c + lanes[k, lane + 2], d + lanes[k, lane + 3]
        totals[k] += (a + b) + (c + d)
        lanes[k] = 0.0


@kernel
def spread(coefficients: FloatMatrix, column_moments: FloatMatrix, pieces: int) -> FloatMatrix:
    """Chebyshev coefficients of the sum over the other side, for each piece of this one."""
    terms = coefficients.shape[1]
    polynomials = np.zeros((pieces, terms))
    for p in range(pieces):
        for r in range(len(column_moments)):
            _add_product(coefficients[p + r], column_moments[r], polynomials[p])
    return polynomials


@kernel
def _add_product(square: FloatMatrix, vector: FloatVector, total: FloatVector) -> None:
    for k in range(len(vector)):
        row, weight = square[k], vector[k]
        for j in range(len(vector)):
            total[j] += weight * row[j]


@kernel
def evaluate(side: Side, polynomials: FloatMatrix, values: FloatVector) -> None:
    """Fill values[i] with the polynomial of i's piece at i, by Clenshaw's rule."""
    work = np.empty((3, LANES))
    for piece in range(len(polynomials)):
        stop = side.starts[piece + 1]
        for start in range(side.starts[piece], stop, LANES):
            count = min(LANES, stop - start)
            local, order = side.local[start : start + count], side.order[start : start + count]
            _clenshaw(polynomials[piece], local, order, work, values)


@kernel
def _clenshaw(
    polynomial: FloatVector,
    local: FloatVector,
    order: IntVector,
    work: FloatMatrix,
    values: FloatVector,
) -> None:
    upper, above, twice = work[0], work[1], work[2]
    for lane in range(len(local)):
        upper[lane], above[lane], twice[lane] = polynomial[-1], 0.0, 2 * local[lane]
    for k in range(len(polynomial) - 2, 1, -2):
        one, other = polynomial[k], polynomial[k - 1]
        for lane in range(len(local)):
            above[lane] = one + twice[lane] * upper[lane] - above[lane]
            upper[lane] = other + twice[lane] * above[lane] - upper[lane]
    for lane in range(len(local)):
        values[order[lane]] = polynomial[0] + local[lane] * upper[lane] - above[lane]
