"""What the search counts is what anyone counts from the published labels: lone numbers, missing values, trees, days."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.method.topdown.sequential import SequentialRun
from strategies import examples

TREES: dict[str, Any] = {"job": {"Any": {"A": ["a", "b"], "c": {}}}, "zip": {"mask": "right"}}


def people(seed: int, rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    day = date(2001, 1, 1)
    return pl.DataFrame(
        {
            "age": [None if rng.random() < 0.1 else int(v) for v in rng.integers(20, 60, rows)],
            "pay": rng.choice([1.5, 2.25, 10.0, 33.125, 1000.0], rows),
            "born": [day + timedelta(days=int(v)) for v in rng.integers(0, 900, rows)],
            "job": rng.choice(["a", "b", "c"], rows),
            "zip": rng.choice(["111", "112", "121", "211"], rows),
            "town": rng.choice(["X", "Y", "Z"], rows),
            "ill": rng.choice(["flu", "hiv", "cold"], rows),
            "class": rng.choice(["yes", "no"], rows),
        }
    )


def read(frame: pl.DataFrame, quasi: list[str], **roles: Any) -> sf.Microdata:
    trees = {n: t for n, t in TREES.items() if n in quasi}
    return sf.read(frame, quasi=quasi, taxonomies=trees, missing="category", **roles)


ALL = ["age", "pay", "born", "job", "zip", "town"]


@examples(60)
@given(st.integers(0, 10_000), st.data())
def test_the_search_and_the_check_agree(seed: int, data: st.DataObject) -> None:
    frame = people(seed, data.draw(st.integers(4, 40)))
    common = data.draw(st.lists(st.sampled_from(ALL), min_size=1, max_size=3, unique=True))
    by = data.draw(st.sampled_from([sf.Mondrian(), sf.TopDown(score="distortion"), sf.Incognito()]))
    earlier = sf.publish(read(frame, common), method=by, require=[sf.KAnonymity(k=data.draw(st.integers(1, 3)))])
    mine = list(dict.fromkeys([*common, *data.draw(st.lists(st.sampled_from(ALL), max_size=2, unique=True))]))
    x = data.draw(st.lists(st.sampled_from(mine), min_size=1, unique=True))
    y = data.draw(st.sampled_from([["T1", "T2"], ["T1"], ["T2"], ["ill", "T2"]]))
    words = [f"T1.{n}" if n in common else n for n in x] + [f"T2.{n}" for n in common if data.draw(st.booleans())]
    template = sf.Anonymity(x=words, y=y, k=data.draw(st.integers(1, 6)))
    method = sf.TopDownSequential(
        after=[earlier], templates=[template], join_in_x=data.draw(st.booleans()), score="distortion"
    )
    table = read(frame, mine, sensitive="ill", class_="class")
    try:
        run = method.steps(table)
    except sf.Infeasible:
        event("infeasible")
        return
    assert isinstance(run, SequentialRun)
    last = run.finish()
    event(f"searched {len(run.searched)}, steps {min(last.number, 3)}")
    release = last.release(rng=np.random.default_rng(0))
    (claim,) = release.manifest["requirements"]
    if run.searched:
        assert claim["achieved"] == {"k": last.anonymity[-1]}
    assert not [f for f in release.check(after=[earlier]) if f.status == "broken"]
    found = sf.sequential_join([release, earlier], x=claim["required"]["x"], y=claim["required"]["y"])
    assert found.anonymity == claim["achieved"]["k"]
    assert found.unmatched["T2"] == (
        release.manifest["after"][0]["dangling"]["here"],
        release.manifest["after"][0]["dangling"]["there"],
    )


@pytest.mark.parametrize("name", ALL)
def test_two_releases_of_one_table_leave_nobody_unmatched(name: str) -> None:
    frame = people(7, 80)
    earlier = sf.publish(
        read(frame, list(dict.fromkeys([name, "job"]))), method=sf.Mondrian(), require=[sf.KAnonymity(k=3)]
    )
    later = sf.publish(
        read(frame, list(dict.fromkeys([name, "town"])), sensitive="ill"),
        method=sf.TopDown(score="distortion"),
        require=[sf.KAnonymity(k=5)],
    )
    assert sf.sequential_join([later, earlier]).unmatched == {"T2": (0, 0)}
