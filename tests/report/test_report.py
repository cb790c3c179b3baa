"""The steward's report: its facts, its safety and its robustness."""

import datetime as dt
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from report_page import Page
from sfumato.errors import OutputError
from sfumato.method.incognito.incognito import Incognito
from sfumato.method.mondrian import Mondrian
from sfumato.release.release import Release, load
from sfumato.report.guarantees import guarantee, in_words, met
from sfumato.report.plots import percent, shortened
from sfumato.report.report import render_report, write_report
from sfumato.report.summary import summarize
from sfumato.requirement.catalogue import MODELS
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.table.microdata import read

SECTIONS = [
    "What was required and what was achieved",
    "Risk before and after",
    "The riskiest combinations",
    "What was lost",
    "Distributions before and after",
    "Columns and roles",
    "How it was made",
    "What this guarantees, and what it does not",
    "Approval",
]


def page_of(published: Any, **more: Any) -> Page:
    return Page(render_report(release=published.release, table=published.table, policy_text=published.policy, **more))


def test_the_example(example: Any) -> None:
    page = page_of(example)
    assert page.headings[0] == "Discharges 2025"
    assert [h for h in page.headings if h in SECTIONS] == SECTIONS
    assert "PRIVATE: do not hand over" in page.words
    assert "4,000 rows were published by generalization" in page.words
    assert "All 4 requirements are met." in page.words
    groups = example.release.tables["data"].select(example.release.quasi()).unique().height
    assert f"formed {groups:,} groups" in page.words
    assert "the smallest has 5 rows" in page.words


def test_figures_are_those_of_the_data(example: Any) -> None:
    """Counted once more with Polars alone."""
    page = page_of(example)
    names = example.release.quasi()
    private = pl.DataFrame({n: example.table[n].codes for n in names})
    before = private.group_by(names).len()["len"]
    after = example.release.tables["data"].group_by(names).len()["len"]
    unique = int((before == 1).sum())
    assert (
        f"Unique rows no other row has the same quasi-identifiers {unique:,} ({percent(unique / 4000)}) 0 (0%)"
        in page.words
    )
    assert f"{before.min()} / {before.median():g}" in page.words
    assert f"5 / {after.median():g} / {after.mean():.4g} / {after.max()}" in page.words
    assert f"re-identified correctly >99.9% {percent(len(after) / 4000)}" in page.words
    for name in names:
        loss = example.release.manifest["attributes"][name]["loss"]
        assert percent(loss) in page.words


def test_guarantees_and_limits_are_told(example: Any) -> None:
    words = page_of(example).words
    for told in (
        "homogeneity",
        "an adversary who knows how the algorithm chose its cuts",
        "Several releases about the same people are not covered",
        "Only the declared quasi-identifiers are protected",
        "The insensitive columns (stay) are published unchanged",
        "The class attribute (readmitted)",
        "secret and not repeatable",
    ):
        assert told in words


def test_it_opens_with_the_summary(example: Any) -> None:
    page = page_of(example, warnings=["Mind the gap."])
    facts = [*summarize(example.release, example.table).facts(), ("Warnings", "2; read them first")]
    told = " ".join(f"{title} {text}" for title, text in facts)
    assert f"In short {told} Read this first {example.release.warnings[0]} Mind the gap." in page.words
    calm = Mondrian().publish(example.table, [KAnonymity(k=5)])
    assert "Warnings none" in Page(render_report(release=calm, table=example.table)).words


def test_rows_left_out_are_told() -> None:
    table = read(pl.DataFrame({"job": ["x"] * 6 + ["y"] * 2}), quasi=["job"])
    release = Incognito(suppression=0.3).publish(table, [KAnonymity(k=5)])
    words = Page(render_report(release=release, table=table)).words
    assert "Rows 8 read, 2 left out by incognito (25%), 6 published" in words
    assert "8 read, 2 left out by incognito, 6 published" in words


def test_with_an_entity_people_are_counted(example: Any) -> None:
    release = Mondrian().publish(example.table, [KAnonymity(k=4, entity="patient")])
    page = Page(render_report(release=release, table=example.table))
    assert "fewest people in a class, counted by patient 1 4" in page.words
    assert "at least 4 people that fit equally well" in page.words
    assert "The identifier patient" not in page.words


