"""Rows on a Spark cluster: executors read, count and stream; the driver codes, decides, draws and writes.

No task draws anything: all randomness is the driver's, from the operating system's entropy, so that a task which fails
and runs again gives the same rows, and no secret leaves the driver. What moves to the driver are distinct values, the
counted table and, if there are insensitive columns, these with the number of each row's vector.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, Self
from uuid import uuid4

import numpy as np
import polars as pl

from sfumato.engine import counted
from sfumato.engine.base import Attributes
from sfumato.engine.counted import CountedEngine, Limits, rowless
from sfumato.engine.counts import Counts
from sfumato.engine.output_column import plain_name
from sfumato.engine.packing import Packing
from sfumato.engine.pieces import PIECES, Pieces, TooManyVectors
from sfumato.engine.progress import Progress, silent, with_rows
from sfumato.engine.settings import EngineSettings
from sfumato.engine.shuffle import Spill
from sfumato.engine.spark_jobs import watch
from sfumato.engine.values import (
    MOST_VALUES,
    Declared,
    coded_by_values,
    most_vectors,
    readable,
    refuse_many_values,
    refuse_many_vectors,
    refuse_missing,
)
from sfumato.errors import DataError, PolicyError
from sfumato.table.encode import Attribute, Column, Role
from sfumato.table.file_set import FileSet, file_set
from sfumato.table.form import PLAIN, Form
from sfumato.table.microdata import CODED_ROLES, Missing, check_columns, typed
from sfumato.table.source import read_frame, simplified

SCHEME = "spark://"
"""A source that begins so is the result of a query on the tables that the cluster knows."""


class SparkEngine(CountedEngine):
    """A table that a Spark cluster reads and counts."""

    @classmethod
    def read(
        cls,
        source: object,
        attributes: Attributes,
        *,
        query: str | None = None,
        nulls: Sequence[str] = (),
        missing: Missing = "error",
        folder: Path | None = None,
        form: Form = PLAIN,
        settings: EngineSettings | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Find the distinct values of a source's columns, code them, and count the rows by their codes."""
        chosen = settings or EngineSettings(name="spark")
        spill = Spill(chosen.spill)
        with speaking():
            stored = _Stored.load(session(chosen), source, query, folder, form).with_nulls(nulls)
            stored = replace(stored, progress=progress or silent)
            wanted = readable(attributes(stored.names), form)
            total = stored.rows()
            stored = replace(stored, progress=with_rows(stored.progress, total))
            check_columns(stored.names, total, wanted)
            kept, dropped = stored.kept(wanted, missing, total)
            rows = SparkRows.coded(kept, wanted, Declared(missing == "category", folder, form), chosen, dropped)
            rows.source, rows.total = stored, total
            stored.progress("compress", 0.0)
            finest = rows.finest()
        plain, hidden = (rows.empty(wanted, role) for role in (Role.INSENSITIVE, Role.IDENTIFIER))
        table = rowless(dict(rows.columns), plain, hidden, total - dropped, dropped)
        return cls(table, rows, finest, spill, limits=limits, progress=progress)


def session(settings: EngineSettings) -> Any:
    """The Spark session of a job: one that runs already, a cluster by its address, or this machine."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise PolicyError(
            "the engine spark needs PySpark, which is not installed: pip install 'sfumato[spark]', "
            'or set name = "duckdb" under [engine]'
        ) from None
    running = SparkSession.getActiveSession()
    if running is not None and settings.master is None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = settings.master or "local[*]"
    builder: Any = SparkSession.builder
    if master.startswith("sc://"):
        return _connected(builder, master)
    logging.getLogger().addFilter(_is_no_interrupt)  # py4j reports Ctrl-C with a traceback, on the root logger
    handler = signal.getsignal(signal.SIGINT)
    quiet = {
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    try:
        return builder.master(master).appName("sfumato").config(map=quiet).getOrCreate()
    finally:
        if current_thread() is main_thread():  # Spark takes Ctrl-C for itself
            signal.signal(signal.SIGINT, handler)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Whether a record is about something else than Ctrl-C during a call of Spark."""
    return not (record.module == "java_gateway" and record.exc_info and record.exc_info[0] is KeyboardInterrupt)


