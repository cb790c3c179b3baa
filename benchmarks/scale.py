"""Tables beyond memory: Adult blown up in pieces, published by DuckDB and Spark, against these engines' own work.

``python -m benchmarks scale`` runs 1M, 5M and 20M rows; SFUMATO_SCALE names others ("1,5,20,100", in millions of rows).
Each job runs alone in a process of its own, so that CPU seconds and peak memory are its own.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.measure import Line

_PIECE = 1_000_000
_QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
_POLICY = """
title = "Adult, blown up"
[data]
source = "{source}"
others = "drop"
[attributes]
{quasi}
occupation = "sensitive"
[[require]]
model = "k-anonymity"
k = 10
[[require]]
model = "l-diversity"
l = 3
[method]
name = "mondrian"
[engine]
name = "{engine}"
memory = "{memory}"
"""
_PUBLISH = "import sys; from sfumato.cli import main; main(['publish', sys.argv[1], '-o', sys.argv[2], '--force'])"
_DUCKDB = """
import sys, duckdb
con = duckdb.connect(sys.argv[2] + ".duckdb", config={"memory_limit": "2GB", "temp_directory": sys.argv[2] + ".spill"})
columns = ", ".join('"' + c + '"' for c in sys.argv[3].split(","))
files = f"read_parquet('{sys.argv[1]}/*.parquet')"
con.execute(f"create temp table g as select {columns}, count(*) n from {files} group by all").fetchall()
con.execute(f"copy (select {columns}, occupation from {files}) to '{sys.argv[2]}.parquet'").fetchall()
"""
_SPARK = """
import sys
from sfumato.engine.settings import EngineSettings
from sfumato.engine.spark import session
spark = session(EngineSettings(name="spark", master="local[2]"))
frame = spark.read.parquet(sys.argv[1])
columns = sys.argv[3].split(",")
frame.groupBy(*(f"`{c}`" for c in columns)).count().write.mode("overwrite").format("noop").save()
frame.select(*(f"`{c}`" for c in columns), "occupation").write.mode("overwrite").parquet(sys.argv[2] + ".spark")
"""


class Cost(NamedTuple):
    """What a process took: CPU seconds, and peak memory in GB."""

    cpu: float
    memory: float


def lines() -> Iterator[Line]:
    """CPU seconds against the engines' own read, group by and write, and peak memory against its limit."""
    wanted = [int(float(m) * 1_000_000) for m in os.environ.get("SFUMATO_SCALE", "1,5,20").split(",")]
    with tempfile.TemporaryDirectory(dir=os.environ.get("SFUMATO_SCRATCH")) as name:
        folder = Path(name)
        for rows in wanted:
            source = make(folder, rows)
            yield from _of_size(folder, source, rows)


def _of_size(folder: Path, source: Path, rows: int) -> Iterator[Line]:
    own = _alone(_DUCKDB, str(source), str(folder / "own"), ",".join(_QUASI))
    ours = _published(folder, source, "duckdb", "6GB" if rows > 50_000_000 else "4GB")
    yield Line("duckdb, whole job, CPU", rows, ours.cpu, "DuckDB read, group by, write", own.cpu, 4.0)
    limit = 6.0 if rows > 50_000_000 else 3.0
    yield Line("duckdb, whole job, peak memory", rows, ours.memory, "limit", limit, 1.0, unit="GB")
    if rows > 5_000_000:
        return
    local = _published(folder, source, "local", "4GB")
    yield Line("duckdb against local, CPU", rows, ours.cpu, "local, whole job", local.cpu, 1.5)
    if os.environ.get("SFUMATO_SPARK"):
        spark = _published(folder, source, "spark", "4GB")
        floor = _alone(_SPARK, str(source), str(folder / "own"), ",".join(_QUASI))
        yield Line("spark local[2], whole job, CPU", rows, spark.cpu, "Spark read, groupBy, write", floor.cpu, 3.0)


def make(folder: Path, rows: int) -> Path:
    """A folder of parquet files with so many rows of blown-up Adult, each piece from a seed of its own."""
    from sfumato.datasets import adult_million

    source = folder / f"adult-{rows}"
    source.mkdir()
    for number, first in enumerate(range(0, rows, _PIECE)):
        piece = adult_million(max(min(_PIECE, rows - first), 50_000), seed=2025 + number)
        shuffled = np.random.default_rng(number).permutation(piece.height)[: rows - first]
        piece[shuffled].write_parquet(source / f"part-{number:05}.parquet")
    return source


def _published(folder: Path, source: Path, engine: str, memory: str) -> Cost:
    """The whole job on one engine; in memory the same rows are in one file."""
    if engine == "local":
        import polars as pl

        whole = folder / f"{source.name}.parquet"
        pl.scan_parquet(source / "*.parquet").sink_parquet(whole)
        source = whole
    quasi = "\n".join(f'"{name}" = "quasi"' for name in _QUASI)
    policy = folder / f"{engine}.toml"
    master = 'master = "local[2]"\n' if engine == "spark" else ""
    policy.write_text(_POLICY.format(source=source, quasi=quasi, engine=engine, memory=memory) + master)
    return _alone(_PUBLISH, str(policy), str(folder / f"out-{engine}"))


def _alone(program: str, *arguments: str) -> Cost:
    """Run a program in a process of its own, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    watched = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.DEVNULL)
    peak = 0
    while watched.poll() is None:
        peak = max(peak, _resident(watched.pid))
        try:
            watched.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    if watched.returncode:
        raise SystemExit(f"a job of the benchmark failed with exit code {watched.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, peak / 1e9)


def _resident(process: int) -> int:
    """The memory that a process holds now, in bytes."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0