def test_seed_warnings_drops_and_date_are_told(example: Any) -> None:
    given = ["Mind the gap.", "Mind the gap."]
    page = page_of(example, seeded=True, warnings=given, made=dt.datetime(2025, 3, 4, 5, 6))
    assert "from a given seed" in page.words
    assert page.words.count("Mind the gap.") == 1
    assert "2025-03-04 05:06" in page.words
    frame = pl.DataFrame({"n": [1, 2, 3, None], "ill": ["a", "b", "a", "b"]})
    table = read(frame, quasi=["n"], sensitive="ill", missing="drop")
    told = render_report(release=Mondrian().publish(table, [KAnonymity(k=2)]), table=table)
    assert "3 read after 1 with missing values was left out, 3 published" in Page(told).words


def test_it_stands_alone(example: Any, odd: Any) -> None:
    """No script, nothing fetched, and a policy that would forbid both."""
    for published in (example, odd):
        page = page_of(published)
        assert not {"script", "img", "iframe", "object", "embed", "form"} & page.elements.keys()
        assert [v for tag, name, v in page.attributes if name in ("src", "srcset", "action", "data")] == []
        assert all(v.startswith(("#", "data:,")) for _, name, v in page.attributes if name == "href")
        assert not any(name.startswith("on") for _, name, _ in page.attributes)
        assert any("default-src 'none'" in v for _, name, v in page.attributes if name == "content")


def test_every_text_is_escaped(odd: Any, hostile: str) -> None:
    page = page_of(odd, warnings=[hostile])
    assert page.headings[0] == hostile
    text = "".join(page.text)
    assert hostile * 20 in text, "the policy, word for word"
    assert "whole" + hostile in text
    assert "plain" + hostile in text
    assert "Any <i>&" in text
    assert page.elements["i"] == sum(1 for tag, name, _ in page.attributes if (tag, name) == ("i", "style"))


def test_tables_and_plots_can_be_read_aloud(example: Any) -> None:
    html = render_report(release=example.release, table=example.table)
    page = Page(html)
    assert page.elements["caption"] == page.elements["table"] == 7
    assert len(re.findall(r'<svg role="img"[^>]*><title>[^<]+</title>', html)) == page.elements["svg"] == 10
    assert ("html", "lang", "en") in page.attributes


def test_the_same_release_gives_the_same_report(example: Any) -> None:
    first, second = (render_report(release=example.release, table=example.table) for _ in range(2))
    assert first == second


def test_a_release_read_from_disk_gives_the_same_report(example: Any, tmp_path: Path) -> None:
    example.release.write(tmp_path / "release")
    again = load(tmp_path / "release")
    kept = render_report(release=again, table=example.table)
    assert kept == render_report(release=example.release, table=example.table)


@pytest.mark.parametrize(
    ("columns", "sensitive", "k"),
    [
        ({"n": [1]}, None, 1),
        ({"n": [1, 1, 1]}, None, 3),
        ({"c": ["a", "b", "c"]}, None, 3),
        ({"n": [1.5, 2.25, -3.125], "ill": ["x", "x", "x"]}, "ill", 2),
        ({"d": [dt.date(2020, 1, 1), dt.date(1920, 1, 1)]}, None, 2),
        ({"n": [None, None], "m": [1, 2]}, None, 2),
        ({"n": [None, None], "m": [1, 2]}, None, 1),
        ({"c": ["", " "], "long" * 50: ["z" * 5000, "é\u202e\u0007"]}, None, 1),
    ],
)
def test_small_and_strange_tables(columns: dict[str, list[object]], sensitive: str | None, k: int) -> None:
    frame = pl.DataFrame(columns)
    table = read(frame, quasi=[n for n in columns if n != sensitive], sensitive=sensitive, missing="category")
    release = Mondrian().publish(table, [KAnonymity(k=k)])
    page = Page(render_report(release=release, table=table))
    assert page.headings[0] == "Untitled release"
    assert "The requirement is met." in page.words


