"""The command line: every command, and where it starts."""

from __future__ import annotations

from p0sim.cli import looking, running  # noqa: F401 (their commands join the application)
from p0sim.cli.app import app, run_app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    run_app()
