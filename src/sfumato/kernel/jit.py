"""How kernels are compiled: cached, without the GIL; inner ones without the wrappers that Python would need."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

from sfumato.kernel.cache import cache_of

F = TypeVar("F", bound=Callable[..., Any])

_compile: Any = njit


@cache
def _stamp() -> str:
    """A digest of all kernel sources.

    Numba renews a cached kernel when the file of that kernel changes, but not when a function that it
    calls from another file does; with this stamp it does.
    """
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def kernel(function: F) -> F:
    """A function that Python calls."""
    compiled = _compile(nogil=True)(function)
    found = cache_of(function, _stamp())
    if found is not None and hasattr(compiled, "_cache"):  # not where NUMBA_DISABLE_JIT leaves the function as it is
        compiled._cache = found
    return compiled


def inner(function: F) -> F:
    """A function that only kernels call; it compiles in a fraction of the time."""
    return _compile(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
