"""What the numbers were made with: versions, processor, thread settings."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import threadpoolctl

PACKAGES = ("p0sim", "numpy", "scipy", "pandas", "pyarrow", "joblib", "statsmodels", "numba")
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def describe_machine() -> dict[str, Any]:
    """Versions and thread settings, as stored in study.json.

    Examples
    --------
    >>> sorted(describe_machine())
    ['platform', 'threads', 'versions']
    """
    blas = {
        f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}".strip()
        for pool in threadpoolctl.threadpool_info()
        if pool["user_api"] == "blas"
    }
    variables = {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ}
    return {
        "versions": versions(),
        "platform": f"{platform.system()} {platform.machine()}",
        "threads": {"limit": 1, "blas": sorted(blas), "environment": variables},
    }


def versions() -> dict[str, str]:
    """Version of Python and of every package the numbers depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


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
