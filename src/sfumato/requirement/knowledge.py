"""What the adversary of r-robustness knows about a table: distributions by attribute set, kinds and values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.requirement.attribute_sets import large_sets
from sfumato.requirement.distribution import (
    DistributionEntry,
    Kinds,
    KnownDistribution,
    ProtectedValues,
    collapsed,
    estimate,
    given,
    kinds_of,
)
from sfumato.table.encode import Column


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Distributions over kinds of people; ``value`` is that of each row of the table they come from."""

    values: ProtectedValues
    kinds: Kinds
    value: NDArray[np.int64]
    distributions: list[KnownDistribution]


def estimated(
    quasi: Sequence[Column],
    sensitive: Column,
    values: ProtectedValues,
    *,
    size: int | None,
    smoothing: float,
    minimum: int,
    more: Sequence[NDArray[Any]] = (),
) -> Knowledge:
    """Estimate the distributions from a table; ``more`` people whose values are not known may be added as kinds."""
    kinds = kinds_of(quasi, more)
    value = values.of_code[sensitive.codes]
    counts = _counts(kinds, value, len(values.names))
    numbers = 1 + 2 * len(values.protected)
    sets = large_sets("r-robustness", kinds, counts.sum(axis=1), least=minimum, size=size, numbers=numbers)
    return Knowledge(values, kinds, value, estimate(kinds, counts, sets, smoothing=smoothing, minimum=minimum))


def _counts(kinds: Kinds, value: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """How many people of each kind have each value."""
    cells = kinds.of_row[: len(value)] * width + value
    return np.bincount(cells, minlength=kinds.number * width).reshape(kinds.number, width)


def as_given(
    entries: Sequence[DistributionEntry],
    quasi: Sequence[Column],
    leaves: Sequence[str],
    totals: NDArray[np.int64],
    values: ProtectedValues,
    codes: NDArray[Any],
    more: Sequence[NDArray[Any]] = (),
) -> Knowledge:
    """Use the distributions as given; ``totals`` are the counts of the sensitive leaves in the whole table."""
    kinds = kinds_of(quasi, more)
    found = given(entries, kinds, quasi, leaves, totals / totals.sum())
    known = [KnownDistribution(names, of_kind, collapsed(chance, values)) for names, of_kind, chance in found]
    return Knowledge(values, kinds, values.of_code[codes], known)
