"""The command that recommends links: recommend."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from p0sim.cli.app import app, say


@app.command()
def recommend(
    graph: Annotated[
        Path, typer.Argument(help="Edge list: CSV or TSV (also .gz), Parquet or GraphML.")
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
    calibration: Annotated[str, typer.Option(help="paper, sharp or exact (CN only).")] = "sharp",
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
    from p0sim.linkpred.graphs import read_graph
    from p0sim.linkpred.ranking import recommend

    found = recommend(
        read_graph(graph, nodes, symmetrise=symmetrise),
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
    if nodes is None:
        say(f"note: the nodes in {graph} were taken as public; --nodes FILE names all there are")
