"""The sequential-join adversary: who is pinned down by the join alone, and releases of every scheme."""

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_join as naive
import sfumato as sf
from sfumato.release.earlier import Earlier, of_table
from strategies import examples

SIMPLE = {a: {v: frozenset([v]) for v in "uvw"} for a in ("a", "b", "c")}


def table_side(name: str, rows: list[dict[str, str]]) -> Earlier:
    return of_table(sf.read(pl.DataFrame(rows), quasi=list(rows[0])), name)


@st.composite
def releases(draw: st.DrawFn) -> dict[str, list[dict[str, str]]]:
    """Two or three releases with a common attribute ``a``, and one that only some have."""
    out = {}
    for i in range(1, draw(st.sampled_from([2, 2, 3])) + 1):
        names = ["a", f"own{i}", *draw(st.sampled_from([[], ["b"]]))]
        row = st.fixed_dictionaries({n: st.sampled_from("uv") for n in names})
        out[f"T{i}"] = draw(st.lists(row, min_size=1, max_size=6))
    return out


def pinned(tables: dict[str, list[dict[str, str]]], x: list[tuple[str, str]], release: str) -> int:
    """By the definition, on the rows of the join."""
    meanings = SIMPLE | {f"own{t[1:]}": {v: frozenset([v]) for v in "uv"} for t in tables}
    found = set()
    for key, rows in naive.grouped(naive.join(tables, meanings), x).items():
        alone = []
        for t, people in tables.items():
            part = {n: label for (r, n), label in zip(x, key, strict=True) if r == t}
            alone.append(sum(all(p[n] == label for n, label in part.items()) for p in people))
        here = {row[(release, "")] for row in rows}
        if min(alone) > 1 and len(here) == 1:
            found |= here
    return len(found)


@examples(150)
@given(releases(), st.data())
def test_people_pinned_down_by_the_join_alone(tables: dict[str, list[dict[str, str]]], data: st.DataObject) -> None:
    sides = [table_side(name, rows) for name, rows in tables.items()]
    every = [(t, n) for t, rows in tables.items() for n in rows[0]]
    x = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    try:
        found = sf.sequential_join(sides, x=[f"{t}.{n}" for t, n in x])
    except sf.Infeasible:
        return  # nothing matches
    assert found.pinned_down == {t: pinned(tables, x, t) for t in tables}


@examples(60)
@given(releases())
def test_nobody_is_pinned_down_if_all_join_attributes_are_in_x(tables: dict[str, list[dict[str, str]]]) -> None:
    sides = [table_side(name, rows) for name, rows in tables.items()]
    try:
        found = sf.sequential_join(sides)  # all quasi-identifiers
    except sf.Infeasible:
        return
    assert set(found.pinned_down.values()) == {0}


def people(rng: np.random.Generator, rows: int = 200) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["M", "F"], rows),
            "town": rng.choice(["A", "B", "C"], rows),
            "ill": rng.choice(["flu", "HIV", "cancer", "cold"], rows),
        }
    )


def read(frame: pl.DataFrame, quasi: list[str]) -> sf.Microdata:
    return sf.read(frame.select(*quasi, "ill"), quasi=quasi, sensitive="ill")


METHODS: list[tuple[Any, list[Any]]] = [
    (sf.Mondrian(), [sf.KAnonymity(k=5)]),
    (sf.MondrianPlus(), [sf.LDiversity(l=2, variant="frequency")]),
    (sf.Anatomy(), [sf.LDiversity(l=2, variant="frequency")]),
    (sf.TopDown(score="distortion"), [sf.KAnonymity(k=4)]),
    (sf.Incognito(), [sf.KAnonymity(k=5)]),
]


@pytest.mark.parametrize(("method", "require"), METHODS, ids=[m.name for m, _ in METHODS])
def test_releases_of_every_grouping_method(method: Any, require: list[Any]) -> None:
    frame = people(np.random.default_rng(3))
    latest = sf.publish(read(frame, ["age", "sex"]), method=method, require=require)
    earlier = sf.publish(read(frame, ["age", "town"]), method=sf.Mondrian(), require=[sf.KAnonymity(k=4)])
    found = sf.sequential_join([latest, earlier], x=["sex", "town", "age"], y="T1")
    assert found.anonymity is not None
    assert found.anonymity >= 1
    assert found.unmatched == {"T2": (0, 0)}  # two projections of one table
    assert found.matches >= frame.height
    shares = sf.sequential_join([latest, earlier], x=["sex", "town"], y={"T1.ill": ["HIV"]})
    assert shares.confidence is not None
    assert 0 < shares.confidence <= 1


def test_bucketized_people_believe_the_shares_of_their_group() -> None:
    """Joined with a release that tells nothing new, a bucketized one gives each person the shares of the bucket."""
    frame = people(np.random.default_rng(4), 40)
    latest = sf.publish(
        read(frame, ["age", "sex"]), method=sf.Anatomy(), require=[sf.LDiversity(l=2, variant="frequency")]
    )
    other = table_side("T2", [{"sex": "M", "own2": "u"}, {"sex": "F", "own2": "u"}])
    found = sf.sequential_join([latest, other], x=["age", "T1.sex", "T2.sex"], y={"ill": ["HIV"]})
    assert found.confidence is not None
    assert found.confidence <= 0.5
    assert found.pinned_down["T1"] == 0
    read_by_values = sf.sequential_join([latest, other], x=["ill", "T1.sex"], y="T1")
    assert read_by_values.pinned_down["T1"] is None  # a person may have each value of the bucket


