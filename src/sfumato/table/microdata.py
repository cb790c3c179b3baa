"""The private table: coded columns with roles. Immutable."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato import notebook
from sfumato.errors import DataError, PolicyError
from sfumato.kernel.arrange import shuffle
from sfumato.kernel.group import group_rows
from sfumato.table.checks import is_opaque
from sfumato.table.coded_columns import CodedColumns
from sfumato.table.encode import Attribute, Column, Role, encode, kind_of
from sfumato.table.form import Form, FormKeys
from sfumato.table.hierarchy import TaxonomySpec
from sfumato.table.occurring import occurring
from sfumato.table.ranked import Ranks
from sfumato.table.source import read_frame
from sfumato.table.taxonomy import named

Missing = Literal["error", "category", "drop"]

CODED_ROLES = (Role.QUASI, Role.SENSITIVE, Role.CLASS)


@dataclass(frozen=True, eq=False)
class Microdata(CodedColumns):
    """One row per person (or several, with an entity column); each column is coded once.

    ``columns`` are the quasi, sensitive and class columns; ``plain`` are the insensitive ones,
    unchanged; ``hidden`` are the identifiers, kept only to count people, never published.

    ``rows`` is how many there are, ``dropped`` how many were left out for missing values.
    """

    columns: Mapping[str, Column]
    plain: pl.DataFrame
    hidden: pl.DataFrame = field(repr=False)
    rows: int
    dropped: int = 0

    @property
    def weights(self) -> None:
        """Every row counts once; compare `sfumato.engine.counts.Counts`, which has the same interface."""
        return

    @property
    def entries(self) -> int:
        """How many entries there are to count: the rows."""
        return self.rows

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that can be counted."""
        return (*self.columns, *self.hidden.columns, *self.plain.columns)

    def __repr__(self) -> str:
        roles = dict.fromkeys(role for _, role, *_ in self._declared())
        told = [f"{r}: {', '.join(name for name, role, *_ in self._declared() if role == r)}" for r in roles]
        return f"Microdata({'; '.join([f'{self.rows:,} rows', *told])})"

    def _repr_html_(self) -> str:
        dropped = f", {self.dropped:,} dropped for missing values" if self.dropped else ""
        title = f"Microdata: {self.rows:,} rows{dropped}"
        return notebook.panel(title, notebook.table(["column", "role", "kind", "values", "domain"], self._declared()))

    def _declared(self) -> list[tuple[str, str, str, str, str]]:
        """Name, role, kind, number of values and origin of the domain of each column; never a value."""
        coded = [
            (c.name, str(c.role), str(c.kind), f"{c.size:,}", "declared" if c.declared else "from the data")
            for c in self.columns.values()
        ]
        plain = [(name, str(Role.INSENSITIVE), "", "", "") for name in self.plain.columns]
        return [*coded, *plain, *((name, str(Role.IDENTIFIER), "", "", "") for name in self.hidden.columns)]

    def uncoded(self, name: str) -> pl.Series | None:
        """The values of a column that is not coded; None if there is no such column."""
        return next((frame[name] for frame in (self.hidden, self.plain) if name in frame.columns), None)

    @classmethod
    def from_frame(
        cls,
        frame: pl.DataFrame,
        attributes: Iterable[Attribute],
        *,
        missing: Missing = "error",
        folder: Path | None = None,
        ranks: Ranks | None = None,
        progress: Callable[[float], None] = lambda done: None,
    ) -> "Microdata":
        """Code the named columns of a frame; columns not named are left out.

        ``ranks`` are those of its columns, where known; ``progress`` is called with the share done.
        """
        attributes = list(attributes)
        check_columns(frame.columns, frame.height, attributes)
        frame, dropped = _without_nulls(_columns(frame, attributes), attributes, missing)
        known = {} if ranks is None or dropped else ranks
        category = missing == "category"
        coded, wanted = {}, [a for a in attributes if a.role in CODED_ROLES]
        for place, a in enumerate(wanted):
            progress(place / len(wanted))
            ranked = known.get(a.name)
            coded[a.name] = encode(frame[a.name], a, folder=folder, missing_category=category, known=ranked)
        plain = pl.DataFrame([typed(frame[a.name]) for a in attributes if a.role is Role.INSENSITIVE])
        hidden = pl.DataFrame([_without_categories(frame[a.name]) for a in attributes if a.role is Role.IDENTIFIER])
        return cls(coded, plain, hidden, frame.height, dropped)

    def sample(self, n: int, rng: np.random.Generator | None = None) -> "Microdata":
        """At most ``n`` rows drawn at random, in their original order, with no trace of the others.

        A domain found in the data is that of the drawn rows. ``rng`` is for experiments only.

        >>> table = read(pl.DataFrame({"age": range(100)}), quasi=["age"])
        >>> table.sample(10).rows, table.sample(1000) is table
        (10, True)
        """
        if isinstance(n, bool) or n < 1:
            raise PolicyError(f"a sample of {n!r} rows was asked for; it must have at least one")
        if n >= self.rows:
            return self
        if rng is None:
            order = shuffle(self.rows, lambda words: np.frombuffer(os.urandom(4 * words), dtype=np.uint32))
        else:
            order = rng.permutation(self.rows)
        return self.at(np.sort(order[:n]))

    def at(self, rows: NDArray[np.int64]) -> "Microdata":
        """These rows, with no trace of the others: a domain found in the data is that of these rows."""
        columns = {name: occurring(replace(column, codes=column.codes[rows])) for name, column in self.columns.items()}
        plain, hidden = (frame[rows] if frame.width else frame for frame in (self.plain, self.hidden))
        return replace(self, columns=columns, plain=plain, hidden=hidden, rows=len(rows))

    def people(self, entity: Sequence[str]) -> tuple[int, int]:
        """How many people there are, by the columns that distinguish them, and how many of them have several rows."""
        columns = [self.counted(name) for name in entity]
        rows = group_rows([codes for codes, _ in columns], [size for _, size in columns]).size
        return len(rows), int((rows > 1).sum())


