"""Counting by bitmaps and the estimators of both schemes against plain loops over the published rows."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from buckets import in_buckets
from sfumato.analyst.count_query import estimates, true_counts
from sfumato.analyst.workload import Queries
from sfumato.kernel.queries.bitmap import random_sets
from sfumato.kernel.queries.sums import LANES
from strategies import Row, Sample, TreeAxis, examples, leaves, samples


def text(value: Any) -> str:
    """A value as queries name it."""
    if value is None:
        return "(missing)"
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def domain_of(sample: Sample, name: str) -> list[Any]:
    """The values that a query may name."""
    if name == sample.facts.sensitive:
        return sample.facts.domain
    axis = sample.axes[name]
    if isinstance(axis, TreeAxis):
        return leaves(axis.tree)
    declared = sample.options["domains"].get(name)
    seen = {row[name] for row in sample.facts.rows}
    return [*declared, *({None} & seen)] if declared else list(seen)


def stands_for(domain: list[Any], meaning: list[Any] | None) -> set[str]:
    """The values that a label stands for, read off the manifest."""
    if meaning is None:
        return {text(v) for v in domain}
    if None in meaning:
        low, high = meaning
        known = {v: text(v) if isinstance(v, dt.date) else v for v in domain if v is not None}
        return {text(v) for v, at in known.items() if (low is None or low <= at) and (high is None or at < high)}
    if len(meaning) == 2 and isinstance(meaning[0], float):
        return {text(v) for v in domain if v is not None and meaning[0] <= v < meaning[1]}
    if len(meaning) == 2 and any(isinstance(v, dt.date) for v in domain):
        return {text(v) for v in domain if v is not None and meaning[0] <= text(v) < meaning[1]}
    return {text(v) for v in domain} & set(meaning)


def share(label: set[str], wanted: tuple[str, ...]) -> Fraction:
    return Fraction(len(label & set(wanted)), len(label))


Below = dict[str, dict[str, set[str]]]


def below_labels(sample: Sample, release: sf.Release) -> Below:
    """For each quasi-identifier, the values that each of its labels stands for."""
    domains = {name: domain_of(sample, name) for name in sample.quasi}
    nodes = {name: release.manifest["attributes"][name]["nodes"] for name in sample.quasi}
    return {n: {label: stands_for(domains[n], m) for label, m in nodes[n].items()} for n in sample.quasi}


def twin_generalized(below: Below, release: sf.Release, wanted: dict[str, tuple[str, ...]]) -> Fraction:
    """Each row with an allowed sensitive value counts by the shares of its labels."""
    total = Fraction(0)
    for row in release.tables["data"].iter_rows(named=True):
        if row["ill"] not in wanted["ill"]:
            continue
        part = Fraction(1)
        for name in wanted.keys() - {"ill"}:
            part *= share(below[name][row[name]], wanted[name])
        total += part
    return total


def meets(row: Row, wanted: dict[str, tuple[str, ...]]) -> bool:
    return all(text(row[name]) in wanted[name] for name in wanted.keys() - {"ill"})


def twin_bucketized(release: sf.Release, wanted: dict[str, tuple[str, ...]]) -> Fraction:
    """In each group, the share of the rows that meet the predicates times the allowed values."""
    people: Counter[int] = Counter()
    met: Counter[int] = Counter()
    for row in release.tables["quasi"].iter_rows(named=True):
        people[row["group"]] += 1
        met[row["group"]] += meets(row, wanted)
    allowed = release.tables["sensitive"].filter(pl.col("ill").cast(pl.String).is_in(wanted["ill"]))
    return sum(
        (Fraction(met[g] * n, people[g]) for g, n in allowed.select("group", "count").iter_rows()), start=Fraction(0)
    )


def workloads(queries: int = 5) -> st.SearchStrategy[sf.Workload]:
    return st.builds(
        sf.Workload,
        dimension=st.just(1),
        selectivity=st.sampled_from([0.001, 0.05, 0.2, 0.5, 0.9, 1.0]),
        queries=st.just(queries),
        seed=st.integers(0, 10**6),
    )


def all_dimensions(table: sf.Microdata, workload: sf.Workload) -> Iterator[Queries]:
    for dimension in range(1, len(table.quasi) + 1):
        settings = {"selectivity": workload.selectivity, "queries": workload.queries, "seed": workload.seed}
        yield sf.Workload(dimension=dimension, **settings).draw(table)


@given(samples(most=90), workloads(), st.sampled_from([1, 2, 3, 5, 20, 70]))
@examples(30)
def test_both_schemes(sample: Sample, workload: sf.Workload, k: int) -> None:
    table = sample.read()
    require = sf.KAnonymity(k=min(k, table.rows))
    boxes = sf.publish(table, require=require, method=sf.Mondrian())
    buckets = in_buckets(table, require.k)
    below = below_labels(sample, boxes)
    for queries in all_dimensions(table, workload):
        truth, by_box, by_bucket = (
            true_counts(table, queries),
            estimates(boxes, queries, spread="even"),
            estimates(buckets, queries),
        )
        for q in range(len(queries)):
            wanted = queries.wanted(q)
            rows = sample.facts.rows
            assert truth[q] == sum(row["ill"] in wanted["ill"] and meets(row, wanted) for row in rows)
            assert by_box[q] == pytest.approx(float(twin_generalized(below, boxes, wanted)), abs=1e-9)
            assert by_bucket[q] == pytest.approx(float(twin_bucketized(buckets, wanted)), abs=1e-9)


@given(samples(most=60), workloads(30))
@examples(20)
def test_a_release_that_hides_nothing_answers_exactly(sample: Sample, workload: sf.Workload) -> None:
    """Groups of equal quasi-identifiers: the labels are leaves, and each bucket is one point."""
    rows = [{**row, "row": place // 2} for place, row in enumerate([r for r in sample.facts.rows for _ in "ab"])]
    sample.facts.rows[:] = rows
    table = sample.read()
    for scheme in ("generalization", "bucketization"):
        release = sf.publish(table, require=sf.LDiversity(l=1), method=sf.Mondrian(scheme=scheme))
        for queries in all_dimensions(table, workload):
            assert np.allclose(estimates(release, queries), true_counts(table, queries), rtol=0, atol=1e-9)


def wide_table(rows: int, ordinal: bool) -> sf.Microdata:
    """Domains too wide for bitmaps, more than 64 sensitive values, and rows for several stretches."""
    rng = np.random.default_rng(5)
    ill = [f"i{v:03}" for v in range(130)]
    frame = pl.DataFrame(
        {
            "wage": rng.integers(0, 1500, rows),
            "age": rng.integers(0, 70, rows),
            "zip": [f"z{v:03}" for v in rng.integers(0, 400, rows)],
            "sex": rng.choice(["m", "f"], rows),
            "ill": rng.choice(ill, rows),
        }
    )
    more: dict[str, Any] = {"kinds": {"ill": "ordinal"}} if ordinal else {}
    return sf.read(frame, quasi=["wage", "age", "zip", "sex"], sensitive="ill", domains={"ill": ill}, **more)


@pytest.mark.parametrize("ordinal", [False, True])
@pytest.mark.parametrize("k", [1, 2, 100])
def test_wide_domains_and_many_rows(ordinal: bool, k: int) -> None:
    table = wide_table(5000, ordinal)
    boxes = sf.publish(table, require=sf.KAnonymity(k=k), method=sf.Mondrian())
    buckets = in_buckets(table, k)
    if k == 1:
        assert buckets.tables["sensitive"]["group"].n_unique() > 64 * LANES  # more than one block of one size
    below = _below(table, boxes)
    assert table["wage"].size > 1024
    for dimension, selectivity in ((1, 0.1), (2, 0.1), (4, 0.5)):
        queries = sf.Workload(dimension=dimension, selectivity=selectivity, queries=6).draw(table)
        truth, by_box, by_bucket = (
            true_counts(table, queries),
            estimates(boxes, queries, spread="even"),
            estimates(buckets, queries),
        )
        for q in range(6):
            wanted = queries.wanted(q)
            masks = {n: np.isin(np.array(table[n].domain.leaves), v)[table[n].codes] for n, v in wanted.items()}
            assert truth[q] == np.logical_and.reduce(list(masks.values())).sum()
            assert by_bucket[q] == pytest.approx(_by_frames(buckets, wanted), abs=1e-6)
            assert by_box[q] == pytest.approx(_by_labels(below, boxes, wanted), abs=1e-6)


def _by_frames(release: sf.Release, wanted: dict[str, tuple[str, ...]]) -> float:
    met = pl.all_horizontal(pl.col(n).cast(pl.String).is_in(v) for n, v in wanted.items() if n != "ill")
    people = release.tables["quasi"].group_by("group").agg(share=met.mean())
    allowed = release.tables["sensitive"].filter(pl.col("ill").cast(pl.String).is_in(wanted["ill"]))
    joined = allowed.join(people, on="group")
    return float((joined["share"] * joined["count"]).sum())


def _below(table: sf.Microdata, release: sf.Release) -> Below:
    domains = {c.name: [int(v) if v.isdigit() else v for v in c.domain.leaves] for c in table.quasi}
    nodes = {name: release.manifest["attributes"][name]["nodes"] for name in domains}
    return {n: {label: stands_for(domains[n], m) for label, m in nodes[n].items()} for n in domains}


def _by_labels(below: Below, release: sf.Release, wanted: dict[str, tuple[str, ...]]) -> float:
    data = release.tables["data"]
    total = data["ill"].cast(pl.String).is_in(wanted["ill"]).cast(pl.Float64)
    for name in wanted.keys() - {"ill"}:
        of = {label: float(share(values, wanted[name])) for label, values in below[name].items()}
        total = total * data[name].cast(pl.String).replace_strict(of, return_dtype=pl.Float64)
    return float(total.sum())


@pytest.mark.parametrize(("size", "chosen"), [(5, 2), (5, 3), (4, 4), (6, 1)])
def test_random_sets_are_uniform(size: int, chosen: int) -> None:
    """Every equally probable sequence of draws, so the counts of the sets are exact."""
    spans = [range(size - chosen + j + 1) for j in range(chosen)]
    draws = np.array(np.meshgrid(*spans, indexing="ij"), dtype=np.uint64).reshape(chosen, -1).T.copy()
    found = Counter(random_sets(draws, size)[:, 0].tolist())
    sets = {sum(1 << v for v in some) for some in combinations(range(size), chosen)}
    assert found.keys() == sets
    assert len(set(found.values())) == 1
