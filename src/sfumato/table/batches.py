"""Reading a large table batch by batch, so that whoever waits for it can be told how far it is."""

from collections.abc import Callable, Iterator

import polars as pl

Told = Callable[[float], None]
"""Is told how much has been read, from 0 to 1."""

LARGE = 1 << 25
"""From this many bytes on, it takes long enough to be told."""


def unheard(share: float) -> None:
    """Tells nobody."""


def read_rows(scan: pl.LazyFrame, rows: int, told: Told) -> pl.DataFrame:
    """All rows of a source that is known to have so many.

    >>> shares = []
    >>> read_rows(pl.LazyFrame({"age": [30, 41]}), 2, shares.append).height, shares
    (2, [1.0])
    """
    return _read(scan, rows, lambda batch: batch.height, told)


def read_text(scan: pl.LazyFrame, size: int, told: Told) -> pl.DataFrame:
    """All rows of a text table of so many bytes, whose columns are all text; its share is that of the bytes."""
    return _read(scan, size, _bytes, told)


def _bytes(batch: pl.DataFrame) -> int:
    """About how many bytes the rows of a batch are as text: the values and what separates them."""
    values = sum(n or 0 for n in batch.select(pl.all().str.len_bytes().sum()).row(0))
    return int(values) + batch.height * batch.width


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
    """Tells the share of a whole of which only the part from ``begun`` to ``ended`` is read.

    >>> part_of(print, 0.5, 1.0)(0.5)
    0.75
    """
    return lambda share: told(begun + share * (ended - begun))
