"""``python -m benchmarks.against COMMIT [PART …] [--turns N]``: the lines of the benchmarks beside those of a commit.

The commit is checked out into a temporary folder. For each part, one process has its benchmarks and another those of
this tree, and both do the same work in turns, so that whatever else the machine does slows both. All parts that both
have are written to benchmarks/results/house.md; parts that are named are only printed.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.__main__ import RESULTS

HERE = Path(__file__).parents[1]
LIMIT = 1.10
_DOUBTFUL = 1.05
"""Above this ratio twice as many turns again are taken: noise adds time, so the least of more is nearer the truth."""
_LONG, _FEW = 3.0, 2
"""Work that takes more seconds on the clock gets only so many turns: noise is a small part of it."""


@dataclass(frozen=True)
class Compared:
    """One work: least CPU seconds before and now, and the ratio of the least times on the clock."""

    part: str
    work: str
    rows: str
    before: float
    now: float
    wall: float | None
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """Now divided by before."""
        return self.now / self.before

    def __str__(self) -> str:
        wall = "" if self.wall is None else f"{self.wall:.2f}"
        worse = "WORSE" if self.ratio > LIMIT else ""
        once = "" if self.wall is not None else f" (measured once, {self.unit})"
        return (
            f"| {self.part} | {self.work}{once} | {self.rows} | {self.before:.4f} | {self.now:.4f} "
            f"| {self.ratio:.2f} | {worse} | {wall} |"
        )


class Side:
    """The process that measures one source tree."""

    def __init__(self, tree: Path, part: str, cache: Path) -> None:
        own = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}", "NUMBA_CACHE_DIR": str(cache)}
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "benchmarks" / "turns.py"), part],
            cwd=tree, env=own, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        told = self._answer()
        self.works: list[str] = told["works"]
        self.figures: dict[str, float] = told["figures"]
        self.error: str = told["error"]

    def turn(self, work: str) -> tuple[float, float]:
        """CPU seconds and seconds on the clock."""
        _open(self._process.stdin).write(work + "\n")
        _open(self._process.stdin).flush()
        answer = self._answer()
        if isinstance(answer, str):
            raise Failed(answer)
        return answer[0], answer[1]

    def end(self) -> None:
        """Let the process end; it does when nothing more is asked."""
        _open(self._process.stdin).close()
        _open(self._process.stdout).close()
        self._process.wait(timeout=60)

    def _answer(self) -> Any:
        told = _open(self._process.stdout).readline()
        if not told:
            raise Failed(f"the process ended with {self._process.wait(timeout=60)}")
        return json.loads(told)


class Failed(Exception):  # noqa: N818
    """A work, or the whole part, cannot be done by one side."""


def _open(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def parts_of(tree: Path) -> list[str]:
    """The parts of this tree's benchmarks that another tree has too."""
    from benchmarks.__main__ import PARTS

    return [part for part in PARTS if (tree / "benchmarks" / f"{part}.py").exists()]


def compared(part: str, trees: tuple[Path, Path], caches: Path, turns: int) -> Iterator[Compared | str]:
    """The lines that both trees have, and in a sentence each what could not be compared."""
    sides: list[Side] = []
    try:
        for name, tree in zip(("before", "now"), trees, strict=True):
            (caches / name).mkdir(mode=0o700, exist_ok=True)
            sides.append(Side(tree, part, caches / name))
            if sides[-1].error:
                yield f"{part}, {name}: ended early, {sides[-1].error}"
        old, new = sides
        for work in old.works:
            if work in new.works:
                yield from _in_turns(part, work, old, new, turns)
        yield from _measured_once(part, old, new)
        for name in sorted({*old.works, *old.figures} - {*new.works, *new.figures}):
            work, rows, *_ = name.split(" | ")
            yield f"{part}: {work}, {rows} rows: only before"
    except Failed as error:
        yield f"{part}: {error}"
    finally:
        for side in sides:
            side.end()


