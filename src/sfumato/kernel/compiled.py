"""Kernels compiled by Numba, and who listens. Nothing else imports Numba, and this only when something is compiled."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba.core.event
import numba.core.types
import numba.extending
from numba import njit

from sfumato.kernel.link import counts_no_references, inner_compiler
from sfumato.kernel.shipped import cache_for, pack

_compile: Any = njit
_event: Any = numba.core.event
_types: Any = numba.core.types
_unliteral: Any = numba.core.types.unliteral
_intrinsic: Any = numba.extending.intrinsic
_Listener: Any = numba.core.event.Listener

_kernels: list[Any] = []


def kernel_of(function: Callable[..., Any], stamp: str) -> Any:
    """A function that Python calls, with a cache of its machine code; ``stamp`` stands for all kernel sources."""
    compiled = _compile(nogil=True)(function)
    found = cache_for(function, stamp)
    if found is not None:
        compiled._cache = found
        _kernels.append(compiled)
    return compiled


def inner_of(function: Callable[..., Any], *, lean: bool) -> Any:
    """A function that only kernels call."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": inner_compiler()}
    compiled = _compile(nogil=True, **options, **(counts_no_references() if lean else {}))(function)
    compiled.get_call_template = _by_type(compiled.get_call_template)
    return compiled


def on_bytes_of(in_llvm: Callable[..., Any]) -> Any:
    """A function of bytes that only kernels call, of which ``in_llvm`` writes the instructions."""

    def typed(_: Any, left: Any, at: Any, right: Any, place: Any) -> Any:
        def instructions(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointers = []
            for kind, array, place in ((left, *args[:2]), (right, *args[2:])):
                first = context.make_array(kind)(context, builder, array).data
                pointers.append(builder.gep(first, [place]))
            return in_llvm(builder, *pointers)

        return _types.uint64(left, _types.uint64, right, _types.uint64), instructions

    intrinsic = _intrinsic(typed)

    def call(left: Any, at: Any, right: Any, place: Any) -> Any:
        return intrinsic(left, at, right, place)

    return inner_of(call, lean=True)


def on_address_of(in_llvm: Callable[..., Any]) -> Any:
    """A function of an address and a number that only kernels call, of which ``in_llvm`` writes the instructions."""

    def typed(_: Any, address: Any, number: Any) -> Any:
        def instructions(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return in_llvm(builder, *args)

        return _types.uint64(_types.uint64, _types.uint64), instructions

    intrinsic = _intrinsic(typed)

    def call(address: Any, number: Any) -> Any:
        return intrinsic(address, number)

    return inner_of(call, lean=True)


def _by_type(template: Callable[..., Any]) -> Callable[..., Any]:
    """Compile for the types of arguments only: Numba would compile once more for each constant that a call names."""

    def resolve(args: Any, kws: Any) -> Any:
        return template([_unliteral(a) for a in args], {name: _unliteral(a) for name, a in kws.items()})

    return resolve


def pack_kernels(stamp: str, place: Path) -> Path:
    """Put all kernels that this process has compiled into a folder for a wheel."""
    return pack(_kernels, stamp, place)


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


def listen(told: list[Callable[[bool], None]]) -> None:
    """Tell those in the list, now and whenever it changes."""
    _compilation.told = told
