"""The rows of a table on a cluster: coded by dictionaries, counted by packed keys, streamed with their vectors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
import polars as pl

from sfumato.engine import stored_rows
from sfumato.engine.counts import Counts
from sfumato.engine.output_column import plain_name
from sfumato.engine.packing import Packing
from sfumato.engine.pieces import PIECES, Pieces, TooManyVectors
from sfumato.engine.settings import EngineSettings
from sfumato.engine.spark.exchange import as_arrow, as_polars, to_spark
from sfumato.engine.spark.executors import on_executors
from sfumato.engine.spark.session import speaking
from sfumato.engine.spark.stored import Stored
from sfumato.engine.values import (
    MOST_VALUES,
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

_MOST_TYPED = 1_000_000


@dataclass
class SparkRows:
    """The rows of a table and a dictionary for each of its coded columns."""

    stored: Stored
    columns: dict[str, Column]
    dictionaries: list[Any]
    plain: dict[str, pl.DataType]
    settings: EngineSettings
    dropped: int
    total: int = 0
    source: Stored | None = None
    _vectors: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @classmethod
    def coded(
        cls,
        stored: Stored,
        wanted: Sequence[Attribute],
        declared: Declared,
        settings: EngineSettings,
        dropped: int,
    ) -> "SparkRows":
        """Code the distinct values of each column on the driver; each dictionary goes back to the cluster."""
        columns: dict[str, Column] = {}
        dictionaries = []
        coded = [a for a in wanted if a.role in CODED_ROLES]
        for place, attribute in enumerate(coded):
            stored.progress("code", place / len(coded))
            columns[attribute.name], dictionary = _dictionary(stored, attribute, declared, place)
            dictionaries.append(dictionary)
        plain = {a.name: _plain_type(stored, a.name) for a in wanted if a.role is Role.INSENSITIVE}
        return cls(stored, columns, dictionaries, plain, settings, dropped)

    def empty(self, wanted: Sequence[Attribute], role: Role) -> pl.DataFrame:
        """The uncoded columns of a role, without rows."""
        names = [a.name for a in wanted if a.role is role]
        return pl.DataFrame(schema={n: self.plain.get(n, pl.String()) for n in names})

    @property
    def _packing(self) -> Packing:
        return Packing([column.size for column in self.columns.values()])

    def _keyed(self, others: Sequence[str], plain: Sequence[str] = ()) -> Any:
        """The rows with their keys k0, …, some uncoded columns o0, … and insensitive ones p0, …"""
        from pyspark.sql import functions as f

        frame = self.stored.frame
        for place, (name, dictionary) in enumerate(zip(self.columns, self.dictionaries, strict=True)):
            same = frame[self.stored.at(name)].eqNullSafe(dictionary[f"value_{place}"])
            frame = frame.join(f.broadcast(dictionary), same)
        keys = self._packing.expressions([f"code_{place}" for place in range(len(self.columns))])
        shown = [f.expr(key).alias(f"k{j}") for j, key in enumerate(keys)]
        shown += [f.col(self.stored.at(name)).alias(f"o{j}") for j, name in enumerate(others)]
        shown += [f.col(self.stored.at(name)).alias(f"p{j}") for j, name in enumerate(plain)]
        return frame.select(*shown)

    def finest(self) -> Counts | Pieces:
        """The distinct vectors of all coded columns; where they are, if they are too many for this process."""
        try:
            return self.counted(())
        except TooManyVectors as e:
            return self._pieces(str(e))

    def _pieces(self, refusal: str) -> Pieces:
        """The vectors with a column per code; executors keep them, in memory or on their disks."""
        with speaking():
            keyed = self._keyed(())
            counted = keyed.groupBy(*keyed.columns).count()
            codes = [f"CAST({code} AS INT) AS q{j}" for j, code in enumerate(self._packing.codes("div"))]
            name = f"sfumato_pieces_{uuid4().hex}"
            counted.selectExpr(*codes, "count AS n").persist().createOrReplaceTempView(name)

        def ask(question: str) -> pl.DataFrame:
            with speaking():
                return as_polars(self.stored.spark.sql(question))

        most = most_vectors(len(self.columns), self.settings.memory_bytes) // PIECES
        apart = partial(on_executors, self.stored.spark)
        rows = self.total - self.dropped
        return Pieces(ask, name, dict(self.columns), rows, self.dropped, most, refusal, apart)

    def counted(self, others: tuple[str, ...]) -> Counts:
        """The distinct vectors of all coded columns and some uncoded ones, in the order of their codes."""
        with speaking():
            keyed = self._keyed(others)
            number = len(self.columns) + len(others)
            most = most_vectors(number, self.settings.memory_bytes)
            vectors = keyed.groupBy(*keyed.columns).count().limit(most + 1)
            found = self.stored.watched("compress", lambda: as_polars(vectors))
        refuse_many_vectors(found.height, number, self.settings.memory_bytes, more="at least ")
        names = [name for name in found.columns if name != "count"]
        found = found.sort(names)
        self._vectors[others] = found.select(names) if self.plain else None
        codes = self._packing.unpacked([found[f"k{j}"].to_numpy() for j in range(self._packing.words)])
        columns = {n: replace(c, codes=codes[j].astype(c.codes.dtype)) for j, (n, c) in enumerate(self.columns.items())}
        beside = pl.DataFrame([simplified(found[f"o{j}"].alias(name)) for j, name in enumerate(others)])
        return Counts(columns, beside, found["count"].to_numpy().astype(np.int64), self.dropped)

    def batches(self, others: tuple[str, ...], plain: Sequence[str], *, ordered: bool) -> Iterator[pl.DataFrame]:
        """All rows: the vector of each and its insensitive values, one partition after the other."""
        with speaking():
            joined = self._with_vectors(others, plain)
            joined = joined.sort(*joined.columns) if ordered else joined
            for row in joined.mapInArrow(_in_pieces, "piece binary").toLocalIterator(prefetchPartitions=True):
                yield self._shown(in_utc(pl.read_ipc_stream(bytes(row[0]))), plain)

    def _with_vectors(self, others: tuple[str, ...], plain: Sequence[str]) -> Any:
        """The rows with the number of their vector and some insensitive columns."""
        vectors = self._vectors[others].with_columns(vector=pl.int_range(pl.len(), dtype=pl.Int64))
        table = to_spark(self.stored.spark, vectors)
        table = table.toDF(*(f"v_{name}" for name in table.columns))
        rows = self._keyed(others, plain)
        same = [rows[name].eqNullSafe(table[f"v_{name}"]) for name in rows.columns if not name.startswith("p")]
        return rows.join(table, same).select("v_vector", *(f"p{j}" for j in range(len(plain))))

    def _shown(self, batch: pl.DataFrame, plain: Sequence[str]) -> pl.DataFrame:
        """A batch with the names and types of insensitive columns."""
        cells = [
            simplified(batch[f"p{j}"]).cast(self.plain[name]).alias(plain_name(name)) for j, name in enumerate(plain)
        ]
        return pl.DataFrame([batch["v_vector"].cast(pl.UInt32).alias("vector"), *cells])

    def tally(self, name: str) -> pl.DataFrame | None:
        """How many rows have each value of an uncoded column; None if it has too many."""
        with speaking():
            found = as_polars(
                self.stored.frame.groupBy(self.stored.at(name)).count().limit(stored_rows.MOST_TALLIED + 1)
            )
        if found.height > stored_rows.MOST_TALLIED:
            return None
        value = simplified(found.to_series(0).alias("value"))
        return pl.DataFrame([value.cast(self.plain.get(name, value.dtype)), found["count"].alias("rows")])

    def people(self, entity: Sequence[str]) -> tuple[int, int]:
        """How many people some uncoded columns tell apart, and how many of them have several rows."""
        from pyspark.sql import functions as f

        with speaking():
            rows = self.stored.frame.groupBy(*(self.stored.at(name) for name in entity)).count()
            found = rows.agg(f.count("*"), f.count(f.when(f.col("count") > 1, 1))).first()
        return int(found[0]), int(found[1])

    def digest(self) -> str:
        """A digest of all cells, whatever the order of rows: sums of hashes, good against accidents only."""
        from pyspark.sql import functions as f

        assert self.source is not None
        with speaking():
            kinds = dict(self.source.frame.dtypes)
            here = [(f.col(at), kinds[at]) for at in map(self.source.at, sorted(self.source.names))]
            instants = [f.unix_micros(cell) if kind == "timestamp" else cell for cell, kind in here]
            cells = [cell.cast("string") for cell in instants]
            sums = [f.sum(f.xxhash64(f.lit(salt), *cells).cast("decimal(38,0)")) for salt in "ab"]
            found = self.source.frame.agg(*sums).first()
        return f"spark: {self.total} {int(found[0]):x} {int(found[1]):x}"


def _in_pieces(batches: Iterator[Any]) -> Iterator[Any]:
    """Each batch as one cell, so that the driver receives it whole rather than row by row; runs on executors."""
    import pyarrow as pa

    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["piece"])


def _dictionary(stored: Stored, attribute: Attribute, declared: Declared, place: int) -> tuple[Column, Any]:
    """The coded distinct values of a column, and value and code as a table of the cluster."""
    import pyarrow as pa

    grouped = stored.frame.groupBy(stored.at(attribute.name)).count().limit(MOST_VALUES + 1)
    found = as_arrow(grouped)
    refuse_many_values(found.num_rows, attribute.name)
    frame = in_utc(pl.DataFrame(pl.from_arrow(found)))
    values = simplified(frame.to_series(0).alias(attribute.name))
    column = coded_by_values(values, frame["count"].to_numpy(), attribute, declared)
    codes = pa.array(np.asarray(column.codes, np.int64))
    back = pa.table({f"value_{place}": found.column(0), f"code_{place}": codes})
    return column, to_spark(stored.spark, back)


def _plain_type(stored: Stored, name: str) -> pl.DataType:
    """The type by which an insensitive column is published: numbers if its text is the same again, as in memory."""
    values = as_polars(stored.frame.select(stored.at(name)).distinct().limit(_MOST_TYPED + 1)).to_series(0)
    values = simplified(values.alias(name))
    return values.dtype if len(values) > _MOST_TYPED else typed(values).dtype
