"""Bucketized releases: what is in them, and what a check finds."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli import main


def people(rows: int = 200, values: int = 6, seed: int = 1) -> sf.Microdata:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "name": [f"Nr{i}" for i in range(rows)],
            "age": rng.integers(18, 90, rows),
            "zip": rng.choice(["471", "472", "480"], rows),
            "stay": rng.integers(1, 9, rows),
            "ill": [f"ill{v}" for v in rng.integers(0, values, rows)],
        }
    )
    return sf.read(frame, quasi=["age", "zip"], sensitive="ill", identifiers=["name"], insensitive=["stay"])


LOCAL = (sf.MondrianPlus, sf.MondrianPlusPlus, sf.HilbSafe, sf.Hilb, sf.HilbPlus, sf.HilbPlusPlus)
METHODS = [sf.Anatomy(), *(m(scheme="bucketization") for m in LOCAL)]


@pytest.mark.parametrize("method", [*METHODS, sf.Mondrian(scheme="bucketization")], ids=lambda m: m.name)
def test_there_and_back(method: sf.Mondrian, tmp_path: Path) -> None:
    table = people()
    release = sf.publish(table, require=sf.LDiversity(l=3), method=method)
    assert set(release.tables) == {"quasi", "sensitive"}
    assert release.tables["quasi"].columns == ["age", "zip", "stay", "group"]
    assert {f.status for f in release.check()} == {"holds"}
    joined = release.tables["quasi"].group_by("group").len("people")
    counts = release.tables["sensitive"].group_by("group").agg(pl.col("count").sum(), most=pl.col("count").max())
    both = joined.join(counts, on="group")
    assert (both["people"] == both["count"]).all()
    assert (both["most"] * 3 <= both["count"]).all()
    truth = sorted(table["ill"].domain.leaves[c] for c in table["ill"].codes)
    told = release.tables["sensitive"].select(pl.col("ill").cast(pl.String).repeat_by("count").explode())
    assert sorted(told["ill"]) == truth
    release.write(tmp_path / "out")
    assert sf.load(tmp_path / "out") == release
    assert b"Nr1" not in b"".join(f.read_bytes() for f in (tmp_path / "out").iterdir())


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(30, 90))
@settings(deadline=None, max_examples=40)
def test_pick_up_makes_groups_of_distinct_values(seed: int, l: int, rows: int) -> None:
    table = people(rows, 9, seed)
    assume(np.bincount(table["ill"].codes).max() * l <= rows)
    for method in (sf.Anatomy(), sf.MondrianPlusPlus(scheme="bucketization"), sf.HilbSafe(scheme="bucketization")):
        sensitive = sf.publish(table, require=sf.LDiversity(l=l), method=method).tables["sensitive"]
        sizes = sensitive.group_by("group").agg(pl.col("count").sum())["count"]
        assert sensitive["count"].max() == 1
        assert l <= sizes.min() <= sizes.max() < 2 * l


def test_a_refuted_method_works_and_warns(tmp_path: Path) -> None:
    release = sf.publish(people(), require=sf.LDiversity(l=3), method="hilb+")
    assert "hilb-safe" in release.warnings[0]
    release.write(tmp_path / "out")
    assert "counterexample" in json.loads((tmp_path / "out" / "manifest.json").read_text())["warnings"][0]
    assert sf.publish(people(), require=sf.LDiversity(l=3), method="hilb-safe").warnings == []


def test_group_numbers_and_the_order_of_rows_are_random() -> None:
    """By the operating system's entropy: two releases of the same groups agree once in more than 12! times."""
    one, two = (
        sf.publish(people(), require=sf.LDiversity(l=3), method=sf.Mondrian(scheme="bucketization")) for _ in range(2)
    )
    assert not one.tables["quasi"].equals(two.tables["quasi"])
    assert one.tables["quasi"]["group"].n_unique() >= 12
    in_one_order = [t.tables["quasi"].sort(pl.all()) for t in (one, two)]
    assert in_one_order[0].drop("group").equals(in_one_order[1].drop("group"))
    assert not in_one_order[0].equals(in_one_order[1])


