"""Does a private list become good as the graph grows? Simulated on the latent space graph.

One replicate is one graph, the same for all protocols, mechanisms, calibrations and epsilons;
lists are drawn for some of its nodes, all their non-neighbours candidates.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from p0sim.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector, require_n
from p0sim.experiments.estimates import Estimate
from p0sim.experiments.list_rules import Rule
from p0sim.experiments.rankings import (
    ListSection,
    Positive,
    RankingStudy,
    number,
    outcome_of_lists,
    read_lists,
    realised,
)
from p0sim.linkpred.latent_space import (
    LatentGraph,
    draw_latent_graph,
    loss_bound,
    ranking_loss,
    score_gap,
)
from p0sim.linkpred.scores import Protocol, score
from p0sim.replicate import Cell, Fit, Outcome, Simulate, Streams

NAME = "latent_space"
# rough seconds of the lists of a node, a candidate; for the first forecast only
SECONDS_A_CANDIDATE = 8e-8


class LatentSpaceSection(ListSection):
    """[model]: the space, and for how many nodes of a graph lists are drawn."""

    dimension: Annotated[int, Field(ge=1)] = 2
    radius: Positive = 0.25
    queries: Annotated[int, Field(ge=1)] = 20


@dataclass(frozen=True, eq=False)
class LatentSpace(RankingStudy):
    """What `experiment = "latent_space"` runs.

    Factors are n, epsilon where a method is private, and protocol, mechanism, calibration and k
    unless their defaults CN, dplp, sharp and 10 will do. Estimands, each a mean over the query
    nodes of a graph and the draws:

    loss : :func:`~p0sim.linkpred.latent_space.ranking_loss`
    loss_bound : :func:`~p0sim.linkpred.latent_space.loss_bound`
    gamma, gamma_per_node : :func:`~p0sim.linkpred.latent_space.score_gap`, and that over n
    realised_epsilon_worst, realised_epsilon_median : over the query nodes, what is proved

    None has a true value: the measure `mean` is the mean of each over graphs.
    """

    name: ClassVar[str] = NAME
    data_factors: ClassVar[frozenset[str]] = frozenset({"n"})

    @classmethod
    def from_sections(
        cls,
        sections: Mapping[str, Any],
        factors: Collection[str],
        folder: Path,
        reference: str = NAME,
        sources: Mapping[str, str] | None = None,
    ) -> LatentSpace:
        """Check the experiment's own sections of a study file.

        Raises
        ------
        InvalidStudyError
            Naming the section, the key, the rule and the value.
        """
        return cls(*read_lists(sections, factors, LatentSpaceSection, ("n",)), tuple(factors))

    def cost(self, cell: Cell) -> float:
        """Seconds a replicate, a first guess."""
        drawn = self.model.queries * self.model.draws * len(self.specs)
        seconds: float = SECONDS_A_CANDIDATE * float(cell.factors["n"]) * drawn
        return seconds

    def require(self, cell: Cell) -> None:
        """Refuse a cell that cannot run."""
        require_n(cell.factors["n"])
        super().require(cell)

    def prepare(self, cell: Cell) -> Simulate:
        """What simulates graphs of one cell."""
        n = int(cell.factors["n"])
        return CellGraphs(self.protocol(cell), self.rules(cell), n, self.model).replicate


@dataclass(frozen=True, eq=False)
class QueryData:
    """A query node's candidates: scores, distances, and its degree."""

    scores: FloatVector
    distances: FloatVector
    degree: int


@dataclass(frozen=True, eq=False)
class CellGraphs:
    """One cell's size and rules.

    Attributes
    ----------
    protocol : Protocol
    rules : dict of str to Rule
        How each method draws.
    n : int
    model : LatentSpaceSection
    """

    protocol: Protocol
    rules: Mapping[str, Rule]
    n: int
    model: LatentSpaceSection

    def replicate(self, streams: Streams) -> dict[str, Fit]:
        """One graph and its scores; the lists of every method wait to be drawn."""
        space = draw_latent_graph(
            self.n, self.model.radius, self.model.dimension, rng=streams.network
        )
        data = _queries(space, self.protocol, np.arange(min(self.n, self.model.queries)))
        return {
            name: partial(_evaluate, rule, data, self.n, self.model.draws, streams.other(name))
            for name, rule in self.rules.items()
        }


def _queries(space: LatentGraph, protocol: Protocol, queries: IntVector) -> list[QueryData]:
    """Of the first nodes, which are as good as any: the points are exchangeable."""
    rows = score(protocol, space.graph, queries)
    found = []
    for u, row in zip(queries.tolist(), rows, strict=True):
        others = space.graph.candidates(u)
        if len(others):
            degree = int(space.graph.degree[u])
            found.append(QueryData(row[others], space.distances(u, others), degree))
    return found


def _evaluate(
    rule: Rule, data: list[QueryData], n: int, draws: int, rng: np.random.Generator
) -> Outcome:
    if not data:
        return Outcome("no_estimate", reason="no query has a candidate")
    laws = [rule.law(len(query.scores), query.degree) for query in data]
    lists = [
        rule.lists(query.scores, law, draws, rng) for query, law in zip(data, laws, strict=True)
    ]
    figures = np.array([_figures(query, drawn) for query, drawn in zip(data, lists, strict=True)])
    return outcome_of_lists([*_estimates(figures, n), *realised(laws)])


def _figures(query: QueryData, lists: IntMatrix) -> tuple[float, float, float]:
    """Loss, its bound and gamma, each a mean over draws."""
    distances = query.distances[lists]
    nearest = np.sort(query.distances)[: lists.shape[1]]
    return (
        float(ranking_loss(distances).mean()),
        float(loss_bound(distances, nearest).mean()),
        float(score_gap(query.scores, lists).mean()),
    )


def _estimates(figures: FloatMatrix, n: int) -> list[Estimate]:
    loss, bound, gamma = figures.mean(axis=0)
    return [
        number("loss", loss),
        number("loss_bound", bound),
        number("gamma", gamma),
        number("gamma_per_node", gamma / n),
    ]
