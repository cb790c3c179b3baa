"""k-map: people of the population counted by the published labels, and nothing of the population in the release."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from report_page import Page
from sfumato.cli import cli
from sfumato.errors import DataError, Infeasible, PolicyError, ReleaseError
from sfumato.publisher.policy import parse_policy
from sfumato.release.label_meaning import parse_label
from sfumato.report.report import render_report
from sfumato.requirement.catalogue import from_table
from strategies import examples

ZIPS = ["4711", "4712", "4821", "4830"]


def people(rows: int, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "zip": rng.choice(ZIPS, rows),
            "sex": rng.choice(["F", "M"], rows),
            "born": [dt.date(1980, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 4, rows) * 100],
        }
    )


REGISTER = people(2000)


def table(rows: int = 120, **more: Any) -> sf.Microdata:
    frame = REGISTER.head(rows).with_columns(ill=pl.Series(np.random.default_rng(3).choice(["a", "b"], rows)))
    options: dict[str, Any] = {"taxonomies": {"age": {"width": 5}, "zip": {"mask": "right"}}}
    return sf.read(frame, quasi=["age", "zip", "sex", "born"], sensitive="ill", **(options | more))


def covers(label: str, meaning: Any, value: Any) -> bool:
    """Whether a label covers a value, in plain Python, by what the manifest says."""
    told = parse_label(label, meaning)
    if told.interval:
        number = value.toordinal() - dt.date(1970, 1, 1).toordinal() if isinstance(value, dt.date) else value
        return not isinstance(number, str) and told.interval[0] <= number < told.interval[1]
    if told.listed:
        parts = [name for name in told.names if name.startswith("[") or ("*" in name and name != label)]
        inside = any(covers(p, [float(e) for e in p[1:-1].split(", ")] if p[0] == "[" else None, value) for p in parts)
        return inside or str(value) in told.names
    return label == "*" or (
        len(label) == len(str(value)) and all(a in ("*", b) for a, b in zip(label, str(value), strict=True))
    )


def fewest(release: sf.Release, register: pl.DataFrame) -> int:
    """The fewest people that the labels of a row fit."""
    nodes = {name: release.manifest["attributes"][name]["nodes"] for name in release.quasi()}
    persons = register.to_dicts()
    shown = release.tables["data"].select(release.quasi()).cast(pl.String).unique().to_dicts()
    return min(sum(all(covers(row[n], nodes[n][row[n]], p[n]) for n in nodes) for p in persons) for row in shown)


@pytest.mark.parametrize("k", [1, 5, 60, 700, 2000])
@pytest.mark.parametrize("suppression", [0, 0.1])
def test_every_label_fits_k_people(k: int, suppression: float) -> None:
    required = sf.KMap(k=k, population=REGISTER)
    release = sf.publish(table(), require=required, method=sf.Incognito(suppression=suppression))
    (entry,) = release.manifest["requirements"]
    assert entry["achieved"] == {"k": fewest(release, REGISTER)}
    assert entry["achieved"]["k"] >= k
    assert release.judge(required).holds
    claim = next(f for f in release.check() if "population" in f.claim)
    assert claim.status == "stated"


def test_beside_other_requirements() -> None:
    required = [sf.KMap(k=20, population=REGISTER), sf.KAnonymity(k=3), sf.LDiversity(l=1.5)]
    release = sf.publish(table(), require=required, method=sf.Incognito(suppression=0.2))
    assert [r["model"] for r in release.manifest["requirements"]] == ["k-anonymity", "l-diversity", "k-map"]
    assert fewest(release, REGISTER) >= 20
    assert {f.status for f in release.check()} == {"holds", "stated"}


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0, 0.2]))
@examples(40)
def test_any_population(seed: int, k: int, suppression: float) -> None:
    """Also one that lacks people of the table, and has values that the table lacks."""
    register = people(60, seed).with_columns(pl.col("age") + seed % 7)
    required = sf.KMap(k=k, population=register)
    try:
        release = sf.publish(table(20), require=required, method=sf.Incognito(suppression=suppression))
    except Infeasible as e:
        assert "population" in str(e)  # noqa: PT017
        return
    assert release.manifest["requirements"][0]["achieved"] == {"k": fewest(release, register)}
    assert fewest(release, register) >= k


def test_labels_that_overlap_are_counted_too() -> None:
    """Mondrian's labels overlap; a release can be judged by a population whoever made it."""
    release = sf.publish(table(60), require=sf.KAnonymity(k=4), method=sf.Mondrian(strict=False))
    judgement = release.judge(sf.KMap(k=5, population=REGISTER))
    assert judgement.achieved == {"k": fewest(release, REGISTER)}
    assert judgement.failing == 0
    assert not release.judge(sf.KMap(k=1500, population=REGISTER)).holds


