"""The taxonomies that `sfumato init` proposes and `sfumato taxonomy` writes: the same code for both."""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from sfumato.errors import DataError
from sfumato.publisher.column_roles import Profile, Sign, profile, recognize, texts, tokens
from sfumato.table.encode import Attribute, Role, padded
from sfumato.table.written_tree import Distinct

AGE, POSTAL = "an age", "a postal code"
_SHORTEST, _LONGEST = 4, 6
"""How many digits a postal code has if a spreadsheet reads it as a number."""


def distinct_of(seen: Profile, sign: Sign, pad: int | None = None) -> Distinct:
    """The values of a column with what its name says about them; ``pad`` gives codes their lost zeros back."""
    ordered = pl.DataFrame({"value": seen.values, "rows": seen.counts}).sort("value")
    values = ordered["value"]
    if pad is not None:
        values = padded(values, Attribute(name=seen.name, role=Role.QUASI, pad=pad))
    return Distinct(
        name=seen.name,
        values=values.cast(pl.String).to_list(),
        rows=ordered["rows"].to_list(),
        words=words_of(seen.name),
        is_age=sign.why.startswith(AGE),
        is_postal=sign.hint == "mask",
        pad=pad,
    )


def column_of(column: pl.Series) -> Distinct:
    """The values of a column, with what its name and its values say about them; lost zeros are given back."""
    seen = profile(column)
    if seen.opaque:
        raise DataError(f"{column.name!r} holds nested or binary values, which have no taxonomy; choose another column")
    sign = recognize(seen)
    return distinct_of(seen, sign, lost_zeros(seen, sign))


def words_of(name: str) -> Sequence[str]:
    """The words of a column's name, and what they make together: ``ICD-10`` is icd, 10 and icd10."""
    words = tokens(name)
    return [*words, *(a + b for a, b in pairwise(words)), "".join(words)]


def lost_zeros(seen: Profile, sign: Sign) -> int | None:
    """How many digits postal codes had before a spreadsheet dropped their leading zeros; None if they seem complete.

    >>> lost_zeros(profile(pl.Series("plz", [1067, 99084])), Sign("quasi", "a postal code", hint="mask"))
    5
    """
    if sign.hint != "mask" or not seen.looks(r"\d+", 1):
        return None
    lengths = {len(value) for value in texts(seen.values)}
    longest = max(lengths)
    return longest if _SHORTEST <= longest <= _LONGEST and lengths == {longest - 1, longest} else None
