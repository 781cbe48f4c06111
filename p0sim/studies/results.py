"""What a user looks at: the frames of a study, and the tables and figures made from them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from p0sim.columns import FITTED, FRAMES
from p0sim.engine.blocks import encode
from p0sim.engine.files import write_whole, writing
from p0sim.engine.store import Store, StudyRecord
from p0sim.errors import InvalidStudyError
from p0sim.performance.failures import group_failures, group_problems, problem_line
from p0sim.performance.predictions import with_predictions
from p0sim.performance.summarise import performance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from p0sim.report.tables import PaperTable

RESULTS, REPORTS = Path("results"), Path("reports")
PREDICTIONS = "predictions.parquet"
PREDICTION_COLUMNS = ["cell", "method", "estimand", "predicted_coverage"]
PAGE = "README.md"


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


def write_predictions(directory: Path, predictions: pd.DataFrame) -> None:
    """Keep what theory predicts beside the results."""
    table = pa.Table.from_pandas(predictions, preserve_index=False)
    with writing(directory):
        write_whole({directory / PREDICTIONS: encode(table)})


def read_predictions(directory: Path) -> pd.DataFrame | None:
    """What was kept; None where it is missing or damaged: a run works it out again."""
    try:
        return pd.read_parquet(directory / PREDICTIONS)
    except (OSError, pa.ArrowException):
        return None


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
        found = read_predictions(self.directory)
        return pd.DataFrame(columns=PREDICTION_COLUMNS) if found is None else found

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
        return self._store.progress()

    @property
    def n_replicates(self) -> int:
        """Replicates that are there."""
        return int(self.progress()["n_done"].sum())

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
        )
        return with_predictions(measured, self.predictions.dropna())

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

        A folder that already shows these results is let be.

        Returns
        -------
        Path
            The page.
        """
        from p0sim.report.freshness import is_current

        folder = Path(folder or self.default_report)
        if not is_current(folder, self.digest()):
            self._write_page(folder)
        return folder / PAGE

    def _write_page(self, folder: Path) -> None:
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
            made_from=self.digest(),
        )
        write_page(material, folder)

    def digest(self) -> str:
        """Hash of what was run and of the replicates that are there, however cut into blocks."""
        record = self.record
        content = {
            "study": record.study,
            "identity": record.identity,
            "seed": record.seed,
            "versions": record.machines[-1]["versions"],
            "targets": self._store.targets(),
            "replicates": self._spans(),
            "statuses": self._statuses(),
        }
        text = json.dumps(content, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def _spans(self) -> dict[str, list[list[int]]]:
        """First and last of each unbroken run of replicates, by cell."""
        spans: dict[str, list[list[int]]] = {}
        for block in self._store.blocks():
            mine = spans.setdefault(block.cell, [])
            if mine and mine[-1][1] + 1 == block.first:
                mine[-1][1] = block.last
            else:
                mine.append([block.first, block.last])
        return spans

    def _statuses(self) -> dict[str, int]:
        """Fits by cell, method and status."""
        counts: Counter[str] = Counter()
        for block, tally in self._store.tallies().items():
            for method, statuses in tally.counts.items():
                for status, count in statuses.items():
                    counts[f"{block.cell} {method} {status}"] += count
        return dict(counts)

    @property
    def default_report(self) -> Path:
        """reports/NAME beside results/NAME; within the results where they are elsewhere."""
        if self.directory.parent == RESULTS:
            return REPORTS / self.directory.name
        return self.directory / "report"

    def __repr__(self) -> str:
        done = len(self.replicates)
        return f"StudyResults({str(self.directory)!r}, cells={len(self.cells)}, fits={done})"
