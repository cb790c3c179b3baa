"""The groups that a large table shows, and the sensitive values in each: counted at once, rows are not numbered."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kernel.group import MANY
from sfumato.kernel.group_tallies import Coded, fits, group_tallies, rows_by_code
from sfumato.release.best_guess import CountedValues
from sfumato.table.encode import Role
from sfumato.table.published import label_codes, listed_words, shown_texts

if TYPE_CHECKING:
    from sfumato.release.release import Release

_MOST_VALUES = 256
"""An attribute with more values is not counted here: there would be too many cells."""
_MOST_CELLS = 1024
"""Nor is one with which a group would have more cells than this."""


class ShownGroups(NamedTuple):
    """How many rows each group has, for some sensitive attributes its values, and how many rows show each label of
    each quasi-identifier; groups are in no order."""

    size: NDArray[np.int64]
    values: dict[str, CountedValues]
    labels: dict[str, dict[str, int]]


def shown_groups(release: "Release") -> ShownGroups | None:
    """The groups of rows with equal labels; None if numbering the rows is as good, or has been done."""
    table, quasi = release.counted.get("data"), release.quasi()
    if table is None or release.row_weights is not None or table.height < MANY or not quasi or release.numbered(quasi):
        return None
    by = [coded for name in quasi if (coded := _coded(table, name)) is not None]
    if len(by) < len(quasi) or not fits(by, []):
        return None
    counted: dict[str, Coded] = {}
    for name in release.with_role(Role.SENSITIVE):
        found = _coded(table, name)
        if found is not None and _is_counted(found, by, [*counted.values()]):
            counted[name] = found
    tallies = group_tallies(by, list(counted.values()))
    words = [listed_words(table[name]).to_list() for name in counted]
    values = dict(zip(counted, map(CountedValues, tallies.values, words), strict=True))
    labels = {name: shown_texts(table[name], rows_by_code(tallies, by, at)) for at, name in enumerate(quasi)}
    return ShownGroups(tallies.size, values, labels)


def _is_counted(column: Coded, by: Sequence[Coded], others: Sequence[Coded]) -> bool:
    """Whether the values of an attribute are counted, too."""
    cells = sum(other.size for other in (*others, column))
    return column.size <= _MOST_VALUES and cells <= _MOST_CELLS and fits(by, [*others, column])


def _coded(table: pl.DataFrame, name: str) -> Coded | None:
    """A column that lists its words and has none missing: its codes are there already."""
    if name not in table.columns or not isinstance(table[name].dtype, pl.Enum) or table[name].null_count():
        return None
    return Coded(*label_codes(table[name]))
