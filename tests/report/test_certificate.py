"""The certificate: who, for whom and for what, hashes, roles, adversaries, recipe and sign-off, in every scheme."""

import datetime as dt
import hashlib
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from report_page import Page
from sfumato.adversary.audit import Audit, Refused
from sfumato.adversary.finding import finding
from sfumato.method.anatomy import Anatomy
from sfumato.method.mondrian import Mondrian
from sfumato.method.pg import PG
from sfumato.method.rr.rr import RandomizedResponse
from sfumato.release.check.finding import Finding
from sfumato.release.release import Release
from sfumato.report.markdown import escaped, fenced, render_markdown
from sfumato.report.pdf import print_pdf
from sfumato.report.provenance import Provenance
from sfumato.report.report import render_page, report_facts
from sfumato.requirement.disclosure import Disclosure
from sfumato.requirement.guarantee import percent
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.table.microdata import Microdata, read

HOSTILE = """<img src=x onerror=alert(1)>"'&</pre></style><script>alert(2)</script>{{7*7}}{% x %}|`_*"""
POLICY = """
title = "Ward"
[data]
source = "d.csv"
[attributes]
name = { role = "identifier" }
age = { role = "quasi", reason = "in the register of voters" }
ill = { role = "sensitive" }
[[require]]
model = "k-anonymity"
k = 2
[method]
name = "mondrian"
[context]
operator = "Hospital of Vinci"
recipient = "Institute of Anatomy"
purpose = "a study of fevers"
"""


def table() -> Microdata:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"age": rng.integers(20, 40, 120), "ill": rng.choice(["flu", "HIV", "gout"], 120)})
    return read(frame, quasi=["age"], sensitive="ill", domains={"ill": ["flu", "HIV", "gout"]})


SCHEMES = {
    "generalization": lambda t: Mondrian().publish(t, [KAnonymity(k=5)]),
    "bucketization": lambda t: Anatomy().publish(t, [LDiversity(l=2)]),
    "sampling": lambda t: PG(p=0.5, k=4).publish(t, [KAnonymity(k=4)]),
    "randomization": lambda t: RandomizedResponse(keep={"age": 0.6, "ill": 0.7}).publish(t, [Disclosure(tau=0.99)]),
}
SECTIONS = ["required", "adversaries", "risk", "combinations", "lost", "distributions", "roles", "made", "guarantees"]


def audit() -> Audit:
    """Two findings, one of them for the worst case only, and one adversary that did not attack."""
    return Audit(
        findings=(
            finding("inference", "knows a person's group", "of a person's illness", [0.3, 0.375], [0.1, 0.1]),
            finding("linkage", "knows everyone's age", "which row is a person's", [1.0], [0.5]),
        ),
        refused=(Refused("membership", "no population is given"),),
        rows=2,
    )


def origin(**more: Any) -> Provenance:
    return Provenance(made=dt.datetime(2026, 5, 2, 9, 30, tzinfo=dt.UTC), **more)


@pytest.fixture(scope="module", params=SCHEMES)
def facts(request: pytest.FixtureRequest) -> dict[str, Any]:
    private = table()
    return report_facts(
        release=SCHEMES[request.param](private),
        table=private,
        provenance=origin(context={"operator": "Vinci"}, reasons={"age": "known"}),
        audit=audit(),
    )


def test_every_section_is_there_in_every_scheme(facts: dict[str, Any]) -> None:
    page = Page(render_page(facts))
    ids = [value for tag, name, value in page.attributes if (tag, name) == ("h2", "id")]
    assert [i for i in ids if i not in ("short", "warnings", "response")] == [*SECTIONS, "approval"]
    assert ("response" in ids) == (facts["scheme"] == "randomization")
    links = [value for tag, name, value in page.attributes if (tag, name) == ("a", "href") and value != "#warnings"]
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert "Equation" not in page.words


