"""Pages of the documentation as programs: blocks are written, run, compared with what they show.

In the order of the page, all in one folder:

- a block with a `:caption:` is written to the file of that name;
- ``python`` is run, all of a page in one module; an ``output`` block is what has been printed;
- ``console`` holds lines `$ p0sim ...`, each followed by what it prints. Nothing is compared where
  nothing is shown, and only a command that shows its error may fail;
- a block of the class `not-run` is left alone, and so are ``text`` and directives other than code.

`...` stands for any text, as in doctest. A block of another sort is an error: nothing is passed
over in silence.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from p0sim.cli import (  # noqa: F401 (their commands join the application)
    exploring,
    fitting,
    looking,
    plotting,
    recommending,
    releasing,
    running,
)
from p0sim.cli.app import app
from p0sim.errors import P0SimError

FENCE = re.compile(r"^```(\S.*)\n((?:.*\n)*?)```$", re.MULTILINE)
OPTION = re.compile(r":(\w+): *(.*)\n")
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n", re.MULTILINE)
CODE = "{code-block} "


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    kind: str
    text: str
    line: int
    caption: str = ""
    is_run: bool = True


def blocks_of(page: str) -> list[Block]:
    """All blocks of code of a page, in order; other directives are not code."""
    found = [_block(page, match) for match in FENCE.finditer(page)]
    return [block for block in found if not block.kind.startswith("{")]


def _block(page: str, match: re.Match[str]) -> Block:
    kind, text = match[1].removeprefix(CODE), match[2]
    options = {}
    while match[1].startswith(CODE) and (option := OPTION.match(text)):
        options[option[1]], text = option[2], text[option.end() :]
    line = page.count("\n", 0, match.start()) + 1
    text = text.removeprefix("\n")
    return Block(kind, text, line, options.get("caption", ""), options.get("class") != "not-run")


class Page:
    """A page that is run in the current folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.blocks = blocks_of(path.read_text("utf-8"))
        self.names: dict[str, Any] = {"__name__": path.stem}
        self.said = ""

    def run(self) -> None:
        """Run every block; the first that does not do what the page says is an AssertionError."""
        for block in self.blocks:
            if block.is_run:
                self._run(block)

    def _run(self, block: Block) -> None:
        if block.caption:
            Path(block.caption).write_text(block.text, "utf-8")
        elif block.kind == "python":
            self._run_python(block)
        elif block.kind == "output":
            self._compare(block, block.text, self.said)
        elif block.kind == "console":
            self._run_console(block)
        else:
            assert block.kind == "text", f"{self._place(block)}: what to do with this block?"

    def _run_python(self, block: Block) -> None:
        # blank lines before it, so that a traceback names the line of the page
        code = compile("\n" * block.line + block.text, str(self.path), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code, self.names)
        self.said = out.getvalue()

    def _run_console(self, block: Block) -> None:
        first, *rest = COMMAND.split(block.text)
        assert not first, f"{self._place(block)}: a console block begins with a command"
        for command, shown in zip(rest[::2], rest[1::2], strict=True):
            exit_code, printed = run_command(command)
            may_fail = "error: " in shown
            assert exit_code == 0 or may_fail, f"{self._place(block)}: {command}\n{printed}"
            if shown:
                self._compare(block, shown, printed)

    def _compare(self, block: Block, shown: str, printed: str) -> None:
        checker, example = doctest.OutputChecker(), doctest.Example("", _plain(shown))
        if not checker.check_output(example.want, _plain(printed), doctest.ELLIPSIS):
            difference = checker.output_difference(example, _plain(printed), doctest.ELLIPSIS)
            raise AssertionError(f"{self._place(block)}:\n{difference}")

    def _place(self, block: Block) -> str:
        return f"{self.path.name}:{block.line}"


def run_command(command: str) -> tuple[int, str]:
    """Exit code and results of a command line, with the error that a person would see."""
    program, *arguments = shlex.split(command.replace("\\\n", " "))
    assert Path(program).name == "p0sim", f"only p0sim can be run here; got {program}"
    result = CliRunner().invoke(app, arguments)
    if isinstance(result.exception, P0SimError):
        return 2, f"{result.stdout}error: {result.exception}\n"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def _plain(text: str) -> str:
    """Text without blanks at the ends of lines and empty lines at its own end."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n") + "\n"
