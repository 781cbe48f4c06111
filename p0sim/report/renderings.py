"""A grid of finished cells as plain text, Markdown and HTML."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from html import escape

from p0sim.report.grid import Grid, Line, Ruler, panels

GAP = "  "
RULER = Ruler(gap=len(GAP))
CAPTION = '<caption style="caption-side: bottom; text-align: left">'


def as_text(grid: Grid, width: int) -> str:
    """Aligned columns in panels of at most `width` characters a line."""
    parts = [text_panel(panel, width) for panel in panels(grid, RULER, width)]
    note = "\n".join(textwrap.wrap(grid.note, width))
    return "\n\n".join([*parts, note] if note else parts)


def text_panel(grid: Grid, width: int) -> str:
    """One panel: header rows, rules, groups of lines."""
    left, right = RULER.labels(grid), RULER.columns(grid)
    rule = GAP.join("-" * size for size in [*left, *right])
    header = [text_header(grid, depth, left, right) for depth in range(len(grid.columns[0]))]
    body: list[str] = []
    for number, (group, lines) in enumerate(grid.groups()):
        body += [""] if number else []
        body += textwrap.wrap(", ".join(map(str, group)), width)
        for line in lines:
            labels = [label.ljust(size) for label, size in zip(line.labels, left, strict=True)]
            cells = [grid.aligned(cell, size) for cell, size in zip(line.cells, right, strict=True)]
            body.append(GAP.join([*labels, *cells]))
    return "\n".join(text.rstrip() for text in [rule, *header, rule, *body, rule])


def text_header(grid: Grid, depth: int, left: Sequence[int], right: Sequence[int]) -> str:
    """One header row; the names of the row labels stand in the last."""
    last = depth == len(grid.columns[0]) - 1
    names = grid.row_names if last else [""] * len(left)
    parts = [name.ljust(size) for name, size in zip(names, left, strict=True)]
    start = 0
    for heading, span in grid.spanners(depth):
        room = RULER.over(right[start : start + span])
        parts.append(grid.aligned(str(heading), room) if last else f" {heading} ".center(room, "-"))
        start += span
    return GAP.join(parts)


def as_markdown(grid: Grid) -> str:
    """A pipe table; the headings of a column stand in one cell."""
    heads = [", ".join(str(heading) for heading in column) for column in grid.columns]
    rows = [[*grid.row_names, *heads]]
    for group, lines in grid.groups():
        if group:
            title = f"**{markdown(', '.join(map(str, group)))}**"
            rows.append([title, *[""] * (len(rows[0]) - 1)])
        rows += [[markdown(text) for text in (*line.labels, *line.cells)] for line in lines]
    rows[0] = [markdown(text) for text in rows[0]]
    rule = ["---"] * len(grid.row_names) + ["---" if grid.left_aligned else "---:"] * len(heads)
    table = "\n".join("| " + " | ".join(row) + " |" for row in [rows[0], rule, *rows[1:]])
    return f"{table}\n\n{markdown(grid.note)}\n" if grid.note else f"{table}\n"


def markdown(text: str) -> str:
    """Text without meaning to Markdown."""
    return re.sub(r"([\\`*_|<>&~$]|\](?=[(\[:]))", r"\\\1", text)


def as_html(grid: Grid) -> str:
    """A table element: header rows with spans, one body a group, the note as its caption."""
    depths = range(len(grid.columns[0]))
    head = "".join(f"<tr>{html_header(grid, depth)}</tr>\n" for depth in depths)
    span = len(grid.row_names) + len(grid.columns)
    bodies = ""
    for group, lines in grid.groups():
        title = escape(", ".join(map(str, group)))
        bodies += "<tbody>\n"
        bodies += f'<tr><th colspan="{span}" scope="rowgroup">{title}</th></tr>\n' if group else ""
        bodies += "".join(f"<tr>{html_line(line)}</tr>\n" for line in lines) + "</tbody>\n"
    note = f"{CAPTION}{escape(grid.note)}</caption>\n" if grid.note else ""
    return f'<table class="paper">\n{note}<thead>\n{head}</thead>\n{bodies}</table>\n'


def html_header(grid: Grid, depth: int) -> str:
    """Cells of one header row."""
    corner = ""
    if depth == 0:
        rows = len(grid.columns[0])
        corner = "".join(
            f'<th rowspan="{rows}" scope="col">{escape(name)}</th>' for name in grid.row_names
        )
    return corner + "".join(
        f'<th colspan="{span}" scope="col{"group" if span > 1 else ""}">{escape(str(head))}</th>'
        for head, span in grid.spanners(depth)
    )


def html_line(line: Line) -> str:
    """Cells of one line; a label that is that of the line above heads nothing."""
    labels = "".join(
        f'<th scope="row">{escape(label)}</th>' if label else "<td></td>" for label in line.labels
    )
    return labels + "".join(f"<td>{escape(cell)}</td>" for cell in line.cells)
