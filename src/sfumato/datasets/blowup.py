"""Make a table larger, the way Fung's thesis does for its scalability experiments (section 4.4.3)."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.datasets.public import adult
from sfumato.errors import PolicyError

_ADULT_QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")


def blow_up(frame: pl.DataFrame, columns: Sequence[str], scale: int, rng: np.random.Generator) -> pl.DataFrame:
    """The records of ``frame``, followed by ``scale`` - 1 variations of each.

    In a variation, q of the ``columns`` (q uniform on 1 .. len(columns)) get values drawn uniformly from the
    column's domain (the values that occur in it, without null); everything else is inherited. The variations
    come in passes over the records, so any prefix of the result has about equally many of each record.

    >>> small = pl.DataFrame({"age": [30, 40], "id": ["a", "b"]})
    >>> blow_up(small, ["age"], 3, np.random.default_rng(0))["id"].to_list()
    ['a', 'b', 'a', 'b', 'a', 'b']
    """
    _check(frame, columns, scale)
    record = np.tile(np.arange(frame.height), scale)
    selected = _select(len(record), len(columns), rng)
    varied = []
    for name, mask in zip(columns, selected, strict=True):
        mask[: frame.height] = False  # the originals stay
        varied.append(frame[name].gather(_sources(frame[name], record, mask, rng)))
    return pl.concat([frame] * scale, rechunk=True).with_columns(varied)


def adult_million(rows: int = 1_000_000, seed: int = 2025) -> pl.DataFrame:
    """Adult's records and variations of them over seven quasi-identifiers, ``rows`` rows in all."""
    frame = adult()
    if rows < frame.height:
        raise PolicyError(f"rows = {rows}; Adult alone has {frame.height} records: ask for {frame.height} or more")
    scale = -(-rows // frame.height)
    return blow_up(frame, _ADULT_QUASI, scale, np.random.default_rng(seed)).head(rows)


def _check(frame: pl.DataFrame, columns: Sequence[str], scale: int) -> None:
    """Refuse what cannot be blown up."""
    if scale < 1:
        raise PolicyError(f"a table cannot be blown up {scale} times; the scale must be 1 (unchanged) or more")
    unknown = [name for name in columns if name not in frame.columns]
    if unknown:
        raise PolicyError(f"there are no columns {', '.join(unknown)}; choose from {', '.join(frame.columns)}")
    if not columns or len(set(columns)) < len(columns):
        raise PolicyError(f"columns = {list(columns)}; name at least one column to vary, and each only once")


def _select(rows: int, width: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
    """For each row a subset of ``width`` columns, of a size uniform on 1 .. ``width``; one mask per column.

    Selection sampling (Knuth, volume 2, algorithm 3.4.2 S): a column is taken with probability
    (still wanted) / (still to come), which gives each subset of the wanted size the same chance.
    """
    wanted = rng.integers(1, width, size=rows, endpoint=True, dtype=np.int64)
    masks = []
    for to_come in range(width, 0, -1):
        taken = rng.random(rows) * to_come < wanted
        wanted = wanted - taken
        masks.append(taken)
    return masks


def _sources(
    column: pl.Series, record: NDArray[np.int64], mask: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.int64]:
    """The row from which each cell takes its value: under the mask, the first row of a random value."""
    firsts = column.arg_unique().sort().to_numpy().astype(np.int64)
    firsts = firsts[column.gather(firsts).is_not_null().to_numpy()]
    if not len(firsts):
        return record
    return np.where(mask, firsts[rng.integers(0, len(firsts), size=len(record))], record)
