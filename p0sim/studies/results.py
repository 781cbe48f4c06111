"""What a user looks at: the frames of a study, and the tables and figures made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from p0sim.columns import FITTED, FRAMES
from p0sim.engine.files import write_whole, writing
from p0sim.engine.store import Store, StudyRecord
from p0sim.errors import InvalidStudyError, P0SimError
from p0sim.performance.failures import group_failures, group_problems, problem_line
from p0sim.performance.predictions import with_predictions
from p0sim.performance.quantiles import points_summary, qq_summary, zipper_summary
from p0sim.performance.summarise import performance
from p0sim.report.notes import unfinished_sentence
from p0sim.report.quantities import quantities_of
from p0sim.studies.predictions import PREDICTION_COLUMNS, read_predictions
from p0sim.studies.reading import nulls_of, pools_of, reference_of, with_rules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from p0sim.report.tables import PaperTable

RESULTS, REPORTS = Path("results"), Path("reports")


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
        return self.store.read_identity()

    @cached_property
    def store(self) -> Store:
        """The blocks on disk."""
        return Store(self.directory)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row a cell: every factor, its rule and the replicates asked for."""
        return self.store.read("cells")

    @cached_property
    def replicates(self) -> pd.DataFrame:
        """One row a cell, method and replicate: how the fit ended."""
        return self.store.read("replicates")

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """One row a cell, method, replicate and estimand: estimate, interval, truth."""
        return self.store.read("estimates")

    @cached_property
    def timings(self) -> pd.DataFrame:
        """One row a cell, method and replicate: seconds."""
        return self.store.read("timings")

    @cached_property
    def problems(self) -> pd.DataFrame:
        """One row an error or warning of a replicate."""
        return self.store.read("problems")

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """What was known before any data: predicted coverage and null values.

        They are kept at the end of a run, and worked out again for one that did not get there.
        """
        found = read_predictions(self.directory)
        return self._predicted_again() if found is None else found

    def _predicted_again(self) -> pd.DataFrame:
        from p0sim.studies.study import Study

        try:
            return Study.from_record(self.record).predictions()
        except P0SimError:
            # a file that the study names is gone: the rows are there all the same
            return pd.DataFrame(columns=PREDICTION_COLUMNS)

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
        """What tables and figures print for each method, and for estimands with names of ours."""
        methods = self.record.study.get("methods", {})
        ours = {each.name: each.label for each in quantities_of(self.record.identity)}
        given = {name: table["label"] for name, table in methods.items() if table.get("label")}
        return ours | given

    @cached_property
    def copies(self) -> dict[str, list[str]]:
        """For each method without noise, the factors across which its fits are copies."""
        shared = self.record.identity.get("share_network_across", [])
        return {
            name: shared
            for name, spec in self.record.identity["methods"].items()
            # A user's own method may draw numbers of its own at each of them.
            if not spec.get("release", True) and "call" not in spec
        }

    def progress(self) -> pd.DataFrame:
        """How far each cell is: replicates done of those asked for, fits by status, seconds.

        Returns
        -------
        DataFrame
            The columns of `cells`, then n_done (replicates), n_fits (one a replicate and method),
            a count for each status, n_problems and seconds (worker time).
        """
        return self.store.progress()

    @property
    def n_replicates(self) -> int:
        """Replicates that are there."""
        return int(self.progress()["n_done"].sum())

    @property
    def unfinished(self) -> str:
        """A sentence on how far the study is; empty where it is finished."""
        cells = self.progress()
        done, asked = cells["n_done"], cells["target_reps"]
        return unfinished_sentence(int(done.sum()), int(asked.sum()), int((done == 0).sum()))

    def cells_without_estimates(self) -> list[str]:
        """Cells in which no fit ended well."""
        progress = self.progress()
        return list(progress["cell"][progress[FITTED] == 0])

    def failures(self) -> pd.DataFrame:
        """Failed fits by method, status and kind of reason; the most frequent first."""
        return group_failures(self.replicates)

    def problem_groups(self) -> pd.DataFrame:
        """Errors and warnings by kind, message and place; the most frequent first."""
        return group_problems(self.problems)

    def problem_line(self) -> str:
        """All errors and warnings in one line; empty where there are none."""
        return problem_line(self.problems)

    def export(self, folder: str | Path | None = None) -> list[Path]:
        """Write every frame as CSV, with all digits.

        Parameters
        ----------
        folder : str or Path, optional
            Made if it is not there; DIRECTORY/csv where none is given.

        Returns
        -------
        list of Path
            One a frame, performance among them where any replicate is there.
        """
        folder = Path(folder or self.directory / "csv")
        frames = {name: getattr(self, name) for name in ("cells", *FRAMES)}
        if len(self.replicates):
            frames["performance"] = self.performance()
        texts = {
            folder / f"{name}.csv": frame.to_csv(index=False, lineterminator="\n").encode()
            for name, frame in frames.items()
        }
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(texts)
        return list(texts)

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
            nulls=nulls_of(self.predictions),
            reference=self.reference,
            pools=pools_of(self.record.study),
        )
        predicted = with_predictions(measured, self.predictions.dropna())
        return with_rules(predicted, self.record.study, self.cells)

    @cached_property
    def reference(self) -> str:
        """Method that others are compared with: the marked one, else the first of the file."""
        methods = self.record.identity["methods"]
        return reference_of(self.record.study) or next(iter(methods), "")

    def qq(self, level: float = 0.95) -> pd.DataFrame:
        """Quantiles of the standardised errors with a simultaneous band, as QQ plots show them."""
        return qq_summary(self.estimates, self.cells, self.replicates, level)

    def zipper(self) -> pd.DataFrame:
        """Intervals by centile of their distance from the truth, as zipper plots show them."""
        return zipper_summary(self.estimates, self.cells, self.replicates)

    def points(self) -> pd.DataFrame:
        """Estimates and standard errors of the first replicates."""
        return points_summary(self.estimates, self.cells, self.replicates)

    def paper_table(
        self,
        rows: Sequence[str] | None = None,
        cols: Sequence[str] | None = None,
        cell: str | None = None,
        **options: Any,
    ) -> PaperTable:
        """The table of a paper; see :func:`p0sim.report.tables.paper_table` for the options."""
        from p0sim.report.tables import paper_table

        options = {"labels": self.labels, "unfinished": self.unfinished, **options}
        return paper_table(self.performance(), rows, cols, cell, **options)

    def plot_qq(self, *, level: float = 0.95, **options: Any) -> Figure:
        """QQ plots of standardised errors; options of :func:`~p0sim.report.qq_figure.plot_qq`."""
        from p0sim.report.figures import plot_qq

        return plot_qq(self.qq(level), self.cells, **self._labelled(options))

    def plot_zipper(self, **options: Any) -> Figure:
        """Intervals by centile; options of :func:`~p0sim.report.zipper_figure.plot_zipper`."""
        from p0sim.report.figures import plot_zipper

        options.setdefault("nominal", self.level)
        return plot_zipper(self.zipper(), self.cells, **self._labelled(options))

    def plot_est_se(self, **options: Any) -> Figure:
        """Error against standard error; see :func:`~p0sim.report.est_se_figure.plot_est_se`."""
        from p0sim.report.figures import plot_est_se

        return plot_est_se(self.points(), self.cells, **self._labelled(options))

    def plot_coverage(self, **options: Any) -> Figure:
        """Coverage by factor; options of :func:`~p0sim.report.coverage_figure.plot_coverage`."""
        from p0sim.report.figures import plot_coverage

        options.setdefault("nominal", self.level)
        return plot_coverage(self.performance(), **self._labelled(options))

    def plot_mean(self, **options: Any) -> Figure:
        """Means by a factor; options of :func:`~p0sim.report.mean_figure.plot_mean`."""
        from p0sim.report.figures import plot_mean

        return plot_mean(self.performance(), **self._labelled(options))

    def plot_nested(self, **options: Any) -> Figure:
        """A measure over all cells; options of :func:`~p0sim.report.nested_figure.plot_nested`."""
        from p0sim.report.figures import plot_nested

        return plot_nested(self.performance(), **self._labelled(options))

    def plot_consistency(self, **options: Any) -> Figure:
        """Largest error by n; see :func:`~p0sim.report.consistency_figure.plot_consistency`."""
        from p0sim.report.figures import plot_consistency

        return plot_consistency(self.performance(), **self._labelled(options))

    def plot_privacy_utility(self, **options: Any) -> Figure:
        """A measure by epsilon; see :func:`~p0sim.report.utility_figure.plot_privacy_utility`."""
        from p0sim.report.figures import plot_privacy_utility

        return plot_privacy_utility(self.performance(), **self._labelled(options))

    def _labelled(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"labels": self.labels, **options}

    def write_report(self, folder: str | Path | None = None, n_jobs: int = -1) -> Path:
        """Write tables, figures and a page; to `default_report` where no folder is given.

        A folder that already shows these results is let be; `n_jobs` processes, -1 is one a core,
        draw the figures where there are many.

        Returns
        -------
        Path
            The page, index.html.
        """
        from p0sim.studies.reporting import write_report

        return write_report(self, Path(folder or self.default_report), n_jobs)

    @property
    def default_report(self) -> Path:
        """reports/NAME beside results/NAME; within the results where they are elsewhere."""
        if self.directory.parent == RESULTS:
            return REPORTS / self.directory.name
        return self.directory / "report"

    def __repr__(self) -> str:
        done = len(self.replicates)
        return f"StudyResults({str(self.directory)!r}, cells={len(self.cells)}, fits={done})"
