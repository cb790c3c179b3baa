"""A slow, obvious twin of the join of releases: all combinations of rows, one by one.

A label is the set of values that it may mean. Rows are dicts of labels.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

Row = dict[str, str]
Meanings = Mapping[str, Mapping[str, frozenset[Any]]]
"""For each attribute, the values that each label may mean."""

Rule = Mapping[str, Mapping[str, frozenset[Any]]]
"""For each release, the values of some attributes that cannot go together."""


def matches(rows: Mapping[str, Row], meanings: Meanings, rules: Sequence[Rule]) -> bool:
    """Whether one row of each release can be the same person's."""
    for a, b in combinations(rows.values(), 2):
        if any(not meanings[n][a[n]] & meanings[n][b[n]] for n in a.keys() & b.keys() & meanings.keys()):
            return False
    return not any(
        all(meanings[n][rows[r][n]] <= values for r, side in rule.items() for n, values in side.items())
        for rule in rules
    )


def join(
    tables: Mapping[str, Sequence[Row]], meanings: Meanings, rules: Sequence[Rule] = ()
) -> list[dict[tuple[str, str], str]]:
    """The joined rows, by release and attribute; the number of a row is the attribute ``""``."""
    numbered = [[(name, i, row) for i, row in enumerate(rows)] for name, rows in tables.items()]
    out = []
    for chosen in product(*numbered):
        if matches({name: row for name, _, row in chosen}, meanings, rules):
            one = {(name, n): label for name, _, row in chosen for n, label in row.items()}
            out.append(one | {(name, ""): str(i) for name, i, _ in chosen})
    return out


def grouped(joined: Sequence[dict[tuple[str, str], str]], x: Sequence[tuple[str, str]]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for row in joined:
        groups.setdefault(tuple(row[a] for a in x), []).append(row)
    return groups


def anonymity(groups: Mapping[Any, list[Any]], y: Sequence[tuple[str, str]]) -> int:
    """The least number of distinct values on Y."""
    return min(len({tuple(row[a] for a in y) for row in rows}) for rows in groups.values())


def confidence(groups: Mapping[Any, list[Any]], y: tuple[str, str], value: str) -> Fraction:
    """The greatest share of a value on Y."""
    return max(Fraction(sum(row[y] == value for row in rows), len(rows)) for rows in groups.values())
