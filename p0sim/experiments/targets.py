"""What is estimated in one cell: contrasts with their positions filled in, and their variances.

Estimands that are one parameter each are looked up, not multiplied out: a thousand of them as rows
of weights are sixteen megabytes that every replicate would read several times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from p0sim.arrays import FloatMatrix, FloatVector, IntVector
from p0sim.errors import InvalidStudyError
from p0sim.experiments.sections import ContrastSection
from p0sim.formulas import fill_positions
from p0sim.inference.contrasts import contrast_weights, term_names
from p0sim.inference.covariance import Covariance
from p0sim.validation import suggestion

# Texts that stand for every node, and how many of the last have no such parameter: beta_n is 0.
EVERY_NODE = {"alpha[*]": 0, "beta[*]": 1}


def fill_contrasts(
    contrasts: Iterable[ContrastSection], names: Mapping[str, float]
) -> dict[str, float]:
    """Contrasts with numbers in their brackets, in order, and the null of each.

    Parameters
    ----------
    contrasts : iterable of ContrastSection
        "alpha[*]" and "beta[*]" stand for the parameter of every node.
    names : mapping of str to number
        What positions may speak of; ``names["n"]`` is the largest.

    Raises
    ------
    InvalidStudyError
        If a position is none, or two contrasts are the same.

    Examples
    --------
    >>> every, first = ContrastSection(contrast="beta[*]"), ContrastSection(contrast="alpha[1]")
    >>> list(fill_contrasts([every, first], {"n": 4}))
    ['beta[1]', 'beta[2]', 'beta[3]', 'alpha[1]']
    """
    nulls: dict[str, float] = {}
    for entry in contrasts:
        for term in _terms("".join(entry.contrast.split()), names):
            if term in nulls:
                raise InvalidStudyError(f"[estimands] contrasts must differ; got {term} twice")
            nulls[term] = entry.null
    return nulls


def _terms(text: str, names: Mapping[str, float]) -> list[str]:
    if text in EVERY_NODE:
        last = int(names["n"]) - EVERY_NODE[text]
        return [text.replace("*", str(node)) for node in range(1, last + 1)]
    if "[*]" in text:
        raise InvalidStudyError(
            f"[estimands] contrasts must hold [*] in {' or '.join(EVERY_NODE)} alone; got {text!r}"
            + suggestion(text, EVERY_NODE)
        )
    return [fill_positions(text, names)]


@dataclass(frozen=True, eq=False)
class Targets:
    """Contrasts of theta, single parameters apart from sums.

    Attributes
    ----------
    terms : tuple of str
    is_single : ndarray of bool, shape (terms,)
        Which terms are one parameter.
    entries : ndarray of int, shape (singles,)
        Where in theta these stand.
    weights : ndarray, shape (sums, 2n - 1)
        Of all other terms.

    Examples
    --------
    >>> targets = Targets.of(["alpha[2]", "alpha[1]-alpha[2]"], ["1", "2", "3"])
    >>> targets.values(np.array([3.0, 1.0, 0.0, 0.0, 0.0]))
    array([1., 2.])
    """

    terms: tuple[str, ...]
    is_single: NDArray[np.bool_]
    entries: IntVector
    weights: FloatMatrix

    @classmethod
    def of(cls, terms: Sequence[str], nodes: Sequence[str]) -> Targets:
        """Read contrasts.

        Raises
        ------
        InvalidParametersError
            If one cannot be read, names an unknown node, or no free parameter is left in it.
        """
        place = {name: entry for entry, name in enumerate(term_names(nodes))}
        sums = [term for term in terms if term not in place]
        return cls(
            tuple(terms),
            np.array([term in place for term in terms], dtype=bool),
            np.array([place[term] for term in terms if term in place], dtype=np.int64),
            contrast_weights(sums, nodes) if sums else np.empty((0, len(place))),
        )

    def values(self, theta: FloatVector) -> FloatVector:
        """The contrasts at theta, shape (terms,)."""
        return self._in_order(theta[self.entries], self.weights @ theta)

    def variances(self, covariance: Covariance) -> FloatVector:
        """Their variances, shape (terms,)."""
        single = covariance.diagonal()[self.entries]
        return self._in_order(single, covariance.contrast_variances(self.weights))

    def _in_order(self, singles: FloatVector, sums: FloatVector) -> FloatVector:
        both = np.empty(len(self.terms))
        both[self.is_single], both[~self.is_single] = singles, sums
        return both
