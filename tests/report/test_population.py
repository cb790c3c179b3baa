"""A population of which only the size is known: what the report estimates, and what is refused."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from report_page import Page
from sfumato.cli import cli
from sfumato.publisher.policy import parse_policy
from sfumato.report.report import render_report
from sfumato.report.risk import risk_of

POLICY = """
[data]
source = "ward.csv"
[population]
size = 5000
[attributes]
age = { role = "quasi", kind = "continuous" }
ill = { role = "sensitive", domain = ["a", "b", "c"] }
[[require]]
model = "k-anonymity"
k = 5
"""


def ward() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame({"age": rng.integers(20, 80, 100), "ill": rng.choice(["a", "b", "c"], 100)})


def table() -> sf.Microdata:
    return sf.read(ward(), quasi="age", sensitive="ill", domains={"ill": ["a", "b", "c"]})


def test_the_size_is_used_by_the_report_alone(tmp_path: Path) -> None:
    ward().write_csv(tmp_path / "ward.csv")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    run = CliRunner().invoke(cli, ["publish", str(tmp_path / "policy.toml"), "-o", str(tmp_path / "out")])
    assert run.exit_code == 0, run.output
    words = Page((tmp_path / "out/private/report.html").read_text(encoding="utf-8")).words
    assert "Population risk, greatest" in words
    assert "population of 5,000 people of which the table is a simple random sample (2%)" in words
    audit = json.loads((tmp_path / "out/private/audit.json").read_text(encoding="utf-8"))["risk"]
    before, after = audit["population"]["before"], audit["population"]["after"]
    assert before["size"] == 5000
    assert before["greatest"] == pytest.approx(-0.02 * np.log(0.02) / 0.98)
    assert 0.02 / 100 < after["greatest"] < 1 / 5 < audit["before"]["journalist"] == 1
    assert after["unique_rows"] == 0 < before["unique_rows"] < 2
    assert "size = 5000" in (tmp_path / "out/private/policy.toml").read_text(encoding="utf-8")
    for file in (tmp_path / "out/release").glob("*.json"):
        assert "5000" not in file.read_text(encoding="utf-8")


def test_without_a_size_the_report_is_as_before() -> None:
    data = table()
    words = Page(render_report(release=sf.publish(data, require=sf.KAnonymity(k=5)), table=data)).words
    assert "Population risk" not in words
    assert "assumed to be the whole population" in words


def test_nothing_is_estimated_from_values_that_need_not_be_true() -> None:
    data = sf.read(ward(), quasi="age", sensitive="ill", kinds={"age": "categorical"})
    release = sf.publish(data, require=sf.Disclosure(tau=1), method=sf.RandomizedResponse(keep={"ill": 0.5}))
    risk = risk_of(release, data, 1000)
    assert risk.population is not None
    assert risk.population[1] is None
    assert "not estimated" in Page(render_report(release=release, table=data, risk=risk)).words


def test_groups_left_out_do_not_change_the_share_that_was_sampled() -> None:
    data = table()
    release = sf.publish(data, require=sf.KAnonymity(k=8), method=sf.Incognito(suppression=0.3))
    risk = risk_of(release, data, 2000)
    assert risk.population is not None
    assert risk.population[1] is not None
    assert risk.population[0].fraction == risk.population[1].fraction == 0.05


@pytest.mark.parametrize(
    ("population", "told"),
    [
        ("size = 0", "size under .*must be a whole number from 1"),
        ('size = "many"', "must be a whole number"),
        ("size = true", "must be a whole number"),
        ('size = 9\nsource = "r.csv"', "a size and a source"),
        ('query = "select 1"', "must have a source"),
        ("sise = 9", "unknown key 'sise'"),
    ],
)
def test_what_a_population_must_be(population: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(sf.PolicyError, match=told):
        parse_policy(POLICY.replace("size = 5000", population), folder=tmp_path)


def test_k_map_says_that_a_size_is_not_enough(tmp_path: Path) -> None:
    mapped = POLICY.replace("k-anonymity", "k-map") + '[method]\nname = "incognito"\n'
    with pytest.raises(sf.PolicyError, match="their number is not enough; give a table of their quasi-identifiers"):
        parse_policy(mapped, folder=tmp_path)


def test_a_population_smaller_than_the_table_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    ward().write_csv(tmp_path / "ward.csv")
    policy = parse_policy(POLICY.replace("size = 5000", "size = 99"), folder=tmp_path)
    with pytest.raises(sf.DataError, match="99 people, fewer than the 100 rows"):
        sf.publish_policy(policy, tmp_path / "out")
    assert not (tmp_path / "out").exists()


WEIGHTS = POLICY.replace("[population]\nsize = 5000\n", "").replace(
    'source = "ward.csv"', 'source = "ward.csv"\nweights = "w"'
)


def publish_weighted(folder: Path, frame: pl.DataFrame, policy: str = WEIGHTS) -> dict[str, object]:
    frame.write_csv(folder / "ward.csv")
    (folder / "policy.toml").write_text(policy, encoding="utf-8")
    out = folder / "out"
    run = CliRunner().invoke(cli, ["publish", str(folder / "policy.toml"), "-o", str(out), "--force"])
    assert run.exit_code == 0, run.output
    found: dict[str, object] = json.loads((out / "private/audit.json").read_text(encoding="utf-8"))["risk"][
        "population"
    ]
    return found


def test_equal_weights_are_a_simple_random_sample(tmp_path: Path) -> None:
    """Weights of 50 each say what size = 5000 says; overlapping labels only add people who fit."""
    plain = publish_weighted(tmp_path, ward(), POLICY)
    even = publish_weighted(tmp_path, ward().with_columns(w=pl.lit(50.0)))
    for key in ("size", "fraction", "greatest", "mean", "unique_rows"):
        assert even["before"][key] == pytest.approx(plain["before"][key])  # type: ignore[index]
    assert even["before"]["weighted"]  # type: ignore[index]
    assert even["after"]["greatest"] < even["before"]["greatest"]  # type: ignore[index]
    assert even["before"]["uniques"] == plain["before"]["uniques"]  # type: ignore[index]
    words = Page((tmp_path / "out/private/report.html").read_text(encoding="utf-8")).words
    assert "estimates from the sampling weights, which represent 5,000 people" in words
    assert "Unique people in the population" in words
    assert "standard error" in words
    assert "w" not in pl.read_csv(tmp_path / "out/release/data.csv").columns


def test_who_stands_for_few_is_at_risk(tmp_path: Path) -> None:
    """A row that is unique and stands for two people: its risk is that of one in about two, computed by hand."""
    frame = pl.DataFrame({"age": [20, 20, 90], "ill": ["a", "b", "c"], "w": [100.0, 100.0, 2.0]})
    found = publish_weighted(tmp_path, frame, WEIGHTS.replace("k = 5", "k = 1"))
    assert found["before"]["greatest"] == pytest.approx(0.5 * np.log(2) / 0.5)  # type: ignore[index]
    assert found["before"]["unique_rows"] == pytest.approx(0.5)  # type: ignore[index]
    scaled = publish_weighted(tmp_path, frame, WEIGHTS.replace("k = 5", "k = 1") + "[population]\nsize = 404\n")
    assert scaled["before"]["greatest"] == pytest.approx(0.25 * np.log(4) / 0.75)  # type: ignore[index]


@pytest.mark.parametrize(
    ("frame", "policy", "says"),
    [
        (ward().with_columns(w=pl.lit(-1.0)), WEIGHTS, "not positive numbers"),
        (ward().with_columns(w=pl.lit("x")), WEIGHTS, "not positive numbers"),
        (ward(), WEIGHTS, "which the data do not have"),
        (ward().with_columns(w=pl.lit(2.0)), WEIGHTS.replace("[attributes]", '[attributes]\nw = "quasi"'), "role drop"),
        (ward().with_columns(w=pl.lit(2.0)), WEIGHTS + '[engine]\nname = "duckdb"\n', "read in memory"),
        (ward(), WEIGHTS.replace('weights = "w"', "weights = 3"), "must be a string"),
    ],
)
def test_weights_that_are_refused(tmp_path: Path, frame: pl.DataFrame, policy: str, says: str) -> None:
    if '"quasi"' in says or 'w = "quasi"' in policy:
        frame = frame.with_columns(w=pl.int_range(1, pl.len() + 1))
    frame.write_csv(tmp_path / "ward.csv")
    (tmp_path / "policy.toml").write_text(policy, encoding="utf-8")
    run = CliRunner().invoke(cli, ["publish", str(tmp_path / "policy.toml"), "-o", str(tmp_path / "out")])
    assert run.exit_code != 0
    assert says in str(run.exception) + run.output
    assert not (tmp_path / "out").exists()
