"""How the time grows: with the values of an attribute, and with the cells of the domain of randomized response.

A figure is the CPU time of all threads, since that depends least on what else the machine does; the least of three
runs after a warm-up. The floor of a line is the smallest size of the same work, so that the ratio tells the growth;
the exponent is that between the two.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.measure import Line
from sfumato import datasets
from sfumato.method.rr.optimize import Problem, solve
from sfumato.requirement.base import Requirement

ROWS = 200_000
VALUES = (100, 1_000, 10_000)
REFINED = (500, 1_000, 2_000, 4_000, 10_000)
QUASI = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]


def lines() -> Iterator[Line]:
    """Everything that has a target."""
    yield from many_values()
    yield from refined_values()
    yield from randomized_response()


def least(work: Callable[[], object], repeats: int = 3) -> float:
    """The least CPU time of a few runs after one warm-up."""
    return min(times(work, repeats))


def times(work: Callable[[], object], repeats: int) -> list[float]:
    """The CPU times of some runs after one warm-up."""
    work()
    found = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return found


def flat(rows: int, values: int, seed: int = 0) -> pl.DataFrame:
    """Rows with a code of so many values, an age, a sex, an illness, and a class that depends on the code."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, values, rows)
    return pl.DataFrame(
        {
            "code": [f"v{i:06d}" for i in code],
            "age": rng.integers(0, 100, rows),
            "sex": rng.choice(["m", "f"], rows),
            "ill": rng.choice([f"s{i}" for i in range(10)], rows),
            "class": np.where(rng.random(rows) < 0.3 + 0.4 * ((code * 7919) % values) / values, "y", "n"),
        }
    )


def _grown(work: str, rows: int, values: int, took: float, first: tuple[int, float], most: float | None) -> Line:
    """A line beside the smallest size of the same work."""
    exponent = np.log(took / first[1]) / np.log(values / first[0])
    told = f"exponent {exponent:.2f}"
    return Line(f"{work}, {values:,} values", rows, took, f"{first[0]:,} values", first[1], most, told)


def many_values() -> Iterator[Line]:
    """Cuts of a quasi-identifier without a taxonomy: at 10,000 values at most three times as long as at 100."""
    k, l = sf.KAnonymity(k=5), sf.LDiversity(l=3)
    for name, method, required in (
        ("mondrian, k", "mondrian", [k]),
        ("mondrian, k and l", "mondrian", [k, l]),
        ("mondrian+, l", "mondrian+", [l]),
        ("mondrian-blur, l", "mondrian-blur", [l]),
        ("pg, k", sf.PG(p=0.3, domain="occurring"), [k]),
    ):
        first = None
        for values in VALUES:
            table = sf.read(flat(ROWS, values), quasi=["code", "age", "sex"], sensitive="ill")
            took = least(lambda t=table, r=required, m=method: sf.publish(t, require=r, method=m))
            if first is None:
                first = values, took
            else:
                yield _grown(name, ROWS, values, took, first, 3.0)
    table = sf.read(flat(1_000_000, 100_000), quasi=["code", "age", "sex"], sensitive="ill")
    took = least(lambda: sf.publish(table, require=k, method="mondrian"), 1)
    yield Line("mondrian, k, 100,000 values", 1_000_000, took)


def refined_values() -> Iterator[Line]:
    """Tdr and tdd, one attribute of many values disclosed one by one: at most v log v."""
    both = ["code", "sex"]
    wanted = {
        "k": sf.KAnonymity(k=2),
        "confidence": sf.Confidentiality(x=both, y={"ill": "s1"}, k=0.9),
        "distinct values": sf.Anonymity(x=both, y=["ill"], k=2),
    }
    for method, (name, required) in product(("tdr", "tdd"), wanted.items()):
        first = None
        for values in REFINED:
            table = sf.read(flat(50_000, values), quasi=both, sensitive="ill", class_="class")
            took = least(lambda t=table, m=method, r=required: _published(t, r, m))
            if first is None:
                first = values, took
                continue
            most = values * np.log(values) / (first[0] * np.log(first[0]))
            yield _grown(f"{method}, {name}", 50_000, values, took, first, round(float(most), 1))


def _published(table: sf.Microdata, required: Requirement, method: str) -> sf.Release:
    """The release; a method that is refuted is measured like any other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.RefutedMethodWarning)
        return sf.publish(table, require=required, method=method)


def randomized_response() -> Iterator[Line]:
    """The matrices of rr for more and more quasi-identifiers; seven take at most 100 times a Polars group_by.

    A group_by of 100,000 rows takes a few milliseconds, so the median of many runs is the floor; the last line has ten
    times the rows, six quasi-identifiers, and a floor that is long enough by itself.
    """
    for rows, numbers in ((100_000, (4, 5, 6, 7)), (1_000_000, (6,))):
        frame = datasets.adult_million(rows)
        for number in numbers:
            quasi = QUASI[-number:]
            table = sf.read(frame.select(*quasi, "occupation"), quasi=quasi, sensitive="occupation")
            codes = pl.DataFrame({c.name: c.codes for c in table.quasi})
            floor = float(np.median(times(lambda c=codes, q=quasi: c.group_by(q).len(), 101)))
            took = least(lambda t=table: _solved(t))
            cells = int(np.prod([c.size for c in table.quasi]))
            target = 100.0 if number == 7 or rows > 100_000 else None
            yield Line(f"rr, {number} QIs, {cells:,} cells", rows, took, "Polars group_by", floor, target)


def _solved(table: sf.Microdata) -> object:
    """The matrices, or the finding that there are none."""
    try:
        return solve(Problem.of(table, sf.Disclosure(tau=0.5), "both"))
    except sf.Infeasible as e:
        return e


if __name__ == "__main__":
    from benchmarks.measure import as_markdown

    print(as_markdown(lines()))
