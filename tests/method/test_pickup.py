"""Stratified pick-up after any partition."""

import tracemalloc
from typing import Literal

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError
from sfumato.release.judgement import bind
from sfumato.table.microdata import Microdata, read


def people(number: int = 400) -> Microdata:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.integers(0, 50, number), "y": rng.integers(0, 9, number)})
    return read(frame.with_columns(s=pl.Series(rng.integers(0, 7, number))), quasi=["x", "y"], sensitive="s")


@pytest.mark.parametrize("method", ["mondrian", "mondrian+", "hilb-safe", "hilb+"])
def test_groups_are_divided_inside_and_stay_diverse(method: str) -> None:
    table = people()
    groups = sf.partition(table, require=sf.LDiversity(l=3), method=method)
    picked = sf.stratified_pickup(table, groups, l=3)
    for g in np.unique(picked):
        rows = np.flatnonzero(picked == g)
        assert len(set(groups[rows])) == 1
        codes = table["s"].codes[rows]
        assert np.bincount(codes).max() * 3 <= len(rows)
        if len(rows) >= 6:
            assert len(rows) == (groups == groups[rows[0]]).sum()


def test_after_mondrian_plus_it_is_mondrian_plus_plus() -> None:
    """The same draws give the same groups."""
    table = people()
    base = sf.partition(table, require=sf.LDiversity(l=2), method="mondrian+")
    picked = sf.stratified_pickup(table, base, l=2, rng=np.random.default_rng(5))
    both = sf.partition(table, require=sf.LDiversity(l=2), method="mondrian++", rng=np.random.default_rng(5))
    assert len(np.unique(picked * len(both) + both)) == len(np.unique(both)) == len(np.unique(picked))


def test_memory_does_not_grow_with_groups_times_values() -> None:
    """2,000 groups and 4,000 values: all their counts side by side would take 64 MB."""
    frame = pl.DataFrame({"x": np.arange(4000), "s": [f"v{i:04}" for i in range(4000)]})
    table = read(frame, quasi=["x"], sensitive="s")
    groups = np.arange(4000) // 2
    sf.stratified_pickup(table, groups, l=2)
    tracemalloc.start()
    picked = sf.stratified_pickup(table, groups, l=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(np.unique(picked)) == 2000
    assert peak < 8_000_000


@pytest.mark.parametrize("method", ["mondrian++", "hilb", "hilb++", "anatomy"])
def test_groups_that_cannot_be_divided_stay(method: str) -> None:
    """Groups of fewer than 2l rows, as these methods make here, are what they were."""
    table = people()
    groups = sf.partition(table, require=sf.LDiversity(l=3), method=method)
    picked = sf.stratified_pickup(table, groups, l=3)
    assert np.bincount(groups).max() < 6
    assert len(np.unique(picked)) == len(np.unique(groups)) == len(np.unique(picked * 400 + groups))


@pytest.mark.parametrize("front", ["mondrian", "hilb"])
def test_after_mask_plus_it_is_mask_plus_plus(front: Literal["mondrian", "hilb"]) -> None:
    """Where each value is sensitive by itself: the same draws give the same groups of the masked table."""
    table, wanted = people(), sf.MConfidentiality(m=3, sensitive="s")
    rng = np.random.default_rng(5)
    masked, groups = sf.MaskPlus(k=20, front=front).draw(table, bind([wanted], table), draws=Draws(rng))
    picked = sf.stratified_pickup(masked, groups.of_row, l=3, rng=rng)
    both = sf.MaskPlusPlus(k=20, front=front).draw(table, bind([wanted], table), draws=Draws(np.random.default_rng(5)))
    assert np.array_equal(both.table["s"].codes, masked["s"].codes)
    assert len(np.unique(picked * 400 + both.groups.of_row)) == both.groups.number == len(np.unique(picked))


@pytest.mark.parametrize("method", ["mondrian++", "hilb-safe", "anatomy"])
def test_a_fraction_is_refused_with_the_methods_that_serve_it(method: str) -> None:
    with pytest.raises(PolicyError, match=r"set l = 2, or use mondrian\+ or mondrian-blur"):
        sf.partition(people(), require=sf.LDiversity(l=1.5), method=method)
    for other in ("mondrian+", "mondrian-blur"):
        assert len(np.unique(sf.partition(people(), require=sf.LDiversity(l=1.5), method=other))) > 1


def test_wrong_groups_are_refused() -> None:
    table = people()
    with pytest.raises(Infeasible, match="lower l"):
        sf.stratified_pickup(table, np.arange(400), l=2)
    with pytest.raises(PolicyError, match="400 rows"):
        sf.stratified_pickup(table, np.zeros(3, np.int64), l=2)
    with pytest.raises(PolicyError, match="l = 0"):
        sf.stratified_pickup(table, np.zeros(400, np.int64), l=0)
    two = sf.read(pl.DataFrame({"x": [1, 2], "s": ["a", "b"], "t": ["a", "b"]}), quasi="x", sensitive=["s", "t"])
    with pytest.raises(PolicyError, match=r"the table has 2; .* mondrian-blur, which serves several"):
        sf.stratified_pickup(two, np.zeros(2, np.int64), l=2)
