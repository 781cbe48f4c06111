"""The weighted p0 model: what it expects, what it knows, what it draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from p0sim.arrays import (
    FloatMatrix,
    FloatVector,
    IntMatrix,
    fill,
    frozen,
    require_generator,
    require_labels,
    require_n,
    require_q,
    require_real,
    require_vector,
)
from p0sim.errors import InvalidParametersError
from p0sim.model.bidegree import BiDegree
from p0sim.model.edge_sums import edge_variances, log_normalizer_sum, mean_sums, variance_sums
from p0sim.model.fisher import fisher_matrix
from p0sim.model.s_matrix import s_matrix
from p0sim.model.sampling import sample_adjacency, sample_degrees


@dataclass(frozen=True, eq=False, init=False)
class P0Model:
    r"""Independent edges with P(a_ij = a) proportional to exp(a (alpha_i + beta_j)), a in 0..q-1.

    Parameters
    ----------
    alpha, beta : array_like, shape (n,)
        Out and in parameters, log-odds of one more unit of weight; n >= 3 and beta[-1] is 0.
    q : int
        Number of weight levels, at least 2.
    nodes : sequence of str, optional
        Labels, in order; "1".."n" where none are given.

    Raises
    ------
    InvalidParametersError
        If shapes differ, n < 3, q < 2, a value is not finite or beta[-1] is not 0.

    References
    ----------
    .. [1] Wang, Zhang, Luo, Ouyang, Wang, Weighted directed networks with a differentially private
       bi-degree sequence, Comm. Statist. Theory Methods 51(2), 2022: section 2.

    Examples
    --------
    >>> model = P0Model([0.5, 0.0, -0.5], [0.2, -0.2, 0.0], q=3)
    >>> model.sample(rng=np.random.default_rng(1)).shape
    (3, 3)
    """

    alpha: FloatVector
    beta: FloatVector
    q: int
    nodes: tuple[str, ...]

    def __init__(
        self, alpha: ArrayLike, beta: ArrayLike, q: int, nodes: Sequence[str] | None = None
    ) -> None:
        out_parameters = require_vector(alpha, "alpha")
        in_parameters = require_vector(beta, "beta")
        if out_parameters.shape != in_parameters.shape:
            raise InvalidParametersError(
                "alpha and beta must have one length; "
                f"got {len(out_parameters)}, {len(in_parameters)}"
            )
        n = require_n(len(out_parameters))
        if in_parameters[-1] != 0:
            raise InvalidParametersError(f"the last beta must be 0; got {in_parameters[-1]:g}")
        fill(
            self,
            alpha=frozen(out_parameters),
            beta=frozen(in_parameters),
            q=require_q(q),
            nodes=require_labels(nodes, n),
        )

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.alpha)

    @property
    def reference(self) -> int:
        """Position of the node whose beta is 0 by convention: the last one."""
        return self.n - 1

    @property
    def theta(self) -> FloatVector:
        """alpha_1..alpha_n, then beta of all but the reference node; shape (2n - 1,)."""
        last = self.reference
        return np.concatenate([self.alpha, self.beta[:last], self.beta[last + 1 :]])

    def expected_bidegree(self) -> BiDegree:
        """Expected out-degrees and in-degrees, as a BiDegree of floats."""
        rows, columns = mean_sums(self.alpha, self.beta, self.q)
        return BiDegree(rows, columns, self.q, self.nodes)

    def degree_variances(self) -> tuple[FloatVector, FloatVector]:
        """Variances of the out-degrees and of the in-degrees, each of shape (n,)."""
        return variance_sums(self.alpha, self.beta, self.q)

    def fisher_information(self) -> FloatMatrix:
        """V, the covariance matrix of the bi-degree without its last entry; (2n - 1, 2n - 1)."""
        return fisher_matrix(self.arc_variances())

    def arc_variances(self) -> FloatMatrix:
        """Var(a_ij) for every ordered pair, 0 on the diagonal; shape (n, n)."""
        return edge_variances(self.alpha, self.beta, self.q)

    def log_likelihood(self, rows: FloatVector, columns: FloatVector) -> float:
        """Log-probability of a network with these degrees; it depends on nothing else of it."""
        linear = float(rows @ self.alpha + columns @ self.beta)
        return linear - log_normalizer_sum(self.alpha, self.beta, self.q)

    def s_matrix(self) -> FloatMatrix:
        """S, the closed-form approximation of V^-1; shape (2n - 1, 2n - 1)."""
        return s_matrix(*self.degree_variances())

    def sample(self, *, rng: np.random.Generator) -> IntMatrix:
        """One weighted adjacency matrix, shape (n, n), zero diagonal."""
        return sample_adjacency(self.alpha, self.beta, self.q, require_generator(rng))

    def sample_bidegree(self, *, rng: np.random.Generator) -> BiDegree:
        """The bi-degree of the network :meth:`sample` would draw, without keeping the network."""
        degrees = sample_degrees(self.alpha, self.beta, self.q, require_generator(rng))
        return BiDegree(*degrees, self.q, self.nodes)

    def __repr__(self) -> str:
        return f"P0Model(n={self.n}, q={self.q})"


def linear_design(n: int, L: float, q: int) -> P0Model:
    r"""The paper's design: parameters fall linearly from L to 0.

    Parameters
    ----------
    n : int
        Number of nodes, at least 3.
    L : float
        Largest parameter (log-odds); the paper uses 0, log log n, sqrt(log n), log n.
    q : int
        Weights lie in 0..q-1.

    Returns
    -------
    P0Model
        alpha_{i+1} = (n - 1 - i) L/(n - 1) for i = 0..n-1, beta_i = alpha_i for i < n, beta_n = 0.

    Raises
    ------
    InvalidParametersError
        If n < 3, q < 2 or L is not finite.

    References
    ----------
    .. [1] Wang et al. 2022 (see :class:`P0Model`), section 4.

    Examples
    --------
    >>> linear_design(n=5, L=1, q=2).alpha
    array([1.  , 0.75, 0.5 , 0.25, 0.  ])
    """
    n = require_n(n)
    parameters = require_real(L, "L") * np.arange(n - 1, -1, -1) / (n - 1)
    return P0Model(parameters, parameters, q)
