r"""From a privacy loss to the parameter of a mechanism, and back.

Neighbours are two graphs that differ in one edge which is not at the query node: its neighbours,
and so its m candidates, are the same in both. The k draws of a list stop telling anything when one
candidate is left, so k counts as min(k, m-1) throughout. Let D be the sensitivity, the most that
one edge moves one score, and R = (2D+1)/(D+1).

Algorithm 1 of [1]_ draws k candidates without replacement with weights (s + D + 1)^sigma:

paper : epsilon = 2 k sigma log(1+D)
    Theorem 2 of [1]_. True, and never reached.
sharp : epsilon = k sigma log R for CN, JC and AA, 2 k sigma log R for any other score
    Derived here. A score is never negative, so a weight grows at most by the factor
    ((s + 2D + 1)/(s + D + 1))^sigma <= R^sigma. The chance of one draw is a weight over a sum of
    weights. Both move at most by that factor, which gives 2 k sigma log R. If all weights move one
    way, numerator and denominator work against each other: each draw feels the factor once. So it
    is for CN (one score moves, by 1) and JC: an edge between a neighbour of the query and a
    candidate lifts one score, one between two candidates lowers both of theirs. For AA an edge
    between a neighbour a of the query and a candidate b lifts b by 1/log(g+1), g the degree of a
    before, and lowers the other candidates next to a from 1/log g to 1/log(g+1). A draw then moves
    by at most the largest rise times the largest fall,
    (D+1 + 1/log(g+1))/(D+1) * (D+1 + 1/log g)/(D+1 + 1/log(g+1)) = 1 + 1/((D+1) log g) <= R for
    g >= 2; g = 1 has no other candidate next to a, and a rise of D. An edge between two neighbours
    of the query lowers scores only, by at most 2 (1/log 2 - 1/log 3) < D.
exact : :func:`~p0sim.linkpred.exact_laws.common_neighbours_loss`, for CN
    The largest log ratio there is, for the query's own degree and number of candidates.

The exponential mechanism draws in the same way with weights exp(eta s): 2 k eta D in general
(paper), k eta D for CN, JC and AA (sharp; a rise 1/log(g+1) and a fall 1/log g - 1/log(g+1) add up
to 1/log g <= D), exact for CN.

Laplace and Gaussian noise on all scores cost what the vector costs, whatever k is. Over all
candidates one edge moves CN by 1, JC by at most 1 (one score by at most 1/d, d the query's degree,
or two by at most 1/(d+1) each) and AA by at most 1/log 2: a rise of 1/log(g+1) and g-1 falls of
1/log g - 1/log(g+1) add up to 1/log 2 for g = 1 and 2 and to less beyond. The same numbers hold in
the Euclidean norm, where they are reached by one score that moves alone. For other scores m D and
sqrt(m) D are all that is known.

.. [1] De and Chakrabarti, Differentially private link prediction with protected connections,
   arXiv 1908.04849v1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, nan

import numpy as np
from scipy.optimize import brentq

from p0sim.arrays import FloatVector
from p0sim.errors import InvalidPrivacyError
from p0sim.linkpred.exact_laws import (
    SAFETY,
    common_neighbours_loss,
    gaussian_epsilon,
    gaussian_scale,
)
from p0sim.linkpred.query import PROVED, Query, require_positive

__all__ = [
    "CALIBRATIONS",
    "MECHANISMS",
    "Calibration",
    "Query",
    "calibrate",
    "epsilon_of",
    "realised_epsilon",
    "sigma_of",
]

MECHANISMS = ("dplp", "laplace", "gaussian", "exponential", "none")
CALIBRATIONS = ("paper", "sharp", "exact")


@dataclass(frozen=True)
class Calibration:
    """A mechanism ready to draw, and what it costs.

    Attributes
    ----------
    mechanism, calibration : str
    parameter : float
        sigma (dplp), eta (exponential) or the scale of the noise (laplace, gaussian).
    sensitivity : float
        D in the weights (s + D + 1)^sigma.
    epsilon_claimed : float
        By the chosen calibration.
    epsilon_realised : float
        The smallest bound that is proved for this query; inf where there is none.
    delta : float
        0 for all but gaussian.
    note : str
        "not private: ..." where the claim does not hold; else empty.
    """

    mechanism: str
    calibration: str
    parameter: float
    sensitivity: float
    epsilon_claimed: float
    epsilon_realised: float
    delta: float = 0.0
    note: str = ""


def calibrate(
    mechanism: str,
    epsilon: float,
    query: Query,
    calibration: str = "sharp",
    *,
    sensitivity: float | None = None,
    delta: float | None = None,
) -> Calibration:
    """The parameter with which a mechanism costs epsilon, as one calibration has it.

    Parameters
    ----------
    mechanism : {"dplp", "laplace", "gaussian", "exponential", "none"}
    epsilon : float
        Privacy loss of one edge that is not at the query; positive and finite.
    query : Query
    calibration : {"paper", "sharp", "exact"}
        See the top of this module; laplace and gaussian know one only.
    sensitivity : float, optional
        Used in place of the sensitivity that is proved; the result is marked "not private".
    delta : float, optional
        For gaussian, and for it alone: between 0 and 1.

    Returns
    -------
    Calibration

    Raises
    ------
    InvalidPrivacyError
        If epsilon, delta or a name breaks a rule, no sensitivity is known, or exact is asked for
        where it is not known.

    Notes
    -----
    Protected is one edge that is not at the query node. Not protected are the query's own edges.

    Examples
    --------
    >>> found = calibrate("dplp", 0.1, Query(k=10, m=50, protocol="CN", degree=8), "paper")
    >>> round(found.parameter, 4), found.epsilon_claimed, round(found.epsilon_realised, 4)
    (0.0072, 0.1, 0.0029)
    """
    _check(mechanism, calibration, epsilon, delta)
    if mechanism == "none":
        return Calibration(mechanism, calibration, inf, nan, inf, inf, note="not private: no noise")
    used = _used_sensitivity(query, sensitivity)
    parameter = _parameter(mechanism, epsilon, query, calibration, used, delta, sensitivity)
    realised = realised_epsilon(mechanism, parameter, query, sensitivity=used, delta=delta)
    note = "" if sensitivity is None else f"not private: sensitivity set to {sensitivity:g} by hand"
    return Calibration(
        mechanism, calibration, parameter, used, epsilon, realised, delta or 0.0, note
    )


def epsilon_of(
    sigma: float, query: Query, calibration: str = "sharp", *, sensitivity: float | None = None
) -> float:
    """What Algorithm 1 costs with this sigma, as one calibration has it.

    Examples
    --------
    >>> query = Query(k=2, m=5, protocol="CN", degree=3)
    >>> [round(epsilon_of(0.5, query, name), 4) for name in CALIBRATIONS]
    [1.3863, 0.4055, 0.1725]
    """
    return _drawing_loss("dplp", sigma, query, calibration, _used_sensitivity(query, sensitivity))


def sigma_of(
    epsilon: float, query: Query, calibration: str = "sharp", *, sensitivity: float | None = None
) -> float:
    """The sigma with which Algorithm 1 costs epsilon; inf where no list can tell of an edge.

    Examples
    --------
    >>> round(sigma_of(0.1, Query(k=10, m=50, protocol="CN"), "paper"), 4)
    0.0072
    """
    return calibrate("dplp", epsilon, query, calibration, sensitivity=sensitivity).parameter


def realised_epsilon(
    mechanism: str,
    parameter: float,
    query: Query,
    *,
    sensitivity: float | None = None,
    delta: float | None = None,
) -> float:
    """The smallest bound on the privacy loss that is proved for this query.

    Parameters
    ----------
    mechanism : str
    parameter : float
        As in :class:`Calibration`.
    query : Query
        With its degree the bound is smaller: exact for the draws of CN; a score of JC moves by at
        most 1/degree.
    sensitivity : float, optional
        D in the weights (s + D + 1)^sigma where it was set by hand: a weight then grows at most by
        the factor (1 + D_true/(1 + D))^sigma.
    delta : float, optional
        Of gaussian.

    Returns
    -------
    float
        inf where no sensitivity is known.

    Examples
    --------
    >>> realised_epsilon("laplace", 2.0, Query(k=10, m=50, protocol="JC", degree=3))
    0.25
    """
    if query.settled:
        return 0.0
    if mechanism == "none" or query.sensitivity is None:
        return inf
    if mechanism == "laplace":
        return _change(query, 1) / parameter
    if mechanism == "gaussian":
        return gaussian_epsilon(parameter / _change(query, 2), delta or 0.0)
    used = _used_sensitivity(query, sensitivity)
    moved = _largest_change(query)
    unit = log(1 + moved / (1 + used)) if mechanism == "dplp" else moved
    bound = query.ways * query.draws * parameter * unit
    if query.protocol != "CN" or query.degree is None:
        return bound
    log_weights = _log_weights(mechanism, parameter, query.degree, used)
    # both are bounds; the exact one may lie above by rounding
    return min(bound, common_neighbours_loss(log_weights, query.k, query.m))


def _parameter(
    mechanism: str,
    epsilon: float,
    query: Query,
    calibration: str,
    used: float,
    delta: float | None,
    by_hand: float | None,
) -> float:
    if mechanism in ("laplace", "gaussian"):
        spread = 1 / epsilon if delta is None else gaussian_scale(epsilon, delta)
        # a number set by hand is the change of the whole vector, as in the published study
        power = 1 if mechanism == "laplace" else 2
        return spread * (_norm(query, used, power) if by_hand is None else used)
    if calibration == "exact":
        return _exact_parameter(mechanism, epsilon, query, used)
    unit = _drawing_loss(mechanism, 1.0, query, calibration, used)
    return epsilon / unit if unit else inf


def _drawing_loss(
    mechanism: str, parameter: float, query: Query, calibration: str, used: float
) -> float:
    """Claim of a calibration for weighted draws."""
    if query.settled:
        return 0.0
    if calibration == "exact":
        degree = _exact_degree(query, used)
        return common_neighbours_loss(
            _log_weights(mechanism, parameter, degree, used), query.k, query.m
        )
    ways = 2 if calibration == "paper" else query.ways
    return ways * query.draws * parameter * _unit(mechanism, calibration, used)


def _unit(mechanism: str, calibration: str, used: float) -> float:
    """Largest change of a log weight, for a parameter of 1."""
    if mechanism == "exponential":
        return used
    return log(1 + used) if calibration == "paper" else log((2 * used + 1) / (used + 1))


def _exact_parameter(mechanism: str, epsilon: float, query: Query, used: float) -> float:
    """Root of the exact loss, which grows with the parameter from below the sharp one's."""
    _exact_degree(query, used)
    if query.settled:
        return inf
    low = high = _parameter(mechanism, epsilon, query, "sharp", used, None, None)
    while _drawing_loss(mechanism, high, query, "exact", used) < epsilon:
        high *= 2
    root: float = brentq(
        lambda x: _drawing_loss(mechanism, x, query, "exact", used) - epsilon,
        low * (1 - SAFETY), high, xtol=low * 1e-14, rtol=1e-14,
    )  # fmt: skip
    return root * (1 - SAFETY)


