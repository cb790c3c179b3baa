"""The comparison of two source trees: which lines it finds, and that it sees which of them is slower."""

from pathlib import Path

from benchmarks.against import Compared, compared

MEASURE = """
from typing import NamedTuple
class Line(NamedTuple):
    work: str
    rows: int
    ours: float
    unit: str = "s"
def median_time(work, repeats=5):
    raise AssertionError("replaced by the comparison")
"""
PART = """
import tempfile
from pathlib import Path
from benchmarks.measure import Line, median_time
def lines():
    print("what a part prints is no answer")
    for n in (20_000, 40_000):
        yield Line(f"sum of {n}", n, median_time(lambda n=n: sum(range(n * TIMES))))
    both = [median_time(lambda n=n: sum(range(n * TIMES))) for n in (10_000, 30_000)]
    yield Line("mean of two", 2, sum(both) / 2)
    with tempfile.TemporaryDirectory() as folder:
        written = median_time(lambda: Path(folder, "file").write_text("x"))
    yield Line("write", 1, written)
    yield Line("fails", 1, median_time(lambda: 1 // (TIMES - 1)))
    yield Line("memory", 7, 100.0 * TIMES, "MB")
    yield Line(f"alone {TIMES}", 2, 1.0)
    if TIMES == 5:
        raise ValueError("too old for this")
"""


def _tree(folder: Path, times: int) -> Path:
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks" / "__init__.py").touch()
    (folder / "benchmarks" / "measure.py").write_text(MEASURE, encoding="utf-8")
    (folder / "benchmarks" / "toy.py").write_text(PART.replace("TIMES", str(times)), encoding="utf-8")
    return folder


def test_two_trees(tmp_path: Path) -> None:
    trees = _tree(tmp_path / "a", 5), _tree(tmp_path / "b", 1)
    found = list(compared("toy", trees, tmp_path, turns=3))
    lines = {x.work: x for x in found if isinstance(x, Compared)}
    assert list(lines) == ["sum of 20000", "sum of 40000", "mean of two", "write", "memory"]
    assert all(lines[f"sum of {n}"].ratio < 2 / 3 for n in (20_000, 40_000))  # a fifth of the work
    assert lines["mean of two"].ratio < 2 / 3  # both works in one turn, as long as that of 40,000
    assert 0.7 < lines["mean of two"].now / lines["sum of 40000"].now < 1.4
    assert (lines["memory"].rows, lines["memory"].before, lines["memory"].now) == ("7", 500.0, 100.0)
    assert "WORSE" not in str(lines["sum of 20000"])
    assert [x for x in found if isinstance(x, str)] == [
        "toy, before: ended early, ValueError: too old for this",
        "toy: fails, 1 rows: ZeroDivisionError: integer division or modulo by zero",
        "toy: alone 5, 2 rows: only before",
    ]


def test_slower_is_marked(tmp_path: Path) -> None:
    found = list(compared("toy", (_tree(tmp_path / "a", 1), _tree(tmp_path / "b", 5)), tmp_path, turns=3))
    lines = {x.work: x for x in found if isinstance(x, Compared)}
    assert all(lines[f"sum of {n}"].ratio > 1.5 for n in (20_000, 40_000))
    assert "| WORSE |" in str(lines["sum of 20000"])
    assert "| memory (measured once, MB) | 7 | 100.0000 | 500.0000 | 5.00 | WORSE |  |" in str(lines["memory"])


def test_a_part_that_cannot_start(tmp_path: Path) -> None:
    trees = _tree(tmp_path / "a", 1), _tree(tmp_path / "b", 1)
    (trees[0] / "benchmarks" / "toy.py").write_text("raise SystemExit(3)", encoding="utf-8")
    assert list(compared("toy", trees, tmp_path, turns=1)) == ["toy: the process ended with 3"]
