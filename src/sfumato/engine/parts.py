"""A published table that is too large for memory: files in parts, and its distinct rows with their multiplicities."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.engine.counts import Integers
from sfumato.engine.shuffle import Spill
from sfumato.kernel.group import group_rows
from sfumato.table.published import label_codes


@dataclass(frozen=True, eq=False)
class Parts:
    """Parquet files that make up one table, in a private folder until a release is written.

    ``counted`` are the distinct rows of all columns but the insensitive ones, ``weights`` how many rows each stands
    for.
    """

    files: Sequence[Path]
    schema: pl.Schema
    height: int
    counted: pl.DataFrame
    weights: Integers
    spill: Spill | None = field(default=None, repr=False)

    @property
    def columns(self) -> list[str]:
        """The columns, in order."""
        return self.schema.names()

    def frames(self, *, backwards: bool = False) -> Iterator[pl.DataFrame]:
        """The rows of each part, one after the other; ``backwards``: the last part first."""
        files = reversed(self.files) if backwards else self.files
        return (pl.read_parquet(file, glob=False) for file in files)

    def rows_now(self) -> int:
        """How many rows the files say that they have."""
        return sum(int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()) for file in self.files)

    def read(self) -> pl.DataFrame:
        """All rows."""
        return pl.concat(self.frames())


def compress(frame: pl.DataFrame, weights: Integers | None = None) -> tuple[pl.DataFrame, Integers]:
    """The distinct rows of a frame, and how many rows each stands for.

    >>> rows, weights = compress(pl.DataFrame({"age": ["a", "b", "a"]}))
    >>> rows["age"].to_list(), weights.tolist()
    (['a', 'b'], [2, 1])
    """
    if not frame.width:
        total = frame.height if weights is None else int(weights.sum())
        return frame, np.array([total], np.int64)
    coded = [label_codes(frame[name]) for name in frame.columns]
    found = group_rows([codes for codes, _ in coded], [size for _, size in coded])
    if weights is None:
        return frame[found.first], found.size
    return frame[found.first], np.bincount(found.of_row, weights=weights).astype(np.int64)


class Compressing:
    """Compresses the parts of a table one after the other, in memory for the distinct rows of all and of one part."""

    def __init__(self) -> None:
        self._waiting: list[tuple[pl.DataFrame, Integers]] = []
        self._least = 0

    def add(self, frame: pl.DataFrame) -> None:
        """Count the rows of one part."""
        self._waiting.append(compress(frame))
        if sum(len(weights) for _, weights in self._waiting) > 2 * max(self._least, 1 << 20):
            self._merge()

    def result(self) -> tuple[pl.DataFrame, Integers]:
        """The distinct rows of all parts, and how many rows each stands for."""
        if len(self._waiting) > 1:
            self._merge()
        return self._waiting[0]

    def _merge(self) -> None:
        frames, weights = zip(*self._waiting, strict=True)
        self._waiting = [compress(pl.concat(frames), np.concatenate(weights))]
        self._least = len(self._waiting[0][1])


def write_parts(frames: Iterable[pl.DataFrame], folder: Path) -> list[Path]:
    """Write each frame to a file of its own."""
    files = []
    for number, frame in enumerate(frames):
        files.append(folder / part_name(number))
        frame.write_parquet(files[-1])
    return files


def part_name(number: int) -> str:
    """The name of a part's file.

    >>> part_name(7)
    'part-00007.parquet'
    """
    return f"part-{number:05}.parquet"
