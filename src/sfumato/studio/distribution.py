"""How the values of a column are distributed, small enough to be shown next to its name."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.publisher.column_roles import Profile

BINS, TOP, LONGEST = 24, 6, 60


@dataclass(frozen=True)
class Distribution:
    """Bars with their share of the rows: bins from least to greatest value, or the most common values."""

    labels: tuple[str, ...]
    rows: tuple[int, ...]
    ordered: bool
    """Whether the bars are bins of numbers or dates."""
    others: int = 0
    """How many further values there are."""
    alone: int = 0
    """How many rows have a value that no other row has."""


def distribution(seen: "Profile") -> Distribution:
    """The distribution of a column, from its counts."""
    alone = int((seen.counts == 1).sum())
    if (seen.numeric or seen.date) and seen.distinct > TOP and (bins := _bins(seen)) is not None:
        return Distribution(*bins, ordered=True, alone=alone)
    order = seen.counts.arg_sort(descending=True)[:TOP]
    labels = tuple(str(v)[:LONGEST] for v in seen.values.gather(order).to_list())
    rows = tuple(int(n) for n in seen.counts.gather(order).to_list())
    return Distribution(labels, rows, ordered=False, others=seen.distinct - len(labels), alone=alone)


def _bins(seen: "Profile") -> tuple[tuple[str, ...], tuple[int, ...]] | None:
    """The least and greatest value, and how many rows fall into each of equally wide bins."""
    import numpy as np
    import polars as pl

    values = seen.values
    if values.dtype == pl.String:
        values = values.str.to_date(strict=False) if seen.date else values.cast(pl.Float64, strict=False)
    numbers = values.to_physical().cast(pl.Float64).to_numpy()
    fine = np.isfinite(numbers)
    if not fine.any():
        return None
    counts, _ = np.histogram(numbers[fine], bins=BINS, weights=seen.counts.to_numpy()[fine])
    shown = values.filter(pl.Series(fine))
    ends = (str(shown.min()).removesuffix(".0"), str(shown.max()).removesuffix(".0"))
    return ends, tuple(int(n) for n in counts)
