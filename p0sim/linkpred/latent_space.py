r"""Graphs of points that are joined where they are close, and what a list loses against distance.

Points are uniform in a D-dimensional ball of unit volume, two are joined where they are less than r
apart [1]_. A perfect list has the candidates by distance.

.. [1] De and Chakrabarti, Differentially private link prediction with protected connections,
   arXiv 1908.04849v1, Section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, lgamma, log, pi

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from p0sim.arrays import FloatMatrix, FloatVector, require_generator, require_n, require_real
from p0sim.errors import InvalidParametersError
from p0sim.linkpred.graphs import Graph

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LatentGraph:
    """Points, and the graph that they make.

    Attributes
    ----------
    points : ndarray, shape (n, D)
    graph : Graph
    """

    points: FloatMatrix
    graph: Graph

    def distances(self, u: int, others: ArrayLike) -> FloatVector:
        """Distances from node u to other nodes."""
        found: FloatVector = np.linalg.norm(
            self.points[np.asarray(others)] - self.points[u], axis=1
        )
        return found


def ball_volume(radius: float, dimension: int) -> float:
    """Volume of a ball, Omega(r).

    Examples
    --------
    >>> round(ball_volume(1.0, 2), 4), round(ball_volume(1.0, 3), 4)
    (3.1416, 4.1888)
    """
    half = _require_dimension(dimension) / 2
    return exp(half * log(pi) - lgamma(half + 1)) * radius**dimension


def draw_latent_graph(
    n: int, radius: float, dimension: int = 2, *, rng: np.random.Generator
) -> LatentGraph:
    """Draw points and join those that are close.

    Parameters
    ----------
    n : int
        Number of points, at least 2.
    radius : float
        Positive; pairs closer than that are joined.
    dimension : int
        At least 1.
    rng : numpy.random.Generator

    Returns
    -------
    LatentGraph

    Raises
    ------
    InvalidParametersError
        If a number is out of its range.

    Notes
    -----
    A point has the direction of a normal vector and the distance R U^(1/D) from the centre, R the
    radius of the unit-volume ball: the share of volume within t of the centre is (t/R)^D.

    Examples
    --------
    >>> draw_latent_graph(50, 2.0, rng=np.random.default_rng(1)).graph
    Graph(n=50, edges=1225)
    """
    size, dimension = require_n(n), _require_dimension(dimension)
    if not 0 < require_real(radius, "radius") < inf:
        raise InvalidParametersError(f"radius must be positive; got {radius}")
    points = _points(size, dimension, require_generator(rng))
    pairs = cKDTree(points).query_pairs(np.nextafter(radius, 0), output_type="ndarray")
    ends = np.concatenate([pairs, pairs[:, ::-1]]).T
    ones = np.ones(ends.shape[1], dtype=np.int8)
    adjacency = sparse.coo_array((ones, (ends[0], ends[1])), shape=(size, size))
    return LatentGraph(points, Graph(adjacency.tocsr()))


def ranking_loss(distances: ArrayLike) -> FloatArray:
    """How far an ordered list is from an order by distance.

    (1/(2k)) times the sum over i < j of max(d_i - d_j, 0). The text at hand has lost the summand;
    this one is what its proofs use.

    Parameters
    ----------
    distances : array_like, shape (..., k)
        From the query to the nodes of the list, in its order.

    Returns
    -------
    ndarray, shape (...)
        0 where a list is in order of distance, whoever stands in it.

    Examples
    --------
    >>> ranking_loss([3.0, 1.0, 2.0])
    np.float64(0.5)
    """
    d = np.asarray(distances, dtype=np.float64)
    k = d.shape[-1]
    earlier, later = np.triu_indices(k, 1)
    falls = np.maximum(d[..., earlier] - d[..., later], 0)
    loss: FloatArray = falls.sum(axis=-1) / (2 * k)
    return loss


def loss_bound(distances: ArrayLike, nearest: ArrayLike) -> FloatArray:
    """Bound on :func:`ranking_loss`: (k-1)/(2k) times the sum of abs(d_i - d*_i).

    Proposition 4 of [1]_, which needs the absolute values: a perfect list in reverse order has a
    sum of differences of 0 and a positive loss. Derived here: d*_i <= d*_j for i < j, so
    d_i - d_j <= (d_i - d*_i) - (d_j - d*_j) <= abs(d_i - d*_i) + abs(d_j - d*_j), and every place
    is in k - 1 pairs.

    Parameters
    ----------
    distances : array_like, shape (..., k)
        As for :func:`ranking_loss`.
    nearest : array_like, shape (k,)
        Distances d*_i of the k nearest candidates, in order.

    References
    ----------
    .. [1] De and Chakrabarti, arXiv 1908.04849v1, Section 4.

    Examples
    --------
    >>> loss_bound([0.3, 0.1, 0.2], [0.1, 0.2, 0.3]).round(4)
    np.float64(0.1333)
    """
    d, best = np.asarray(distances, dtype=np.float64), np.asarray(nearest, dtype=np.float64)
    k = d.shape[-1]
    bound: FloatArray = (k - 1) / (2 * k) * np.abs(d - best).sum(axis=-1)
    return bound


def score_gap(scores: ArrayLike, lists: ArrayLike) -> FloatArray:
    """Gamma of a list: sum over its places of s(true i-th) - s(drawn i-th).

    Parameters
    ----------
    scores : array_like, shape (m,)
        Of the candidates.
    lists : array_like of int, shape (..., k)
        Positions in `scores`.

    Returns
    -------
    ndarray, shape (...)
        Never negative; 0 where a list holds the k best scores.

    Examples
    --------
    >>> score_gap([3.0, 1.0, 2.0], [[0, 2], [1, 2]])
    array([0., 2.])
    """
    values, drawn = np.asarray(scores, dtype=np.float64), np.asarray(lists)
    best = np.sort(values)[::-1][: drawn.shape[-1]]
    gap: FloatArray = (best - values[drawn]).sum(axis=-1)
    return gap


def _points(n: int, dimension: int, rng: np.random.Generator) -> FloatMatrix:
    directions = rng.standard_normal((n, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    largest = ball_volume(1.0, dimension) ** (-1 / dimension)
    points: FloatMatrix = largest * rng.random((n, 1)) ** (1 / dimension) * directions
    return points


def _require_dimension(dimension: int) -> int:
    if isinstance(dimension, bool) or not isinstance(dimension, int):
        raise TypeError(f"dimension must be a whole number; got {dimension!r}")
    if dimension < 1:
        raise InvalidParametersError(f"dimension must be at least 1; got {dimension}")
    return dimension
