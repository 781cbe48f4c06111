"""Seeded noise for studies. Nothing made here is a private release."""

from __future__ import annotations

import numpy as np

from p0sim.model.bidegree import BiDegree
from p0sim.privacy.discrete_laplace import sample_discrete_laplace
from p0sim.privacy.noisy_bidegree import NoisyBiDegree, require_epsilon
from p0sim.privacy.sensitivity import bidegree_sensitivity


def simulate_release(
    bidegree: BiDegree, epsilon: float, *, rng: np.random.Generator
) -> NoisyBiDegree:
    """A bi-degree as the discrete Laplace mechanism would release it, from a seeded generator.

    Parameters
    ----------
    bidegree : BiDegree
        Integer degrees of a network.
    epsilon : float
        Privacy loss, positive and finite: what the mechanism would cost one edge's weight.
    rng : numpy.random.Generator

    Returns
    -------
    NoisyBiDegree
        2n independent draws of scale 2(q-1)/epsilon added; `is_release` is False: whoever knows the
        seed can take the noise off, so this protects nobody.

    Raises
    ------
    TypeError
        If `bidegree` is no BiDegree of integers.
    InvalidPrivacyError
        If epsilon is not positive and finite.

    References
    ----------
    .. [1] Wang et al. 2022, section 2, with the sensitivity of
       :func:`~p0sim.privacy.sensitivity.bidegree_sensitivity`.

    Examples
    --------
    >>> d = BiDegree([3, 1, 2], [2, 2, 2], q=3)
    >>> simulate_release(d, epsilon=2, rng=np.random.default_rng(1))
    NoisyBiDegree(n=3, q=3, epsilon=2; a simulation, not a private release)
    """
    if not isinstance(bidegree, BiDegree) or bidegree.out_degree.dtype.kind != "i":
        hint = "; a network has .bidegree()" if hasattr(bidegree, "bidegree") else ""
        raise TypeError(f"bidegree must be a BiDegree of whole numbers; got {bidegree!r}{hint}")
    n, q = bidegree.n, bidegree.q
    scale = bidegree_sensitivity(q) / require_epsilon(epsilon)
    noise = sample_discrete_laplace(2 * n, scale, rng=rng)
    return NoisyBiDegree(
        bidegree.out_degree + noise[:n],
        bidegree.in_degree + noise[n:],
        q,
        epsilon,
        bidegree.nodes,
        simulated=True,
    )
