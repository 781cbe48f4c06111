"""A private release of a real network's degrees, under edge differential privacy.

Nothing here takes a seed. Seeded noise for studies is in :mod:`p0sim.privacy.simulate`; the two
share no switch.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from p0sim.errors import InvalidNetworkError, InvalidPrivacyError
from p0sim.model.bidegree import BiDegree
from p0sim.model.networks import Network
from p0sim.privacy.exact_epsilon import ExactEpsilon, exact_epsilon
from p0sim.privacy.ledger import (
    ledger_of,
    read_ledger,
    require_affordable,
    require_writable,
    spend,
)
from p0sim.privacy.noisy_bidegree import NoisyBiDegree
from p0sim.privacy.release_files import new_folder, read_folder, write_files
from p0sim.privacy.release_mechanisms import EDGE_FLIP, PREPARE, Draw, check_law
from p0sim.privacy.release_record import LEDGERS, ReleaseRecord, versions_in_use

if TYPE_CHECKING:
    from p0sim.privacy.flipped_release import FlippedRelease


def release(
    network: Network | BiDegree,
    epsilon: str | int | Fraction,
    *,
    mechanism: str = "laplace",
    ledger: str | Path | None = None,
    budget: str | int | Fraction | None = None,
) -> Release | FlippedRelease:
    """Release the bi-degree of a network under edge differential privacy.

    Parameters
    ----------
    network : Network or BiDegree
        Whole-number degrees without noise; the node list must have been given, since nodes that
        are read off the edges tell of the edges.
    epsilon : str, int or Fraction
        Privacy loss, exact: "0.1" or "7/3"; a float is refused. At least 1e-6.
    mechanism : {"laplace", "edge_flip"}
        Exact discrete Laplace noise on the degrees, or randomised response on every ordered pair,
        which needs a Network.
    ledger : path, optional
        Where it is entered what was spent. A network that came from a file has its own ledger
        beside the file and needs none; without either the record says that there is none.
    budget : str, int or Fraction, optional
        What all releases of the ledger may cost together; set the first time, and binding.

    Returns
    -------
    Release, or FlippedRelease for edge_flip
        Raw whole numbers, neither clamped nor made to agree; `is_release` is True.

    Raises
    ------
    TypeError
        If the network is of another kind, or epsilon a float.
    InvalidNetworkError
        If the node list was not given.
    InvalidPrivacyError
        If epsilon or the mechanism breaks a rule, OpenDP is missing, or the budget does not allow
        it. All this is known before anything is entered or drawn.
    CannotWriteError
        If the ledger cannot be written; nothing is drawn then.

    Notes
    -----
    Neighbours are two networks on the same nodes that differ in the weight of one ordered pair,
    from any to any of 0..q-1. With laplace one vector of 2n values gets independent noise of scale
    2(q-1)/epsilon, so the whole release costs epsilon once. Protected is the weight of one edge.
    Not protected: a node with all its edges; n, the node list, q and epsilon, which are public and
    never read off the data; and how long the draw takes. Each call spends epsilon again; using the
    release, or reading it back, costs nothing.

    References
    ----------
    .. [1] Wang et al. 2022, section 2, with the sensitivity of
       :func:`~p0sim.privacy.sensitivity.bidegree_sensitivity`.
    .. [2] Canonne, Kamath and Steinke, The discrete Gaussian for differential privacy, 2020:
       the exact sampler.

    Examples
    --------
    >>> d = BiDegree([3, 1, 2], [2, 2, 2], q=3, nodes=["ann", "bob", "cy"])
    >>> release(d, "0.5")
    Release(n=3, q=3, epsilon=0.5; a release)
    """
    return plan_release(
        network, epsilon, mechanism=mechanism, ledger=ledger, budget=budget
    ).carry_out()


def read_release(directory: str | Path) -> Release | FlippedRelease:
    """Read a release directory; it costs nothing and never touches the network.

    Parameters
    ----------
    directory : str or Path
        Holds degrees.csv and release.json.

    Returns
    -------
    Release or FlippedRelease

    Raises
    ------
    InvalidPrivacyError, InvalidNetworkError
        If a file is missing, or what they say does not go together.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "friends"
    >>> release(BiDegree([3, 1, 2], [2, 2, 2], q=3), "7/3").write(folder)
    >>> read_release(folder).epsilon_text
    '7/3'
    """
    record, (nodes, out_degree, in_degree) = read_folder(directory)
    check_law(record.mechanism, record.law, record.q, Fraction(record.epsilon))
    return _released(record, out_degree, in_degree, nodes)


class Released:
    """What every kind of release has besides its degrees."""

    record: ReleaseRecord
    is_release = True

    # the degrees' own class says these
    out_degree: Any
    in_degree: Any
    nodes: tuple[str, ...]

    @property
    def epsilon_text(self) -> str:
        """Privacy loss as it was asked for, exact."""
        return self.record.epsilon

    @property
    def statement(self) -> str:
        """What is protected and what is not, in words."""
        return self.record.statement

    def __repr__(self) -> str:
        size = f"n={self.record.n}, q={self.record.q}"
        return f"{type(self).__name__}({size}, epsilon={self.epsilon_text}; a release)"

    def write(self, directory: str | Path) -> None:
        """Write degrees.csv and release.json into a new folder; it appears whole or not at all.

        Raises
        ------
        CannotWriteError
            If there is something of this name already, or the disk refuses.
        """
        with new_folder(directory) as folder:
            self.write_into(folder)

    def write_into(self, folder: Path) -> None:
        """Write both files into a folder that is there."""
        write_files(folder, self.record, self.nodes, self.out_degree, self.in_degree)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Release(Released, NoisyBiDegree):
    """Out-degrees and in-degrees with discrete Laplace noise, drawn to be published.

    Parameters
    ----------
    record : ReleaseRecord
        What is public about it.
    out_degree, in_degree : array_like of int, shape (n,)
        Raw noisy sums: they may be negative or above (n-1)(q-1), and their totals differ.
    nodes : sequence of str
        The public node list.

    Notes
    -----
    Neighbours are two networks that differ in the weight of one ordered pair, anywhere in 0..q-1.
    Protected is that weight, with loss epsilon; not a node with all its edges.
    """

    record: ReleaseRecord

    def __init__(
        self, record: ReleaseRecord, out_degree: ArrayLike, in_degree: ArrayLike, nodes: Any
    ) -> None:
        super().__init__(out_degree, in_degree, record.q, float(Fraction(record.epsilon)), nodes)
        object.__setattr__(self, "record", record)

    @property
    def scale(self) -> float:
        """The scale that was used: the least float that costs no more than epsilon."""
        scale: float = self.record.law["scale"]
        return scale


@dataclass(frozen=True, eq=False)
class ReleasePlan:
    """A release that passed every check and has cost nothing yet.

    Attributes
    ----------
    network : Network or BiDegree
    epsilon : ExactEpsilon
    draw : Draw
    ledger : Path or None
    budget : Fraction or None
    """

    network: Network | BiDegree
    epsilon: ExactEpsilon
    draw: Draw
    ledger: Path | None
    budget: Fraction | None

    @property
    def record(self) -> ReleaseRecord:
        """What will be public."""
        return ReleaseRecord(
            mechanism=self.draw.mechanism,
            n=self.network.n,
            q=self.network.q,
            epsilon=self.epsilon.text,
            law=self.draw.law,
            clip=self.network.clipped,
            ledger=LEDGERS[self.ledger is None],
            versions=versions_in_use(),
        )

    def carry_out(self) -> Release | FlippedRelease:
        """Enter the release in its ledger, then draw it."""
        self.enter()
        return self.draw_once()

    def enter(self, output: str | None = None) -> None:
        """Enter the release in its ledger, if it has one: from here on it counts as spent.

        Parameters
        ----------
        output : str, optional
            Folder that it is for: the ledger says so.
        """
        if self.ledger is not None:
            facts = {"mechanism": self.draw.mechanism, "q": self.network.q, "n": self.network.n}
            spend(self.ledger, self.epsilon, self.budget, **facts, output=output)

    def draw_once(self) -> Release | FlippedRelease:
        """Draw what was entered; each further draw would cost epsilon again."""
        return _released(self.record, *self.draw.make(), self.network.nodes)


def plan_release(
    network: Network | BiDegree,
    epsilon: str | int | Fraction,
    *,
    mechanism: str = "laplace",
    ledger: str | Path | None = None,
    budget: str | int | Fraction | None = None,
) -> ReleasePlan:
    """Check all that can be refused, and spend nothing; arguments as for :func:`release`.

    Raises
    ------
    TypeError, InvalidNetworkError, InvalidPrivacyError, CannotWriteError
        As for :func:`release`.
    """
    loss = exact_epsilon(epsilon)
    allowed = None if budget is None else exact_epsilon(budget, "budget").value
    if not isinstance(mechanism, str) or mechanism not in PREPARE:
        raise InvalidPrivacyError(
            f"mechanism must be one of {', '.join(PREPARE)}; got {mechanism!r}"
        )
    _require_known_nodes(network)
    path = _ledger_path(network, ledger, allowed)
    if path is not None:
        require_affordable(read_ledger(path), loss, allowed)
        require_writable(path)
    return ReleasePlan(network, loss, PREPARE[mechanism](network, loss.value), path, allowed)


def _released(
    record: ReleaseRecord, out_degree: ArrayLike, in_degree: ArrayLike, nodes: Any
) -> Release | FlippedRelease:
    if record.mechanism != EDGE_FLIP:
        return Release(record, out_degree, in_degree, nodes)
    from p0sim.privacy.flipped_release import FlippedRelease

    return FlippedRelease(record, out_degree, in_degree, nodes)


def _require_known_nodes(network: object) -> None:
    if not isinstance(network, Network | BiDegree):
        hint = "it carries noise already" if hasattr(network, "is_release") else "see as_network"
        raise TypeError(
            f"network must be a Network or a BiDegree; got {type(network).__name__}: {hint}"
        )
    if not network.nodes_given:
        raise InvalidNetworkError(
            "nodes must be given for a release, as a public list; got those that have an edge: "
            "their number would tell of the edges"
        )


def _ledger_path(
    network: Network | BiDegree, ledger: str | Path | None, budget: Fraction | None
) -> Path | None:
    own = None if network.source is None else ledger_of(network.source)
    given = None if ledger is None else Path(ledger).resolve()
    if own and given and own != given:
        raise InvalidPrivacyError(
            f"ledger must be {own}, beside the network's file, or left out; got {ledger}"
        )
    if budget is not None and not (own or given):
        raise InvalidPrivacyError(
            "budget must go with a ledger, and a network from memory has none: give ledger=PATH"
        )
    return own or given
