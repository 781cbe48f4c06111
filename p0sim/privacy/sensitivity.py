"""How far one edge can move what is released."""

from __future__ import annotations

from p0sim.arrays import require_q


def bidegree_sensitivity(q: int) -> int:
    """Largest L1 change of the bi-degree when the weight of one edge changes: 2(q-1).

    Parameters
    ----------
    q : int
        Weights lie in 0..q-1; q is public and never read off the data.

    Returns
    -------
    int
        In weight units.

    Notes
    -----
    Neighbours are two networks on the same nodes that differ in the weight of one ordered pair
    (i, j). That weight stands in two sums alone: the out-degree of i and the in-degree of j. A
    change from a to b moves each of them by b - a, in the same direction, and its size is at most
    q - 1. So the L1 distance is at most 2(q-1), and a change from 0 to q-1 attains it. What is
    protected is the weight of one edge, anywhere in 0..q-1, not a node with all its edges; n, the
    node list, q and epsilon are public. (Wang et al. 2022, section 2, prints that the in-degree of
    j falls when a_ij grows. It grows; the bound is the same.)

    Examples
    --------
    >>> bidegree_sensitivity(5)
    8
    """
    return 2 * (require_q(q) - 1)
