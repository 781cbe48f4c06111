"""What a user runs: a study file, checked and made ready."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from p0sim.engine.design import StudyFile, build_cells, parse_study, read_study_file
from p0sim.engine.options import RunOptions, Shard, parse_duration
from p0sim.engine.rounds import StoppingRule
from p0sim.engine.runner import RunSummary, run_study
from p0sim.engine.store import StudyRecord
from p0sim.errors import InvalidStudyError
from p0sim.experiments.registry import StudyExperiment, load_experiment
from p0sim.experiments.sources import is_reference
from p0sim.performance.pooling import members
from p0sim.performance.stopping import checkpoints, coverage_is_precise
from p0sim.replicate import Cell
from p0sim.studies.predictions import PREDICTION_COLUMNS, read_predictions, write_predictions
from p0sim.studies.reading import nulls_of, pools_of
from p0sim.studies.results import RESULTS, StudyResults, open_study
from p0sim.validation import placed

READ = {"shard": Shard.parse, "max_time": parse_duration, "timeout": parse_duration}


@dataclass(frozen=True, eq=False)
class Study:
    r"""A study file, checked and ready to run.

    Attributes
    ----------
    file : StudyFile
        What was written.
    experiment : PrivateP0 or CustomExperiment
        What one replicate does.
    cells : tuple of Cell
        The grid.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "tiny.toml").write_text(
    ...     "study = {name = 'tiny', seed = 1, reps = 5}\n"
    ...     "factors = {n = [20], q = [2], L = [0], epsilon = [2]}\n"
    ...     "methods = {balanced = {}}\n"
    ... )
    >>> study = Study.from_toml(folder / "tiny.toml")
    >>> results = study.run(folder / "tiny", n_jobs=1, progress=False)
    >>> len(results.replicates)
    5
    """

    file: StudyFile
    experiment: StudyExperiment
    cells: tuple[Cell, ...]

    @classmethod
    def from_toml(cls, path: str | Path) -> Study:
        """Read and check a study file; nothing is run or written.

        Python files that it names are read, and run as far as their definitions.

        Raises
        ------
        P0SimError
            In one line: the key, its place, the rule and the value.
        """
        study = cls._of(read_study_file(path), sources=None)
        study.require_pools()
        return study

    @classmethod
    def from_record(cls, record: StudyRecord) -> Study:
        """The study that a results directory holds, from what is stored there.

        Raises
        ------
        P0SimError
            If a file that the study names is gone or has changed its meaning.
        """
        file = parse_study(record.study, record.folder)
        seeded = file.study.model_copy(update={"seed": record.seed})
        return cls._of(replace(file, study=seeded), record.sources)

    @classmethod
    def _of(cls, file: StudyFile, sources: Mapping[str, str] | None) -> Study:
        experiment = load_experiment(
            file.study.experiment, file.sections, file.factors, Path(file.folder), sources
        )
        cells = build_cells(file, experiment, experiment.constants)
        for cell in cells:
            with placed(cell.factors, "[factors]"), placed(["contrast"], "[estimands]"):
                experiment.require(cell)
        study = cls(file, experiment, cells)
        study.rule()
        return study

    @property
    def name(self) -> str:
        """Name of the study, as its file gives it."""
        return self.file.study.name

    def default_directory(self, reps: int | None = None, shard: Shard | None = None) -> Path:
        """results/NAME; a folder of its own for a run with other replicates, or for a shard."""
        suffix = f"-reps{reps}" if reps else ""
        suffix += f"-{shard.number}of{shard.of}" if shard else ""
        return RESULTS / f"{self.name}{suffix}"

    def rule(self) -> StoppingRule | None:
        """When a cell has replicates enough, where the file says so.

        Raises
        ------
        InvalidStudyError
            If the file allows fewer replicates than the rule needs.
        """
        stop, reps = self.experiment.stop, self.file.study.reps
        if stop is None:
            return None
        largest = stop.max_reps or reps
        if largest < stop.min_reps:
            raise InvalidStudyError(
                f"[measures.stop] min_reps must be at most max_reps or [study] reps = {largest}; "
                f"got {stop.min_reps}"
            )
        is_met = partial(
            coverage_is_precise,
            methods=self.experiment.methods,
            mcse=stop.coverage_mcse,
            min_reps=stop.min_reps,
        )
        return StoppingRule(tuple(checkpoints(stop.min_reps, largest, stop.check_every)), is_met)

    def require_pools(self) -> None:
        """Refuse a pool of nothing, where the experiment knows its estimands.

        Raises
        ------
        InvalidStudyError
            If the pattern of a pool matches no estimand of any cell.
        """
        pools = pools_of(self.file.sections)
        if not pools or is_reference(self.file.study.experiment):
            return
        names = {name for cell in self.cells for name in self.experiment.nulls(cell)}
        for pool, pattern in pools.items():
            if not members(pattern, names):
                raise InvalidStudyError(
                    f"[measures.pool] {pool} must match an estimand; got {pattern!r}"
                )

    def run(self, directory: str | Path | None = None, **options: Any) -> StudyResults:
        """Run what is missing and return the results.

        Parameters
        ----------
        directory : str or Path, optional
            Where results are kept; results/NAME where none is given.
        **options
            Those of `p0sim.engine.options.RunOptions`, none of which changes a number: n_jobs,
            reps, block_size, max_time, timeout, shard, retry, scheduler, backend, keep_going,
            strict_version, progress. Times may be written "2h", a shard "1/3".

        Returns
        -------
        StudyResults

        Raises
        ------
        P0SimError
            If an option is out of range or the directory holds another study.
        """
        results, _ = self.run_and_tell(directory, **options)
        return results

    def run_and_tell(
        self, directory: str | Path | None = None, **options: Any
    ) -> tuple[StudyResults, RunSummary]:
        """Run like `run`, and say what the run did."""
        checked = _options(options)
        directory = Path(directory or self.default_directory(checked.reps, checked.shard))
        summary = run_study(self.file, self.experiment, self.cells, directory, checked, self.rule())
        kept = read_predictions(directory)
        if summary.n_done or kept is None or nulls_of(kept) != self.nulls():
            write_predictions(directory, self.predictions())
        return StudyResults(directory), summary

    def predictions(self) -> pd.DataFrame:
        """What is known before any data, one row a cell, method and estimand.

        Returns
        -------
        DataFrame
            cell, method, estimand, predicted_coverage by large-sample theory, and null_value, what
            the estimand is tested against.
        """
        nulls = self.nulls()
        rows = [
            (cell.id, method, estimand, coverage, nulls.get((cell.id, estimand), 0.0))
            for cell in self.cells
            for method, estimand, coverage in self.experiment.predicted(cell)
        ]
        return pd.DataFrame(rows, columns=PREDICTION_COLUMNS)

    def nulls(self) -> dict[tuple[str, str], float]:
        """What estimands are tested against by cell and estimand, where that is not 0."""
        return {
            (cell.id, estimand): null
            for cell in self.cells
            for estimand, null in self.experiment.nulls(cell).items()
            if null != 0
        }


def extend_study(directory: str | Path, reps: int, **options: Any) -> StudyResults:
    """Add replicates to a study, from what its directory holds.

    Parameters
    ----------
    directory : str or Path
        Results of a study.
    reps : int
        Replicates every cell is to have; those there stay.
    **options
        As for `Study.run`.

    Raises
    ------
    P0SimError
        If the directory holds no study, or an option is out of range.
    """
    study = Study.from_record(open_study(directory).record)
    return study.run(directory, reps=reps, **options)


def _options(options: dict[str, Any]) -> RunOptions:
    """Options with what people write as text read."""
    for name, parse in READ.items():
        if isinstance(options.get(name), str):
            options[name] = parse(options[name])
    return RunOptions(**options)
