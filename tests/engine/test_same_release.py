"""One decision, several engines: the same manifest and the same rows, or the same distribution where rows are drawn."""

import datetime as dt
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engine.base import Engine
from sfumato.engine.draws import Draws
from sfumato.engine.duckdb.engine import DuckDBEngine
from sfumato.engine.local import LocalEngine
from sfumato.engine.settings import EngineSettings
from sfumato.engine.spark.engine import SparkEngine
from sfumato.engine.stored_rows import Limits
from sfumato.method.base import Method
from sfumato.method.catalogue import from_table
from sfumato.release.part_tables import as_stored
from sfumato.requirement.base import Requirement
from sfumato.table.encode import Attribute, Kind, Role

IN_PARTS = Limits(in_memory=10, part_rows=40)
JOBS = {"Any": {"office": ["clerk", "boss"], "field": ["farmer", "guard"]}}
ATTRIBUTES = {
    "age": Attribute(name="age", role=Role.QUASI),
    "born": Attribute(name="born", role=Role.QUASI),
    "job": Attribute(name="job", role=Role.QUASI, taxonomy=JOBS),
    "zip": Attribute(name="zip", role=Role.QUASI, taxonomy={"mask": "right"}),
    "ill": Attribute(name="ill", role=Role.SENSITIVE, domain=("flu", "HIV", "cough", "burn")),
    "score": Attribute(name="score", role=Role.CLASS),
    "note": Attribute(name="note", role=Role.INSENSITIVE),
    "who": Attribute(name="who", role=Role.IDENTIFIER),
}


