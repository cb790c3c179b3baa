"""How well sensitive values are guessed from groups, and the warning where they are certain."""

import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversary.linkage import linkage_risk, quasi_groups
from sfumato.cli import main
from sfumato.release.best_guess import GroupValues, best_guess, best_guesses
from strategies import examples


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=40))
@examples(200)
def test_twin(entries: list[tuple[int, int, int]]) -> None:
    groups: dict[int, Counter[int]] = defaultdict(Counter)
    for group, value, count in entries:
        groups[group][value] += count
    total = sum(bag.total() for bag in groups.values())
    whole = sum(groups.values(), Counter[int]())
    found = best_guess(GroupValues(*(np.array(column) for column in zip(*entries, strict=True))))
    single = [(group, value) for group, value, count in entries for _ in range(count)]
    with pytest.MonkeyPatch.context() as patch:  # a row at a time, counted as many rows are
        patch.setattr("sfumato.release.best_guess.MANY", 0)
        patch.setattr("sfumato.release.best_guess._DENSE", 1000)
        assert best_guess(GroupValues(*(np.array(column) for column in zip(*single, strict=True)))) == found
    assert found.rows == total
    assert found.certain == sum(bag.total() for bag in groups.values() if len(bag) == 1)
    assert found.worst == pytest.approx(max(max(bag.values()) / bag.total() for bag in groups.values()))
    assert found.mean == pytest.approx(sum(max(bag.values()) for bag in groups.values()) / total)
    linked = [n * n / bag.total() for bag in groups.values() for n in bag.values()]
    assert found.linked == pytest.approx(sum(linked) / total)
    assert found.base == pytest.approx(max(whole.values()) / total)
    assert whole[int(found.value)] == max(whole.values())
    assert found.unlinked == pytest.approx(sum((n / total) ** 2 for n in whole.values()))


