"""A counted table that is too large for this process is cut piece by piece: the same release as in memory."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engine import values
from sfumato.engine.base import Engine
from sfumato.engine.draws import Draws
from sfumato.engine.duckdb.connection import Connection
from sfumato.engine.duckdb.engine import DuckDBEngine
from sfumato.engine.local import LocalEngine
from sfumato.engine.pieces import Pieces
from sfumato.engine.settings import EngineSettings
from sfumato.engine.shuffle import Spill
from sfumato.engine.stored_rows import Limits
from sfumato.method.base import Method
from sfumato.method.catalogue import from_table
from sfumato.requirement.base import Requirement
from sfumato.table.encode import Attribute, Role
from strategies import examples

JOBS = {"Any": {"office": ["clerk", "boss", "typist"], "field": ["farmer", "guard"]}}
ABOUT = {
    "age": Attribute(name="age", role=Role.QUASI),
    "job": Attribute(name="job", role=Role.QUASI, taxonomy=JOBS),
    "town": Attribute(name="town", role=Role.QUASI),
    "ill": Attribute(name="ill", role=Role.SENSITIVE, domain=("flu", "HIV", "cough", "burn")),
    "paid": Attribute(name="paid", role=Role.CLASS),
}


def about(columns: Sequence[str]) -> list[Attribute]:
    return [ABOUT[name] for name in columns]


def people(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 18 + int(rng.integers(1, 40)), rows),
            "job": rng.choice(["clerk", "boss", "typist", "farmer", "guard"], rows, p=[0.4, 0.2, 0.1, 0.2, 0.1]),
            "town": rng.choice(["a", "b", "c", "d"], rows),
            "ill": rng.choice(["flu", "HIV", "cough", "burn"], rows, p=[0.4, 0.3, 0.2, 0.1]),
            "paid": rng.choice(["yes", "no"], rows),
        }
    )


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory for about 24 vectors, so that a piece has at most 6."""
    small_memory(monkeypatch)


def small_memory(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(values, "BYTES_PER_VECTOR", 256 * 10**6 // 2 // 24)
    patch.setattr(values, "BYTES_PER_CODE", 0)


def pieced(frame: pl.DataFrame, **settings: Any) -> DuckDBEngine:
    return DuckDBEngine.read(frame, about, settings=EngineSettings(memory="256MB"), **settings)


def made(engine: Engine, method: Method, require: Sequence[Requirement]) -> sf.Release:
    return method.release(engine.prepared(method.prepared), require, draws=Draws())


def rows_of(release: sf.Release) -> Counter[Any]:
    return Counter(map(str, release.tables["data"].rows()))


METHODS: list[tuple[dict[str, Any], list[Requirement]]] = [
    ({"name": "mondrian"}, [sf.KAnonymity(k=3)]),
    ({"name": "mondrian", "cuts": "saving"}, [sf.KAnonymity(k=3)]),
    ({"name": "mondrian", "cuts": "saving"}, [sf.KAnonymity(k=2), sf.LDiversity(l=2)]),
    ({"name": "mondrian", "labels": "nodes"}, [sf.KAnonymity(k=2), sf.LDiversity(l=2)]),
    ({"name": "mondrian"}, [sf.LDiversity(l=2, variant="entropy"), sf.LDiversity(l=2, variant="distinct")]),
    ({"name": "mondrian"}, [sf.LDiversity(l=2, variant="recursive", c=2)]),
    ({"name": "mondrian"}, [sf.AlphaK(alpha=0.7, k=2)]),
    ({"name": "mondrian"}, [sf.TCloseness(t=0.35, distance="equal")]),
    ({"name": "mondrian"}, [sf.BetaLikeness(beta=2.0), sf.DeltaDisclosure(delta=2.0)]),
    ({"name": "mondrian"}, [sf.Confidentiality(x=["age", "job"], y={"ill": ["HIV"]}, k=0.7), sf.KAnonymity(k=2)]),
    ({"name": "mondrian+"}, [sf.LDiversity(l=2)]),
    ({"name": "mondrian+"}, [sf.LDiversity(l=1.5), sf.KAnonymity(k=4)]),
]


@pytest.mark.parametrize(("method", "require"), METHODS, ids=str)
def test_pieces_give_the_release_of_the_whole(few: None, method: dict[str, Any], require: list[Requirement]) -> None:
    for seed in range(2):
        frame = people(160, seed)
        there = pieced(frame, limits=Limits(in_memory=10**6 if seed else 10, part_rows=50))
        assert isinstance(there.pieces, Pieces)
        one = made(LocalEngine.read(frame, about), from_table(method), require)
        two = made(there, from_table(method), require)
        assert two.manifest == one.manifest
        assert rows_of(two) == rows_of(one)
        assert [f.as_dict() for f in two.check()] == [f.as_dict() for f in one.check()]


@given(rows=st.integers(30, 90), seed=st.integers(0, 10**6), k=st.integers(1, 6), l=st.sampled_from([1, 1.5, 2, 3]))
@examples(8)
def test_pieces_of_any_table_give_the_release_of_the_whole(rows: int, seed: int, k: int, l: float) -> None:
    frame, require = people(rows, seed), [sf.KAnonymity(k=k), sf.LDiversity(l=l, variant="frequency")]
    try:
        one = made(LocalEngine.read(frame, about), sf.Mondrian(), require)
    except sf.Infeasible:
        with pytest.MonkeyPatch.context() as patch:
            small_memory(patch)
            there = pieced(frame)
        with pytest.raises(sf.Infeasible):
            made(there, sf.Mondrian(), require)
        return
    with pytest.MonkeyPatch.context() as patch:
        small_memory(patch)
        two = made(pieced(frame), sf.Mondrian(), require)
    assert two.manifest == one.manifest
    assert rows_of(two) == rows_of(one)


def test_a_node_of_many_children_is_cut_into_many_parts_at_once(few: None) -> None:
    """More children than a set of them can show: all that can be are split off at once, the heaviest first."""
    rng = np.random.default_rng(1)
    many = rng.choice([f"t{i:02}" for i in range(90)], 900, p=np.arange(1, 91) / 4095)
    frame = people(900, 2).with_columns(town=pl.Series(many), job=pl.lit("clerk"), age=pl.col("age") % 2)
    for require in ([sf.KAnonymity(k=4)], [sf.LDiversity(l=2)]):
        one = made(LocalEngine.read(frame, about), sf.Mondrian(), require)
        two = made(pieced(frame), sf.Mondrian(), require)
        assert two.manifest == one.manifest
        assert rows_of(two) == rows_of(one)


def test_a_region_without_an_allowed_cut_is_a_group_however_large(few: None) -> None:
    frame = people(160, 1)
    require = [sf.KAnonymity(k=81)]
    one = made(LocalEngine.read(frame, about), sf.Mondrian(), require)
    two = made(pieced(frame), sf.Mondrian(), require)
    assert len(one.group_sizes()) == 1
    assert two.manifest == one.manifest
    assert rows_of(two) == rows_of(one)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"name": "incognito"}, "incognito needs all of it at once"),
        ({"name": "mondrian", "strict": False}, "set strict = true"),
        ({"name": "mondrian", "scheme": "bucketization"}, 'scheme = "generalization"'),
        ({"name": "mondrian++"}, "use mondrian\\+"),
        ({"name": "tdr"}, "tdr needs all of it"),
    ],
)
def test_what_needs_the_whole_counted_table_is_refused_in_words(
    few: None, settings: dict[str, Any], words: str
) -> None:
    there = pieced(people(160, 1))
    require: list[Requirement] = [sf.LDiversity(l=2)]
    if settings["name"] == "tdr":
        require = [sf.Anonymity(x=["age"], k=4)]
    with pytest.raises(sf.DataError, match=f"raise memory under.*mondrian .strict. and mondrian.*{words}"):
        made(there, from_table(settings), require)


