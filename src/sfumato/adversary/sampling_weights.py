"""Sampling weights: how many people of the population each row represents, hence how many are behind a class."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.adversary.linkage import quasi_groups
from sfumato.adversary.population_risk import PopulationRisk, expected_inverses
from sfumato.errors import DataError, PolicyError
from sfumato.release.population_match import People, counted_people
from sfumato.release.release import Release
from sfumato.table.microdata import Microdata

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_PARTS = 1000
"""Weights are counted in this many parts of a person."""


class WeightedClasses(NamedTuple):
    """For each class: the rows that show it, the people of the table who fit it, and the sum of their weights."""

    rows: Integers
    people: Integers
    weight: Floats


def weights_of(table: Microdata, name: str, size: int | None = None) -> Floats:
    """The weight of each row; scaled to a population of a known size."""
    column = table.uncoded(name)
    if column is None:
        raise PolicyError(
            f"the column of weights, {name!r}, must not be generalized; leave it out of [attributes], or give it the "
            "role drop or insensitive"
        )
    numbers = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    wrong = int((~np.isfinite(numbers) | (numbers <= 0)).sum())
    if wrong:
        raise DataError(
            f"the column of weights, {name!r}, has {wrong:,} values that are not positive numbers; correct them, or "
            "leave out weights under [data]"
        )
    return np.asarray(numbers if size is None else numbers * (size / numbers.sum()), np.float64)


def classes_of_table(table: Microdata, weights: Floats) -> WeightedClasses:
    """The classes of equal quasi-identifiers in the table."""
    of_row = quasi_groups(table)
    people = np.bincount(of_row).astype(np.int64)
    return WeightedClasses(people, people, np.bincount(of_row, weights=weights).astype(np.float64))


def classes_of_release(release: Release, table: Microdata, weights: Floats) -> WeightedClasses | None:
    """The groups of a release by labels: everyone of the table who fits them; None where there are none."""
    if release.scheme_class.separates:
        return classes_of_table(table, weights)
    if not release.scheme_class.labels_people or release.row_weights is not None:
        return None
    people = People.of(table)
    of_row = quasi_groups(table)
    heavy = people._replace(weights=np.rint(np.bincount(of_row, weights=weights) * _PARTS).astype(np.int64))
    rows = np.bincount(release.groups()).astype(np.int64)
    return WeightedClasses(rows, counted_people(release, people), counted_people(release, heavy) / _PARTS)


def weighted_risk(found: WeightedClasses, size: int) -> PopulationRisk:
    """The expected risks of rows, by the weights of the people who fit their class.

    Of a class with f people in the table whose weights add up to W, each person of the population is taken to be in the
    table with probability f / W (Benedetti and Franconi 1998).
    """
    shown = found.rows > 0
    people, fraction = found.people[shown], np.minimum(found.people / np.maximum(found.weight, 1e-12), 1.0)[shown]
    risks, rows = expected_inverses(people, fraction), found.rows[shown]
    return PopulationRisk(
        size=size,
        fraction=float(rows.sum() / size),
        greatest=float(risks.max()),
        mean=float(rows @ risks / rows.sum()),
        unique_rows=float((rows * fraction)[people == 1].sum()),
        weighted=True,
    )