def test_values_that_the_table_lacks_are_covered_by_labels() -> None:
    """30 lies in [25, 35) although nobody of the table is 30; an unknown zip is covered by a mask or by a star."""
    frame = pl.DataFrame({"age": [25, 26, 34, 34], "zip": ["11", "12", "11", "12"], "job": ["x", "x", "x", "y"]})
    rules = {"age": {"width": 10}, "zip": {"mask": "right"}}
    data = sf.read(frame, quasi=["age", "zip", "job"], taxonomies=rules)
    register = pl.DataFrame({"age": [24, 29, 33], "zip": ["13", "19", "29"], "job": ["z", "z", "z"]})
    release = sf.publish(data, require=sf.KMap(k=1, population=register), method="incognito")
    assert set(release.tables["data"]["job"]) == {"*"}
    assert release.manifest["requirements"][0]["achieved"] == {"k": fewest(release, register)}


def test_a_tree_covers_only_what_it_lists() -> None:
    """A value that a declared tree lacks fits no node, not even its root: the manifest lists what the root means."""
    frame = pl.DataFrame({"job": ["Nurse", "Cook", "Cook"]})
    tree = {"Any": {"Care": ["Nurse"], "Food": ["Cook", "Baker"]}}
    data = sf.read(frame, quasi=["job"], taxonomies={"job": tree})
    register = pl.DataFrame({"job": ["Nurse", "Cook", "Baker", "Pilot"]})
    release = sf.publish(data, require=sf.KMap(k=2, population=register), method="incognito")
    assert release.manifest["requirements"][0]["achieved"] == {"k": 3}
    with pytest.raises(Infeasible, match="fit 3 people of the population; lower k to 3"):
        sf.publish(data, require=sf.KMap(k=4, population=register), method="incognito")


def test_values_that_look_like_masks_are_values() -> None:
    frame = pl.DataFrame({"code": ["1*", "12", "13"]})
    register = pl.DataFrame({"code": ["12", "12", "13", "13"]})
    for more in ({}, {"domains": {"code": ["1*", "12", "13"]}}, {"taxonomies": {"code": {"Any": ["1*", "12", "13"]}}}):
        data = sf.read(frame, quasi=["code"], kinds={} if more else {"code": "categorical"}, **more)  # type: ignore[arg-type]
        release = sf.publish(data, require=sf.KMap(k=1, population=register), method="incognito")
        assert release.manifest["method"]["levels"] == {"code": 1}  # the label 1* would fit nobody
        assert release.judge(sf.KMap(k=4, population=register)).achieved == {"k": 4}