def people(rows: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    ills = rng.choice(["flu", "cold", "none", "HIV"], rows, p=[0.4, 0.3, 0.27, 0.03])
    return pl.DataFrame({"age": rng.integers(20, 90, rows), "zip": rng.integers(0, 9, rows).astype(str), "ill": ills})


def certain_by_hand(release: sf.Release) -> int:
    """Group by group, with dictionaries."""
    bags: dict[object, Counter[str]] = defaultdict(Counter)
    if "sensitive" in release.tables:
        for entry in release.tables["sensitive"].to_dicts():
            bags[entry["group"]][entry["ill"]] += entry["count"]
    else:
        for row in release.tables["data"].to_dicts():
            bags[row["age"], row["zip"]][row["ill"]] += 1
    return sum(bag.total() for bag in bags.values() if len(bag) == 1)


@pytest.mark.parametrize("scheme", ["bucketization", "generalization"])
def test_art_says_whose_values_it_publishes_exactly(scheme: str) -> None:
    """One protected value: everybody else may stay alone with theirs."""
    table = sf.read(people(), quasi=["age", "zip"], sensitive="ill")
    wanted = sf.RRobustness(r=2, values=["HIV"], minimum=1000, worlds="two-valued")
    release = sf.publish(table, require=wanted, method=sf.Art(scheme=scheme), rng=np.random.default_rng(1))
    certain = certain_by_hand(release)
    assert certain > 150
    (told,) = [w for w in release.warnings if "published exactly" in w]
    assert told.startswith(f"ill is published exactly for {certain} of 300 rows: their groups show a single value")
    assert best_guesses(release)["ill"].certain == certain


@pytest.mark.parametrize(
    ("method", "require"),
    [
        (sf.Mondrian(), sf.KAnonymity(k=2)),
        (sf.Mondrian(scheme="bucketization"), sf.TCloseness(t=0.9)),
        (sf.Incognito(), sf.KAnonymity(k=1)),
        (sf.TopDown(score="distortion"), sf.KAnonymity(k=1)),
    ],
)
def test_every_method_that_shows_groups_says_so(method: sf.Mondrian, require: sf.KAnonymity) -> None:
    table = sf.read(people(), quasi=["age", "zip"], sensitive="ill")
    release = sf.publish(table, require=require, method=method)
    certain, rows = certain_by_hand(release), release.manifest["rows"]
    assert certain > 0
    assert [w for w in release.warnings if w.startswith(f"ill is published exactly for {certain} of {rows} rows")]


def test_a_diverse_release_has_nothing_to_say() -> None:
    table = sf.read(people(), quasi=["age", "zip"], sensitive="ill")
    for scheme in ("bucketization", "generalization"):
        release = sf.publish(table, require=sf.LDiversity(l=2), method=sf.MondrianPlus(scheme=scheme))
        assert release.warnings == []
        assert best_guesses(release)["ill"].worst <= 0.5


def test_values_that_a_method_may_have_changed_are_not_called_exact() -> None:
    table = sf.read(people(), quasi=["age", "zip"], sensitive="ill")
    release = sf.publish(table, require=sf.MConfidentiality(m=2, values=["HIV"]), method="mask")
    certain = certain_by_hand(release)
    assert certain > 0
    assert not [w for w in release.warnings if "published exactly" in w]
    assert [w for w in release.warnings if w.startswith(f"{certain} of 300 rows are in groups that show a single")]


def test_random_values_and_samples_have_no_certain_ones() -> None:
    table = sf.read(people(), quasi=["age", "zip"], sensitive="ill", domains={"ill": ["flu", "cold", "none", "HIV"]})
    assert best_guesses(sf.publish(table, require=sf.KAnonymity(k=3), method=sf.PG(p=0.5))) == {}


BUCKETS = [sf.Anatomy(), sf.MondrianPlus(scheme="bucketization"), sf.HilbSafe(scheme="bucketization")]


@pytest.mark.parametrize("method", BUCKETS, ids=lambda m: m.name)
def test_the_risk_after_bucketization_is_that_of_exact_quasi_identifiers(method: sf.Anatomy, tmp_path: Path) -> None:
    table = sf.read(people(), quasi=["age", "zip"], sensitive="ill")
    release = sf.publish(table, require=sf.LDiversity(l=2), method=method)
    before = linkage_risk(quasi_groups(table))
    assert before.uniques > 50
    assert linkage_risk(release.classes()) == before
    release.write(tmp_path / "out")
    assert linkage_risk(sf.load(tmp_path / "out").classes()) == before


def test_classes_of_a_generalized_release_are_its_groups() -> None:
    table = sf.read(people(), quasi=["age", "zip"], sensitive="ill")
    release = sf.publish(table, require=sf.LDiversity(l=2), method="mondrian+")
    assert (release.classes() == release.groups()).all()


POLICY = """
[data]
source = "d.csv"
[attributes]
age = { role = "quasi" }
zip = { role = "quasi" }
ill = { role = "sensitive" }
[[require]]
model = "l-diversity"
l = 2
[method]
name = "anatomy"
"""


def test_by_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The audit file counts what is shown; a k beside l is refused on the command line, with exit code 2."""
    monkeypatch.chdir(tmp_path)
    people().write_csv("d.csv")
    Path("p.toml").write_text(POLICY)
    with pytest.raises(SystemExit) as end:
        main(["publish", "p.toml"])
    assert end.value.code == 0
    risk = json.loads(Path("out/private/audit.json").read_text())["risk"]
    assert risk["after"] == risk["before"]
    assert risk["before"]["uniques"] > 50
    both = risk["sensitive"]["ill"]
    assert both["before"]["worst"] == 1
    assert both["after"]["worst"] == 0.5
    assert both["after"]["certain"] == 0
    Path("k.toml").write_text(POLICY + '[[require]]\nmodel = "k-anonymity"\nk = 2\n')
    with pytest.raises(SystemExit) as end:
        main(["publish", "k.toml", "-o", "other"])
    assert end.value.code == 2
    assert "bucketization shows these exactly" in capsys.readouterr().err
    assert not Path("other").exists()
    found = Path("out/release/manifest.json")
    manifest = json.loads(found.read_text())
    for claim in (
        {"model": "k-anonymity", "required": {"k": 2}, "achieved": {"k": 2}, "words": ""},
        {"model": "alpha-k", "required": {"k": 2, "alpha": 0.5}, "achieved": {"k": 2, "alpha": 0.5}, "words": ""},
        {"model": "anonymity", "required": {"k": 1, "x": "age"}, "achieved": {"k": 1}, "words": ""},
    ):
        found.write_text(json.dumps(manifest | {"requirements": [claim]}))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(["check", "out/release", "--json"])
        assert end.value.code == 4
        last = next(c for c in json.loads(capsys.readouterr().out)["claims"] if c["status"] == "broken")
        assert f"by which {risk['before']['uniques']} of 300 rows are unique" in last["detail"]


def test_a_bucketized_release_is_not_judged_by_who_is_told_apart() -> None:
    release = sf.publish(
        sf.read(people(), quasi=["age", "zip"], sensitive="ill"), require=sf.LDiversity(l=2), method="anatomy"
    )
    for requirement in (
        sf.KAnonymity(k=1),
        sf.AlphaK(alpha=1, k=1),
        sf.Anonymity(k=1),
        sf.Confidentiality(y="ill", k=1),
    ):
        with pytest.raises(sf.PolicyError, match="bucketization shows these exactly"):
            release.judge(requirement)
    assert release.judge(sf.LDiversity(l=2)).holds
    assert release.judge(sf.TCloseness(t=1)).holds
