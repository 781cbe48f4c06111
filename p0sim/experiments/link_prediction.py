"""Recommendations under privacy on real graphs: hide some edges, draw lists, see who was found.

One replicate is one split of a graph into held-out pairs and a training graph, the same for all
protocols, mechanisms, calibrations and epsilons; each method draws lists for it several times.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from p0sim.arrays import FloatVector, IntVector
from p0sim.datasets import load_graph
from p0sim.experiments.estimates import Estimate
from p0sim.experiments.list_rules import Rule
from p0sim.experiments.rankings import (
    ListSection,
    RankingStudy,
    number,
    outcome_of_lists,
    read_lists,
    realised,
)
from p0sim.linkpred.calibration import Calibration
from p0sim.linkpred.evaluation import map_reference, map_standard
from p0sim.linkpred.graphs import Graph
from p0sim.linkpred.splits import SHARE, Split, candidate_scores, query_nodes, split
from p0sim.replicate import Cell, Fit, Outcome, Simulate, Streams

NAME = "link_prediction"
# rough seconds of a pair of nodes, and of the lists of a node; for the first forecast only
SECONDS_A_PAIR, SECONDS_A_NODE = 1.5e-7, 3e-4


class LinkPredictionSection(ListSection):
    """[model]: how many draws, what is held out, and how privacy is counted."""

    share: Annotated[float, Field(gt=0, lt=1)] = SHARE


@dataclass(frozen=True, eq=False)
class LinkPrediction(RankingStudy):
    """What `experiment = "link_prediction"` runs.

    Factors are dataset and protocol, epsilon where a method is private, and mechanism, calibration
    and k unless their defaults dplp, sharp and 10 will do. Estimands, each a mean over the draws:

    map, map_reference : see :mod:`p0sim.linkpred.evaluation`
    queries_used : queries with a relevant candidate
    realised_epsilon_worst, realised_epsilon_median : over these, what is proved, edge by edge

    The measure `bias` is the mean of each over splits: their true values are set to 0.
    """

    name: ClassVar[str] = NAME
    data_factors: ClassVar[frozenset[str]] = frozenset({"dataset"})

    @classmethod
    def from_sections(
        cls,
        sections: Mapping[str, Any],
        factors: Collection[str],
        folder: Path,
        reference: str = NAME,
        sources: Mapping[str, str] | None = None,
    ) -> LinkPrediction:
        """Check the experiment's own sections of a study file.

        Raises
        ------
        InvalidStudyError
            Naming the section, the key, the rule and the value.
        """
        needed = ("dataset", "protocol")
        return cls(*read_lists(sections, factors, LinkPredictionSection, needed), tuple(factors))

    def cost(self, cell: Cell) -> float:
        """Seconds a replicate, a first guess."""
        graph, queries = _material(str(cell.factors["dataset"]))
        return graph.n * (SECONDS_A_PAIR * len(queries) + SECONDS_A_NODE * len(self.specs))

    def require(self, cell: Cell) -> None:
        """Refuse a cell that cannot run."""
        _material(str(cell.factors["dataset"]))
        super().require(cell)

    def prepare(self, cell: Cell) -> Simulate:
        """What simulates splits of one cell."""
        graph, queries = _material(str(cell.factors["dataset"]))
        return CellLists(
            self.protocol(cell), self.rules(cell), graph, queries, self.model
        ).replicate


@lru_cache(maxsize=8)
def _material(dataset: str) -> tuple[Graph, IntVector]:
    graph = load_graph(dataset)
    return graph, query_nodes(graph)


@dataclass(frozen=True, eq=False)
class CellLists:
    """One cell's graph and rules.

    Attributes
    ----------
    protocol : str
    rules : dict of str to Rule
        How each method draws.
    graph : Graph
    queries : ndarray of int
    model : LinkPredictionSection
    """

    protocol: str
    rules: Mapping[str, Rule]
    graph: Graph
    queries: IntVector
    model: LinkPredictionSection

    def replicate(self, streams: Streams) -> dict[str, Fit]:
        """One split and its scores; the lists of every method wait to be drawn."""
        found = split(self.graph, self.queries, self.model.share, rng=streams.network)
        scores = candidate_scores(self.protocol, found)
        return {
            name: partial(_evaluate, rule, found, scores, self.model.draws, streams.other(name))
            for name, rule in self.rules.items()
        }


def _evaluate(
    rule: Rule, found: Split, scores: FloatVector, draws: int, rng: np.random.Generator
) -> Outcome:
    used = np.flatnonzero(found.n_relevant)
    if not len(used):
        return Outcome("no_estimate", reason="no query has a relevant candidate")
    hits, laws = _draw(rule, found, scores, used, draws, rng)
    return outcome_of_lists([*_precision(hits, found.n_relevant), *realised(laws)])


def _draw(
    rule: Rule,
    found: Split,
    scores: FloatVector,
    used: IntVector,
    draws: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.bool_], list[Calibration]]:
    """Hits of the lists, no list drawn where none can hit; and how each list was drawn."""
    hits = np.zeros((draws, len(found.queries), rule.k), dtype=bool)
    degrees, laws = found.training.degree[found.queries].tolist(), []
    for k in used.tolist():
        pairs = found.pairs(k)
        law = rule.law(pairs.stop - pairs.start, degrees[k])
        lists = rule.lists(scores[pairs], law, draws, rng)
        hits[:, k, : lists.shape[1]] = found.relevant[pairs][lists]
        laws.append(law)
    return hits, laws


def _precision(hits: NDArray[np.bool_], n_relevant: IntVector) -> list[Estimate]:
    reference = map_reference(hits)
    known = reference[np.isfinite(reference)]
    return [
        number("map", map_standard(hits, n_relevant).mean()),
        *([number("map_reference", known.mean())] if len(known) else []),
        number("queries_used", (n_relevant > 0).sum()),
    ]
