"""What a release keeps of associations: exact limits, a naive twin, and every scheme."""

import math
from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.analyst.correlation import bins_of, correlation_change
from sfumato.release.label_meaning import parse_label
from sfumato.release.labels import Meanings


def frame(rows: int = 48) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + i % 6 for i in range(rows)],
            "zip": ["abc"[i * 5 % 7 % 3] for i in range(rows)],
            "ill": [("flu", "HIV", "gout")[(i % 6) // 2] for i in range(rows)],
        }
    )


def read(rows: pl.DataFrame) -> sf.Microdata:
    return sf.read(rows, quasi=["age", "zip"], sensitive="ill")


def naive_v(joint: dict[tuple[int, int], float]) -> float:
    """Cramér's V by its definition."""
    total = sum(joint.values())
    first: Counter[int] = Counter()
    second: Counter[int] = Counter()
    for (a, b), weight in joint.items():
        first[a] += weight / total  # type: ignore[assignment]
        second[b] += weight / total  # type: ignore[assignment]
    a_side, b_side = ([x for x, share in side.items() if share > 1e-12] for side in (first, second))
    if min(len(a_side), len(b_side)) < 2:
        return 0.0
    squared = sum(
        (joint.get((a, b), 0.0) / total - first[a] * second[b]) ** 2 / (first[a] * second[b])
        for a in a_side
        for b in b_side
    )
    return math.sqrt(min(squared / (min(len(a_side), len(b_side)) - 1), 1.0))


def naive_estimate(release: sf.Release, table: sf.Microdata, a: str, b: str) -> float:
    """Each row spreads its weight over all pairs of values that its labels stand for."""
    joint: dict[tuple[int, int], float] = {}
    for row in release.tables["data"].to_dicts():
        places = []
        for name in (a, b):
            entry, domain = release.description.attributes[name], table[name].domain
            nodes = getattr(entry, "nodes", None)
            codes = (
                [domain.leaves.index(str(row[name]))]
                if nodes is None
                else Meanings(domain).codes(parse_label(row[name], nodes[row[name]])).tolist()
            )
            places.append([int(bins_of(table[name])[code]) for code in codes])
        for x in places[0]:
            for y in places[1]:
                joint[x, y] = joint.get((x, y), 0.0) + 1 / len(places[0]) / len(places[1])
    return naive_v(joint)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(20, 40), st.sampled_from("abc"), st.sampled_from("xyz")), min_size=6, max_size=24),
    st.integers(1, 4),
)
def test_the_estimate_is_that_of_the_twin(rows: list[Any], k: int) -> None:
    table = read(pl.DataFrame(rows, schema=["age", "zip", "ill"], orient="row"))
    release = sf.publish(table, require=sf.KAnonymity(k=k), method="mondrian")
    for pair in correlation_change(release, table).pairs:
        assert pair.estimate == pytest.approx(naive_estimate(release, table, pair.first, pair.second), abs=1e-5)


def test_what_is_shown_as_it_is_keeps_everything() -> None:
    table = read(frame())
    release = sf.publish(table, require=sf.KAnonymity(k=1), method="mondrian")
    assert correlation_change(release, table).mean == pytest.approx(0.0, abs=1e-6)
    method = sf.RandomizedResponse(unchanged="allow", fit="counts")
    raw = sf.publish(table, require=sf.Disclosure(tau=1.0), method=method)
    assert correlation_change(raw, table).mean == pytest.approx(0.0, abs=1e-6)


def test_what_is_hidden_loses_everything() -> None:
    table = read(frame())
    release = sf.publish(table, require=sf.KAnonymity(k=48), method="mondrian")
    found = correlation_change(release, table)
    assert [p.estimate for p in found.pairs] == pytest.approx([0.0] * 3, abs=1e-6)
    assert found.greatest.change == pytest.approx(-max(p.truth for p in found.pairs), abs=1e-6)
    assert found.frame.height == 3


def test_a_single_bucket_hides_only_links_to_sensitive_values() -> None:
    table = read(frame())
    release = sf.publish(table, require=sf.LDiversity(l=3), method=sf.MondrianPlus(scheme="bucketization"))
    assert release.tables["sensitive"]["group"].n_unique() == 1
    by = {(p.first, p.second): p for p in correlation_change(release, table).pairs}
    assert by["age", "zip"].change == pytest.approx(0.0, abs=1e-6)
    assert by["age", "ill"].estimate == pytest.approx(0.0, abs=1e-6)


def test_a_sample_with_noise_is_read_back() -> None:
    """With p = 1 and groups of one person, a sample is the table; with p = 0 nothing of the values is left."""
    table = sf.read(frame(), quasi=["age", "zip"], sensitive="ill", domains={"ill": ["flu", "HIV", "gout"]})
    kept = sf.publish(table, require=sf.KAnonymity(k=1), method=sf.PG(p=1.0, boxes="tight"))
    by = {(p.first, p.second): p for p in correlation_change(kept, table).pairs}
    assert by["age", "zip"].change == pytest.approx(0.0, abs=1e-6)
    lost = sf.publish(table, require=sf.KAnonymity(k=1), method=sf.PG(p=0.0, boxes="tight"))
    found = {(p.first, p.second): p for p in correlation_change(lost, table).pairs}
    assert found["age", "ill"].estimate == pytest.approx(0.0, abs=1e-6)


def test_wrong_input() -> None:
    table = read(frame())
    release = sf.publish(table, require=sf.KAnonymity(k=2), method="mondrian")
    with pytest.raises(sf.PolicyError):
        correlation_change(release, frame())  # type: ignore[arg-type]
    alone = sf.read(frame().select("age"), quasi=["age"])
    with pytest.raises(sf.PolicyError, match="two coded attributes"):
        correlation_change(sf.publish(alone, require=sf.KAnonymity(k=2)), alone)
