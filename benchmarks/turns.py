"""The works of one part of the benchmarks, done one at a time when another process asks for them.

Run by `benchmarks.against` inside the source tree that is measured, which may be older than this file: nothing but the
part and ``benchmarks.measure`` of that tree is used. The part is run once with a clock that measures nothing
and keeps what it is given; each line of its table then leads back to its work by the figure that the clock returned.
"""

import inspect
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

Work = Callable[[], object]
_LEAST = 0.05
"""Seconds that a turn should take: shorter work is repeated."""
_RETRIES = 4
"""How often work that fails is tried again: ART draws, and may be unlucky."""


class Clock:
    """Stands in for the clocks of ``benchmarks.measure``: keeps each work and returns a number that stands for it."""

    def __init__(self) -> None:
        self.works: dict[float, Work] = {}

    def keep(self, work: Work, repeats: int = 5) -> float:
        """Instead of ``median_time``; negative, so that no measured figure is taken for it."""
        self.works[mark := -float(len(self.works) + 1)] = work
        return mark

    def keep_all(self, works: Mapping[str, Work], repeats: int) -> dict[str, float]:
        """Instead of ``best_times``."""
        return {name: self.keep(work) for name, work in works.items()}


class KeptFolder(tempfile.TemporaryDirectory):  # type: ignore[type-arg]
    """A temporary folder that stays until the process ends: works that write to it are done later."""

    kept: list["KeptFolder"] = []  # noqa: RUF012 - one list for all of them

    def __exit__(self, *_: object) -> None:
        self.kept.append(self)


def gathered(part: str) -> tuple[dict[str, Work], dict[str, float], str]:
    """The works of a part by line, the figures that it measured by itself, and the error that ended it, if any."""
    measure: Any = import_module("benchmarks.measure")
    clock = Clock()
    measure.median_time, measure.best_times = clock.keep, clock.keep_all
    tempfile.TemporaryDirectory = KeptFolder  # type: ignore[assignment,misc]
    module = import_module(f"benchmarks.{part}")
    found = _gathered(module, clock)
    for _ in range(_RETRIES):
        if found[2]:
            found = max(found, _gathered(module, clock), key=lambda x: len(x[0]))
    # Figures that a part takes by itself are taken again: the first time, kernels may have been compiled.
    return _gathered(module, clock) if found[1] else found


def _gathered(module: Any, clock: Clock) -> tuple[dict[str, Work], dict[str, float], str]:
    works: dict[str, Work] = {}
    figures: dict[str, float] = {}
    known = len(clock.works)
    try:
        for line in _lines(module):
            name = f"{line.work} | {line.rows:,}"
            since, known = list(clock.works.values())[known:], len(clock.works)
            if line.ours in clock.works:
                works[name] = clock.works[line.ours]
            elif line.ours < 0:  # the mean of all that was kept for this line
                works[name] = partial(_do_all, since)
            elif line.ours > 0:
                figures[f"{name} | {getattr(line, 'unit', 's')}"] = line.ours
    except Exception as error:  # what an older commit cannot do is reported, and the lines before it are compared
        return works, figures, f"{type(error).__name__}: {error}"
    return works, figures, ""


def _do_all(works: Sequence[Work]) -> None:
    for work in works:
        work()


def _lines(module: Any) -> Iterator[Any]:
    without = {"with_peers": False} if "with_peers" in inspect.signature(module.lines).parameters else {}
    yield from module.lines(**without)


def one_turn(work: Work) -> tuple[float, float]:
    """CPU seconds of all threads and seconds on the clock, for doing the work once."""
    often, cpu, begin = 0, time.process_time(), time.perf_counter()
    while not often or time.perf_counter() - begin < _LEAST:
        work()
        often += 1
    return (time.process_time() - cpu) / often, (time.perf_counter() - begin) / often


def main() -> None:
    """Tell what there is, then do one work per line of standard input."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what the works print is no answer
    works, figures, error = gathered(sys.argv[1])
    print(json.dumps({"works": list(works), "figures": figures, "error": error}), file=answers, flush=True)
    for asked in sys.stdin:
        print(json.dumps(_answer(works[asked.rstrip("\n")])), file=answers, flush=True)


def _answer(work: Work) -> Any:
    """What a turn took, or why the work cannot be done."""
    answer: Any = None
    for _ in range(1 + _RETRIES):
        try:
            return one_turn(work)
        except Exception as raised:
            answer = f"{type(raised).__name__}: {raised}"
    return answer


if __name__ == "__main__":
    main()
