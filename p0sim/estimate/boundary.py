r"""The extended estimate: nodes at the end of their range leave, the rest is fitted.

Derived here, from margins alone. A row whose margin is 0 sends nothing: its arcs are 0 and alpha is
-inf. A row whose margin is K = q - 1 times its partners sends K to each: alpha is inf, and K is
taken from every remaining column but its own. Columns likewise. As arcs leave, other margins may
come to an end of their range, so this is repeated until it changes nothing. Where an estimate
exists for the rows R and columns C that are left (:mod:`p0sim.estimate.existence`), the arcs fixed
on the way are exactly those that are 0, or K, in every matrix with these margins, and the law found
is the limit of the estimates for margins moved inside by less and less.

Margins with noise may lie beyond their range. What a node is short of, or has too much, is then
lost with its arcs, so the totals of the remaining rows and columns no longer agree: the difference
is shared evenly among all of them, as balancing does, or, with drop_last, goes to the last column
while that is left. Nodes at the low end leave first: where the arc from a row that must be full to
a column that must be empty cannot be both, it is 0.

So noise is lost where it is negative and kept where it is positive: on sparse degrees with much
noise the fitted total is far above the released ones (:mod:`p0sim.inference.totals`), and a ridge
is the better way on.

Who leaves earlier goes to infinity faster (:mod:`p0sim.model.extended`): an arc between two nodes
that left is decided by the earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from p0sim.arrays import IntVector
from p0sim.errors import name_some
from p0sim.estimate.existence import Existence, check_block
from p0sim.estimate.margins import EXACT_IN_FLOAT, Margins
from p0sim.model.extended import Block, free_block, full_arcs


@dataclass(frozen=True, eq=False)
class Boundary:
    """Who left, and the margins of those who did not.

    Attributes
    ----------
    alpha_rates, beta_rates : ndarray of int64, shape (n,)
        Negative where the parameter is -inf, positive where it is inf, larger for those who left
        earlier; 0 where it is left to fit.
    scaled_rows, scaled_columns : ndarray of int64 or of Python integers, shape (n,)
        Sums over the arcs that are left, times `denominator`, exact; 0 for nodes that left.
    denominator : int
    q : int
    treatment : str
        "balanced" or "drop_last".
    """

    alpha_rates: IntVector
    beta_rates: IntVector
    scaled_rows: NDArray[Any]
    scaled_columns: NDArray[Any]
    denominator: int
    q: int
    treatment: str

    @property
    def forced(self) -> int:
        """How many parameters are infinite."""
        return int(np.count_nonzero(self.alpha_rates) + np.count_nonzero(self.beta_rates))

    @cached_property
    def block(self) -> Block:
        """Rows and columns that are left."""
        return free_block(self.alpha_rates, self.beta_rates)

    @property
    def rest(self) -> Margins:
        """Sums over the arcs that are left."""
        return Margins(self.treatment, self.scaled_rows, self.scaled_columns, self.denominator)

    @cached_property
    def margins(self) -> Margins:
        """Sums over all arcs, the fixed ones too: what the extended estimate reproduces."""
        unit = (self.q - 1) * self.denominator
        rows, columns = (
            side + unit * full.astype(side.dtype)
            for side, full in zip(
                (self.scaled_rows, self.scaled_columns),
                full_arcs(self.alpha_rates, self.beta_rates),
                strict=True,
            )
        )
        return Margins(self.treatment, rows, columns, self.denominator)

    def check(self, nodes: Sequence[str]) -> Existence:
        """Whether an estimate exists for what is left."""
        top = (self.q - 1) * self.denominator
        sends, receives = self.alpha_rates == 0, self.beta_rates == 0
        answer = check_block(
            self.scaled_rows, self.scaled_columns, top, sends, receives, self.q, nodes
        )
        if answer.exists or not self.forced:
            return answer
        left = f"after {self.forced} parameters left for the boundary, {answer.reason}"
        return Existence(False, left, answer.nodes)


def find_boundary(margins: Margins, q: int) -> Boundary:
    """Let nodes leave until every margin is strictly inside its range.

    Parameters
    ----------
    margins : Margins
        Equal totals.
    q : int

    Returns
    -------
    Boundary

    Examples
    --------
    >>> from p0sim.estimate.margins import treat_margins
    >>> found = find_boundary(treat_margins(np.array([0, 2, 3, 2]), np.array([2, 1, 1, 3])), q=3)
    >>> found.alpha_rates, found.beta_rates
    (array([-1,  0,  0,  0]), array([0, 0, 0, 0]))
    """
    n = len(margins.scaled_rows)
    sides = _with_room(margins, n * (q - 1) * margins.denominator)
    # round in which a row, or a column, left, with the sign of its end; 0 while it is there
    left = np.zeros((2, n), dtype=np.int64)
    rest, unit = sides, margins.denominator
    for turn in range(1, 2 * n + 1):
        rest, unit = _rest(sides, left, margins, q)
        leaving = _leaving(rest, left, (q - 1) * unit)
        if not leaving.any() or not (left == 0).any(axis=1).all():
            break
        left += turn * leaving
    rates = np.sign(left) * (np.abs(left).max() + 1 - np.abs(left))
    rows, columns = np.where(left == 0, rest, 0)
    return Boundary(rates[0], rates[1], rows, columns, unit, q, margins.treatment)


def name_forced(rates: IntVector, nodes: Sequence[str], name: str) -> list[str]:
    """Phrases such as "to -inf: alpha of 2 nodes: ann, bob", none where no rate calls for it.

    Examples
    --------
    >>> name_forced(np.array([-1, 0, -2]), ["ann", "bob", "cy"], "alpha")
    ['to -inf: alpha of 2 nodes: ann, cy']
    """
    phrases = []
    for sign, end in ((-1, "-inf"), (1, "inf")):
        who = [nodes[k] for k in np.flatnonzero(np.sign(rates) == sign).tolist()]
        if who:
            count = "1 node" if len(who) == 1 else f"{len(who)} nodes"
            phrases.append(f"to {end}: {name} of {count}: {name_some(who)}")
    return phrases


def _with_room(margins: Margins, largest_margin: int) -> NDArray[Any]:
    """Both sides, shape (2, n), as Python integers where sharing could pass 2^53."""
    sides = np.array([margins.scaled_rows, margins.scaled_columns])
    largest = max(int(sides.max()), -int(sides.min()), 0) + largest_margin
    fits = 4 * len(sides[0]) * largest < EXACT_IN_FLOAT
    return sides if fits else sides.astype(object)


def _rest(
    sides: NDArray[Any], left: NDArray[np.int64], margins: Margins, q: int
) -> tuple[NDArray[Any], int]:
    """Margins over the arcs that are left, with equal totals again, and their unit."""
    unit, here = margins.denominator, left == 0
    full = (left > 0).sum(axis=1, keepdims=True) - (left > 0)
    # the columns at their high end have taken from the rows, and the rows from the columns
    rest = np.where(here, sides - (q - 1) * unit * full[::-1].astype(sides.dtype), 0)
    excess = int(rest[0].sum() - rest[1].sum())
    if excess == 0:
        return rest, unit
    if margins.treatment == "drop_last" and here[1, -1]:
        rest[1, -1] += excess
        return rest, unit
    shares = int(here.sum())
    signs = np.array([[-1], [1]], dtype=sides.dtype)
    return np.where(here, shares * rest + signs * excess, 0), shares * unit


def _leaving(rest: NDArray[Any], left: NDArray[np.int64], top: int) -> NDArray[np.int64]:
    """-1 for those at their low end; if there is none, 1 for those at their high end."""
    here = left == 0
    low: NDArray[np.bool_] = here & np.asarray(rest <= 0, dtype=bool)
    if low.any():
        return np.negative(low, dtype=np.int64)
    partners = (here.sum(axis=1)[::-1, None] - here[::-1]).astype(rest.dtype)
    high: NDArray[np.bool_] = here & np.asarray(rest >= top * partners, dtype=bool)
    return np.array(high, dtype=np.int64)
