"""Scores that a study of recommendations ranks by: built in, the user's own, or node vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from p0sim.arrays import FloatMatrix, IntVector
from p0sim.errors import InvalidParametersError, InvalidStudyError, P0SimError
from p0sim.experiments.graph_sources import GraphSource
from p0sim.experiments.rankings import Positive
from p0sim.experiments.sources import Source, digest_of
from p0sim.linkpred.embeddings import (
    DIMENSION,
    embedding_protocol,
    node2vec,
    require_installed,
)
from p0sim.linkpred.graphs import Graph
from p0sim.linkpred.scores import BUILT_IN, Protocol, find_protocol, score
from p0sim.linkpred.vector_files import read_vectors
from p0sim.model.file_content import file_bytes
from p0sim.validation import one_of

Count: TypeAlias = Annotated[int, Field(ge=1)]
# queries for which a function of one's own is tried before a study starts
TRIED = 2


class Node2VecSection(BaseModel):
    """Keys of node2vec in [model.protocols.NAME]: arguments of the function of that name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dimension: Count = DIMENSION
    walks: Count = 10
    length: Count = 80
    p: Positive = 1.0
    q: Positive = 1.0
    window: Count = 10
    epochs: Count = 1


class ProtocolSection(BaseModel):
    """[model.protocols.NAME]: a score of one's own, which the factor protocol may name.

    One of score, "FILE.py:FUNCTION" with ``function(graph, queries)`` as
    :func:`~p0sim.linkpred.scores.register_protocol` takes it; vectors, a file; and node2vec. A
    sensitivity is declared for a score alone, and nobody checks it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: str | None = None
    sensitivity: Positive | None = None
    one_direction: bool = False
    vectors: str | None = None
    node2vec: Node2VecSection | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> ProtocolSection:
        kinds = ("score", "vectors", "node2vec")
        given = [name for name in kinds if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("must have one of score, vectors and node2vec")
        if self.score is None and (self.sensitivity is not None or self.one_direction):
            raise ValueError(
                f"must not have sensitivity or one_direction beside {given[0]}: no bound is known"
            )
        return self


@dataclass(frozen=True, eq=False)
class Score:
    """A score that is the same function on every graph.

    Attributes
    ----------
    name : str
    """

    name: str

    @property
    def protocol(self) -> Protocol:
        """What is known before there is a graph: the name and the sensitivity."""
        return find_protocol(self.name)

    @property
    def sources(self) -> dict[str, str]:
        """Texts of the Python files that it needs, by the names the study file writes."""
        return {}

    @property
    def files(self) -> dict[str, str]:
        """Hashes of the files that decide what it is."""
        return {}

    def on(self, training: Graph, rng: np.random.Generator) -> Protocol:
        """The score to use on a training graph."""
        return self.protocol

    def require(self, graph: Graph, queries: IntVector) -> None:
        """Refuse a score that cannot be had on a graph; those of the package always can."""


@dataclass(frozen=True, eq=False)
class UserScore(Score):
    """A function in a Python file of the user's own."""

    source: Source
    sensitivity: float | None
    one_direction: bool

    @property
    def protocol(self) -> Protocol:
        """The function, with the sensitivity that was declared."""
        return Protocol(self.name, self.source.function(), self.sensitivity, self.one_direction)

    @property
    def sources(self) -> dict[str, str]:
        """Text of the Python file."""
        return {self.source.file: self.source.text}

    @property
    def files(self) -> dict[str, str]:
        """Hash of the Python file."""
        return {self.source.file: self.source.digest}

    def require(self, graph: Graph, queries: IntVector) -> None:
        """Refuse a function that fails on a few queries, or gives them what is no score."""
        score(replace(self.protocol, function=self.source.tried), graph, queries[:TRIED])


