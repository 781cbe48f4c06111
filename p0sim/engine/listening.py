"""Warnings of one piece of work, also where threads work side by side.

`warnings.catch_warnings` swaps what is global to the process, so that two threads that record at
once lose each other's warnings. Here the process is tuned once, and each thread listens for itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TextIO

# About code and its upkeep, not about numbers; often said on first import only, so that rows
# would depend on which worker came first.
PASSING_WARNINGS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)

_listener: ContextVar[list[warnings.WarningMessage] | None] = ContextVar("listener", default=None)


@contextmanager
def every_warning() -> Iterator[None]:
    """Let each warning be said each time, to whoever listens in its thread."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for category in PASSING_WARNINGS:
            warnings.simplefilter("ignore", category)
        elsewhere = warnings.showwarning

        def say(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            heard = _listener.get()
            if heard is None:
                elsewhere(message, category, filename, lineno, file, line)
            else:
                heard.append(warnings.WarningMessage(message, category, filename, lineno))

        warnings.showwarning = say
        yield


@contextmanager
def listening() -> Iterator[list[warnings.WarningMessage]]:
    """Collect the warnings of this thread; call it within `every_warning`.

    Examples
    --------
    >>> with every_warning(), listening() as heard:
    ...     warnings.warn("unlucky", RuntimeWarning, stacklevel=1)
    >>> str(heard[0].message)
    'unlucky'
    """
    heard: list[warnings.WarningMessage] = []
    token = _listener.set(heard)
    try:
        yield heard
    finally:
        _listener.reset(token)
