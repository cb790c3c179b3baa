"""Kernels: functions that are compiled once, to machine code that is kept and runs without the GIL.

A process that finds all the machine code it needs does not import Numba, which would take longer than a small job.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from sfumato.kernel import native

F = TypeVar("F", bound=Callable[..., Any])

_OFTEN = 10_000
"""After this many calls, importing Numba is worthwhile: its dispatch is faster."""


@cache
def stamp() -> str:
    """A digest of all kernel sources.

    Numba renews a cached kernel when the file of that kernel changes, but not when a function that it
    calls from another file does; with this stamp it does.
    """
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


class Kernel:
    """A function that Python calls, for each kind of arguments as machine code that was kept, or compiled now."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        self._kept: dict[Any, Callable[..., Any]] = {}
        self._calls = 0

    def __call__(self, *args: Any) -> Any:
        if "compiled" not in self.__dict__ and (kept := self._kept_for(args)) is not None:
            return kept(*args)
        before = len(self.compiled.overloads)
        try:
            return self.compiled(*args)
        finally:
            if len(self.compiled.overloads) > before:
                native.keep(self.py_func, args, self.compiled, stamp())

    @cached_property
    def compiled(self) -> Any:
        """The function as Numba compiles it."""
        from sfumato.kernel.compiled import kernel_of

        _hear()
        return kernel_of(self.py_func, stamp())

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes this for where another kernel names it."""
        return self.compiled._numba_type_

    def _kept_for(self, args: tuple[Any, ...]) -> Callable[..., Any] | None:
        """The machine code for such arguments, if it was kept and Numba is not needed anyway."""
        kind = native.kind_of(args)
        found = self._kept.get(kind)
        self._calls += 1
        if found is None and kind is not None and (found := native.find(self.py_func, args, stamp())) is not None:
            self._kept[kind] = found
        return found if self._calls <= _OFTEN else None


class Inner:
    """A function that only kernels call; it is compiled if one of them is, or ``instead`` says what takes its place."""

    def __init__(
        self, function: Callable[..., Any], *, lean: bool = False, instead: Callable[[], Any] | None = None
    ) -> None:
        self.py_func, self.is_lean, self._instead = function, lean, instead
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__

    @cached_property
    def compiled(self) -> Any:
        """The function as Numba compiles it."""
        from sfumato.kernel.compiled import inner_of

        return self._instead() if self._instead else inner_of(self.py_func, lean=self.is_lean)

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes this for where a kernel names it."""
        return self.compiled._numba_type_


def _is_compiled() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def kernel(function: F) -> F:
    """A function that Python calls."""
    return cast(F, Kernel(function)) if _is_compiled() else function


def inner(function: F) -> F:
    """A function that only kernels call; it compiles in a fraction of the time."""
    return cast(F, Inner(function)) if _is_compiled() else function


def lean(function: F) -> F:
    """As ``inner``, for functions that make and return no arrays: they count no references to those they are given.

    Whoever calls them holds the arrays anyway. Otherwise every call counts each array of a tuple up and down, which
    took up to half of the time of top-down refinement.
    """
    return cast(F, Inner(function, lean=True)) if _is_compiled() else function


def on_bytes(in_llvm: Callable[..., Any]) -> Callable[[F], F]:
    """As ``inner``, for a function of an array of bytes, a place in it, and the same again, that returns a uint64.

    ``in_llvm`` writes its instructions, given a builder of llvmlite and a pointer to each place; the function itself
    says the same in Python.
    """

    def compiled() -> Any:
        from sfumato.kernel.compiled import on_bytes_of

        return on_bytes_of(in_llvm)

    return _instead(compiled)


def on_address(in_llvm: Callable[..., Any]) -> Callable[[F], F]:
    """As ``inner``, for a function of an address in memory and a number, both uint64, that returns a uint64.

    ``in_llvm`` writes its instructions, given a builder of llvmlite and the arguments; the function itself says the
    same in Python. Whoever calls it vouches for the address.
    """

    def compiled() -> Any:
        from sfumato.kernel.compiled import on_address_of

        return on_address_of(in_llvm)

    return _instead(compiled)


def _instead(compiled: Callable[[], Any]) -> Callable[[F], F]:
    def made(function: F) -> F:
        return cast(F, Inner(function, instead=compiled)) if _is_compiled() else function

    return made


_told: list[Callable[[bool], None]] = []


def _hear() -> None:
    from sfumato.kernel.compiled import listen

    listen(_told)


@contextmanager
def hearing_compilation(heard: Callable[[bool], None]) -> Iterator[None]:
    """Call ``heard`` with True whenever a kernel has to be compiled and with False when it is done."""
    _told.append(heard)
    try:
        yield
    finally:
        _told.remove(heard)
