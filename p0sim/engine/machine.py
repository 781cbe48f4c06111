"""What the numbers were made with: versions, processor, thread settings."""

from __future__ import annotations

import importlib.metadata
import os
import platform
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
