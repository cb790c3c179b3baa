"""Outputs appear whole or not at all, and never replace anything that sfumato did not write.

A draft is made next to its target in ``.NAME.XXXXXXXX.draft``, a folder that only its owner can enter:

    sfumato.lock    locked while the writing process lives
    new             what is being written; after an exchange, what was there before
    old             what was there before, if the file system cannot exchange two folders

The next process that writes there removes drafts whose process is dead, and restores an ``old`` whose place is empty.
"""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.engine.locks import locked
from sfumato.errors import OutputError, os_words
from sfumato.release.files import stages
from sfumato.release.files.exchange import exchange
from sfumato.release.files.recognize import PRIVATE, PRIVATE_FILES, public_part_around, stranger_in, unknown_files

_DRAFT = re.compile(r"\.(?P<name>.+)\.[a-z0-9_]{8}\.draft", re.DOTALL)
_LOCK, _NEW, _OLD, _SIGN = "sfumato.lock", "new", "old", b"a draft of sfumato\n"


def refuse_existing(folder: Path, *, force: bool) -> None:
    """Refuse an output that exists, or that ``force`` must not replace; first clean up after killed runs."""
    _refuse_file_as_folder(folder)
    recover(folder.parent)
    if not os.path.lexists(folder):
        return
    try:
        stranger = stranger_in(folder)
    except OSError as e:
        raise OutputError(
            f"{folder} already exists and cannot be read ({e.strerror}), so --force does not replace it; choose "
            "another folder"
        ) from None
    if stranger:
        raise OutputError(_not_ours(folder, stranger))
    if not force:
        raise OutputError(f"{folder} already exists; choose another folder, or replace it with --force")


def _refuse_file_as_folder(path: Path) -> None:
    """Refuse a path that leads through a file."""
    nearest = next((place for place in path.parents if os.path.exists(place)), None)  # noqa: PTH110 - does not raise
    if nearest is not None and not nearest.is_dir():
        raise OutputError(f"cannot write {path}: {nearest} is a file, not a folder; choose another path")


def refuse_public(folder: Path) -> None:
    """Refuse to put private files into the public part of an output, which is handed over."""
    if (public := public_part_around(folder)) is not None:
        raise OutputError(
            f"{folder} is inside the public part of a release ({public}), so its recipients would receive the "
            "private part too; choose a folder outside it"
        )


def _not_ours(folder: Path, stranger: str) -> str:
    return (
        f"{folder} already exists and was not written entirely by sfumato ({stranger}), so --force does not replace "
        "it; choose another folder"
    )


@dataclass
class _Draft:
    """The folder of a draft, and what identifies its content wherever it is moved."""

    folder: Path
    ours: tuple[int, int] | None = None


