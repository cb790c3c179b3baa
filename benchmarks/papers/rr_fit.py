"""What matrices fitted to the private table give away, and what fitting them to noisy counts costs instead.

``SFUMATO_DATA=... python -m benchmarks.papers.rr_fit`` writes benchmarks/results/rr-fit.md.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.papers.rr_models import emgrw
from sfumato.method.rr.noisy_counts import fit_to_noisy_counts
from sfumato.method.rr.optimize import MODES, Mode, Problem, solve

DOMAINS = {"sex": ["m", "f"], "town": ["A", "B", "C", "D"], "ill": ["flu", "HIV", "cold"]}
RESULTS = Path(__file__).parent.parent / "results"
VICTIMS = 60
RUNS = 100


def people(rows: int) -> pl.DataFrame:
    """Illnesses that go with sex, in towns of unequal size."""
    rng = np.random.default_rng(1)
    sex = rng.choice(["m", "f"], rows)
    often = np.where(sex == "m", "flu", "cold")
    ill = np.where(rng.random(rows) < 0.5, rng.choice(["flu", "HIV", "cold"], rows, p=[0.6, 0.1, 0.3]), often)
    return pl.DataFrame({"sex": sex, "town": rng.choice(["A", "B", "C"], rows, p=[0.5, 0.3, 0.2]), "ill": ill})


def read(frame: pl.DataFrame) -> sf.Microdata:
    """With all domains declared."""
    return sf.read(frame, quasi=["sex", "town"], sensitive="ill", domains=DOMAINS)


def pinned_down(frame: pl.DataFrame, tau: float, mode: Mode) -> int:
    """How many of the first people have only one value for which the optimum is the published one."""
    published = sf.optimal_response(read(frame), tau=tau, mode=mode).keep
    found = 0
    for row in range(VICTIMS):
        fits = []
        for value in DOMAINS["ill"]:
            ills = frame["ill"].to_list()
            ills[row] = value
            keep = sf.optimal_response(read(frame.with_columns(ill=pl.Series(ills))), tau=tau, mode=mode).keep
            fits += [value] if all(abs(keep[n] - p) < 1e-7 for n, p in published.items()) else []
        found += fits == [frame["ill"][row]]
    return found


def leak() -> Iterator[str]:
    """The attack on the paper's form."""
    yield "## Matrices fitted to the private table\n"
    yield (
        "An adversary who knows everything but the victim's sensitive value computes the optimum for each value that "
        f"it could be. Number of victims, of {VICTIMS}, for whom only one value gives the published matrices:\n"
    )
    yield "| rows | mode | tau = 0.5 | tau = 0.4 | tau = 0.3 |\n| ---: | --- | ---: | ---: | ---: |"
    for rows in (200, 1000):
        for mode in ("qi", "both"):
            counts = [pinned_down(people(rows), tau, mode) for tau in (0.5, 0.4, 0.3)]
            yield f"| {rows:,} | {mode} | " + " | ".join(map(str, counts)) + " |"
    yield ""


def cost() -> Iterator[str]:
    """How much more noise is drawn, and how often the true counts miss the limit."""
    yield "## Matrices fitted to noisy counts\n"
    yield (
        f"{RUNS} runs each. Cost: the expected squared error of the reconstructed distribution (Result 2), divided "
        "by that of the optimum on the true counts; median. Refused: runs that publish nothing, because the noisy "
        "counts have no solution or the true ones miss the limit.\n"
    )
    yield "| table | rows | mode | tau | ε of fitting | cost | refused |"
    yield "| --- | ---: | --- " + "| ---: " * 4 + "|"
    for rows in (200, 1000, 5000):
        for tau in (0.5, 0.3):
            yield from _costs("illnesses", read(people(rows)), tau)
    for l in (2, 3, 4):
        yield from _costs("Adult EMGRW", emgrw(), 1 / l)
    yield ""


def _costs(name: str, table: sf.Microdata, tau: float) -> Iterator[str]:
    for mode in MODES[::2]:
        problem = Problem.of(table, sf.Disclosure(tau=tau), mode)  # type: ignore[arg-type]
        best = solve(problem).objective
        for epsilon in (1.0, 4.0):
            found = []
            for run in range(RUNS):
                try:
                    rng = np.random.default_rng(run)
                    found.append(fit_to_noisy_counts(problem, epsilon, rng).objective / best)
                except sf.Infeasible:
                    continue
            price = f"{np.median(found):.2f}" if found else "-"
            yield f"| {name} | {table.rows:,} | {mode} | {tau:.3g} | {epsilon:g} | {price} | {RUNS - len(found)}% |"


def main() -> None:
    """Write the page."""
    lines = ["# What the matrices of randomized response give away\n", *leak(), *cost()]
    (RESULTS / "rr-fit.md").write_text("\n".join(lines), encoding="utf-8")
    print(RESULTS / "rr-fit.md")


if __name__ == "__main__":
    main()
