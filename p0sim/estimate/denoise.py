r"""The bi-degree sequence of a network that is closest to a noisy one.

Derived here. Let K = q - 1 and z be noisy degrees. We look for the network with weights 0..K whose
degrees d make ``|z+ - d+| + |z- - d-|`` smallest, summed over all nodes. The noise being
independent with a chance that falls as ``lam^|k|``, these are the most likely true degrees.

A network whose row i sums to more than max(z+_i, 0) can give up a unit there: its own term falls by
1 and a column's rises by 1 at most. The same holds for columns. So some best network has no sum
above max(z, 0), and its distance is ``sum |z|`` - 2 total: it is that of largest total. That is a
maximum flow, source -> i of capacity max(z+_i, 0), i -> j of capacity K for i != j, j -> sink of
capacity max(z-_j, 0), and capacities being whole the flow is. It also makes the totals agree.

The closest sequence is seldom unique, and often holds degrees at the end of their range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import maximum_flow

from p0sim.arrays import IntVector
from p0sim.errors import InvalidNetworkError
from p0sim.model.bidegree import BiDegree
from p0sim.privacy.noisy_bidegree import NoisyBiDegree

# scipy holds capacities as 32-bit integers
LARGEST_CAPACITY = int(np.iinfo(np.int32).max)


def denoise(z: NoisyBiDegree | BiDegree) -> BiDegree:
    """The bi-degree of a network with weights 0..q-1 that is closest to z in L1.

    Parameters
    ----------
    z : NoisyBiDegree or BiDegree
        Whole numbers with discrete Laplace noise: a release or a simulation of one. A BiDegree
        that a network has comes back as it is.

    Returns
    -------
    BiDegree
        Some network has it. It carries no noise of its own to reckon with, yet differs from the
        true degrees: intervals of a fit to it are too short. Fit z itself for those.

    Raises
    ------
    TypeError
        If z is of another kind; degrees of flipped edges are those of a network already.
    InvalidNetworkError
        If z holds fractions, or a degree to reach is 2^31 or more.

    Notes
    -----
    Neighbours and what is protected are those of z: what is computed from a release alone
    (post-processing) costs no more privacy. Where noise takes many sparse degrees below 0 the
    network found is too heavy: negative noise is lost, as no degree is below 0, positive is not.

    One of several closest sequences; it may hold degrees
    of 0 or (n-1)(q-1), for which no estimate exists. Consistent estimates do not need it.
    Time and memory grow as n^2: about a second and 400 MB at n = 2000.

    References
    ----------
    .. [1] Derived at the top of this module; the same distance by a linear program in the tests.

    Examples
    --------
    >>> z = NoisyBiDegree([5, -1, 2], [2, 2, 1], q=3, epsilon=1)
    >>> d = denoise(z)
    >>> d.out_degree, d.in_degree
    (array([3, 0, 2]), array([2, 2, 1]))
    """
    if not isinstance(z, NoisyBiDegree | BiDegree):
        raise TypeError(
            f"z must be a release with discrete Laplace noise, or a BiDegree; got {z!r}"
        )
    if not all(side.dtype.kind == "i" for side in (z.out_degree, z.in_degree)):
        raise InvalidNetworkError("z must hold whole numbers; got fractions")
    rows, columns = _largest_flow(*_capacities(z), z.q - 1)
    return BiDegree(rows, columns, z.q, z.nodes)


def _capacities(z: NoisyBiDegree | BiDegree) -> tuple[IntVector, IntVector]:
    """Both sides cut to 0..(n-1)(q-1), which no sum can leave."""
    top = (z.n - 1) * (z.q - 1)
    rows, columns = (np.clip(side, 0, top).astype(np.int64) for side in (z.out_degree, z.in_degree))
    largest = max(int(rows.max()), int(columns.max()))
    if largest > LARGEST_CAPACITY:
        raise InvalidNetworkError(f"degrees to reach must be below 2^31; got {largest}")
    return rows, columns


def _largest_flow(
    rows: IntVector, columns: IntVector, most: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Row and column sums of a largest network below the given ones."""
    n, senders, receivers = len(rows), np.flatnonzero(rows), np.flatnonzero(columns)
    source, sink = 2 * n, 2 * n + 1
    i, j = _pairs(senders, receivers)
    tails = np.concatenate([np.full(len(senders), source), i, n + receivers])
    heads = np.concatenate([senders, n + j, np.full(len(receivers), sink)])
    inner = np.full(len(i), min(most, LARGEST_CAPACITY))
    capacities = np.concatenate([rows[senders], inner, columns[receivers]]).astype(np.int32)
    # scipy before 1.15 takes no other indices
    ends = (tails.astype(np.int32), heads.astype(np.int32))
    graph = sparse.csr_array((capacities, ends), shape=(2 * n + 2, 2 * n + 2))
    flow = maximum_flow(graph, source, sink).flow
    # what leaves the source, and what comes back from the sink with a minus sign
    sent, received = flow[[source]].toarray()[0], flow[[sink]].toarray()[0]
    return sent[:n].astype(np.int64), -received[n : 2 * n].astype(np.int64)


def _pairs(senders: IntVector, receivers: IntVector) -> tuple[IntVector, IntVector]:
    """Every pair of different nodes that can have an arc."""
    at = np.nonzero(senders[:, None] != receivers)
    return senders[at[0]], receivers[at[1]]