def people(rows: int, seed: int = 1) -> pl.DataFrame:
    """A table with numbers, days, a tree, masked codes, a few missing values and columns of every role."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 60, rows).astype(float) + rng.integers(0, 2, rows) / 2,
            "born": [dt.date(1970, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 400, rows)],
            "job": [None if i % 17 == 3 else w for i, w in enumerate(rng.choice(["clerk", "boss", "farmer"], rows))],
            "zip": rng.choice(["02138", "02139", "10001"], rows),
            "ill": rng.choice(["flu", "HIV", "cough", "burn"], rows),
            "score": rng.integers(0, 3, rows),
            "note": [f"{n / 4}" for n in rng.integers(0, 9, rows)],
            "who": [f"p{i}" for i in range(rows)],
        }
    )


def repeated() -> pl.DataFrame:
    """The same with rows that are equal in every column: some occur once, some twice, some four times."""
    return pl.concat([people(150), people(150)[30:110], people(150)[50:80], people(150)[50:80]])


def chosen(names: Sequence[str]) -> Callable[[Sequence[str]], list[Attribute]]:
    return lambda columns: [ATTRIBUTES[n] for n in columns if n in names]


ELSEWHERE: dict[str, tuple[Any, Limits | None]] = {
    "duckdb": (DuckDBEngine, None),
    "duckdb-parts": (DuckDBEngine, IN_PARTS),
    "spark": (SparkEngine, None),
    "spark-parts": (SparkEngine, IN_PARTS),
}
"""Where rows can be other than in memory, and whether they are published in parts."""
everywhere = pytest.mark.parametrize("where", ELSEWHERE, indirect=True)


@pytest.fixture
def where(request: pytest.FixtureRequest) -> str:
    """An engine other than local; starts the one Spark session for those that need it."""
    name = str(request.param)
    if name.startswith("spark"):
        request.getfixturevalue("spark")
    return name


@cache
def local(names: tuple[str, ...] = tuple(ATTRIBUTES)) -> Engine:
    """The rows in memory."""
    return LocalEngine.read(people(150), chosen(names), missing="category")


@cache
def elsewhere(where: str, names: tuple[str, ...] = tuple(ATTRIBUTES)) -> Engine:
    """The same rows in another engine."""
    engine, limits = ELSEWHERE[where]
    return engine.read(people(150), chosen(names), missing="category", limits=limits)  # type: ignore[no-any-return]


def made(engine: Engine, method: Method, require: Sequence[Requirement], seed: int | None = None) -> sf.Release:
    rng = None if seed is None else np.random.default_rng(seed)
    return method.release(engine.prepared(method.prepared), require, draws=Draws(rng))


def rows_of(release: sf.Release) -> dict[str, Counter[Any]]:
    return {name: Counter(map(str, table.rows())) for name, table in release.tables.items()}


MONOTONE = [
    [sf.KAnonymity(k=3)],
    [sf.KAnonymity(k=2), sf.LDiversity(l=2, variant="frequency")],
    [sf.LDiversity(l=2, variant="entropy")],
    [sf.AlphaK(alpha=0.6, k=2)],
    [sf.TCloseness(t=0.4, distance="equal")],
]
CASES: list[tuple[Method, list[Requirement]]] = [
    *[(sf.Mondrian(), list(r)) for r in MONOTONE],
    (from_table({"name": "mondrian+"}), [sf.LDiversity(l=2)]),
    (from_table({"name": "incognito", "suppression": 0.1}), [sf.KAnonymity(k=3)]),
    (from_table({"name": "local-recoding"}), [sf.KAnonymity(k=3)]),
    (from_table({"name": "tdr"}), [sf.Anonymity(x=["age", "job"], k=4)]),
    (from_table({"name": "tdd"}), [sf.Confidentiality(x=["age", "job"], y={"ill": ["HIV"]}, k=0.6)]),
]


@everywhere
@pytest.mark.parametrize(("method", "require"), CASES, ids=lambda case: getattr(case, "name", None))
@pytest.mark.parametrize("note", [True, False], ids=["insensitive", "coded"])
def test_every_engine_gives_the_same_release(
    where: str, method: Method, require: list[Requirement], note: bool
) -> None:
    names = [n for n in ATTRIBUTES if note or n != "note"]
    names = [n for n in names if n != "zip"] if method.name in ("tdr", "tdd") else names
    here, there = (made(e, method, require) for e in (local(tuple(names)), elsewhere(where, tuple(names))))
    assert there.manifest == here.manifest
    assert rows_of(there) == rows_of(here)
    assert {n: t.schema for n, t in there.tables.items()} == {n: t.schema for n, t in here.tables.items()}
    if where.endswith("parts"):
        assert len(as_stored(there.tables)["data"].files) > 1
    assert [f.as_dict() for f in there.check()] == [f.as_dict() for f in here.check()]


@pytest.mark.parametrize("where", ["duckdb", "spark-parts"], indirect=True)
@pytest.mark.parametrize(("method", "require"), [CASES[0], CASES[2], CASES[5]], ids=["k", "entropy", "mondrian+"])
def test_pieces_cut_here_or_by_executors_give_the_same_release(
    where: str, method: Method, require: list[Requirement], monkeypatch: pytest.MonkeyPatch
) -> None:
    names, frame = ("age", "born", "job", "ill", "score"), repeated()
    here = made(LocalEngine.read(frame, chosen(names), missing="category"), method, require)
    monkeypatch.setattr("sfumato.engine.values.BYTES_PER_VECTOR", EngineSettings().memory_bytes // 2 // 80)
    monkeypatch.setattr("sfumato.engine.values.BYTES_PER_CODE", 0)
    engine, limits = ELSEWHERE[where]
    other = engine.read(frame, chosen(names), missing="category", limits=limits)
    assert (other.pieces.apart is not None) == where.startswith("spark")
    heard: list[Any] = []
    there = method.release(
        other.prepared(method.prepared), require, draws=Draws(), progress=lambda stage, done: heard.append(stage)
    )
    assert {"margins", "cuts"} <= set(heard)
    assert there.manifest == here.manifest
    assert rows_of(there) == rows_of(here)


@pytest.mark.parametrize("where", ["duckdb", "spark"], indirect=True)
@pytest.mark.parametrize("stored", [True, False], ids=["parquet", "frame"])
def test_the_time_zone_of_a_session_changes_nothing(
    where: str, stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Times without zone that New York skips or has twice, points in time around midnight there, and days."""
    monkeypatch.setenv("TZ", "America/New_York")
    times = [dt.datetime(2024, 3, 10, 1, 30), dt.datetime(2024, 11, 2, 23, 30)]
    hours = [t + dt.timedelta(hours=h) for t in times for h in range(8)] * 4
    frame = pl.DataFrame({"age": hours, "born": pl.Series(hours).dt.replace_time_zone("UTC")})
    frame = frame.with_columns(score=pl.col("born").dt.date(), note=pl.col("born"), ill=pl.lit("flu"))
    frame.write_parquet(tmp_path / "t.parquet")
    source = tmp_path / "t.parquet" if stored else frame
    engine, limits = ELSEWHERE[where]
    here = LocalEngine.read(source, chosen(list(ATTRIBUTES)))
    if where == "spark":
        session = request.getfixturevalue("spark")
        session.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        there = engine.read(source, chosen(list(ATTRIBUTES)), limits=limits)
        one, two = (made(e, sf.Mondrian(), [sf.KAnonymity(k=2)]) for e in (here, there))
        digest = there.digest()
    finally:
        if where == "spark":
            session.conf.set("spark.sql.session.timeZone", "UTC")
    assert two.manifest == one.manifest
    assert rows_of(two) == rows_of(one)
    assert len(two.group_sizes()) == 3
    assert engine.read(source, chosen(list(ATTRIBUTES)), limits=limits).digest() == digest