def test_a_whole_job_in_pieces(few: None, tmp_path: Path) -> None:
    people(300, 1).write_parquet(tmp_path / "t.parquet")
    roles = "\n".join(f'{name} = "{a.role}"' for name, a in ABOUT.items())
    policy = tmp_path / "policy.toml"
    text = f'[data]\nsource = "t.parquet"\n[attributes]\n{roles}\n[[require]]\nmodel = "k-anonymity"\nk = 3\n'
    engine = '[engine]\nname = "duckdb"\nmemory = "256MB"\n'
    policy.write_text(f'{text}[method]\nname = "mondrian"\n{engine}')
    one = sf.publish_policy(policy, tmp_path / "one", engine="local", ledger=False)
    two = sf.publish_policy(policy, tmp_path / "two", ledger=False)
    assert rows_of(two.release) == rows_of(one.release)
    assert two.summary.lines() == one.summary.lines()
    assert any("cut piece by piece" in warning for warning in two.warnings)
    report = (tmp_path / "two/private/report.html").read_text()
    assert "Prosecutor risk" in report
    policy.write_text(text + engine)
    with pytest.raises(sf.DataError, match="name one under"):
        sf.publish_policy(policy, tmp_path / "three", ledger=False)
    policy.write_text(text.replace('paid = "class"', 'paid = "insensitive"') + f'[method]\nname = "mondrian"\n{engine}')
    with pytest.raises(sf.DataError, match="insensitive column 'paid'"):
        sf.publish_policy(policy, tmp_path / "four", ledger=False)


def test_duckdb_rests_as_far_as_it_can(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It refuses a limit below what it cannot move to disk: then it may hold more, and the job goes on."""
    import duckdb

    asked: list[int] = []

    def allow(_: Connection, memory: int) -> None:
        asked.append(memory)
        if memory < 1 << 28:
            raise duckdb.OutOfMemoryException("could not free up enough memory for the new limit")

    monkeypatch.setattr(Connection, "allow", allow)
    spill = Spill(tmp_path)
    Connection(duckdb.connect(), spill, 1 << 32).rest()
    assert asked == [1 << 26, 1 << 27, 1 << 28]
    Connection(duckdb.connect(), spill, 1 << 28).rest()  # never more than the half that is its own
    assert asked[3:] == [1 << 26]
    spill.remove()
