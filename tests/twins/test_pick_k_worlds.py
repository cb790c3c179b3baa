"""Pick-up with k > l: groups of at least k rows, and all tables behind them equally likely, by enumeration."""

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.adversary.algorithm_aware import with_codes
from sfumato.errors import PolicyError
from sfumato.method.diversity import DiversityMethod
from sfumato.release.judgement import bind
from sfumato.requirement.base import Requirement
from sfumato.table.microdata import Microdata, read

Published = frozenset[tuple[frozenset[int], tuple[int, ...]]]

PLACES = {
    "line": [(i,) for i in (3, 0, 2, 1, 5, 4)],
    "plane": [(0, 0), (1, 1), (0, 3), (2, 2), (3, 0), (1, 2)],
}
EIGHT = [0, 0, 0, 1, 1, 1, 2, 2]
PICKING = [sf.MondrianPlusPlus(), sf.HilbSafe(), sf.Anatomy(scheme="generalization")]


def people(places: list[tuple[int, ...]], values: int) -> Microdata:
    frame = pl.DataFrame({f"q{j}": [p[j] for p in places] for j in range(len(places[0]))})
    frame = frame.with_columns(s=pl.lit("0"))
    names = [c for c in frame.columns if c != "s"]
    return read(frame, quasi=names, sensitive="s", domains={"s": [str(v) for v in range(values)]})


def chances(
    table: Microdata, codes: tuple[int, ...], method: DiversityMethod, require: list[Requirement]
) -> dict[Published, Fraction]:
    """What can be published from a table, with its probability."""
    out: dict[Published, Fraction] = defaultdict(Fraction)
    data = with_codes(table, {"s": np.array(codes)})
    for drawn, chance in method.outcomes(data, bind(require, data)):
        groups = [np.flatnonzero(drawn.groups.of_row == g).tolist() for g in range(drawn.groups.number)]
        out[frozenset((frozenset(g), tuple(sorted(codes[i] for i in g))) for g in groups)] += chance
    return out


def consistent(result: Published, codes: tuple[int, ...]) -> bool:
    return all(tuple(sorted(codes[i] for i in members)) == values for members, values in result)


@pytest.mark.parametrize("method", PICKING, ids=lambda m: m.name)
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("k", [3, 4, 5])
def test_every_table_behind_the_groups_is_equally_likely(
    method: DiversityMethod, places: list[tuple[int, ...]], k: int
) -> None:
    """Six people, three values, l = 2."""
    require: list[Requirement] = [sf.LDiversity(l=2), sf.KAnonymity(k=k)]
    table = people(places, 3)
    tables = [t for t in itertools.product(range(3), repeat=6) if max(map(t.count, range(3))) <= 3]
    seen = {t: chances(table, t, method, require) for t in tables}
    results = {r for made in seen.values() for r in made}
    assert all(sum(made.values()) == 1 for made in seen.values())
    for result in results:
        for members, values in result:
            assert len(members) >= k
            assert all(2 * values.count(v) <= len(values) for v in values)
        assert len({seen[t].get(result, Fraction()) for t in tables if consistent(result, t)}) == 1


def test_groups_are_merged_and_not_only_left_whole() -> None:
    """Eight people, l = 2, k = 3: pick-up makes pairs, and two pairs make a group."""
    table = people([(i,) for i in range(8)], 3)
    codes = tuple(EIGHT)
    made = chances(table, codes, sf.Anatomy(scheme="generalization"), [sf.LDiversity(l=2), sf.KAnonymity(k=3)])
    assert {tuple(sorted(len(members) for members, _ in result)) for result in made} == {(4, 4)}
    assert sum(made.values()) == 1
    assert len(made) > 1


@pytest.mark.parametrize("method", PICKING, ids=lambda m: m.name)
@pytest.mark.parametrize(("l", "k"), [(2, 5), (3, 4), (3, 20), (2, 400)])
def test_every_k_is_served(method: DiversityMethod, l: int, k: int) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"x": rng.integers(0, 50, 400), "y": rng.integers(0, 9, 400), "s": rng.integers(0, 7, 400)})
    table = read(frame, quasi=["x", "y"], sensitive="s")
    release = sf.publish(table, require=[sf.LDiversity(l=l), sf.KAnonymity(k=k)], method=method)
    release.check()
    groups = sf.partition(table, require=[sf.LDiversity(l=l), sf.KAnonymity(k=k)], method=method)
    sizes = np.bincount(groups)
    assert sizes.min() >= k
    assert sizes.max() < 2 * (k + 2 * l) or sizes.max() == 400


def test_what_is_not_served_is_refused_with_the_method_that_can() -> None:
    frame = pl.DataFrame(
        {"x": [1, 2, 3, 4] * 5, "s": list("abcd") * 5, "t": list("bcda") * 5, "person": list("abcdefghijklmnopqrst")}
    )
    table = read(frame, quasi=["x"], sensitive=["s", "t"], identifiers=["person"])
    for method in ("mondrian++", "hilb-safe", "anatomy", "mondrian+"):
        with pytest.raises(PolicyError, match="mondrian-blur serves several sensitive attributes"):
            sf.publish(table, require=sf.LDiversity(l=2), method=method)
        with pytest.raises(PolicyError, match="mondrian-blur serves several"):
            sf.publish(table, require=[sf.LDiversity(l=2, sensitive=n) for n in "st"], method=method)
    entity = [sf.LDiversity(l=2, sensitive="s"), sf.KAnonymity(k=2, entity="person")]
    for picking in [*PICKING, sf.MondrianPlus()]:
        with pytest.raises(PolicyError, match=r"give each person one row.* mondrian serves k-anonymity alone"):
            sf.publish(table, require=entity, method=picking)
        with pytest.raises(PolicyError, match=r"but none is required; .*mondrian serves k-anonymity alone"):
            sf.publish(table, require=sf.KAnonymity(k=2), method=picking)
        with pytest.raises(PolicyError, match="mondrian serves it, but not against an adversary who knows"):
            sf.publish(table, require=sf.TCloseness(t=0.5, sensitive="s"), method=picking)
    for small in (sf.Hilb(), sf.Injector(scheme="generalization")):
        with pytest.raises(PolicyError, match="mondrian\\+\\+, hilb-safe or anatomy"):
            sf.publish(table, require=[sf.LDiversity(l=2, sensitive="s"), sf.KAnonymity(k=3)], method=small)
