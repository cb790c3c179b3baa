"""Speed and memory of sequential anonymization at a million rows per table, as in Fung's section 6.4.

Set A of chapter 6: T1 has six categorical attributes and the class, T2 the three common ones and two more. Both are
Adult blown up; ours is from coded tables to the final cut, matching and counting T2 included.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.measure import Line, median_time
from sfumato import datasets
from sfumato.release.earlier import of_table
from sfumato.release.join.join import Join

ROWS = 1_000_000
JOIN = ("marital-status", "relationship", "sex")
TAXATION = (*JOIN, "education", "occupation", "workclass")
IMMIGRATION = (*JOIN, "native-country", "race")
_FLOOR = "Polars group_by of T1's six"
_MB = 1024


def blown_up(rows: int, columns: tuple[str, ...], varied: tuple[str, ...], seed: int) -> pl.DataFrame:
    """Adult's records and variations of them, for one of the two departments."""
    frame = datasets.adult().select(columns)
    return datasets.blow_up(frame, varied, -(-rows // frame.height), np.random.default_rng(seed)).head(rows)


def taxation(rows: int, y: tuple[str, ...] = ()) -> sf.Microdata:
    """T1; values of ``y`` are sensitive and inherited from the original records."""
    varied = tuple(n for n in TAXATION if n not in y)
    frame = blown_up(rows, (*TAXATION, "income"), varied, 61)
    trees = datasets.adult_taxonomies()
    return sf.read(
        frame, quasi=varied, sensitive=list(y), class_="income", taxonomies={n: trees[n] for n in varied if n in trees}
    )


def immigration(rows: int, y: tuple[str, ...] = ()) -> sf.Earlier:
    """T2, published as it is."""
    frame = blown_up(rows, IMMIGRATION, tuple(n for n in IMMIGRATION if n not in y), 62)
    trees = datasets.adult_taxonomies()
    return sf.earlier(frame, quasi=IMMIGRATION, taxonomies={n: trees[n] for n in IMMIGRATION})


def _named(release: str, names: tuple[str, ...]) -> list[str]:
    return [f"{release}.{n}" if n in JOIN else n for n in names]


def anonymity(rows: int) -> Callable[[], object]:
    """Top6, Y = K1, k = 40: X holds all attributes of both tables."""
    table, after = taxation(rows), immigration(rows)
    template = sf.Anonymity(x=[*_named("T1", TAXATION), *_named("T2", IMMIGRATION)], y="T1", k=40)
    return lambda: sf.TopDownSequential(templates=[template], after=[after]).finish(table)


def confidentiality(rows: int) -> Callable[[], object]:
    """Top1, 90%: Y is the rarer half of marital-status, a join attribute, so X cannot hold it and nothing is pruned."""
    y = ("marital-status",)
    table, after = taxation(rows, y), immigration(rows, y)
    counts = datasets.adult()["marital-status"].value_counts().sort("count", "marital-status")
    rare = counts["marital-status"].to_list()[: counts.height // 2]
    x = [*_named("T1", tuple(n for n in TAXATION if n not in y)), *_named("T2", tuple(n for n in JOIN if n not in y))]
    template = sf.Confidentiality(x=x, y={"T1.marital-status": rare}, k=0.9)
    return lambda: sf.TopDownSequential(templates=[template], after=[after], join_in_x=False).finish(table)


WORKS = {"anonymity": anonymity, "confidentiality": confidentiality}


def floor(rows: int) -> float:
    """One Polars group_by over T1's six attributes, as codes."""
    table = taxation(rows)
    codes = pl.DataFrame({c.name: c.codes for c in table.quasi})
    return median_time(lambda: codes.group_by(codes.columns).len())


def lines() -> Iterator[Line]:
    """Both templates of section 6.4, and the audit of the join, against the floor; then rows against time."""
    least = floor(ROWS)
    yield Line("tdssa, anonymity, Top6, Y = K1, k = 40", ROWS, median_time(anonymity(ROWS)), _FLOOR, least, 40)
    work = confidentiality(ROWS)
    yield Line("tdssa, confidentiality, Top1, 90%", ROWS, median_time(work, repeats=3), _FLOOR, least, 20)
    for name in WORKS:
        arrow = 12 * ROWS / _MB / _MB  # twelve columns of one byte
        yield Line(f"peak memory of tdssa, {name}, above its input", ROWS, _memory(name), "codes", arrow, unit="MB")
    for rows in (200_000, 400_000, 600_000, 800_000):
        yield Line("tdssa, anonymity, by rows", rows, median_time(anonymity(rows), repeats=3), _FLOOR, floor(rows))
        work = confidentiality(rows)
        yield Line("tdssa, confidentiality, by rows", rows, median_time(work, repeats=3), _FLOOR, floor(rows))


def more() -> str:
    """How large the joins are that are never made."""
    found = []
    for name, y in (("anonymity", ()), ("confidentiality", ("marital-status",))):
        join = Join([of_table(taxation(ROWS, y)), immigration(ROWS, y)])
        found.append(f"{join.joined_rows():,} rows ({name})")
    return f"\nThe join of the two tables, before anything is masked, has {' or '.join(found)}.\n"


def _memory(name: str) -> float:
    """By how much the memory of a process of its own grows at most during the work, in MB."""
    command = [sys.executable, "-m", "benchmarks.sequential", name]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _measure(name: str) -> None:
    """Print that; kernels are compiled before, and the peak so far is forgotten."""
    WORKS[name](datasets.adult().height)()
    work = WORKS[name](ROWS)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    work()
    print(_status("VmHWM") - before)


def _status(field: str) -> float:
    """A figure of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / _MB


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _measure(sys.argv[1])
    else:
        from benchmarks.measure import as_markdown

        print(as_markdown(lines()))