def test_each_adversary_is_told_with_its_baseline(facts: dict[str, Any]) -> None:
    for words in (Page(render_page(facts)).words, render_markdown(facts)):
        assert "cannot be more than 37.5% sure of a person's illness; without the release 10%." in words
        assert "is certain which row is a person's for 1 of the 1 people" in words
        assert "membership: no population is given" in words
    assert "inference 37.5% 10% 33.8% 10% 2 of 2" in Page(render_page(facts)).words


def test_no_count_over_one_column_is_further_from_the_truth_than_stated() -> None:
    """All conditions on a column with three values, answered by spreading labels evenly."""
    frame = pl.DataFrame({"job": ["a"] * 5 + ["b"] * 2 + ["c"] * 3, "ill": ["flu", "gout"] * 5})
    private = read(frame, quasi=["job"], sensitive="ill", taxonomies={"job": {"Any": {"AB": ["a", "b"], "c": {}}}})
    release = Mondrian(labels="nodes").publish(private, [KAnonymity(k=3)])
    stated = dict(report_facts(release=release, table=private)["answered"])
    shown = release.tables["data"]["job"].cast(pl.String).to_list()
    below = {"AB": "ab", "Any": "abc", "c": "c"}
    estimate = {v: sum(1 / len(below[label]) for label in shown if v in below[label]) for v in "abc"}
    truth = {"a": 5, "b": 2, "c": 3}
    errors = [
        abs(sum(truth[v] - estimate[v] for v in chosen)) / 10
        for number in range(4)
        for chosen in itertools.combinations("abc", number)
    ]
    assert stated["job"] == pytest.approx(max(errors))
    assert stated["job"] > 0
    assert stated["ill"] == 0
    words = Page(render_page(report_facts(release=release, table=private))).words
    assert f"job {percent(max(errors))} ill exact" in words


def test_a_broken_claim_is_told_first() -> None:
    private, found = table(), audit()
    found = Audit(findings=found.findings, claims=(Finding("k is 5", "broken", "it is 1"),), rows=2)
    facts = report_facts(release=SCHEMES["generalization"](private), table=private, audit=found)
    assert "Claims that do not hold k is 5: it is 1" in Page(render_page(facts)).words
    assert "- BROKEN: k is 5: it is 1" in render_markdown(facts)


def test_context_and_roles(facts: dict[str, Any]) -> None:
    words = Page(render_page(facts)).words
    assert "Made 2026-05-02 09:30 UTC Operator Vinci Recipient not stated; add it under [context]" in words
    assert "age quasi others may know it about a person" in words
    assert "known" in words
    assert "I approve handing over the release." in words
    assert "Data protection officer Name Role Date Signature" in words


def test_without_a_job_nothing_is_made_up() -> None:
    private = table()
    words = Page(render_page(report_facts(release=SCHEMES["generalization"](private), table=private))).words
    for absent in ("Hashes", "The command", "Operator", "What an adversary can learn"):
        assert absent not in words


@pytest.fixture
def job(tmp_path: Path) -> Path:
    rows = "".join(f"P{i},{20 + i % 20},{'flu' if i % 3 else 'gout'}\n" for i in range(60))
    (tmp_path / "d.csv").write_text("name,age,ill\n" + rows)
    (tmp_path / "p.toml").write_text(POLICY)
    return tmp_path


def test_a_job_certifies_its_files(job: Path) -> None:
    sf.publish_policy(job / "p.toml", job / "out", seed=1)
    page = Page((job / "out/private/report.html").read_text(encoding="utf-8"))
    for file in [job / "d.csv", *(job / "out" / "release").iterdir()]:
        assert hashlib.sha256(file.read_bytes()).hexdigest() in page.words
    ledger = json.loads((job / "sfumato-ledger.json").read_text())["releases"][0]
    assert ledger["table"] in page.words
    for words in (
        "handing over the release to Institute of Anatomy for this purpose: a study of fevers",
        "in the register of voters",
        "name identifier names a person; never published no none given",
        "sfumato publish policy.toml --seed 1",
        "The policy names no population",
        f"Polars {pl.__version__}",
        f"NumPy {np.__version__}",
    ):
        assert words in page.words


