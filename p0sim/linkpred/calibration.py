"""From a privacy loss to the parameter of a mechanism.

The three calibrations, paper, sharp and exact, and where they come from are told in
:mod:`p0sim.linkpred.privacy_loss`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

from scipy.optimize import brentq

from p0sim.arrays import require_real
from p0sim.errors import InvalidPrivacyError
from p0sim.linkpred.exact_laws import SAFETY, gaussian_scale
from p0sim.linkpred.privacy_loss import (
    change_of_all,
    claimed_loss,
    exact_degree,
    knows_exact,
    realised_epsilon,
    used_sensitivity,
)
from p0sim.linkpred.query import Query, require_positive

MECHANISMS = ("dplp", "laplace", "gaussian", "exponential", "none")
DRAWING = ("dplp", "exponential")
CALIBRATIONS = ("paper", "sharp", "exact")


@dataclass(frozen=True)
class Calibration:
    """A mechanism ready to draw, and what it costs.

    Attributes
    ----------
    mechanism : str
    calibration : str
        Of weighted draws; empty for a mechanism that has no choice of one.
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
    calibration: str | None = None,
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
    calibration : {"paper", "sharp", "exact"}, optional
        Of dplp and exponential, see :mod:`p0sim.linkpred.privacy_loss`; sharp where it is left out.
        The others have no choice of one, and refuse it.
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
        If epsilon, delta or a name breaks a rule, no sensitivity is known, or a calibration is
        asked for where there is none.

    Notes
    -----
    Protected is one edge that is not at the query node. Not protected are the query's own edges.

    Examples
    --------
    >>> found = calibrate("dplp", 0.1, Query(k=10, m=50, protocol="CN", degree=8), "paper")
    >>> round(found.parameter, 4), found.epsilon_claimed, round(found.epsilon_realised, 4)
    (0.0072, 0.1, 0.0029)
    """
    _check(mechanism, epsilon, delta)
    chosen = chosen_calibration(mechanism, calibration)
    if mechanism == "none":
        return Calibration(mechanism, chosen, inf, nan, inf, inf, note="not private: no noise")
    used = used_sensitivity(query, sensitivity)
    parameter = _parameter(mechanism, epsilon, query, chosen, used, delta, sensitivity)
    realised = realised_epsilon(mechanism, parameter, query, sensitivity=used, delta=delta)
    note = "" if sensitivity is None else f"not private: sensitivity set to {sensitivity:g} by hand"
    return Calibration(mechanism, chosen, parameter, used, epsilon, realised, delta or 0.0, note)


def chosen_calibration(mechanism: str, asked: str | None) -> str:
    """The calibration of a mechanism, empty where it has none to choose and none is asked for.

    Examples
    --------
    >>> chosen_calibration("dplp", None), chosen_calibration("laplace", None)
    ('sharp', '')
    """
    if asked is not None and mechanism not in DRAWING:
        raise InvalidPrivacyError(
            f"calibration must be left out for {mechanism}: {' and '.join(DRAWING)} have a choice "
            f"of one; got {asked!r}"
        )
    chosen = asked or ("sharp" if mechanism in DRAWING else "")
    if chosen:
        _require_known("calibration", chosen, CALIBRATIONS)
    return chosen


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
    return claimed_loss("dplp", sigma, query, calibration, used_sensitivity(query, sensitivity))


def bounds_of(law: Calibration, query: Query) -> dict[str, float]:
    """What weighted draws cost as each calibration has it; empty for other mechanisms.

    Empty, too, where the sensitivity was set by hand: with a false one no calibration is a bound.

    Parameters
    ----------
    law : Calibration
    query : Query
        exact is left out where it is not known: for CN of a known degree alone.

    Examples
    --------
    >>> query = Query(k=2, m=5, protocol="CN", degree=3)
    >>> bounds = bounds_of(calibrate("dplp", 1.0, query), query)
    >>> {name: round(bound, 4) for name, bound in bounds.items()}
    {'paper': 3.419, 'sharp': 1.0, 'exact': 0.4527}
    """
    if law.mechanism not in DRAWING or law.note:
        return {}
    known = CALIBRATIONS if knows_exact(query, law.sensitivity) else CALIBRATIONS[:2]
    return {
        name: claimed_loss(law.mechanism, law.parameter, query, name, law.sensitivity)
        for name in known
    }


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
        return spread * (change_of_all(query, used, power) if by_hand is None else used)
    if calibration == "exact":
        return _exact_parameter(mechanism, epsilon, query, used)
    unit = claimed_loss(mechanism, 1.0, query, calibration, used)
    return epsilon / unit if unit else inf


def _exact_parameter(mechanism: str, epsilon: float, query: Query, used: float) -> float:
    """Root of the exact loss, which grows with the parameter from below the sharp one's."""
    exact_degree(query, used)
    if query.settled:
        return inf
    low = high = _parameter(mechanism, epsilon, query, "sharp", used, None, None)
    while claimed_loss(mechanism, high, query, "exact", used) < epsilon:
        high *= 2
    root: float = brentq(
        lambda x: claimed_loss(mechanism, x, query, "exact", used) - epsilon,
        low * (1 - SAFETY), high, xtol=low * 1e-14, rtol=1e-14,
    )  # fmt: skip
    return root * (1 - SAFETY)


def _require_known(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidPrivacyError(f"{name} must be one of {', '.join(known)}; got {value!r}")


def _check(mechanism: str, epsilon: float, delta: float | None) -> None:
    _require_known("mechanism", mechanism, MECHANISMS)
    require_positive(epsilon, "epsilon")
    if (mechanism == "gaussian") != (delta is not None):
        raise InvalidPrivacyError(
            f"delta must be given for gaussian and for it alone; got {delta} for {mechanism}"
        )
    if delta is not None and not 0 < require_real(delta, "delta") < 1:
        raise InvalidPrivacyError(f"delta must lie strictly between 0 and 1; got {delta}")
