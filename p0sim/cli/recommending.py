"""The command that recommends links: recommend."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from p0sim.cli.app import app, say

if TYPE_CHECKING:
    from p0sim.linkpred.graphs import Graph


@app.command()
def recommend(
    graph: Annotated[
        Path,
        typer.Argument(
            help="Edge list: CSV or TSV (also .gz), Parquet or GraphML; or the name of a graph "
            "inside the package, such as usair."
        ),
    ],
    node: Annotated[str, typer.Option(help="Label of the node that the list is for.")],
    k: Annotated[int, typer.Option("-k", help="Length of the list.")] = 10,
    protocol: Annotated[str, typer.Option(help="CN, JC or AA.")] = "AA",
    mechanism: Annotated[
        str, typer.Option(help="dplp, laplace, gaussian or exponential.")
    ] = "dplp",
    epsilon: Annotated[
        str, typer.Option(help="Privacy loss of one edge not at NODE, exact: 0.1 or 7/3.")
    ] = "1",
    calibration: Annotated[
        str | None,
        typer.Option(
            help="Of dplp and exponential: paper, sharp or exact (CN only). [default: sharp]"
        ),
    ] = None,
    delta: Annotated[float | None, typer.Option(help="For gaussian.")] = None,
    nodes: Annotated[
        Path | None,
        typer.Option(
            help="Text file with every node, one a line; public. Without: those with an edge."
        ),
    ] = None,
    symmetrise: Annotated[
        bool, typer.Option("--symmetrise", help="Join two nodes where an arc leads either way.")
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(help="What everything drawn from this file may cost; set the first time."),
    ] = None,
) -> None:
    """Recommend nodes to a node under edge privacy, with the system's randomness.

    What is spent is entered in GRAPH.ledger before anything is drawn.

    Example: p0sim recommend friends.csv --node ann -k 3 --protocol AA --epsilon 1
    """
    from p0sim.linkpred.query import PROVED
    from p0sim.linkpred.ranking import recommend
    from p0sim.linkpred.secure_ranking import MECHANISMS

    _require_word("--protocol", protocol, PROVED, "of proved sensitivity (others: in Python)")
    _require_word("--mechanism", mechanism, MECHANISMS, "which are private")
    embedded = _is_embedded(graph)
    found = recommend(
        _graph(graph, nodes, symmetrise, embedded),
        node,
        k,
        protocol,
        mechanism,
        epsilon,
        calibration,
        delta=delta,
        budget=budget,
    )
    print("\n".join(found.nodes))
    print(found.statement)
    if nodes is None and not embedded:
        say(f"note: the nodes in {graph} were taken as public; --nodes FILE names all there are")


def _require_word(option: str, word: str, known: Iterable[str], what: str) -> None:
    """Refuse what a list to be used cannot have."""
    from p0sim.errors import InvalidPrivacyError

    if word not in known:
        raise InvalidPrivacyError(
            f"{option} must be one of {', '.join(known)}, {what}; got {word!r}"
        )


def _is_embedded(graph: Path) -> bool:
    """Whether a graph of the package is meant: a file of that name comes first."""
    from p0sim.datasets import graph_names

    return str(graph) in graph_names() and not graph.exists()


def _graph(graph: Path, nodes: Path | None, symmetrise: bool, embedded: bool) -> Graph:
    from p0sim.datasets import load_graph
    from p0sim.linkpred.graphs import read_graph

    if not embedded:
        return read_graph(graph, nodes, symmetrise=symmetrise)
    if nodes is not None or symmetrise:
        raise typer.BadParameter(
            f"--nodes and --symmetrise are for files; {graph} is a graph inside the package"
        )
    return load_graph(str(graph))
