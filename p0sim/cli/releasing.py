"""Commands of the curator, who has the network: release, ledger."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from p0sim.cli.app import Interrupted, UsageError, app
from p0sim.cli.words import MISSING, argument, print_frame, printable
from p0sim.errors import CannotWriteError

if TYPE_CHECKING:
    import pandas as pd

    from p0sim.privacy.flipped_release import FlippedRelease
    from p0sim.privacy.release import Release, ReleasePlan

COLUMNS = ["when", "mechanism", "q", "n", "epsilon", "delta", "total", "output"]
WIDTH, LEAST = 80, 12


@app.command()
def release(
    network: Annotated[
        Path, typer.Argument(help="Edge list: CSV or TSV (also .gz), Parquet or GraphML.")
    ],
    q: Annotated[int, typer.Option(help="Weights lie in 0..q-1; public, not read off the data.")],
    nodes: Annotated[Path, typer.Option(help="Text file with every label, one a line; public.")],
    epsilon: Annotated[
        str, typer.Option(help="Privacy loss of one edge's weight, exact: 0.1 or 7/3.")
    ],
    mechanism: Annotated[str, typer.Option(help="laplace or edge_flip.")] = "laplace",
    budget: Annotated[
        str | None,
        typer.Option(help="What all releases of this file may cost; set the first time."),
    ] = None,
    clip: Annotated[
        bool,
        typer.Option(
            "--clip", help="Move weights outside 0..q-1 to its ends; of at most 2^53 in size."
        ),
    ] = False,
    sum_duplicates: Annotated[
        bool, typer.Option("--sum-duplicates", help="Add up the weights of a pair's rows.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check everything; draw, spend and write nothing.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="New folder for the release.")
    ] = None,
) -> None:
    """Release a network's degrees under edge differential privacy, with the system's randomness.

    What is spent is entered in NETWORK.ledger before anything is drawn. Another name, a copy or a
    hard link of the data file is another ledger: keep to one. A release that is killed leaves a
    folder .NAME.PID.partial, which may be deleted.

    Example: p0sim release friends.csv --q 5 --nodes nodes.txt --epsilon 0.5 -o friends-release
    """
    from p0sim.model.edge_files import read_network
    from p0sim.privacy.release import plan_release
    from p0sim.privacy.release_files import require_new

    if output is not None:
        require_new(output)
    elif not check:
        raise UsageError("-o must name a new folder, unless --check is given")
    read = read_network(network, q, nodes, clip=clip, sum_duplicates=sum_duplicates)
    plan = plan_release(read, epsilon, mechanism=mechanism, budget=budget)
    if check or output is None:
        print("everything is in order; nothing was drawn, spent or written")
        return
    _carry_out(plan, output)


@app.command()
def ledger(
    network: Annotated[Path, typer.Argument(help="The network's file.")],
) -> None:
    """Show what releases and recommendations have spent, and what the budget leaves.

    A recommendation has the node it was for in place of an output folder. Times are UTC. The ledger
    is that of the file's name: a copy or a hard link of the data has one of its own.

    Example: p0sim ledger friends.csv
    """
    from p0sim.errors import InvalidNetworkError
    from p0sim.privacy.exact_epsilon import exact_text
    from p0sim.privacy.ledger import COMPOSITION, ledger_of, read_ledger

    if network.is_dir():
        raise InvalidNetworkError(f"network must be a file; got {network}, a folder")
    found = read_ledger(ledger_of(network))
    if not found.path.exists() and not network.exists():
        raise InvalidNetworkError(f"network must be a file or have had a ledger; got {network}")
    if found.entries:
        print_frame(_listing(found.entries))
    print(f"spent: {exact_text(found.spent)} ({COMPOSITION})")
    delta = sum(entry.get("delta", 0.0) for entry in found.entries)
    if delta:
        print(f"delta: {delta:g} (deltas add up)")
    if found.budget is None or found.left is None:
        print("budget: none was set")
    else:
        print(f"budget: {exact_text(found.budget)}\nleft: {exact_text(found.left)}")


def _listing(entries: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Entries in as many columns as they fill, cut to the width of a terminal."""
    import pandas as pd

    cells = {name: [_cell(entry, name) for entry in entries] for name in COLUMNS}
    if set(cells["delta"]) == {MISSING}:
        del cells["delta"]
    output = cells.pop("output")
    taken = sum(max(map(len, [name, *texts])) + 1 for name, texts in cells.items())
    shown = [_last(text, max(WIDTH - taken, LEAST)) for text in output]
    return pd.DataFrame({**cells, "output": shown})


def _cell(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if name == "output" and value is None and "node" in entry:
        return printable(f"for {entry['node']}")
    if name == "when" and value is not None:
        return printable(str(value)[:16].replace("T", " "))
    return MISSING if value is None else printable(str(value))


def _last(text: str, length: int) -> str:
    """The end of a text, where paths and labels differ."""
    return text if len(text) <= length else f"..{text[2 - length :]}"


@contextmanager
def _telling_what_is_spent(epsilon: str, output: Path) -> Iterator[Event]:
    """Let what fails once the ledger has its entry say what is spent, and what is finished."""
    entered = Event()
    try:
        yield entered
    except (OSError, MemoryError) as error:
        if not entered.is_set():
            raise
        raise CannotWriteError(f"{_reason(error)}; {_what_stands(epsilon, output)}") from error
    except Interrupted:
        told = f"; {_what_stands(epsilon, output)}" if entered.is_set() else ""
        raise Interrupted(told) from None


def _reason(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return "memory is full"
    return str(error) if isinstance(error, CannotWriteError) else f"cannot print: {error.strerror}"


def _what_stands(epsilon: str, output: Path) -> str:
    # it was new, and takes its name when it is whole
    finished = f"the release is finished in {output}, " if output.exists() else ""
    return f"{finished}epsilon {epsilon} counts as spent"


def _carry_out(plan: ReleasePlan, output: Path) -> None:
    """Draw into a folder that is known to be writable before anything is spent."""
    from p0sim.privacy.release_files import new_folder

    with _telling_what_is_spent(plan.epsilon.text, output) as entered:
        with new_folder(output) as folder:
            plan.enter(str(output))
            entered.set()
            made = plan.draw_once()
            made.write_into(folder)
        _tell(made, output)


def _tell(made: Release | FlippedRelease, output: Path) -> None:
    size = f"n = {made.n}, q = {made.q}"
    print(f"{printable(str(output))}: degrees.csv and release.json, {made.mechanism}, {size}")
    print(made.statement)
    print(f"Next: p0sim fit {argument(output)}")
    # what cannot be printed is to be known while there is somebody to tell it
    sys.stdout.flush()
