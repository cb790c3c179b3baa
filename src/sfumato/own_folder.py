"""Where code is kept between runs: in folders into which only this user and root can put anything, in sealed files."""

import hashlib
import os
import stat
import tempfile
from functools import cache
from pathlib import Path


@cache
def is_private(folder: str) -> bool:
    """Whether only this user and root can put files into a folder or put another in its place."""
    if not hasattr(os, "geteuid"):  # Windows: a user's folders are private
        return True
    try:
        path = Path(folder).resolve(strict=True)
        found = [place.stat() for place in (path, *path.parents)]
    except OSError:
        return False
    return all(
        s.st_uid in (0, os.geteuid()) and (not s.st_mode & 0o022 or (place and s.st_mode & stat.S_ISVTX))
        for place, s in enumerate(found)
    )


@cache
def user_folder() -> str | None:
    """``sfumato`` in the user's cache folder, made for the user alone; None if there is no such folder."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
        folder = Path(base) / "sfumato"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return str(folder)


_DIGEST = hashlib.sha256().digest_size


def write_sealed(file: Path, data: bytes) -> None:
    """Write a file, whole or not at all, with a digest."""
    handle, name = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as there:
            there.write(hashlib.sha256(data).digest() + data)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink()
        raise


def read_sealed(file: Path) -> bytes | None:
    """What was written to a file; None if it is not there, or damaged."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    return data[_DIGEST:] if hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST] else None
