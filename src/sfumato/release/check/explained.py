"""Whether the labels of a release mean what they show: nodes, domain and loss of a generalized quasi-identifier."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import ReleaseError
from sfumato.release.label_meaning import Interval, LabelMeaning, as_interval, read, shown_ends
from sfumato.release.manifest import BoxAttribute, LabelAttribute
from sfumato.table.encode import Kind
from sfumato.table.names import REST
from sfumato.table.ordered_domain import MISSING, after, day_number, number_of, open_label
from sfumato.table.taxonomy import SUPPRESSED, named, quoted

_NUMBERED = re.compile(r" \([0-9]+\)$")
ROUNDED = 5.1e-5
"""The loss is stated with four decimals."""

_PART = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\[\]]*[)\]]|[^,{}\[\]"]+')


def fault_of(name: str, entry: LabelAttribute, column: pl.Series, rows: Mapping[str, int]) -> str | None:
    """What is wrong with the labels of a column, or None; ``rows`` says how many rows show each."""
    try:
        labels = read(entry.nodes)
        _all_there(name, labels, column, {*rows})
        for label, known in labels.items():
            _fitting(name, label, known, entry, labels)
    except ReleaseError as e:
        return str(e)
    return None


def _all_there(name: str, labels: Mapping[str, LabelMeaning], column: pl.Series, shown: set[str]) -> None:
    if column.dtype not in (pl.String, pl.Enum, pl.Categorical) or column.null_count():
        raise ReleaseError(f"column {name!r} must hold one label per row")
    if unknown := sorted(shown - labels.keys()):
        raise ReleaseError(f"the manifest does not explain the labels {named(unknown)} of {name!r}")
    if unused := sorted(labels.keys() - shown):
        raise ReleaseError(f"the manifest explains {named(unused)} of {name!r}, but no row shows them")


def _fitting(
    name: str, label: str, known: LabelMeaning, entry: LabelAttribute, labels: Mapping[str, LabelMeaning]
) -> None:
    """Refuse a meaning that contradicts the label itself, or that lies outside the domain."""
    domain: Sequence[Any] = entry.domain
    if not known.listed:
        good = SUPPRESSED in label or label.endswith(REST)
    elif known.names == (MISSING,) == (label,):
        good = True
    elif known.interval is not None:
        good = _shows(label, known.interval) and _within(known.interval, domain) and entry.kind != Kind.ORDINAL
        told = [end for end in entry.nodes[label] or () if end is not None]
        good = good and all(isinstance(end, str) == (entry.kind == Kind.DATE) for end in told)
    elif len(set(known.names)) < len(known.names):
        good = False
    elif entry.kind == Kind.ORDINAL:
        good = _is_run(label, known.names, domain)
    elif _is_span(domain, entry.kind):
        good = _names_numbers(label, known.names, domain)
    else:
        good = _names_values(label, known.names, domain, labels)
    if not good:
        raise ReleaseError(f"the label {label!r} of {name!r} does not mean what the manifest says: {known}")


def _is_span(domain: Sequence[Any], kind: Kind) -> bool:
    """Whether a domain is the ends of an interval; two days are two values unless the attribute is a date."""
    if len(domain) != 2 or (isinstance(domain[0], str) and kind != Kind.DATE):
        return False
    return as_interval(domain) is not None


def _plain(label: str) -> str:
    """A label without the number that distinguishes it from another with the same text."""
    return _NUMBERED.sub("", label)


def _shows(label: str, interval: Interval) -> bool:
    """Whether a label shows this interval: by its ends, as neighbouring parts, or as the only value in it."""
    low, high = interval
    if ends := shown_ends(_plain(label)):
        return ends == interval
    if label == open_label(None, None):
        return interval == (-math.inf, math.inf)
    if parts := parts_of(_plain(label)):
        found = [shown_ends(part) for part in parts]
        known = [ends for ends in found if ends is not None]
        return len(known) == len(parts) and (known[0][0], known[-1][1]) == interval
    if (day := day_number(label)) is not None:
        return interval == (day, day + 1)
    return number_of(label) == low and high in {after(low, 10.0**-d) for d in range(10)} | _just_above(low, high)


def _just_above(low: float, high: float) -> set[float]:
    """Numbers without a common step reach up to a short number just above them."""
    return {high} if low < high <= after(low, 0.0) else set()


def _within(interval: Interval, domain: Sequence[Any]) -> bool:
    """Whether the ends of an interval, as far as they are stated, lie in a domain, as far as that is stated."""
    if not domain:
        return True
    whole = as_interval(domain) if len(domain) == 2 else None
    return whole is not None and all(whole[0] <= end <= whole[1] for end in interval if math.isfinite(end))


def _is_run(label: str, names: Sequence[str], domain: Sequence[str]) -> bool:
    """Whether a label of an ordinal attribute shows the first and the last of neighbouring values."""
    if names[0] not in domain:
        return False
    first = domain.index(names[0])
    run = f"[{quoted(names[0])}, {quoted(names[-1])}]"
    return list(names) == list(domain[first : first + len(names)]) and label == (run if len(names) > 1 else names[0])


def _names_numbers(label: str, names: Sequence[str], domain: Sequence[Any]) -> bool:
    """Whether a label among intervals shows the numbers, the intervals or the missing value that it is said to mean."""
    shown = [_plain(label)] if len(names) == 1 else parts_of(_plain(label))
    return shown == list(names) and all(name == MISSING or _lies_in(name, domain) for name in names)


def _lies_in(name: str, domain: Sequence[Any]) -> bool:
    if ends := shown_ends(name):
        return _within(ends, domain)
    value, whole = number_of(name), as_interval(domain)
    return value is not None and whole is not None and whole[0] <= value < whole[1]


def _names_values(label: str, names: Sequence[str], domain: Sequence[Any], labels: Mapping[str, LabelMeaning]) -> bool:
    """Whether a label of a tree means values of the domain, and everything that its parts mean."""
    parts = parts_of(_plain(label)) if len(names) > 1 else None
    if label in domain or _plain(label) in domain:
        everything = _plain(label) == SUPPRESSED and set(names) == set(domain)  # a value may itself be written "*"
        return everything or list(names) in (parts or [_plain(label)], [label])
    if not set(names) <= set(domain):
        return False
    known = {part: labels[part].names for part in parts or () if part in labels and labels[part].listed}
    known |= {part: (part,) for part in parts or () if part in domain}
    return all(set(below) <= set(names) for below in known.values())


def parts_of(label: str) -> list[str] | None:
    """The parts of a label that is a set, or None.

    >>> parts_of('{Cook, "a, b"}'), parts_of("{[0, 10), [20, 30)}"), parts_of("Cook")
    (['Cook', 'a, b'], ['[0, 10)', '[20, 30)'], None)
    """
    if not (label.startswith("{") and label.endswith("}")):
        return None
    found = [part.strip() for part in _PART.findall(label[1:-1])]
    return [json.loads(part) if part.startswith('"') else part for part in found if part] or None


def loss_bounds(entry: LabelAttribute, rows: Mapping[str, int]) -> tuple[float, float]:
    """The least and the greatest loss that labels can have, given how many rows show each.

    They are the same if the public part determines it.
    """
    labels, domain = read(entry.nodes), entry.domain
    counts = isinstance(entry, BoxAttribute)  # a sample counts values, even of an ordinal attribute
    bounds = {label: _share(label, known, entry.kind, domain, counts) for label, known in labels.items()}
    least, most = np.average([bounds[label] for label in rows], axis=0, weights=list(rows.values()))
    return float(least), float(most)


def _share(label: str, known: LabelMeaning, kind: str, domain: Sequence[Any], counts: bool) -> tuple[float, float]:
    """The least and the greatest share of the domain that a label can hide."""
    if not known.listed:
        return 0.0, 1.0
    if known.interval is not None:
        single = (
            shown_ends(_plain(label)) is None and parts_of(_plain(label)) is None and label != open_label(None, None)
        )
        return 0.0, 0.0 if single else 1.0
    size, told = len(known.names), len(domain)
    if size == 1:
        return 0.0, 0.0 if known.names[0] == _plain(label) or not told else 1 / told
    if kind == Kind.ORDINAL and not counts:
        return (size - 1) / max(told - 1, 1), min((size - 1) / max(told - 1 - (domain[-1] == MISSING), 1), 1.0)
    if label in domain or not set(known.names) <= set(domain):
        return 0.0, 1.0
    return size / told, size / told
