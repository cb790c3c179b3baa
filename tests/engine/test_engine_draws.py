"""Draws of engines whose rows are elsewhere: the same distribution as in memory, and orders without bias.

Frequencies of two engines are compared outcome by outcome: each must lie within six standard deviations of the other,
which raises a false alarm with probability below 1e-7 per test.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engine.base import AsIs, Engine
from sfumato.engine.draws import Draws
from sfumato.engine.duckdb.engine import DuckDBEngine
from sfumato.engine.local import LocalEngine
from sfumato.engine.shuffle import Spill, in_buckets
from sfumato.engine.spark.engine import SparkEngine
from sfumato.engine.stored_rows import Limits
from sfumato.method.catalogue import from_table
from sfumato.requirement.base import Requirement
from sfumato.table.encode import Attribute, Role

ROUNDS = 150
ROWS = pl.DataFrame({"age": [1, 1, 1, 2, 2, 3], "ill": ["a", "b", "a", "b", "c", "c"], "row": [0, 1, 2, 3, 4, 5]})


def about(columns: Sequence[str]) -> list[Attribute]:
    domain = ("a", "b", "c")
    known = {
        "age": Attribute(name="age", role=Role.QUASI),
        "ill": Attribute(name="ill", role=Role.SENSITIVE, domain=domain),
        "row": Attribute(name="row", role=Role.INSENSITIVE),
    }
    return [known[name] for name in columns]


def alike(one: Counter[Any], two: Counter[Any]) -> None:
    """Whether two samples of the same size may come from the same distribution."""
    rounds = sum(one.values())
    for outcome in one | two:
        share = (one[outcome] + two[outcome]) / (2 * rounds)
        spread = np.sqrt(2 * rounds * max(share * (1 - share), 1 / rounds))
        assert abs(one[outcome] - two[outcome]) <= 6 * spread, outcome


def seen(release: sf.Release) -> Any:
    """What a release shows, without the numbers of groups."""
    if "data" in release.tables:
        return str(sorted(release.tables["data"].rows(), key=str))
    quasi, sensitive = release.tables["quasi"], release.tables["sensitive"]
    groups = [
        (sorted(quasi.filter(pl.col("group") == g)["age"]), sensitive.filter(pl.col("group") == g).drop("group").rows())
        for g in quasi["group"].unique()
    ]
    return str(sorted(groups, key=str))


@pytest.mark.parametrize("where", ["duckdb", "spark"])
@pytest.mark.parametrize("name", ["pg", "mondrian++", "hilb-safe", "anatomy", "mondrian-blur"])
def test_releases_that_are_drawn_have_the_same_distribution(
    where: str, name: str, request: pytest.FixtureRequest
) -> None:
    method = from_table({"name": name} | ({"k": 2, "p": 0.5} if name == "pg" else {}))
    require: list[Requirement] = [sf.LDiversity(l=2)]
    if name == "pg":
        require = [sf.RhoBreach(rho1=0.4, rho2=0.99, skew=0.5)]
    frame = ROWS.drop("row")
    if where == "spark":
        request.getfixturevalue("spark")
    other = SparkEngine if where == "spark" else DuckDBEngine
    engines: list[Engine] = [LocalEngine.read(frame, about), other.read(frame, about)]
    found = [
        Counter(seen(method.release(e.prepared(method.prepared), require, draws=Draws())) for _ in range(ROUNDS))
        for e in engines
    ]
    alike(*found)


@pytest.mark.parametrize("limits", [Limits(), Limits(in_memory=1, part_rows=2)], ids=["whole", "parts"])
def test_every_order_of_rows_is_equally_likely(limits: Limits) -> None:
    """Four different rows: each of their 24 orders; six standard deviations, a false alarm below 1e-7."""
    there, rounds = DuckDBEngine.read(ROWS.drop("row").unique().head(4), about, limits=limits), 720
    found = Counter[Any]()
    for _ in range(rounds):
        shown = there.publish([AsIs("age"), AsIs("ill")], Draws())
        found[tuple((shown if isinstance(shown, pl.DataFrame) else shown.read()).rows())] += 1
    each = rounds / 24
    assert len(found) == 24
    assert all(abs(n - each) <= 6 * np.sqrt(each) for n in found.values())


@pytest.mark.parametrize("most", [1, 2, 3, 10])
def test_buckets_lose_and_repeat_no_row_and_are_uniform(most: int) -> None:
    spill, found = Spill(), Counter[Any]()
    batches: Callable[[], list[pl.DataFrame]] = lambda: [pl.DataFrame({"x": [0, 1]}), pl.DataFrame({"x": [2]})]  # noqa: E731
    for _ in range(600):
        order = [x for bucket in in_buckets(batches(), 3, most, Draws(), spill) for x in bucket["x"]]
        found[tuple(order)] += 1
    assert found.keys() == set(permutations(range(3)))
    assert all(abs(n - 100) <= 6 * 10 for n in found.values())
    place = spill.path
    assert [left.name for left in place.iterdir()] == ["sfumato.lock"]
    spill.remove()
    assert not place.exists()


def test_what_a_killed_process_spilled_is_removed_by_the_next(tmp_path: Path) -> None:
    left = tmp_path / "sfumato-spill-dead"
    left.mkdir()
    (left / "sfumato.lock").touch()
    (left / "0-0.ipc").write_bytes(b"rows")
    stranger = tmp_path / "sfumato-spill-without-a-lock"
    stranger.mkdir()
    living = Spill(tmp_path)
    (living.path / "0-0.ipc").write_bytes(b"rows")
    another = Spill(tmp_path)
    assert not left.exists()
    assert stranger.exists()
    assert living.path.exists()
    for spill in (living, another):
        spill.remove()
        assert not spill.path.exists()
