"""The application that commands are added to, and how it ends."""

from __future__ import annotations

import io
import shlex
import signal
import sys
import warnings
from collections.abc import Collection
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from p0sim import __version__
from p0sim.cli.main import INTERRUPTED
from p0sim.cli.words import printable
from p0sim.errors import P0SimError

SIGNALS = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]
RESUMABLE = (["run"], ["extend"])
# columns of the help beside names and what they do
MARGINS = 6
NOT_REPRODUCED, BAD_INPUT, NO_VALID_REPLICATE, OUT_OF_TIME = 1, 2, 3, 4
Jobs = Annotated[int, typer.Option("-j", "--jobs", help="Workers; -1 is one a core.")]
# what BadParameter is a kind of: typer's own class, click's before version 0.29
UsageError: Any = typer.BadParameter.__base__

# Headings of the help and the commands below each, in the order of the work.
PANELS = {
    "Networks and releases": (
        *("datasets", "explore", "release", "ledger", "fit", "existence", "synthesize"),
        "recommend",
    ),
    "Simulation studies": (
        *("check", "plan", "run", "status", "failures", "repro", "extend", "merge"),
    ),
    "What came out": ("table", "plot", "report", "export", "columns"),
}


class InPanels(TyperGroup):
    """Commands listed as they are used, not as their modules happen to be imported."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the panels."""
        return [name for names in PANELS.values() for name in names]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A section of the help for each panel."""
        limit = formatter.width - MARGINS - max(map(len, self.commands))
        for title, names in PANELS.items():
            shown = [(name, self.commands[name].get_short_help_str(limit)) for name in names]
            with formatter.section(title):
                formatter.write_dl(shown)


app = typer.Typer(
    name="p0sim",
    cls=InPanels,
    help="Simulation and inference for weighted p0 networks under edge differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"p0sim {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Hold the options that go before a command."""


class Interrupted(BaseException):
    """Ctrl-C or a polite kill; not KeyboardInterrupt, which the command line library keeps."""


def run_app() -> None:
    """Run the command line; what a person did wrong is one line and exit code 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a name that the terminal cannot show must not end a command whose work is done
        sys.stdout.reconfigure(errors="backslashreplace")
    warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
    for number in SIGNALS:
        signal.signal(number, _interrupt)
    try:
        sys.exit(app(prog_name="p0sim", standalone_mode=False))
    except UsageError as error:
        _say_usage(error)
        sys.exit(BAD_INPUT)
    except Interrupted as stop:
        kept = f"; finished blocks are kept. Resume with: {same_command()}"
        say(f"interrupted{stop}{kept if sys.argv[1:2] in RESUMABLE else ''}")
        sys.exit(INTERRUPTED)
    except P0SimError as error:
        say(f"error: {printable(str(error))}")
        sys.exit(BAD_INPUT)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        say(f"error: {place}{error.strerror or error}")
        sys.exit(BAD_INPUT)
    except MemoryError:
        say("error: n or the grid is too large for the memory of this machine")
        sys.exit(BAD_INPUT)


def _say_usage(error: Any) -> None:
    """What is wrong with the options in one line; all the help where nothing was asked for."""
    message = str(error.format_message())
    if "\n" in message:
        error.show()
    else:
        where = error.ctx.command_path if error.ctx else "p0sim"
        say(f"error: {message[:1].lower()}{message[1:].rstrip('.')}; see {where} --help")


def _interrupt(*_: object) -> NoReturn:
    # Once is enough: workers are being stopped, which a second one would only spoil.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise Interrupted


def same_command() -> str:
    """What was typed: a study resumes by itself when it is run again."""
    return shlex.join(["p0sim", *sys.argv[1:]])


def require_word(word: str, name: str, known: Collection[str]) -> None:
    """Refuse a word that is none of those known."""
    from p0sim.validation import one_of

    if word not in known:
        raise UsageError(f"{name} must be {one_of(word, known)}")


def say(line: str) -> None:
    """Print a line where it does not mix with results."""
    print(line, file=sys.stderr)
