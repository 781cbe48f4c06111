"""Scores of walks between two nodes. No bound on what one edge changes is proved for them."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh, splu

from p0sim.arrays import FloatMatrix, IntVector, require_real
from p0sim.errors import InvalidParametersError
from p0sim.linkpred.graphs import Graph


def superposed_random_walk(graph: Graph, queries: IntVector, length: int = 3) -> FloatMatrix:
    r"""Superposed (cumulative) random walk.

    s(u, v) = sum over t = 1..length of q_u pi_uv(t) + q_v pi_vu(t), with q_u = deg u / (2E), E the
    number of edges and pi_uv(t) the chance that a simple random walk from u is at v after t steps
    [1]_. On an undirected graph deg u pi_uv(t) = deg v pi_vu(t), so both terms are equal and
    s(u, v) = (deg u / E) sum over t of pi_uv(t). 0 from an isolated node.

    The study of De and Chakrabarti cites Lu, Jin and Zhou [2]_ for this score, who define sums of
    walks by length, A^2 + eps A^3 + ..; their sum over all lengths is :func:`katz`, less the first
    two terms, over eps^2.

    No bound on what one edge changes is proved here: whoever ranks by it privately declares one.

    Parameters
    ----------
    graph : Graph
    queries : ndarray of int, shape (m,)
    length : int
        Longest walk, at least 1.

    Returns
    -------
    ndarray, shape (m, n)

    Raises
    ------
    InvalidParametersError
        If the length is below 1.

    References
    ----------
    .. [1] Liu, W. and Lu, L., Link prediction based on local random walk, Europhysics Letters 89,
       2010, 58007.
    .. [2] Lu, L., Jin, C.-H. and Zhou, T., Similarity index based on local paths for link
       prediction of complex networks, Physical Review E 80, 2009, 046122.

    Examples
    --------
    >>> superposed_random_walk(Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), np.array([0]), length=2)
    array([[0.25, 0.5 , 0.25]])
    """
    steps = _require_length(length)
    step = _transitions(graph).T.tocsr()
    here = np.zeros((graph.n, len(queries)))
    here[queries, np.arange(len(queries))] = 1
    visits = np.zeros_like(here)
    for _ in range(steps):
        here = step @ here
        visits += here
    return (visits * (graph.degree[queries] / max(1, graph.n_edges))).T


def katz(graph: Graph, queries: IntVector, beta: float = 0.01) -> FloatMatrix:
    """Walks of all lengths, (I - beta A)^-1 = I + beta A + beta^2 A^2 + ...

    No bound on what one edge changes is proved here: whoever ranks by it privately declares one.

    Parameters
    ----------
    graph : Graph
    queries : ndarray of int, shape (m,)
    beta : float
        Weight of a step; 0.01 is what the study of De and Chakrabarti computed. Below one over
        the largest eigenvalue of A: from there on the inverse is no sum over walks and has
        negative entries.

    Returns
    -------
    ndarray, shape (m, n)

    Raises
    ------
    InvalidParametersError
        If beta is not positive or too large for this graph; the largest that is allowed is told.

    Notes
    -----
    I - beta A has no positive entry off its diagonal, so its inverse is the sum, and has no
    negative entry, exactly when some x >= 0 has a positive image; the image of ones is tried.

    References
    ----------
    .. [1] Katz, L., A new status index derived from sociometric analysis, Psychometrika 18, 1953,
       39-43.

    Examples
    --------
    >>> katz(Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), np.array([0]), beta=0.5)
    array([[1.5, 1. , 0.5]])
    """
    weight = require_real(beta, "beta")
    if weight <= 0:
        raise InvalidParametersError(f"beta must be positive; got {beta}")
    matrix = sparse.eye_array(graph.n) - weight * graph.adjacency.astype(np.float64)
    units = np.zeros((graph.n, len(queries)))
    units[queries, np.arange(len(queries))] = 1
    try:
        factors = splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    except RuntimeError:
        raise _too_large(graph, beta) from None
    if factors.solve(np.ones(graph.n)).min() <= 0:
        raise _too_large(graph, beta)
    return np.maximum(factors.solve(units), 0).T


def _too_large(graph: Graph, beta: float) -> InvalidParametersError:
    return InvalidParametersError(
        f"beta must be below {1 / _largest_eigenvalue(graph):.6g}, one over the largest eigenvalue "
        f"of the adjacency matrix, or walks do not sum; got {beta}"
    )


def _largest_eigenvalue(graph: Graph) -> float:
    adjacency = graph.adjacency.astype(np.float64)
    if graph.n < 3:
        return float(np.linalg.eigvalsh(adjacency.toarray())[-1])
    # a start of its own, so that the same words are said every time
    start = np.arange(1.0, graph.n + 1)
    return float(eigsh(adjacency, k=1, which="LA", v0=start, return_eigenvectors=False)[0])


def _transitions(graph: Graph) -> sparse.csr_array:
    """Chances of one step of a simple random walk; none from an isolated node."""
    share = 1 / np.maximum(graph.degree, 1)
    return sparse.csr_array(sparse.diags_array(share) @ graph.adjacency)


def _require_length(length: int) -> int:
    if isinstance(length, bool) or not isinstance(length, Integral):
        raise TypeError(f"length must be a whole number; got {length!r}")
    if length < 1:
        raise InvalidParametersError(f"length must be at least 1; got {length}")
    return int(length)