def _columns(frame: pl.DataFrame, attributes: list[Attribute]) -> pl.DataFrame:
    """The columns of these attributes, by their literal names; Polars would read ``*`` as a pattern."""
    return pl.DataFrame([frame[a.name] for a in attributes])


def check_columns(columns: Sequence[str], rows: int, attributes: Sequence[Attribute]) -> None:
    """Refuse attributes that the data do not have or that have several roles, and a table without rows."""
    absent = [a.name for a in attributes if a.name not in columns]
    if absent:
        raise DataError(f"the data have no column {named(absent)}, only {named(columns)}; correct the name or the data")
    names = [a.name for a in attributes]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise PolicyError(f"{named(sorted(twice))} has more than one role; give each column exactly one")
    if rows == 0:
        raise DataError("the table has no rows; there is nothing to publish")


def _without_nulls(frame: pl.DataFrame, attributes: list[Attribute], missing: Missing) -> tuple[pl.DataFrame, int]:
    """Apply the rule for missing values to the coded columns; `encode` turns them into a category."""
    coded = [a.name for a in attributes if a.role in CODED_ROLES]
    nulls = {n: c for n in coded if (c := frame[n].null_count())}
    if not nulls or missing == "category":
        return frame, 0
    if missing == "error":
        raise missing_values(nulls)
    lacking = pl.DataFrame([frame[n].is_null() for n in coded]).sum_horizontal()
    kept = frame.filter(lacking == 0)
    if kept.height == 0:
        raise all_missing()
    return kept, frame.height - kept.height


def missing_values(nulls: Mapping[str, int]) -> DataError:
    """The error for columns with missing values, given how many each has."""
    found = ", ".join(f"{n!r} ({c})" for n, c in list(nulls.items())[:5])
    columns = "1 column has" if len(nulls) == 1 else f"{len(nulls)} columns have"
    return DataError(
        f'{columns} missing values: {found}; set missing = "category" to publish them as a '
        'value of their own, missing = "drop" to leave those rows out, or fill them'
    )


def all_missing() -> DataError:
    """The error for a table in which every row has a missing value."""
    return DataError('every row has a missing value, so missing = "drop" leaves none; set missing = "category"')


