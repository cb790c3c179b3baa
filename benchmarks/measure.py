"""Timing side by side in one process: median of five, or best of several in turns, after one warm-up."""

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One row of the table of results; times in seconds, or sizes in MB if ``unit`` says so."""

    work: str
    rows: int
    ours: float
    floor_name: str = ""
    floor: float | None = None
    target: float | None = None
    peer: str = ""
    unit: str = "s"

    @property
    def ratio(self) -> float | None:
        """Ours divided by the floor."""
        return self.ours / self.floor if self.floor else None

    @property
    def verdict(self) -> str:
        """Whether the target is met."""
        if self.target is None or self.ratio is None:
            return ""
        return "met" if self.ratio <= self.target else "MISSED"


_LEAST = 0.1
"""Seconds that a run should take: a clock that is read after a few milliseconds tells more about the machine."""


def median_time(work: Callable[[], object], repeats: int = 5) -> float:
    """The median of several runs after one warm-up; work of a few milliseconds is done several times in each."""
    work()
    times, often = [], math.ceil(_LEAST / max(_took(work, 1), 1e-6))
    for _ in range(repeats):
        times.append(_took(work, often) / often)
    return statistics.median(times)


def _took(work: Callable[[], object], often: int) -> float:
    begin = time.perf_counter()
    for _ in range(often):
        work()
    return time.perf_counter() - begin


def best_times(works: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The least time of each work; they take turns, after one warm-up of each."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repeats + 1):
        for name, work in works.items():
            begin = time.perf_counter()
            work()
            if turn:
                times[name].append(time.perf_counter() - begin)
    return {name: min(taken) for name, taken in times.items()}


def as_markdown(lines: Iterable[Line]) -> str:
    """One table: work, rows, ours, floor, ratio, target, peer."""
    out = [
        "| work | rows | ours | floor | ratio | target | | peer |",
        "| --- | ---: | ---: | --- | ---: | ---: | --- | --- |",
    ]
    for x in lines:
        floor = f"{x.floor_name} {x.floor:.3f} {x.unit}" if x.floor else ""
        ratio = f"{x.ratio:.2f}" if x.ratio else ""
        target = f"≤ {x.target:g}" if x.target else ""
        ours = f"{x.ours:.3f} {x.unit}"
        out.append(f"| {x.work} | {x.rows:,} | {ours} | {floor} | {ratio} | {target} | {x.verdict} | {x.peer} |")
    return "\n".join(out) + "\n"