@everywhere
def test_equal_rows_are_all_published_with_their_insensitive_values(where: str) -> None:
    frame, about, (engine, limits) = repeated(), chosen(["age", "job", "ill", "note"]), ELSEWHERE[where]
    here = made(LocalEngine.read(frame, about, missing="category"), sf.Mondrian(), [sf.KAnonymity(k=3)])
    there = made(engine.read(frame, about, missing="category", limits=limits), sf.Mondrian(), [sf.KAnonymity(k=3)])
    assert there.manifest == here.manifest
    assert rows_of(there) == rows_of(here)


@everywhere
def test_people_with_several_rows_are_counted_by_every_engine(where: str) -> None:
    frame = people(150).with_columns(who=pl.Series([f"p{i % 70}" for i in range(150)]))
    about = chosen(["age", "job", "ill", "note", "who"])
    require = [sf.KAnonymity(k=3, entity="who")]
    engine, limits = ELSEWHERE[where]
    for method in (sf.Mondrian(), sf.Incognito(suppression=0.1)):
        here = made(LocalEngine.read(frame, about, missing="category"), method, require)
        other = engine.read(frame, about, missing="category", limits=limits)
        release = made(other, method, require)
        assert release.manifest == here.manifest
        assert rows_of(release) == rows_of(here)
    with pytest.raises(sf.PolicyError, match="70 of 70 people"):
        made(other, sf.Mondrian(), [*require, sf.LDiversity(l=2)])


