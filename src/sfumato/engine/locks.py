"""Locks on files: released when the process that holds them ends, however it ends."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int, *, wait: bool) -> None:
        msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: int, *, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def locked(path: Path, *, create: bool = False, wait: bool = True) -> Iterator[int]:
    """Hold the lock on a file and yield its descriptor; OSError if that fails or, without ``wait``, if it is taken.

    A file that was removed or replaced while we waited is not the one that others will lock, so we start again.
    """
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | (os.O_CREAT if create else 0)
    while True:
        file = os.open(path, flags, 0o600)
        try:
            _lock(file, wait=wait)
            if _is_still(file, path):
                yield file
                return
        finally:
            os.close(file)


def _is_still(file: int, path: Path) -> bool:
    """Whether the path still names the opened file."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False