@dataclass(frozen=True, eq=False)
class VectorScore(Score):
    """A logistic regression on node vectors from a file.

    So come Struct2Vec, PRUNE, LINE and whatever else is not computed here. The regression is
    trained anew on each split's training graph. The vectors are what they are: if they were made
    from the whole graph they know the held-out edges, and precision is too high.
    """

    path: Path
    digest: str

    @property
    def protocol(self) -> Protocol:
        """A name without a sensitivity: none is proved."""
        return _untrained(self.name)

    @property
    def files(self) -> dict[str, str]:
        """Hash of the file."""
        return {self.path.name: self.digest}

    def on(self, training: Graph, rng: np.random.Generator) -> Protocol:
        """The regression, trained on the pairs of a training graph."""
        vectors = read_vectors(self.path, training)
        return embedding_protocol(vectors, training, rng=rng, name=self.name)

    def require(self, graph: Graph, queries: IntVector) -> None:
        """Refuse a file without a vector for each node."""
        require_installed("a score from vectors", "scikit-learn")
        read_vectors(self.path, graph)


@dataclass(frozen=True, eq=False)
class Node2VecScore(Score):
    """A logistic regression on vectors by Node2Vec, both from a split's training graph alone."""

    section: Node2VecSection = field(default_factory=Node2VecSection)

    @property
    def protocol(self) -> Protocol:
        """A name without a sensitivity: none is proved."""
        return _untrained(self.name)

    def on(self, training: Graph, rng: np.random.Generator) -> Protocol:
        """Vectors and regression of a training graph."""
        vectors = node2vec(training, **self.section.model_dump(), rng=rng)
        return embedding_protocol(vectors, training, rng=rng, name=self.name)

    def require(self, graph: Graph, queries: IntVector) -> None:
        """Refuse it where what computes it is not installed."""
        require_installed("Node2Vec", "gensim")
        require_installed("a score from vectors", "scikit-learn")


def find_scores(
    sections: Mapping[str, ProtocolSection],
    folder: Path,
    sources: Mapping[str, str] | None = None,
) -> dict[str, Score]:
    """The scores that a study file defines.

    Parameters
    ----------
    sections : mapping
        The tables [model.protocols.NAME].
    folder : Path
        Where the study file stands; paths in it are relative to that.
    sources : mapping of str to str, optional
        Stored texts of Python files, used in place of what is on disk now.

    Raises
    ------
    InvalidStudyError
        In one line, if a name is built in or a file breaks a rule.
    """
    return {name: _find(name, section, folder, sources) for name, section in sections.items()}


def find_score(name: str, own: Mapping[str, Score]) -> Score:
    """The score that a cell names.

    Raises
    ------
    InvalidStudyError
        If there is none of this name; the nearest is told.

    Examples
    --------
    >>> find_score("AA", {}).protocol
    Protocol('AA', sensitivity=1.4426950408889634)
    """
    if name in own:
        return own[name]
    try:
        return Score(find_protocol(name).name)
    except InvalidParametersError:
        known = [*BUILT_IN, *own]
        raise InvalidStudyError(
            "[factors.text] protocol must be "
            + one_of(name, known, beside=", or have a table [model.protocols.NAME]")
        ) from None


@lru_cache(maxsize=256)
def require_score(found: Score, source: GraphSource) -> None:
    """Refuse a score that cannot be had on a graph, before anything runs.

    Raises
    ------
    InvalidStudyError
        In one line, naming score and graph.
    """
    try:
        found.require(*source.material)
    except P0SimError as error:
        raise InvalidStudyError(
            f"[model.protocols.{found.name}] {error} (tried on {source.name})"
        ) from None


def _find(
    name: str, section: ProtocolSection, folder: Path, sources: Mapping[str, str] | None
) -> Score:
    place = f"[model.protocols.{name}]"
    if name in BUILT_IN:
        raise InvalidStudyError(
            f"{place} must have a name that no built-in score has; got {name!r}"
        )
    if section.score is not None:
        source = Source.read(section.score, folder, f"{place} score", sources)
        return UserScore(name, source, section.sensitivity, section.one_direction)
    if section.vectors is None:
        return Node2VecScore(name, section.node2vec or Node2VecSection())
    path = folder / section.vectors
    try:
        digest = digest_of(file_bytes(path))
    except P0SimError as error:
        raise InvalidStudyError(f"{place} {error}") from None
    return VectorScore(name, path, digest)


def _untrained(name: str) -> Protocol:
    return Protocol(name, _refuse_untrained)


def _refuse_untrained(graph: Graph, queries: IntVector) -> FloatMatrix:
    raise InvalidParametersError("a score from node vectors must be trained on a graph first")
