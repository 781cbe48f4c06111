r"""What a list of recommendations costs, by three bounds.

Neighbours are two graphs that differ in one edge which is not at the query node: its neighbours,
and so its m candidates, are the same in both. The k draws of a list stop telling anything when one
candidate is left, so k counts as min(k, m-1) throughout. Let D be the sensitivity, the most that
one edge moves one score, and R = (2D+1)/(D+1).

Algorithm 1 of [1]_ draws k candidates without replacement with weights (s + D + 1)^sigma:

paper : epsilon = 2 k sigma log(1+D)
    Theorem 2 of [1]_. True for scores that are never negative, and never reached, as it is above
    sharp.
sharp : epsilon = k sigma log R for CN, JC and AA, 2 k sigma log R for any other score
    Derived here. A score is never negative, so a weight grows at most by the factor
    ((s + 2D + 1)/(s + D + 1))^sigma <= R^sigma. The chance of one draw is a weight over a sum of
    weights. Both move at most by that factor, which gives 2 k sigma log R: for any score that is
    never negative and moves by at most D. R < 1+D, so this is below paper, by the factor
    log(1+D)/log R: 1.71 for D = 1, and next to nothing for a small D.

    If all weights move one way, numerator and denominator work against each other: each draw
    feels the factor once. So it is for CN (one score moves, by 1) and JC: an edge between a
    neighbour of the query and a candidate lifts one score, one between two candidates lowers both
    of theirs.

    AA moves both ways: an edge between a neighbour a of the query and a candidate b lifts b by
    1/log(g+1), g the degree of a before, and lowers the other candidates next to a by
    1/log g - 1/log(g+1). The chance of a draw then changes by at most the largest rise times the
    largest fall, sigma-th powers of
    (D+1 + 1/log(g+1))/(D+1) * (D+1 + 1/log g)/(D+1 + 1/log(g+1)) = 1 + 1/((D+1) log g), which for
    g >= 2 is at most R: together they cost no more than one change by D. With g = 1 there is no
    other candidate next to a, and b rises by D. An edge between two neighbours of the query lowers
    scores only, by at most 2 (1/log 2 - 1/log 3) < D. So k sigma log R holds for AA too, also
    where only some of the nodes that are not joined to the query are candidates. For CN, JC and AA
    it is 0.29, 0.29 and 0.26 of paper.
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

from math import inf, log

import numpy as np

from p0sim.arrays import FloatVector
from p0sim.errors import InvalidPrivacyError
from p0sim.linkpred.exact_laws import common_neighbours_loss, gaussian_epsilon
from p0sim.linkpred.query import PROVED, Query, require_positive


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
        As in :class:`~p0sim.linkpred.calibration.Calibration`.
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
    used = used_sensitivity(query, sensitivity)
    moved = _largest_change(query)
    unit = log(1 + moved / (1 + used)) if mechanism == "dplp" else moved
    bound = query.ways * query.draws * parameter * unit
    if query.protocol != "CN" or query.degree is None:
        return bound
    log_weights = _log_weights(mechanism, parameter, query.degree, used)
    # both are bounds; the exact one may lie above by rounding
    return min(bound, common_neighbours_loss(log_weights, query.k, query.m))


def claimed_loss(
    mechanism: str, parameter: float, query: Query, calibration: str, used: float
) -> float:
    """What weighted draws cost as one calibration has it.

    Parameters
    ----------
    mechanism : {"dplp", "exponential"}
    parameter : float
        sigma or eta.
    query : Query
    calibration : {"paper", "sharp", "exact"}
    used : float
        The sensitivity D, as :func:`used_sensitivity` gives it.

    Raises
    ------
    InvalidPrivacyError
        If exact is asked for where it is not known.

    Examples
    --------
    >>> round(claimed_loss("dplp", 0.5, Query(k=2, m=5, protocol="CN"), "paper", 1.0), 4)
    1.3863
    """
    if query.settled:
        return 0.0
    if calibration == "exact":
        degree = exact_degree(query, used)
        return common_neighbours_loss(
            _log_weights(mechanism, parameter, degree, used), query.k, query.m
        )
    ways = 2 if calibration == "paper" else query.ways
    return ways * query.draws * parameter * _unit(mechanism, calibration, used)


def used_sensitivity(query: Query, by_hand: float | None) -> float:
    """The sensitivity that was set by hand, else the one that is known; refused without either."""
    used = query.sensitivity if by_hand is None else by_hand
    if used is None:
        raise InvalidPrivacyError(
            f"sensitivity must be given for {query.protocol}, for which no bound is proved"
        )
    return require_positive(used, "sensitivity")


def knows_exact(query: Query, used: float) -> bool:
    """Whether the exact loss of weighted draws is known."""
    return query.protocol == "CN" and used == PROVED["CN"] and query.degree is not None


def exact_degree(query: Query, used: float) -> int:
    """The degree of the query, refused where no exact loss is known."""
    if query.degree is None or not knows_exact(query, used):
        raise InvalidPrivacyError(
            "calibration exact must go with dplp or exponential, the score CN, its own sensitivity "
            f"and a known degree; got {query.protocol}, sensitivity {used:g}, "
            f"degree {query.degree}"
        )
    return query.degree


def change_of_all(query: Query, largest: float, power: int) -> float:
    """Change of all scores together in the norm of this power, whatever the degree.

    Examples
    --------
    >>> change_of_all(Query(k=1, m=16, protocol="own", declared=2.0), 2.0, 2)
    8.0
    """
    alone = query.protocol in PROVED
    return largest if alone else largest * query.m ** (1 / power)


def _unit(mechanism: str, calibration: str, used: float) -> float:
    """Largest change of a log weight, for a parameter of 1."""
    if mechanism == "exponential":
        return used
    return log(1 + used) if calibration == "paper" else log((2 * used + 1) / (used + 1))


def _log_weights(mechanism: str, parameter: float, degree: int, used: float) -> FloatVector:
    scores = np.arange(degree + 1.0)
    return parameter * (np.log(scores + used + 1) if mechanism == "dplp" else scores)


def _largest_change(query: Query) -> float:
    """Most that one score of this very query can move."""
    if query.protocol == "JC" and query.degree:
        return 1 / query.degree
    return query.sensitivity or 0.0


def _change(query: Query, power: int) -> float:
    """Change of all scores of this very query together."""
    one = change_of_all(query, _largest_change(query), power)
    if query.protocol == "JC" and query.degree:
        return max(one, 2 ** (1 / power) / (query.degree + 1))
    return one
