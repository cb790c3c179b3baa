"""Codes with prefixes that are well-known groups: diagnoses, occupations, industries, postal codes.

Nothing is looked up: a classification is recognized by how its codes are written, and its levels are the lengths that
its publishers cut codes at.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

Levels = tuple[int | str, ...]
_MOST = 2_000
"""How many codes are examined."""


@dataclass(frozen=True)
class CodeStructure:
    """What codes seem to be, and what each level of their tree keeps, the finest first; () masks them one by one."""

    what: str
    levels: Levels


_POSTAL = (  # first what has its own form in one country
    (r"[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}", "British postcodes: district, area", (" ", 2, 1)),
    (r"[A-Z]\d[A-Z] ?\d[A-Z]\d", "Canadian postal codes: sortation area, district", (3, 1)),
    (r"\d{4} ?[A-Z]{2}", "Dutch postcodes: district, region", (4, 2, 1)),
    (r"\d{5}(?:-\d{4})?", "ZIP codes: five digits, sectional centre, group of states", (5, 3, 1)),
)
_CLASSIFIED = (
    (r"[A-TV-Z]\d[\dA-Z](?:\.[\dA-Z]{1,4})?[+!]?", "ICD-10 codes: category, chapter letter", (5, 3, 1)),
    (r"[A-TV-Z]\d[\dA-Z][\dA-Z]{1,4}", "ICD-10 codes without a point: category, chapter letter", (4, 3, 1)),
    (r"[A-U]\d{2}(?:\.\d{1,2})?", "NACE codes: class, group, division, section", (5, 3, 1)),
    (r"\d{2}(?:\.\d{1,2}(?:\.\d{1,2})?)?", "NACE codes: class, group, division", (5, 4, 2)),
)
_NAMED = {
    "occupation": ("isco isco08 isco88 kldb beruf occupation soc profession", "occupations: the digits are levels"),
    "industry": ("nace wz wz08 isic sic naics noga branche industry", "industries: the digits are levels"),
    "diagnosis": ("icd icd9 icd10 diagnosis diagnose hauptdiagnose", "diagnoses: the first characters are levels"),
}
"""Names of columns in which plain digits are treated as a classification."""


def postal_codes(values: Sequence[str]) -> CodeStructure | None:
    """The structure of postal codes; None if they can neither be masked nor cut.

    >>> postal_codes(["SW1A 1AA", "M1 1AE"]).levels, postal_codes(["01067", "99084"]).levels
    ((' ', 2, 1), ())
    """
    if len({len(v) for v in values}) == 1 and not re.search("[A-Z ]", values[0]):
        return CodeStructure("masked from the right, it covers larger and larger areas", ())
    return _matching(values, _POSTAL)


def classification(values: Sequence[str], words: Sequence[str] = ()) -> CodeStructure | None:
    """The structure of codes of a classification, by how they are written; ``words`` are those of the column's name.

    >>> classification(["I21.4", "E11.90", "I10"])
    CodeStructure(what='ICD-10 codes: category, chapter letter', levels=(5, 3, 1))
    >>> classification(["2211", "5120"], ["isco"]).levels, classification(["2211", "5120"])
    ((3, 2, 1), None)
    """
    about = next((told for known, told in _NAMED.values() if set(words) & set(known.split())), None)
    digits = {len(v) for v in values} if all(re.fullmatch(r"\d{2,8}", v) for v in values[:_MOST]) else set()
    if about and len(digits) == 1:
        return CodeStructure(about, _useful(values, tuple(range(max(digits) - 1, 0, -1))))
    return _matching(values, _CLASSIFIED)


def _matching(values: Sequence[str], forms: Sequence[tuple[str, str, Levels]]) -> CodeStructure | None:
    """The first form that all values have."""
    for pattern, what, levels in forms:
        if values and all(re.fullmatch(pattern, v) for v in values[:_MOST]):
            return CodeStructure(what, kept) if (kept := _useful(values, levels)) else None
    return None


def _useful(values: Sequence[str], levels: Levels) -> Levels:
    """The levels that shorten some value."""
    return tuple(n for n in levels if any(len(v) > n if isinstance(n, int) else n in v for v in values))


def same_form(values: Sequence[str]) -> CodeStructure | None:
    """The structure of codes that all have the same form of several parts, such as ``DE-BY-091``: the parts are levels.

    >>> same_form(["DE-BY-091", "DE-BE-100", "AT-09-012"])
    CodeStructure(what='codes of several parts', levels=(5, 2))
    >>> same_form(["1014.23", "2190.05"]) is None  # amounts
    True
    """
    if all(re.fullmatch(r"[-+]?\d+[.,]\d+", v) for v in values[:_MOST]):
        return None
    ends = {tuple(m.end() for m in re.finditer(r"[^\W_]+(?=[\W_])", v)) for v in values[:_MOST]}
    lengths = {len(v) for v in values[:_MOST]}
    if len(ends) != 1 or len(lengths) != 1 or not all(re.search(r"\d", v) for v in values[:_MOST]):
        return None
    levels = _useful(values, tuple(sorted(ends.pop(), reverse=True)))
    return CodeStructure("codes of several parts", levels) if levels else None