def _connected(builder: Any, address: str) -> Any:
    """A session of Spark Connect."""
    from pyspark.errors import PySparkImportError

    try:
        return builder.remote(address).getOrCreate()
    except PySparkImportError as e:
        raise PolicyError(
            f"Spark Connect ({address}) needs packages that are not installed ({e.getCondition()}): "
            "pip install 'pyspark[connect]'"
        ) from None


@contextmanager
def speaking() -> Iterator[None]:
    """Turn an error of Spark into one of ours, without the values that its message may quote."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as e:
        name = e.getCondition() or type(e).__name__
        raise DataError(
            f"Spark cannot read or count the table ({name}); look into the logs of the driver and the executors"
        ) from None
    except Exception as e:
        if type(e).__module__.startswith("py4j"):
            raise DataError(f"Spark failed ({type(e).__name__}); look into the logs of the driver") from None
        raise


@dataclass(frozen=True)
class _Stored:
    """A table of the cluster with columns c0, c1, …, and what these are called."""

    spark: Any
    frame: Any
    names: tuple[str, ...]
    progress: Progress = silent

    @classmethod
    def load(cls, spark: Any, source: object, query: str | None, folder: Path | None, form: Form) -> "_Stored":
        """The table of a source."""
        if isinstance(source, str) and source.startswith(SCHEME):
            if query is None:
                raise PolicyError('a table of Spark needs a query: query = "select * from my_table" under [data]')
            found = spark.sql(query)
            return cls._named(spark, found, tuple(found.columns))
        files = None if query is not None else file_set(source, folder, form)
        if files is not None:
            return cls._named(spark, _read(spark, files), files.columns)
        held = read_frame(
            source, query=query, folder=folder, form=replace(form, dates=(), decimal=None, thousands=None)
        )
        names = tuple(held.columns)
        plain = held.rename({n: f"c{i}" for i, n in enumerate(names)})
        return cls(spark, spark.createDataFrame(plain.to_arrow(compat_level=pl.CompatLevel.oldest())), names)

    @classmethod
    def _named(cls, spark: Any, frame: Any, names: tuple[str, ...]) -> "_Stored":
        return cls(spark, frame.toDF(*(f"c{i}" for i in range(len(names)))), names)

    def at(self, name: str) -> str:
        """What a column is called here."""
        return f"c{self.names.index(name)}"

    def rows(self) -> int:
        """How many rows there are."""
        return int(self.watched("read", self.frame.count))

    def watched(self, stage: str, work: Callable[[], Any]) -> Any:
        """The result of a call of Spark that takes long; the listener is told how much of it is done."""
        return watch(self.spark, work, lambda share: self.progress(stage, share))

    def with_nulls(self, nulls: Sequence[str]) -> "_Stored":
        """The table with some strings of text columns as missing values."""
        from pyspark.sql import functions as f

        text = [n for n, kind in self.frame.dtypes if kind == "string"]
        frame = self.frame
        for name in text if nulls else ():
            frame = frame.withColumn(name, f.when(~f.col(name).isin(list(nulls)), f.col(name)))
        return replace(self, frame=frame)

    def kept(self, wanted: Sequence[Attribute], missing: Missing, total: int) -> "tuple[_Stored, int]":
        """The rows that the rule for missing values keeps, and how many it drops."""
        from pyspark.sql import functions as f

        coded = [a.name for a in wanted if a.role in CODED_ROLES]
        filled = self.frame.agg(*(f.count(self.at(name)) for name in coded)).first() if coded else ()
        lacking = {n: total - int(here) for n, here in zip(coded, filled, strict=True) if here < total}
        refuse_missing(lacking, missing)
        if missing != "drop" or not lacking:
            return self, 0
        left = self.frame.dropna(subset=[self.at(name) for name in lacking])
        number = int(left.count())
        refuse_missing(lacking, missing, left=number)
        return replace(self, frame=left), total - number


def _read(spark: Any, files: FileSet) -> Any:
    paths = [str(file) for file in files.files]
    if files.kind == "parquet":
        return spark.read.parquet(*paths)
    from pyspark.sql.types import StringType, StructField, StructType

    schema = StructType([StructField(f"c{i}", StringType()) for i in range(len(files.columns))])
    options = {"header": True, "sep": files.separator, "quote": '"', "escape": '"', "mode": "FAILFAST"}
    return spark.read.csv(paths, schema=schema, multiLine=True, enforceSchema=True, **options)


def _arrow(frame: Any) -> Any:
    """The rows of a small result as an Arrow table."""
    return frame.toArrow()


def _polars(frame: Any) -> pl.DataFrame:
    found = pl.from_arrow(_arrow(frame))
    assert isinstance(found, pl.DataFrame)
    return found


@dataclass
class SparkRows:
    """The rows of a table and a dictionary for each of its coded columns."""

    stored: _Stored
    columns: dict[str, Column]
    dictionaries: list[Any]
    plain: dict[str, pl.DataType]
    settings: EngineSettings
    dropped: int
    total: int = 0
    source: _Stored | None = None
    _vectors: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @classmethod
    def coded(
        cls,
        stored: _Stored,
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
                return _polars(self.stored.spark.sql(question))

        most = most_vectors(len(self.columns), self.settings.memory_bytes) // PIECES
        return Pieces(ask, name, dict(self.columns), self.total - self.dropped, self.dropped, most, refusal)

    def counted(self, others: tuple[str, ...]) -> Counts:
        """The distinct vectors of all coded columns and some uncoded ones, in the order of their codes."""
        with speaking():
            keyed = self._keyed(others)
            number = len(self.columns) + len(others)
            most = most_vectors(number, self.settings.memory_bytes)
            vectors = keyed.groupBy(*keyed.columns).count().limit(most + 1)
            found = self.stored.watched("compress", lambda: _polars(vectors))
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
                yield self._shown(pl.read_ipc_stream(bytes(row[0])), plain)

    def _with_vectors(self, others: tuple[str, ...], plain: Sequence[str]) -> Any:
        """The rows with the number of their vector and some insensitive columns."""
        vectors = self._vectors[others].with_columns(vector=pl.int_range(pl.len(), dtype=pl.Int64))
        table = self.stored.spark.createDataFrame(vectors.to_arrow(compat_level=pl.CompatLevel.oldest()))
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
            found = _polars(self.stored.frame.groupBy(self.stored.at(name)).count().limit(counted.MOST_TALLIED + 1))
        if found.height > counted.MOST_TALLIED:
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
            cells = [f.col(self.source.at(name)).cast("string") for name in sorted(self.source.names)]
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


def _dictionary(stored: _Stored, attribute: Attribute, declared: Declared, place: int) -> tuple[Column, Any]:
    """The coded distinct values of a column, and value and code as a table of the cluster."""
    import pyarrow as pa

    grouped = stored.frame.groupBy(stored.at(attribute.name)).count().limit(MOST_VALUES + 1)
    found = _arrow(grouped)
    refuse_many_values(found.num_rows, attribute.name)
    frame = pl.from_arrow(found)
    assert isinstance(frame, pl.DataFrame)
    values = simplified(frame.to_series(0).alias(attribute.name))
    column = coded_by_values(values, frame["count"].to_numpy(), attribute, declared)
    codes = pa.array(np.asarray(column.codes, np.int64))
    back = pa.table({f"value_{place}": found.column(0), f"code_{place}": codes})
    return column, stored.spark.createDataFrame(back)


def _plain_type(stored: _Stored, name: str) -> pl.DataType:
    """The type by which an insensitive column is published: numbers if its text is the same again, as in memory."""
    values = _polars(stored.frame.select(stored.at(name)).distinct().limit(_MOST_TYPED + 1)).to_series(0)
    values = simplified(values.alias(name))
    return values.dtype if len(values) > _MOST_TYPED else typed(values).dtype


_MOST_TYPED = 1_000_000
