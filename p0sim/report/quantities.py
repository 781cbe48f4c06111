"""What the experiments with lists measure: numbers without a true value to compare them with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Quantity:
    """What an experiment of the package measures without a true value to compare it with.

    Attributes
    ----------
    name : str
        The estimand, as in the frames.
    label : str
        What tables and figures print.
    meaning : str
        One phrase.
    is_result : bool
        Whether it is what the study is about; the others say how that came about, and no figure
        is drawn of them.
    lower_is_better : bool
        Of a result.
    """

    name: str
    label: str
    meaning: str
    is_result: bool = True
    lower_is_better: bool = False


REALISED = (
    Quantity(
        "realised_epsilon_worst",
        "realised epsilon, worst query",
        "largest over the query nodes of the smallest privacy loss that is proved",
        is_result=False,
    ),
    Quantity(
        "realised_epsilon_median",
        "realised epsilon, median query",
        "median of the same",
        is_result=False,
    ),
)
# By experiment, the most important first.
QUANTITIES: Mapping[str, tuple[Quantity, ...]] = MappingProxyType(
    {
        "link_prediction": (
            Quantity("map", "MAP", "mean average precision of the lists at k, standard definition"),
            Quantity(
                "map_reference",
                "MAP as published",
                "what the published study computed: of the first 300 query nodes those with a hit, "
                "divided by the hits; on the same query nodes at least MAP, but the first 300 may "
                "have less than all of them",
            ),
            Quantity(
                "queries_used",
                "queries used",
                "query nodes with a relevant candidate",
                is_result=False,
            ),
            Quantity(
                "queries_left_out",
                "queries left out",
                "query nodes without one, of which MAP says nothing",
                is_result=False,
            ),
            *REALISED,
        ),
        "latent_space": (
            Quantity(
                "loss",
                "ranking loss",
                "(1/(2k)) times the sum over pairs of places i < j of max(d_i - d_j, 0), d the "
                "distances from the query node in the order of the list",
                lower_is_better=True,
            ),
            Quantity(
                "loss_bound",
                "bound on the ranking loss",
                "((k-1)/(2k)) times the sum over places of the distance from the perfect list's",
                is_result=False,
            ),
            Quantity(
                "gamma",
                "gamma",
                "sum over the places of the list of the true top score minus the drawn one",
                lower_is_better=True,
            ),
            Quantity("gamma_per_node", "gamma / n", "the same over n", is_result=False),
            *REALISED,
        ),
    }
)


def quantities_of(identity: Mapping[str, object]) -> tuple[Quantity, ...]:
    """What a study's experiment measures without a truth; nothing for others than these.

    Examples
    --------
    >>> [each.name for each in quantities_of({"experiment": "latent_space"})][:2]
    ['loss', 'loss_bound']
    """
    return QUANTITIES.get(str(identity.get("experiment")), ())
