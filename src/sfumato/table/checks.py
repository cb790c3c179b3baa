"""Checks on files before they are read, and on column names.

Only regular files are opened: a FIFO or a terminal would block forever, a device never ends.
"""

import difflib
import errno
import math
import os
import stat
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from io import BufferedReader
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.errors import DataError, SfumatoError

_MEBIBYTE = 1024 * 1024


def is_number(value: object) -> bool:
    """Whether a value is a finite real number that floating point can hold; booleans are not numbers.

    >>> is_number(2.5), is_number(True), is_number(10**400)
    (True, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | np.integer | np.floating):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def is_opaque(dtype: pl.DataType) -> bool:
    """Whether the values of this type cannot be published: lists, bytes, durations, objects."""
    return dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration)


def check_names(names: Sequence[str], where: str) -> None:
    """Raise a DataError if a column has no name, a name that occurs twice, or one that looks like a pattern.

    >>> check_names(["age", "zip"], "the table")
    >>> check_names(["age", "age"], "the table")
    Traceback (most recent call last):
        ...
    sfumato.errors.DataError: the table has more than one column 'age'; columns are identified by name, \
so each name must be unique. Rename or remove the others.
    """
    unnamed = [str(place) for place, name in enumerate(names, start=1) if not name.strip()]
    if unnamed:
        raise DataError(
            f"{where} has {len(names)} columns, but no name for column {', '.join(unnamed)}; columns are "
            "identified by name. Give each column a name, or remove the column."
        )
    repeated = [repr(name) for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(
            f"{where} has more than one column {', '.join(repeated)}; columns are identified by name, "
            "so each name must be unique. Rename or remove the others."
        )
    patterns = [repr(name) for name in names if name.startswith("^") and name.endswith("$")]
    if patterns:
        raise DataError(
            f"{where} has a column named {', '.join(patterns)}; a name that begins with ^ and ends with $ would be "
            "read as a pattern. Rename the column."
        )


def check_file(path: Path, where: str) -> None:
    """Raise unless the path is a readable file."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{where} does not exist. {_suggestion(path)}") from None
    except OSError as e:
        raise DataError(f"{where} cannot be read: {e.strerror}. Check the path.") from None
    if stat.S_ISDIR(mode):
        raise DataError(f"{where} is a folder, not a file. Give the file in it that contains the table.")
    if not stat.S_ISREG(mode):
        raise DataError(f"{where} is not a regular file. Copy its contents to a file first.")
    if not os.access(path, os.R_OK):
        raise DataError(f"{where} cannot be read: permission denied. Ask its owner for read permission.")


def located(name: str | Path, folder: Path | None, kind: type[SfumatoError] = DataError) -> Path:
    """The file that a policy or a caller means: ``~`` is a home folder, a relative name is resolved from ``folder``."""
    text = str(name)
    if "\0" in text:
        raise kind(f"{text!r} contains a NUL character; a file name must not. Correct the name.")
    try:
        path = Path(name).expanduser()
    except RuntimeError:
        raise kind(f"{text} names the home folder of a user who does not exist here. Write the full path.") from None
    path = path if folder is None else folder / path
    try:
        os.fspath(path).encode("utf-8")
    except UnicodeEncodeError:
        raise kind(f"the path {os.fspath(path)!r} is not UTF-8. Rename the file or its folder.") from None
    return path


def read_text(
    path: Path, where: str, *, largest: int, kind: type[SfumatoError] = DataError, remedy: str = "check the path"
) -> str:
    """The text of a file of at most ``largest`` bytes; ``where`` is what messages call it."""
    try:
        content = read_bytes(path, largest=largest)
    except OSError as e:
        raise kind(f"{where} cannot be read: {e.strerror}; {_REMEDIES.get(e.errno, remedy)}") from None
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as e:
        raise kind(f"{where} is not UTF-8 at byte {e.start}; save it as UTF-8") from None


_REMEDIES: dict[int | None, str] = {
    errno.EISDIR: "give a file in it",
    errno.ENXIO: "copy its contents to a file first",
    errno.EFBIG: "shorten it",
}


def read_bytes(path: Path, *, largest: int, links: bool = True) -> bytes:
    """The bytes of a regular file of at most ``largest`` bytes; ``links``: whether a symbolic link is followed."""
    with open_regular(path, links=links) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest // _MEBIBYTE} MiB")
    return content


def open_regular(path: Path, *, links: bool = True) -> BufferedReader:
    """A regular file, opened for reading; an OSError, without waiting, for a folder, a pipe or a device."""
    _refuse_irregular(path.stat(follow_symlinks=links).st_mode)
    stay = 0 if links else getattr(os, "O_NOFOLLOW", 0)
    file = os.fdopen(os.open(path, os.O_RDONLY | _AT_ONCE | stay), "rb")
    try:
        _refuse_irregular(os.fstat(file.fileno()).st_mode)  # the path may name another file by now
    except OSError:
        file.close()
        raise
    return file


_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def _refuse_irregular(mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "it is a symbolic link")
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(mode):
        raise OSError(errno.ENXIO, "it is not a regular file")


def _suggestion(path: Path) -> str:
    """Files with a similar name in the same folder, or what is known about the folder."""
    if not path.parent.is_dir():
        return f"There is no folder {path.parent} either; check the path."
    names = {entry.name.lower(): entry.name for entry in path.parent.iterdir() if entry.is_file()}
    close = difflib.get_close_matches(path.name.lower(), names, n=3, cutoff=0.6)
    close += [name for name in sorted(names) if Path(name).stem == path.stem.lower() and name not in close]
    if close:
        return f"Did you mean {' or '.join(names[name] for name in close[:3])}?"
    return f"Nothing in {path.parent.resolve()} has a similar name; check the path."