def test_sets_of_masks_and_of_intervals_are_read() -> None:
    """Labels of mondrian may list several nodes of a tree that was built from the data."""
    rng = np.random.default_rng(4)
    frame = people(300, 9).with_columns(zip=pl.Series(rng.choice([f"{z}" for z in range(1000, 1999, 37)], 300)))
    rules = {"age": {"width": 5}, "zip": {"mask": "right"}}
    data = sf.read(frame, quasi=["age", "zip", "sex"], taxonomies=rules)
    release = sf.publish(data, require=sf.KAnonymity(k=3))
    told = {n: release.manifest["attributes"][n]["nodes"] for n in ("age", "zip")}
    assert any(label.startswith("{") and "*" in label for label in told["zip"])
    found = release.judge(sf.KMap(k=3, population=frame))
    assert found.achieved["k"] >= release.manifest["requirements"][0]["achieved"]["k"]  # the table is in its population
    assert found.achieved["k"] == fewest(release, frame)


def test_missing_values() -> None:
    frame = pl.DataFrame({"age": [30, None, 30, None], "sex": ["F", "F", None, "M"]})
    data = sf.read(frame, quasi=["age", "sex"], missing="category")
    with pytest.raises(DataError, match=r"the population: .*missing"):
        sf.publish(data, require=sf.KMap(k=1, population=frame), method="incognito")
    register = sf.Population(pl.concat([frame, frame]), missing="category")
    release = sf.publish(data, require=sf.KMap(k=2, population=register), method="incognito")
    assert release.manifest["method"]["levels"] == {"age": 0, "sex": 0}
    assert release.manifest["requirements"][0]["achieved"] == {"k": 2}
    with pytest.raises(PolicyError, match="missing is 'no'"):
        sf.Population(frame, missing="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [0, -1, 2.5, "5", True, None])
def test_wrong_k(k: Any) -> None:
    with pytest.raises(PolicyError, match="whole number"):
        sf.KMap(k=k)


def test_what_is_refused() -> None:
    required = sf.KMap(k=2, population=REGISTER)
    with pytest.raises(PolicyError, match="k-map needs a population"):
        sf.publish(table(), require=sf.KMap(k=2), method="incognito")
    with pytest.raises(PolicyError, match="mondrian does not serve k-map; incognito does"):
        sf.publish(table(), require=required, method="mondrian")
    with pytest.raises(PolicyError, match="bucketization shows these exactly"):
        sf.publish(table(), require=required, method=sf.Mondrian(scheme="bucketization"))
    with pytest.raises(DataError, match="the population has no column 'born'"):
        sf.publish(table(), require=sf.KMap(k=2, population=REGISTER.drop("born")), method="incognito")
    odd = REGISTER.with_columns(age=pl.lit("old"))
    with pytest.raises(DataError, match="the population: column 'age' is continuous"):
        sf.publish(table(), require=sf.KMap(k=2, population=odd), method="incognito")
    with pytest.raises(PolicyError, match="no parameter 'population'"):
        from_table({"model": "k-map", "k": 2, "population": "/etc/passwd"})


def test_a_claim_that_cannot_be_true_is_broken() -> None:
    release = sf.publish(table(), require=sf.KMap(k=20, population=REGISTER), method="incognito")
    entry = release.manifest["requirements"][0]
    for achieved in ({"k": 19}, {}, {"k": 30, "t": 1}):
        forged = release.manifest | {"requirements": [entry | {"achieved": achieved}]}
        with pytest.raises(ReleaseError, match="does not meet what is required"):
            sf.Release(forged, release.tables).check()
    named = release.manifest | {"requirements": [entry | {"required": {"k": 20, "population": "/etc/passwd"}}]}
    with pytest.raises(ReleaseError, match="no parameter 'population'"):
        sf.Release(named, release.tables).check()
    buckets = sf.publish(table(), require=sf.LDiversity(l=1.5), method=sf.Mondrian(scheme="bucketization"))
    with pytest.raises(ReleaseError, match="it needs labels"):
        sf.Release(buckets.manifest | {"requirements": [entry]}, buckets.tables).check()


def test_the_report_says_what_it_promises() -> None:
    data = table()
    release = sf.publish(data, require=sf.KMap(k=20, population=REGISTER), method="incognito")
    words = Page(render_report(release=release, table=data)).words
    assert "people who fit its labels" in words
    assert "assumes that the population contains everyone in the table" in words
    assert "Not all requirements are met." not in words


POLICY = """
title = "Ward"
[data]
source = "ward.csv"
[population]
source = "secret-register.parquet"
[attributes]
age = { role = "quasi", kind = "continuous" }
sex = { role = "quasi" }
ill = { role = "sensitive" }
[[require]]
model = "k-map"
k = 20
[method]
name = "incognito"
"""


def test_a_policy_there_and_back(tmp_path: Path) -> None:
    """And the release tells that there was a population, but neither where it is nor who is in it."""
    ill = pl.Series("ill", ["a", "b"] * 20)
    REGISTER.head(40).select("age", "sex").with_columns(ill).write_csv(tmp_path / "ward.csv")
    REGISTER.select("age", "sex").write_parquet(tmp_path / "secret-register.parquet")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    out = tmp_path / "out"
    run = CliRunner().invoke(cli, ["publish", str(tmp_path / "policy.toml"), "-o", str(out)])
    assert run.exit_code == 0, run.output
    entry = json.loads((out / "release/manifest.json").read_text(encoding="utf-8"))["requirements"][0]
    assert entry["required"] == {"k": 20}
    assert entry["words"] == "every combination of labels fits at least 20 people of the population that was given"
    assert "secret-register" in (out / "private/policy.toml").read_text(encoding="utf-8")
    for file in (out / "release").iterdir():
        assert b"secret" not in file.read_bytes()
    checked = CliRunner().invoke(cli, ["check", str(out / "release")])
    assert checked.exit_code == 0
    assert "the population is not public" in checked.output
    assert "k-map (k): the labels of every group" in CliRunner().invoke(cli, ["models"]).output


def test_people_whom_the_population_lacks_are_warned_of_in_private(tmp_path: Path) -> None:
    ill = pl.Series("ill", ["a", "b"] * 20)
    data = REGISTER.head(40).select("age", "sex").with_columns(ill)
    data.write_csv(tmp_path / "ward.csv")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    lacking = REGISTER.select("age", "sex").slice(3)
    for register, warned in ((REGISTER.select("age", "sex"), False), (lacking, False), (lacking.slice(1900), True)):
        register.write_parquet(tmp_path / "secret-register.parquet")
        policy = (tmp_path / "policy.toml").read_text(encoding="utf-8").replace("k = 20", "k = 1")
        done = sf.publish_policy(parse_policy(policy, folder=tmp_path), tmp_path / "out", force=True, ledger=False)
        found = [w for w in done.warnings if w.startswith("The population lacks people who are in the table: for ")]
        assert bool(found) is warned
        assert not any("population" in w for w in done.release.warnings)
    cells = data.select("age", "sex").to_dicts()
    there = lacking.slice(1900).to_dicts()
    rows = sum(max(0, cells.count(cell) - there.count(cell)) for cell in {tuple(c.items()): c for c in cells}.values())
    assert f"for {rows:,} of 40 rows" in found[0]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('[population]\nsource = "secret-register.parquet"\n', "", "k-map needs a population"),
        ('source = "secret-register.parquet"', "size = 5", "their number is not enough; give a table"),
        ('source = "secret-register.parquet"', 'query = "select 1"', "must have a source"),
        ('source = "secret-register.parquet"', "source = 5", "must have a source"),
        ("[population]\n", '[population]\nquery = ["x"]\n', "query under .population."),
    ],
)
def test_policies_refused(old: str, new: str, told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        parse_policy(POLICY.replace(old, new), folder=Path())


def test_no_password_of_the_population_is_kept() -> None:
    address = "postgresql://ann:kanarienvogel@host/register"
    policy = parse_policy(POLICY.replace("secret-register.parquet", address), folder=Path())
    assert "kanarienvogel" not in policy.to_toml()
    assert "kanarienvogel" not in repr(policy)
