"""Scores from node vectors: Hadamard products and a logistic regression on pairs of nodes.

Vectors are computed by Node2Vec or read from a file, which is how those of Struct2Vec, PRUNE and
LINE come in: they are not computed here. No bound on what one edge changes is known for any, and
vectors contain the graph: nothing that is ranked by them is private.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from p0sim.arrays import FloatMatrix, FloatVector, IntVector, frozen, require_generator
from p0sim.errors import InvalidNetworkError, InvalidParametersError
from p0sim.linkpred.graphs import Graph
from p0sim.linkpred.random_walks import biased_walks
from p0sim.linkpred.scores import Protocol

DIMENSION = 5
# what one imports, by what one installs
MODULES = {"scikit-learn": "sklearn", "gensim": "gensim"}


@dataclass(frozen=True, eq=False)
class PairModel:
    """Chance that two nodes are joined, from the product of their vectors entry by entry.

    Called with a graph and queries it gives their scores, so that it is the function of a protocol.
    """

    vectors: FloatMatrix
    coefficients: FloatVector
    intercept: float

    def __call__(self, graph: Graph, queries: IntVector) -> FloatMatrix:
        """Chances of all nodes for some queries, shape (len(queries), n)."""
        _require_shape(self.vectors, graph)
        log_odds = (self.vectors[queries] * self.coefficients) @ self.vectors.T + self.intercept
        # the same as 1 / (1 + exp(-x)), and never too large for a float
        chances: FloatMatrix = 0.5 * (1 + np.tanh(log_odds / 2))
        return chances


def embedding_protocol(
    vectors: ArrayLike, graph: Graph, *, rng: np.random.Generator, name: str = "embedding"
) -> Protocol:
    """A score from node vectors, trained on the pairs of a graph.

    The regression learns to tell the edges of the graph from as many pairs that are none, drawn
    uniformly; a pair's features are the products of its two vectors, entry by entry. It sees the
    graph given and nothing else: where edges are held out, give the training graph.

    Parameters
    ----------
    vectors : array_like, shape (n, d)
        A vector for each node, in the order of the graph.
    graph : Graph
        With at least one edge and one pair that is none.
    rng : numpy.random.Generator
        Draws the pairs and the seed of the regression.
    name : str
        What the protocol is called.

    Returns
    -------
    Protocol
        For :func:`p0sim.linkpred.scores.score`. Its sensitivity is None: none is proved, and an
        epsilon cannot be stated. What it protects: nothing. The vectors, and so every list made
        from them, may show any edge of the graph.

    Raises
    ------
    InvalidParametersError
        If the vectors are not finite or not one for each node, or scikit-learn is not installed.
    InvalidNetworkError
        If the graph has no edge, or no pair without one.

    Examples
    --------
    >>> graph = Graph([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> sides = [[1.0], [1.0], [-1.0], [-1.0]]
    >>> rng = np.random.default_rng(1)
    >>> chances = embedding_protocol(sides, graph, rng=rng).function(graph, np.array([0]))
    >>> bool(chances[0, 1] > 0.5 > chances[0, 2])
    True
    """
    require_generator(rng)
    known = np.asarray(vectors, dtype=np.float64)
    _require_shape(known, graph)
    ends, joined = _training_pairs(graph, rng)
    features = known[ends[0]] * known[ends[1]]
    fitted = _logistic_regression(rng).fit(features, joined)
    model = PairModel(frozen(known), frozen(fitted.coef_[0]), float(fitted.intercept_[0]))
    return Protocol(name, model)


def node2vec(
    graph: Graph,
    dimension: int = DIMENSION,
    *,
    walks: int = 10,
    length: int = 80,
    p: float = 1.0,
    q: float = 1.0,
    window: int = 10,
    epochs: int = 1,
    rng: np.random.Generator,
) -> FloatMatrix:
    """Node vectors by Node2Vec: random walks, read as sentences by Word2Vec (skip-gram).

    One thread, so that one generator gives one set of vectors. The vectors use the graph given
    and nothing else; they contain its edges, and no sensitivity is known.

    Parameters
    ----------
    graph : Graph
    dimension : int
        Length of a vector.
    walks, length, p, q
        As for :func:`p0sim.linkpred.random_walks.biased_walks`.
    window : int
        How far apart two nodes of a walk may be and still count as near.
    epochs : int
        Passes over the walks.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n, dimension)

    Raises
    ------
    InvalidParametersError
        If a number is not positive, or gensim is not installed.

    References
    ----------
    .. [1] Grover, A. and Leskovec, J., node2vec: Scalable feature learning for networks, KDD 2016.
    """
    for name, value in (("dimension", dimension), ("window", window), ("epochs", epochs)):
        if value < 1:
            raise InvalidParametersError(f"{name} must be at least 1; got {value}")
    word2vec = _word2vec()
    walked = biased_walks(graph, walks, length, p, q, rng=rng)
    rng.shuffle(walked)
    trained = word2vec(
        [[str(k) for k in walk if k >= 0] for walk in walked],
        vector_size=dimension, window=window, epochs=epochs, min_count=0, sg=1, workers=1,
        seed=_seed(rng),
    )  # fmt: skip
    return np.array([trained.wv[str(k)] for k in range(graph.n)], dtype=np.float64)


def _require_shape(vectors: FloatMatrix, graph: Graph) -> None:
    if vectors.ndim != 2 or len(vectors) != graph.n or not vectors.shape[1]:
        raise InvalidParametersError(
            f"vectors must have shape (n, d) with n = {graph.n}; got {vectors.shape}"
        )
    if not np.isfinite(vectors).all():
        raise InvalidParametersError("vectors must be finite; got nan or inf")


def _training_pairs(graph: Graph, rng: np.random.Generator) -> tuple[IntVector, IntVector]:
    """Ends of all edges and of as many other pairs, shape (2, m), and which are edges."""
    edges = np.array(graph.adjacency.nonzero(), dtype=np.int64)
    edges = edges[:, edges[0] < edges[1]]
    n_free = graph.n * (graph.n - 1) // 2 - graph.n_edges
    if not graph.n_edges or not n_free:
        raise InvalidNetworkError("graph must have an edge and a pair without one; got all or none")
    free = _free_pairs(graph, graph.n_edges, rng)
    joined = np.repeat([1, 0], graph.n_edges)
    return np.hstack([edges, free]), joined


def _free_pairs(graph: Graph, n_pairs: int, rng: np.random.Generator) -> IntVector:
    """Pairs of different nodes that are not joined, uniformly and with replacement.

    The r-th free node of u is r plus the number of nodes before it that are not free; these are the
    k-th ones b_k with b_k - k <= r.
    """
    n_free = graph.n - 1 - graph.degree
    u = rng.choice(graph.n, n_pairs, p=n_free / n_free.sum())
    r = rng.integers(n_free[u])
    rows, taken = (graph.adjacency + sparse.eye_array(graph.n, format="csr")).nonzero()
    start = np.searchsorted(rows, np.arange(graph.n))
    keys = rows * graph.n + taken - (np.arange(len(rows)) - start[rows])
    v = r + np.searchsorted(keys, u * graph.n + r, side="right") - start[u]
    return np.array([u, v], dtype=np.int64)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31 - 1))


def _logistic_regression(rng: np.random.Generator) -> Any:
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise _not_installed("a score from vectors", "scikit-learn") from None
    return LogisticRegression(solver="liblinear", random_state=_seed(rng))


def _word2vec() -> Any:
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise _not_installed("Node2Vec", "gensim") from None
    return Word2Vec


def require_installed(what: str, package: str) -> None:
    """Refuse what needs a package that is not there.

    Raises
    ------
    InvalidParametersError
        With the command that installs it.
    """
    if find_spec(MODULES[package]) is None:
        raise _not_installed(what, package)


def _not_installed(what: str, package: str) -> InvalidParametersError:
    return InvalidParametersError(
        f"{what} needs {package}, which is not installed: pip install 'p0sim[embeddings]'"
    )
