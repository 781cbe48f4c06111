r"""Whether the moment equations have a solution: decided exactly, before any solving.

Derived here. Let K = q - 1 and r, c be the treated margins, with equal totals. The equations have
a solution, and then exactly one, if and only if some matrix with zero diagonal and every other
entry strictly inside (0, K) has row sums r and column sums c. By max-flow min-cut on the bipartite
graph of ordered pairs, such a matrix exists if and only if for every set I of rows and J of
columns that leave some pair to cut

    sum_{i in I} r_i - sum_{j in J} c_j  <  K #{(i, j): i in I, j not in J, i != j}.

For fixed I of size k the worst J takes each column with c_j < K (k - [j in I]), which turns the
condition into sum_{i in I} r_i < sum_j min(c_j, K (k - [j in I])). As
min(c, K (k-1)) = min(c, K k) - min(max(c - K (k-1), 0), K), the set I enters through

    g_i = r_i + min(max(c_i - K (k-1), 0), K)

alone, and the worst I of size k takes the k largest g_i. (Sorting by r alone is wrong for q >= 3
and for real margins.) All arithmetic is on whole numbers: the margins times their denominator.

The same holds where only rows R and columns C are left, i != j: I lies in R, J in C, the second
term of g_i counts for i in C alone, and k < #R. Only where R and C are the same two nodes the
pairs fall apart into two that know nothing of each other; then parameters are not unique.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from p0sim.arrays import default_labels, require_q
from p0sim.errors import InvalidNetworkError, NoEstimateError, name_some
from p0sim.estimate.cuts import INT64_END, smallest_tight_size
from p0sim.estimate.margins import UNBIASED, Margins, margins_of, treat_margins
from p0sim.model.bidegree import BiDegree, degree_arrays, shared_index
from p0sim.privacy.edge_flip import FlippedBiDegree
from p0sim.privacy.noisy_bidegree import NoisyBiDegree


@dataclass(frozen=True)
class Existence:
    """Answer of the exact test.

    Attributes
    ----------
    exists : bool
    reason : str
        Empty when an estimate exists; otherwise one line naming the margins or blocks at fault.
    nodes : tuple of str
        Labels of the nodes involved.
    """

    exists: bool
    reason: str = ""
    nodes: tuple[str, ...] = ()

    def require(self, *ways: str) -> None:
        """Raise NoEstimateError with the reason, and ways to go on, unless an estimate exists."""
        if not self.exists:
            raise NoEstimateError(self.reason, self.nodes, ways)


def existence(
    z: NoisyBiDegree | FlippedBiDegree | BiDegree | tuple[ArrayLike, ArrayLike],
    margins: str = "balanced",
    q: int | None = None,
) -> Existence:
    """Whether the moment equations for these degrees have a solution, and if not, why.

    Parameters
    ----------
    z : NoisyBiDegree, FlippedBiDegree, BiDegree or (out_degree, in_degree)
    margins : {"balanced", "drop_last"}
    q : int, optional
        Weights lie in 0..q-1; needed with a tuple only.

    Returns
    -------
    Existence
        With `exists`, `reason` and `nodes`.

    Raises
    ------
    TypeError
        If q is missing for a tuple.
    InvalidNetworkError, InvalidParametersError
        If the degrees, q or `margins` break their rules.

    Notes
    -----
    The derivation stands at the top of this module. A solver's convergence proves nothing: on
    separated blocks common solvers return finite parameters with tiny residuals.

    Examples
    --------
    >>> existence(([3, 1, 2], [2, 2, 2]), q=3).exists
    True
    >>> print(existence(([2, 6, 5], [7, 1, 5]), q=5).reason)
    the margins need weight 4 or more from 3 to 1 and weight 0 or less from 1 to 2
    """
    if isinstance(z, BiDegree | NoisyBiDegree | FlippedBiDegree):
        if q is not None and q != z.q:
            raise InvalidNetworkError(f"q must be the degrees' own {z.q}; got {q}")
        return check_margins(margins_of(z, margins), z.q, z.nodes)
    pair = require_pair(z)
    if q is None:
        raise TypeError("q must be given with a pair of degree vectors")
    sums = degree_arrays(*pair)
    return check_margins(treat_margins(*sums, margins), require_q(q), shared_index(pair))


def require_pair(z: object) -> tuple[ArrayLike, ArrayLike]:
    """A pair (out_degree, in_degree); anything else is refused with a hint."""
    if isinstance(z, tuple | list) and len(z) == 2:
        return z[0], z[1]
    hint = "; a network has .bidegree()" if hasattr(z, "bidegree") else ""
    raise TypeError(
        f"z must be degrees or a pair (out_degree, in_degree); got {type(z).__name__}{hint}"
    )


def check_margins(margins: Margins, q: int, nodes: Sequence[str] | None = None) -> Existence:
    """The exact test on treated margins.

    Parameters
    ----------
    margins : Margins
    q : int
    nodes : sequence of str, optional
        Labels for the reason.

    Returns
    -------
    Existence
    """
    n, top = len(margins.scaled_rows), (q - 1) * margins.denominator
    rows, columns = _with_room(margins, n * top)
    outside = _outside(rows, columns, (n - 1) * top)
    size = None if outside else smallest_tight_size(rows, columns, top)
    if size is None and not outside:
        return Existence(True)
    labels = default_labels(n) if nodes is None else nodes
    if size is None:
        return _margin_fails(margins, q, outside, labels)
    everyone = np.ones(n, dtype=bool)
    return _cut_fails(rows, columns, top, size, q, labels, everyone, everyone)


def check_block(
    rows: NDArray[Any],
    columns: NDArray[Any],
    top: int,
    sends: NDArray[np.bool_],
    receives: NDArray[np.bool_],
    q: int,
    nodes: Sequence[str],
) -> Existence:
    """The exact test where only some nodes are left as rows and some as columns.

    Parameters
    ----------
    rows, columns : ndarray of int64 or of Python integers, shape (n,)
        Margins of the pairs that are left, in whole units: equal totals, and each strictly between
        0 and `top` times its number of partners; what stands at nodes that left is not looked at.
    top : int
        K in that unit.
    sends, receives : ndarray of bool, shape (n,)
        Which nodes are left as rows, and which as columns.
    q : int
    nodes : sequence of str
        Labels for the reason.

    Returns
    -------
    Existence
    """
    if not (sends.any() and receives.any()):
        return Existence(False, f"every arc is forced to 0 or to {q - 1}: nothing is left to fit")
    if np.count_nonzero(sends) == 2 and np.array_equal(sends, receives):
        pair = tuple(nodes[k] for k in np.flatnonzero(sends).tolist())
        reason = f"only the arcs between {pair[0]} and {pair[1]} are left: they do not tell senders"
        return Existence(False, f"{reason} from receivers", pair)
    rows, columns = np.where(sends, rows, -(top + 1)), np.where(receives, columns, 0)
    size = smallest_tight_size(rows, columns, top, int(np.count_nonzero(sends)))
    if size is None:
        return Existence(True)
    return _cut_fails(rows, columns, top, size, q, nodes, sends, receives)


def _with_room(margins: Margins, largest: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The scaled margins, as Python integers where a margin and K together could pass int64."""
    rows, columns = margins.scaled_rows, margins.scaled_columns
    if largest >= INT64_END:
        return rows.astype(object), columns.astype(object)
    return rows, columns


