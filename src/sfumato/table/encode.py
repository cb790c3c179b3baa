"""Encode a column once: distinct values in domain order, and one code per row in the smallest unsigned integers."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError, PolicyError, nearest
from sfumato.table.checks import is_opaque
from sfumato.table.domain import Domain as Domain
from sfumato.table.hierarchy import TaxonomySpec, read_taxonomy
from sfumato.table.ordered_domain import MISSING, OrderedDomain, number_text
from sfumato.table.ranked import Ranked, is_ranked, places, ranked, ranked_among
from sfumato.table.taxonomy import Taxonomy, named

Codes = NDArray[Any]

_MOST_EXACT = float(2**53)
_LONGEST_CODE = 20
DATE = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?"
    r"(?: ?(?:Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?))?)?$"
)
"""A date as ISO 8601 writes it, in a group, with or without a time of day."""


class Role(StrEnum):
    """The role of an attribute for an adversary and for an analyst."""

    IDENTIFIER = "identifier"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    CLASS = "class"
    INSENSITIVE = "insensitive"


class Kind(StrEnum):
    """How the values of an attribute relate to each other."""

    CATEGORICAL = "categorical"
    ORDINAL = "ordinal"
    CONTINUOUS = "continuous"
    DATE = "date"


def kind_of(name: str, word: object) -> Kind:
    """The kind that a word means."""
    if word not in list(Kind):
        raise PolicyError(f"{name!r} has the unknown kind {word!r}{nearest(str(word), [kind.value for kind in Kind])}")
    return Kind(str(word))


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """What is declared about a column before its data are seen; ``kind=None``: inferred from the data."""

    name: str
    role: Role
    kind: Kind | None = None
    taxonomy: TaxonomySpec | None = None
    domain: tuple[str, ...] | None = None
    pad: int | None = None
    """How many digits codes have; shorter ones have lost their leading zeros and get them back."""

    def __post_init__(self) -> None:
        _check_pad(self)
        if self.kind is not None:
            object.__setattr__(self, "kind", kind_of(self.name, self.kind))
        if self.domain is not None and self.taxonomy is not None:
            raise PolicyError(f"{self.name!r} has both a domain and a taxonomy; give the taxonomy alone")
        if self.domain is not None and len(set(self.domain)) < len(self.domain):
            raise PolicyError(f"the domain of {self.name!r} lists a value twice; remove one of them")
        if self.domain is not None and not self.domain:
            raise PolicyError(f"the domain of {self.name!r} is empty; list its values")


@dataclass(frozen=True, eq=False)
class Column:
    """A coded column: ``codes[i]`` is the rank of row ``i``'s value in ``domain``.

    ``declared``: all values of the domain were listed, in a domain or a tree, before the data were seen;
    ``foresees_missing``: it was also declared that values may be missing.
    """

    name: str
    role: Role
    kind: Kind
    domain: Domain
    codes: Codes
    declared: bool = False
    foresees_missing: bool = False

    @property
    def size(self) -> int:
        """How many codes the domain has."""
        return self.domain.size

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {self.role}, {self.kind}, {self.size:,} values)"


class _Distinct(NamedTuple):
    """The distinct values of a column as text, each row's place among them, and their numbers.

    A missing value has the place after the last one.
    """

    texts: list[str]
    place: NDArray[Any]
    numbers: NDArray[np.float64] | None
    missing: bool


def smallest(codes: NDArray[Any], size: int) -> Codes:
    """The codes in the smallest unsigned integers that hold ``size`` of them."""
    return codes.astype(np.min_scalar_type(max(size - 1, 0)), copy=False)


def encode(
    series: pl.Series,
    attribute: Attribute,
    *,
    folder: Path | None = None,
    missing_category: bool = False,
    known: Ranked | None = None,
) -> Column:
    """Code a column by its declared or inferred kind; nulls, if any, become the category ``(missing)``.

    ``missing_category`` says that this category was foreseen before the data were seen; see `drawn_from`. ``known`` are
    the ranks of the series, if they were found before.

    >>> c = encode(pl.Series(["b", "a", "b"]), Attribute(name="x", role=Role.QUASI))
    >>> c.codes.tolist(), c.domain.leaves
    ([1, 0, 1], ('a', 'b'))
    """
    distinct = _distinct(padded(series, attribute), attribute, known if attribute.pad is None else None)
    kind = attribute.kind or _kind(series, distinct, attribute)
    missing = distinct.missing
    if kind in (Kind.CONTINUOUS, Kind.DATE):
        numbers = _numbers(series, distinct, kind, attribute.name)
        texts = [number_text(v) for v in numbers] if kind is Kind.CONTINUOUS else distinct.texts
        if attribute.taxonomy is None and attribute.domain is None:
            return _on_line(attribute, kind, distinct, numbers, missing)
    else:
        texts = distinct.texts
    domain = _domain(attribute, kind, texts, folder)
    if missing or (missing_category and MISSING in (attribute.domain or ())):
        domain = domain.with_missing()
    column = _in_domain(
        attribute, kind, distinct._replace(texts=texts), domain, foreseen=missing_category or not missing
    )
    return replace(column, foresees_missing=missing_category and column.declared)


def _check_pad(attribute: Attribute) -> None:
    pad = attribute.pad
    if pad is None:
        return
    if isinstance(pad, bool) or not isinstance(pad, int) or not 1 <= pad <= _LONGEST_CODE:
        raise PolicyError(f"{attribute.name!r}: pad is {pad!r}; it must be a number of digits, 1 to {_LONGEST_CODE}")
    if attribute.kind in (Kind.CONTINUOUS, Kind.DATE):
        raise PolicyError(f"{attribute.name!r} is {attribute.kind}, but pad is only for codes; remove one of the two")


def padded(series: pl.Series, attribute: Attribute) -> pl.Series:
    """Codes with the leading zeros that a spreadsheet dropped: 1067 is 01067 again.

    >>> padded(pl.Series([1067, 99084]), Attribute(name="zip", role=Role.QUASI, pad=5)).to_list()
    ['01067', '99084']
    """
    if attribute.pad is None:
        return series
    if series.dtype.is_float() and (series == series.round(0)).all():
        series = series.cast(pl.Int64)
    texts = series.cast(pl.String)
    return pl.select(
        pl.when(texts.str.contains(r"^[0-9]+$")).then(texts.str.zfill(attribute.pad)).otherwise(texts)
    ).to_series()


def _distinct(series: pl.Series, attribute: Attribute, known: Ranked | None) -> _Distinct:
    """Find the distinct values without a Python loop over rows."""
    if is_opaque(series.dtype):
        raise DataError(
            f"column {attribute.name!r} holds {series.dtype}; a coded column must hold text, numbers or dates: "
            "flatten it first"
        )
    series = _plain(series)
    missing = series.null_count() > 0
    if known is not None or is_ranked(series.dtype):
        values, place = known or ranked(series)
        numbers = values.cast(pl.Float64).to_numpy() if values.dtype.is_integer() else None
        return _Distinct(values.cast(pl.String).to_list(), place, numbers, missing)
    values = series.drop_nulls().unique().sort()
    if series.dtype.is_float():
        _refuse_non_finite(values.to_numpy(), attribute.name)
        texts = [number_text(v) for v in values]
        return _Distinct(texts, places(series, values), values.to_numpy(), missing)
    found = ranked_among(series.cast(pl.String), values.cast(pl.String))
    return _Distinct(found.values.to_list(), found.place, None, missing)


def _plain(series: pl.Series) -> pl.Series:
    """A column in the type that shows what it holds: days, numbers of 64 bits, or text."""
    if series.dtype == pl.Datetime:
        return series.dt.date()
    if series.dtype.is_float() and series.dtype != pl.Float64:
        return series.cast(pl.String).cast(pl.Float64)  # so that 0.1 in single precision stays 0.1
    if series.dtype in (pl.Int128, pl.UInt128):
        return series.cast(pl.String)
    return series


def _kind(series: pl.Series, distinct: _Distinct, attribute: Attribute) -> Kind:
    """Unless declared otherwise, a numeric QI is continuous; a tree or a list of values makes a category."""
    if attribute.taxonomy is not None or attribute.domain is not None:
        rule = isinstance(attribute.taxonomy, dict) and {"intervals", "width"} & attribute.taxonomy.keys()
        return Kind.CONTINUOUS if rule else Kind.CATEGORICAL
    if attribute.role is not Role.QUASI:
        return Kind.CATEGORICAL
    if series.dtype in (pl.Date, pl.Datetime):
        return Kind.DATE
    if distinct.numbers is not None or looks_numeric(distinct.texts):
        return Kind.CONTINUOUS
    if looks_dated(distinct.texts):
        return Kind.DATE
    return Kind.CATEGORICAL


def looks_numeric(texts: list[str]) -> bool:
    """Whether all texts are plain numbers; codes such as 02138 and 1E5 are not.

    >>> looks_numeric(["1.5", "2e7"]), looks_numeric(["02138"]), looks_numeric(["1E5"])
    (True, False, False)
    """
    found = pl.Series(texts, dtype=pl.String)
    numbers = found.cast(pl.Float64, strict=False)
    return bool(texts) and numbers.null_count() == 0 and bool(numbers.is_finite().all()) and not has_codes(found)


def looks_dated(texts: list[str]) -> bool:
    """Whether all texts are dates in ISO 8601."""
    return bool(texts) and bool(re.match(DATE, texts[0])) and _parsed_days(texts).null_count() == 0


def has_codes(texts: pl.Series) -> bool:
    """Whether some texts look like numbers but are codes: 02138, and 1E5 in a column without fractions or signs."""
    leading_zero = texts.str.contains(r"^\s*[+-]?0[0-9]").any()
    exponent = texts.str.contains(r"^\s*[0-9]+[eE][0-9]").any()
    return bool(leading_zero or (exponent and not texts.str.contains(r"[.+-]").any()))


def _numbers(series: pl.Series, distinct: _Distinct, kind: Kind, name: str) -> NDArray[np.float64]:
    """The number or day of each distinct value."""
    if kind is Kind.DATE:
        return _days(series, distinct.texts, name)
    if distinct.numbers is None:
        texts = pl.Series(distinct.texts, dtype=pl.String)
        parsed = texts.str.strip_chars().cast(pl.Float64, strict=False)
        if parsed.null_count():
            raise DataError(
                f"column {name!r} is continuous but {parsed.null_count()} of its {len(texts)} distinct values are not "
                f"numbers: {named(texts.filter(parsed.is_null()))}; clean them, list them in `nulls`, or make the "
                "column categorical"
            )
        numbers = parsed.to_numpy()
        _refuse_non_finite(numbers, name)
    else:
        numbers = distinct.numbers
    if len(numbers) and np.abs(numbers).max() > _MOST_EXACT:
        raise DataError(
            f"column {name!r} has numbers beyond 2^53, more than 15 digits; such a column is an identifier or "
            "a code: give it the role identifier, or make it categorical"
        )
    return numbers


def _refuse_non_finite(numbers: NDArray[np.float64], name: str) -> None:
    bad = numbers[~np.isfinite(numbers)]
    if len(bad):
        raise DataError(
            f"column {name!r} contains {named(bad)}; only finite numbers can be published: replace them, or make them "
            "missing values"
        )


def _days(series: pl.Series, texts: list[str], name: str) -> NDArray[np.float64]:
    dates, parsed = pl.Series(texts, dtype=pl.String), _parsed_days(texts)
    if parsed.null_count():
        raise DataError(
            f"column {name!r} is a date but holds {named(dates.filter(parsed.is_null()))}; write dates as YYYY-MM-DD, "
            "optionally with a time from 00:00 to 23:59:59, say how they are written "
            '(dates = "%d.%m.%Y" under [data]), or make the column categorical'
        )
    return parsed.to_physical().cast(pl.Float64).to_numpy()


def _parsed_days(texts: list[str]) -> pl.Series:
    """The day of each text; null for what is not a date in ISO 8601."""
    parsed = pl.Series(texts, dtype=pl.String).str.extract(DATE).str.to_date("%Y-%m-%d", strict=False)
    return parsed.set(parsed.dt.year() < 1, None)


def _on_line(
    attribute: Attribute, kind: Kind, distinct: _Distinct, numbers: NDArray[np.float64], missing: bool
) -> Column:
    values, rank = np.unique(numbers, return_inverse=True)
    make = OrderedDomain.of_days if kind is Kind.DATE else OrderedDomain.of_numbers
    line = make(values, missing=missing)
    rank = smallest(np.append(rank, len(values)), len(values) + 1)  # a missing value has this last place
    codes = smallest(rank[distinct.place], line.size)
    return Column(attribute.name, attribute.role, kind, line.sparing(np.bincount(codes, minlength=line.size)), codes)


def _domain(attribute: Attribute, kind: Kind, texts: list[str], folder: Path | None) -> Domain:
    if attribute.taxonomy is not None:
        return read_taxonomy(attribute.taxonomy, texts, name=attribute.name, folder=folder)
    values = list(attribute.domain) if attribute.domain is not None else in_order(texts)
    if kind is Kind.ORDINAL:
        if attribute.domain is None:
            raise PolicyError(
                f"{attribute.name!r} is ordinal, but has no declared order; list its values in order: "
                'domain = ["low", "medium", "high"], or make numbers continuous'
            )
        return OrderedDomain.of_words(values)
    flat = Taxonomy.flat(values)
    return flat if attribute.domain is None else replace(flat, derived=False)


def drawn_from(column: Column) -> Column:
    """The column with the domain that values may be drawn from, which must not depend on the data.

    If missing values were declared possible, ``(missing)`` is in it whether or not one occurs.
    """
    if not column.foresees_missing or MISSING in column.domain.leaves:
        return column
    domain = column.domain.with_missing()
    return replace(column, domain=domain, codes=smallest(column.codes, domain.size))


def in_order(texts: list[str]) -> list[str]:
    """The values in the order of an undeclared domain: numbers by size, otherwise by text."""
    return sorted(texts, key=float) if looks_numeric(texts) else sorted(texts)


def _in_domain(attribute: Attribute, kind: Kind, distinct: _Distinct, domain: Domain, *, foreseen: bool) -> Column:
    codes = np.array(domain.codes_of_values([*distinct.texts, MISSING]), np.int64)
    outside = [t for t, code in zip(distinct.texts, codes, strict=False) if code < 0]
    if outside:
        where = "taxonomy" if attribute.taxonomy is not None else "declared domain"
        raise DataError(
            f"column {attribute.name!r} has {len(outside)} values that are not in its {where}: {named(outside)}; "
            f"add them to the {where} or clean the data"
        )
    of_row = smallest(np.maximum(codes, 0), domain.size)[distinct.place]
    declared = _is_listed(attribute, domain) and (foreseen or MISSING in (attribute.domain or ()))
    return Column(attribute.name, attribute.role, kind, domain, of_row, declared)


def _is_listed(attribute: Attribute, domain: Domain) -> bool:
    """Whether all values of the domain were listed, in a domain or a tree, before the data were seen."""
    if attribute.domain is not None:
        return True
    return attribute.taxonomy is not None and not domain.derived
