"""Speed of ART and of the exact linkage probabilities, on Adult: five quasi-identifiers, low education collapsed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.measure import Line, median_time
from sfumato import datasets
from sfumato.engine.draws import Draws
from sfumato.method.art.grouping import people_in
from sfumato.release.judgement import bind

QUASI = ["age", "workclass", "marital-status", "occupation", "race"]
LOW = ["Preschool", "1st-4th", "5th-6th", "7th-8th"]
MINIMUM = 1_000
"""How many people make a large sample; with far fewer, art does not reach r = 10 on Adult."""


def table(frame: pl.DataFrame) -> sf.Microdata:
    """The coded table, with education as the sensitive attribute."""
    return sf.read(frame, quasi=QUASI, sensitive="education")


def _sort(data: sf.Microdata) -> float:
    codes = pl.DataFrame({c.name: c.codes for c in data.quasi})
    return median_time(lambda: codes.sort(codes.columns))


def lines() -> Iterator[Line]:
    """From coded columns to groups, and from groups to everyone's p(t:x), against a Polars sort of the columns."""
    data, floor = table(datasets.adult()), "Polars sort of the five QIs"
    sort = _sort(data)
    two = {"worlds": "two-valued"}
    for name, target, method, wanted in (
        ("art in two-valued worlds, r = 10", 300.0, sf.Art(), _wanted(10, MINIMUM, **two)),
        ("art as published, two-valued, r = 10, minimum 3,000", None, sf.Art(condition="published"),
         _wanted(10, 3_000, **two)),
        ("art, r = 8", 300.0, sf.Art(), _wanted(8, MINIMUM)),
        ("art, r = 10, minimum 3,000", 300.0, sf.Art(), _wanted(10, 3_000)),
        ("art, r = 4, minimum 3,000", None, sf.Art(), _wanted(4, 3_000)),
    ):  # fmt: skip
        bound = bind([wanted], data)
        ours = median_time(lambda m=method, b=bound: m.draw(data, b, draws=_draws()), repeats=3)
        yield Line(name, data.rows, ours, floor, sort, target)
        groups = method.draw(data, bound, draws=_draws()).groups
        (required,) = (r for r in bound if isinstance(r, sf.RRobustness))
        ours = median_time(lambda g=groups, r=required: _exposed(data, g, r), repeats=3)
        yield Line(f"p(t:x) of everybody in it ({name})", data.rows, ours, floor, sort, target and 100.0)
    ten = bind([sf.LDiversity(l=3)], data)
    yield Line("injector, l = 3", data.rows, median_time(lambda: sf.Injector().draw(data, ten)), floor, sort)


def _draws() -> Draws:
    """The same every time: r = 8 succeeds with most draws, not with all (11 of 12 seeds)."""
    return Draws(np.random.default_rng(1))


def _wanted(r: float, minimum: int, **settings: Any) -> sf.RRobustness:
    return sf.RRobustness(r=r, values=LOW, minimum=minimum, **settings)


def _exposed(data: sf.Microdata, groups: "sf.method.base.Groups", required: sf.RRobustness) -> float:
    known = required.known(data)
    return required.exposure(people_in(groups, known), known).greatest


def more() -> str:
    """How the cost grows: Adult blown up, r = 5."""
    sizes = [50_000, 200_000, 1_000_000]
    out = ["## Growth of art, r = 5", "", "| rows | art | p(t:x) of everybody | Polars sort | µs / row |"]
    out.append("| ---: | ---: | ---: | ---: | ---: |")
    frame = datasets.adult()
    large = datasets.blow_up(frame, QUASI, -(-sizes[-1] // frame.height), np.random.default_rng(1))
    for size in sizes:
        data = table(large.sample(size, seed=1))
        bound = bind([sf.RRobustness(r=5, values=LOW, minimum=MINIMUM * size // frame.height)], data)
        (required,) = (r for r in bound if isinstance(r, sf.RRobustness))
        art = median_time(lambda d=data, b=bound: sf.Art().draw(d, b), repeats=1)
        groups = sf.Art().draw(data, bound).groups
        exposed = median_time(lambda d=data, g=groups, r=required: _exposed(d, g, r), repeats=1)
        out.append(f"| {size:,} | {art:.2f} s | {exposed:.2f} s | {_sort(data):.3f} s | {1e6 * art / size:.1f} |")
    return "\n".join(out) + "\n"