def typed(series: pl.Series) -> pl.Series:
    """A column to be published unchanged; text as numbers if writing these gives the same text again."""
    if is_opaque(series.dtype):
        raise DataError(
            f"the insensitive column {series.name!r} holds {series.dtype}; only text, numbers, dates and booleans "
            "can be published: flatten it, or make it an identifier to leave it out"
        )
    series = _without_categories(series)
    if series.dtype != pl.String:
        return series
    for dtype in (pl.Int64, pl.Float64):
        numbers = series.cast(dtype, strict=False)
        if numbers.cast(pl.String).equals(series):
            return numbers
    return series


def _without_categories(series: pl.Series) -> pl.Series:
    """Text instead of categories: their type lists all of them, even those that no row has."""
    return series.cast(pl.String) if series.dtype in (pl.Categorical, pl.Enum) else series


def read(
    source: object,
    *,
    quasi: Sequence[str] = (),
    sensitive: str | Sequence[str] | None = None,
    class_: str | None = None,
    identifiers: Sequence[str] = (),
    insensitive: Sequence[str] = (),
    taxonomies: Mapping[str, TaxonomySpec] | None = None,
    domains: Mapping[str, Sequence[str]] | None = None,
    kinds: Mapping[str, str] | None = None,
    missing: Missing = "error",
    nulls: Sequence[str] = (),
    query: str | None = None,
    **form: Unpack[FormKeys],
) -> Microdata:
    """Read microdata from a file, a database or a data frame; columns not named are left out.

    Without a taxonomy a numeric QI is continuous, a text QI is shown or suppressed. ``form`` says how a file is
    written, with the keys of [data] in a policy: encoding, separator, decimal, thousands, dates, sheet, header,
    user_missing.

    Args:
        source: a file, a database URL, or a Polars, pandas or Arrow table.
        quasi: what outsiders know.
        sensitive: what must not be learned.
        class_: what analysts want to predict.
        identifiers: never published; kept to count people.
        insensitive: published unchanged.
        taxonomies: name of a column → its tree, or a file with one.
        domains: name of a column → all values it can have.
        kinds: name of a column → ``categorical``, ``ordinal``, ``continuous`` or ``date``.
        missing: what to do with missing values: ``error``, ``category`` or ``drop``.
        nulls: texts that mean a missing value.
        query: a SELECT, if the source is a database.

    >>> table = read(pl.DataFrame({"age": [30, 41], "ill": ["flu", "HIV"]}), quasi=["age"], sensitive="ill")
    >>> table.rows, table["age"].kind.value, table["ill"].domain.leaves
    (2, 'continuous', ('HIV', 'flu'))
    """
    if missing not in ("error", "category", "drop"):
        raise PolicyError(f"missing is {missing!r}; it must be 'error', 'category' or 'drop'")
    named_roles = {
        Role.IDENTIFIER: identifiers,
        Role.QUASI: quasi,
        Role.SENSITIVE: sensitive or (),
        Role.CLASS: class_ or (),
        Role.INSENSITIVE: insensitive,
    }
    roles = {role: [names] if isinstance(names, str) else list(names) for role, names in named_roles.items()}
    everyone = {n for names in roles.values() for n in names}
    for extra in (taxonomies, domains, kinds):
        if stray := [n for n in extra or () if n not in everyone]:
            raise PolicyError(f"{named(stray)} has a taxonomy, domain or kind but no role; give it one")
    attributes = [
        Attribute(
            name=name,
            role=role,
            kind=kind_of(name, kinds[name]) if kinds and name in kinds else None,
            taxonomy=taxonomies.get(name) if taxonomies else None,
            domain=tuple(str(v) for v in domains[name]) if domains and name in domains else None,
        )
        for role, names in roles.items()
        for name in names
    ]
    frame = read_frame(source, query=query, nulls=nulls, form=Form.of(form))
    order = {name: i for i, name in enumerate(frame.columns)}
    attributes.sort(key=lambda a: order.get(a.name, len(order)))
    return Microdata.from_frame(frame, attributes, missing=missing)


def refuse_raw(table: object) -> None:
    """Refuse what has no roles yet, such as a file or a data frame."""
    if not isinstance(table, Microdata):
        raise PolicyError(
            f"a {type(table).__name__} has no roles yet; read it first: sf.read(table, quasi=[...], sensitive=...)"
        )
