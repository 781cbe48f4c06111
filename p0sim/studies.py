"""What a user holds: a Study to run, and StudyResults to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from p0sim.engine.blocks import encode, write_whole
from p0sim.engine.design import StudyFile, build_cells, read_study_file
from p0sim.engine.runner import run_study
from p0sim.engine.store import Store, StudyRecord
from p0sim.errors import InvalidStudyError
from p0sim.experiments.private_p0 import PrivateP0
from p0sim.performance.predictions import with_predictions
from p0sim.performance.summarise import performance
from p0sim.replicate import Cell
from p0sim.validation import nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from p0sim.report.tables import PaperTable

EXPERIMENTS = {"private_p0": PrivateP0}
RESULTS, REPORTS = Path("results"), Path("reports")
PREDICTIONS = "predictions.parquet"


@dataclass(frozen=True, eq=False)
class Study:
    r"""A study file, checked and ready to run.

    Attributes
    ----------
    file : StudyFile
        What was written.
    experiment : PrivateP0
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
    experiment: PrivateP0
    cells: tuple[Cell, ...]

    @classmethod
    def from_toml(cls, path: str | Path) -> Study:
        """Read and check a study file; nothing is run or written.

        Raises
        ------
        P0SimError
            In one line: the key, its place, the rule and the value.
        """
        file = read_study_file(path)
        name = file.study.experiment
        if name not in EXPERIMENTS:
            raise InvalidStudyError(
                f"[study] experiment must be one of {', '.join(EXPERIMENTS)}; got {name!r}, "
                f"did you mean {nearest(name, EXPERIMENTS)!r}?"
            )
        experiment = EXPERIMENTS[name].from_sections(file.sections, file.factors, Path(path).parent)
        cells = build_cells(file, experiment, experiment.constants)
        for cell in cells:
            experiment.in_cell(cell)
        return cls(file, experiment, cells)

    @property
    def name(self) -> str:
        """Name of the study, as its file gives it."""
        return self.file.study.name

    def default_directory(self, reps: int | None = None) -> Path:
        """results/NAME, or a folder of its own for a run with other replicates."""
        return RESULTS / (self.name if reps is None else f"{self.name}-reps{reps}")

    def run(
        self,
        directory: str | Path | None = None,
        *,
        n_jobs: int = -1,
        reps: int | None = None,
        block_size: int | None = None,
        progress: bool = True,
    ) -> StudyResults:
        """Run what is missing and return the results.

        Parameters
        ----------
        directory : str or Path, optional
            Where results are kept; results/NAME where none is given.
        n_jobs : int
            Workers, -1 for one a core; never changes a number.
        reps : int, optional
            Replicates a cell, in place of the file's.
        block_size : int, optional
            Replicates a block, in place of about 10 s of work; never changes a number.
        progress : bool
            Whether to show progress on standard error.

        Returns
        -------
        StudyResults

        Raises
        ------
        P0SimError
            If an argument is out of range or the directory holds another study.
        """
        directory = Path(directory or self.default_directory(reps))
        run_study(
            self.file,
            self.experiment,
            self.cells,
            directory,
            n_jobs=n_jobs,
            reps=reps,
            block_size=block_size,
            progress=progress,
        )
        predicted = pa.Table.from_pandas(self.predictions(), preserve_index=False)
        write_whole({directory / PREDICTIONS: encode(predicted)})
        return StudyResults(directory)

    def predictions(self) -> pd.DataFrame:
        """Coverage that large-sample theory predicts, one row a cell, method and estimand."""
        rows = [
            (cell.id, method, estimand, float(coverage))
            for cell in self.cells
            for here in [self.experiment.in_cell(cell)]
            for method, spec in self.experiment.specs.items()
            for estimand, coverage in zip(here.terms, here.predicted_coverage(spec), strict=True)
        ]
        return pd.DataFrame(rows, columns=["cell", "method", "estimand", "predicted_coverage"])


def open_study(directory: str | Path) -> StudyResults:
    """Results of a study that was run before, finished or not.

    Raises
    ------
    InvalidStudyError
        If the directory holds no study.

    Examples
    --------
    >>> open_study("no/such/results")
    Traceback (most recent call last):
    p0sim.errors.InvalidStudyError: no/such/results holds no study: study.json is missing
    """
    results = StudyResults(Path(directory))
    _ = results.record
    return results


