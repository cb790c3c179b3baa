"""Taxonomies that write themselves: from the structure of codes, by round numbers or quantiles, by months and years, or
by putting rare values into one group."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from sfumato.errors import DataError, PolicyError
from sfumato.table.code_structure import CodeStructure, classification, postal_codes, same_form
from sfumato.table.encode import in_order, looks_dated, looks_numeric
from sfumato.table.hierarchy import interval_tree, read_taxonomy
from sfumato.table.numbers import number_text
from sfumato.table.taxonomy import Taxonomy

How = Literal["auto", "code", "mask", "round", "quantiles", "calendar", "rare"]
HOW: tuple[How, ...] = ("auto", "code", "mask", "round", "quantiles", "calendar", "rare")
_ROUND = (1, 2, 5)
_MOST_INTERVALS = 20
_DAY = len("2024-12-31")
_LONGEST_CODE = 100
"""Longer values are text, not codes; values are untrusted, and patterns are slow on long ones."""


@dataclass(frozen=True)
class Distinct:
    """The distinct values of a column as text, how many rows have each, and what its name says."""

    name: str
    values: Sequence[str]
    rows: Sequence[int]
    words: Sequence[str] = ()
    is_age: bool = False
    is_postal: bool = False
    pad: int | None = None


@dataclass(frozen=True, kw_only=True)
class WrittenTree:
    """A taxonomy with the way in which it was made; ``spec`` is what a policy would say to get it."""

    how: How
    reason: str
    spec: dict[str, Any]
    tree: Taxonomy
    pad: int | None = None
    """How many digits the codes have once their lost zeros are back."""


def written_tree(
    column: Distinct, how: How = "auto", *, width: float | None = None, groups: int = 8, least: int = 5
) -> WrittenTree:
    """A taxonomy for a column, made in the way that is asked for, or in the first that suits its values.

    ``width`` is that of the narrowest intervals, ``groups`` how many intervals quantiles make, ``least`` the number of
    rows below which a value is rare.

    >>> ages = Distinct("age", ["31", "34", "52"], [1, 1, 1], is_age=True)
    >>> written_tree(ages).tree.path(0)
    ['31', '[30, 35)', '[30, 40)', '[20, 40)', '[0, 40)', '[0, 80)']
    """
    if not column.values:
        raise DataError(f"{column.name!r} has no values, so there is no taxonomy for it; choose another column")
    found = _spec(column, how, width=width, groups=groups, least=least)
    if found is None:
        raise DataError(f"{column.name!r}: {_UNSUITED[how]}")
    way, spec, reason = found
    if way == "quantiles":
        tree = _halving([float(end) for end in spec["intervals"]], column)
    else:
        tree = read_taxonomy(spec, column.values, name=column.name)
    return WrittenTree(how=way, reason=reason, spec=spec, tree=tree, pad=column.pad)


_Found = tuple[How, dict[str, Any], str]
_UNSUITED: dict[str, str] = {
    "auto": "its values are neither numbers, dates nor codes of a known form, and fewer than two are rare; write the "
    "tree by hand, as csv or JSON",
    "code": "its values are not codes of a known form; try --by mask, or write the tree by hand",
    "mask": "its values differ in length, so they cannot be masked character by character; pad them, or try --by code",
    "round": "its values are not all numbers; try --by code or --by rare",
    "quantiles": "its values are not all numbers; try --by code or --by rare",
    "calendar": "its values are not all dates; say how they are written (dates under [data])",
    "rare": "fewer than two of its values are rare, so there is nothing to group; raise --least",
}


def _spec(column: Distinct, how: How, *, width: float | None, groups: int, least: int) -> _Found | None:
    if how == "auto":
        tried = (_spec(column, way, width=width, groups=groups, least=least) for way in _order(column))
        return next((found for found in tried if found is not None), None)
    if how in ("round", "quantiles"):
        if not looks_numeric(list(column.values)):
            return None
        return _by_quantiles(column, groups) if how == "quantiles" else _by_round_numbers(column, width)
    if how == "calendar":
        return _by_calendar(column)
    if how == "rare":
        return _by_rarity(column, least)
    return _by_code(column) if how == "code" else _by_mask(column)


def _order(column: Distinct) -> tuple[How, ...]:
    """The ways to try; codes come before numbers where the name says that the digits are a code."""
    if column.is_postal:
        return ("code", "mask", "rare")
    return ("calendar", "round", "rare") if column.is_age else ("calendar", "code", "round", "rare")


def _by_code(column: Distinct) -> _Found | None:
    found = structure_of(column)
    if found is None:
        return None
    spec: dict[str, Any] = {"prefix": list(found.levels)} if found.levels else {"mask": "right"}
    return "code" if found.levels else "mask", spec, found.what


def structure_of(column: Distinct) -> CodeStructure | None:
    """What codes the values of a column are, if they are codes of a known form."""
    values = list(column.values)
    if any(len(v) > _LONGEST_CODE or "*" in v or "…" in v for v in values):
        return None
    if column.is_postal:
        return postal_codes(values)
    return classification(values, column.words) or same_form(values)


def _by_mask(column: Distinct) -> _Found | None:
    if len({len(v) for v in column.values}) > 1 or any("*" in v for v in column.values):
        return None
    return "mask", {"mask": "right"}, "codes of one length, hidden character by character from the right"


def _by_round_numbers(column: Distinct, width: float | None) -> _Found:
    if column.is_age and width is None:
        return "round", {"width": 5}, "ages in bands of 5, 10, 20 years and so on"
    numbers = [_exact(float(v)) for v in column.values]
    first, last = min(numbers), max(numbers)
    if width is not None and not 0 < width < float("inf"):
        raise PolicyError(f"the width is {width!r}; it must be a positive number")
    narrowest = Fraction(str(width)) if width else _narrowest(last - first)
    widths = [narrowest]
    while first // widths[-1] != last // widths[-1] and widths[-1] < last - first:
        widths.append(widths[-1] * (2 if _leading(widths[-1]) == 5 else 5))
    shown = [_plain(w) for w in widths]
    told = ", ".join(number_text(float(w)) for w in widths)
    return "round", {"width": shown}, f"intervals of round widths: {told}"


def _exact(number: float) -> Fraction:
    """A number as it is written: 1.4 is 7/5."""
    return Fraction(str(float(number)))


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _narrowest(span: Fraction, most: int = _MOST_INTERVALS) -> Fraction:
    """The smallest of the widths 1, 2, 5, 10, 20, … and 0.5, 0.2, … that makes at most so many intervals.

    >>> [str(_narrowest(Fraction(span))) for span in (4400, 60, 1)]
    ['500', '5', '1/20']
    """
    power = Fraction(10) ** (math.floor(math.log10(span / most)) if span else 0)
    return next(power * digit for digit in (*_ROUND, 10) if span <= most * power * digit)


def _leading(width: Fraction) -> int:
    """The first digit of a width."""
    return int(f"{float(width):e}"[0])


def _by_quantiles(column: Distinct, groups: int) -> _Found:
    """Intervals with about equally many rows; their ends are rounded, so that they are not the values of people."""
    if groups < 2:
        raise PolicyError(f"the number of groups is {groups}; it must be 2 or more")
    numbers = np.array([float(v) for v in column.values])
    order = np.argsort(numbers)
    numbers, rows = numbers[order], np.cumsum(np.asarray(column.rows, np.int64)[order])
    step = _narrowest(_exact(numbers[-1]) - _exact(numbers[0]), 10 * groups)
    places = np.searchsorted(rows, rows[-1] * np.arange(1, groups) / groups)
    low, high = (math.floor(_exact(numbers[p]) / step) * step for p in (0, -1))
    inner = {round(_exact(numbers[p]) / step) * step for p in places}
    ends = [low, *sorted(e for e in inner if low < e <= high), high + step]
    reason = f"{len(ends) - 1} intervals with about equally many rows, their ends rounded"
    return "quantiles", {"intervals": [_plain(e) for e in ends]}, reason


def _halving(ends: Sequence[float], column: Distinct) -> Taxonomy:
    """The tree of values in intervals with these ends, of which two neighbours at a time are merged up to the root."""
    levels = [list(ends)]
    while len(levels[-1]) > 3:
        levels.append([*levels[-1][:-1:2], levels[-1][-1]])
    paths: list[list[float | tuple[float, float]]] = []
    for number in sorted(float(v) for v in column.values):
        around = [next((a, b) for a, b in pairwise(level) if a <= number < b) for level in levels]
        paths.append([number, *around])
    return interval_tree(paths, (ends[0], ends[-1]), column.name)


def _by_calendar(column: Distinct) -> _Found | None:
    values = list(column.values)
    if not looks_dated(values):
        return None
    levels = [_DAY] if any(len(v) > _DAY for v in values) else []
    return "calendar", {"prefix": [*levels, 7, 4, 3]}, "days, months, years, decades"


def _by_rarity(column: Distinct, least: int) -> _Found | None:
    """Values that fewer rows than ``least`` have, in one group; the others stay single."""
    rare = {v for v, rows in zip(column.values, column.rows, strict=True) if rows < least}
    if len(rare) < 2 or len(rare) == len(column.values):
        return None
    group, root = (_unused(word, column.values) for word in ("other", "Any"))
    ordered = in_order(list(column.values))
    below: dict[str, Any] = {v: {} for v in ordered if v not in rare}
    reason = f"{len(rare):,} values that occur in fewer than {least} rows, as one group"
    return "rare", {root: {**below, group: [v for v in ordered if v in rare]}}, reason


def _unused(word: str, values: Sequence[str]) -> str:
    """A name for a node that is no value."""
    return next(name for dots in range(len(values) + 1) if (name := word + "." * dots) not in values)


def labels_by_level(tree: Taxonomy) -> list[int]:
    """How many labels each level of a hierarchy file has, from the values up."""
    paths = [tree.path(code) for code in range(tree.size)]
    levels = max(map(len, paths))
    padded = [[p[0]] * (levels - len(p)) + p for p in paths]
    return [len(set(level)) for level in zip(*padded, strict=True)]
