"""Read the table of a policy on another core while the rest of sfumato is being imported, which takes as long.

The file's SHA-256 needs nothing but the file: the other core finds it first. A large plain text table is read and
ranked without Polars, while Polars is being imported (`plain_text`). Other files are read by Polars, when it and NumPy
are imported, not before: Polars may look for NumPy, and must not find half of it.
"""

import tomllib
from collections.abc import Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sfumato.background import in_background, known
from sfumato.table.regular_file import digest_if_readable, open_regular

if TYPE_CHECKING:
    import polars as pl

    from sfumato.table.batches import Told
    from sfumato.table.plain_text import PlainTable
    from sfumato.table.ranked import Ranks

_LARGEST = 1 << 20
_MOST_AHEAD = 1 << 28
_LEAST_PLAIN = 1 << 23
"""Smaller text tables are read by Polars in the time in which the other reader is loaded."""
_PAUSE = 0.1


@dataclass
class Ahead:
    """A file that is being read, by which settings, the ranks of its cells, and its SHA-256."""

    source: str
    nulls: tuple[str, ...]
    folder: Path
    digest: Future[str]
    frame: "Future[pl.DataFrame]" = field(default_factory=Future)
    ranks: "Future[Ranks]" = field(default_factory=Future)
    share: float = 0.0
    """How much of the file has been read."""
    ranked: float = 0.0
    """How many of its columns have been ranked, of all."""

    def reached(self, share: float) -> None:
        """Note how much of the file has been read."""
        self.share = share

    def reads(self, source: str, nulls: tuple[str, ...], folder: Path) -> bool:
        """Whether these are the settings that the file is read by."""
        return (self.source, self.nulls, self.folder) == (source, nulls, folder)

    def take(self, told: "Told") -> "pl.DataFrame":
        """The rows, once: nobody else keeps them in memory; ``told`` is told meanwhile how much has been read."""
        while not wait([self.frame], _PAUSE).done:
            told(self.share)
        frame = self.frame.result()
        self.frame = Future()
        return frame

    def take_ranks(self, told: "Told") -> "Ranks":
        """The ranks of the cells; ``told`` is told meanwhile how many columns have been ranked."""
        while not wait([self.ranks], _PAUSE).done:
            told(self.ranked)
        return self.ranks.result()

    def rank_reached(self, share: float) -> None:
        """Note how many of the columns have been ranked."""
        self.ranked = share


def read_ahead(policy: Path) -> Ahead | None:
    """Begin to read the file that a policy names; None for anything but a plain file with plain settings.

    Nothing is checked or refused here: that is done when the policy is read, which comes first.
    """
    try:
        with open_regular(policy) as file:  # a pipe would wait for its other end
            content = tomllib.loads(file.read(_LARGEST).decode())
    except (OSError, ValueError, RecursionError):
        return None
    data = content.get("data")
    if "engine" in content or not isinstance(data, Mapping) or not _is_plain(data, policy.parent):
        return None
    file = policy.parent / data["source"]
    ahead = Ahead(data["source"], tuple(data.get("nulls", ())), policy.parent, in_background(digest_if_readable, file))
    plain = _read_plain(ahead, file)
    from sfumato.table import ranked, source  # here, with NumPy, so that the thread finds all it needs imported

    Thread(target=_read, args=(ahead, plain, source, ranked), daemon=True).start()
    return ahead


def _read_plain(ahead: Ahead, file: Path) -> "Future[PlainTable | None]":
    """Begin to read a large text table without Polars; None if it is another file, or turns out not to be plain."""
    if file.suffix == ".parquet" or file.stat().st_size < _LEAST_PLAIN:
        return known(None)
    from sfumato.table import plain_text

    plain_text.load_kernel()
    return in_background(plain_text.read_plain, file, ahead.nulls, ahead.reached)


def _is_plain(data: Mapping[str, Any], folder: Path) -> bool:
    """Whether the settings name a file, without variables, and null strings."""
    source, nulls = data.get("source"), data.get("nulls", [])
    if not isinstance(source, str) or "$" in source or not isinstance(nulls, list) or set(data) - _KNOWN:
        return False
    return all(isinstance(text, str) for text in nulls) and source.endswith(_TEXT) and _is_small(folder / source)


def _is_small(file: Path) -> bool:
    """Whether a file is surely read into memory, whichever engine is chosen for the job."""
    return file.is_file() and file.stat().st_size <= _MOST_AHEAD


_KNOWN = {"source", "missing", "others", "nulls"}
_TEXT = (".csv", ".tsv", ".txt", ".parquet")


def _read(ahead: Ahead, plain: "Future[PlainTable | None]", source: ModuleType, ranked: ModuleType) -> None:
    """Read the file and rank its cells; errors are raised where the results are asked for."""
    rows = ahead.frame
    try:
        if (table := plain.result()) is not None:
            frame, ranks = ranked.frame_of(table)
            rows.set_result(frame)
            ahead.ranks.set_result(ranks)
            return
        frame = source.read_frame(ahead.source, nulls=ahead.nulls, folder=ahead.folder, told=ahead.reached)
        rows.set_result(frame)
        ahead.ranks.set_result(ranked.ranked_columns(frame, ahead.rank_reached))
    except BaseException as error:
        for promised in (rows, ahead.ranks):
            if not promised.done():
                promised.set_exception(error)
