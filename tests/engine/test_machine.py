"""One thread inside, whatever was set outside."""

from __future__ import annotations

import threadpoolctl

from p0sim.engine.machine import describe_machine, single_threaded


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info()}


def test_blas_and_numba_are_held_to_one_thread_and_set_free_again():
    import numba

    before, numba_before = blas_threads(), numba.get_num_threads()
    with single_threaded():
        assert blas_threads() == {1}
        assert numba.get_num_threads() == 1
    assert blas_threads() == before
    assert numba.get_num_threads() == numba_before


def test_machine_names_the_thread_variables_that_are_set(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert describe_machine()["threads"]["environment"]["OMP_NUM_THREADS"] == "3"