def _exact_degree(query: Query, used: float) -> int:
    if query.protocol != "CN" or used != PROVED["CN"] or query.degree is None:
        raise InvalidPrivacyError(
            "calibration exact must go with dplp or exponential, the score CN, its own sensitivity "
            f"and a known degree; got {query.protocol}, sensitivity {used:g}, "
            f"degree {query.degree}"
        )
    return query.degree


def _log_weights(mechanism: str, parameter: float, degree: int, used: float) -> FloatVector:
    scores = np.arange(degree + 1.0)
    return parameter * (np.log(scores + used + 1) if mechanism == "dplp" else scores)


def _norm(query: Query, largest: float, power: int) -> float:
    """Change of all scores together in the norm of this power, whatever the degree."""
    alone = query.protocol in PROVED
    return largest if alone else largest * query.m ** (1 / power)


def _largest_change(query: Query) -> float:
    """Most that one score of this very query can move."""
    if query.protocol == "JC" and query.degree:
        return 1 / query.degree
    return query.sensitivity or 0.0


def _change(query: Query, power: int) -> float:
    """Change of all scores of this very query together."""
    one = _norm(query, _largest_change(query), power)
    if query.protocol == "JC" and query.degree:
        return max(one, 2 ** (1 / power) / (query.degree + 1))
    return one


def _used_sensitivity(query: Query, by_hand: float | None) -> float:
    used = query.sensitivity if by_hand is None else by_hand
    if used is None:
        raise InvalidPrivacyError(
            f"sensitivity must be given for {query.protocol}, for which no bound is proved"
        )
    return require_positive(used, "sensitivity")


def _check(mechanism: str, calibration: str, epsilon: float, delta: float | None) -> None:
    for name, value, known in (
        ("mechanism", mechanism, MECHANISMS),
        ("calibration", calibration, CALIBRATIONS),
    ):
        if value not in known:
            raise InvalidPrivacyError(f"{name} must be one of {', '.join(known)}; got {value!r}")
    require_positive(epsilon, "epsilon")
    if (mechanism == "gaussian") != (delta is not None):
        raise InvalidPrivacyError(
            f"delta must be given for gaussian and for it alone; got {delta} for {mechanism}"
        )
    if delta is not None and not 0 < delta < 1:
        raise InvalidPrivacyError(f"delta must lie strictly between 0 and 1; got {delta}")
