"""Folders in which machine code may be kept: only this user and root can put anything there."""

import os
import stat
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
