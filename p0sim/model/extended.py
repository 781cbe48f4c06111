r"""p0 models at the boundary: some parameters are infinite, the arcs they rule are fixed.

Such a law is the limit, as t grows, of p0 models with parameters alpha_i + t a_i, beta_j + t b_j.
The rates a and b are whole numbers, 0 where a parameter stays finite. An arc (i, j) ends at weight
q - 1 where a_i + b_j > 0, at 0 where a_i + b_j < 0, and keeps the law of alpha_i + beta_j where
both rates are 0. One infinity may be larger than another: a node whose only partner takes all it
can may itself send nothing else. A sum of two rates that are not 0 is never 0. (Limits along
directions of recession: Geyer, Electron. J. Statist. 3, 2009; their form for this model is derived
here.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from p0sim.arrays import (
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    fill,
    frozen,
    require_generator,
    require_labels,
    require_n,
    require_q,
    require_vector,
)
from p0sim.errors import InvalidParametersError
from p0sim.model.bidegree import BiDegree
from p0sim.model.edge_sums import edge_variances, log_normalizer_sum, mean_sums, variance_sums
from p0sim.model.p0 import P0Model
from p0sim.model.sampling import sample_rows


class Block(NamedTuple):
    """Positions of the nodes that are left as rows and as columns; the first `shared` agree."""

    rows: IntVector
    columns: IntVector
    shared: int


def free_block(alpha_rates: IntVector, beta_rates: IntVector) -> Block:
    """The rows and columns with rate 0, nodes that are both before the others.

    Examples
    --------
    >>> free_block(np.array([0, -1, 0]), np.array([0, 0, 1]))
    Block(rows=array([0, 2]), columns=array([0, 1]), shared=1)
    """
    sends, receives = alpha_rates == 0, beta_rates == 0
    both = np.flatnonzero(sends & receives)
    rows = np.concatenate([both, np.flatnonzero(sends & ~receives)])
    columns = np.concatenate([both, np.flatnonzero(receives & ~sends)])
    return Block(rows, columns, len(both))


def full_arcs(alpha_rates: IntVector, beta_rates: IntVector) -> tuple[IntVector, IntVector]:
    """Arcs of each row, and of each column, that are fixed at weight q - 1; O(n log n).

    Examples
    --------
    >>> full_arcs(np.array([0, -1, 0]), np.array([0, 0, 2]))
    (array([1, 1, 0]), array([0, 0, 2]))
    """
    own = alpha_rates + beta_rates > 0
    return _above(alpha_rates, beta_rates) - own, _above(beta_rates, alpha_rates) - own


def _above(rates: IntVector, others: IntVector) -> IntVector:
    """How many of the other side's rates, added to each rate, are positive."""
    counts: IntVector = len(others) - np.searchsorted(np.sort(others), -rates, side="right")
    return counts


