"""The whole job, and what recipients do with its release, against Polars reading and writing the same rows.

``python -m benchmarks whole_job`` runs a million and ten million rows; SFUMATO_ROWS names others ("1,3", in millions).
The works of a size take turns, and the best run of each counts: what else happens on the machine then hits all of them.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from benchmarks import tables
from benchmarks.measure import Line, best_times

_COPY = "Polars read_csv + write_csv + write_parquet"
_READ = "Polars read_parquet"
_QUESTION = "SELECT COUNT(*) WHERE age >= 30 AND age < 50 AND occupation = 'Sales'"
_DIVERSE = '[[require]]\nmodel = "l-diversity"\nl = 2\n'
_ALONE = """
import atexit, pathlib, sys
from sfumato.cli import main
atexit.register(lambda: print("peak", pathlib.Path("/proc/self/status").read_text()))
main()
"""


def lines() -> Iterator[Line]:
    """All rows of the table."""
    for millions in os.environ.get("SFUMATO_ROWS", "1,10").split(","):
        rows = int(float(millions) * 1_000_000)
        with tempfile.TemporaryDirectory(dir=os.environ.get("SFUMATO_SCRATCH")) as name:
            folder = Path(name)
            policy = tables.write_job(folder, rows)
            yield from _published(folder, policy, rows)
            diverse = folder / "diverse.toml"
            diverse.write_text(policy.read_text().replace("[method]", _DIVERSE + "[method]"))
            _publish_here(diverse, folder / "diverse")
            yield from _received(folder / "new" / "release", folder / "diverse" / "release", rows)


def _published(folder: Path, policy: Path, rows: int) -> Iterator[Line]:
    """`publish` in this process and as a new one, and the peak memory of the latter."""
    peaks: list[float] = []
    took = best_times(
        {
            "floor": lambda: _copy(folder),
            "here": lambda: _publish_here(policy, folder / "here"),
            "new": lambda: peaks.append(_peak("publish", str(policy), "-o", str(folder / "new"), "--force")),
        },
        repeats=5 if rows <= 1_000_000 else 2,
    )
    yield Line("publish, in process", rows, took["here"], _COPY, took["floor"], 3.0)
    yield Line("publish, as a new process", rows, took["new"], _COPY, took["floor"], 4.0 if rows <= 1_000_000 else None)
    arrow = pl.read_csv(folder / "million.csv").to_arrow().nbytes / 1024**2
    yield Line("publish, peak memory", rows, min(peaks), "the table in Arrow", arrow, 6.0, unit="MB")


def _received(release: Path, diverse: Path, rows: int) -> Iterator[Line]:
    """What a recipient does, in this process; the reading of the parquet file is part of each. ``diverse`` is a release
    with l-diversity, too.

    The targets are for ten million rows: one million are read in 14 ms, too little for a ratio.
    """
    import sfumato as sf

    works: dict[str, Callable[[], object]] = {
        "floor": lambda: pl.read_parquet(release / "data.parquet"),
        "load": lambda: sf.load(release),
        "query": lambda: sf.Analyst(sf.load(release)).query(_QUESTION),
        "check": lambda: sf.load(release).check(),
        "check, k and l": lambda: sf.load(diverse).check(),
    }
    took = best_times(works, repeats=7)
    for name in ("load", "query", "check", "check, k and l"):
        yield Line(name, rows, took[name], _READ, took["floor"], 3.0 if rows > 1_000_000 else None)
    peak = _peak("query", str(release), _QUESTION)
    arrow = pl.read_parquet(release / "data.parquet").estimated_size() / 1024**2
    yield Line("query, peak memory of a process", rows, peak, "the table in memory", arrow, unit="MB")
    yield Line(
        "check, peak memory of a process", rows, _peak("check", str(release)), "the table in memory", arrow, unit="MB"
    )


def _publish_here(policy: Path, out: Path) -> None:
    from sfumato.publisher.publish import publish_policy

    publish_policy(policy, out, force=True)


def _copy(folder: Path) -> None:
    frame = pl.read_csv(folder / "million.csv")
    frame.write_csv(folder / "copy.csv")
    frame.write_parquet(folder / "copy.parquet")


def _peak(*arguments: str) -> float:
    """Run a command as a new process; its peak memory in MB. Its modules are compiled once, as an installer does."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", _ALONE, *arguments]
    told = subprocess.run(command, check=True, timeout=3600, capture_output=True, text=True, env=kept)
    return int(told.stdout.split("VmHWM:")[1].split()[0]) / 1024


def more() -> str:
    """What else used the machine."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    busy = " The machine was busy with other work: judge by the ratios." if load > 2 * cores else ""
    return f"\nLoad average after the run: {load:.1f} on {cores} cores.{busy}\n"
