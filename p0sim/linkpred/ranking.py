"""A list of nodes that one node might want to be joined to, drawn under edge privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from p0sim.errors import InvalidParametersError, InvalidPrivacyError
from p0sim.linkpred.calibration import DRAWING, Calibration, bounds_of, calibrate
from p0sim.linkpred.graphs import Graph, as_graph
from p0sim.linkpred.mechanisms import rank
from p0sim.linkpred.query import PROVED, Query
from p0sim.linkpred.scores import Protocol, find_protocol, score
from p0sim.linkpred.secure_ranking import rank_securely
from p0sim.privacy.exact_epsilon import ExactEpsilon, exact_epsilon
from p0sim.privacy.ledger import ledger_of, spend

NOT_RECORDED = (
    "Nothing was recorded: a graph that comes from no file has no ledger unless one is given.\n"
    "You must keep count of what is spent."
)
NOT_COVERED = (
    "Not covered: edges at {node} itself, for who is recommended is not joined to {node}; a node\n"
    "with all its edges; lists for several nodes taken together, and further lists: epsilons add\n"
    "up; labels; timing."
)
HOW_DRAWN = {
    "exactly": "Drawn exactly, from the operating system's randomness.",
    "in floats": (
        "Drawn from the operating system's randomness in floating point: epsilon is not warranted\n"
        "for lists with a probability below about 1e-12."
    ),
    "simulation": (
        "A simulation, drawn in floating point from a seeded generator: for studies, and not a\n"
        "private list."
    ),
}


@dataclass(frozen=True)
class Recommendation:
    """An ordered list of nodes, and what it cost.

    Attributes
    ----------
    nodes : tuple of str
        Labels, the first the one most recommended; none is joined to the query node.
    node : str
        The query node.
    epsilon : str
        Privacy loss as it was asked for, exact.
    law : Calibration
        Mechanism, its parameter, and both epsilons.
    protocol : str
        Name of the score.
    drawn : {"exactly", "in floats", "simulation"}
    bounds : dict of str to float
        What the parameter costs as each calibration has it; empty for mechanisms that know one
        only, and where the sensitivity was set by hand.
    recorded : bool
        Whether what it cost stands in a ledger.
    """

    nodes: tuple[str, ...]
    node: str
    epsilon: str
    law: Calibration
    protocol: str
    drawn: str
    bounds: Mapping[str, float] = field(default_factory=dict)
    recorded: bool = False

    @property
    def epsilon_claimed(self) -> float:
        """Privacy loss by the chosen calibration."""
        return self.law.epsilon_claimed

    @property
    def epsilon_realised(self) -> float:
        """The smallest bound on the privacy loss that is proved for this query."""
        return self.law.epsilon_realised

    @property
    def statement(self) -> str:
        """What is protected and what is not, in words for those who read the list."""
        lines = [self._promise, *self._comparison, NOT_COVERED.format(node=self.node)]
        if self.protocol not in PROVED and isfinite(self.epsilon_realised):
            lines.append(f"The sensitivity of {self.protocol} is declared, not proved.")
        lines.append(HOW_DRAWN[self.drawn])
        return "\n".join([*lines, *([] if self.recorded or self._is_simulated else [NOT_RECORDED])])

    @property
    def _is_simulated(self) -> bool:
        return self.drawn == "simulation"

    @property
    def _comparison(self) -> list[str]:
        told = ", ".join(f"{name} {loss:.4g}" for name, loss in self.bounds.items())
        return [f"Epsilon of these draws as each calibration has it: {told}."] if told else []

    @property
    def _promise(self) -> str:
        law, node = self.law, self.node
        delta = f", delta = {law.delta:g}" if law.delta else ""
        if law.note:
            return f"{law.note[0].upper()}{law.note[1:]}.{self._true_cost(delta)}"
        how = f", calibration {law.calibration}" if law.calibration else ""
        return (
            f"Privacy: epsilon = {self.epsilon}{delta} for one edge that is not at {node}\n"
            f"({law.mechanism} with {self.protocol}{how}; at most "
            f"{law.epsilon_realised:.4g} is realised):\n"
            "each list had at most exp(epsilon) times the chance that it has with that edge added\n"
            f"or taken away{', up to delta' if delta else ''}. "
            f"Public: the list of nodes, {node}'s own edges, and all settings."
        )

    def _true_cost(self, delta: str) -> str:
        if self.law.mechanism == "none":
            return ""
        if not isfinite(self.epsilon_realised):
            return (
                f"\nEpsilon = {self.epsilon} was asked for; of {self.protocol} no sensitivity is "
                "known,\nand so no bound on the epsilon of these draws."
            )
        return (
            f"\nEpsilon = {self.epsilon} was asked for; these draws realise epsilon = "
            f"{self.epsilon_realised:.6g}{delta},\nthe smallest bound that is proved with the "
            f"sensitivity that {self.protocol} has."
        )


def recommend(
    graph: Any,
    u: object,
    k: int = 10,
    protocol: str | Protocol = "AA",
    mechanism: str = "dplp",
    epsilon: str | int | Fraction = "1",
    calibration: str | None = None,
    *,
    sensitivity: float | None = None,
    delta: float | None = None,
    rng: np.random.Generator | None = None,
    ledger: str | Path | None = None,
    budget: str | int | Fraction | None = None,
) -> Recommendation:
    """Recommend k nodes to a node, in order, under edge privacy.

    Parameters
    ----------
    graph : Graph, or what :func:`p0sim.as_graph` takes
        All its nodes must be public.
    u : str
        Label of the query node.
    k : int
        Length of the list; at most the number of nodes that u is not joined to.
    protocol : str or Protocol
        The score: "CN", "JC", "AA", or one of your own with a declared sensitivity.
    mechanism : {"dplp", "laplace", "gaussian", "exponential", "none"}
        none, the true top k, is for studies only.
    epsilon : str, int or Fraction
        Privacy loss, exact: "0.1" or "7/3"; a float is refused. At least 1e-6.
    calibration : {"paper", "sharp", "exact"}, optional
        How the parameter of dplp and exponential follows from epsilon, see
        :mod:`p0sim.linkpred.privacy_loss`; sharp where it is left out. exact is for CN.
    sensitivity : float, optional
        Used in place of the proved one, for studies only; the result is marked "not private".
    delta : float, optional
        For gaussian, and needed there.
    rng : numpy.random.Generator, optional
        Makes it a simulation, for studies. Without it the operating system's randomness is used.
    ledger : path, optional
        Where it is entered what was spent. A graph that came from a file has its own ledger beside
        the file and needs none; simulations spend nothing.
    budget : str, int or Fraction, optional
        What everything in the ledger may cost together; set the first time, and binding.

    Returns
    -------
    Recommendation

    Raises
    ------
    InvalidNetworkError
        If u is no node, or the graph breaks a rule.
    InvalidParametersError
        If k or the protocol breaks a rule, or u is joined to all other nodes.
    InvalidPrivacyError
        If epsilon, delta, the mechanism or the calibration breaks a rule, a sensitivity is missing
        or set by hand without rng, or the budget does not allow it. Nothing is drawn then.
    CannotWriteError
        If the ledger cannot be written; nothing is drawn then.

    Notes
    -----
    Neighbours are two graphs on the same nodes that differ in one edge which is not at u.
    Protected is that edge. Not protected: the edges at u, since nobody is recommended who is joined
    to u already; a node with all its edges; lists for several nodes taken together, and further
    lists, whose epsilons add up; how long the draw takes.

    References
    ----------
    .. [1] De and Chakrabarti, Differentially private link prediction with protected connections,
       arXiv 1908.04849v1: Algorithm 1.

    Examples
    --------
    >>> path = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> recommend(path, "1", k=2, protocol="CN", epsilon="1000").nodes
    ('3', '4')
    """
    loss, whole = exact_epsilon(epsilon), as_graph(graph)
    place, found = whole.position(str(u)), find_protocol(protocol)
    asked, size = query_of(whole, place, k, found), float(loss.value)
    law = calibrate(mechanism, size, asked, calibration, sensitivity=sensitivity, delta=delta)
    candidates = whole.candidates(place)
    scores = score(found, whole, [place])[0, candidates]
    recorded = False
    if rng is None:
        facts = {"k": int(k), "protocol": found.name, "node": str(u)}
        recorded = _enter(whole, loss, law, facts, ledger, budget)
        best = rank_securely(scores, k, mechanism, law.parameter, law.sensitivity)
    else:
        _refuse_ledger(ledger, budget)
        given = law.sensitivity
        best = rank(scores, k, mechanism, law.parameter, rng=rng, sensitivity=given)[0]
    drawn = "simulation" if rng is not None else "exactly" if mechanism in DRAWING else "in floats"
    labels = tuple(whole.nodes[chosen] for chosen in candidates[best])
    bounds = bounds_of(law, asked)
    return Recommendation(labels, str(u), loss.text, law, found.name, drawn, bounds, recorded)


def query_of(graph: Graph, u: int, k: int, protocol: str | Protocol) -> Query:
    """What calibrating a list for the node at position u needs, all its non-neighbours candidates.

    Examples
    --------
    >>> query_of(Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), 0, 1, "CN")
    Query(k=1, m=1, protocol='CN', degree=1, declared=1.0, one_direction=True)
    """
    found, degree = find_protocol(protocol), int(graph.degree[u])
    m = graph.n - 1 - degree
    if m < 1:
        raise InvalidParametersError(
            "node must have a candidate, another node that it is not joined to; "
            f"got {graph.nodes[u]}, joined to all {degree} others"
        )
    return Query(k, m, found.name, degree, found.sensitivity, found.one_direction)


def _enter(
    graph: Graph,
    loss: ExactEpsilon,
    law: Calibration,
    facts: dict[str, Any],
    ledger: str | Path | None,
    budget: str | int | Fraction | None,
) -> bool:
    """Refuse what protects nobody; else write down what the list costs, if there is a ledger."""
    if law.note:
        raise InvalidPrivacyError(
            f"rng must be given, in Python, for what is for studies only; {law.note}"
        )
    path = _ledger_path(graph, ledger)
    allowed = None if budget is None else exact_epsilon(budget, "budget").value
    if path is not None:
        mechanism = f"recommend_{law.mechanism}"
        chosen = {"calibration": law.calibration} if law.calibration else {}
        delta = {"delta": law.delta} if law.delta else {}
        spend(path, loss, allowed, mechanism=mechanism, n=graph.n, **facts, **chosen, **delta)
    elif budget is not None:
        raise InvalidPrivacyError(
            "budget must go with a ledger, and a graph from memory has none: give ledger=PATH"
        )
    return path is not None


def _ledger_path(graph: Graph, ledger: str | Path | None) -> Path | None:
    own = None if graph.source is None else ledger_of(graph.source)
    given = None if ledger is None else Path(ledger).resolve()
    if own and given and own != given:
        raise InvalidPrivacyError(
            f"ledger must be {own}, beside the graph's file, or left out; got {ledger}"
        )
    return own or given


def _refuse_ledger(ledger: object, budget: object) -> None:
    if ledger is not None or budget is not None:
        raise InvalidPrivacyError(
            "ledger and budget must be left out of a simulation, which spends nothing; got "
            f"{ledger}, {budget}"
        )
