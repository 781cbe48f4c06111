"""A grid of finished cells as LaTeX in booktabs style."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from p0sim.report.grid import Grid, Line, Ruler, panels
from p0sim.report.notation import escape_latex, latex

# Digits of footnotesize in a line of the article class.
LATEX_WIDTH = 76
LATEX_LINES = 40
# Space between columns, in digits.
GAP = 2
SMALL_SPACE = "2pt"


def as_latex(grid: Grid, width: int) -> str:
    """Tabulars in booktabs style: narrow enough for a page, broken between groups of rows."""
    ruler = Ruler(GAP, printed_length)
    tabulars = [
        latex_tabular(replace(panel, lines=lines))
        for panel in panels(grid, ruler, width)
        for lines in latex_pages(panel)
    ]
    note = [rf"\par\noindent {escape_latex(grid.note)}\par"] if grid.note else []
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\par\begingroup\footnotesize\setlength{\tabcolsep}{4pt}",
            "\\par\\medskip\n".join(f"\\noindent{tabular}\n" for tabular in tabulars).rstrip(),
            r"\par\smallskip",
            *note,
            r"\endgroup",
            "",
        ]
    )


def latex_pages(grid: Grid) -> list[tuple[Line, ...]]:
    """Lines of each tabular: whole groups, a page at most. A tabular cannot break."""
    pages: list[list[Line]] = [[]]
    for _, run in groupby(grid.lines, key=lambda line: line.group):
        lines = list(run)
        if pages[-1] and len(pages[-1]) + len(lines) > LATEX_LINES:
            pages.append([])
        for line in lines:
            if len(pages[-1]) == LATEX_LINES:
                pages.append([])
            pages[-1].append(line)
    return [tuple(page) for page in pages]


def latex_tabular(grid: Grid) -> str:
    """One tabular."""
    n_labels, n_columns = len(grid.row_names), len(grid.columns)
    side = "l" if grid.left_aligned else "r"
    body: list[str] = []
    for number, (group, lines) in enumerate(grid.groups()):
        body += [r"\midrule"] if number else []
        if group:
            title = ", ".join(heading.text(latex) for heading in group)
            body.append(rf"\multicolumn{{{n_labels + n_columns}}}{{l}}{{\itshape {title}}} \\")
            body.append(rf"\addlinespace[{SMALL_SPACE}]")
        for i, line in enumerate(lines):
            new_block = i > 0 and n_labels > 1 and line.labels[0] != ""
            body += [rf"\addlinespace[{SMALL_SPACE}]"] if new_block else []
            body.append(latex_row([*map(latex, line.labels), *map(latex_cell, line.cells)]))
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{'l' * n_labels}{side * n_columns}}}",
            r"\toprule",
            *latex_header(grid),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def latex_header(grid: Grid) -> list[str]:
    """Header rows; each heading over several columns has its own rule."""
    n_labels, rows = len(grid.row_names), []
    for depth in range(len(grid.columns[0]) - 1):
        cells, rules, start = [""] * n_labels, [], n_labels + 1
        for heading, span in grid.spanners(depth):
            cells.append(rf"\multicolumn{{{span}}}{{c}}{{{heading.text(latex)}}}")
            rules.append(rf"\cmidrule(lr){{{start}-{start + span - 1}}}")
            start += span
        rows += [latex_row(cells), " ".join(rules)]
    last = [column[-1].text(latex) for column in grid.columns]
    return [*rows, latex_row([*map(latex, grid.row_names), *last])]


def latex_row(cells: Sequence[str]) -> str:
    """Cells of a row; an opening bracket must not look like an option of the row before."""
    first, *others = cells
    guarded = f"{{}}{first}" if first.startswith(("[", "*")) else first
    return " & ".join([guarded, *others]) + r" \\"


def latex_cell(text: str) -> str:
    """A cell's numbers with true minus signs."""
    return re.sub(r"(?<!\w)-(?=\d)", "$-$", escape_latex(text))


@lru_cache(maxsize=4096)
def printed_length(text: str) -> int:
    """Characters that a text has in print, mathematics included.

    Examples
    --------
    >>> printed_length("alpha[10]-alpha[11]"), printed_length("sqrt(log(n))"), printed_length("a_b")
    (7, 6, 4)
    """
    functions = re.sub(r"\\(log|exp)(?![a-z])", r"\1", latex(text))
    signs = re.sub(r"\\[A-Za-z]+", "x", functions)
    # % and & take the room of two digits
    escaped = re.sub(r"\\.", "xx", signs)
    return len(re.sub(r"[${}^_]", "", escaped))
