"""The table of a job as Spark reads it: files, tables that the cluster knows, or rows from here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.engine.progress import Progress, silent
from sfumato.engine.spark.exchange import to_spark
from sfumato.engine.spark.jobs import watch
from sfumato.engine.values import (
    refuse_missing,
)
from sfumato.errors import PolicyError
from sfumato.table.encode import Attribute
from sfumato.table.file_set import FileSet, file_set
from sfumato.table.form import Form
from sfumato.table.microdata import CODED_ROLES, Missing
from sfumato.table.source import read_frame

SCHEME = "spark://"
"""A source with this prefix is the result of a query on the tables that the cluster knows."""


@dataclass(frozen=True)
class Stored:
    """A table of the cluster with columns c0, c1, …, and what these are called."""

    spark: Any
    frame: Any
    names: tuple[str, ...]
    progress: Progress = silent

    @classmethod
    def load(cls, spark: Any, source: object, query: str | None, folder: Path | None, form: Form) -> "Stored":
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
        return cls(spark, to_spark(spark, plain), names)

    @classmethod
    def _named(cls, spark: Any, frame: Any, names: tuple[str, ...]) -> "Stored":
        return cls(spark, frame.toDF(*(f"c{i}" for i in range(len(names)))), names)

    def at(self, name: str) -> str:
        """What a column is called here."""
        return f"c{self.names.index(name)}"

    def rows(self) -> int:
        """How many rows there are."""
        return int(self.watched("read", self.frame.count))

    def watched(self, stage: str, work: Callable[[], Any]) -> Any:
        """The result of a long Spark call; reports to the listener how much of it is done."""
        return watch(self.spark, work, lambda share: self.progress(stage, share))

    def with_nulls(self, nulls: Sequence[str]) -> "Stored":
        """The table with some strings of text columns as missing values."""
        from pyspark.sql import functions as f

        text = [n for n, kind in self.frame.dtypes if kind == "string"]
        frame = self.frame
        for name in text if nulls else ():
            frame = frame.withColumn(name, f.when(~f.col(name).isin(list(nulls)), f.col(name)))
        return replace(self, frame=frame)

    def kept(self, wanted: Sequence[Attribute], missing: Missing, total: int) -> "tuple[Stored, int]":
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
