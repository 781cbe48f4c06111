"""An experiment of the user's own: one function that simulates a data set and estimates from it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from p0sim.errors import InvalidStudyError, NoEstimateError, NotConvergedError
from p0sim.experiments.answers import Row, read_rows, rows_by_method
from p0sim.experiments.estimates import failed, outcome_of
from p0sim.experiments.sections import (
    LabelSection,
    MeasuresSection,
    StopSection,
    check_shown,
    read_measures,
)
from p0sim.experiments.sources import Source
from p0sim.replicate import Cell, Fit, Outcome, Simulate, Streams
from p0sim.validation import check_table


@dataclass(frozen=True)
class Generators:
    """The random generators of one replicate, as a custom experiment is given them.

    Attributes
    ----------
    streams : Streams
        Where they come from.

    Examples
    --------
    >>> streams = Streams(seed=1, own_key=(1, 2, 3, 4), shared_key=(1, 2, 3, 4), rep=1)
    >>> generators = Generators(streams)
    >>> generators.network is streams.network
    True
    """

    streams: Streams

    @property
    def truth(self) -> np.random.Generator:
        """For the parameters."""
        return self.streams.truth

    @property
    def network(self) -> np.random.Generator:
        """For the network, or whatever the data are."""
        return self.streams.network

    @property
    def noise(self) -> np.random.Generator:
        """For the privacy noise."""
        return self.streams.noise

    @property
    def other(self) -> np.random.Generator:
        """For anything else."""
        return self.streams.other("")


@dataclass(frozen=True)
class CustomExperiment:
    """What `experiment = "my_study.py:replicate"` runs: replicate(cell, streams) -> list of dicts.

    The function has the factors in ``cell.factors`` and the generators ``streams.truth``,
    ``streams.network``, ``streams.noise`` and ``streams.other``; it must draw from these alone. A
    row has the keys estimand and estimate, and may have std_error, lower, upper, true_value and
    method. Its interval is estimate -+ normal quantile x std_error where it has none of its own. It
    may raise NoEstimateError(reason). The one call makes the data and all estimates, so that the
    seconds of its methods say nothing.

    Attributes
    ----------
    source : Source
    methods : tuple of str
        Names of the tables [methods.NAME], in file order; without them, of the function.
    measures : MeasuresSection
    """

    source: Source
    methods: tuple[str, ...]
    measures: MeasuresSection

    @classmethod
    def from_sections(
        cls,
        sections: Mapping[str, Any],
        factors: Collection[str],
        folder: Path,
        reference: str,
        sources: Mapping[str, str] | None = None,
    ) -> CustomExperiment:
        """Check the experiment's own sections of a study file, and its Python file.

        Parameters
        ----------
        sections : mapping
            The tables methods and measures as read; model and estimands must be empty.
        factors : collection of str
            Names of the study's factors; any will do.
        folder : Path
            Where the study file stands; the Python file is relative to that.
        reference : str
            "my_study.py:replicate".
        sources : mapping of str to str, optional
            Stored texts of Python files, used in place of what is on disk now.

        Raises
        ------
        InvalidStudyError
            Naming the section, the key, the rule and the value.
        """
        for name in ("model", "estimands"):
            if sections.get(name):
                raise InvalidStudyError(
                    f"[{name}] must be left out beside experiment = {reference!r}: "
                    "the function decides what is simulated and estimated"
                )
        labels = {
            name: check_table(LabelSection, table, f"[methods.{name}]")
            for name, table in sections.get("methods", {}).items()
        }
        check_shown(labels)
        measures = read_measures(sections.get("measures", {}))
        source = Source.read(reference, folder, "[study] experiment", sources)
        return cls(source, tuple(labels) or (source.name,), measures)

    @property
    def shared_factors(self) -> frozenset[str]:
        """None: what a function draws from which stream is not known."""
        return frozenset()

    @property
    def constants(self) -> dict[str, int]:
        """Nothing is fixed."""
        return {}

    @property
    def level(self) -> float:
        """Level of the intervals that are made here."""
        return self.measures.level

    @property
    def stop(self) -> StopSection | None:
        """When enough is known; it decides how many replicates there are, not what they are."""
        return self.measures.stop

    @property
    def sources(self) -> dict[str, str]:
        """Text of the Python file, by the name the study file writes."""
        return {self.source.file: self.source.text}

    def content(self, cell: Cell) -> dict[str, Any]:
        """The function's name alone: a comment in its file must not change the numbers."""
        return {"experiment": self.source.name}

    def identity(self) -> dict[str, Any]:
        """Everything whose change makes old rows another study, the text of the file too."""
        return {
            "experiment": self.source.reference,
            "methods": {name: {} for name in self.methods},
            "level": self.level,
            "sources": {self.source.file: self.source.digest},
        }

    def cost(self, cell: Cell) -> float:
        """Unknown."""
        return math.nan

    def require(self, cell: Cell) -> None:
        """Any cell may run, for all that is known without running it."""

    def predicted(self, cell: Cell) -> list[tuple[str, str, float]]:
        """No theory is known."""
        return []

    def nulls(self, cell: Cell) -> dict[str, float]:
        """None are given: the function decides what is estimated."""
        return {}

    def prepare(self, cell: Cell) -> Simulate:
        """What simulates data sets of one cell; the Python file is run where that was not done."""
        self.source.function()
        return partial(self._simulate, cell)

    def _simulate(self, cell: Cell, streams: Streams) -> dict[str, Fit]:
        function = self.source.function()
        try:
            # listed here: a function with yield runs only then
            answer = function(cell, Generators(streams))
            rows = rows_by_method(answer, self.methods, self.source.reference)
        except (NoEstimateError, NotConvergedError) as error:
            return {name: partial(failed, error) for name in self.methods}
        return {name: partial(self._outcome, rows[name]) for name in self.methods}

    def _outcome(self, rows: list[Row]) -> Outcome:
        if not rows:
            return Outcome("no_estimate", reason="no rows")
        return outcome_of(read_rows(rows, self.source.reference), self.level)
