"""The adversary who knows people's quasi-identifiers and nothing else, and tries to find their rows.

Rows that agree on the quasi-identifiers form a class, and a person is found among the people of one class.
The prosecutor knows that a person is in the table, the journalist only that the person is in the population
(El Emam and Dankar, JAMIA 15(5), 2008); the marketer wants to re-identify as many rows as possible.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, Counts, totals
from sfumato.errors import DataError, PolicyError
from sfumato.kernel.group import EqualRows, group_rows
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata

Integers = NDArray[Any]

_BINS = {"1": 1, "2": 2, "3–4": 3, "5–9": 5, "10–19": 10, "20–49": 20, "50+": 50}
"""The ranges of class sizes in the histogram, with the least size of each."""

_ROW_VISITS = {1: math.inf, 2: 15_000_000, 3: 3_000_000}
_COMBINATIONS = 10_000
"""The most pairs and triples to examine, however few the rows: each has a fixed cost."""
_EXAMPLES_EACH = 2


@dataclass(frozen=True)
class SizeBin:
    """How many classes have a size in a range, and how many rows they contain."""

    sizes: str
    classes: int
    rows: int


@dataclass(frozen=True, kw_only=True)
class LinkageRisk:
    """What class sizes say about re-identification; all risks are probabilities.

    ``uniques`` are the rows in classes of size 1. ``prosecutor`` is the greatest risk of a row,
    ``prosecutor_mean`` the average over the rows, ``above_threshold`` the share of the rows whose
    risk is above ``threshold``. ``journalist`` is the greatest risk where only the population is
    known; ``marketer`` is the expected share of the rows that are re-identified correctly.
    """

    rows: int
    classes: int
    uniques: int
    unique_share: float
    smallest: int
    mean: float
    median: float
    largest: int
    threshold: float
    prosecutor: float
    prosecutor_mean: float
    above_threshold: float
    journalist: float
    marketer: float
    population_known: bool
    counts_people: bool
    histogram: tuple[SizeBin, ...]

    @property
    def assumption(self) -> str:
        """What the journalist's and the marketer's risk assume about the population."""
        if self.population_known:
            return "The population's class sizes were given."
        return (
            "No table of the population was given, so the table is assumed to be the whole population: the "
            "journalist's risk then equals the prosecutor's, and neither is underestimated."
        )


def linkage_risk(
    group_of_row: Integers,
    *,
    weights: Integers | None = None,
    people: Integers | None = None,
    population: Integers | None = None,
    threshold: float = 0.2,
) -> LinkageRisk:
    """The risks of rows in classes; ``group_of_row[i]`` numbers the class of row ``i`` from 0.

    With ``weights`` an entry represents that many rows.

    The size of a class is the number of its rows or, with ``people`` (a code of the person of each
    row), of its distinct people. ``population[c]`` is the size of class ``c`` in the population.

    >>> risk = linkage_risk(np.array([0, 0, 0, 1]))
    >>> risk.uniques, risk.prosecutor, risk.prosecutor_mean, risk.marketer
    (1, 1.0, 0.5, 0.5)
    """
    if len(group_of_row) == 0:
        raise DataError("the table has no rows, so there is no risk to measure")
    if not 0 <= threshold <= 1:
        raise PolicyError(f"the risk threshold is {threshold!r}; it must be in [0, 1]")
    rows = np.bincount(group_of_row, weights=weights).astype(np.int64)
    there = rows > 0
    sizes = (rows if people is None else _people_in(group_of_row, people, len(rows)))[there]
    known = sizes if population is None else _population(population, there, sizes)
    return _risk(rows[there], sizes, known, threshold, population is not None, people is not None)


def _people_in(group_of_row: Integers, people: Integers, groups: int) -> NDArray[np.int64]:
    """How many distinct people each class has."""
    if len(people) != len(group_of_row):
        raise PolicyError(f"{len(people)} people are given for {len(group_of_row)} rows; give one per row")
    pairs = group_rows([group_of_row, people], [groups, int(people.max()) + 1])
    return np.bincount(group_of_row[pairs.first], minlength=groups)


def _population(population: Integers, there: NDArray[np.bool_], sizes: Integers) -> Integers:
    """The population's class sizes, none of which can be below the table's."""
    if len(population) != len(there):
        raise PolicyError(
            f"the population has {len(population)} classes, the table {len(there)}; give one size per class"
        )
    known = np.asarray(population)[there]
    if (known < sizes).any():
        raise PolicyError("a class is larger in the table than in the population that contains it; correct its size")
    return known


def _risk(
    rows: Integers, sizes: Integers, known: Integers, threshold: float, population: bool, people: bool
) -> LinkageRisk:
    """The figures; each class is weighted by its number of rows."""
    total, unique = int(rows.sum()), int(rows[sizes == 1].sum())
    mean = float((rows / sizes).sum() / total)
    return LinkageRisk(
        rows=total,
        classes=len(sizes),
        uniques=unique,
        unique_share=unique / total,
        smallest=int(sizes.min()),
        mean=float(sizes.mean()),
        median=float(np.median(sizes)),
        largest=int(sizes.max()),
        threshold=threshold,
        prosecutor=float(1 / sizes.min()),
        prosecutor_mean=mean,
        above_threshold=float(rows[1 / sizes > threshold].sum() / total),
        journalist=float(1 / known.min()),
        marketer=float((rows / known).sum() / total),
        population_known=population,
        counts_people=people,
        histogram=_histogram(rows, sizes),
    )


def _histogram(rows: Integers, sizes: Integers) -> tuple[SizeBin, ...]:
    place = np.searchsorted(list(_BINS.values()), sizes, side="right") - 1
    classes = np.bincount(place, minlength=len(_BINS))
    members = np.bincount(place, weights=rows, minlength=len(_BINS))
    return tuple(SizeBin(name, int(classes[i]), int(members[i])) for i, name in enumerate(_BINS))


def quasi_groups(table: Microdata | Counts) -> NDArray[np.int64]:
    """The class of each row of the private table, or of each vector of its counts: equal quasi-identifiers."""
    quasi = table.quasi
    if not quasi:
        return np.zeros(table.entries, np.int64)
    if isinstance(table, Counts):
        return table.agreeing(tuple(c.name for c in quasi)).of_row
    return group_rows([c.codes for c in quasi], [c.size for c in quasi]).of_row


def _dense(key: NDArray[np.int64], span: int, weights: Integers | None, *, first: bool) -> EqualRows:
    """Keys as class numbers; a number below ``span`` that no row has is a class of size 0."""
    some = np.zeros(span if first else 0, np.int64)
    if first:
        some[key] = np.arange(len(key))
    return EqualRows(key, some, totals(Counted(key, span), weights))


def _of_one(classes: EqualRows, values: Integers | None) -> NDArray[np.bool_]:
    """Which classes hold only one value or, without values, only one row."""
    if values is None:
        return np.asarray(classes.size == 1)
    other = values != values[classes.first[classes.of_row]]
    alone = classes.size > 0
    alone[classes.of_row[other]] = False
    return alone


@dataclass(frozen=True)
class Combination:
    """How identifying a combination of attributes is: its classes of equal values, and its unique rows."""

    attributes: tuple[str, ...]
    classes: int
    uniques: int
    unique_share: float


@dataclass(frozen=True)
class Riskiest:
    """The attribute combinations that single out most rows, of each number of attributes.

    ``singled_out[j]`` counts the rows that some ``j + 1`` attributes single out, but no fewer;
    ``examples`` are such values, ``(attribute, value)`` pairs, of the fewest attributes first.
    ``looked_at`` says which combinations were examined.
    """

    combinations: tuple[Combination, ...]
    singled_out: tuple[int, ...]
    examples: tuple[tuple[tuple[str, str], ...], ...]
    looked_at: str


def riskiest(table: Microdata | Counts, top: int = 10, *, people: Integers | None = None) -> Riskiest:
    """Rank one, two and three quasi-identifiers by the share of the rows that are unique on them.

    At most ``top`` combinations of each number of attributes are returned, and ``top`` examples.
    Large and wide tables limit the pairs and triples to those of the attributes that are most identifying
    alone. With ``people`` a row is unique where its class holds one person.
    """
    found: list[tuple[Combination, list[int]]] = []
    seen = np.zeros(table.entries, np.bool_)
    singled, words = [], []
    order = table.quasi
    for number in range(1, min(3, len(order)) + 1):
        chosen = order[: _affordable(number, len(order), table.entries)]
        fresh = np.zeros(table.entries, np.bool_)
        here = [_examined(columns, table.weights, people, seen, fresh) for columns in combinations(chosen, number)]
        here.sort(key=lambda pair: (-pair[0].uniques, -pair[0].classes))
        if number == 1:
            rank = {c.attributes[0]: i for i, (c, _) in enumerate(here)}
            order = sorted(order, key=lambda column: rank[column.name])
        found += here[:top]
        singled.append(int(fresh.sum() if table.weights is None else table.weights[fresh].sum()))
        seen |= fresh
        words.append(_looked_at(number, len(chosen), len(order)))
    examples = _examples(table, found, top)
    return Riskiest(tuple(c for c, _ in found), tuple(singled), examples, "; ".join(words))


def _affordable(number: int, attributes: int, rows: int) -> int:
    """How many attributes can be combined ``number`` at a time within the row-visit budget."""
    most = attributes
    limit = min(_ROW_VISITS[number] / max(rows, 1), _COMBINATIONS if number > 1 else math.inf)
    while most > number and math.comb(most, number) > limit:
        most -= 1
    return most


def _examined(
    columns: Sequence[Column],
    weights: Integers | None,
    people: Integers | None,
    seen: NDArray[np.bool_],
    fresh: NDArray[np.bool_],
) -> tuple[Combination, list[int]]:
    """One combination, and a few rows that it singles out and that fewer attributes do not."""
    classes = _classes(columns, weights, first=people is not None)
    alone = _of_one(classes, people)
    new = alone[classes.of_row] & ~seen
    fresh |= new
    uniques = int(classes.size[alone].sum())
    names = tuple(c.name for c in columns)
    found = Combination(names, int((classes.size > 0).sum()), uniques, uniques / int(classes.size.sum()))
    rows = np.flatnonzero(new)
    return found, rows[:: len(rows) // _EXAMPLES_EACH + 1].tolist()


def _classes(columns: Sequence[Column], weights: Integers | None, *, first: bool) -> EqualRows:
    """Rows that agree: numbered by their packed codes where these are few, else by hashing."""
    rows, span = len(columns[0].codes), math.prod(c.size for c in columns)
    if span > 4 * rows + 65_536:
        found = group_rows([c.codes for c in columns], [c.size for c in columns])
        return (
            found if weights is None else found._replace(size=totals(Counted(found.of_row, len(found.size)), weights))
        )
    key = np.zeros(rows, np.int64)
    for column in columns:
        key = key * column.size + column.codes
    return _dense(key, span, weights, first=first)


def _examples(
    table: Microdata | Counts, found: Sequence[tuple[Combination, list[int]]], top: int
) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The values of the first rows found, no row twice."""
    picked: dict[int, tuple[tuple[str, str], ...]] = {}
    for combination, rows in found:
        for row in rows:
            if len(picked) < top and row not in picked:
                columns = [table[name] for name in combination.attributes]
                picked[row] = tuple((c.name, c.domain.leaves[int(c.codes[row])]) for c in columns)
    return tuple(picked.values())


def _looked_at(number: int, chosen: int, attributes: int) -> str:
    """Which combinations were examined, in words."""
    if number == 1:
        return "each quasi-identifier alone"
    what = f"{math.comb(chosen, number)} {'pairs' if number == 2 else 'triples'}"
    return f"all {what}" if chosen == attributes else f"the {what} of the {chosen} attributes that identify best alone"
