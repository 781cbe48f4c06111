"""The command that draws: p0sim plot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from p0sim.cli.app import UsageError, app, require_word
from p0sim.cli.looking import Where, levels_in
from p0sim.cli.new_files import figure_stem, writing_output

# Names on the command line, and the method of the results that draws each.
KINDS = {
    "qq": "plot_qq",
    "zipper": "plot_zipper",
    "coverage": "plot_coverage",
    "mean": "plot_mean",
    "nested": "plot_nested",
    "consistency": "plot_consistency",
    "est-se": "plot_est_se",
    "privacy-utility": "plot_privacy_utility",
}
OF_A_MEASURE = ("coverage", "mean", "nested", "consistency", "privacy-utility")
WIDTHS = ("single", "double")


@app.command()
def plot(
    directory: Annotated[Path, typer.Argument(help="Results folder of a study.")],
    kind: Annotated[str, typer.Argument(help=f"{', '.join(KINDS)}.")],
    rows: Annotated[str | None, typer.Option(help="Factor of the panel rows.")] = None,
    cols: Annotated[str | None, typer.Option(help="Factor of the panel columns.")] = None,
    where: Where = None,
    measure: Annotated[
        str | None, typer.Option(help=f"Measure to show, in {', '.join(OF_A_MEASURE)}.")
    ] = None,
    width: Annotated[str, typer.Option(help="single (85 mm) or double (180 mm).")] = "double",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Path; .pdf and .png end it. [default: NAME-KIND]"),
    ] = None,
) -> None:
    """Draw a figure of a study as PDF and PNG.

    Example: p0sim plot results/coverage qq --where n=200,q=3 -o figures/qq
    """
    require_word(kind, "KIND", tuple(KINDS))
    require_word(width, "--width", WIDTHS)
    if measure is not None and kind not in OF_A_MEASURE:
        raise UsageError(f"--measure goes with {', '.join(OF_A_MEASURE)}; got {kind}")

    from p0sim.report.style import save_figure
    from p0sim.studies.results import open_study

    results = open_study(directory)
    given = {"rows": rows, "cols": cols, "where": levels_in(where), "measure": measure}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    figure = getattr(results, KINDS[kind])(width=width, **options)
    stem = figure_stem(output) if output else Path(f"{results.name}-{kind}")
    with writing_output(stem):
        stem.parent.mkdir(parents=True, exist_ok=True)
        paths = save_figure(figure, stem)
    for path in paths:
        print(path)
