"""Settings of a process while blocks run in it: one thread a library, every warning heard."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import threadpoolctl

from p0sim.engine.listening import every_warning

_lock = threading.Lock()
_settings = ExitStack()
_users = 0


@contextmanager
def tuned_process() -> Iterator[None]:
    """Tune the process for the first of its threads that runs blocks, until the last is done.

    Threads of a pool find it tuned by the thread that runs the study: BLAS takes such settings
    from one thread only.
    """
    global _users
    with _lock:
        if _users == 0:
            _settings.enter_context(single_threaded())
            _settings.enter_context(every_warning())
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _settings.close()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Hold BLAS, OpenMP and numba to one thread.

    Sums over several threads depend on their number in the last bits, so a run with one worker
    must be held to one thread as well.

    Examples
    --------
    >>> with single_threaded():
    ...     max((pool["num_threads"] for pool in threadpoolctl.threadpool_info()), default=1)
    1
    """
    numba = sys.modules.get("numba")
    before = numba.get_num_threads() if numba else 1
    with threadpoolctl.threadpool_limits(limits=1):
        try:
            if numba:
                numba.set_num_threads(1)
            yield
        finally:
            if numba:
                numba.set_num_threads(before)
