"""The first run, the start of a command, and a new process against a warm one."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import tables
from benchmarks.measure import Line, median_time

ROWS = 1_000_000
_EXAMPLE = 4_000
_RUNS = 9
_QUIET = 0.5
"""The load average per core, before a run, up to which a machine is called quiet."""
_LOAD = os.getloadavg()[0]


class Run(NamedTuple):
    """What one command took."""

    wall: float
    cpu: float


def lines() -> list[Line]:
    """All rows of the table. A bar in seconds is shown as a floor that must not be exceeded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [*_first_run(folder), *_start(folder), *_new_process(folder)]


def _first_run(folder: Path) -> Iterator[Line]:
    """The demo with a cold cache of kernels; pip compiles modules to bytecode when it installs them, uv does not."""
    demo = ["demo", "-o", str(folder / "demo"), "--force"]
    plain = _bar("demo, first run, bytecode cold too", _EXAMPLE, _command(demo, folder, "first"), 15.0)
    for kernels in sorted(folder.glob("first/kernels")):
        kernels.rename(folder / "aside")
    yield _bar("demo, first run", _EXAMPLE, _command(demo, folder, "first"), 15.0)
    yield plain


def _start(folder: Path) -> Iterator[Line]:
    """Commands whose kernels are in the cache, each the median of five."""
    from sfumato.datasets import example_folder

    policy = str(example_folder() / "policy.toml")
    publish = ["publish", policy, "-o", str(folder / "example"), "--force"]
    yield _bar("publish the example, warm cache", _EXAMPLE, _median(publish, folder, "first"), 2.0)
    yield _bar("--help", 0, _median(["--help"], folder, "first"), 0.5)


def _new_process(folder: Path) -> Iterator[Line]:
    """The same million-row job in this process, warmed, and as a new one: the median of nine runs each.

    Fresh memory is what a new process pays for most, beside imports; what it costs differs from run to run.
    """
    policy = tables.write_job(folder)
    publish = ["publish", str(policy), "-o", str(folder / "new"), "--force"]
    _publish_here(policy, folder / "here")
    before = os.times()
    warm = median_time(lambda: _publish_here(policy, folder / "here"), _RUNS)
    after = os.times()
    spent = (after.user + after.system - before.user - before.system) / (_RUNS + 2)
    new = _median(publish, folder, "first", _RUNS)
    told = f"CPU time {new.cpu:.2f} s against {spent:.2f} s"
    yield Line("publish, as a new process", ROWS, new.wall, "in a warm process", warm, 1.4, told)


def _publish_here(policy: Path, out: Path) -> None:
    from sfumato.publisher.publish import publish_policy

    publish_policy(policy, out, force=True)


def _bar(work: str, rows: int, run: Run, bar: float) -> Line:
    return Line(work, rows, run.wall, "bar", bar, 1.0, f"CPU time {run.cpu:.2f} s")


def _median(arguments: list[str], folder: Path, caches: str, repeats: int = 5) -> Run:
    runs = [_command(arguments, folder, caches) for _ in range(repeats + 1)][1:]
    return Run(statistics.median(r.wall for r in runs), statistics.median(r.cpu for r in runs))


def _command(arguments: list[str], folder: Path, caches: str) -> Run:
    """Run a command as a new process with caches of its own."""
    kernels, bytecode = folder / caches / "kernels", folder / caches / "bytecode"
    kernels.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = {**os.environ, "NUMBA_CACHE_DIR": str(kernels), "PYTHONPYCACHEPREFIX": str(bytecode)}
    own.pop("PYTHONDONTWRITEBYTECODE", None)
    begin, before = time.perf_counter(), os.times()
    subprocess.run([sys.executable, "-m", "sfumato", *arguments], env=own, check=True, timeout=900, capture_output=True)
    wall, after = time.perf_counter() - begin, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(wall, spent)


def more() -> str:
    """Whether anybody else used the machine, which wall-clock bars depend on."""
    cores = os.cpu_count() or 1
    busy = _QUIET * cores < _LOAD
    told = "The machine was busy with other work: bars in seconds hold for a quiet one." if busy else ""
    return f"\nLoad average before the run: {_LOAD:.1f} on {cores} cores. {told}".rstrip() + "\n"
