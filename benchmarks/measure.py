"""Timing side by side in one process: median of five after one warm-up."""

import statistics
import time
from collections.abc import Callable, Iterable
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


def median_time(work: Callable[[], object], repeats: int = 5) -> float:
    """The median of several runs after one warm-up."""
    work()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


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