@dataclass(frozen=True, eq=False)
class StudyResults:
    """Tidy frames of a study, and the tables and figures made from them.

    Attributes
    ----------
    directory : Path
        Where the results are kept.
    """

    directory: Path

    @cached_property
    def record(self) -> StudyRecord:
        """What was run: seed, identity, study file, versions."""
        return self._store.read_identity()

    @cached_property
    def _store(self) -> Store:
        return Store(self.directory)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row a cell: every factor, its rule and the replicates asked for."""
        return self._store.read("cells")

    @cached_property
    def replicates(self) -> pd.DataFrame:
        """One row a cell, method and replicate: how the fit ended."""
        return self._store.read("replicates")

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """One row a cell, method, replicate and estimand: estimate, interval, truth."""
        return self._store.read("estimates")

    @cached_property
    def timings(self) -> pd.DataFrame:
        """One row a cell, method and replicate: seconds."""
        return self._store.read("timings")

    @cached_property
    def problems(self) -> pd.DataFrame:
        """One row an error or warning of a replicate."""
        return self._store.read("problems")

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """Coverage that theory predicts, once the study has run to its end."""
        path = self.directory / PREDICTIONS
        if path.exists():
            return pd.read_parquet(path)
        return pd.DataFrame(columns=["cell", "method", "estimand", "predicted_coverage"])

    @property
    def name(self) -> str:
        """Name of the study."""
        return str(self.record.study["study"]["name"])

    @property
    def level(self) -> float:
        """Level of the intervals under study."""
        return float(self.record.identity["level"])

    @cached_property
    def labels(self) -> dict[str, str]:
        """What tables and figures print for each method."""
        methods = self.record.study.get("methods", {})
        return {name: table["label"] for name, table in methods.items() if table.get("label")}

    @cached_property
    def copies(self) -> dict[str, list[str]]:
        """For each method without noise, the factors across which its fits are copies."""
        shared = self.record.identity["share_network_across"]
        methods = self.record.identity["methods"]
        return {name: shared for name, spec in methods.items() if not spec["release"]}

    def performance(self) -> pd.DataFrame:
        """Every measure of every cell, method and estimand, with its Monte Carlo error.

        Returns
        -------
        DataFrame
            Columns as `p0sim.columns.PERFORMANCE`; the measure predicted_coverage is what
            large-sample theory says of `coverage` and has no Monte Carlo error.
        """
        return self._performance

    @cached_property
    def _performance(self) -> pd.DataFrame:
        if self.replicates.empty:
            raise InvalidStudyError(
                f"{self.directory} must hold at least one finished block of replicates; got none"
            )
        asked = self.predictions.groupby("cell", sort=False)["estimand"].unique()
        measured = performance(
            self.cells,
            self.replicates,
            self.estimates,
            estimands={str(cell): list(names) for cell, names in asked.items()},
        )
        return with_predictions(measured, self.predictions)

    def paper_table(
        self,
        rows: Sequence[str] | None = None,
        cols: Sequence[str] | None = None,
        cell: str | None = None,
        **options: Any,
    ) -> PaperTable:
        """The table of a paper; see :func:`p0sim.report.tables.paper_table` for the options."""
        from p0sim.report.tables import paper_table

        options.setdefault("labels", self.labels)
        return paper_table(self.performance(), rows, cols, cell, **options)

    def plot_qq(self, **options: Any) -> Figure:
        """QQ plots of standardised errors; options of :func:`p0sim.report.figures.plot_qq`."""
        from p0sim.report.figures import plot_qq

        options.setdefault("labels", self.labels)
        return plot_qq(self.estimates, cells=self.cells, replicates=self.replicates, **options)

    def plot_consistency(self, **options: Any) -> Figure:
        """Largest error against n; options of :func:`p0sim.report.figures.plot_consistency`."""
        from p0sim.report.figures import plot_consistency

        options.setdefault("labels", self.labels)
        return plot_consistency(self.performance(), **options)

    def plot_coverage(self, **options: Any) -> Figure:
        """Coverage by factor; options of :func:`p0sim.report.figures.plot_coverage`."""
        from p0sim.report.figures import plot_coverage

        options.setdefault("labels", self.labels)
        return plot_coverage(self.performance(), nominal=self.level, **options)

    def write_report(self, folder: str | Path | None = None) -> Path:
        """Write tables, figures and a page; to `default_report` where no folder is given.

        Returns
        -------
        Path
            The page.
        """
        from p0sim.report.page import Material, write_page

        material = Material(
            cells=self.cells,
            replicates=self.replicates,
            estimates=self.estimates,
            problems=self.problems,
            performance=self.performance(),
            study=self.record.study,
            identity=self.record.identity,
            copies=self.copies,
            seed=self.record.seed,
            versions=self.record.machines[-1]["versions"],
            level=self.level,
            labels=self.labels,
        )
        return write_page(material, Path(folder or self.default_report))

    @property
    def default_report(self) -> Path:
        """reports/NAME beside results/NAME; within the results where they are elsewhere."""
        if self.directory.parent == RESULTS:
            return REPORTS / self.directory.name
        return self.directory / "report"

    def __repr__(self) -> str:
        done = len(self.replicates)
        return f"StudyResults({str(self.directory)!r}, cells={len(self.cells)}, fits={done})"
