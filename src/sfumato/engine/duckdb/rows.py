"""The rows of a table in DuckDB: coded by dictionaries, counted by packed keys, streamed with their vectors."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.engine import stored_rows
from sfumato.engine.counts import Counts, Integers
from sfumato.engine.duckdb.connection import Connection, quoted, speaking
from sfumato.engine.output_column import plain_name
from sfumato.engine.packing import Packing
from sfumato.engine.pieces import PIECES, Pieces, TooManyVectors
from sfumato.engine.values import (
    Declared,
    coded_by_values,
    in_utc,
    most_vectors,
    refuse_many_values,
    refuse_many_vectors,
)
from sfumato.table.encode import Attribute, Column, Role
from sfumato.table.microdata import CODED_ROLES, typed
from sfumato.table.source import simplified

_BATCH = 1 << 19

MOST_TYPED = 1_000_000
"""A text column with more distinct values stays text."""


class DuckDBRows:
    """The rows of a table and a dictionary for each of its coded columns."""

    def __init__(self, stored: Connection, columns: dict[str, Column], plain: dict[str, pl.DataType], dropped: int):
        self._stored, self.columns, self._plain, self._dropped = stored, columns, plain, dropped
        self._packing = Packing([column.size for column in columns.values()])
        self._vectors: dict[tuple[str, ...], pl.DataFrame] = {}

    @classmethod
    def coded(cls, stored: Connection, wanted: Sequence[Attribute], declared: Declared, dropped: int) -> "DuckDBRows":
        """Code the distinct values of each column; each dictionary becomes a table."""
        columns: dict[str, Column] = {}
        coded = [a for a in wanted if a.role in CODED_ROLES]
        for place, attribute in enumerate(coded):
            stored.progress("code", place / len(coded))
            columns[attribute.name] = _dictionary(stored, attribute, declared, place)
        plain = {a.name: _plain_type(stored, a.name) for a in wanted if a.role is Role.INSENSITIVE}
        return cls(stored, columns, plain, dropped)

    def empty(self, wanted: Sequence[Attribute], role: Role) -> pl.DataFrame:
        """The uncoded columns of a role, without rows."""
        names = [a.name for a in wanted if a.role is role]
        return pl.DataFrame(schema={n: self._plain.get(n, pl.String()) for n in names})

    def _joined(self) -> str:
        """The rows, each with its dictionary entries."""
        joins = [
            f"JOIN code_{place} ON {self._same(f'kept.{self._stored.at(name)}', f'code_{place}.value', name)}"
            for place, name in enumerate(self.columns)
        ]
        return " ".join(["kept", *joins])

    def _same(self, one: str, other: str, name: str) -> str:
        missing = self._stored.nulls.get(name, 1)
        return f"{one} IS NOT DISTINCT FROM {other}" if missing else f"{one} = {other}"

    def _keys(self) -> list[str]:
        return self._packing.expressions([f"code_{place}.code" for place in range(len(self.columns))])

    def finest(self) -> Counts | Pieces:
        """The distinct vectors of all coded columns; where they are, if they are too many for this process."""
        try:
            return self.counted(())
        except TooManyVectors as e:
            return self._pieces(str(e))

    def _pieces(self, refusal: str) -> Pieces:
        """The vectors, which are counted already, with a column per code."""
        codes = zip(self._packing.codes("//"), self.columns.values(), strict=True)
        small = [f"CAST({code} AS {_sql_type(column.size)}) AS q{j}" for j, (code, column) in enumerate(codes)]
        self._stored.sql(f"CREATE TEMP TABLE pieces AS SELECT {', '.join(small)}, n FROM counted")
        self._stored.sql("DROP TABLE counted")

        def ask(question: str) -> pl.DataFrame:
            with speaking():
                self._stored.allow(self._stored.memory // 2)
                return self._stored.frame(question)

        def rest() -> None:
            with speaking():
                self._stored.rest()

        rows = self._stored.rows - self._dropped
        most = most_vectors(len(self.columns), self._stored.memory) // PIECES
        return Pieces(ask, "pieces", dict(self.columns), rows, self._dropped, most, refusal, rest=rest)

    def counted(self, others: tuple[str, ...]) -> Counts:
        """The distinct vectors of all coded columns and some uncoded ones, in the order of their codes."""
        with speaking():
            keys = [f"{key} AS k{j}" for j, key in enumerate(self._keys())]
            beside = [f"kept.{self._stored.at(name)} AS o{j}" for j, name in enumerate(others)]
            self._stored.sql("DROP TABLE IF EXISTS counted")
            self._stored.long(
                f"CREATE TEMP TABLE counted AS SELECT {', '.join([*keys, *beside])}, count(*) AS n "
                f"FROM {self._joined()} GROUP BY ALL",
                "compress",
            )
            number = int(self._stored.con.sql("SELECT count(*) FROM counted").fetchall()[0][0])
            refuse_many_vectors(number, len(self.columns) + len(others), self._stored.memory)
            found = self._stored.frame("SELECT * FROM counted")
            self._stored.sql("DROP TABLE counted")
        return self._vectors_of(found, others)

    def _vectors_of(self, found: pl.DataFrame, others: tuple[str, ...]) -> Counts:
        names = [*(f"k{j}" for j in range(self._packing.words)), *(f"o{j}" for j in range(len(others)))]
        found = found.sort(names) if not any(found[n].dtype.is_nested() for n in names) else found
        self._vectors[others] = found.select(names) if self._plain else found.head(0)
        codes = self._packing.unpacked([found[f"k{j}"].to_numpy() for j in range(self._packing.words)])
        columns = {n: replace(c, codes=codes[j].astype(c.codes.dtype)) for j, (n, c) in enumerate(self.columns.items())}
        beside = pl.DataFrame([simplified(found[f"o{j}"].alias(name)) for j, name in enumerate(others)])
        return Counts(columns, beside, found["n"].to_numpy().astype(np.int64), self._dropped)

    def batches(self, others: tuple[str, ...], plain: Sequence[str], *, ordered: bool) -> Iterator[pl.DataFrame]:
        """All rows: the vector of each and its insensitive values."""
        stored, vectors = self._stored, self._vectors[others]
        with speaking():
            stored.sql("DROP TABLE IF EXISTS vectors")
            stored.table_from("vectors", vectors.with_columns(vector=pl.int_range(pl.len(), dtype=pl.UInt32)))
            same = [f"{key} = vectors.k{j}" for j, key in enumerate(self._keys())]
            same += [f"kept.{stored.at(name)} IS NOT DISTINCT FROM vectors.o{j}" for j, name in enumerate(others)]
            shown = [f"kept.{stored.at(name)} AS {quoted(plain_name(name))}" for name in plain]
            order = " ORDER BY ALL" if ordered else ""
            question = (
                f"SELECT vectors.vector AS vector, {', '.join(shown)} FROM {self._joined()} "
                f"JOIN vectors ON {' AND '.join(same) or 'true'}{order}"
            )
            for batch in stored.con.sql(question).to_arrow_reader(_BATCH):
                yield self._shown(in_utc(pl.DataFrame(pl.from_arrow(batch))), plain)

    def _shown(self, batch: pl.DataFrame, plain: Sequence[str]) -> pl.DataFrame:
        """A batch with the types that insensitive columns are published by."""
        cells = [simplified(batch[plain_name(name)]).cast(self._plain[name]) for name in plain]
        return batch.with_columns(cells)

    def tally(self, name: str) -> pl.DataFrame | None:
        """How many rows have each value of an uncoded column; None if it has too many."""
        with speaking():
            here = self._stored.at(name)
            some = f"SELECT DISTINCT {here} FROM kept LIMIT {stored_rows.MOST_TALLIED + 1}"
            if self._stored.con.sql(f"SELECT count(*) FROM ({some})").fetchall()[0][0] > stored_rows.MOST_TALLIED:
                return None
            found = self._stored.frame(f"SELECT {here} AS value, count(*) AS rows FROM kept GROUP BY {here}")
        value = simplified(found["value"])
        return pl.DataFrame([value.cast(self._plain.get(name, value.dtype)), found["rows"].cast(pl.Int64)])

    def people(self, entity: Sequence[str]) -> tuple[int, int]:
        """How many people some uncoded columns tell apart, and how many of them have several rows."""
        with speaking():
            by = ", ".join(self._stored.at(name) for name in entity)
            rows = f"SELECT count(*) AS n FROM kept GROUP BY {by}"
            found = self._stored.con.sql(f"SELECT count(*), count(*) FILTER (n > 1) FROM ({rows})").fetchall()
        return int(found[0][0]), int(found[0][1])

    def digest(self) -> str:
        """A digest of all cells, whatever the order of rows: sums of hashes, good against accidents only."""
        import duckdb

        with speaking():
            cells = ", ".join(f"CAST({self._stored.at(name)} AS VARCHAR)" for name in sorted(self._stored.names))
            sums = ", ".join(f"sum(hash('{salt}', {cells})::HUGEINT)" for salt in "ab")
            found = self._stored.con.sql(f"SELECT {sums} FROM source").fetchall()[0]
        return f"duckdb {duckdb.__version__}: {self._stored.rows} {found[0]:x} {found[1]:x}"


def _dictionary(stored: Connection, attribute: Attribute, declared: Declared, place: int) -> Column:
    """Find the distinct values of a column, code them, and keep value and code as a table."""
    here = stored.at(attribute.name)
    stored.sql(f"CREATE TEMP TABLE value_{place} AS SELECT {here} AS value, count(*) AS n FROM kept GROUP BY {here}")
    number = int(stored.con.sql(f"SELECT count(*) FROM value_{place}").fetchall()[0][0])
    refuse_many_values(number, attribute.name)
    found = stored.frame(f"SELECT rowid AS place, value, n FROM value_{place}")
    values = simplified(found["value"].alias(attribute.name))
    column = coded_by_values(values, found["n"].to_numpy(), attribute, declared)
    stored.table_from(f"coded_{place}", pl.DataFrame({"place": found["place"], "code": _as_integers(column.codes)}))
    stored.sql(
        f"CREATE TEMP TABLE code_{place} AS SELECT v.value AS value, c.code::UBIGINT AS code "
        f"FROM value_{place} v JOIN coded_{place} c ON v.rowid = c.place"
    )
    stored.sql(f"DROP TABLE value_{place}")
    stored.sql(f"DROP TABLE coded_{place}")
    return column


def _sql_type(size: int) -> str:
    """The smallest type that holds so many codes."""
    return "UTINYINT" if size <= 1 << 8 else "USMALLINT" if size <= 1 << 16 else "UINTEGER"


def _as_integers(codes: Any) -> Integers:
    return np.asarray(codes, np.int64)


def _plain_type(stored: Connection, name: str) -> pl.DataType:
    """The type by which an insensitive column is published: numbers if its text is the same again, as in memory."""
    here = stored.at(name)
    values = stored.frame(f"SELECT DISTINCT {here} AS value FROM kept LIMIT {MOST_TYPED + 1}")["value"]
    if len(values) > MOST_TYPED:
        return simplified(values).dtype
    return typed(simplified(values.alias(name))).dtype