@everywhere
def test_the_probabilities_of_rr_are_those_of_the_counts(where: str) -> None:
    names, method = ["age", "job", "ill"], from_table({"name": "rr", "unchanged": "allow"})
    frame = people(400).with_columns(age=(pl.col("age") // 15).cast(pl.Int64))
    attributes = {"age": replace(ATTRIBUTES["age"], kind=Kind.CATEGORICAL), "job": ATTRIBUTES["job"]}

    def about(columns: Sequence[str]) -> list[Attribute]:
        return [attributes.get(n, ATTRIBUTES[n]) for n in columns if n in names]

    require, (engine, limits) = [sf.Disclosure(tau=0.5)], ELSEWHERE[where]
    here = made(LocalEngine.read(frame, about, missing="category"), method, require, 3)
    other = made(engine.read(frame, about, missing="category", limits=limits), method, require, 3)
    assert other.manifest["matrices"] == here.manifest["matrices"]
    assert other.manifest["rows"] == 400
    other.check()


@everywhere
@pytest.mark.parametrize("name", ["pg", "mondrian++", "hilb-safe", "anatomy"])
def test_drawn_releases_hold_what_they_claim(where: str, name: str) -> None:
    settings: dict[str, Any] = {"name": name}
    settings |= {"k": 3, "p": 0.5} if name == "pg" else {}
    require: list[Requirement] = [sf.RhoBreach(rho1=0.3, rho2=0.9, skew=0.5)] if name == "pg" else [sf.LDiversity(l=2)]
    names = ("age", "job", "ill")
    if name == "anatomy" and where.endswith("parts"):
        with pytest.raises(sf.DataError, match="in parts cannot check"):
            made(elsewhere(where, names), from_table(settings), require)
        return
    one, two = (made(e, from_table(settings), require) for e in (local(names), elsewhere(where, names)))
    for release in (one, two):
        release.check()
    assert one.tables.keys() == two.tables.keys()
    assert {k: v for k, v in one.manifest.items() if k in ("scheme", "method")} == {
        k: v for k, v in two.manifest.items() if k in ("scheme", "method")
    }


def test_a_release_in_parts_is_written_read_and_checked(tmp_path: Path) -> None:
    parts = elsewhere("duckdb-parts")
    release = made(parts, sf.Mondrian(), [sf.KAnonymity(k=3)])
    release.write(tmp_path / "release")
    files = sorted(p.name for p in (tmp_path / "release" / "data").iterdir())
    assert files == [f"part-{i:05}.parquet" for i in range(len(files))]
    assert not (tmp_path / "release" / "data.csv").exists()
    again = sf.load(tmp_path / "release")
    assert rows_of(again) == rows_of(release)
    assert {f.claim for f in again.check()} > {f.claim for f in release.check()}  # and the page beside the tables
    again.write(tmp_path / "copy")
    assert sf.load(tmp_path / "copy").check()
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert {e["file"] for e in manifest["tables"]} == {f"data/{f}" for f in files}


def test_what_is_wrong_with_parts_is_found(tmp_path: Path) -> None:
    parts = elsewhere("duckdb-parts")
    made(parts, sf.Mondrian(), [sf.KAnonymity(k=3)]).write(tmp_path / "release")
    part = tmp_path / "release" / "data" / "part-00001.parquet"
    content = part.read_bytes()
    (tmp_path / "release" / "data" / "more.txt").write_text("x")
    with pytest.raises(sf.ReleaseError, match="not in its manifest"):
        sf.load(tmp_path / "release")
    (tmp_path / "release" / "data" / "more.txt").unlink()
    pl.read_parquet(part).head(1).write_parquet(part)
    with pytest.raises(sf.ReleaseError, match="SHA-256"):
        sf.load(tmp_path / "release")
    part.unlink()
    with pytest.raises(sf.ReleaseError, match="missing"):
        sf.load(tmp_path / "release")
    part.write_bytes(content)
    assert sf.load(tmp_path / "release").check()


def test_too_many_rows_for_memory_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = elsewhere("duckdb-parts")
    release = made(parts, sf.Mondrian(), [sf.KAnonymity(k=3)])
    monkeypatch.setattr("sfumato.release.part_tables.MOST_ROWS", 100)
    assert release.check()
    with pytest.raises(sf.ReleaseError, match="150 rows in 4 parts"):
        release.groups()


def test_count_queries_on_parts_are_answered_from_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = elsewhere("duckdb-parts")
    here = sf.Analyst(made(local(), sf.Mondrian(), [sf.KAnonymity(k=3)]))
    monkeypatch.setattr("sfumato.release.part_tables.MOST_ROWS", 100)
    there = sf.Analyst(made(parts, sf.Mondrian(), [sf.KAnonymity(k=3)]))
    for where in ("age >= 30", "ill = 'HIV' and age < 40", "job = 'clerk' or score = 1"):
        one, two = here.count(where), there.count(where)
        assert two.estimate == pytest.approx(one.estimate)
        assert two.standard_error == pytest.approx(one.standard_error)
        assert two.bounds == pytest.approx(one.bounds)
    question = "SELECT COUNT(*), ill WHERE age >= 30 GROUP BY ill"
    one, two = (a.query(question).sort("ill") for a in (here, there))
    assert one.drop("ill").to_numpy() == pytest.approx(two.drop("ill").to_numpy())
    with pytest.raises(sf.ReleaseError, match="'note' is insensitive"):
        there.count("note = 1")
