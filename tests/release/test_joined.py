"""Claims about the join with earlier releases: stated without them, verified with them, broken if they do not hold."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.release.check.statement import parse_manifest
from sfumato.release.earlier import as_earlier
from sfumato.release.joined import stating_join
from sfumato.requirement.join_template import JoinTemplate, join_template

TREE = {"pob": {"Any": {"Europe": ["UK", "FR"], "US": {}}}}
TESTS = pl.DataFrame(
    {
        "test": ["HIV", "HIV", "Eye", "Eye", "Allergy", "Allergy", "Allergy", "Allergy"],
        "job": ["Banker", "Banker", "Banker", "Clerk", "Driver", "Engineer", "Engineer", "Engineer"],
        "pob": ["UK", "UK", "UK", "FR", "US", "US", "FR", "FR"],
        "sex": list("MMFFMMMM"),
        "class": ["Yes"] * 4 + ["No"] * 2 + ["Yes"] * 2,
    }
)
PATIENTS = pl.DataFrame(
    {
        "pob": ["UK", "UK", "UK", "FR", "FR", "FR", "FR", "US"],
        "sex": list("MMFFMMMM"),
        "zip": ["Z3", "Z3", "Z5", "Z5", "Z3", "Z3", "Z3", "Z3"],
    }
)


def table() -> sf.Microdata:
    return sf.read(TESTS, quasi=["job", "pob", "sex"], sensitive="test", class_="class", taxonomies=TREE)


@cache
def patients() -> sf.Release:
    """T2 as a sfumato release in which nothing needs to be hidden."""
    read = sf.read(PATIENTS, quasi=["pob", "sex", "zip"], class_=None, taxonomies=TREE)
    return sf.publish(read, require=sf.KAnonymity(k=1), title="Patients", method=sf.Mondrian(labels="nodes"))


def template(k: float = 0.5) -> JoinTemplate:
    wanted = sf.Confidentiality(x=["job", "T1.pob", "T2.pob", "T1.sex", "T2.sex", "zip"], y={"test": ["HIV"]}, k=k)
    return join_template(wanted, ("T1", "T2"))


def claiming(k: float = 0.5, achieved: float = 0.25, **facts: Any) -> sf.Release:
    """A release of T1 with a claim about the join with T2; everything is hidden, so 2 of 8 have HIV."""
    method = sf.TopDown(templates=[sf.Anonymity(x=["job", "pob", "sex"], k=2)], score="distortion")
    alone = sf.publish(table(), require=sf.Anonymity(x=["job", "pob", "sex"], k=8), method=method)
    made = stating_join(alone, [as_earlier(patients(), "T2")], ())
    claim = {
        "model": "confidentiality",
        "required": template(k).parameters(),
        "achieved": {"k": achieved},
        "words": template(k).words(),
    }
    return made.stating(requirements=[*made.manifest["requirements"], claim], **facts)


def found(release: sf.Release, after: Any = ()) -> dict[str, tuple[str, str]]:
    return {f.claim: (f.status, f.detail) for f in release.findings(after)}


def test_without_the_earlier_release_a_claim_is_stated_and_says_how_to_verify_it() -> None:
    status, detail = found(claiming())[template().words()]
    assert status == "stated"
    assert "to verify it, give T2 (Patients, SHA-256 " in detail
    assert "with --after RELEASE" in detail


def test_with_it_the_claim_is_verified(tmp_path: Path) -> None:
    patients().write(tmp_path / "T2")
    release = claiming()
    for after in (patients(), tmp_path / "T2", str(tmp_path / "T2")):
        assert found(release, [after])[template().words()] == ("holds", "k = 0.25")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda r: claiming(k=0.2, achieved=0.2), "combinations fail; k = 0.25"),
        (lambda r: claiming(achieved=0.2), "the manifest claims k = 0.2, found k = 0.25"),
    ],
)
def test_a_claim_that_does_not_hold_is_broken(change: Callable[[Any], sf.Release], told: str) -> None:
    release = change(None)
    broken = [f.detail for f in release.findings([patients()]) if f.status == "broken"]
    assert any(told in detail for detail in broken)
    with pytest.raises(
        sf.ReleaseError, match=f"^{len(broken)} of .* claims {'does' if len(broken) == 1 else 'do'} not hold"
    ):
        release.check(after=[patients()])


def entry(release: sf.Release, **changes: Any) -> sf.Release:
    (one,) = release.manifest["after"]
    return release.stating(after=[one | changes])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"dangling": {"here": 1, "there": 0}}, "0 rows here and 0 rows there match nothing"),
        ({"join": ["pob"]}, "both have pob, sex"),
        ({"rows": 9}, "T2 has 8 rows by generalization, titled 'Patients'"),
        ({"title": "Other"}, "T2 has 8 rows by generalization, titled 'Patients'"),
    ],
)
def test_what_is_said_of_an_earlier_release_is_verified(changes: dict[str, Any], told: str) -> None:
    broken = [f for f in entry(claiming(), **changes).findings([patients()]) if f.status == "broken"]
    assert broken[0].detail == told


def test_another_release_is_not_taken_for_the_one_that_is_named() -> None:
    other = sf.publish(table(), require=sf.KAnonymity(k=2))
    with pytest.raises(sf.PolicyError, match="is not a release that this one was published after"):
        claiming().findings([other])
    with pytest.raises(sf.PolicyError, match="already given"):
        claiming().findings([patients(), patients()])


def test_a_release_without_claims_about_a_join_needs_no_earlier_one() -> None:
    with pytest.raises(sf.PolicyError, match="makes no claim about a join"):
        sf.publish(table(), require=sf.KAnonymity(k=2)).findings([patients()])


def test_a_claim_about_a_release_that_is_not_named_is_broken() -> None:
    release = claiming()
    plain = {k: v for k, v in release.manifest.items() if k != "after"}
    status, detail = found(sf.Release(plain, release.tables))["the claim 'confidentiality'"]
    assert (status, "the manifest does not name 'T2'" in detail) == ("broken", True)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda e: e | {"tables": {}}, "without the SHA-256"),
        (lambda e: e | {"tables": {"data.csv": "abc"}}, "without the SHA-256"),
        (lambda e: e | {"name": "T1"}, "its own name, other than T1"),
        (lambda e: e | {"dangling": {"here": 1}}, "how many rows here and there"),
        (lambda e: e | {"attributes": {"a": {"role": "quasi"}}}, "role, kind and nodes"),
        (lambda e: e | {"surplus": 1}, "which no sfumato release has"),
        (lambda e: {k: v for k, v in e.items() if k != "title"}, "lacks 'title'"),
    ],
)
def test_a_manifest_that_names_earlier_releases_wrongly_is_refused(change: Callable[[Any], Any], told: str) -> None:
    release = claiming()
    (one,) = release.manifest["after"]
    with pytest.raises(sf.ReleaseError, match=told):
        parse_manifest(release.stating(after=[change(one)]).manifest)


def test_rules_of_a_manifest_are_about_its_releases() -> None:
    for rule in ({"T1": {"sex": ["M"]}}, {"T1": {"sex": ["M"]}, "T9": {"zip": ["Z3"]}}):
        with pytest.raises(sf.ReleaseError, match="not about two of its releases"):
            parse_manifest(claiming(inconsistent=[rule]).manifest)


def test_a_rule_changes_what_matches() -> None:
    """If men are never in Z3, all six men match nothing."""
    rule = {"T1": {"sex": ["M"]}, "T2": {"zip": ["Z3"]}}
    release = claiming(inconsistent=[rule])
    details = [f.detail for f in release.findings([patients()]) if f.status == "broken"]
    assert details


def test_a_plain_file_is_read_by_what_the_manifest_says_of_it(tmp_path: Path) -> None:
    file = tmp_path / "old.csv"
    PATIENTS.with_columns(pl.Series("pob", ["Europe"] * 7 + ["US"])).write_csv(file)
    old = sf.earlier(str(file), quasi=["pob", "sex", "zip"], taxonomies=TREE, title="Old")
    alone = sf.publish(table(), require=sf.Anonymity(x=["job", "pob", "sex"], k=2), method=sf.TopDown())
    release = stating_join(alone, [old], ())
    (said,) = release.description.after or ()
    assert list(said.tables) == ["data.csv"]
    assert said.attributes is not None
    assert said.attributes["pob"]["nodes"]["Europe"] == ["UK", "FR"]
    assert "broken" not in {f.status for f in release.findings([file])}
    file.write_text(file.read_text().replace("Z5", "Z6"))
    with pytest.raises(sf.PolicyError, match="a file whose SHA-256 is not in the manifest"):
        release.findings([file])


def test_the_keys_are_written_in_order_and_read_again(tmp_path: Path) -> None:
    release = claiming()
    release.write(tmp_path / "release")
    again = sf.load(tmp_path / "release")
    assert again.description.after == release.description.after
    assert list(again.manifest).index("after") < list(again.manifest).index("tables")
    assert replace(again.description, tables=None).plain() == release.description.plain()


def test_people_who_are_not_published_are_stated() -> None:
    """Who has several rows is counted by an identifier, which nobody outside can see."""
    frame = TESTS.with_columns(pid=pl.Series(["a", "a", "b", "c", "d", "e", "f", "g"]))
    people = sf.read(frame, quasi=["job", "pob", "sex"], class_="class", identifiers=["pid"], taxonomies=TREE)
    wanted = sf.Anonymity(x=["job", "zip"], y="pid", k=2)
    release = sf.publish(people, require=wanted, method=sf.TopDownSequential(after=[patients()]))
    (claim,) = release.description.requirements
    assert claim.required["y"] == "T1.pid"
    told = {f.claim: (f.status, f.detail) for f in release.findings([patients()])}
    status, detail = told[claim.words]
    assert status == "stated"
    assert (
        "'pid' is not published, so it cannot be counted in the join; every combination is linked to at least" in detail
    )
    forged = [{**claim.plain(), "achieved": {"k": 9}}]
    details = [f.detail for f in release.stating(requirements=forged).findings([patients()]) if f.status == "broken"]
    assert any("a combination is linked to only" in detail for detail in details)


def test_a_unique_identifier_is_the_record_itself() -> None:
    frame = TESTS.with_columns(pid=pl.Series(list("abcdefgh")))
    people = sf.read(frame, quasi=["job", "pob", "sex"], class_="class", identifiers=["pid"], taxonomies=TREE)
    wanted = sf.Anonymity(x=["job", "zip"], y="pid", k=2)
    release = sf.publish(people, require=wanted, method=sf.TopDownSequential(after=[patients()]))
    (claim,) = release.description.requirements
    assert claim.required["y"] == "T1"
    assert "broken" not in {f.status for f in release.findings([patients()])}
    assert {f.claim: f.status for f in release.findings([patients()])}[claim.words] == "holds"


ODD: tuple[Any, ...] = (None, 1.5, "T9", [1], {"a": 1})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a manifest says something."""
    yield path
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in below:
        yield from places(inner, (*path, key))


def test_whatever_is_forged_about_the_join_is_found() -> None:
    """Every part of what is said about the join, replaced by something odd: broken, and never a crash."""
    old = sf.earlier(PATIENTS, quasi=["pob", "sex", "zip"], taxonomies=TREE, title="Old")
    rule = sf.Inconsistent(sides={"T1": {"job": "Clerk"}, "T2": {"zip": "Z3"}})
    method = sf.TopDownSequential(after=[old], inconsistent=[rule])
    wanted = sf.Confidentiality(x=["job", "zip"], y={"test": ["HIV"]}, k=0.9)
    release = sf.publish(table(), require=wanted, method=method)
    assert "broken" not in {f.status for f in release.findings([old])}
    said = {key: release.manifest[key] for key in ("after", "inconsistent", "requirements")}
    for path in places(said):
        for odd in ODD if path else ():
            forged = deepcopy(release.manifest)
            inner: Any = forged
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = odd
            found = sf.Release(forged, release.tables).findings([old])
            word = path[0] == "inconsistent" and isinstance(odd, str)  # another rule: the publisher's word
            assert word or "broken" in {f.status for f in found}, (path, odd)
