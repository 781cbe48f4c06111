"""Degrees of a network whose edges were flipped: what they are, and a seeded simulation of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from p0sim.arrays import FloatVector, IntMatrix, IntVector, fill, require_generator
from p0sim.errors import InvalidNetworkError
from p0sim.model.bidegree import BiDegree
from p0sim.model.dense import Weights, add_sums, row_bands
from p0sim.model.edge_kernels import kernel
from p0sim.model.networks import Network, as_network
from p0sim.model.raw_words import WordVector, raw_words
from p0sim.privacy.edge_flip_law import keep_probability, replace_probability
from p0sim.privacy.noisy_bidegree import require_epsilon

EDGE_FLIP = "edge_flip"


@dataclass(frozen=True, eq=False, init=False)
class FlippedBiDegree:
    """Out-degrees and in-degrees of a network after randomised response on every ordered pair.

    Parameters
    ----------
    out_degree, in_degree : array_like of int, shape (n,)
        Row and column sums of the flipped network: in 0..(n-1)(q-1), with one total.
    q : int
        Weights of the network lie in 0..q-1.
    epsilon : float
        Privacy loss for one edge's weight; positive and finite.
    nodes : sequence of str, optional
        Labels, in order.
    simulated : bool
        Whether seeded flips are known to be all that hides the network.

    Raises
    ------
    InvalidNetworkError, InvalidPrivacyError
        If an argument breaks these rules.

    Notes
    -----
    Neighbours are two networks on the same nodes that differ in the weight of one ordered pair,
    from any to any of 0..q-1. Each pair's flipped weight is epsilon-private by itself
    (:mod:`p0sim.privacy.edge_flip_law`), so the whole flipped network is, and these sums of it are.
    Protected is the weight of one edge, not a node with all its edges; n, the node list, q and
    epsilon are public.
    """

    out_degree: IntVector
    in_degree: IntVector
    q: int
    epsilon: float
    nodes: tuple[str, ...]
    simulated: bool

    mechanism = EDGE_FLIP
    is_release = False

    def __init__(
        self,
        out_degree: ArrayLike,
        in_degree: ArrayLike,
        q: int,
        epsilon: float,
        nodes: Sequence[str] | None = None,
        simulated: bool = False,
    ) -> None:
        sums = BiDegree(out_degree, in_degree, q, nodes)
        _require_network_sums(sums)
        fill(
            self,
            out_degree=sums.out_degree,
            in_degree=sums.in_degree,
            q=sums.q,
            epsilon=require_epsilon(epsilon),
            nodes=sums.nodes,
            simulated=simulated,
        )

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.out_degree)

    @cached_property
    def keep_probability(self) -> float:
        """rho, the chance that a pair kept its own weight."""
        return keep_probability(self.epsilon, self.q)

    def unbiased_margins(self) -> tuple[FloatVector, FloatVector]:
        """Degrees whose expectation is that of the network's own: (Y - (n-1)(1-rho)(q-1)/2)/rho.

        Returns
        -------
        rows, columns : ndarray, shape (n,)
            In weight units; they may be negative or above (n-1)(q-1). Given the network, each sum
            over m pairs has the variance
            m (1-rho)(q^2-1)/(12 rho^2) + (1-rho)/rho sum (a - (q-1)/2)^2.

        Examples
        --------
        >>> y = FlippedBiDegree([3, 1, 2], [2, 2, 2], q=3, epsilon=2)
        >>> y.unbiased_margins()[0].round(3)
        array([3.47, 0.53, 2.  ])
        """
        replaced = replace_probability(self.epsilon, self.q)
        shift = (self.n - 1) * (self.q - 1) * replaced / 2
        both = np.array([self.out_degree, self.in_degree], dtype=np.float64)
        rows, columns = (both - shift) / self.keep_probability
        return rows, columns

    def __repr__(self) -> str:
        made = "a simulation, not a private release" if self.simulated else "no record of a release"
        return f"FlippedBiDegree(n={self.n}, q={self.q}, epsilon={self.epsilon:g}; {made})"


def simulate_edge_flip(
    network: Any, epsilon: float, q: int | None = None, *, rng: np.random.Generator
) -> FlippedBiDegree:
    """Degrees as randomised response on every ordered pair would make them, seeded.

    Parameters
    ----------
    network : Network, array_like, sparse matrix, DataFrame or networkx.DiGraph
        As for :func:`p0sim.as_network`; degrees alone will not do, as it is edges that are
        flipped.
    epsilon : float
        Privacy loss, positive and finite: what the mechanism would cost one edge's weight.
    q : int, optional
        Weights lie in 0..q-1; may be left out for a Network, which knows it.
    rng : numpy.random.Generator

    Returns
    -------
    FlippedBiDegree
        `is_release` is False: whoever knows the seed can undo the flips, so this protects nobody.

    Raises
    ------
    TypeError
        If `network` is no network, or q is missing.
    InvalidNetworkError, InvalidPrivacyError
        If the network or epsilon breaks a rule.

    Notes
    -----
    O(n^2) time, a few nanoseconds a pair, and some MB of memory, however many nodes there are.
    Neighbours and what is protected: see :class:`FlippedBiDegree`.

    Examples
    --------
    >>> net = Network([[0, 1, 2], [1, 0, 0], [0, 2, 0]], q=3)
    >>> simulate_edge_flip(net, epsilon=2, rng=np.random.default_rng(1))
    FlippedBiDegree(n=3, q=3, epsilon=2; a simulation, not a private release)
    """
    if isinstance(network, BiDegree):
        raise TypeError("network must have edges to flip; got degrees alone")
    known = as_network(network, q)
    _, flipped = flip_blocks(_row_blocks(known), known.q, epsilon, known.nodes, rng=rng)
    return flipped


def flip_blocks(
    blocks: Iterable[tuple[slice, Weights]],
    q: int,
    epsilon: float,
    nodes: Sequence[str],
    *,
    rng: np.random.Generator,
) -> tuple[BiDegree, FlippedBiDegree]:
    """Degrees of one network, and of the same network with its edges flipped.

    Parameters
    ----------
    blocks : iterable of (slice, ndarray of integers)
        Consecutive rows of the adjacency matrix, of shape (rows, n); none is kept.
    q : int
        Weights lie in 0..q-1.
    epsilon : float
    nodes : sequence of str
        Labels of all n nodes, in order.
    rng : numpy.random.Generator
        Of the flips: it moves on by one 64-bit word a pair, the diagonal's too.

    Returns
    -------
    BiDegree, FlippedBiDegree

    Examples
    --------
    >>> rows = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 0]])
    >>> blocks = [(slice(0, 2), rows[:2]), (slice(2, 3), rows[2:])]
    >>> both = flip_blocks(blocks, 2, 50.0, ["a", "b", "c"], rng=np.random.default_rng(1))
    >>> [sums.out_degree.tolist() for sums in both]
    [[1, 1, 2], [1, 1, 2]]
    """
    keep, generator = keep_probability(epsilon, q), require_generator(rng)
    plain, flipped = np.zeros((2, 2, len(nodes)), dtype=np.int64)
    for rows, weights in blocks:
        add_sums(weights, plain[0, rows], plain[1])
        words = raw_words(generator, weights.size)
        add_sums(flip(weights, words, rows.start, keep, q), flipped[0, rows], flipped[1])
    return (
        BiDegree(plain[0], plain[1], q, nodes),
        FlippedBiDegree(flipped[0], flipped[1], q, epsilon, nodes, simulated=True),
    )


@kernel
def flip(weights: Weights, words: WordVector, first_row: int, keep: float, q: int) -> IntMatrix:
    """A block of rows after randomised response.

    Parameters
    ----------
    weights : ndarray of integers, shape (rows, n)
    words : ndarray of uint64, shape (rows * n,)
    first_row : int
        Number of the first row in its network: pairs of a node with itself become 0.
    keep : float
    q : int

    Returns
    -------
    ndarray of int64, shape (rows, n)

    Notes
    -----
    u = word/2^64, taken to 53 bits. Where u < rho the weight stays; otherwise (u - rho)/(1 - rho)
    is uniform again, and the whole part of q times that is the new weight. Each chance is right to
    within 2^-53 or so.
    """
    flipped = np.empty(weights.shape, np.int64)
    n, scale = weights.shape[1], q / (1 - keep)
    for i in range(len(weights)):
        for j in range(n):
            u = (words[i * n + j] >> np.uint64(11)) * 2.0**-53
            if u < keep:
                flipped[i, j] = weights[i, j]
            else:
                flipped[i, j] = min(int((u - keep) * scale), q - 1)
        flipped[i, first_row + i] = 0
    return flipped


def _row_blocks(network: Network) -> Iterator[tuple[slice, IntMatrix]]:
    for rows in row_bands(network.n):
        yield rows, network.weights[rows].toarray()


def _require_network_sums(sums: BiDegree) -> None:
    """Refuse what no network can have: the flips of a network make a network."""
    if sums.out_degree.dtype.kind != "i" or sums.in_degree.dtype.kind != "i":
        raise InvalidNetworkError("degrees of a flipped network must be whole numbers; got floats")
    totals = sums.out_degree.sum(), sums.in_degree.sum()
    if totals[0] != totals[1]:
        raise InvalidNetworkError(
            f"totals of out_degree and in_degree must agree, as flips make a network; "
            f"got {totals[0]}, {totals[1]}"
        )
