"""Texts of untrusted length for a page."""

import itertools
import unicodedata

_LONGEST = 21


def shortened(text: str, longest: int = _LONGEST) -> str:
    """A text truncated to the width of about so many letters; capitals and wide scripts take more room.

    >>> shortened("cardiomyopathy", 8), shortened("cardiac", 8)
    ('cardiom…', 'cardiac')
    """
    if width_of(text[: longest + 1]) <= longest:
        return text
    widths = itertools.accumulate(width_of(letter) for letter in text[:longest])
    return text[: sum(1 for width in widths if width <= longest - 1)].rstrip() + "…"


def width_of(text: str) -> float:
    """About how many small letters a text is wide."""
    return sum(1.9 if unicodedata.east_asian_width(c) in "WF" else 1.3 if c.isupper() else 1.0 for c in text)


def several(number: int, one: str, more: str | None = None) -> str:
    """A number with its noun.

    >>> several(1, "row"), several(4000, "row")
    ('1 row', '4,000 rows')
    """
    return f"{number:,} {one if number == 1 else more or one + 's'}"
