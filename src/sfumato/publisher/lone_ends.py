"""Values of one person that labels of numbers and dates show: the least, the greatest, and odd decimals."""

from collections.abc import Iterator

import numpy as np

from sfumato.release.meaning import read
from sfumato.release.release import Release
from sfumato.table.encode import Column
from sfumato.table.line import Line
from sfumato.table.microdata import Microdata

_REMEDY = "Give it taxonomy = { width = ... } or { intervals = [...] }: then labels end at round or declared numbers."


def lone_ends(table: Microdata, release: Release) -> list[str]:
    """Warnings for the steward, one per attribute and value."""
    told: list[str] = []
    for column in table.quasi:
        nodes = release.manifest["attributes"][column.name].get("nodes")
        if isinstance(column.domain, Line) and column.domain.form != "word" and nodes and len(column.domain.values):
            shown = {end for label in read({"nodes": nodes}).values() for end in label.interval or ()}
            told += [*_extremes(column, column.domain, shown), *_decimals(column, column.domain, shown)]
    return told


def _extremes(column: Column, line: Line, shown: set[float]) -> Iterator[str]:
    """The least and the greatest value, where one person has it and a label ends there."""
    rows = np.bincount(column.codes, minlength=line.size)
    last = len(line.values) - 1
    for word, code, end in (("least", 0, line.values[0]), ("greatest", last, line.bounds(last, last + 1)[1])):
        if rows[code] == 1 and float(end) in shown:
            value = line.words[code]
            remedy = _REMEDY if line.form == "number" else "Publish the month or the year instead of the day."
            yield f"One person has the {word} value of {column.name!r}, {value}, and a label ends there. {remedy}"


def _decimals(column: Column, line: Line, shown: set[float]) -> Iterator[str]:
    """A value with more decimals than all others have: the ends of labels are as fine as the finest value."""
    if line.form != "number" or not 0 < line.step < 1:
        return
    places = round(-np.log10(line.step))
    fine = np.flatnonzero(np.round(line.values, places - 1) != line.values)
    if np.isin(column.codes, fine).sum() == 1 and any(np.round(end, places - 1) != end for end in shown):
        value = line.words[int(fine[0])]
        yield (
            f"One person's {column.name!r}, {value}, has more decimals than all others; labels show it. "
            "Round the column."
        )
