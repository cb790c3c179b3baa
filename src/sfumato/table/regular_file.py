"""Files before they are read: which one a name means, and that it is a regular one of bounded size.

Only regular files are opened: a FIFO or a terminal would block forever, a device never ends. Nothing here needs Polars
or NumPy, so that a command can begin with a file before it has imported them.
"""

import difflib
import errno
import hashlib
import os
import stat
from io import BufferedReader
from pathlib import Path

from sfumato.errors import DataError, SfumatoError

_MEBIBYTE = 1024 * 1024
_CHUNK = 8 * _MEBIBYTE
"""Python's lock is reacquired between two chunks, which takes long while another thread imports modules."""


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
        raise kind(
            f"{text} refers to the home folder of a user who does not exist here. Write the full path."
        ) from None
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


def digest(file: Path) -> str:
    """The SHA-256 of a regular file; pipes and devices are refused without waiting for them."""
    summed = hashlib.sha256()
    with open_regular(file) as f:
        room = memoryview(bytearray(min(_CHUNK, os.fstat(f.fileno()).st_size + 1)))
        while size := f.raw.readinto(room):
            summed.update(room[:size])
    return summed.hexdigest()


def digest_if_readable(file: Path) -> str:
    """The SHA-256 of a file; empty if there is no such file, or it cannot be read."""
    try:
        return digest(file)
    except OSError:
        return ""


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
