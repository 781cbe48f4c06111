"""The total weight of a fit beside what was released: how far forced nodes have moved it.

Derived here. A node whose noisy degree is negative can be fitted no lower than 0, so an extended
fit loses what noise has taken from it, while what noise has added to others stays: where many true
degrees are near 0, the fitted total comes near the sum of the positive degrees alone. An ordinary
fit and a ridge keep the total of the treated margins, which is unbiased.

Laplace noise moves the mean of both released totals by a standard deviation of sqrt(n tau/2). Of
flipped degrees, whose two totals agree, the noise is what flips add to the variance of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from p0sim.estimate.margins import margins_of
from p0sim.estimate.moments import MomentFit
from p0sim.privacy.edge_flip import FlippedBiDegree

# beyond it, in standard deviations of the noise, noise does not explain the distance
FAR = 3.0


@dataclass(frozen=True)
class Totals:
    """Total weights under a fit to degrees with noise.

    Attributes
    ----------
    fitted : float
        Expected total of the fitted model.
    released : tuple of two floats
        Sums of the out-degrees and of the in-degrees; of flipped ones, without the bias of flips.
    noise_deviation : float
        Standard deviation of the noise in the mean of the two.
    """

    fitted: float
    released: tuple[float, float]
    noise_deviation: float

    @property
    def distance(self) -> float:
        """From the mean of the released totals to the fitted one, in standard deviations."""
        return abs(self.fitted - sum(self.released) / 2) / self.noise_deviation

    @property
    def far(self) -> bool:
        """Whether noise does not explain the distance: it is above 3 standard deviations."""
        return self.distance > FAR


def totals_of(fit: MomentFit) -> Totals:
    """Compare the total weight of a fit with what was released.

    Parameters
    ----------
    fit : MomentFit
        To degrees with noise.

    Returns
    -------
    Totals

    Examples
    --------
    >>> from p0sim.estimate.moments import as_degrees, fit_moments
    >>> side = [-10] * 5 + [2] * 5
    >>> z = as_degrees((side, side), q=2, epsilon=2.0)
    >>> totals = totals_of(fit_moments(z, boundary="extend"))
    >>> round(totals.fitted, 9), totals.released, totals.far
    (10.0, (-40.0, -40.0), True)
    """
    degrees = fit.degrees
    fitted = float(fit.margins.rows.sum())
    if isinstance(degrees, FlippedBiDegree):
        total = float(margins_of(degrees).rows.sum())
        own = fit.degree_variances[0]
        added = fit.margin_variances[: len(own)] - own
        return Totals(fitted, (total, total), float(np.sqrt(added.sum())))
    released = float(sum(degrees.out_degree.tolist())), float(sum(degrees.in_degree.tolist()))
    return Totals(fitted, released, float(np.sqrt(len(degrees.nodes) * fit.noise_variance / 2)))


def totals_lines(fit: MomentFit) -> list[str]:
    """What those who read an extended fit to noisy degrees must know; else nothing.

    Parameters
    ----------
    fit : MomentFit

    Returns
    -------
    list of str
        The totals, and whether the intervals can be trusted; empty where no parameter was forced
        or the degrees carry no noise.
    """
    if not fit.n_forced or fit.epsilon is None:
        return []
    totals = totals_of(fit)
    sent, received = totals.released
    return [
        f"Total weight: {totals.fitted:.6g} fitted; released {sent:.6g} by out-degrees, "
        f"{received:.6g} by in-degrees",
        f"Intervals take the forced nodes as known{_verdict(totals)}",
    ]


def _verdict(totals: Totals) -> str:
    apart = f"{totals.distance:.1f} standard deviations of the noise"
    if totals.far:
        return (
            f" and are not trustworthy here: the fitted total is {apart} from the released one; "
            "prefer a ridge, which keeps it"
        )
    return f"; the fitted total is {apart} from the released one"
