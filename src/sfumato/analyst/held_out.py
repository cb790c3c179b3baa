"""Show held-out rows as a release shows its own, from what its manifest says about its labels."""

import numpy as np
import polars as pl

from sfumato.errors import PolicyError
from sfumato.release.label_meaning import Interval, LabelMeaning, fits, hides, masks_of, read, spans
from sfumato.release.manifest import LabelAttribute
from sfumato.release.release import Release
from sfumato.table.encode import Kind
from sfumato.table.ordered_domain import MISSING
from sfumato.table.taxonomy import named


def as_released(release: Release, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of a raw table with the labels of a release in place of its quasi-identifiers.

    A value gets the narrowest label that contains it, possibly the one that hides everything; a missing value gets the
    label of missing values. Numbers below all intervals, and above them if no label hides everything, get the
    nearest interval; a category without a label is unchanged. Labels of local recoding overlap, and it is not public
    which group a row outside the release would have joined: there the narrowest label is a guess.
    """
    if release.bucketized:
        raise PolicyError("a bucketized release shows exact quasi-identifiers; train on its table 'quasi' directly")
    quasi = release.quasi()
    if absent := [n for n in quasi if n not in frame.columns]:
        raise PolicyError(f"the held-out rows have no column {named(absent)}, which the release shows; add it")
    shown = [_shown(frame[n], release.description.label(n)) for n in quasi]
    return frame.with_columns(shown)


def _shown(column: pl.Series, entry: LabelAttribute) -> pl.Series:
    """One column by its labels: each distinct value is looked up once."""
    told = read(entry.nodes)
    covered = {label: span for label, span in spans(entry.domain, told).items() if span and told[label].listed}
    distinct = column.unique()
    if covered:
        labels = _by_interval(_as_numbers(distinct, entry.kind), covered, told)
    else:
        labels = _by_value(distinct.cast(pl.String).fill_null(MISSING), told, masks_of(entry.domain, told))
    return column.replace_strict(distinct, pl.Series(labels, dtype=pl.String), return_dtype=pl.String)


def _by_interval(
    numbers: list[float], covered: dict[str, list[Interval]], told: dict[str, LabelMeaning]
) -> list[str | None]:
    """The narrowest label around each number, or else the label that hides everything, or else the nearest interval."""
    whole = next((label for label, t in told.items() if not t.listed), None)
    lacks = next((label for label, t in told.items() if t.listed and MISSING in t.names), whole)
    names = [label for label, span in covered.items() for _ in span]
    low, high = np.array([interval for span in covered.values() for interval in span]).T
    width = np.array([sum(b - a for a, b in span) for span in covered.values() for _ in span])
    out: list[str | None] = []
    for number in numbers:
        inside = (low <= number) & (number < high)
        distance = np.where(inside, width, np.inf) if inside.any() else np.maximum(low - number, number - high)
        if np.isnan(number):
            out.append(lacks)
        elif whole is not None and number >= low.min() and not inside.any():
            out.append(whole)
        else:
            out.append(names[int(distance.argmin())])
    return out


def _as_numbers(values: pl.Series, kind: object) -> list[float]:
    """Numbers, or days for dates, also if they are text; NaN for missing values."""
    if kind == Kind.DATE:
        days = values.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False) if values.dtype == pl.String else values
        values = days.cast(pl.Date).to_physical()
    return values.cast(pl.Float64, strict=False).fill_null(np.nan).to_list()


def _by_value(values: pl.Series, told: dict[str, LabelMeaning], masks: set[str]) -> list[str | None]:
    """For each value, the label that covers the fewest values, or else the mask that hides the least."""
    label_of: dict[str, str] = {}
    hiding: list[tuple[str, str]] = []
    for label, t in sorted(told.items(), key=lambda pair: len(pair[1].names)):
        for name in t.names:
            if t.listed:
                label_of.setdefault(name, label)
            if not t.listed or name in masks:
                hiding.append((name, label))
    hiding.sort(key=lambda mask: hides(mask[0]))
    return [label_of.get(v) or next((label for mask, label in hiding if fits(v, mask)), v) for v in values]