@examples(40)
@given(st.integers(0, 10_000), st.sampled_from(["latest", "earlier"]))
def test_bucketized_confidence_against_every_pair(seed: int, which: str) -> None:
    """Each person has every value of the bucket with its share; pairs of people who match are listed one by one."""
    rng = np.random.default_rng(seed)
    frame = people(rng, 12)
    require = [sf.LDiversity(l=2, variant="frequency")]
    if "HIV" not in frame["ill"].to_list():
        return
    try:
        bucketized = sf.publish(read(frame, ["sex", "town"]), method=sf.Anatomy(), require=require)
    except sf.Infeasible:
        return
    plain = [{"town": t, "own": str(rng.integers(2))} for t in frame["town"].to_list()]
    other = table_side("T", plain)
    order = [bucketized, other] if which == "latest" else [other, bucketized]
    mine = "T1" if which == "latest" else "T2"
    found = sf.sequential_join(order, x=["sex", "own"], y={f"{mine}.ill": ["HIV"]})
    quasi, sensitive = bucketized.tables["quasi"], bucketized.tables["sensitive"]
    shares = {}
    for (group,), rows in sensitive.group_by("group"):
        ill = rows.filter(pl.col("ill").cast(pl.String) == "HIV")["count"].sum()
        shares[group] = Fraction(ill, rows["count"].sum())
    totals: dict[tuple[str, str], list[Fraction]] = {}
    for person in quasi.iter_rows(named=True):
        for row in plain:
            if row["town"] == person["town"]:
                totals.setdefault((person["sex"], row["own"]), []).append(shares[person["group"]])
    assert found.confidence == pytest.approx(max(float(sum(v) / len(v)) for v in totals.values()))


def test_randomized_columns_are_noise() -> None:
    frame = people(np.random.default_rng(6), 300)
    domains = {"ill": ["flu", "HIV", "cancer", "cold"], "sex": ["M", "F"]}
    table = sf.read(frame.select("sex", "ill"), quasi=["sex"], sensitive="ill", domains=domains)
    method = sf.RandomizedResponse(keep={"ill": 0.5}, unchanged="allow")
    noisy = sf.publish(table, method=method, require=[sf.Disclosure(tau=1.0)])
    other = sf.publish(read(frame, ["sex", "town"]), method=sf.Mondrian(), require=[sf.KAnonymity(k=4)])
    with pytest.raises(sf.PolicyError, match="'ill' of T1 was randomized"):
        sf.sequential_join([noisy, other], x=["town"], y={"T1.ill": ["HIV"]})
    found = sf.sequential_join([noisy, other], x=["town", "sex"], y={"ill": ["HIV"]})
    alone = sf.sequential_join([other, noisy], x=["T1.town", "sex"], y={"ill": ["HIV"]})
    assert found.confidence == alone.confidence  # the values of the release that has no noise


def test_a_sample_cannot_be_counted_and_noise_is_left_out() -> None:
    frame = people(np.random.default_rng(5), 300)
    domains = {"ill": ["flu", "HIV", "cancer", "cold"]}
    table = sf.read(frame.select("age", "sex", "ill"), quasi=["age", "sex"], sensitive="ill", domains=domains)
    sample = sf.publish(table, method=sf.PG(k=4, p=0.3), require=[sf.KAnonymity(k=4)])
    other = sf.publish(read(frame, ["age", "town"]), method=sf.Mondrian(), require=[sf.KAnonymity(k=4)])
    with pytest.raises(sf.PolicyError, match="is a sample"):
        sf.sequential_join([sample, other], x=["age", "town"], y="T1")
    with pytest.raises(sf.PolicyError, match="was randomized"):
        sf.sequential_join([sample, other], x=["age", "town"], y={"T1.ill": ["HIV"]})
    found = sf.sequential_join([sample, other], x=["age", "town"], y={"ill": ["HIV"]})
    assert found.confidence is not None
    assert found.pinned_down == {"T1": None, "T2": None}


def test_bad_input_in_words() -> None:
    one = table_side("T1", [{"a": "u"}])
    with pytest.raises(sf.PolicyError, match="two to 5 releases"):
        sf.sequential_join([one])
    with pytest.raises(sf.PolicyError, match="cross product"):
        sf.sequential_join([one, table_side("T2", [{"b": "u"}])])
    with pytest.raises(sf.Infeasible, match="join is empty"):
        sf.sequential_join([one, table_side("T2", [{"a": "v"}])])
    with pytest.raises(sf.PolicyError, match=r"write T1\.a or T2\.a"):
        sf.sequential_join([one, table_side("T2", [{"a": "u", "b": "u"}])], x=["b"], y="a")
    with pytest.raises(sf.PolicyError, match="no release of the join has an attribute 'z'"):
        sf.sequential_join([one, table_side("T2", [{"a": "u"}])], x=["z"])
