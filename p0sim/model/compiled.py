"""How kernels are compiled: numba's machine code, kept on disk where there is room for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiler(error_model: str = "python") -> Callable[[Function], Function]:
    """What makes kernels of functions: loops over arrays that let other threads run.

    Parameters
    ----------
    error_model : {"python", "numpy"}
        What x/0 is: an error, or inf as in numpy.

    Returns
    -------
    callable
        A decorator. The machine code is kept between processes, in ``NUMBA_CACHE_DIR``, beside the
        source or in the user's cache folder. Where none of these can be written it is made anew in
        each process, which costs time and nothing else.

    Examples
    --------
    >>> @compiler("numpy")
    ... def inverse(x):
    ...     return 1 / x
    >>> inverse(0.0)
    inf
    """

    def make(function: Function) -> Function:
        options: dict[str, Any] = {"nogil": True, "error_model": error_model}
        try:
            kernel: Function = njit(cache=True, **options)(function)
        except RuntimeError:
            # numba has found no folder that it may write to
            kernel = njit(**options)(function)
        return kernel

    return make


compiled = compiler()
