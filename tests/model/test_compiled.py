"""Kernels are compiled in one way, with or without a folder to keep them in."""

from __future__ import annotations

from pathlib import Path

import pytest
from numba import njit
from numba.core.caching import CacheImpl

import p0sim
from p0sim.model.compiled import compiler


def half(x):
    return 1 / x


@pytest.fixture
def nowhere(monkeypatch):
    """A machine on which no folder for machine code can be written."""
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])


def test_without_a_folder_to_keep_it_in_a_kernel_is_compiled_all_the_same(nowhere):
    assert compiler()(half)(2.0) == 0.5
    assert compiler("numpy")(half)(0.0) == float("inf")


def test_control_numba_itself_refuses_there(nowhere):
    with pytest.raises(RuntimeError, match="no locator available"):
        njit(cache=True)(half)


def test_every_kernel_is_made_there():
    package = Path(p0sim.__file__).parent
    users = [path.name for path in package.rglob("*.py") if "njit" in path.read_text("utf-8")]
    assert users == ["compiled.py"]
