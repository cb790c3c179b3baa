"""The private folder of a studio: uploads and results live in it, under random names, until the studio ends.

Only its owner can enter it. A studio that was killed leaves its folder behind; the next one removes it, which it can
tell by the lock that a living studio holds.
"""

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sfumato.engine.locks import locked

PREFIX = "sfumato-studio-"
_LOCK, _SIGN = "sfumato.lock", b"a folder of sfumato studio\n"


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A new private folder, locked while it is used and removed at the end; first clean up after killed studios."""
    sweep()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        (folder / _LOCK).write_bytes(_SIGN)
        with locked(folder / _LOCK):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_folder(parent: Path) -> Path:
    """A new folder with a random name that only its owner can enter."""
    folder = parent / secrets.token_hex(16)
    folder.mkdir(mode=0o700)
    return folder


def sweep() -> None:
    """Remove the folders of studios that no longer live."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if _is_ours(folder):
                with locked(folder / _LOCK, wait=False):
                    shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: Path) -> bool:
    """Whether a folder is one that a studio of this user made."""
    found = folder.lstat()
    mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return mine and stat.S_ISDIR(found.st_mode) and (folder / _LOCK).read_bytes() == _SIGN
