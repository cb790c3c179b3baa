"""Relative errors of count queries: what a user asks for, gets, and is told."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from buckets import in_buckets
from sfumato.analyst import count_query
from sfumato.analyst.count_query import RelativeErrors, estimates
from sfumato.release.release import Release

TREE = {"Any": {"Alone": ["Divorced", "Widowed", "Single"], "Together": ["Married"]}}


def people(rows: int = 300, years: int = 0, **more: object) -> sf.Microdata:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "age": years + rng.integers(18, 90, rows),
            "zip": rng.choice(["471", "472", "480"], rows),
            "status": rng.choice(["Divorced", "Widowed", "Single", "Married"], rows),
            "ill": [f"ill{v}" for v in rng.integers(0, 8, rows)],
            "row": [str(i % 9) for i in range(rows)],
        }
    )
    options: dict[str, object] = {"quasi": ["age", "zip", "status"], "sensitive": "ill", "taxonomies": {"status": TREE}}
    return sf.read(frame, **(options | more))  # type: ignore[arg-type]


def test_worked_example() -> None:
    """Two boxes of two people: below 30 lie 2 values, of which 20 is asked for; from 30 on all are asked for."""
    frame = pl.DataFrame({"age": [20, 29, 40, 49], "ill": ["flu", "HIV", "flu", "HIV"]})
    table = sf.read(frame, quasi=["age"], sensitive="ill")
    boxes = sf.publish(table, require=sf.KAnonymity(k=2))
    assert sorted(boxes.tables["data"]["age"].unique()) == ["< 30", ">= 30"]
    buckets = in_buckets(table, 2)
    queries = sf.Workload(dimension=1, selectivity=0.25, queries=200).draw(table)
    expected = {("20", "29"): 1.0, ("29", "40"): 1.0, ("40", "49"): 1.0}
    seen = set()
    for q, by_box, by_bucket in zip(range(200), estimates(boxes, queries), estimates(buckets, queries), strict=True):
        wanted = queries.wanted(q)
        assert len(wanted["ill"]) == 1
        seen.add(wanted["age"])
        assert by_box == by_bucket == expected[wanted["age"]]
    assert seen == expected.keys()


def test_how_many_values_a_predicate_allows() -> None:
    workload = sf.Workload(dimension=3, selectivity=0.05)
    assert [workload.values_of(n) for n in (1, 2, 79, 50)] == [1, 1, 38, 24]  # ceil(n * 0.05 ** 0.25)
    assert sf.Workload(dimension=2, selectivity=0.001).values_of(10) == 1  # in floating point 2
    assert sf.Workload(dimension=2, selectivity=1).values_of(10) == 10


def test_queries_are_what_the_workload_says() -> None:
    table = people()
    queries = sf.Workload(dimension=2, selectivity=0.1, queries=300, seed=4).draw(table)
    asked = set()
    for q in range(300):
        wanted = queries.wanted(q)
        assert len(wanted) == 3
        assert list(wanted)[-1] == "ill"
        asked.add(tuple(wanted)[:2])
        for name, values in wanted.items():
            assert len(set(values)) == queries_of(table, name)
        if "age" in wanted:
            codes = [table["age"].domain.leaves.index(v) for v in wanted["age"]]
            assert codes == list(range(codes[0], codes[0] + len(codes)))
    assert asked == {("age", "zip"), ("age", "status"), ("zip", "status")}
    again = sf.Workload(dimension=2, selectivity=0.1, queries=300, seed=4).draw(table)
    other = sf.Workload(dimension=2, selectivity=0.1, queries=300, seed=5).draw(table)
    assert [again.wanted(q) for q in range(300)] == [queries.wanted(q) for q in range(300)]
    assert [other.wanted(q) for q in range(300)] != [queries.wanted(q) for q in range(300)]


def queries_of(table: sf.Microdata, name: str) -> int:
    size = table[name].size
    return next(b for b in range(1, size + 1) if b**3 * 10 >= size**3)


@pytest.mark.parametrize("scheme", ["generalization", "bucketization"])
def test_relative_errors(scheme: str, tmp_path: Path) -> None:
    table = people(60)
    method = sf.MondrianPlus(scheme=scheme)  # type: ignore[arg-type]
    release = sf.publish(table, require=sf.LDiversity(l=3), method=method, rng=np.random.default_rng(1))
    found = sf.relative_errors(release, table, sf.Workload(dimension=3, selectivity=0.001, queries=500))
    assert found.actual.shape == found.estimate.shape == found.error.shape == (500,)
    assert 0 < found.left_out == (found.actual == 0).sum() < 500
    kept = found.actual > 0
    errors = np.abs(found.actual - found.estimate)[kept] / found.actual[kept]
    assert found.mean == pytest.approx(errors.mean())
    assert found.median == pytest.approx(np.median(errors))
    assert np.isnan(found.error[~kept]).all()
    release.write(tmp_path / "out")
    again = sf.relative_errors(
        sf.load(tmp_path / "out"), table, sf.Workload(dimension=3, selectivity=0.001, queries=500)
    )
    assert np.array_equal(again.estimate, found.estimate)


def test_sanity_bound() -> None:
    found = RelativeErrors(np.array([0, 1, 20]), np.array([2.0, 2.0, 10.0]), 4.0)
    assert found.error.tolist() == [0.5, 0.25, 0.5]
    assert found.left_out == 0
    table = people(60)
    release = sf.publish(table, require=sf.KAnonymity(k=5))
    bounded = sf.relative_errors(release, table, sf.Workload(selectivity=0.001, queries=500), bound=3)
    assert bounded.left_out == 0
    assert bounded.mean < sf.relative_errors(release, table, sf.Workload(selectivity=0.001, queries=500)).mean


@pytest.mark.parametrize(
    "taxonomies",
    [
        {"age": {"width": 5}, "zip": {"mask": "right"}, "status": TREE},
        {"age": {"intervals": [0, 30, 60, 120]}, "zip": {"mask": "left"}, "status": TREE},
    ],
)
@pytest.mark.parametrize("k", [1, 7])
def test_labels_of_every_rule_are_read(taxonomies: dict[str, object], k: int) -> None:
    """Whole domains asked for: every label lies within, so each query counts just the allowed sensitive values."""
    table = people(taxonomies=taxonomies)
    release = sf.publish(table, require=sf.KAnonymity(k=k))
    queries = sf.Workload(dimension=3, selectivity=1, queries=3).draw(table)
    assert np.allclose(estimates(release, queries), 300)
    halves = sf.Workload(dimension=1, selectivity=0.25, queries=60).draw(table)
    for q, estimate in enumerate(estimates(release, halves, spread="even")):
        wanted = halves.wanted(q)
        name = next(iter(wanted))
        rows = release.tables["data"].filter(pl.col("ill").cast(pl.String).is_in(wanted["ill"]))
        expected = sum(_share(table, name, label, wanted[name]) for label in rows[name])
        assert estimate == pytest.approx(expected)


def _share(table: sf.Microdata, name: str, label: str, wanted: tuple[str, ...]) -> float:
    """By what a person reads in the label."""
    below = {v for part in label.strip("{}").split(", [") for v in _read(table, name, part)}
    return len(below & set(wanted)) / len(below)


def _read(table: sf.Microdata, name: str, part: str) -> set[str]:
    leaves = table[name].domain.leaves
    if name == "age" and part.endswith(")"):
        low, high = (float(x) for x in part.strip("[)").split(", "))
        return {v for v in leaves if low <= float(v.strip("[)").split(", ")[0]) < high}
    below: set[str] = set()
    for word in part.split(", "):
        alone = {"Alone": TREE["Any"]["Alone"], "Any": list(leaves), "*": list(leaves)}.get(word)
        below |= set(alone or [v for v in leaves if all(a in ("*", b) for a, b in zip(word, v, strict=False))])
    return below


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"dimension": 0}, "dimension of a workload is 0"),
        ({"dimension": True}, "dimension of a workload is True"),
        ({"queries": 0}, "queries of a workload is 0"),
        ({"seed": -1}, "seed of a workload is -1"),
        ({"selectivity": 0}, r"must be in \(0, 1\]"),
        ({"selectivity": 1.5}, r"must be in \(0, 1\]"),
        ({"selectivity": math.nan}, r"must be in \(0, 1\]"),
        ({"selectivity": "5%"}, r"must be in \(0, 1\]"),
    ],
)
def test_bad_workloads(settings: dict[str, object], told: str) -> None:
    with pytest.raises(sf.PolicyError, match=told):
        sf.Workload(**settings)  # type: ignore[arg-type]


def test_what_does_not_fit_the_table() -> None:
    table = people()
    release = sf.publish(table, require=sf.KAnonymity(k=5))
    with pytest.raises(sf.PolicyError, match=r"dimension 4 .* has 3; lower"):
        sf.relative_errors(release, table, sf.Workload(dimension=4))
    with pytest.raises(sf.PolicyError, match=r"not a sensitive attribute .* there are 'ill'"):
        sf.relative_errors(release, table, sf.Workload(sensitive="zip"))
    with pytest.raises(sf.PolicyError, match="has none; give a column that role"):
        sf.relative_errors(release, people(sensitive=()), sf.Workload())
    with pytest.raises(sf.PolicyError, match="name one"):
        sf.relative_errors(
            release, people(quasi=["age"], sensitive=["zip", "ill"], taxonomies={}), sf.Workload(dimension=1)
        )
    with pytest.raises(sf.PolicyError, match="sanity bound is -1"):
        sf.relative_errors(release, table, sf.Workload(), bound=-1)


def test_no_query_counts_a_row() -> None:
    frame = pl.DataFrame({"age": list(range(40)), "ill": ["a"] * 20 + ["b"] * 20})
    table = sf.read(frame, quasi=["age"], sensitive="ill", domains={"ill": [*"abcdefghijklmnopqrstuvwxyz"]})
    release = sf.publish(table, require=sf.KAnonymity(k=5))
    with pytest.raises(sf.PolicyError, match="none of the 2 queries counts a row"):
        sf.relative_errors(release, table, sf.Workload(dimension=1, selectivity=1e-6, queries=2))


@pytest.mark.parametrize("scheme", ["generalization", "bucketization"])
def test_a_release_of_another_table(scheme: str) -> None:
    method = sf.Mondrian(scheme=scheme)  # type: ignore[arg-type]
    release = sf.publish(people(), require=sf.LDiversity(l=2), method=method)
    other, older = people(quasi=["age"], taxonomies={}), people(years=100)
    for table, told in (
        (people(299), "has 300 rows and the table 299"),
        (other, "the quasi-identifiers of the release are 'age', 'zip', 'status'"),
        (older, "release was made from another table"),
        (people(sensitive="row"), "'row' is not a sensitive attribute of the release"),
    ):
        with pytest.raises(sf.DataError, match=told):
            sf.relative_errors(release, table, sf.Workload(dimension=1))


def test_damaged_and_other_releases() -> None:
    table = people()
    buckets = in_buckets(table, 5)
    short = Release(buckets.manifest, {**buckets.tables, "sensitive": buckets.tables["sensitive"][1:]})
    with pytest.raises(sf.ReleaseError, match="more or fewer sensitive values"):
        sf.relative_errors(short, table, sf.Workload())
    boxes = sf.publish(table, require=sf.KAnonymity(k=5))
    odd = Release({**boxes.manifest, "scheme": "randomization"}, boxes.tables)
    with pytest.raises(sf.PolicyError, match="by randomization"):
        sf.relative_errors(odd, table, sf.Workload())


def test_groups_one_by_one_give_what_cells_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where counts of groups and values would take too much room, the slower way answers the same."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "x": rng.integers(0, 90, 800),
            "y": rng.choice(list("abcdefgh"), 800),
            "z": rng.choice(list("uvw"), 800),
            "s": rng.choice([f"v{i}" for i in range(9)], 800),
        }
    )
    tree = {"any": {"low": list("abcd"), "high": list("efgh")}}
    table = sf.read(frame, quasi=["x", "y", "z"], sensitive="s", taxonomies={"y": tree})
    release = sf.publish(table, require=sf.KAnonymity(k=7))
    queries = sf.Workload(dimension=2, selectivity=0.2, queries=300).draw(table)
    buckets = in_buckets(table, 7)
    fast = [count_query.estimates(r, queries) for r in (release, buckets)]
    monkeypatch.setattr(count_query, "_MOST_CELLS", 0)
    for r, found in zip((release, buckets), fast, strict=True):
        assert np.allclose(count_query.estimates(r, queries), found, rtol=1e-12, atol=1e-9)


def test_workloads_are_answered_as_the_analyst_answers() -> None:
    """One estimator: where the table has no other values than the release shows, the answers are the same."""
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "age": np.concatenate([np.arange(40), rng.integers(0, 40, 460)]),
            "status": rng.choice(["Divorced", "Widowed", "Single", "Married"], 500, p=[0.1, 0.1, 0.2, 0.6]),
            "ill": [f"ill{v}" for v in rng.integers(0, 8, 500)],
        }
    )
    table = sf.read(frame, quasi=["age", "status"], sensitive="ill", taxonomies={"status": TREE})
    boxes = sf.publish(table, require=sf.KAnonymity(k=5), method="mondrian")
    queries = sf.Workload(dimension=2, selectivity=0.1, queries=40).draw(table)
    for release in (boxes, in_buckets(table, 5)):
        analyst = sf.Analyst(release)
        for q, estimate in enumerate(estimates(release, queries)):
            parts = [f"{n} in ({', '.join(map(repr, v))})" for n, v in queries.wanted(q).items()]
            alone = analyst.count(" and ".join(parts))
            assert estimate == pytest.approx(alone.estimate, rel=1e-3, abs=1e-3)


def test_a_wrong_way_to_spread_is_refused() -> None:
    table = people()
    with pytest.raises(sf.PolicyError, match=r"spread = 'flat'; it must be 'likely' .* or 'even'"):
        sf.relative_errors(sf.publish(table, require=sf.KAnonymity(k=5)), table, sf.Workload(), spread="flat")  # type: ignore[arg-type]