def test_a_reason_is_no_part_of_what_the_policy_asks_for(job: Path) -> None:
    sf.publish_policy(job / "p.toml", job / "out")
    (job / "p.toml").write_text(POLICY.replace("in the register of voters", "everyone can see it"))
    done = sf.publish_policy(job / "p.toml", job / "again")
    assert "makes the same release" in done.notes[0]
    assert not any("another policy" in warning for warning in done.warnings)


def test_the_markdown_differs_only_in_what_differs(job: Path) -> None:
    first, second = (_markdown(job, name) for name in ("a", "b"))
    changed = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    told = ("Made", "release/", "published under this policy", "sfumato-ledger")
    assert all(any(word in a + b for word in told) for a, b in changed), changed


def _markdown(job: Path, name: str) -> list[str]:
    sf.publish_policy(job / "p.toml", job / name, ledger=False)
    return (job / name / "private" / "report.md").read_text(encoding="utf-8").splitlines()


def test_markdown_shows_hostile_names_as_they_are() -> None:
    frame = pl.DataFrame({"age" + HOSTILE: [1, 2] * 10, "ill": ["flu", HOSTILE] * 10})
    private = read(frame, quasi=["age" + HOSTILE], sensitive="ill")
    release = Mondrian().publish(private, [KAnonymity(k=5)], title=HOSTILE)
    text = render_markdown(report_facts(release=release, table=private, policy_text="```\n# no heading\n````"))
    outside = re.sub(r"^(`{3,})\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert not re.search(r"(?<!\\)<", outside)
    assert not re.search(r"(?<!\\)`", outside)
    assert text.count("`````") == 2  # the fence is longer than any in the policy
    widths = [len(re.findall(r"(?<!\\)\|", line)) for line in outside.splitlines() if line.startswith("|")]
    assert set(widths) <= {4, 5}


def test_escaping() -> None:
    assert escaped("a\n\n# b") == r"a \# b"
    assert escaped("12. x") == r"12\. x"
    assert escaped("74.5% of") == "74.5% of"
    assert fenced("a ``` b").startswith("````\n")


def test_without_a_browser_a_sentence_says_what_to_do() -> None:
    printed = print_pdf("<p>", browsers=["no-such-browser"])
    assert printed.content is None
    assert "print it to a file" in printed.why


@pytest.mark.parametrize(
    ("script", "seconds", "words"),
    [
        ("exit 3", 300.0, "ended with code 3"),
        ("exit 0", 300.0, "wrote none"),
        ("sleep 60 & sleep 60", 0.5, "did not finish within 0.5 seconds"),
    ],
)
def test_a_browser_that_fails_is_told(
    script: str, seconds: float, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "chromium"
    browser.write_text(f"#!/bin/sh\n{script}\n")
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    printed = print_pdf("<p>", seconds=seconds)
    assert printed.content is None
    assert words in printed.why


def test_a_job_prints_its_report(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a browser that writes the page it was given; only the owner can read the result."""
    tools = job / "tools"
    tools.mkdir()
    (tools / "chromium").write_text(
        "#!/bin/sh\nfor a; do case $a in --print-to-pdf=*) to=${a#*=};; file://*) from=${a#file://};; esac; done\n"
        'echo "%PDF" > "$to"; cat "$from" >> "$to"; stat -c %a "$(dirname "$from")" >> "$to"\n'
    )
    (tools / "chromium").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    done = sf.publish_policy(job / "p.toml", job / "out", pdf=True)
    printed = (job / "out/private/report.pdf").read_text()
    assert printed.startswith("%PDF")
    assert printed.endswith("700\n")
    assert "Certificate of release" in printed
    assert (job / "out/private/report.pdf").stat().st_mode & 0o777 == 0o600
    assert not done.notes
    sf.publish_policy(job / "p.toml", job / "out", force=True)  # an output with a PDF is recognized as ours
    assert not (job / "out/private/report.pdf").exists()


def test_releases_know_no_reason(job: Path) -> None:
    done = sf.publish_policy(job / "p.toml", job / "out")
    assert isinstance(done.release, Release)
    public = b"".join(file.read_bytes() for file in (job / "out" / "release").iterdir())
    assert b"register of voters" not in public