def test_a_group_that_shares_a_value_is_counted() -> None:
    frame = pl.DataFrame({"n": [1, 1, 2, 2], "ill": ["HIV", "HIV", "flu", "HIV"]})
    table = read(frame, quasi=["n"], sensitive="ill")
    release = Mondrian().publish(table, [KAnonymity(k=2)])
    words = Page(render_report(release=release, table=table)).words
    assert "ill given away rows whose class or group shows a single value 2 (50%) 2 (50%)" in words


def test_an_unmet_requirement_is_not_called_met(example: Any) -> None:
    entries = example.release.manifest["requirements"]
    worse = [{**entries[0], "achieved": {"k": 2}}, *entries[1:]]
    release = Release(example.release.manifest | {"requirements": worse}, example.release.tables)
    words = Page(render_report(release=release, table=example.table)).words
    assert "Not all requirements are met." in words
    assert "✗ no" in words


@pytest.mark.parametrize(
    ("model", "required", "achieved", "kept"),
    [
        ("k-anonymity", {"k": 5}, {"k": 5}, True),
        ("k-anonymity", {"k": 5}, {"k": 4}, False),
        ("l-diversity", {"l": 3, "variant": "frequency"}, {"l": 2.9}, False),
        ("l-diversity", {"l": 3, "c": 2.0, "variant": "recursive"}, {"c": 1.5}, True),
        ("l-diversity", {"l": 3, "c": 2.0, "variant": "recursive"}, {"c": 2.5}, False),
        ("t-closeness", {"t": 0.3}, {"t": 0.3 + 1e-12}, True),
        ("t-closeness", {"t": 0.3}, {"t": 0.31}, False),
        ("alpha-k", {"alpha": 0.5, "k": 3}, {"alpha": 0.6, "k": 3}, False),
        ("anonymity", {"k": 3, "x": ["a"]}, {"k": 2}, False),
        ("confidentiality", {"k": 0.5, "y": ["a"]}, {"k": 0.4}, True),
        ("confidentiality", {"k": {"HIV": 0.2}, "y": {"ill": ["HIV"]}}, {"HIV": 0.1}, True),
        ("confidentiality", {"k": {"HIV": 0.2}, "y": {"ill": ["HIV"]}}, {"HIV": 0.3}, False),
        ("confidentiality", {"k": {"HIV": 0.2}, "y": {"ill": ["HIV"]}}, {"k": 0.1}, False),
        ("k-anonymity", {"k": 5}, {}, False),
        ("t-closeness", {"t": 0}, {"t": 0.0}, True),
    ],
)
def test_met_or_not(model: str, required: dict[str, Any], achieved: dict[str, float], kept: bool) -> None:
    entry = {"model": model, "required": required, "achieved": achieved}
    assert met(entry) is kept
    told = guarantee(entry)
    assert told.promise.endswith(".")
    assert told.limits


def test_every_model_explains_itself() -> None:
    for cls in MODELS.values():
        assert not getattr(cls.guarantee, "__isabstractmethod__", False)


def test_an_unknown_model_speaks_for_itself() -> None:
    entry = {"model": "future", "required": {}, "achieved": {}, "words": "nobody learns anything"}
    assert in_words(entry) == "nobody learns anything"
    assert guarantee(entry).promise == "Nobody learns anything."
    assert not met(entry)
    assert in_words({"model": "k-anonymity", "required": {"k": 3}, "achieved": {}}) == "every group has at least 3 rows"


def test_labels_are_cut_by_their_width() -> None:
    assert shortened("a" * 21) == "a" * 21
    assert shortened("a" * 22) == "a" * 20 + "…"
    assert len(shortened("漢字" * 20)) < len(shortened("ABC" * 20)) < 21
    assert shortened("") == ""


def test_write_report(example: Any, tmp_path: Path) -> None:
    target = write_report(tmp_path / "report.html", release=example.release, table=example.table, policy_text="\ud800")
    assert Page(target.read_text(encoding="utf-8")).headings[0] == "Discharges 2025"
    with pytest.raises(OutputError, match="cannot be written"):
        write_report(tmp_path / "no" / "report.html", release=example.release, table=example.table)
