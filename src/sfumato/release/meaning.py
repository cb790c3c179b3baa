"""What labels mean: intervals of numbers and days, masks, and the share of a label within a region."""

import datetime as dt
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.errors import PolicyError
from sfumato.table.line import MISSING, day_text
from sfumato.table.taxonomy import SUPPRESSED

_EPOCH = dt.date(1970, 1, 1)


def is_interval(label: str, meaning: Sequence[Any]) -> bool:
    """Whether a meaning is the two ends of a half-open interval of numbers or days."""
    if len(meaning) != 2 or label == MISSING:
        return False
    if all(_is_number(end) for end in meaning):
        return True
    named = label in (f"[{meaning[0]}, {meaning[1]})", meaning[0])
    return named and all(isinstance(end, str) and _day(end) is not None for end in meaning)


def interval_ends(meaning: Sequence[Any]) -> tuple[float, float]:
    """The ends of an interval of numbers, or of days since 1970-01-01.

    >>> interval_ends(["1970-01-02", "10000-01-01"])
    (1.0, 2932897.0)
    """
    low, high = (_day(end) if isinstance(end, str) else float(end) for end in meaning)
    if low is None or high is None:
        raise ValueError(f"{meaning} are no days")
    return low, high


def _day(text: str) -> float | None:
    """A day as a number; the one after the last has no date. None where the text is no day."""
    if text == day_text(np.inf):
        return float((dt.date.max - _EPOCH).days + 1)
    try:
        return float((dt.date.fromisoformat(text) - _EPOCH).days)
    except ValueError:
        return None


def _is_number(end: object) -> bool:
    return isinstance(end, int | float) and -sys.float_info.max <= end <= sys.float_info.max


def fits(value: str, label: str) -> bool:
    """Whether a label of which nothing is listed covers a value: all is hidden, or some characters are."""
    if label == SUPPRESSED:
        return True
    return len(label) == len(value) and all(c in (SUPPRESSED, v) for c, v in zip(label, value, strict=True))


def masks_of(entry: Mapping[str, Any]) -> set[str]:
    """What labels list that is no value itself but stands for values that are not told, as ``1**`` does."""
    meanings = [[str(v) for v in meaning] for meaning in entry["nodes"].values() if meaning]
    known = {str(v) for v in entry["domain"]} | {m[0] for m in meanings if len(m) == 1}
    return {v for m in meanings for v in m} - known


def covered(entry: Mapping[str, Any], label: str, region: Any) -> float:
    """The share of a label's values that lies within a region: an interval ``(low, high)`` or a list of values.

    >>> covered({"nodes": {"[20, 40)": [20.0, 40.0]}, "domain": [0, 90]}, "[20, 40)", (30, 50))
    0.5
    """
    meaning = entry["nodes"].get(label)
    if label != MISSING and (meaning is None or is_interval(label, meaning)):
        ends = entry["domain"] if meaning is None else meaning
        if entry.get("kind") in ("continuous", "date") or (ends and all(_is_number(end) for end in ends)):
            return _overlap(ends, label, region)
    if isinstance(region, tuple):
        if label == MISSING:
            return 0.0
        raise PolicyError(f"{region!r} is an interval, and {label!r} is none; give a list of values")
    chosen = {str(v) for v in ([region] if isinstance(region, str) else region)}
    untold = meaning is None and entry.get("kind") == "categorical"
    values = [label] if untold else [str(v) for v in (meaning or entry["domain"])]
    for mask in set(values) - chosen if untold else masks_of(entry) & set(values) - chosen:
        if any(fits(value, mask) for value in chosen):
            raise PolicyError(
                f"{mask!r} hides some of the values asked for and does not say which others; ask for whole labels"
            )
    return sum(v in chosen for v in values) / max(len(values), 1)


def _overlap(ends: Sequence[Any], label: str, region: Any) -> float:
    """The share of an interval of numbers or days that lies within a region."""
    absent = region in (MISSING, [MISSING])
    if len(ends) != 2 or (absent and label == SUPPRESSED):
        raise PolicyError(f"{label!r} hides all values and does not say which they are; ask for no region of it")
    if absent:
        return 0.0
    low, high = interval_ends(ends)
    try:
        start, stop = interval_ends(region if _is_like(region, ends) else ())
    except (TypeError, ValueError):
        kind = "days such as '2001-01-31'" if isinstance(ends[0], str) else "numbers"
        raise PolicyError(
            f"{label!r} is an interval of {kind}; give the region as (low, high), not {region!r}"
        ) from None
    return max(min(high, stop) - max(low, start), 0.0) / (high - low)


def _is_like(region: Any, ends: Sequence[Any]) -> bool:
    return isinstance(region, tuple) and all(isinstance(end, str) == isinstance(ends[0], str) for end in region)