def _in_turns(part: str, work: str, old: Side, new: Side, turns: int) -> Iterator[Compared | str]:
    name, rows = work.split(" | ")
    least: dict[Side, list[float]] = {}
    try:
        old.turn(work)
        if new.turn(work)[1] > _LONG:  # both are warm now
            turns = _FEW
        for round_ in range(3 * turns):
            if round_ == turns and least[new][0] <= _DOUBTFUL * least[old][0]:
                break
            for side in (old, new) if round_ % 2 else (new, old):
                took = side.turn(work)
                least[side] = [min(a, b) for a, b in zip(least.get(side, took), took, strict=True)]
    except Failed as error:
        yield f"{part}: {name}, {rows} rows: {error}"
        return
    yield Compared(part, name, rows, least[old][0], least[new][0], least[new][1] / least[old][1])


def _measured_once(part: str, old: Side, new: Side) -> Iterator[Compared]:
    """Figures that a part takes by itself, such as of a new process or of memory; the sides took them one by one."""
    for name in old.figures:
        if name in new.figures:
            work, rows, unit = name.split(" | ")
            yield Compared(part, work, rows, old.figures[name], new.figures[name], None, unit)


def checked_out(commit: str, folder: Path) -> str:
    """A clone of this repository at a commit; returns the commit's short name and date."""
    tree = str(folder)
    subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", str(HERE), tree], check=True)
    subprocess.run(["git", "-C", tree, "checkout", "--quiet", "--detach", commit], check=True)
    told = subprocess.run(
        ["git", "-C", tree, "log", "-1", "--format=%h of %cs"], check=True, capture_output=True, text=True
    )
    return told.stdout.strip()


def _head(before: str, turns: int) -> str:
    load = "{:.1f}, {:.1f} and {:.1f}".format(*os.getloadavg())
    now = time.strftime("%d %B %Y, %H:%M UTC", time.gmtime())
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.machine()}"
    return f"""# Issue 13: no figure of `make bench` worse by more than 10%

Commit {before} ("before") beside the tree of {now} ("now"), by `python -m benchmarks.against`: {machine}.
Two processes did the same work of `benchmarks/` in turns. Each figure is the least CPU time of {turns} turns after a
warm-up, of {3 * turns} where the ratio was above {_DOUBTFUL} after {turns}; of {_FEW} and {3 * _FEW} if it takes
more than {_LONG:g} s; a line that is a mean stands for all its works together. Load averages (1, 5 and
15 minutes) at the start: {load}. A ratio above {LIMIT:.2f} is marked.
Lines that one of the two does not have cannot be compared.

| part | work | rows | before, CPU s | now, CPU s | ratio | | wall-clock ratio |
| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |
"""


def _tail(lines: list[Compared], told: list[str]) -> str:
    worse = [f"{x.work} on {x.rows} rows ({x.ratio:.2f})" for x in lines if x.ratio > LIMIT]
    verdict = f"Worse by more than 10%: {'; '.join(worse)}." if worse else "No line is worse by more than 10%."
    missing = "".join(f"\n- {line}" for line in told)
    return f"\n{len(lines)} lines compared. {verdict}\n" + (f"\nNot compared:\n{missing}\n" if told else "")


def main() -> None:
    """Compare the parts named, or all that both commits have."""
    reader = argparse.ArgumentParser(prog="python -m benchmarks.against", description="This tree beside a commit.")
    reader.add_argument("commit")
    reader.add_argument("parts", nargs="*")
    reader.add_argument("--turns", type=int, default=7)
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tree, lines, told = Path(name) / "tree", list[Compared](), list[str]()
        head = _head(checked_out(asked.commit, tree), asked.turns)
        print(head, end="", flush=True)
        for part in asked.parts or parts_of(tree):
            for found in compared(part, (tree, HERE), Path(name), asked.turns):
                print(found, flush=True)
                lines.append(found) if isinstance(found, Compared) else told.append(found)
        tail = _tail(lines, told)
        print(tail)
    if not asked.parts:
        table = "".join(f"{line}\n" for line in lines)
        (RESULTS / "house.md").write_text(head + table + tail, encoding="utf-8")


if __name__ == "__main__":
    main()
