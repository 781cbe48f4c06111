"""The command line: every command, and where it starts."""

from __future__ import annotations

from p0sim.cli import looking, running
from p0sim.cli.app import run_app

__all__ = ["looking", "main", "running"]


def main() -> None:
    """Run the command line."""
    run_app()
