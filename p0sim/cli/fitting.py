"""Commands of the analyst, who has what was published: fit, existence, synthesize."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from p0sim.cli.app import app, say
from p0sim.cli.new_files import (
    csv_text,
    require_folder,
    require_new_csv,
    require_new_figures,
    write_new_file,
)
from p0sim.cli.seeds import seeded
from p0sim.cli.words import patience, print_text, printable
from p0sim.errors import NoEstimateError

if TYPE_CHECKING:
    from p0sim.estimate.moments import Degrees
    from p0sim.inference.results import P0Results
    from p0sim.inference.totals import Totals
    from p0sim.model.networks import Network

Source = Annotated[
    Path,
    typer.Argument(
        metavar="RELEASE", help="Release folder, or CSV with node, out_degree, in_degree."
    ),
]
Q = Annotated[int | None, typer.Option(help="Weights lie in 0..q-1; needed with a CSV.")]
Epsilon = Annotated[
    str | None, typer.Option(help="Privacy loss of a CSV's discrete Laplace noise: 0.1 or 7/3.")
]
NoNoise = Annotated[
    bool, typer.Option("--no-noise", help="Take a CSV's degrees as a network's own.")
]
MarginsOption = Annotated[str, typer.Option(help="balanced, or drop_last as in the paper.")]
BoundaryOption = Annotated[
    str,
    typer.Option(
        help="refuse, or extend: nodes at the end of their range get -inf or inf; for little or no "
        "noise, not with --ridge."
    ),
]
RidgeOption = Annotated[
    str,
    typer.Option(
        help="Weight of a penalty that keeps all finite, or auto; for sparse degrees with noise. "
        "0: none."
    ),
]
NO_ESTIMATE = 1
FIGURES = ("degrees", "intervals")
# how the command line spells the ways on that an error names
SPELLED = {'boundary="extend"': "--boundary extend", 'ridge="auto"': "--ridge auto"}
NO_WAY = "neither --boundary extend nor --ridge auto can go on"


@app.command()
def fit(
    release: Source,
    q: Q = None,
    epsilon: Epsilon = None,
    no_noise: NoNoise = False,
    margins: MarginsOption = "balanced",
    variance: Annotated[
        str, typer.Option(help="noise, S (the paper's, blind to noise) or exact.")
    ] = "noise",
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    boundary: BoundaryOption = "refuse",
    ridge: RidgeOption = "0",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="New CSV, one row a parameter.")
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(help="STEM of figures: STEM-degrees and STEM-intervals, .pdf and .png."),
    ] = None,
) -> None:
    """Fit the p0 model to what was released; the network is not needed, no privacy is spent.

    Example: p0sim fit friends-release -o parameters.csv --plot friends
    """
    require_new_csv(output)
    require_folder(plot)
    require_new_figures([f"{plot}-{name}" for name in FIGURES] if plot else [])
    found = _fitted(_degrees(release, q, epsilon, no_noise), margins, boundary, ridge)
    summary, table = found.summary(level, variance), found.tidy(level, variance)
    if output is not None:
        write_new_file(output, table.to_csv(index=False, lineterminator="\n"))
    written = [output] if output else []
    print_text(str(summary))
    for path in [*written, *(_figures(found, level, variance, plot) if plot is not None else [])]:
        print(f"Written: {path}")


@app.command()
def existence(
    release: Source,
    q: Q = None,
    epsilon: Epsilon = None,
    no_noise: NoNoise = False,
    margins: MarginsOption = "balanced",
) -> None:
    """Say whether an estimate exists, and if not why: exit code 0 if it does, 1 if not.

    Example: p0sim existence friends-release
    """
    from p0sim.estimate.existence import existence as decide
    from p0sim.estimate.margins import margins_of
    from p0sim.estimate.moments import ways_on

    degrees = _degrees(release, q, epsilon, no_noise)
    answer = decide(degrees, margins)
    if answer.exists:
        print("an estimate exists")
        return
    print(printable(f"no estimate exists: {answer.reason}"))
    print(printable(f"nodes: {', '.join(answer.nodes)}"))
    ways = _spelled(ways_on(margins_of(degrees, margins), degrees.q))
    print(f"to go on: p0sim fit with {' or '.join(ways)}" if ways else NO_WAY)
    raise typer.Exit(NO_ESTIMATE)


@app.command()
def synthesize(
    release: Source,
    output: Annotated[Path, typer.Option("-o", "--output", help="New CSV of weighted arcs.")],
    q: Q = None,
    epsilon: Epsilon = None,
    no_noise: NoNoise = False,
    margins: MarginsOption = "balanced",
    boundary: BoundaryOption = "refuse",
    ridge: RidgeOption = "0",
    seed: Annotated[
        int | None, typer.Option(min=0, help="Same seed, same network. [default: a new one]")
    ] = None,
) -> None:
    """Draw a network from the fit to a release; no privacy is spent.

    With --boundary extend the network is too heavy where noise took many sparse degrees below 0:
    negative noise is lost, positive is not. It is told then; prefer --ridge auto.

    Example: p0sim synthesize friends-release -o edges.csv
    """
    from p0sim.model.networks import Network

    require_new_csv(output)
    found = _fitted(_degrees(release, q, epsilon, no_noise), margins, boundary, ridge)
    rng, used = seeded(seed)
    with patience("drawing"):
        network = Network(found.simulate(rng=rng), found.model.q, found.nodes)
    write_new_file(output, csv_text(["source", "target", "weight"], _arcs(network)))
    print(f"{output}: {network.weights.nnz} arcs between {network.n} nodes, seed {used}")
    _tell_synthetic(found)


def _degrees(release: Path, q: int | None, epsilon: str | None, no_noise: bool) -> Degrees:
    """What was released, and nothing else: no network is looked for."""
    from p0sim.privacy.release_files import DEGREES_FILE, RECORD_FILE

    if release.name == DEGREES_FILE and release.with_name(RECORD_FILE).is_file():
        release = release.parent
    if release.is_dir():
        return _released(release, q, epsilon, no_noise)
    return _written(release, q, epsilon, no_noise)


def _released(release: Path, q: int | None, epsilon: str | None, no_noise: bool) -> Degrees:
    from p0sim.errors import InvalidNetworkError, InvalidPrivacyError
    from p0sim.privacy.exact_epsilon import exact_epsilon
    from p0sim.privacy.release import read_release

    found = read_release(release)
    if q not in (None, found.q):
        raise InvalidNetworkError(f"q must be the release's own {found.q}, or left out; got {q}")
    own = found.epsilon_text
    if no_noise or (
        epsilon is not None and exact_epsilon(epsilon).value != exact_epsilon(own).value
    ):
        got = "--no-noise" if no_noise else epsilon
        raise InvalidPrivacyError(f"epsilon must be the release's own {own}; got {got}")
    return found


def _written(path: Path, q: int | None, epsilon: str | None, no_noise: bool) -> Degrees:
    from p0sim.errors import InvalidNetworkError, InvalidPrivacyError
    from p0sim.privacy.release_files import read_columns, read_degrees

    if epsilon is not None and no_noise:
        raise InvalidPrivacyError(f"epsilon must not go with --no-noise; got {epsilon}")
    _, out_degree, in_degree = read_columns(path)
    if q is None:
        raise InvalidNetworkError("q must be given with a CSV: --q Q, weights lie in 0..q-1")
    # Python integers do not wrap round
    totals = sum(out_degree.tolist()), sum(in_degree.tolist())
    if epsilon is None and not no_noise:
        if totals[0] != totals[1]:
            raise InvalidNetworkError(
                f"totals of out_degree and in_degree must agree without noise; got {totals[0]}, "
                f"{totals[1]}: give --epsilon E where they carry noise, --no-noise where not"
            )
        say("note: no --epsilon was given and the totals agree: taken as degrees without noise")
    return read_degrees(path, q, epsilon)


def _fitted(degrees: Degrees, margins: str, boundary: str, ridge: str) -> P0Results:
    """The fit; where there is none, the ways on as this command line spells them."""
    from p0sim.estimate.moments import fit_moments
    from p0sim.inference.results import P0Results

    try:
        with patience("fitting"):
            return P0Results(fit_moments(degrees, margins, "newton", boundary, _weight(ridge)))
    except NoEstimateError as error:
        raise NoEstimateError(error.reason, error.nodes, _spelled(error.ways)) from None


def _spelled(ways: Iterable[str]) -> list[str]:
    return [way.replace(name, SPELLED[name]) for way in ways for name in SPELLED if name in way]


def _weight(ridge: str) -> float | str:
    """A ridge as typed: a number where it is one; other words are checked where they are used."""
    try:
        return float(ridge)
    except ValueError:
        return ridge


def _figures(found: P0Results, level: float, variance: str, stem: str) -> list[Path]:
    from p0sim.report.style import save_figure
    from p0sim.studies.fit_plots import plot_degrees, plot_intervals

    figures = [plot_degrees(found), plot_intervals(found, level, variance)]
    return [
        path
        for name, figure in zip(FIGURES, figures, strict=True)
        for path in save_figure(figure, f"{stem}-{name}")
    ]


def _arcs(network: Network) -> list[tuple[str, str, int]]:
    """Every arc of positive weight, by the order of the nodes."""
    matrix, nodes = network.weights.tocoo(), network.nodes
    ends = zip(*(side.tolist() for side in matrix.coords), strict=True)
    weights = matrix.data.tolist()
    return [(nodes[i], nodes[j], weight) for (i, j), weight in zip(ends, weights, strict=True)]


def _tell_synthetic(found: P0Results) -> None:
    """What a synthetic network is, and what it is not."""
    import numpy as np

    from p0sim.inference.noise_cost import privacy_statement
    from p0sim.inference.totals import totals_of

    moments = found.moments
    drawn = np.sqrt(np.median(np.concatenate(moments.degree_variances)))
    noise = np.sqrt(moments.noise_variance)
    print("Nodes without an arc have no row: read it with the node list of the release.")
    print("A synthetic network: drawn from the fit, no arc of it is known to be a true one.")
    print("Its degrees have the fitted ones as their mean. Typical standard deviations:")
    print(f"{drawn:.3g} of a drawn degree about that mean, by the chance of the draw;")
    print(f"{noise:.3g} of a released degree about the true one, by the noise that was fitted too.")
    if moments.n_forced and moments.epsilon is not None:
        _tell_weight(totals_of(moments))
    print("It is post-processing of what was released: no more privacy is spent.")
    print(privacy_statement(found.moments.degrees))


def _tell_weight(totals: Totals) -> None:
    """Whether forced nodes make the network heavier, or lighter, than what was released."""
    sent, received = totals.released
    print(f"Expected total weight: {totals.fitted:.6g}. Released: {sent:.6g} by out-degrees,")
    print(
        f"{received:.6g} by in-degrees. The distance is {totals.distance:.1f} standard deviations"
    )
    if totals.far:
        print("of the noise: as nodes were forced, negative noise is lost. Prefer --ridge auto.")
    else:
        print("of the noise.")
