"""Labels do not end at the value of one person, and the steward is told where decimals show one."""

import datetime as dt
import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engine.overview import overview_of
from sfumato.publisher.lone_ends import lone_ends
from sfumato.table.ordered_domain import OrderedDomain

AGES = [20, 20, 30, 30, 41, 41, 41, 41]


def told(values: list[Any], method: Any = "mondrian", taxonomy: Any = None) -> list[str]:
    table = sf.read(pl.DataFrame({"age": values}), quasi=["age"], taxonomies={"age": taxonomy} if taxonomy else None)
    return lone_ends(overview_of(table), sf.publish(table, require=sf.KAnonymity(k=2), method=method))


@pytest.mark.parametrize("method", ["mondrian", sf.TopDown(score="distortion"), sf.HilbSafe(), sf.MondrianPlus()])
@pytest.mark.parametrize("moved", [(11, 48), (-70, 5_000_000), (19, 42)])
def test_the_extremes_of_one_person_are_not_told(method: Any, moved: tuple[int, int]) -> None:
    """Whoever is alone with the least or the greatest value can move it, and nothing public changes."""
    ills = [*"abcdabcdab"]
    found = []
    for low, high in ((3, 104), moved):
        table = sf.read(pl.DataFrame({"age": [low, *AGES, high], "ill": ills}), quasi=["age"], sensitive="ill")
        require = sf.KAnonymity(k=2) if method == "mondrian" or isinstance(method, sf.TopDown) else sf.LDiversity(l=2)
        found.append(sf.publish(table, require=require, method=method, rng=np.random.default_rng(1)))
    assert found[0] == found[1]
    found[0].check()


@pytest.mark.parametrize("method", ["mondrian", sf.Mondrian(strict=False), sf.TopDown(score="distortion"), "hilb-safe"])
def test_no_end_is_the_value_of_one_person(method: Any) -> None:
    dice = np.random.default_rng(3)
    pay = [int(v) for v in dice.choice(10**6, 60, replace=False) if v % 100]
    table = sf.read(pl.DataFrame({"pay": pay, "ill": [*"abcd" * 15][: len(pay)]}), quasi=["pay"], sensitive="ill")
    require = sf.LDiversity(l=2) if method == "hilb-safe" else sf.KAnonymity(k=4)
    release = sf.publish(table, require=require, method=method)
    nodes = release.manifest["attributes"]["pay"]["nodes"]
    ends = {end for meaning in nodes.values() if meaning for end in meaning if end is not None}
    assert len(ends) > 2
    assert not ends & {float(v + step) for v in pay for step in (0, 1)}
    assert all(end % 100 == 0 for end in ends)
    release.check()


def test_dates_at_the_ends_are_not_told() -> None:
    days = [dt.date(1980, 1, d) for d in (1, 1, 2, 2)]
    table = sf.read(pl.DataFrame({"born": [dt.date(1913, 7, 19), *days, dt.date(2013, 11, 12)]}), quasi=["born"])
    release = sf.publish(table, require=sf.KAnonymity(k=2), method="mondrian")
    assert sorted(release.manifest["attributes"]["born"]["nodes"]) == ["< 1980-01-02", ">= 1980-01-02"]
    release.check()


def test_an_end_that_two_people_share_is_shown() -> None:
    table = sf.read(pl.DataFrame({"age": [20, 20, 90, 90]}), quasi=["age"])
    assert sorted(sf.publish(table, require=sf.KAnonymity(k=4)).tables["data"]["age"].unique()) == ["[20, 91)"]


def test_decimals() -> None:
    odd = told([20.0, 20.0, 37.0001, 41.0, 41.0, 41.0])
    assert odd == [
        "One person's 'age', 37.0001, has more decimals than all others, and labels reveal it. Round the column."
    ]


@pytest.mark.parametrize("form", ["number", "date"])
def test_no_label_of_dense_values_determines_what_one_person_alone_has(form: str) -> None:
    """All tables over eight neighbours: whoever reads a label finds another without the lone value."""
    first = 56 if form == "number" else (dt.date(1990, 1, 28) - dt.date(1970, 1, 1)).days
    make = OrderedDomain.of_numbers if form == "number" else OrderedDomain.of_days
    always: dict[str, set[int]] = {}  # by label: what occurs in each table that shows it; and what one alone has
    lone: dict[str, set[int]] = {}
    for counts in map(np.array, itertools.product((0, 1, 2), repeat=8)):
        values = np.flatnonzero(counts)
        if len(values) < 2:
            continue
        line = make((values + first).astype(float)).sparing(counts[values])
        for lo, hi in itertools.combinations(range(len(values) + 1), 2):
            if hi - lo > 1:
                found = {int(v) for v in values[lo:hi]}
                label = line.label(lo, hi)
                always[label] = always.get(label, found) & found
                lone.setdefault(label, set()).update(v for v in found if counts[v] == 1 and 0 < v < 7)
    assert len(lone) > 20
    assert {label: told for label in lone if (told := always[label] & lone[label])} == {}
