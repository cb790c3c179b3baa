"""How well an adversary who knows a person's group and nothing else can guess a sensitive value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.group import MANY, group_rows
from sfumato.kernel.group_values import ValueCounts, shares, value_counts
from sfumato.table.encode import Role

if TYPE_CHECKING:
    from sfumato.release.release import Release


_DENSE = 4
"""The most cells of the group-by-value table to allocate per row."""


@dataclass(frozen=True)
class BestGuess:
    """What groups reveal about one attribute; all counts are in rows.

    ``certain``: rows in groups that show a single value. ``worst`` is the greatest share of a value in a group,
    ``mean`` the share of all rows for which the most frequent value of their group is right, ``base`` the share for
    which ``value``, the most frequent of all, is right. ``linked`` is the average weight on a row's own value if the
    values of each group are spread evenly over its rows; ``unlinked`` is what it would be if the whole table were one
    group.
    """

    rows: int
    certain: int
    worst: float
    mean: float
    base: float
    value: str
    linked: float
    unlinked: float


class GroupValues(NamedTuple):
    """The values of an attribute by group: the group and the code of each entry, and how many rows it represents."""

    group: NDArray[Any]
    code: NDArray[Any]
    rows: NDArray[Any] | None = None
    words: Sequence[str] | None = None
    distinct: bool = False
    """Whether no two entries have the same group and the same code."""

    def word(self, code: int) -> str:
        """The value of a code."""
        return str(code) if self.words is None else self.words[code]

    def totals(self) -> dict[str, int]:
        """How many rows have each value."""
        counts = np.bincount(self.code, weights=self.rows).astype(np.int64)
        return {self.word(code): int(counts[code]) for code in np.flatnonzero(counts).tolist()}


class CountedValues(NamedTuple):
    """The values of an attribute, counted in each group, and the word of each code."""

    counts: ValueCounts
    words: Sequence[str]


def best_guess(values: GroupValues) -> BestGuess:
    """How often the most frequent value of each group is right.

    >>> found = best_guess(GroupValues(np.array([0, 0, 1, 1]), np.array([1, 0, 0, 0]), words=["flu", "HIV"]))
    >>> found.certain, found.worst, found.mean, found.base, found.value, found.linked, found.unlinked
    (2, 1.0, 0.75, 0.75, 'flu', 0.75, 0.625)
    """
    return _of_counts(_counts(values), values.word)


def _of_counts(counts: ValueCounts, word: Callable[[int], str]) -> BestGuess:
    total, of_all = int(counts.size.sum()), counts.of_value / counts.size.sum()
    certain, worst, linked = shares(counts) if len(counts.size) >= MANY else _shares(counts)
    return BestGuess(
        rows=total,
        certain=certain,
        worst=worst,
        mean=float(counts.most.sum() / total),
        base=float(of_all.max()),
        value=word(int(of_all.argmax())),
        linked=linked / total,
        unlinked=float((of_all**2).sum()),
    )


def _shares(counts: ValueCounts) -> tuple[int, float, float]:
    """As `shares`, for few groups."""
    there = counts.size > 0
    rows, most, squares = counts.size[there], counts.most[there], counts.squares[there]
    return int(rows[most == rows].sum()), float((most / rows).max()), float((squares / rows).sum())


def _counts(values: GroupValues) -> ValueCounts:
    """Figures of each group and each value; where there are many rows, without a list of the pairs that occur."""
    groups, codes = int(values.group.max()) + 1, int(values.code.max()) + 1
    if values.rows is None and len(values.group) >= MANY and groups * codes <= _DENSE * len(values.group):
        return value_counts(values.group, values.code, groups, codes)
    of_pair, code, held = _pairs(values)
    size = np.bincount(of_pair, weights=held).astype(np.int64)
    squares = np.bincount(of_pair, weights=held.astype(np.float64) ** 2).astype(np.float64)
    most = np.zeros(len(size), np.int64)
    np.maximum.at(most, of_pair, held)
    return ValueCounts(size, most, squares, np.bincount(code, weights=held).astype(np.int64))


def _pairs(values: GroupValues) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Each group and code that occur together, and how many rows they have together."""
    group, code = values.group, values.code
    if values.distinct and values.rows is not None:
        return group, code, values.rows
    groups, codes = int(group.max()) + 1, int(code.max()) + 1
    if groups * codes <= _DENSE * len(group):  # a cell for every pair is faster than hashing those that occur
        cells = np.bincount(group * codes + code, weights=values.rows)
        there = np.flatnonzero(cells)
        return there // codes, there % codes, cells[there].astype(np.int64)
    pairs = group_rows([group, code], [groups, codes])
    held = pairs.size if values.rows is None else np.bincount(pairs.of_row, weights=values.rows).astype(np.int64)
    return group[pairs.first], code[pairs.first], held


def best_guesses(release: "Release") -> dict[str, BestGuess]:
    """The guesses for each sensitive attribute of a release that shows groups; none if values are random."""
    found = {name: best_guess_of(release, name) for name in release.with_role(Role.SENSITIVE)}
    return {name: guess for name, guess in found.items() if guess is not None}


def best_guess_of(release: "Release", name: str) -> BestGuess | None:
    """The guess for one attribute, counted once; None if the scheme does not show its values by group."""

    def compute() -> BestGuess | None:
        counted = release.scheme_class.counted_by_group(release, name)
        if counted is not None:
            return _of_counts(counted.counts, counted.words.__getitem__)
        values = release.scheme_class.values_by_group(release, name)
        return None if values is None else best_guess(values)

    return release.remembered(("best guess", name, release.scheme, *release.quasi()), compute)


def certain_values(guesses: Mapping[str, BestGuess], *, perturbed: bool = False) -> list[str]:
    """A warning for each attribute whose value is certain from the groups of some people."""
    told = []
    for name, guess in guesses.items():
        if not guess.certain:
            continue
        whose = f"{guess.certain:,} of {guess.rows:,} rows"
        if perturbed:
            told.append(
                f"{whose} are in groups that show a single value of {name}. The method may have changed values; where "
                "it did not, anyone who finds a person's group learns the value."
            )
        else:
            told.append(
                f"{name} is published exactly for {whose}: their groups show a single value, so anyone who finds a "
                f"person's group learns it for certain. Only a requirement on every value of {name}, e.g. "
                "l-diversity, prevents this."
            )
    return told
