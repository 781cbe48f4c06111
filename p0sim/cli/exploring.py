"""Commands for looking before anything is released: explore, datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from p0sim.cli.app import app, say
from p0sim.cli.new_files import figure_stem, require_new_figures, writing_output
from p0sim.cli.seeds import seeded
from p0sim.cli.words import patience, print_frame
from p0sim.errors import InvalidNetworkError, NoEstimateError

if TYPE_CHECKING:
    import pandas as pd

    from p0sim.experiments.exploration import Row

HEADINGS = {
    "exists": "estimate",
    "rmse_alpha": "RMSE alpha",
    "rmse_beta": "RMSE beta",
    "ci_width": "CI length",
    "noise_share": "noise share",
}
SHARES = ("exists", "noise_share")
SHOWN_OF_DATASETS = ["name", "n", "q", "arcs", "title"]
TABLE_2 = {"average_degree": "2E/V"}
TABLE_2_DECIMALS = {"2E/V": 4, "clustering": 4, "diameter": 0}
SIZES = {"n": "n", "q": "q", "arcs": "arcs"}
# of an undirected graph, as in Table 2
SIZES_OF_GRAPHS = {"n": "V", "edges": "E"}
FURTHER = ("weight", "transformation", "citation", "source", "licence")
WIDTH, INDENT = 92, 16


@app.command()
def explore(
    network: Annotated[
        Path, typer.Argument(help="Edge list: CSV or TSV (also .gz), Parquet or GraphML.")
    ],
    q: Annotated[int, typer.Option(help="Weights lie in 0..q-1.")],
    epsilons: Annotated[str, typer.Option(help="Privacy losses to try, comma separated.")],
    nodes: Annotated[
        Path | None, typer.Option(help="Text file with every node, one a line.")
    ] = None,
    reps: Annotated[int, typer.Option(help="Simulated releases of each kind.")] = 200,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Same seed, same table. [default: a new one]")
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="STEM of the figure: STEM.pdf, STEM.png.")
    ] = None,
) -> None:
    """Simulate releases of a network, to choose epsilon; for the curator's eyes only.

    Not a release: what it prints shows the network's own numbers and must not be published.

    Example: p0sim explore friends.csv --q 5 --nodes nodes.txt --epsilons 0.5,1,2,4 -o friends
    """
    import pandas as pd

    from p0sim.experiments.exploration import NOT_A_RELEASE, explore_rows
    from p0sim.model.edge_files import read_network
    from p0sim.privacy.exact_epsilon import exact_epsilon
    from p0sim.report.style import save_figure
    from p0sim.studies.fit_plots import plot_exploration

    stem = None if output is None else figure_stem(Path(output))
    require_new_figures([] if stem is None else [str(stem)])
    losses = [float(exact_epsilon(text.strip()).value) for text in epsilons.split(",")]
    read = read_network(network, q, nodes)
    if nodes is None:
        say(f"note: n = {read.n} was read off {network}; --nodes FILE names all nodes there are")
    rng, used = seeded(seed)
    with patience("simulating"), _without_ways():
        frame = pd.DataFrame(_told(explore_rows(read, losses, reps, rng=rng), reps))
    about = f"n = {read.n}, q = {q}, {reps} simulated releases a row, seed {used}"
    _print_exploration(frame, NOT_A_RELEASE, about)
    if stem is not None:
        with writing_output(stem):
            paths = save_figure(plot_exploration(frame), stem)
        for path in paths:
            print(f"Written: {path} ({NOT_A_RELEASE})")


@app.command()
def datasets(
    name: Annotated[str | None, typer.Argument(help="One of them, in full.")] = None,
) -> None:
    """List the networks and graphs inside the package, or describe one: source, licence.

    Every figure of a graph is computed from the graph: clustering is the global transitivity, the
    diameter is inf where some nodes are not connected.

    Example: p0sim datasets fraternity
    """
    if name is None:
        _print_datasets()
        return
    entry = _entry(name)
    print(name if entry["directed"] else f"{name}, an undirected graph")
    sizes = SIZES if entry["directed"] else SIZES_OF_GRAPHS
    for fact, label in {"title": "title", **sizes, **{fact: fact for fact in FURTHER}}.items():
        _print_fact(label, entry[fact])


def _print_datasets() -> None:
    from p0sim.datasets import describe_graphs, describe_networks

    print_frame(describe_networks()[SHOWN_OF_DATASETS])
    print("\nUndirected graphs:")
    print_frame(describe_graphs().rename(columns=TABLE_2), TABLE_2_DECIMALS)
    print("\nOne in full: p0sim datasets NAME.")
    print("In Python: p0sim.load_network(NAME), p0sim.load_graph(NAME).")


@contextmanager
def _without_ways() -> Iterator[None]:
    """The ways on of a fit are not for this command, which has none of these options."""
    try:
        yield
    except NoEstimateError as error:
        raise NoEstimateError(error.reason, error.nodes) from None


def _told(rows: Iterable[Row], reps: int) -> Iterator[Row]:
    """The rows as they come, the first of each mechanism and epsilon said aloud."""
    seen = set()
    for row in rows:
        done = f"{row['mechanism']}, epsilon {row['epsilon']:g}: {reps} releases simulated"
        if done not in seen:
            say(done)
        seen.add(done)
        yield row


def _entry(name: str) -> dict[str, Any]:
    """What is written of a network, or the refusal of a name that no network has."""
    from p0sim.datasets import sources
    from p0sim.validation import one_of

    known = sources()
    if name not in known:
        raise InvalidNetworkError(f"NAME must be {one_of(name, known)}")
    return known[name]


def _print_fact(label: str, value: object) -> None:
    """One fact, or one a line of a list, wrapped beside its name."""
    import textwrap

    for text in value if isinstance(value, list) else [value]:
        start, further = f"{label:<{INDENT}}", " " * INDENT
        lines = textwrap.wrap(
            str(text), WIDTH, initial_indent=start, subsequent_indent=further,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        print("\n".join(lines))
        label = ""


def _print_exploration(frame: pd.DataFrame, mark: str, about: str) -> None:
    """The table between two lines that say what it is not."""
    keys = ["mechanism", "epsilon"]
    shown = frame.assign(shown=[_shown(*row) for row in zip(*_cells(frame), strict=True)])
    table = shown.pivot_table(
        index=keys, columns="measure", values="shown", aggfunc="first", sort=False
    )
    table = table[list(HEADINGS)].rename(columns=HEADINGS).reset_index()
    print(mark)
    print(about)
    if (frame["reference"] == "extended").any():
        print("The network has no estimate of its own: it and its releases are fitted with")
        print(
            'boundary "extend", errors are over parameters that are finite in both fits. With much'
        )
        print("noise on sparse degrees such fits are biased: errors hold that, CI lengths do not.")
    print_frame(table)
    print("In brackets: Monte Carlo standard errors. RMSE is against the fit without noise, less")
    print("means over nodes; estimate and noise share are in %; - where no release has a fit.")
    print(mark)


def _cells(frame: pd.DataFrame) -> list[pd.Series[Any]]:
    return [frame[name] for name in ("measure", "value", "mcse")]


def _shown(measure: str, value: float, mcse: float) -> str:
    """A value with its Monte Carlo error, shares in per cent."""
    if value != value:
        return "-"
    scale, digits = (100, 1) if measure in SHARES else (1, 3)
    error = "" if mcse != mcse else f" ({scale * mcse:.{digits}f})"
    return f"{scale * value:.{digits}f}{error}"
