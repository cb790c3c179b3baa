"""Special words in labels, and how messages list values."""

import json
from collections.abc import Iterable

SUPPRESSED = "*"
"""The label of a fully suppressed value."""

REST = "…"
"""The end of a label for all codes with the same beginning: the rest, of any length, is hidden."""

MISSING = "(missing)"
"""The label of a missing value if missing values are a category of their own."""

_SHOWN = 5


def named(values: Iterable[object]) -> str:
    """The first few values, for a message.

    >>> named(["a", "b"])
    "'a', 'b'"
    """
    values = list(values)
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return ", ".join(repr(str(v)) for v in values[:_SHOWN]) + more


def all_named(values: Iterable[object]) -> str:
    """All values, for a claim or a warning that must be complete.

    >>> all_named("abcdefgh")
    "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'"
    """
    return ", ".join(repr(str(v)) for v in values)


def quoted(name: str) -> str:
    """A name as part of a label of several; quoted if it could be read as more than one.

    >>> quoted("Sales"), quoted("a, b")
    ('Sales', '"a, b"')
    """
    return json.dumps(name, ensure_ascii=False) if set(name) & set(',{}[]"') else name
