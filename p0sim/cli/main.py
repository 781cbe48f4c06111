"""The command line: where it starts."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

INTERRUPTED = 130


def main() -> None:
    """Run the command line; from the first moment an interrupt is no traceback."""
    signal.signal(signal.SIGINT, _leave)
    # importing a module adds its commands to the application
    from p0sim.cli import (  # noqa: F401
        exploring,
        fitting,
        looking,
        plotting,
        recommending,
        releasing,
        running,
    )
    from p0sim.cli.app import run_app

    run_app()


def _leave(*_: object) -> NoReturn:
    sys.exit(INTERRUPTED)
