"""Receiving a file: straight from the request to a file with a random name in the job's private folder."""

import os
import secrets
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

from sfumato.errors import DataError
from sfumato.table.form import EXTENSIONS

SUFFIXES = tuple(EXTENSIONS)
"""The files that can hold a table."""


def suffix_of(name: str, known: tuple[str, ...] = SUFFIXES) -> str:
    """The ending by which a file is read; refuses a file of a kind that cannot be."""
    suffix = PurePosixPath(name.replace("\\", "/")).suffix.lower()
    if suffix not in known:
        raise DataError(f"this file cannot be read; its name must end in {', '.join(known)}")
    return suffix


async def receive(parts: AsyncIterator[bytes], folder: Path, suffix: str) -> Path:
    """Write a stream to a new file, piece by piece; nothing is left of one that breaks off."""
    path = folder / f"{secrets.token_hex(16)}{suffix}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            async for part in parts:
                file.write(part)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def shown_name(name: str) -> str:
    """The name of a file as the steward knows it: without folders or unprintable characters, and not too long."""
    last = PurePosixPath(name.replace("\\", "/")).name
    return "".join(c for c in last if c.isprintable())[-120:] or "table"
