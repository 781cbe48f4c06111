"""The table of a paper: rows and columns the reader picks, a template for the cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from p0sim.columns import WHOLE_FIT
from p0sim.report.estimands import names_in
from p0sim.report.grid import Grid, Heading, Line
from p0sim.report.latex_table import LATEX_WIDTH, as_latex
from p0sim.report.layout import (
    chosen_rows,
    estimand_sentence,
    layout,
    layout_of_means,
    left_out_sentence,
    levels_by_key,
    ordered_keys,
    require_told_apart,
    table_entries,
    without_many,
)
from p0sim.report.notes import (
    FIGURE_SPACE,
    comparison_sentence,
    daggers,
    note_of,
    truth_sentence,
    with_daggers,
    with_digits_aligned,
    with_latex_daggers,
)
from p0sim.report.precision import (
    DASH,
    cell_texts,
    places_by_estimand,
    places_of,
    printed_frame,
)
from p0sim.report.renderings import as_html, as_markdown, as_text
from p0sim.report.selection import has_means_alone, labelled
from p0sim.report.template import default_cell, measures_in

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

# Levels that speak for themselves: "paper", not "method = paper".
PLAIN = {"method", "estimand"}
TEXT_WIDTH = 100
# Lines of a table of means: more estimands only where there is room.
MOST_TEXT = 60


@dataclass(frozen=True, eq=False)
class PaperTable:
    """A table ready to be printed in any form.

    Attributes
    ----------
    frame : DataFrame
        One row a table cell: the levels of its factors as text, each measure as
        printed (proportions x 100, named `coverage_pct`), n_used of the first
        measure, n_attempted, n_failed.
    grid : Grid
        Headers, lines and note as text.
    """

    frame: pd.DataFrame
    grid: Grid

    def to_text(self, width: int = TEXT_WIDTH) -> str:
        """Plain text, split into panels of at most `width` characters a line."""
        return as_text(self.grid, width).replace(FIGURE_SPACE, " ")

    def to_markdown(self, path: str | Path | None = None) -> str:
        """A pipe table and its note, written to `path` if there is one."""
        return _written(as_markdown(self.grid), path)

    def to_latex(self, path: str | Path | None = None, width: int = LATEX_WIDTH) -> str:
        r"""Tabulars for \input; needs \usepackage{booktabs} and no other package.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it as well.
        width : int
            Digits of footnotesize that fit into a line: 76 in an article, about 180
            in one turned to landscape. A wider table is split into panels.
        """
        return _written(with_latex_daggers(as_latex(self.grid, width)), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """A `table` element without outside resources."""
        return _written(as_html(self.grid), path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """The frame, one line a table cell."""
        return _written(self.frame.to_csv(index=False, lineterminator="\n"), path)

    def __str__(self) -> str:
        return self.to_text()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        yield Text(self.to_text(options.max_width), no_wrap=True, overflow="ignore")


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    return text


def paper_table(
    performance: pd.DataFrame,
    rows: Sequence[str] | None = None,
    cols: Sequence[str] | None = None,
    cell: str | None = None,
    *,
    group_rows: Sequence[str] | None = None,
    where: Mapping[str, object] | None = None,
    note: str | None = None,
    labels: Mapping[str, str] | None = None,
    unfinished: str = "",
) -> PaperTable:
    """Lay performance measures out as a table.

    Parameters
    ----------
    performance : DataFrame
        As `p0sim.performance.summarise.performance` gives it.
    rows, cols : sequence of str, optional
        Factors, "method" or "estimand", the outermost first. Left out: the
        paper's layout, contrasts within n by L within epsilon, or that of
        `p0sim.report.layout.layout_of_means` where nothing has a truth; where a cell has
        more than 30 single parameters and anything else, pools or contrasts,
        the parameters are left out, and of more than 50 estimands those beyond the
        first 50 of a cell. Of means the first estimand is shown, and further ones while the
        text has less than 60 lines. A factor stands for its rule where the
        frame has one.
    cell : str, optional
        Template over names of measures, without formats; a name with _mcse behind
        it is the Monte Carlo standard error of the measure. Measures of the whole
        fit, such as fail_rate, stand beside every estimand of the fit. Left out:
        coverage, length and failures where anything has an interval, else bias,
        rmse and failures where there is a truth, else the mean and its error; errors
        of the whole fit in a study without contrasts.
    group_rows : sequence of str, optional
        Headings over groups of rows. Left out: everything else that varies.
    where : mapping of str to level, optional
        Show these levels only.
    note : str, optional
        Takes the place of the note under the table; "" leaves it out.
    labels : mapping of str to str, optional
        What to print for a factor, a method, an estimand or a level.
    unfinished : str
        Sentence of the note that says how far the study is, where it is not finished.

    Returns
    -------
    PaperTable

    Raises
    ------
    InvalidStudyError
        If a factor, level or measure is unknown, or the layout does not tell all
        cells of the study apart.

    Notes
    -----
    A measure that no replicate supports and a combination that is not part of
    the design are dashes. A dagger marks a cell that rests on fewer than 30
    estimates, unless all do. Decimals: see `p0sim.report.precision`.

    Examples
    --------
    >>> performance = pd.DataFrame({"cell": "c1", "q": 2, "epsilon": 2.0, "method": "paper",
    ...     "estimand": "alpha[1]", "measure": ["coverage"], "value": [0.934], "mcse": [0.0079],
    ...     "n_used": 983, "n_attempted": 1000, "n_failed": 17})
    >>> print(paper_table(performance, ["estimand"], ["epsilon"], "{coverage}", note=""))
    --------  -----------
    estimand  epsilon = 2
    --------  -----------
    alpha[1]         93.4
    --------  -----------
    """
    cell = default_cell(performance) if cell is None else cell
    chosen, asked = chosen_rows(performance, where), rows or "estimand" in (where or {})

    def of(shown: pd.DataFrame) -> PaperTable:
        shape = rows, cols, group_rows
        return _laid_out(performance, chosen, shown, cell, shape, note, labels, unfinished)

    if asked:
        return of(chosen)
    if has_means_alone(performance):
        return _leading_means(chosen, of)
    return of(without_many(chosen, measures_in(cell, performance)))


def _leading_means(chosen: pd.DataFrame, of: Callable[[pd.DataFrame], PaperTable]) -> PaperTable:
    """The first estimand, and further ones while the text is short enough to be read."""
    names = names_in(chosen)
    table = of(_of_estimands(chosen, names[:1]))
    for last in range(2, len(names) + 1):
        longer = of(_of_estimands(chosen, names[:last]))
        if longer.to_text().count("\n") >= MOST_TEXT:
            break
        table = longer
    return table


def _of_estimands(rows: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    return rows[rows["estimand"].isin([*names, WHOLE_FIT])]


def _laid_out(
    performance: pd.DataFrame,
    chosen: pd.DataFrame,
    shown: pd.DataFrame,
    cell: str,
    shape: tuple[Sequence[str] | None, Sequence[str] | None, Sequence[str] | None],
    note: str | None,
    labels: Mapping[str, str] | None,
    unfinished: str,
) -> PaperTable:
    """The table of the rows shown, which are some of those chosen."""
    measures = measures_in(cell, performance)
    targets, measured = table_entries(shown, measures)
    of_means = has_means_alone(performance)
    if of_means and not any(shape):
        shape = layout_of_means(targets)
    rows, cols, groups = layout(targets, *shape)
    keys = [*groups, *rows, *cols]
    require_told_apart(targets, keys)
    levels = levels_by_key(targets, keys)
    decimals = places_by_estimand if of_means else places_of
    places = {name: decimals(name, measured[name]) for name in measures}
    texts = with_daggers(cell_texts(cell, measured, places), daggers(measured).tolist())
    frame = printed_frame(
        levels.map(lambda text: labelled(text, labels)), targets, measured, places
    )
    remarks = [
        estimand_sentence(targets, labels) if of_means and "estimand" not in keys else "",
        comparison_sentence(performance, measures, labels),
        left_out_sentence(chosen, shown),
        truth_sentence(performance, measures),
        unfinished,
    ]
    said = note_of(cell, targets, measured, keys, labels, remarks) if note is None else note
    grid = grid_of(levels, texts, (rows, cols, groups), cell, said, labels)
    return PaperTable(frame.rename(columns=dict(labels or {})), with_digits_aligned(grid))


def grid_of(
    levels: pd.DataFrame,
    texts: Sequence[str],
    shape: tuple[list[str], list[str], list[str]],
    cell: str,
    note: str,
    labels: Mapping[str, str] | None,
) -> Grid:
    """Arrange the texts; levels keep their order, only combinations that occur get a line."""
    rows, cols, groups = shape

    def headings(names: Sequence[str], key: tuple[str, ...]) -> tuple[Heading, ...]:
        pairs = zip(names, key, strict=True)
        return tuple(Heading("" if n in PLAIN else seen(n), seen(k)) for n, k in pairs)

    def seen(text: str) -> str:
        return " ".join(labelled(text, labels).splitlines())

    alone = (Heading("", re.sub("[{}]", "", cell)),)
    columns, lines = ordered_keys(levels, cols), ordered_keys(levels, [*groups, *rows])
    places = (
        zip(*(levels[name] for name in names), strict=True) if names else [()] * len(levels)
        for names in ([*groups, *rows], cols)
    )
    found = dict(zip(zip(*places, strict=True), texts, strict=True))
    split = len(groups)
    return Grid(
        row_names=tuple(map(seen, rows)),
        columns=tuple(headings(cols, key) or alone for key in columns),
        lines=tuple(
            Line(
                headings(groups, key[:split]),
                tuple(map(seen, key[split:])),
                tuple(found.get((key, column), DASH) for column in columns),
            )
            for key in lines
        ),
        note=note,
        left_aligned=cell.count("{") > 1,
    )
