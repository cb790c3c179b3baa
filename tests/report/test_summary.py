"""The summary says what is true of each scheme: every figure is counted again, the slow way."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.method.base import Method
from sfumato.release.best_guess import best_guesses
from sfumato.release.release import Release, load
from sfumato.report.summary import Summary, summarize
from sfumato.requirement.base import Requirement

KEYS = {"rows", "groups", "information_kept", "kept", "unchanged", "suppressed", "retention", "changed_at_least"}


def discharges(example: Any, **roles: Any) -> sf.Microdata:
    """The example with the columns of the roles given."""
    chosen = {name: example.table.columns[name] for name in ("age", "sex", "zip", "job", "diagnosis")}
    return replace(example.table, columns=chosen, plain=pl.DataFrame(), **roles)


def sizes_of(release: Release) -> list[int]:
    if "quasi" in release.tables:
        return release.tables["quasi"].group_by("group").len()["len"].to_list()
    return release.tables["data"].group_by(release.quasi()).len()["len"].to_list()


GROUPED: list[tuple[Method | str, Requirement]] = [
    ("mondrian", sf.KAnonymity(k=5)),
    ("mondrian+", sf.LDiversity(l=3)),
    ("mondrian++", sf.LDiversity(l=3)),
    ("hilb-safe", sf.LDiversity(l=3)),
    ("anatomy", sf.LDiversity(l=3)),
    (sf.MondrianPlus(scheme="bucketization"), sf.LDiversity(l=3)),
    (sf.Incognito(suppression=0.05), sf.KAnonymity(k=5)),
    (sf.TopDown(score="distortion"), sf.KAnonymity(k=5)),
    (sf.TopDownDisclosure(score="distortion"), sf.Confidentiality(y="diagnosis", k=0.4)),
]


@pytest.mark.parametrize(("method", "required"), GROUPED, ids=lambda v: getattr(v, "name", getattr(v, "model", v)))
def test_groups_rows_and_guesses(example: Any, method: Method | str, required: Requirement) -> None:
    table = discharges(example)
    release = sf.publish(table, require=required, method=method)
    told = summarize(release, table)
    sizes = sizes_of(release)
    assert told.groups is not None
    assert (told.groups.number, told.groups.smallest, told.groups.largest) == (len(sizes), min(sizes), max(sizes))
    assert told.groups.median == np.median(sizes)
    assert told.read == 4000
    assert told.published == sum(sizes)
    assert told.left_out == 4000 - told.published
    assert (told.left_out > 0) == (told.method == "incognito")
    assert told.guesses["diagnosis"] == best_guesses(release)["diagnosis"]
    assert told.as_dict().keys() == KEYS | {"best_guess"}


@pytest.mark.parametrize("scheme", ["generalization", "bucketization"])
def test_the_best_guess_counted_the_slow_way(example: Any, scheme: Any) -> None:
    table = discharges(example)
    release = sf.publish(table, require=sf.LDiversity(l=3), method=sf.MondrianPlus(scheme=scheme))
    if scheme == "generalization":
        rows = release.tables["data"].select([*release.quasi(), "diagnosis"]).rows()
        pairs = [(row[:-1], row[-1], 1) for row in rows]
    else:
        pairs = [((g,), v, n) for g, v, n in release.tables["sensitive"].select("group", "diagnosis", "count").rows()]
    groups: dict[Any, dict[str, int]] = {}
    for group, value, number in pairs:
        held = groups.setdefault(group, {})
        held[value] = held.get(value, 0) + number
    shares = [(max(held.values()), sum(held.values())) for held in groups.values()]
    guess = best_guesses(release)["diagnosis"]
    assert guess.mean == pytest.approx(sum(most for most, _ in shares) / 4000)
    assert guess.worst == pytest.approx(max(most / size for most, size in shares))
    assert guess.certain == sum(size for most, size in shares if most == size)
    codes = table["diagnosis"].codes
    assert guess.base == pytest.approx(np.bincount(codes).max() / 4000)
    assert guess.value == table["diagnosis"].domain.leaves[int(np.bincount(codes).argmax())]


def test_information_kept_is_what_the_labels_do_not_hide(example: Any) -> None:
    told = summarize(example.release, example.table)
    losses = [a["loss"] for a in example.release.manifest["attributes"].values() if "loss" in a]
    assert told.information == pytest.approx(1 - sum(losses) / len(losses))
    facts = dict(told.facts())
    assert facts["Rows"] == "4,000 read, 4,000 published"
    worst = min(told.kept, key=lambda name: told.kept[name])
    assert f"least: {worst} " in facts["Information kept"]
    assert facts["Suppressed"] == "nothing"
    assert list(facts) == [
        *("Rows", "Groups", "Information kept", "Suppressed", "Best guess, diagnosis", "Best guess, readmitted"),
    ]


def test_rows_left_out_and_cells_suppressed_are_counted() -> None:
    frame = pl.DataFrame({"job": ["x"] * 6 + ["y"] * 3, "town": [*"abcabcaaa"]})
    table = sf.read(frame, quasi=["job", "town"])
    release = sf.publish(table, require=sf.KAnonymity(k=6), method=sf.Incognito(suppression=0.4))
    told = summarize(release, table)
    assert (told.read, told.left_out, told.published) == (9, 3, 6)
    assert told.cells == 6
    assert told.hidden == ("town",)
    facts = dict(told.facts())
    assert facts["Rows"] == "9 read, 3 left out by incognito (33.3%), 6 published"
    assert facts["Groups"] == "1, with the same labels for all 6 rows"
    assert facts["Information kept"] == (
        "50% on average over 2 quasi-identifiers of the published rows; least: town 0%, job 100%"
    )
    assert facts["Suppressed"] == (
        "3 rows; 6 of 12 quasi-identifier cells show * (50%); town entirely (one label for everyone)"
    )
    assert told.as_dict()["suppressed"] == {"rows": 3, "cells": 6, "attributes": ["town"]}


def test_rows_with_missing_values_are_counted() -> None:
    frame = pl.DataFrame({"n": [1, 2, 3, None], "ill": ["a", "b", "a", "b"]})
    table = sf.read(frame, quasi=["n"], sensitive="ill", missing="drop")
    told = summarize(sf.publish(table, require=sf.KAnonymity(k=2)), table)
    assert dict(told.facts())["Rows"] == "4 read, 1 dropped for missing values (25%), 3 published"
    assert (told.read, told.dropped, told.published, told.left_out) == (4, 1, 3, 0)


def test_a_value_that_is_a_star_is_not_suppressed() -> None:
    table = sf.read(pl.DataFrame({"grade": ["*"] * 3 + ["a"] * 3}), quasi=["grade"])
    told = summarize(sf.publish(table, require=sf.KAnonymity(k=3)), table)
    assert (told.cells, told.hidden, told.information) == (0, (), 1.0)


def test_buckets_keep_the_quasi_identifiers(example: Any) -> None:
    table = discharges(example)
    told = summarize(sf.publish(table, require=sf.LDiversity(l=3), method="anatomy"), table)
    facts = dict(told.facts())
    assert told.information == 1.0
    assert facts["Information kept"].startswith("quasi-identifiers are shown exactly; which sensitive value")
    assert facts["Suppressed"] == "nothing"
    assert facts["Best guess, diagnosis"].startswith("right for 33.3% of the rows by group, 33.3% in the worst group")


def test_a_sample_says_what_it_is_a_sample_of(example: Any) -> None:
    table = discharges(example)
    release = sf.publish(table, require=sf.KAnonymity(k=6), method=sf.PG(p=0.3))
    told = summarize(release, table)
    data = release.tables["data"]
    assert (told.read, told.left_out, told.published) == (4000, 0, data.height)
    assert told.groups is not None
    assert (told.groups.number, told.groups.smallest) == (data.height, data["G"].min())
    facts = dict(told.facts())
    assert f"{data.height} published, one per group (" in facts["Rows"]
    assert facts["Sensitive values"] == "kept with probability 0.3, otherwise drawn from the whole domain"
    assert told.guesses == {}, "a perturbed value is no guess"


def test_randomized_values_are_told_by_how_many_stay(example: Any) -> None:
    table = discharges(example)
    way = sf.RandomizedResponse(keep={"sex": 0.9}, matrices={"diagnosis": _matrix(table["diagnosis"].size)})
    told = summarize(sf.publish(table, require=sf.Disclosure(tau=1.0), method=way), table)
    shares = np.bincount(table["diagnosis"].codes, minlength=table["diagnosis"].size) / 4000
    kept = 0.5 * shares[0] + 0.8 * (1 - shares[0])
    assert told.kept == pytest.approx({"sex": 0.9, "diagnosis": kept}, abs=1e-6)
    assert told.unchanged == ("age", "zip", "job")
    assert (told.groups, told.information, told.guesses) == (None, None, {})
    assert "values expected to stay unchanged: sex 90%, diagnosis" in dict(told.facts())["Information kept"]
    assert dict(told.facts())["Information kept"].endswith("not randomized: age, zip, job")


def _matrix(size: int) -> list[list[float]]:
    """The first value is kept with probability 1/2, the others with 0.8."""
    keep = np.array([0.5, *[0.8] * (size - 1)])
    matrix = np.tile((1 - keep) / (size - 1), (size, 1))
    np.fill_diagonal(matrix, keep)
    return matrix.tolist()  # type: ignore[no-any-return]


def test_where_values_are_changed_no_guess_is_told_but_how_many_changed(example: Any) -> None:
    table = discharges(example)
    release = sf.publish(table, require=sf.MConfidentiality(m=3), method="mask+")
    told = summarize(release, table)
    before = table["diagnosis"].codes
    leaves = table["diagnosis"].domain.leaves
    counts = dict(release.tables["data"]["diagnosis"].cast(pl.String).value_counts().iter_rows())
    after = np.array([counts.get(v, 0) for v in leaves])
    assert told.changed == {"diagnosis": int(np.abs(np.bincount(before, minlength=len(leaves)) - after).sum() // 2)}
    assert told.changed["diagnosis"] > 0
    assert told.guesses == {}
    assert "values of diagnosis differ from the table" in dict(told.facts())["Sensitive values"]


def test_from_disk_the_same_summary(example: Any, tmp_path: Path) -> None:
    example.release.write(tmp_path / "release")
    assert summarize(load(tmp_path / "release"), example.table) == summarize(example.release, example.table)


def test_lines_are_the_facts_in_two_columns() -> None:
    told = Summary(
        method="m", scheme="generalization", read=2, dropped=0, left_out=0, published=2, groups=None, kept={}
    )
    assert told.lines() == [
        "Rows              2 read, 2 published",
        "Information kept  no quasi-identifier is published",
        "Suppressed        nothing",
    ]


def test_a_randomized_domain_with_room_for_missing_values_has_a_summary(tmp_path: Path) -> None:
    frame = pl.DataFrame({"sex": ["F", "M"] * 40, "ill": ["flu", "HIV", "gout", "flu"] * 20})
    frame.write_csv(tmp_path / "t.csv")
    (tmp_path / "p.toml").write_text(
        '[data]\nsource = "t.csv"\nmissing = "category"\n[attributes]\n'
        'sex = { role = "quasi", taxonomy = { Any = ["F", "M"] } }\n'
        'ill = { role = "sensitive", domain = ["flu", "HIV", "gout"] }\n'
        '[[require]]\nmodel = "disclosure"\ntau = 1\n[method]\nname = "rr"\nkeep = { sex = 0.8, ill = 0.6 }\n'
    )
    published = sf.publish_policy(tmp_path / "p.toml", tmp_path / "out")
    assert published.summary.kept == pytest.approx({"sex": 0.8, "ill": 0.6})