@contextlib.contextmanager
def whole_folder(folder: Path, *, force: bool = False, afterwards: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """A private folder that replaces ``folder`` once everything is written, and is removed otherwise.

    ``afterwards`` is called once it is in place. From then on an interrupt comes too late and changes nothing.
    """
    refuse_existing(folder, force=force)
    with _draft(folder, heeds_late_interrupts=False) as draft:
        new = draft.folder / _NEW
        new.mkdir()
        draft.ours = _identity(new)
        mode = new.stat().st_mode & 0o755  # what the umask allows
        new.chmod(0o700)
        stages.reached("draft made")
        yield new
        _settle_on_disk(new)
        new.chmod(mode)
        refuse_existing(folder, force=force)
        stages.reached("before exchange")
        if os.path.lexists(folder):
            _replace(draft.folder, folder)
        else:
            new.rename(folder)
        stages.reached("after exchange")
        afterwards()


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A private file that replaces ``path`` once it is written, and is removed otherwise."""
    _refuse_file_as_folder(path)
    recover(path.parent)
    with _draft(path) as draft:
        new = draft.folder / _NEW
        yield new
        draft.ours = _identity(new)
        stages.reached("file written")
        new.replace(path)
        stages.reached("file in place")


def write_private(folder: Path, texts: Mapping[str, str | bytes]) -> None:
    """Write the private part of an output, which only its owner can read, whatever the umask."""
    if unknown := texts.keys() - set(PRIVATE_FILES):
        raise ValueError(f"{unknown} would not be recognized as files of sfumato")
    private = folder / PRIVATE
    private.mkdir(mode=0o700)
    private.chmod(0o700)
    for name, text in texts.items():
        with (private / name).open("xb") as file:
            (private / name).chmod(0o600)
            file.write(text.encode("utf-8") if isinstance(text, str) else text)


@contextlib.contextmanager
def _draft(target: Path, *, heeds_late_interrupts: bool = True) -> Iterator[_Draft]:
    """A locked draft next to the target; errors after it has replaced the target are not failures."""
    draft = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked_draft(target) as folder:
            draft = _Draft(folder)
            try:
                yield draft
            finally:
                _clear(folder, target)
                stages.reached(f"draft of {target.name} removed")
    except (OSError, KeyboardInterrupt, SystemExit) as e:
        if draft is not None:
            _clear(draft.folder, target)
        late = draft is not None and draft.ours is not None and _identity(target) == draft.ours
        if late and (isinstance(e, OSError) or not heeds_late_interrupts):
            return
        if isinstance(e, OSError):
            raise OutputError(f"cannot write {target}: {os_words(e)}; nothing was written") from None
        raise


@contextlib.contextmanager
def _locked_draft(target: Path) -> Iterator[Path]:
    """A new draft folder with its lock held; if files cannot be locked, without a lock, and then it is never swept."""
    with contextlib.ExitStack() as stack:
        while True:
            draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".draft", dir=target.parent))
            try:
                (draft / _LOCK).touch(mode=0o600)
                file = stack.enter_context(locked(draft / _LOCK))
                os.write(file, _SIGN)
            except FileNotFoundError:  # swept away before it was locked
                continue
            except OSError:
                (draft / _LOCK).unlink(missing_ok=True)
            break
        yield draft


def _replace(draft: Path, folder: Path) -> None:
    """Put the new folder in place of the old one, which is kept whole in the draft."""
    new, old = draft / _NEW, draft / _OLD
    if exchange(new, folder):
        old = new
    else:
        folder.rename(old)
        stages.reached("old moved aside")
        new.rename(folder)
    if stranger := stranger_in(old):  # something was added at the last moment
        if not exchange(old, folder):
            folder.rename(draft / "refused")
            old.rename(folder)
        raise OutputError(_not_ours(folder, stranger))


def _identity(path: Path) -> tuple[int, int] | None:
    """Identifies a file or folder, to see whether a path still names the same one."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _clear(draft: Path, target: Path) -> None:
    """Restore what was moved aside if nothing took its place, and remove the rest, the lock last.

    A part with files that sfumato did not write is kept, and so is the draft.
    """
    old = draft / _OLD
    with contextlib.suppress(OSError):
        if old.exists() and not os.path.lexists(target):
            old.rename(target)
    with contextlib.suppress(OSError):
        for part in draft.iterdir():
            if part.is_dir() and not any(unknown_files(part)) and (part != old or os.path.lexists(target)):
                shutil.rmtree(part, ignore_errors=True)
            elif part.is_file() and part.name != _LOCK:
                part.unlink()
        if all(part.name == _LOCK for part in draft.iterdir()):
            (draft / _LOCK).unlink(missing_ok=True)
            draft.rmdir()


def recover(folder: Path) -> None:
    """Remove drafts that killed processes left in a folder, and restore what one of them had moved aside."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder)):
            match = _DRAFT.fullmatch(entry.name)
            if match and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _sweep(Path(entry.path), folder / match["name"])


def _sweep(draft: Path, target: Path) -> None:
    """Remove one draft if it is provably ours and no longer in use."""
    if not list(draft.iterdir()):
        draft.rmdir()  # killed before it held anything; a live process makes itself another
        return
    with locked(draft / _LOCK, wait=False):
        if (draft / _LOCK).read_bytes() not in (b"", _SIGN) or not _is_draft(draft):
            return
        _clear(draft, target)


def _is_draft(draft: Path) -> bool:
    """Whether a folder holds only what a draft holds."""
    parts = [part for part in draft.iterdir() if part.name != _LOCK]
    if any(part.name not in (_NEW, _OLD) or part.is_symlink() for part in parts):
        return False
    return not any(part.is_dir() and any(unknown_files(part)) for part in parts)


def _settle_on_disk(folder: Path) -> None:
    """Flush the files to disk before they replace anything."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
