"""How kernels are compiled: cached, without the GIL; inner ones as part of the kernels that call them."""

import gc
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba.core.event
import numba.core.types
from numba import njit

from sfumato.kernel.link import counts_no_references, inner_compiler
from sfumato.kernel.shipped import cache_for, pack

F = TypeVar("F", bound=Callable[..., Any])

_compile: Any = njit
_event: Any = numba.core.event
_unliteral: Any = numba.core.types.unliteral
_Listener: Any = numba.core.event.Listener


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
    found = cache_for(function, _stamp())
    if found is not None and hasattr(compiled, "_cache"):  # not if NUMBA_DISABLE_JIT leaves the function unchanged
        compiled._cache = found
        _kernels.append(compiled)
    return compiled


_kernels: list[Any] = []


def pack_kernels(place: Path) -> Path:
    """Put all kernels that this process has compiled into a folder for a wheel."""
    return pack(_kernels, _stamp(), place)


def inner(function: F) -> F:
    """A function that only kernels call; it compiles in a fraction of the time."""
    return _inner(function, {})


def lean(function: F) -> F:
    """As ``inner``, for functions that make and return no arrays: they count no references to those they are given.

    Whoever calls them holds the arrays anyway. Otherwise every call counts each array of a tuple up and down, which
    took up to half of the time of top-down refinement.
    """
    return _inner(function, counts_no_references())


def _inner(function: F, more: dict[str, bool]) -> F:
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": inner_compiler(), **more}
    compiled = _compile(nogil=True, **options)(function)
    if hasattr(compiled, "get_call_template"):
        compiled.get_call_template = _by_type(compiled.get_call_template)
    return compiled


def _by_type(template: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for the types of arguments only: Numba would compile once more for each constant that a call names."""

    def resolve(args: Any, kws: Any) -> Any:
        return template([_unliteral(a) for a in args], {name: _unliteral(a) for name, a in kws.items()})

    return resolve


class _Compilation(_Listener):  # type: ignore[misc]
    """Notices when a kernel that is not in the cache is compiled; Numba's lock lets one thread compile at a time."""

    def __init__(self) -> None:
        self.depth = 0
        self.collects = False
        self.told: list[Callable[[bool], None]] = []

    def on_start(self, event: object) -> None:
        """A function is compiled, perhaps for another that is."""
        self.depth += 1
        if self.depth == 1:
            self.collects = gc.isenabled()
            gc.disable()  # millions of small objects, all in use: looking for garbage takes an eighth of the time
            self.tell(True)

    def on_end(self, event: object) -> None:
        """It is compiled, or cannot be."""
        self.depth -= 1
        if self.depth == 0:
            if self.collects:
                gc.enable()
            self.tell(False)

    def tell(self, begun: bool) -> None:
        """Notify the listener."""
        for heard in self.told:
            heard(begun)


_compilation = _Compilation()
_event.register("numba:compile", _compilation)


@contextmanager
def hearing_compilation(heard: Callable[[bool], None]) -> Iterator[None]:
    """Call ``heard`` with True whenever a kernel has to be compiled and with False when it is done."""
    _compilation.told.append(heard)
    try:
        yield
    finally:
        _compilation.told.remove(heard)
