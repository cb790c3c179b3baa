"""Extra decimals of one person's value that labels of numbers reveal."""

from collections.abc import Iterator

import numpy as np

from sfumato.engine.counts import Integers
from sfumato.engine.overview import Overview
from sfumato.release.label_meaning import read
from sfumato.release.manifest import LabelAttribute
from sfumato.release.release import Release
from sfumato.table.domain import NumberScale
from sfumato.table.encode import Column


def lone_ends(table: Overview, release: Release) -> list[str]:
    """Warnings for the steward, one per attribute and value."""
    told: list[str] = []
    for column in table.quasi:
        entry = release.description.labelled.get(column.name)
        scale = column.domain.scale()
        if scale is not None and entry is not None:
            told += _decimals(column, table.weights, scale, entry)
    return told


def _decimals(column: Column, weights: Integers, scale: NumberScale, entry: LabelAttribute) -> Iterator[str]:
    """A value with more decimals than all others: the ends of labels are as fine as the finest value."""
    if scale.dated or not 0 < scale.step < 1:
        return
    places = round(-np.log10(scale.step))
    fine = np.flatnonzero(np.round(scale.values, places - 1) != scale.values)
    if weights[np.isin(column.codes, fine)].sum() != 1:
        return
    shown = {end for label in read(entry.nodes).values() for end in label.interval or ()}
    if any(np.round(end, places - 1) != end for end in shown):
        value = column.domain.leaves[int(fine[0])]
        yield (
            f"One person's {column.name!r}, {value}, has more decimals than all others, and labels reveal it. Round "
            "the column."
        )
