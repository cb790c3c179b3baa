"""Show held-out rows as a release shows its own, from what its manifest says of its labels."""

from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import PolicyError
from sfumato.release.release import Release
from sfumato.table.encode import Kind
from sfumato.table.taxonomy import named

_Meanings = dict[str, list[Any] | None]


def as_released(release: Release, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of a raw table with the labels of a release in place of its quasi-identifiers.

    A value gets the narrowest label that contains it. Where no label does, a number gets the nearest interval; a
    category gets the label that hides everything, or stays as it is where there is none. Labels of local recoding
    overlap, and which group a row outside the release would have joined is not public: the narrowest is a guess there.
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
    bounds = {label: b for label, m in meanings.items() if (b := _bounds(m, entry.get("kind"))) is not None}
    distinct = column.unique()
    if bounds:
        labels = _by_interval(distinct, bounds, _whole(meanings))
    else:
        labels = _by_value(distinct.cast(pl.String), meanings)
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


def _by_interval(values: pl.Series, bounds: dict[str, tuple[float, float]], whole: str | None) -> list[str | None]:
    """The narrowest interval around each number, else the nearest one; what hides everything for a missing one."""
    names = list(bounds)
    low, high = (np.array([b[i] for b in bounds.values()]) for i in (0, 1))
    width = high - low
    out: list[str | None] = []
    for number in _as_numbers(values):
        if np.isnan(number):
            out.append(whole)
            continue
        inside = (low <= number) & (number < high)
        distance = np.where(inside, width, np.inf) if inside.any() else np.maximum(low - number, number - high)
        out.append(names[int(distance.argmin())])
    return out


def _as_numbers(values: pl.Series) -> list[float]:
    numbers = values.to_physical() if values.dtype.is_temporal() else values
    return numbers.cast(pl.Float64, strict=False).fill_null(np.nan).to_list()


def _by_value(values: pl.Series, meanings: _Meanings) -> list[str | None]:
    """The label of the fewest values around each one."""
    label_of: dict[str, str] = {}
    for label, meaning in sorted(meanings.items(), key=lambda pair: len(pair[1] or ())):
        for value in meaning or ():
            label_of.setdefault(str(value), label)
    whole = _whole(meanings)
    return [label_of.get(str(v), whole if whole is not None else v) for v in values]