def _outside(rows: NDArray[Any], columns: NDArray[Any], full: int) -> list[int]:
    """Positions among the 2n margins that are not strictly between 0 and full."""
    both = np.concatenate([rows, columns])
    at_end = (both <= 0) | (both >= full)
    return np.flatnonzero(at_end).tolist() if np.count_nonzero(at_end) else []


def _cut_fails(
    rows: NDArray[Any],
    columns: NDArray[Any],
    top: int,
    size: int,
    q: int,
    labels: Sequence[str],
    sends: NDArray[np.bool_],
    receives: NDArray[np.bool_],
) -> Existence:
    """Name the blocks of the tight cut: I to outside J full, outside I to J empty."""
    senders = np.zeros(len(rows), dtype=bool)
    raised = rows + np.clip(columns - top * (size - 1), 0, top)
    senders[np.argsort(-raised, kind="stable")[:size]] = True
    receivers = np.asarray(columns < top * (size - senders.astype(columns.dtype)), dtype=bool)
    full = _arcs(senders, ~receivers & receives, labels)
    empty = _arcs(~senders & sends, receivers & receives, labels)
    needs = [f"weight {q - 1} or more {full}"] if full else []
    needs += [f"weight 0 or less {empty}"] if empty else []
    involved = np.flatnonzero(senders | ~receivers & receives).tolist()
    return Existence(
        False,
        f"the margins need {' and '.join(needs)}",
        tuple(labels[k] for k in involved),
    )


def _arcs(senders: NDArray[np.bool_], receivers: NDArray[np.bool_], labels: Sequence[str]) -> str:
    """The phrase "from I to J", no node named as its own partner; empty where no pair is left."""
    ends = [np.flatnonzero(members).tolist() for members in (senders, receivers)]
    partners = [
        [k for k in end if other != [k]] for end, other in zip(ends, ends[::-1], strict=True)
    ]
    if not all(partners):
        return ""
    names = [name_some([labels[k] for k in end]) for end in partners]
    return f"from {names[0]} to {names[1]}"


def _margin_fails(margins: Margins, q: int, outside: list[int], labels: Sequence[str]) -> Existence:
    n = len(margins.scaled_rows)
    values = np.concatenate([margins.rows, margins.columns])
    named = [
        f"{'out' if k < n else 'in'}-degree of {labels[k % n]} is {values[k]:.6g}" for k in outside
    ]
    treated = {
        "balanced": "after balancing",
        "drop_last": "with the last in-degree implied",
        UNBIASED: "without the bias of flips",
    }
    return Existence(
        False,
        f"{name_some(named)} {treated[margins.treatment]}; an estimate needs every degree strictly "
        f"between 0 and (n-1)(q-1) = {(n - 1) * (q - 1)}",
        tuple(dict.fromkeys(labels[k % n] for k in outside)),
    )
