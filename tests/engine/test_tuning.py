"""One thread inside, whatever was set outside, until the last block is done."""

from __future__ import annotations

import threading

import numpy as np  # noqa: F401 (brings the BLAS that is limited)
import threadpoolctl

from p0sim.engine.tuning import single_threaded, tuned_process


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info()}


def test_blas_and_numba_are_held_to_one_thread_and_set_free_again():
    import numba

    with threadpoolctl.threadpool_limits(limits=2):
        before, numba_before = blas_threads(), numba.get_num_threads()
        with single_threaded():
            assert blas_threads() == {1}
            assert numba.get_num_threads() == 1
        assert blas_threads() == before != {1}
        assert numba.get_num_threads() == numba_before


def test_a_thread_that_leaves_does_not_set_the_others_free():
    def work() -> None:
        with tuned_process(), single_threaded():
            inside.append(blas_threads())

    inside: list[set[int]] = []
    with threadpoolctl.threadpool_limits(limits=2):
        with tuned_process():
            thread = threading.Thread(target=work)
            thread.start()
            thread.join(10)
            assert blas_threads() == {1}
        assert blas_threads() == {2}
    assert inside == [{1}]
