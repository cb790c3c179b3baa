"""Kernels that come compiled in the wheel, so that a first run need not compile them.

They are machine code for all processors of a level, in a folder of the installed package that is named by everything
that must agree: Python, Numba, llvmlite, the platform, the level and the kernels' sources. If there is no such folder,
if this processor is below the level, or if a kernel is needed for other types, it is compiled and kept as without them.
Files are read from the package only: whoever can write there can change the program anyway.
"""

import platform
import sys
import sysconfig
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding
import numba
import numba.core.caching
import numba.core.compiler

from sfumato.kernel.cache import KernelCache, SealedFile, begin_runtime, cache_of, object_code

_Cache: Any = numba.core.caching.Cache
_NullCache: Any = numba.core.caching.NullCache
_Result: Any = numba.core.compiler.CompileResult
_host: Any = llvmlite.binding

PLACE = Path(__file__).parent / "compiled"
"""Where a wheel has compiled kernels, one folder per kind."""


_X86_64_V3 = "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave"


class Level(NamedTuple):
    """The least processor that compiled kernels run on: its name for LLVM, and the features that it has."""

    cpu: str
    features: frozenset[str]


def level() -> Level:
    """The level of this architecture. x86-64-v3 (most processors since 2013 to 2015) has AVX2 and counts bits at once.

    For any x86-64 processor, count queries took 1.11 times as long and the Hilb family up to 1.09 times.
    """
    if platform.machine().lower() in ("x86_64", "amd64"):
        return Level("x86-64-v3", frozenset(_X86_64_V3.split()))
    return Level("generic", frozenset())


def kind(stamp: str) -> str:
    """The name of the folder for this environment and kernels with a certain stamp."""
    where = sysconfig.get_platform().replace(".", "_")
    versions = f"numba-{numba.__version__}-llvmlite-{llvmlite.__version__}"
    return f"{sys.implementation.cache_tag}-{versions}-{where}-{level().cpu}-{stamp[:16]}"


@cache
def _fits() -> bool:
    """Whether this processor has all that the level has."""
    found = _host.get_host_cpu_features()
    return all(found.get(feature, False) for feature in level().features)


class ShippedCache:
    """The cache of one kernel as Numba asks it: what the wheel brought first, then what was compiled here."""

    def __init__(self, function: Callable[..., Any], stamp: str, folder: Path) -> None:
        self._py_func, self._stamp, self._folder = function, stamp, str(folder)
        self._shipped = SealedFile(self._folder, name_of(function), stamp)

    @cached_property
    def own(self) -> Any:
        """The cache of what is compiled here, looked for when something has to be."""
        return cache_of(self._py_func, self._stamp) or _NullCache()

    @property
    def cache_path(self) -> str:
        """Where kernels are looked for first."""
        return self._folder

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for a signature; None if it has to be compiled."""
        try:
            payload = self._shipped.load(self.shipped_key(sig, target_context.codegen()))
            if payload is not None:
                begin_runtime(target_context)
                return _Result._rebuild(target_context, *payload)
        except Exception:  # damaged: compiled here
            pass
        return self.own.load_overload(sig, target_context)

    def machine_code(self, sig: Any, target_context: Any) -> bytes:
        """The object code of a compiled signature."""
        payload = self._shipped.load(self.shipped_key(sig, target_context.codegen()))
        return self.own.machine_code(sig, target_context) if payload is None else object_code(payload)

    def shipped_key(self, sig: Any, codegen: Any) -> Any:
        """The key of a kernel in a wheel: as Numba's, but of the level's processor instead of the host's."""
        signature, (triple, *_), code = _Cache._index_key(self, sig, codegen)
        return signature, (triple, level().cpu, ""), code

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled here."""
        self.own.save_overload(sig, data)

    def flush(self) -> None:
        """Forget what was compiled here."""
        self.own.flush()


def name_of(function: Callable[..., Any]) -> str:
    """The name of a kernel's files."""
    return f"{function.__module__}.{function.__qualname__}"


def cache_for(function: Callable[..., Any], stamp: str, place: Path | None = None) -> ShippedCache | KernelCache | None:
    """The cache of a kernel: with what the wheel brought, if it brought anything for this environment."""
    folder = (place or PLACE) / kind(stamp)
    if folder.is_dir() and _fits():
        return ShippedCache(function, stamp, folder)
    return cache_of(function, stamp)


def pack(kernels: Iterable[Any], stamp: str, place: Path) -> Path:
    """Put the kernels that were compiled for the level, from their private caches, into a folder for a wheel."""
    folder = place / kind(stamp)
    folder.mkdir(parents=True)
    for compiled in kernels:
        name, own = name_of(compiled.py_func), compiled._cache
        made = {key: file for key, file in own.entries().items() if key[1][1:] == (level().cpu, "")}
        shipped = {key: f"{name}.{number}.nbc" for number, key in enumerate(made, 1)}
        for key, file in made.items():
            (folder / shipped[key]).write_bytes(Path(own.cache_path, file).read_bytes())
        if shipped:
            SealedFile(str(folder), name, stamp).write_index(shipped)
    return folder
