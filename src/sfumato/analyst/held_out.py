"""Show held-out rows as a release shows its own, from what its manifest says of its labels."""

from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import PolicyError
from sfumato.release.release import Release
from sfumato.table.encode import Kind
from sfumato.table.line import MISSING
from sfumato.table.taxonomy import named

_Meanings = dict[str, list[Any] | None]


def as_released(release: Release, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of a raw table with the labels of a release in place of its quasi-identifiers.

    A value gets the narrowest label that contains it; that may be the one that hides everything, for a missing value
    the one of missing values. Numbers below all intervals, and above them where nothing hides everything, get the
    nearest interval; a category without label stays as it is. Labels of local recoding overlap, and which group a row
    outside the release would have joined is not public: the narrowest is a guess there.
    """
    if release.bucketized:
        raise PolicyError("a bucketized release shows exact quasi-identifiers; train on its table 'quasi' as it is")
    quasi = release.quasi()
    if absent := [n for n in quasi if n not in frame.columns]:
        raise PolicyError(f"the held-out rows lack {named(absent)}, which the release shows; add it to them")
    shown = [_shown(frame[n], release.manifest["attributes"][n]) for n in quasi]
    return frame.with_columns(shown)


def _shown(column: pl.Series, entry: dict[str, Any]) -> pl.Series:
    """One column by its labels: each distinct value is looked up once."""
    meanings: _Meanings = entry["nodes"]
    kind = entry.get("kind")
    bounds = {label: b for label, m in meanings.items() if (b := _bounds(m, kind)) is not None}
    distinct = column.unique()
    if bounds:
        labels = _by_interval(_as_numbers(distinct, kind), bounds, meanings)
    else:
        labels = _by_value(distinct.cast(pl.String).fill_null(MISSING), meanings)
    return column.replace_strict(distinct, pl.Series(labels, dtype=pl.String), return_dtype=pl.String)


def _whole(meanings: _Meanings) -> str | None:
    """The label that hides everything, if there is one."""
    return next((label for label, meaning in meanings.items() if meaning is None), None)


def _bounds(meaning: list[Any] | None, kind: object) -> tuple[float, float] | None:
    """The half-open interval that a label means, days for dates; None where it means something else."""
    if meaning is None or len(meaning) != 2:
        return None
    if all(isinstance(b, int | float) and not isinstance(b, bool) for b in meaning):
        return float(meaning[0]), float(meaning[1])
    if kind == Kind.DATE:
        days = [float(np.datetime64(b, "D").astype(np.int64)) for b in meaning]
        return days[0], days[1]
    return None


def _by_interval(numbers: list[float], bounds: dict[str, tuple[float, float]], meanings: _Meanings) -> list[str | None]:
    """The narrowest interval around each number, else what hides everything, else the nearest interval."""
    names, whole = list(bounds), _whole(meanings)
    lacks = next((label for label, m in meanings.items() if m is not None and MISSING in m), whole)
    low, high = (np.array([b[i] for b in bounds.values()]) for i in (0, 1))
    width = high - low
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
    """Numbers, days for dates, also where they are text; not a number where a value is missing."""
    if kind == Kind.DATE:
        days = values.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False) if values.dtype == pl.String else values
        values = days.cast(pl.Date).to_physical()
    return values.cast(pl.Float64, strict=False).fill_null(np.nan).to_list()


def _by_value(values: pl.Series, meanings: _Meanings) -> list[str | None]:
    """The label of the fewest values around each one."""
    label_of: dict[str, str] = {}
    for label, meaning in sorted(meanings.items(), key=lambda pair: len(pair[1] or ())):
        for value in meaning or ():
            label_of.setdefault(str(value), label)
    whole = _whole(meanings)
    return [label_of.get(str(v), whole if whole is not None else v) for v in values]
