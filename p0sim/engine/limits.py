"""Limits on the time of one replicate.

A replicate over its time is first asked: an exception breaks into its Python code. One that does
not listen, since it sits in a library call that never returns, ends with its whole process, if that
process is ours to lose; the parent then finds out which replicate it was.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TextIO

GRACE_SECONDS = 5.0


class ReplicateTimeout(BaseException):
    """Time is up; no Exception, so that an experiment's own handlers let it pass."""


@contextmanager
def time_limit(seconds: float | None, *, process_is_ours: bool = False) -> Iterator[None]:
    """Raise ReplicateTimeout where the block takes longer.

    Parameters
    ----------
    seconds : float or None
        None for no limit.
    process_is_ours : bool
        Whether the process may be ended if the exception is not heard in time.

    Raises
    ------
    ReplicateTimeout

    Examples
    --------
    >>> with time_limit(0.01):
    ...     while True:
    ...         pass
    Traceback (most recent call last):
        ...
    p0sim.engine.limits.ReplicateTimeout
    """
    if seconds is None:
        yield
        return
    if seconds <= 0:
        raise ReplicateTimeout
    in_main_thread = threading.current_thread() is threading.main_thread()
    ask = _by_signal if in_main_thread and hasattr(signal, "setitimer") else _by_exception
    if process_is_ours:
        faulthandler.dump_traceback_later(seconds + GRACE_SECONDS, exit=True, file=_nowhere())
    try:
        with ask(seconds):
            yield
    finally:
        if process_is_ours:
            faulthandler.cancel_dump_traceback_later()


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    """A timer's signal also wakes a sleeping main thread."""
    over = False

    def time_is_up(*_: object) -> None:
        if not over:
            raise ReplicateTimeout

    before = signal.signal(signal.SIGALRM, time_is_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _by_exception(seconds: float) -> Iterator[None]:
    """Other threads hear no signals; the interpreter can raise in them between two bytecodes."""
    thread = ctypes.c_ulong(threading.get_ident())
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    timer = threading.Timer(seconds, raise_in, (thread, ctypes.py_object(ReplicateTimeout)))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        # One that came between the end of the work and here must not be raised any more.
        raise_in(thread, None)


@cache
def _nowhere() -> TextIO:
    return open(os.devnull, "w")
