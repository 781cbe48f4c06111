"""From rows of repeats to bench.csv, a page of tables and the figure."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.figure import draw_times, fitted_exponents
from benchmarks.tasks import TASKS, Task
from p0sim.report.style import save_figure

GROUP = ["task", "contender", "version", "n", "q", "threads"]
FACTS = ["repeat", "units", "cpu_seconds", "wall_seconds", "peak_mib", "residual", "fitted_share"]
COLUMNS = [*GROUP, *FACTS, "status", "machine"]
SCALES = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
LIBRARIES = ("numpy", "scipy", "numba", "pandas")
FITS = ("fit", "large")
ABOUT = """\
# Benchmark results

Written by `make bench`; how it measures is told in [the README above](../README.md). Every row of
a table was run in one go with its neighbours, their repeats in turn. Times are medians, quartiles
in brackets; a residual is the largest |degree - expectation| / standard deviation at the solution.
"""


def write_results(rows: Iterable[dict[str, Any]], folder: Path) -> str:
    """Write bench.csv, README.md and fit_times.png and .pdf; return the tables.

    Rows of tasks that were not run now are kept from the bench.csv that is there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "bench.csv"
    frame = pd.DataFrame(rows).assign(machine=describe_machine()).reindex(columns=COLUMNS)
    if path.exists():
        frame = join(pd.read_csv(path, dtype={"version": str}), frame)
    frame.to_csv(path, index=False)
    text = page(frame)
    fits = timed(frame[frame["task"].isin(FITS)])
    if len(fits):
        save_figure(draw_times(fits), folder / "fit_times")
    (folder / "README.md").write_text(text, encoding="utf-8")
    return text


def join(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Both, without the old rows of tasks that have new ones, in the order of the tasks."""
    kept = old[~old["task"].isin(new["task"])]
    both = pd.concat([part for part in (kept, new) if len(part)])
    place = both["task"].map({name: k for k, name in enumerate(TASKS)})
    return both.iloc[place.argsort(kind="stable")].reset_index(drop=True)


def page(frame: pd.DataFrame) -> str:
    """The page: machine, a table a task, exponents."""
    parts = [ABOUT, *_machines(frame)]
    for name, rows in frame.groupby("task", sort=False):
        task = TASKS[str(name)]
        parts.append(f"## {task.title}\n\n{markdown(table(summarise(rows, task), task))}")
    fits = timed(frame[frame["task"].isin(FITS)])
    exponents = fitted_exponents(fits)
    if len(exponents):
        parts.append(
            "## How the time of a fit grows\n\n![CPU time against n](fit_times.png)\n\n"
            "Least squares of log CPU seconds on log n, one line a series, over the sizes within a "
            "factor of 100 of its largest.\n\n"
            f"{markdown(exponents)}"
        )
    return "\n".join(parts)


def timed(frame: pd.DataFrame) -> pd.DataFrame:
    """The repeats that ended well, with seconds a unit."""
    ok = frame[frame["status"] == "ok"]
    return ok.assign(cpu=ok["cpu_seconds"] / ok["units"], wall=ok["wall_seconds"] / ok["units"])


def summarise(rows: pd.DataFrame, task: Task) -> pd.DataFrame:
    """One row a contender and size: medians, quartiles, ratio to the task's first contender."""
    rows = rows.assign(version=rows["version"].fillna(""))
    groups = timed(rows).groupby(GROUP, sort=False)
    clock = groups[task.clock]
    summary = pd.DataFrame(
        {
            "median": clock.median(),
            "lower": clock.quantile(0.25),
            "upper": clock.quantile(0.75),
            "wall": groups["wall"].median(),
            "repeats": groups.size(),
            "residual": groups["residual"].max(),
            "fitted_share": groups["fitted_share"].last(),
            "peak_mib": groups["peak_mib"].max(),
        }
    )
    failed = rows[rows["status"] != "ok"].groupby(GROUP, sort=False)["status"].first()
    summary = summary.join(failed.rename("note"), how="outer").reset_index()
    order = {name: k for k, name in enumerate(task.all_contenders)}
    summary = summary.sort_values(
        ["q", "n", "contender"], key=lambda c: c.map(order) if c.name == "contender" else c
    )
    first = summary[summary["contender"] == next(iter(order))]
    base = first.set_index(["n", "q"])["median"]
    wanted = pd.MultiIndex.from_frame(summary[["n", "q"]])
    return summary.assign(ratio=summary["median"] / base.reindex(wanted).to_numpy())


def table(summary: pd.DataFrame, task: Task) -> pd.DataFrame:
    """The summary in words; columns with nothing in them are left out."""
    factor, unit = SCALES[task.scale], task.scale.replace("us", "µs")
    shown = pd.DataFrame(
        {
            "contender": (summary["contender"] + " " + summary["version"]).str.strip(),
            "n": _each(summary["n"], lambda n: f"{n:,.0f}" if n else ""),
            "q": _each(summary["q"], lambda q: f"{q:.0f}" if q else ""),
            "threads": _each(summary["threads"], "{:.0f}"),
            f"{task.clock.replace('cpu', 'CPU')} {unit} per {task.unit}": [
                "" if pd.isna(m) else f"{_digits(m)} ({_digits(a)}, {_digits(b)})"
                for m, a, b in (factor * summary[["median", "lower", "upper"]]).to_numpy()
            ],
            f"wall {unit}": _each(factor * summary["wall"], _digits),
            f"times {next(iter(task.contenders))}": _each(summary["ratio"], _digits),
            "residual": _each(summary["residual"], "{:.0e}"),
            "tries fitted": _each(100 * summary["fitted_share"], "{:.1f} %"),
            "peak MiB": _each(summary["peak_mib"], "{:.0f}"),
            "repeats": _each(summary["repeats"], "{:.0f}"),
            "note": summary["note"].fillna(""),
        }
    )
    if task.clock == "wall":
        shown = shown.drop(columns=[f"wall {unit}", "peak MiB"])
    if len(task.contenders) == 1:
        shown = shown.drop(columns=f"times {next(iter(task.contenders))}")
    if not summary["n"].any():
        shown = shown.drop(columns="threads")
    return shown.loc[:, (shown != "").any()]


def _digits(value: float) -> str:
    """Three digits, whole numbers from 1000 on."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _each(values: pd.Series, form: Any) -> list[str]:
    write = form.format if isinstance(form, str) else form
    return ["" if pd.isna(value) else write(value) for value in values]


def markdown(frame: pd.DataFrame) -> str:
    """A pipe table; numbers to the right."""
    bars = [" | ".join(row) for row in frame.astype(str).to_numpy().tolist()]
    right = [": " if k in ("contender", "series", "note") else "-:" for k in frame.columns]
    rule = " | ".join("---" if side == ": " else "---:" for side in right)
    lines = [" | ".join(frame.columns), rule, *bars]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def describe_machine() -> str:
    """Cores, memory and versions in words; nothing that names the machine."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    return (
        f"{os.cpu_count()} cores ({_processor()}), {gib:.0f} GiB of memory, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}, {versions}"
    )


def _processor() -> str:
    """Name of the processor where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"


def _machines(frame: pd.DataFrame) -> list[str]:
    """What was measured where: one line where all rows agree."""
    found = frame.groupby("machine", sort=False)["task"].unique()
    if len(found) == 1:
        return [f"Machine: {found.index[0]}.\n"]
    return [f"Machine of {', '.join(tasks)}: {words}.\n" for words, tasks in found.items()]
