"""Put rows in a secret order without holding them all: random buckets on disk, each shuffled by itself.

Every row draws its bucket, independently and uniformly, and each bucket is put in a uniformly random order. The buckets
one after the other are then a uniformly random order of all rows, as if each row had drawn a number of many digits and
the rows had been sorted by it: a bucket is the first digit.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.engine.draws import Draws
from sfumato.engine.locks import locked
from sfumato.errors import OutputError, os_words

_PREFIX, _LOCK = "sfumato-spill-", "sfumato.lock"


class Spill:
    """A private folder for what does not fit into memory; it is gone when nobody needs it any more.

    A killed process leaves its folder behind; the next one that spills to the same place removes it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        _sweep(folder or Path(tempfile.gettempdir()))
        try:
            self._holder = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=folder, ignore_cleanup_errors=True)
            self.path = Path(self._holder.name)
            self._lock = ExitStack()
            self._lock.enter_context(locked(self.path / _LOCK, create=True))
        except OSError as e:
            raise OutputError(f"{folder or 'the temporary folder'} cannot hold spilled rows: {os_words(e)}") from None

    def place(self, name: str) -> Path:
        """A new folder inside."""
        made = self.path / name
        made.mkdir()
        return made

    def remove(self) -> None:
        """Delete the folder and everything in it."""
        self._lock.close()
        self._holder.cleanup()


def _sweep(folder: Path) -> None:
    """Remove what processes that were killed left: folders of ours whose lock nobody holds."""
    for left in folder.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            seen = left.lstat()
            ours = not hasattr(os, "getuid") or seen.st_uid == os.getuid()
            if ours and stat.S_ISDIR(seen.st_mode):
                with locked(left / _LOCK, wait=False):
                    shutil.rmtree(left, ignore_errors=True)


def in_buckets(
    batches: Iterable[pl.DataFrame], rows: int, most: int, draws: Draws, spill: Spill
) -> Iterator[pl.DataFrame]:
    """The rows of all batches in a secret order, about ``most`` of them at a time."""
    buckets = -(-rows // most)
    if buckets <= 1:
        yield _shuffled(pl.concat(batches), draws)
        return
    folder = Path(tempfile.mkdtemp(dir=spill.path))
    try:
        for number, batch in enumerate(batches):
            _scatter(batch, number, buckets, draws, folder)
        for bucket in draws.order(buckets):
            if pieces := sorted(folder.glob(f"{bucket}-*.ipc")):
                yield _shuffled(pl.concat([pl.read_ipc(p) for p in pieces]), draws)
            for piece in pieces:
                piece.unlink()
    except OSError as e:
        raise OutputError(f"the rows cannot be spilled to {spill.path}: {os_words(e)}") from None
    finally:
        for left in folder.iterdir():
            left.unlink()
        folder.rmdir()


def _scatter(batch: pl.DataFrame, number: int, buckets: int, draws: Draws, folder: Path) -> None:
    """Write each row of a batch to the bucket that it draws."""
    drawn = draws.below(np.full(batch.height, buckets, np.int64))
    order = np.argsort(drawn, kind="stable")
    ends = np.searchsorted(drawn[order], np.arange(buckets + 1))
    arranged = batch[order]
    for bucket in range(buckets):
        if ends[bucket] < ends[bucket + 1]:
            piece = arranged.slice(ends[bucket], ends[bucket + 1] - ends[bucket])
            piece.write_ipc(folder / f"{bucket}-{number}.ipc")


def _shuffled(frame: pl.DataFrame, draws: Draws) -> pl.DataFrame:
    return frame[draws.order(frame.height)]
