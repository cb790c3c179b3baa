"""How kernels are compiled: cached, without the GIL; inner ones without the wrappers that Python would need."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

_compile: Any = njit


@cache
def _stamp() -> str:
    """A digest of all kernel sources.

    Numba renews a cached kernel when the file of that kernel changes, but not when a function that it
    calls from another file does; with this stamp it does.
    """
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def kernel(function: F) -> F:
    """A function that Python calls."""
    compiled = _compile(cache=True, nogil=True)(function)
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if index is not None:
        index._source_stamp = _stamp()
    return compiled


def inner(function: F) -> F:
    """A function that only kernels call; it compiles in a fraction of the time."""
    return _compile(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
