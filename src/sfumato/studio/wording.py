"""Messages of the library as sentences of a page."""

import re

from sfumato.errors import SfumatoError


def sentence(words: str) -> str:
    """The words with a capital at the beginning, unless they begin with a name, and a point at the end.

    >>> sentence("the table has no rows"), sentence("ward.csv is empty."), sentence("k-anonymity needs k")
    ('The table has no rows.', 'ward.csv is empty.', 'k-anonymity needs k.')
    """
    first = words.partition(" ")[0]
    begun = words[:1].upper() + words[1:] if re.fullmatch(r"[a-z]+,?", first) else words
    return begun if begun.endswith((".", "!", "?")) else f"{begun}."


def percent(share: float) -> str:
    """A share that is never rounded to none or all.

    >>> [percent(x) for x in (0, 0.0001, 0.123, 0.9999, 1)]
    ['0%', '<0.1%', '12.3%', '>99.9%', '100%']
    """
    if share in (0, 1):
        return f"{share:.0%}"
    return "<0.1%" if share < 0.001 else ">99.9%" if share > 0.999 else f"{share:.1%}"


def explained(error: BaseException) -> str:
    """An error for people: its own words if it is ours, otherwise only its kind, since it may hold private data."""
    return sentence(str(error)) if isinstance(error, SfumatoError) else unexpected(type(error).__name__)


def unexpected(kind: str) -> str:
    """An error that is not ours."""
    return f"Something went wrong ({kind}). If it happens again, please report it."
