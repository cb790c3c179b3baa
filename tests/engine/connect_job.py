"""Publishes a table over Spark Connect, whole and in pieces, and compares with memory; run by `test_spark` by itself.

A process has either a session of Spark or one of Spark Connect, so this one is not that of the tests.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

import sfumato as sf
from sfumato.engine import values
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.engine.settings import EngineSettings
from sfumato.engine.spark.engine import SparkEngine
from sfumato.engine.spark.jobs import is_connected
from sfumato.table.encode import Attribute, Role

ROLES = {"age": Role.QUASI, "job": Role.QUASI, "ill": Role.SENSITIVE, "note": Role.INSENSITIVE}


def attributes(columns: Sequence[str]) -> list[Attribute]:
    return [Attribute(name=n, role=ROLES[n]) for n in columns]


def rows_of(release: sf.Release) -> Counter[Any]:
    return Counter(map(str, release.tables["data"].rows()))


def compared(frame: pl.DataFrame, *, pieces: bool) -> None:
    """The release of Spark Connect is that of memory; its listener hears shares."""
    heard: list[tuple[str, float]] = []
    settings = EngineSettings(name="spark")
    there = SparkEngine.read(frame, attributes, settings=settings, progress=lambda *told: heard.append(told))
    assert (there.pieces is not None) == pieces
    require = [sf.KAnonymity(k=3), sf.LDiversity(l=2)]
    releases = [
        sf.Mondrian().release(engine, require, draws=Draws()) for engine in (LocalEngine.read(frame, attributes), there)
    ]
    assert releases[0].manifest == releases[1].manifest
    assert rows_of(releases[0]) == rows_of(releases[1])
    assert {"code", "compress"} <= {stage for stage, _ in heard}
    assert all(0 <= share <= 1 for _, share in heard)
    assert there.digest() == SparkEngine.read(frame.reverse(), attributes, settings=settings).digest()


def main() -> None:
    """Start a server of Spark Connect on this machine and try it."""
    from pyspark.sql import SparkSession

    spark: Any = SparkSession.builder.remote("local[2]").getOrCreate()
    try:
        assert is_connected(spark)
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        frame = pl.DataFrame(
            {
                "age": [20 + (7 * i) % 30 for i in range(200)],
                "job": [("clerk", "boss", "guard")[i % 3] for i in range(200)],
                "ill": ["abcd"[(i // 3) % 4] for i in range(200)],
                "note": [f"n{i % 9}" for i in range(200)],
            }
        )
        compared(frame, pieces=False)
        values.BYTES_PER_VECTOR, values.BYTES_PER_CODE = EngineSettings().memory_bytes // 2 // 24, 0
        compared(frame.drop("note"), pieces=True)
    finally:
        spark.stop()
    sys.stdout.write("equal\n")


if __name__ == "__main__":
    main()
