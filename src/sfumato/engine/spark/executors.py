"""Pieces of a counted table, cut where they are: an executor is given the vectors of a region and returns its groups.

Executors draw nothing and know no value of the table, only codes; a task that fails and runs again returns the same.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sfumato.engine.pieces import CodeArrays, PieceWork, Tell, packed, typed_codes, unpacked
from sfumato.engine.spark.jobs import watch
from sfumato.engine.spark.session import speaking
from sfumato.errors import SfumatoError


def on_executors(
    spark: Any, question: str, regions: int, sizes: Sequence[int], work: PieceWork, tell: Tell
) -> list[CodeArrays]:
    """What some work makes of the vectors of each region, given the question for them."""
    from sfumato import __version__

    with speaking():
        pieces = spark.sql(question).groupBy("region")
        made = pieces.applyInArrow(_task(tuple(sizes), work, __version__), "region int, made binary")
        rows = watch(spark, made.collect, tell)
    found = {int(row["region"]): unpacked(bytes(row["made"])) for row in rows}
    if sorted(found) != list(range(regions)):
        raise SfumatoError(f"{regions} pieces were cut by executors, but {len(found)} came back; please report this")
    return [found[region] for region in range(regions)]


def _task(sizes: tuple[int, ...], work: PieceWork, version: str) -> Callable[[Any], Any]:
    """What an executor does with the vectors of one region, in the order of their codes."""

    def cut(table: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        from sfumato import __version__

        if __version__ != version:
            raise ImportError(f"No module named 'sfumato' of version {version}, but {__version__}")
        codes = [table.column(f"q{j}").to_numpy() for j in range(len(sizes))]
        order = np.lexsort(codes[::-1])
        weights = table.column("n").to_numpy()[order].astype(np.int64)
        made = packed(work(typed_codes([code[order] for code in codes], sizes), weights))
        region = table.column("region").slice(0, 1).combine_chunks().cast(pa.int32())
        return pa.table({"region": region, "made": pa.array([made], pa.binary())})

    return cut
