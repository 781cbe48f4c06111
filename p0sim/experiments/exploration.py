"""What privacy would cost one network: releases of it, simulated at several privacy losses.

For the curator, who has the network, before anything is released. Nothing here is a release: every
number is about the network itself, and none of it is protected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from p0sim.arrays import FloatVector, require_generator, require_level
from p0sim.errors import InvalidParametersError, NoEstimateError, NotConvergedError
from p0sim.estimate.existence import existence
from p0sim.estimate.moments import Degrees, fit_moments
from p0sim.experiments.estimates import normal_quantile
from p0sim.inference.covariance import covariance
from p0sim.inference.noise_cost import noise_shares
from p0sim.model.networks import Network
from p0sim.privacy.edge_flip import EDGE_FLIP, simulate_edge_flip
from p0sim.privacy.noisy_bidegree import require_epsilon
from p0sim.privacy.simulate import simulate_release

if TYPE_CHECKING:
    import pandas as pd

NOT_A_RELEASE = "not a release: shows the network's own numbers, do not publish"
LAPLACE = "laplace"
MEASURES = ("exists", "rmse_alpha", "rmse_beta", "ci_width", "noise_share")
SQUARED = ("rmse_alpha", "rmse_beta")

Row: TypeAlias = dict[str, object]
Simulate: TypeAlias = Callable[[float], Degrees]


def explore(
    network: Network,
    epsilons: Iterable[float],
    reps: int = 200,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
) -> pd.DataFrame:
    """Simulate releases of one network and say how well its parameters come back.

    Parameters
    ----------
    network : Network
    epsilons : iterable of float
        Privacy losses to try, each once; positive and finite.
    reps : int
        Simulated releases for each of them and each mechanism, at least 2.
    rng : numpy.random.Generator
    level : float
        Of the intervals whose length is measured.

    Returns
    -------
    DataFrame
        One row a mechanism ("laplace", "edge_flip"), epsilon and measure, with value, mcse (Monte
        Carlo standard error, missing below two replicates), n_used, n_attempted, reference and
        mark. Measures: exists, the share of releases with an estimate; rmse_alpha and rmse_beta,
        root mean squared errors against the fit without noise, both less their mean over nodes, so
        that the node whose beta is 0 by convention does not matter; ci_width, mean length of the
        intervals that a fit prints, which know the network's own chance too; noise_share, the
        share of a typical parameter's variance that is noise.

    Raises
    ------
    TypeError
        If `network` is no Network: flips need edges.
    InvalidParametersError, InvalidPrivacyError
        If reps, level or an epsilon breaks its rule, or no epsilon or one twice is given.
    NoEstimateError
        If the network has no estimate without noise, not even an extended one.

    Notes
    -----
    All measures but the first are over the releases with a fit (n_used of them). Where the network
    has no estimate of its own, it and its releases are fitted with boundary="extend", lengths are
    over finite parameters and errors over those finite in both fits; reference then says
    "extended" and not "ordinary". Such fits are biased where noise takes many sparse degrees below
    0 (see ``boundary`` of :func:`p0sim.fit`): errors hold that bias, lengths do not.

    This protects nobody. Seeded noise is no release, and errors, lengths and shares are computed
    from the network itself: whoever sees them learns of its edges, with no bound epsilon on it.

    Examples
    --------
    >>> from p0sim.datasets import load_network
    >>> frame = explore(load_network("eies"), [4, 8], reps=5, rng=np.random.default_rng(1))
    >>> frame[frame["measure"] == "exists"][["mechanism", "epsilon", "value"]]
        mechanism  epsilon  value
    0     laplace      4.0    1.0
    5     laplace      8.0    1.0
    10  edge_flip      4.0    1.0
    15  edge_flip      8.0    1.0
    """
    import pandas as pd

    return pd.DataFrame(list(explore_rows(network, epsilons, reps, rng=rng, level=level)))


def explore_rows(
    network: Network,
    epsilons: Iterable[float],
    reps: int = 200,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Iterator[Row]:
    """The rows of :func:`explore`, those of a mechanism and epsilon as soon as they are known."""
    losses = _require_losses(epsilons)
    if not isinstance(network, Network):
        raise TypeError(f"network must be a Network (see as_network); got {type(network).__name__}")
    if reps < 2:
        raise InvalidParametersError(f"reps must be at least 2; got {reps}")
    length = 2 * normal_quantile(require_level(level))
    generator, reference = require_generator(rng), _reference(network)
    mechanisms: dict[str, Simulate] = {
        LAPLACE: partial(simulate_release, network.bidegree(), rng=generator),
        EDGE_FLIP: partial(simulate_edge_flip, network, rng=generator),
    }
    for mechanism, simulate in mechanisms.items():
        for epsilon in losses:
            runs = [_trial(simulate(epsilon), reference, length) for _ in range(reps)]
            own: Row = {"mechanism": mechanism, "epsilon": epsilon}
            for measure in MEASURES:
                row = _summary([getattr(run, measure) for run in runs], measure in SQUARED)
                about: Row = {"reference": reference.boundary, "mark": NOT_A_RELEASE}
                yield own | {"measure": measure} | row | about


class Trial(NamedTuple):
    """What one simulated release gave; nan where it has no fit, squares of the errors."""

    exists: float
    rmse_alpha: float = np.nan
    rmse_beta: float = np.nan
    ci_width: float = np.nan
    noise_share: float = np.nan


@dataclass(frozen=True, eq=False)
class Reference:
    """The fit without noise.

    Attributes
    ----------
    alpha, beta : ndarray, shape (n,)
    boundary : str
        "ordinary", or "extended" where the network has no ordinary estimate.
    """

    alpha: FloatVector
    beta: FloatVector
    boundary: str

    @property
    def rule(self) -> str:
        """How releases are fitted: as the network itself was."""
        return "refuse" if self.boundary == "ordinary" else "extend"


def _reference(network: Network) -> Reference:
    degrees = network.bidegree()
    if existence(degrees).exists:
        model, boundary = fit_moments(degrees).model, "ordinary"
    else:
        model, boundary = fit_moments(degrees, boundary="extend").model, "extended"
    return Reference(model.alpha, model.beta, boundary)


def _trial(degrees: Degrees, reference: Reference, length: float) -> Trial:
    exists = float(existence(degrees).exists)
    try:
        found = fit_moments(degrees, boundary=reference.rule)
    except (NoEstimateError, NotConvergedError):
        return Trial(exists)
    widths = length * np.sqrt(covariance(found).diagonal())
    return Trial(
        exists,
        _squared_error(found.model.alpha, reference.alpha),
        _squared_error(found.model.beta, reference.beta),
        float(widths.mean()),
        noise_shares(found).parameter,
    )


def _squared_error(found: FloatVector, reference: FloatVector) -> float:
    """Variance of the errors of one side, over parameters that are finite in both fits."""
    both = np.isfinite(found) & np.isfinite(reference)
    return float((found[both] - reference[both]).var()) if both.any() else np.nan


def _summary(values: list[float], squared: bool) -> Row:
    """Mean of what is known and its Monte Carlo error; the root of it for squares."""
    known = np.array(values)[np.isfinite(values)]
    counts: Row = {"n_used": len(known), "n_attempted": len(values)}
    if not len(known):
        return {"value": np.nan, "mcse": np.nan} | counts
    mean = float(known.mean())
    mcse = float(known.std(ddof=1)) / sqrt(len(known)) if len(known) > 1 else np.nan
    if squared:
        # delta method: d sqrt(m) = dm/(2 sqrt(m))
        mean, mcse = sqrt(mean), mcse / (2 * sqrt(mean)) if mean > 0 else 0.0
    return {"value": mean, "mcse": mcse} | counts


def _require_losses(epsilons: Iterable[float]) -> list[float]:
    losses = [require_epsilon(epsilon) for epsilon in epsilons]
    if not losses or len(set(losses)) < len(losses):
        listed = ", ".join(f"{loss:g}" for loss in losses) or "none"
        raise InvalidParametersError(f"epsilons must be one or more, each once; got {listed}")
    return losses