@dataclass(frozen=True, eq=False, init=False)
class ExtendedP0Model(P0Model):
    r"""A p0 model with infinite parameters, the limit of ordinary ones.

    Parameters
    ----------
    alpha, beta : array_like, shape (n,)
        Finite where their rate is 0; what stands elsewhere is replaced by -inf or inf. The last
        finite beta is 0.
    q : int
        Weights lie in 0..q-1.
    alpha_rates, beta_rates : array_like of int, shape (n,)
        Rates of the limit at the top of this module.
    nodes : sequence of str, optional
        Labels, in order.

    Raises
    ------
    InvalidParametersError
        If shapes differ, no alpha or no beta is finite, a finite one is nan, or the last finite
        beta is not 0.

    Notes
    -----
    The gauge: adding a constant to every alpha and taking it from every beta changes nothing, so
    the last finite beta is 0 by convention; in an ordinary model that is the last node's.

    Examples
    --------
    >>> model = ExtendedP0Model([0.0, -np.inf, 0.5], [0.2, 0.1, 0.0], 3, [0, -1, 0], [0, 0, 0])
    >>> model.expected_bidegree().out_degree.round(3)
    array([2.067, 0.   , 2.81 ])
    """

    alpha_rates: IntVector
    beta_rates: IntVector

    def __init__(
        self,
        alpha: ArrayLike,
        beta: ArrayLike,
        q: int,
        alpha_rates: ArrayLike,
        beta_rates: ArrayLike,
        nodes: Sequence[str] | None = None,
    ) -> None:
        rates = np.asarray(alpha_rates, np.int64), np.asarray(beta_rates, np.int64)
        out_parameters = _with_infinities(alpha, rates[0], "alpha")
        in_parameters = _with_infinities(beta, rates[1], "beta")
        if out_parameters.shape != in_parameters.shape:
            raise InvalidParametersError(
                "alpha and beta must have one length; "
                f"got {len(out_parameters)}, {len(in_parameters)}"
            )
        n = require_n(len(out_parameters))
        fill(
            self,
            alpha=frozen(out_parameters),
            beta=frozen(in_parameters),
            q=require_q(q),
            nodes=require_labels(nodes, n),
            alpha_rates=frozen(rates[0]),
            beta_rates=frozen(rates[1]),
        )
        if self.beta[self.reference] != 0:
            raise InvalidParametersError(
                f"the last finite beta must be 0; got {self.beta[self.reference]:g}"
            )

    @property
    def reference(self) -> int:
        """Position of the node whose beta is 0 by convention: the last finite one."""
        return int(np.flatnonzero(self.beta_rates == 0)[-1])

    @property
    def block(self) -> Block:
        """Rows and columns whose parameters are finite."""
        return free_block(self.alpha_rates, self.beta_rates)

    def expected_bidegree(self) -> BiDegree:
        """Expected out-degrees and in-degrees; fixed arcs count 0 or q - 1."""
        full = full_arcs(self.alpha_rates, self.beta_rates)
        rows, columns = (side * (self.q - 1.0) for side in full)
        free = self._block_sums(mean_sums)
        return BiDegree(rows + free[0], columns + free[1], self.q, self.nodes)

    def degree_variances(self) -> tuple[FloatVector, FloatVector]:
        """Variances of the out-degrees and of the in-degrees; fixed arcs have none."""
        return self._block_sums(variance_sums)

    def arc_variances(self) -> FloatMatrix:
        """Var(a_ij) for every ordered pair, 0 on the diagonal and for fixed arcs; (n, n)."""
        variances = edge_variances(*self._stand_ins(), self.q)
        variances[self.alpha_rates != 0] = 0.0
        variances[:, self.beta_rates != 0] = 0.0
        return variances

    def log_likelihood(self, rows: FloatVector, columns: FloatVector) -> float:
        """Log-probability of a network with these degrees, its fixed arcs being what they must."""
        free, full = self.block, full_arcs(self.alpha_rates, self.beta_rates)
        sums = rows - (self.q - 1) * full[0], columns - (self.q - 1) * full[1]
        alpha, beta = self.alpha[free.rows], self.beta[free.columns]
        linear = float(sums[0][free.rows] @ alpha + sums[1][free.columns] @ beta)
        return linear - log_normalizer_sum(alpha, beta, self.q, free.shared)

    def s_matrix(self) -> FloatMatrix:
        """Refused: V is singular along parameters that are infinite."""
        raise InvalidParametersError(f"s_matrix needs finite parameters; got {self!r}")

    def sample(self, *, rng: np.random.Generator) -> IntMatrix:
        """One weighted adjacency matrix, shape (n, n), zero diagonal."""
        adjacency = np.empty((self.n, self.n), dtype=np.int64)
        for rows, weights in self._rows(rng):
            adjacency[rows] = weights
        return adjacency

    def sample_bidegree(self, *, rng: np.random.Generator) -> BiDegree:
        """The bi-degree of the network :meth:`sample` would draw, without keeping the network."""
        out_degree, in_degree = np.zeros((2, self.n), dtype=np.int64)
        for rows, weights in self._rows(rng):
            out_degree[rows] = weights.sum(axis=1)
            in_degree += weights.sum(axis=0)
        return BiDegree(out_degree, in_degree, self.q, self.nodes)

    def _rows(self, rng: np.random.Generator):  # type: ignore[no-untyped-def]
        """Blocks of rows: all arcs are drawn at stand-ins, then the fixed ones are put right."""
        for rows, weights in sample_rows(*self._stand_ins(), self.q, require_generator(rng)):
            pull = self.alpha_rates[rows, None] + self.beta_rates
            weights[pull < 0] = 0
            weights[pull > 0] = self.q - 1
            np.fill_diagonal(weights[:, rows], 0)
            yield rows, weights

    def _stand_ins(self) -> tuple[FloatVector, FloatVector]:
        """Finite parameters for all nodes: the smallest ones, which draw the fewest arcs."""
        alpha, beta = (
            np.where(np.isfinite(side), side, side[np.isfinite(side)].min())
            for side in (self.alpha, self.beta)
        )
        return alpha, beta

    def _block_sums(self, sums) -> tuple[FloatVector, FloatVector]:  # type: ignore[no-untyped-def]
        rows, columns, shared = self.block
        whole = np.zeros(self.n), np.zeros(self.n)
        parts = sums(self.alpha[rows], self.beta[columns], self.q, shared)
        whole[0][rows], whole[1][columns] = parts
        return whole

    def __repr__(self) -> str:
        forced = np.count_nonzero(self.alpha_rates) + np.count_nonzero(self.beta_rates)
        return f"ExtendedP0Model(n={self.n}, q={self.q}, infinite={forced})"


def _with_infinities(values: ArrayLike, rates: NDArray[np.int64], name: str) -> FloatVector:
    given = np.array(values, dtype=np.float64)
    if given.shape != rates.shape or rates.all():
        raise InvalidParametersError(f"{name} must have a rate for each node, and one of them 0")
    given[rates != 0] = 0.0
    given = np.array(require_vector(given, name))
    given[rates != 0] = np.copysign(np.inf, rates[rates != 0])
    return given
