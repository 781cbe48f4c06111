"""Chebyshev coefficients of what is summed over pairs, as functions of two arguments, compiled.

For mu, mu', (mu - (q-1)/2)^2 and the log normaliser: f(a + b) is interpolated at the zeros of T_N
in both arguments, box by box of a :class:`p0sim.model.chebyshev.Layout`. As both sides of a box are
equally wide, values and coefficients are symmetric. N is decided by the coefficients' decay, not by
the bound that proposes it. Derived here; all arrays are float64 and C-contiguous.
"""

from __future__ import annotations

from math import cos, pi

import numpy as np

from p0sim.arrays import FloatMatrix, FloatVector
from p0sim.model.chebyshev import EPS, Layout
from p0sim.model.edge_kernels import (
    edge_centred_square,
    edge_log_normalizer,
    edge_moments,
    kernel,
)

# numpy integers: functions are compiled anew for every Python constant they are called with
MOMENTS, LOG_NORMALIZER, CENTRED_SQUARE = np.int64(0), np.int64(1), np.int64(2)
# the largest coefficient left out, relative to the largest one
TAIL = 2 * EPS
MOST_TERMS = 96


@kernel
def expand(layout: Layout, terms: int, q: int, what: np.int64) -> tuple[FloatMatrix, FloatMatrix]:
    """Coefficients of two functions of x, each (P + R - 1, N, N) by p + r.

    N starts from the poles, grows until the last coefficients are down to rounding, and is cut
    back to those above it. N = 0: no such N was found, sum plainly.
    """
    boxes = layout.alpha_pieces + layout.beta_pieces - 1
    while 0 < terms <= MOST_TERMS:
        first, second = np.empty((boxes, terms, terms)), np.empty((boxes, terms, terms))
        nodes, transform = _nodes_and_transform(terms)
        work = np.empty((terms, terms))
        for box in range(boxes):
            centre = layout.low_alpha + layout.low_beta + (box + 1) * layout.width
            _fill(first[box], second[box], centre, 0.5 * layout.width * nodes, q, what)
            _transform(first[box], transform, work)
            _transform(second[box], transform, work)
        needed = max(_needed_terms(first), _needed_terms(second))
        if needed < terms:
            return _cut(first, needed + needed % 2), _cut(second, needed + needed % 2)
        terms += 8
    return np.empty((0, 0, 0)), np.empty((0, 0, 0))


@kernel
def _fill(
    first: FloatMatrix,
    second: FloatMatrix,
    centre: float,
    nodes: FloatVector,
    q: int,
    what: np.int64,
) -> None:
    """Values of both functions at the pairs of nodes of one box."""
    for j in range(len(nodes)):
        for k in range(j + 1):
            x = centre + nodes[j] + nodes[k]
            if what == LOG_NORMALIZER:
                value, other = edge_log_normalizer(x, q), 0.0
            elif what == CENTRED_SQUARE:
                value, other = edge_centred_square(x, q), 0.0
            else:
                value, other = edge_moments(x, q)
            first[j, k] = first[k, j] = value
            second[j, k] = second[k, j] = other


@kernel
def _transform(square: FloatMatrix, transform: FloatMatrix, work: FloatMatrix) -> None:
    """G F G' in place of the symmetric F, N a multiple of 4: F -> (G F)' twice.

    T_k is even or odd and nodes come in pairs -u, u, so sums of two rows serve the even k and
    differences the odd k, which halves the work.
    """
    last = len(square) - 1
    for _ in range(2):
        for j in range(len(square) // 2):
            for i in range(len(square)):
                one, other = square[j, i], square[last - j, i]
                square[j, i], square[last - j, i] = one + other, one - other
        for k in range(len(square)):
            _add_rows(square, transform, k, work[k])
        for k in range(len(square)):
            for i in range(len(square)):
                square[i, k] = work[k, i]


@kernel
def _add_rows(square: FloatMatrix, transform: FloatMatrix, k: int, total: FloatVector) -> None:
    """Row k of G F from the sums (k even) or differences of F's rows, two at a time."""
    last = len(square) - 1
    total[:] = 0.0
    for j in range(0, len(square) // 2, 2):
        one = square[last - j if k % 2 else j]
        other = square[last - j - 1 if k % 2 else j + 1]
        for i in range(len(square)):
            total[i] += transform[k, j] * one[i] + transform[k, j + 1] * other[i]


@kernel
def _cut(coefficients: FloatMatrix, terms: int) -> FloatMatrix:
    kept = np.empty((len(coefficients), terms, terms))
    for box in range(len(coefficients)):
        for j in range(terms):
            for k in range(terms):
                kept[box, j, k] = coefficients[box, j, k]
    return kept


@kernel
def _nodes_and_transform(terms: int) -> tuple[FloatVector, FloatMatrix]:
    """Zeros of T_N, and the matrix from values there to Chebyshev coefficients."""
    cosines = np.empty(4 * terms)
    for m in range(4 * terms):
        cosines[m] = cos(0.5 * pi * m / terms)
    transform = np.empty((terms, terms))
    for k in range(terms):
        scale, angle = (2.0 if k else 1.0) / terms, k
        for j in range(terms):
            transform[k, j] = scale * cosines[angle]
            angle += 2 * k if angle + 2 * k < 4 * terms else 2 * k - 4 * terms
    nodes = np.empty(terms)
    for j in range(terms):
        nodes[j] = cosines[2 * j + 1]
    return nodes, transform


@kernel
def _needed_terms(coefficients: FloatMatrix) -> int:
    """The smallest N that leaves out nothing above TAIL times the largest of a box; at least 2."""
    needed = 2
    for box in range(len(coefficients)):
        square, largest = coefficients[box], 0.0
        for j in range(len(square)):
            largest = max(largest, _largest_of(square, j))
        last = len(square)
        while last > needed and _largest_of(square, last - 1) <= TAIL * largest:
            last -= 1
        needed = last
    return needed


@kernel
def _largest_of(square: FloatMatrix, j: int) -> float:
    """Size of the largest coefficient C_jk, k <= j; C is symmetric."""
    largest = 0.0
    for k in range(j + 1):
        largest = max(largest, abs(square[j, k]))
    return largest
