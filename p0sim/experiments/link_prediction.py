"""Recommendations under privacy on real graphs: hide some edges, draw lists, see who was found.

One replicate is one split of a graph into held-out pairs and a training graph, the same for all
protocols, mechanisms, calibrations and epsilons; each method draws lists for it several times.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from p0sim.arrays import FloatVector, IntVector
from p0sim.experiments.estimates import Estimate
from p0sim.experiments.graph_sources import GraphSection, GraphSource, find_graphs, graph_source
from p0sim.experiments.list_rules import Rule
from p0sim.experiments.rankings import (
    ListSection,
    RankingStudy,
    number,
    outcome_of_lists,
    read_lists,
    realised,
)
from p0sim.experiments.score_sources import (
    ProtocolSection,
    Score,
    find_score,
    find_scores,
    require_score,
)
from p0sim.linkpred.calibration import Calibration
from p0sim.linkpred.evaluation import map_reference, map_standard
from p0sim.linkpred.graphs import Graph
from p0sim.linkpred.scores import Protocol
from p0sim.linkpred.splits import SHARE, Split, candidate_scores, split
from p0sim.replicate import Cell, Fit, Outcome, Simulate, Streams

NAME = "link_prediction"
# keys of [model] that define what factors may name
DEFINED = {"graphs", "protocols"}
# rough seconds of a pair of nodes, and of the lists of a node; for the first forecast only
SECONDS_A_PAIR, SECONDS_A_NODE = 1.5e-7, 3e-4

ScoreSource: TypeAlias = Callable[[], FloatVector]


class LinkPredictionSection(ListSection):
    """[model]: how many draws, what is held out, how privacy is counted; graphs and scores."""

    model_config = ConfigDict(frozen=True)

    share: Annotated[float, Field(gt=0, lt=1)] = SHARE
    graphs: dict[str, GraphSection] = Field(default_factory=dict)
    protocols: dict[str, ProtocolSection] = Field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class LinkPrediction(RankingStudy):
    """What `experiment = "link_prediction"` runs.

    Factors are dataset and protocol, epsilon where a method is private, and mechanism, calibration
    and k unless their defaults dplp, sharp and 10 will do. Estimands, each a mean over the draws:

    map, map_reference : see :mod:`p0sim.linkpred.evaluation`
    queries_used, queries_left_out : queries with a relevant candidate, and those without
    realised_epsilon_worst, realised_epsilon_median : over these, what is proved, edge by edge

    None has a true value: the measure `mean` is the mean of each over splits.

    A dataset is an embedded graph or has a table [model.graphs.NAME]; a protocol is a built-in
    score or has a table [model.protocols.NAME]. A study protects nothing: its tables tell of the
    graph.

    Attributes
    ----------
    graphs : dict of str to GraphSource
        Those that the study file defines.
    scores : dict of str to Score
    """

    graphs: Mapping[str, GraphSource] = field(default_factory=dict)
    scores: Mapping[str, Score] = field(default_factory=dict)

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
        model, specs, measures = read_lists(sections, factors, LinkPredictionSection, needed)
        graphs = find_graphs(model.graphs, folder)
        scores = find_scores(model.protocols, folder, sources)
        return cls(model, specs, measures, tuple(factors), graphs, scores)

    @property
    def sources(self) -> dict[str, str]:
        """Texts of the Python files of scores, by the names the study file writes."""
        return {file: text for own in self.scores.values() for file, text in own.sources.items()}

    def content(self, cell: Cell) -> dict[str, Any]:
        """What generates the data of a cell: a graph of one's own by what its file holds."""
        source = self._graph(cell)
        return {
            "experiment": self.name,
            "model": self.model.model_dump(exclude=DEFINED),
            **({"graph": source.digest} if source.digest else {}),
        }

    def identity(self) -> dict[str, Any]:
        """Everything whose change makes old rows another study, the files of graphs and scores."""
        model = self.model.model_dump(exclude={n for n in DEFINED if not getattr(self.model, n)})
        files = {
            **{name: source.digest for name, source in self.graphs.items()},
            **{file: digest for own in self.scores.values() for file, digest in own.files.items()},
        }
        return {**super().identity(), "model": model, **({"sources": files} if files else {})}

    def cost(self, cell: Cell) -> float:
        """Seconds a replicate, a first guess."""
        graph, queries = self._graph(cell).material
        return graph.n * (SECONDS_A_PAIR * len(queries) + SECONDS_A_NODE * len(self.specs))

    def require(self, cell: Cell) -> None:
        """Refuse a cell that cannot run."""
        source = self._graph(cell)
        super().require(cell)
        if any(rule.looks_at_scores for rule in self.rules(cell).values()):
            require_score(self._score(cell), source)

    def prepare(self, cell: Cell) -> Simulate:
        """What simulates splits of one cell."""
        graph, queries = self._graph(cell).material
        return CellLists(self._score(cell), self.rules(cell), graph, queries, self.model).replicate

    def protocol(self, cell: Cell) -> Protocol:
        """The score in one cell, as far as it is known before there is a training graph."""
        return self._score(cell).protocol

    def _score(self, cell: Cell) -> Score:
        return find_score(str(cell.factors["protocol"]), self.scores)

    def _graph(self, cell: Cell) -> GraphSource:
        return graph_source(str(cell.factors["dataset"]), self.graphs)


@dataclass(frozen=True, eq=False)
class CellLists:
    """One cell's graph and rules.

    Attributes
    ----------
    score : Score
    rules : dict of str to Rule
        How each method draws.
    graph : Graph
    queries : ndarray of int
    model : LinkPredictionSection
    """

    score: Score
    rules: Mapping[str, Rule]
    graph: Graph
    queries: IntVector
    model: LinkPredictionSection

    def replicate(self, streams: Streams) -> dict[str, Fit]:
        """One split and its scores; the lists of every method wait to be drawn."""
        found = split(self.graph, self.queries, self.model.share, rng=streams.network)

        # one set of vectors for all that is compared on a split, and none for what needs none
        @cache
        def scores() -> FloatVector:
            return candidate_scores(self.score.on(found.training, streams.truth), found)

        def none() -> FloatVector:
            return np.zeros(len(found.candidates))

        return {
            name: partial(
                _evaluate,
                rule,
                found,
                scores if rule.looks_at_scores else none,
                self.model.draws,
                streams.other(name),
            )
            for name, rule in self.rules.items()
        }


def _evaluate(
    rule: Rule, found: Split, scores: ScoreSource, draws: int, rng: np.random.Generator
) -> Outcome:
    used = np.flatnonzero(found.n_relevant)
    if not len(used):
        return Outcome("no_estimate", reason="no query has a relevant candidate")
    hits, laws = _draw(rule, found, scores(), used, draws, rng)
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
    longest = min(rule.k, int(np.diff(found.starts)[used].max()))
    hits = np.zeros((draws, len(found.queries), longest), dtype=bool)
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
        number("queries_left_out", (n_relevant == 0).sum()),
    ]
