"""What the noise of a release costs, as a share of variance, and what it buys, in words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from p0sim.estimate.moments import Degrees, MomentFit
from p0sim.inference.covariance import covariance
from p0sim.model.bidegree import BiDegree
from p0sim.privacy.edge_flip import EDGE_FLIP
from p0sim.privacy.release import Released

NO_FURTHER_COST = "A fit uses what was released and nothing else: it costs no more privacy."


class NoiseShares(NamedTuple):
    """Shares of variance that are noise and not the network's own chance, 0 to 1.

    Attributes
    ----------
    degree : float
        Of a typical degree: tau/(tau + v), v the median variance of a degree under the fit.
    parameter : float
        Of a typical parameter: the median of 1 - S/noise over the variances of finite parameters.
    """

    degree: float
    parameter: float


def noise_shares(fit: MomentFit) -> NoiseShares:
    """What share of the variance of degrees, and of parameters, the noise has.

    Parameters
    ----------
    fit : MomentFit

    Returns
    -------
    NoiseShares
        Both 0 without noise. Where a degree's variance is v, a difference of two alphas has the
        degree's share (derived here: (tau/v^2)/(1/v + tau/v^2) = tau/(v + tau)).

    Examples
    --------
    >>> from p0sim.estimate.moments import fit_moments
    >>> noise_shares(fit_moments(BiDegree([3, 1, 2], [2, 2, 2], q=3)))
    NoiseShares(degree=0.0, parameter=0.0)
    """
    if fit.epsilon is None:
        return NoiseShares(0.0, 0.0)
    own = np.concatenate(fit.degree_variances)
    degree = fit.noise_variance / (fit.noise_variance + np.median(own[own > 0]))
    network, both = (covariance(fit, variance).diagonal() for variance in ("S", "noise"))
    return NoiseShares(float(degree), float(np.median(1 - network / both)))


def privacy_statement(degrees: Degrees) -> str:
    """What is known of the privacy of degrees, for those who read a fit to them.

    Parameters
    ----------
    degrees : NoisyBiDegree, FlippedBiDegree or BiDegree

    Returns
    -------
    str
        For a release what was released, the unit of privacy, what is public and what is not
        covered, as its record says; otherwise that no record says so.

    Examples
    --------
    >>> print(privacy_statement(BiDegree([3, 1, 2], [2, 2, 2], q=3)))
    Privacy: none; the degrees are taken as a network's own.
    """
    if isinstance(degrees, BiDegree):
        return "Privacy: none; the degrees are taken as a network's own."
    if isinstance(degrees, Released):
        flipped = degrees.mechanism == EDGE_FLIP
        how = "of the network with its edges flipped" if flipped else "with discrete Laplace noise"
        released = f"Released: {degrees.n} out-degrees and {degrees.n} in-degrees {how}."
        return f"{released}\n{degrees.statement}\n{NO_FURTHER_COST}"
    return (
        f"Privacy: epsilon = {degrees.epsilon:g} for one edge's weight, anywhere in "
        f"0..{degrees.q - 1}, if they were released so:\nno record of a release came with the "
        f"degrees, and seeded noise protects nobody.\n{NO_FURTHER_COST}"
    )
