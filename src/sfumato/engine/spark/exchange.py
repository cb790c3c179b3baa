"""Tables between Spark and this process, in Arrow, whatever the time zone of the session.

A day or a time without zone stays as it is written. A point in time is shown in UTC, as in memory.
"""

from typing import Any

import polars as pl

from sfumato.engine.values import in_utc


def as_arrow(frame: Any) -> Any:
    """The rows of a small result as an Arrow table."""
    return frame.toArrow()


def as_polars(frame: Any) -> pl.DataFrame:
    """The rows of a small result."""
    found = pl.from_arrow(as_arrow(frame))
    assert isinstance(found, pl.DataFrame)
    return in_utc(found)


def to_spark(spark: Any, table: Any) -> Any:
    """An Arrow table, or a frame, as a table of Spark; times without zone are not taken for those of the session's."""
    from pyspark.sql.pandas.types import from_arrow_schema

    if isinstance(table, pl.DataFrame):
        table = table.to_arrow(compat_level=pl.CompatLevel.oldest())
    return spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))
