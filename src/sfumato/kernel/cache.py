"""Where compiled kernels are kept between runs: in a folder that nobody else can write to, or nowhere.

A cached kernel is machine code inside a pickle: anyone who can write the file can run code as us. So a folder
is used only if it and all folders above it belong to this user or to root and others cannot write there. A file
that is damaged is compiled again, and a folder that cannot be written costs time, never the run.
"""

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba.core.caching
import numba.core.config
import numba.core.runtime.nrt

from sfumato.own_folder import is_private
from sfumato.own_folder import user_folder as _user_folder

_DIGEST = hashlib.sha256().digest_size
_log = logging.getLogger("sfumato")
_config: Any = numba.core.config
_FunctionCache: Any = numba.core.caching.FunctionCache
_CacheFile: Any = numba.core.caching.IndexDataCacheFile
_runtime: Any = numba.core.runtime.nrt.rtsys


class Damaged(Exception):  # noqa: N818 - never leaves this module
    """A cached kernel is not what was written."""


class SealedFile(_CacheFile):  # type: ignore[misc]
    """Numba's cache file with a digest at its end: torn machine code would crash where a torn pickle raises."""

    def _dump(self, content: object) -> bytes:
        data: bytes = super()._dump(content)
        return data + hashlib.sha256(data).digest()

    def _load_data(self, name: str) -> Any:
        data = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
            raise Damaged(name)
        return super()._load_data(name)

    def entries(self) -> dict[Any, str]:
        """The file of each compiled signature."""
        found: dict[Any, str] = self._load_index()
        return found

    def write_index(self, entries: dict[Any, str]) -> None:
        """Say which file has which signature."""
        self._save_index(entries)


def object_code(payload: Any) -> bytes:
    """The object code of a kernel as Numba keeps it: its library by name, as which kind of code, the code."""
    _, kind, (code, _) = payload[0]
    if kind != "object":
        raise Damaged(kind)
    return bytes(code)


def begin_runtime(target_context: Any) -> None:
    """Make ready to run machine code that is loaded.

    Numba would first load all that it needs to compile something, which takes longer than the kernel. Machine code
    only needs the runtime that counts references to arrays.
    """
    _runtime.initialize(target_context)


class KernelCache(_FunctionCache):  # type: ignore[misc]
    """The cache of one kernel, which never fails: what cannot be read is compiled, what cannot be written is not."""

    def __init__(self, function: Callable[..., Any], stamp: str) -> None:
        super().__init__(function)
        self._cache_file = SealedFile(self.cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """A compiled kernel from the cache, or None."""
        try:
            begin_runtime(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception:  # a damaged pickle raises anything
            self._forget()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _say_uncached(f"{self.cache_path} cannot be written ({getattr(error, 'strerror', None) or error})")

    def entries(self) -> dict[Any, str]:
        """The file of each compiled signature."""
        found: dict[Any, str] = self._cache_file.entries()
        return found

    def machine_code(self, sig: Any, target_context: Any) -> bytes:
        """The object code of a compiled signature."""
        return object_code(self._cache_file.load(self._index_key(sig, target_context.codegen())))

    def _forget(self) -> None:
        """Empty the index, so that the kernel is saved again."""
        try:
            self.flush()
        except OSError as error:
            _say_uncached(f"{self.cache_path} cannot be written ({error.strerror})")


def cache_of(function: Callable[..., Any], stamp: str) -> KernelCache | None:
    """The cache of a kernel in the first folder that is private and writable; None, said once, if there is none.

    Numba's own choice comes first (NUMBA_CACHE_DIR, next to the source, the user's folder for Numba), then our own.
    """
    found = _cache_in(None, function, stamp)
    if found is None and (folder := _user_folder()) is not None:
        found = _cache_in(folder, function, stamp)
    if found is None:
        _say_uncached("no folder is writable by this user alone")
    else:
        _used.add(found.cache_path)
    return found


def _cache_in(folder: str | None, function: Callable[..., Any], stamp: str) -> KernelCache | None:
    before = _config.CACHE_DIR
    _config.CACHE_DIR = folder or before
    try:
        found = KernelCache(function, stamp)
    except (RuntimeError, OSError):  # no folder can be written
        return None
    finally:
        _config.CACHE_DIR = before
    return found if is_private(found.cache_path) else None


_used: set[str] = set()


def are_kept() -> bool:
    """Whether compiled kernels are kept for later runs, as far as is known by now."""
    return not _said


def _say_uncached(why: str) -> None:
    if not _said:
        _said.append(why)
        _log.warning(
            "compiled kernels are not cached, so every run compiles them again, which takes up to 20 seconds: %s; "
            "set NUMBA_CACHE_DIR to a folder that only this user can write to",
            why,
        )


_said: list[str] = []