def test_more_values_than_people_are_found(tmp_path: Path) -> None:
    release = sf.publish(people(), require=sf.LDiversity(l=3), method=sf.Anatomy())
    first = pl.int_range(pl.len()) == 0
    more = release.tables["sensitive"].with_columns(count=pl.col("count") + first.cast(pl.Int64))
    with pytest.raises(sf.ReleaseError, match="groups of both tables agree"):
        sf.Release(release.manifest, {**release.tables, "sensitive": more}).check()
    gone = {**release.tables, "quasi": release.tables["quasi"].drop("stay")}
    with pytest.raises(sf.ReleaseError, match="stay"):
        sf.Release(release.manifest, gone).check()


def test_what_cannot_be_served_is_refused() -> None:
    table = people()
    for require, method, told in (
        (sf.TCloseness(t=0.5), sf.Anatomy(), "cannot serve"),
        ([sf.LDiversity(l=2)] * 2, sf.Anatomy(), "needs exactly one l-diversity"),
        (sf.LDiversity(l=2, variant="entropy"), sf.MondrianPlus(), "cannot serve"),
        (sf.LDiversity(l=2.5), sf.MondrianPlusPlus(), "whole number"),
        ([sf.LDiversity(l=2), sf.KAnonymity(k=5)], sf.Hilb(scheme="generalization"), "at most l"),
    ):
        with pytest.raises(sf.PolicyError, match=told):
            sf.publish(table, require=require, method=method)
    with pytest.raises(sf.Infeasible, match=r"makes up .*lower l"):
        sf.publish(people(values=2), require=sf.LDiversity(l=2), method=sf.Anatomy())
    with pytest.raises(sf.PolicyError, match="scheme"):
        sf.Anatomy(scheme="mosaic")
    wide = pl.DataFrame({f"q{j}": range(300) for j in range(9)}).with_columns(ill=pl.Series(["a", "b", "c"] * 100))
    many = sf.read(wide, quasi=[f"q{j}" for j in range(9)], sensitive="ill")
    with pytest.raises(sf.PolicyError, match="81 bits"):
        sf.publish(many, require=sf.LDiversity(l=2), method=sf.HilbSafe())


def test_by_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": [i % 40 for i in range(80)], "ill": [f"i{i % 7}" for i in range(80)]}).write_csv("d.csv")
    Path("p.toml").write_text(
        '[data]\nsource = "d.csv"\n[attributes]\nage = { role = "quasi" }\nill = { role = "sensitive" }\n'
        '[[require]]\nmodel = "l-diversity"\nl = 3\n[method]\nname = "mondrian++"\nscheme = "bucketization"\n'
    )
    for arguments in (["publish", "p.toml"], ["check", "out/release", "--json"]):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert end.value.code == 0
    claims = json.loads(capsys.readouterr().out.split("report.html\n")[1])
    assert claims["holds"]
    names = {p.name for p in Path("out/release").iterdir()}
    assert names == {"README.html", "manifest.json", "quasi.csv", "quasi.parquet", "sensitive.csv", "sensitive.parquet"}
    assert Path("out/private/report.html").stat().st_size > 5000


@pytest.mark.parametrize("scheme", ["generalization", "bucketization"])
def test_names_that_polars_takes_for_patterns(scheme: str) -> None:
    names = ["*", "^.*", "a$", "a"]
    frame = pl.DataFrame({n: [str((i * (j + 1)) % 4) for i in range(40)] for j, n in enumerate(names)})
    table = sf.read(frame, quasi=["*"], sensitive="^.*", insensitive=["a$"], identifiers=["a"], missing="drop")
    release = sf.publish(table, require=sf.LDiversity(l=1), method=sf.Mondrian(scheme=scheme))
    assert {f.status for f in release.check()} == {"holds"}
    assert {c for t in release.tables.values() for c in t.columns} - {"group", "count"} == {"*", "^.*", "a$"}
