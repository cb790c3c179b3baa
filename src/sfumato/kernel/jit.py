"""How kernels are compiled: cached, without the GIL; inner ones without the wrappers that Python would need."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """A function that Python calls."""
    return njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return, return-value]


def inner(function: F) -> F:
    """A function that only kernels call; it compiles in a fraction of the time."""
    return njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)  # type: ignore[no-any-return, return-value]
