"""Reading a large table batch by batch, so that progress can be reported."""

from collections.abc import Callable, Iterator

import polars as pl

Told = Callable[[float], None]
"""Called with how much has been read, from 0 to 1."""

LARGE = 1 << 25
"""From this many bytes on, reading takes long enough to report progress."""

_SEEN = 100
"""The number of rows from which the bytes of a batch are estimated."""


def unheard(share: float) -> None:
    """Reports to nobody."""


def read_rows(scan: pl.LazyFrame, rows: int, told: Told) -> pl.DataFrame:
    """All rows of a source with a known number of them.

    >>> shares = []
    >>> read_rows(pl.LazyFrame({"age": [30, 41]}), 2, shares.append).height, shares
    (2, [1.0])
    """
    return _read(scan, rows, lambda batch: batch.height, told)


def read_text(scan: pl.LazyFrame, size: int, told: Told) -> pl.DataFrame:
    """All rows of a text table of a known size, with only text columns; the share done is that of the bytes."""
    return _read(scan, size, _bytes, told)


def _bytes(batch: pl.DataFrame) -> int:
    """About how many bytes the rows of a batch are as text, by its first rows: the values and what separates them."""
    seen = batch.head(_SEEN)
    values = sum(n or 0 for n in seen.select(pl.all().str.len_bytes().sum()).row(0))
    return (int(values) + seen.height * seen.width) * batch.height // max(1, seen.height)


def _read(scan: pl.LazyFrame, whole: int, part: Callable[[pl.DataFrame], int], told: Told) -> pl.DataFrame:
    frames, done = [], 0
    for batch in _batches(scan):
        frames.append(batch)
        done += part(batch)
        told(min(1.0, done / max(1, whole)))
    return pl.concat(frames) if frames else scan.collect()


def _batches(scan: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    return scan.collect_batches(maintain_order=True)


def part_of(told: Told, begun: float, ended: float) -> Told:
    """Reports the share of a whole of which only the part from ``begun`` to ``ended`` is read.

    >>> part_of(print, 0.5, 1.0)(0.5)
    0.75
    """
    return lambda share: told(begun + share * (ended - begun))
