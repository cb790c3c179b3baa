"""What a published label means, read from the manifest: the only place that interprets labels.

A label means the half-open interval ``[low, high)`` of numbers or days, or it names values, nodes of a taxonomy and
masks such as ``47*``. An interval may be open on one side: ``>= 65`` means ``[65, null]``, ``< 20`` means
``[null, 20]``. For some, only the label itself is stated: ``*`` hides everything, ``47*`` the last character, ``I21…``
all that follows.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sfumato.errors import DAMAGED, PolicyError, ReleaseError
from sfumato.release.manifest import LabelAttribute
from sfumato.table.domain import Interval as Interval
from sfumato.table.encode import Kind
from sfumato.table.names import REST
from sfumato.table.ordered_domain import MISSING, after, common_step, day_number
from sfumato.table.taxonomy import SUPPRESSED

_WHOLE: Interval = (-np.inf, np.inf)
_KNOWN = "(known)"

_NUMBER = r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?"
_NUMBERS = re.compile(rf"\[({_NUMBER}), ({_NUMBER})[)\]]")
_DAYS = re.compile(r"\[([0-9-]+), ([0-9-]+)\)")
_OPEN = re.compile(rf"(>=|<) ({_NUMBER}|[0-9-]+)")


class LabelMeaning(NamedTuple):
    """What is stated about a label: its interval (days count from 1970-01-01), or the names that it stands for.

    An end of the interval that is not stated is infinite.
    ``listed`` is False if nothing but the label is stated; it is then a mask.
    """

    interval: Interval | None
    names: tuple[str, ...] = ()
    listed: bool = True


def parse_label(label: str, meaning: Any) -> LabelMeaning:
    """What a label means according to the manifest.

    >>> parse_label("[20, 40)", [20.0, 40.0])
    LabelMeaning(interval=(20.0, 40.0), names=(), listed=True)
    >>> parse_label("{A, B}", ["a", "b"])
    LabelMeaning(interval=None, names=('a', 'b'), listed=True)
    >>> parse_label("47*", None)
    LabelMeaning(interval=None, names=('47*',), listed=False)
    """
    if meaning is None:
        return LabelMeaning(None, (label,), False)
    if not isinstance(meaning, list | tuple) or not meaning:
        raise ReleaseError(f"manifest.json does not list what the label {label!r} means; {DAMAGED}")
    if len(meaning) == 2:
        low, high = meaning
        # two days may also be two values: the label says whether they are an interval
        days = isinstance(low, str) and isinstance(high, str)
        ends = as_interval(meaning) if not days or label in (f"[{low}, {high})", low) else None
        if ends is not None:
            return LabelMeaning(ends)
    return LabelMeaning(None, tuple(map(str, meaning)))


def as_interval(ends: Sequence[Any]) -> Interval | None:
    """Two numbers, or two days, the first before the second, either or both null if not stated; otherwise None.

    >>> as_interval(["1970-01-02", "10000-01-01"]), as_interval([40, 20]), as_interval([65, None])
    ((1.0, 2932897.0), None, (65.0, inf))
    """
    if type(ends[0]) is float and type(ends[1]) is float:  # most labels, where nothing else needs to be asked
        low, high = ends
        return (low, high) if -sys.float_info.max <= low < high <= sys.float_info.max else None
    stated = [end for end in ends if end is not None]
    if len({isinstance(end, str) for end in stated}) > 1:
        return None
    numbers = [day_number(end) if isinstance(end, str) else end for end in stated]
    if not all(_is_number(number) for number in numbers):
        return None
    found = iter(float(number) for number in numbers)  # type: ignore[arg-type]
    low, high = (without if end is None else next(found) for end, without in zip(ends, _WHOLE, strict=True))
    return (low, high) if low < high else None


def _is_number(end: object) -> bool:
    return isinstance(end, int | float) and -sys.float_info.max <= end <= sys.float_info.max


def shown_ends(label: str) -> Interval | None:
    """The ends of an interval of numbers or days that a label shows; infinite on an open side.

    >>> shown_ends("[20, 40)"), shown_ends("[1970-01-02, 1970-01-04)"), shown_ends("Nurse"), shown_ends(">= 65")
    ((20.0, 40.0), (1.0, 3.0), None, (65.0, inf))
    >>> shown_ends("(known)")
    (-inf, inf)
    """
    if label == _KNOWN:
        return _WHOLE
    if found := _OPEN.fullmatch(label):
        end: Any = found[2] if day_number(found[2]) is not None else _float(found[2])
        return as_interval([end, None] if found[1] == ">=" else [None, end])
    if found := _NUMBERS.fullmatch(label):
        return float(found[1]), float(found[2])
    return as_interval(found.groups()) if (found := _DAYS.fullmatch(label)) else None


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def read(nodes: Mapping[str, Any]) -> dict[str, LabelMeaning]:
    """What the nodes of an attribute state about each of its labels."""
    return {label: parse_label(label, meaning) for label, meaning in nodes.items()}


def finite_ends(labels: Mapping[str, LabelMeaning]) -> list[float]:
    """The ends that labels of numbers or days show, in order.

    >>> finite_ends({"< 20": parse_label("< 20", [None, 20.0]), "{30, 40}": parse_label("{30, 40}", ["30", "40"])})
    [20.0, 30.0, 40.0]
    """
    named = (_part(name) for t in labels.values() if t.listed for name in t.names if name != MISSING)
    ends = {end for part in (*(t.interval or () for t in labels.values()), *named) for end in part if end is not None}
    return sorted(end for end in ends if np.isfinite(end))


def stated_ends(nodes: Mapping[str, Any]) -> list[float]:
    """The same of what nodes state; two numbers, which most labels mean, are ends without being read.

    >>> stated_ends({"[20, 40)": [20.0, 40.0], "< 20": [None, 20.0], "*": None})
    [20.0, 40.0]
    """
    ends: set[float] = set()
    others = {}
    for label, meaning in nodes.items():
        if meaning is not None and len(meaning) == 2 and type(meaning[0]) is type(meaning[1]) is float:
            ends.update(meaning)
        else:
            others[label] = meaning
    return sorted({end for end in ends if np.isfinite(end)}.union(finite_ends(read(others))))


def closed(interval: Interval, labels: Mapping[str, LabelMeaning]) -> Interval | None:
    """An interval whose open ends are guessed: one average step of the labels' ends beyond the last of these.

    None if the labels show fewer than two ends.

    >>> closed((40.0, np.inf), {"< 20": parse_label("< 20", [None, 20.0]), ">= 40": parse_label(">= 40", [40.0, None])})
    (40.0, 60.0)
    """
    if np.isfinite(interval).all():
        return interval
    ends = finite_ends(labels)
    if len(ends) < 2:
        return None
    step = (ends[-1] - ends[0]) / (len(ends) - 1)
    return max(interval[0], ends[0] - step), min(interval[1], ends[-1] + step)


def spans(domain: Sequence[Any], labels: Mapping[str, LabelMeaning]) -> dict[str, list[Interval]]:
    """The intervals that each label of numbers or days covers: its own, those of everything it names, or the domain.

    Missing values have none; the result is empty if neither a label nor the domain is an interval.

    >>> spans([0.0, 9.0], {"{1, 3}": parse_label("{1, 3}", ["1", "3"]), "*": parse_label("*", None)})
    {'{1, 3}': [(1.0, 2.0), (3.0, 4.0)], '*': [(0.0, 9.0)]}
    """
    whole = as_interval(domain) if len(domain) == 2 else None
    own = [x for t in labels.values() for x in t.interval or () if np.isfinite(x)]
    if not own and (whole is None or isinstance(domain[0], str)):
        return {}
    parts = {label: [_part(name) for name in t.names if t.listed and name != MISSING] for label, t in labels.items()}
    step = common_step(np.array(own + [low for found in parts.values() for low, _ in found]))
    out = {}
    for label, t in labels.items():
        found = [(low, after(low, step) if high is None else high) for low, high in parts[label]]
        own_span = closed(t.interval, labels) if t.interval else None
        out[label] = [own_span] if own_span else found if t.listed or whole is None else [whole]
    return out


def _part(name: str) -> tuple[float, float | None]:
    """One of several parts of a label: an interval, or a number alone."""
    try:
        return shown_ends(name) or (float(name), None)
    except ValueError:
        raise ReleaseError(f"manifest.json lists {name!r} among intervals of numbers; {DAMAGED}") from None


def fits(value: str, mask: str) -> bool:
    """Whether a mask covers a value: everything is hidden, or some characters are, or whatever follows a beginning.

    >>> fits("471", "47*"), fits("4711", "47*"), fits("I21.4", "I21…"), fits("I21", "I21…")
    (True, False, True, True)
    """
    if mask.endswith(REST):
        return value.startswith(mask.removesuffix(REST))
    return mask == SUPPRESSED or _like(mask).fullmatch(value) is not None


def is_mask(label: str) -> bool:
    """Whether a label says by itself what it may stand for."""
    return SUPPRESSED in label or label.endswith(REST)


def hides(mask: str) -> tuple[bool, int, int]:
    """How much a mask hides, to put masks in order; of those that a value fits, the first tells most.

    >>> sorted(["*", "I…", "4**", "47*", "I21…"], key=hides)
    ['I21…', 'I…', '47*', '4**', '*']
    """
    return mask == SUPPRESSED, mask.count(SUPPRESSED), -len(mask) if mask.endswith(REST) else 0


@lru_cache(maxsize=4096)
def _like(mask: str) -> re.Pattern[str]:
    return re.compile("".join("." if c == SUPPRESSED else re.escape(c) for c in mask), re.DOTALL)


def masks_of(domain: Sequence[Any], labels: Mapping[str, LabelMeaning]) -> set[str]:
    """The listed names that are not values themselves but stand for values that are not stated, such as ``1**``."""
    listed = [t.names for t in labels.values() if t.listed]
    known = {str(v) for v in domain} | {names[0] for names in listed if len(names) == 1}
    return {name for names in listed for name in names} - known


def covered(entry: LabelAttribute, label: str, region: Any) -> float:
    """The share of a label's values that lies within a region: an interval ``(low, high)`` or a list of values.

    >>> age = LabelAttribute(domain=[0, 90], nodes={"[20, 40)": [20.0, 40.0]})
    >>> covered(age, "[20, 40)", (30, 50))
    0.5
    """
    meaning = entry.nodes.get(label)
    known = parse_label(label, meaning)
    if label != MISSING and (not known.listed or known.interval):
        ends = meaning if known.listed else entry.domain
        if entry.kind in (Kind.CONTINUOUS, Kind.DATE) or (ends and all(_is_number(end) for end in ends)):
            return _overlap(entry, label, region)
    if isinstance(region, tuple):
        if label == MISSING:
            return 0.0
        raise PolicyError(f"{region!r} is an interval, but {label!r} is not; give a list of values")
    chosen = {str(v) for v in ([region] if isinstance(region, str) else region)}
    untold = not known.listed and entry.kind == Kind.CATEGORICAL
    values = set(known.names if known.listed or untold else map(str, entry.domain))
    for mask in values - chosen if untold else masks_of(entry.domain, read(entry.nodes)) & values - chosen:
        if any(fits(value, mask) for value in chosen):
            raise PolicyError(
                f"{mask!r} hides some of the values asked for together with others that are not public; ask for whole "
                "labels"
            )
    return len(values & chosen) / max(len(values), 1)


def _overlap(entry: LabelAttribute, label: str, region: Any) -> float:
    """The share of an interval of numbers or days that lies within a region; open ends are guessed."""
    labels = read(entry.nodes)
    opened = [t for t in labels.values() if t.interval and not np.isfinite(t.interval).all()]
    stated = as_interval(entry.domain) if len(entry.domain) == 2 else None
    whole = labels[label].interval or (_WHOLE if opened else stated)
    absent = region in (MISSING, [MISSING])
    if whole is None or (absent and label == SUPPRESSED):
        raise PolicyError(f"{label!r} hides all values and does not say which ones; do not ask for a region of it")
    if absent:
        return 0.0
    days = any(isinstance(end, str) for end in (*entry.domain, *(entry.nodes.get(label) or ())))
    try:
        start, stop = (_end(end, days=days) for end in (region if isinstance(region, tuple) else ()))
    except (TypeError, ValueError):
        kind = "days such as '2001-01-31'" if days else "numbers"
        raise PolicyError(
            f"{label!r} is an interval of {kind}; give the region as (low, high), not {region!r}"
        ) from None
    if start <= whole[0] and whole[1] <= stop:
        return 1.0
    guess = closed(whole, labels)
    if guess is None:
        raise PolicyError(f"{label!r} does not say how far it reaches; do not ask for a region that divides it")
    return max(min(guess[1], stop) - max(guess[0], start), 0.0) / (guess[1] - guess[0])


def _end(end: Any, *, days: bool) -> float:
    """An end of a region: a day if days are meant, otherwise a number; infinite to leave it open."""
    found = day_number(end) if isinstance(end, str) else float(end)
    if found is None or (isinstance(end, str) != days and np.isfinite(found)):
        raise ValueError(f"{end!r} is not an end of this interval")
    return found
