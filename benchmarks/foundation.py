"""Speed and memory of the main job on a million rows, against a Polars floor and Python peers."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from benchmarks import peers, quality, tables
from benchmarks.measure import Line, median_time
from sfumato.engine.draws import Draws
from sfumato.method.base import silent
from sfumato.method.mondrian import Mondrian
from sfumato.release.judgement import bind
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity

ROWS = 1_000_000
_ALONE = """
import atexit, pathlib
from sfumato.cli import main
atexit.register(lambda: print(pathlib.Path("/proc/self/status").read_text()))
main()
"""
_COPY = "Polars read_csv + write_csv + write_parquet"


def lines(*, with_peers: bool) -> list[Line]:
    """All rows of the table."""
    return [*_mondrian(with_peers), *_publish()]


def _mondrian(with_peers: bool) -> Iterator[Line]:
    """From coded columns to groups."""
    table = tables.coded(tables.million())
    codes = pl.DataFrame({c.name: c.codes for c in table.quasi})
    sort = median_time(lambda: codes.sort(codes.columns))
    peer = peers.tell("anonypy", "anjana", rows=ROWS) if with_peers else ""
    for words, method, wanted, target in (
        ("mondrian, strict, k = 5", Mondrian(), [KAnonymity(k=5)], 3.0),
        ("mondrian, relaxed, k = 5", Mondrian(strict=False), [KAnonymity(k=5)], None),
        ("mondrian, strict, k = 5 and frequency 3-diversity", Mondrian(), [KAnonymity(k=5), LDiversity(l=3)], None),
    ):
        bound = bind(list(wanted), table)
        ours = median_time(lambda m=method, b=bound: m.groups(table, b, draws=Draws(), progress=silent))
        yield Line(words, ROWS, ours, "Polars sort of the seven QIs", sort, target, peer)
        peer = ""


def _publish() -> Iterator[Line]:
    """The whole command against reading and writing the table, and its peak memory against the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        policy = tables.write_job(folder)
        floor = median_time(lambda: _copy(folder))
        ours = median_time(lambda: _publish_here(policy, folder / "here"))
        yield Line("publish, whole job in process", ROWS, ours, _COPY, floor, 5.0)
        begin = time.perf_counter()
        told = subprocess.run(
            [sys.executable, "-c", _ALONE, "publish", policy, "-o", folder / "out"],
            check=True, timeout=600, capture_output=True, text=True,
        )  # fmt: skip
        yield Line("publish, as a new process", ROWS, time.perf_counter() - begin, _COPY, floor)
        peak = int(told.stdout.split("VmHWM:")[1].split()[0]) / 1024
        arrow = pl.read_csv(folder / "million.csv").to_arrow().nbytes / 1024**2
        yield Line("peak memory of that process", ROWS, peak, "the table in Arrow", arrow, 6.0, unit="MB")


def _publish_here(policy: Path, out: Path) -> None:
    from sfumato.publisher.publish import publish_policy

    publish_policy(policy, out, force=True)


def _copy(folder: Path) -> None:
    frame = pl.read_csv(folder / "million.csv")
    frame.write_csv(folder / "copy.csv")
    frame.write_parquet(folder / "copy.parquet")


def more(*, with_peers: bool) -> str:
    """Information loss next to that of other tools: speed must not be bought with loss."""
    return quality.table(with_peers=with_peers)
