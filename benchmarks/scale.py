"""Tables beyond memory: Adult blown up in pieces, published by DuckDB and Spark, against these engines' own work.

``python -m benchmarks scale`` runs 1M, 5M and 20M rows; SFUMATO_SCALE names others ("1,5,20,100", in millions of rows),
SFUMATO_SCRATCH a folder in which the pieces of the table are kept for the next run. Spark runs if it is installed.
Each job runs alone in a process of its own, so that CPU seconds and peak memory are its own. DuckDB's own work on more
than 20M rows takes longer than the job that it is compared with, so it is not waited for.
"""

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.measure import Line

_PIECE = 1_000_000
_MOST_OWN = 20_000_000
"""On how many rows DuckDB's own work is measured."""
_SUBREAPER = 36
"""Linux: orphans become children of this process."""
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
from sfumato.engine.spark.session import session
spark = session(EngineSettings(name="spark", master="local[2]"))
frame = spark.read.parquet(sys.argv[1])
columns = sys.argv[3].split(",")
frame.groupBy(*(f"`{c}`" for c in columns)).count().write.mode("overwrite").format("noop").save()
frame.select(*(f"`{c}`" for c in columns), "occupation").write.mode("overwrite").parquet(sys.argv[2] + ".spark")
"""


class Cost(NamedTuple):
    """What a process took: CPU seconds, those of its children included, peak memory in GB, and seconds."""

    cpu: float
    memory: float
    seconds: float


class Grown(NamedTuple):
    """What a job took at a size, beside DuckDB's own work."""

    rows: int
    ours: Cost
    own: Cost | None
    in_pieces: bool


_grown: list[Grown] = []


def lines() -> Iterator[Line]:
    """CPU seconds against the engines' own read, group by and write, and peak memory against its limit."""
    wanted = [int(float(m) * 1_000_000) for m in os.environ.get("SFUMATO_SCALE", "1,5,20").split(",")]
    with tempfile.TemporaryDirectory(dir=os.environ.get("SFUMATO_SCRATCH")) as name:
        folder = Path(name)
        for engine in ("duckdb", "local"):  # kernels are compiled here, if they are not yet
            _published(folder, make(folder / engine, 10_000), engine, "4GB")
        for rows in wanted:
            yield from _of_size(folder, make(folder, rows), rows)


def more() -> str:
    """How cost grows with the number of rows."""
    head = "| rows | CPU | per million rows | seconds | peak memory | decided | DuckDB's own, CPU | peak memory |\n"
    text = f"Growth, with DuckDB:\n\n{head}| ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: |\n"
    for rows, ours, own, in_pieces in _grown:
        each = ours.cpu / rows * 1e6
        text += f"| {rows:,} | {ours.cpu:.1f} s | {each:.2f} s | {ours.seconds:.0f} s | {ours.memory:.2f} GB "
        text += f"| {'in pieces' if in_pieces else 'at once'} "
        text += f"| {own.cpu:.1f} s | {own.memory:.2f} GB |\n" if own else "| not run | |\n"
    load = os.getloadavg()
    return f"{text}\nLoad average at the end, this run included: {load[0]:.1f} on {os.cpu_count()} cores.\n"


def _of_size(folder: Path, source: Path, rows: int) -> Iterator[Line]:
    own = _alone(_DUCKDB, str(source), str(folder / "own"), ",".join(_QUASI)) if rows <= _MOST_OWN else None
    ours = _published(folder, source, "duckdb", "4GB")
    log = (folder / "out-duckdb" / "private" / "log.txt").read_text()
    _grown.append(Grown(rows, ours, own, " margins" in log))
    if own is not None:
        most = 4.0 if rows == 20_000_000 else None
        yield Line("duckdb, whole job, CPU", rows, ours.cpu, "DuckDB read, group by, write", own.cpu, most)
    limit = 6.0 if rows > _MOST_OWN else 3.0
    yield Line("duckdb, whole job, peak memory", rows, ours.memory, "limit", limit, 1.0, unit="GB")
    if rows > 5_000_000:
        return
    local = _published(folder, source, "local", "4GB")
    yield Line("duckdb against local, CPU", rows, ours.cpu, "local, whole job", local.cpu, 1.5)
    if find_spec("pyspark") is not None and shutil.which("java") and rows == 5_000_000:
        spark = _published(folder, source, "spark", "4GB")
        floor = _alone(_SPARK, str(source), str(folder / "own"), ",".join(_QUASI))
        yield Line("spark local[2], whole job, CPU", rows, spark.cpu, "Spark read, groupBy, write", floor.cpu, 3.0)


def make(folder: Path, rows: int) -> Path:
    """A folder of parquet files with so many rows of blown-up Adult, each piece from a seed of its own."""
    source = folder / f"adult-{rows}"
    source.mkdir(parents=True)
    sizes = [min(_PIECE, rows - first) for first in range(0, rows, _PIECE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, piece in enumerate(pool.map(partial(_piece, folder), range(len(sizes)), sizes)):
            os.link(piece, source / f"part-{number:05}.parquet")
    return source


def _piece(folder: Path, number: int, rows: int) -> Path:
    """One file of so many rows, made if it is not there from an earlier run."""
    from sfumato.datasets import adult_million

    kept = Path(os.environ.get("SFUMATO_SCRATCH") or folder) / "sfumato-scale-pieces"
    file = kept / f"{rows}-{number:05}.parquet"
    if not file.exists():
        kept.mkdir(parents=True, exist_ok=True)
        frame = adult_million(max(rows, 50_000), seed=2025 + number)
        shuffled = np.random.default_rng(number).permutation(frame.height)[:rows]
        frame[shuffled].write_parquet(file.with_suffix(".draft"))
        file.with_suffix(".draft").rename(file)
    return file


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
    """Run a program in a process of its own; what it leaves running (Spark's JVM) is waited for and counted too."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"a job of the benchmark failed with exit code {child.returncode}")
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begin
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, used.ru_maxrss * 1024 / 1e9, seconds)
