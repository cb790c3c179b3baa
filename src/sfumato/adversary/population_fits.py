"""How many people of a population fit what a release shows, whatever its scheme."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.placement import label_boxes, place_columns, points_of
from sfumato.adversary.situation import Situation
from sfumato.errors import DataError
from sfumato.kernel.group import group_rows
from sfumato.kernel.linkage.covering import how_many_cover
from sfumato.release.population_match import released_groups
from sfumato.release.scheme.sampling import SIZE
from sfumato.table.microdata import Microdata
from sfumato.table.population import Population

Integers = NDArray[np.int64]


class PopulationFits(NamedTuple):
    """For each group of the release (or each combination of exact quasi-identifiers): how many people it shows and how
    many of the population fit it; whether nobody fits two; and how many people the population has."""

    rows: Integers
    fitting: Integers
    disjoint: bool
    size: int


def population_fits(situation: Situation, population: Population) -> PopulationFits:
    """Count the population in the groups of a release; it must contain everyone in the table."""
    release = situation.release
    coded = population.coded({c.name: c.kind for c in situation.quasi})
    if release.scheme_class.labels_people:
        found = _by_labels(situation, coded)
    elif release.sampled:
        place = place_columns(release, [coded[c.name] for c in situation.quasi]).of_person
        size = np.asarray(release.tables["data"][SIZE].to_numpy(), np.int64)
        found = PopulationFits(size, np.bincount(place[place >= 0], minlength=len(size)), True, coded.rows)
    else:
        found = _by_value(situation, coded)
    if lacking := int((found.fitting < found.rows).sum()):
        raise DataError(
            f"the population has fewer people than the table in {lacking:,} of {len(found.rows):,} groups; give one "
            "that contains everyone in the table, with the same quasi-identifiers"
        )
    return found


def _by_labels(situation: Situation, coded: Microdata) -> PopulationFits:
    """People of the population who fit the labels of each group; they may fit several."""
    columns, sizes = [coded[c.name] for c in situation.quasi], np.bincount(situation.release.groups())
    b = label_boxes(situation.release, columns)
    several = how_many_cover(b.lo, b.hi, points_of(columns))
    return PopulationFits(sizes, released_groups(situation.release, coded), bool((several <= 1).all()), coded.rows)


def _by_value(situation: Situation, coded: Microdata) -> PopulationFits:
    """People of the population with the same exact quasi-identifiers as published ones."""
    codes, sizes = [], []
    for c in situation.quasi:
        known = {leaf: i for i, leaf in enumerate(c.domain.leaves)}
        place = np.array([known.get(leaf, c.size) for leaf in coded[c.name].domain.leaves], np.int64)
        codes.append(np.concatenate([c.codes[situation.kinds.first].astype(np.int64), place[coded[c.name].codes]]))
        sizes.append(c.size + 1)
    found = group_rows(codes, sizes)
    number = len(situation.kinds.first)
    everyone = np.bincount(found.of_row[number:], minlength=len(found.first))
    rows = situation.fits.rows
    shown = rows > 0
    return PopulationFits(rows[shown], everyone[found.of_row[:number]][shown], True, coded.rows)
