"""Releases that another version wrote: its sentences are stated beside ours, everything else is verified as always.

The adversary is a forger who names another version, so as to be believed. Whatever is accepted that way would also be
accepted from this version once its sentences, and nothing else, were put right; and what they hide is said.
"""

import copy
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from fuzz.edits import MANIFEST, Skip
from sfumato.release.best_guess import best_guesses, certain_values
from sfumato.release.check.made import missing_warnings
from sfumato.release.manifest import Manifest
from sfumato.requirement.catalogue import from_table
from sfumato.requirement.local_privacy import statement

OTHER = "0.0.9"
DISEASES = ["flu", "HIV", "cancer", "gout"]


def people(rows: int) -> sf.Microdata:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "sex": rng.choice(["F", "M"], rows),
            "ill": rng.choice(DISEASES, rows),
        }
    )
    return sf.read(frame, quasi=["age", "sex"], sensitive="ill", domains={"sex": ["F", "M"], "ill": DISEASES})


@cache
def made(scheme: str) -> sf.Release:
    rng = np.random.default_rng(1)
    if scheme == "generalization":
        return sf.publish(people(60), require=[sf.KAnonymity(k=4), sf.LDiversity(l=1.3)], method="mondrian", rng=rng)
    if scheme == "bucketization":
        return sf.publish(people(60), require=sf.LDiversity(l=2), method="hilb", rng=rng)
    if scheme == "sampling":
        return sf.publish(people(400), require=sf.KAnonymity(k=5), method=sf.PG(p=0.4), rng=rng)
    if scheme == "certain":  # groups that show a single value
        return sf.publish(people(60), require=sf.KAnonymity(k=2), rng=rng)
    method = sf.RandomizedResponse(keep={"sex": 0.6, "ill": 0.5})
    frame = pl.DataFrame({"sex": ["F", "M"] * 200, "stay": [i % 5 for i in range(400)], "ill": DISEASES * 100})
    table = sf.read(
        frame, quasi="sex", sensitive="ill", insensitive=["stay"], domains={"sex": ["F", "M"], "ill": DISEASES}
    )
    return sf.publish(table, require=sf.Disclosure(tau=0.9), method=method, rng=rng)


SCHEMES = ["generalization", "bucketization", "sampling", "randomization", "certain"]


def by(release: sf.Release, name: str, **facts: Any) -> sf.Release:
    return sf.Release({**copy.deepcopy(release.manifest), **facts, "sfumato": name}, release.tables)


def broken(release: sf.Release) -> list[str]:
    return [f.claim for f in release.findings() if f.status == "broken"]


def said(release: sf.Release) -> str:
    return "\n".join(f"{f.claim} {f.detail}" for f in release.findings() if f.status == "stated")


def with_our_sentences(release: sf.Release) -> sf.Release:
    """The same release as if this version had written it: only sentences and warnings are replaced."""
    plain = copy.deepcopy(release.manifest) | {"sfumato": version("sfumato")}
    for entry in plain["requirements"]:
        entry["words"] = from_table({"model": entry["model"], **entry["required"]}).words()
    manifest = Manifest.from_plain(plain)
    if manifest.randomized:
        told = plain["epsilon"]
        told["words"] = statement(manifest, told["guarantee"], told.get("fit"))["words"]
    due = [*missing_warnings(release), *certain_values(best_guesses(release), perturbed=False)]
    plain["warnings"] = [*plain.get("warnings", ()), *due]
    return sf.Release(
        plain if plain["warnings"] else {n: v for n, v in plain.items() if n != "warnings"}, release.tables
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_true_release_of_another_version_is_accepted(scheme: str) -> None:
    release = made(scheme)
    assert not broken(release)
    assert not broken(by(release, OTHER))
    assert [f.claim for f in by(release, OTHER).findings()] == [f.claim for f in release.findings()]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_other_sentences_are_stated_beside_ours(scheme: str) -> None:
    release = made(scheme)
    claims = copy.deepcopy(release.manifest["requirements"])
    claims[0]["words"] = "nobody can be found"
    facts: dict[str, Any] = {"requirements": claims, "warnings": ["Mind the gap."]}
    if scheme == "randomization":
        facts["epsilon"] = release.manifest["epsilon"] | {"words": "perfectly private"}
    changed = by(release, OTHER, **facts)
    assert not broken(changed)
    told = said(changed)
    assert "'nobody can be found'" in told
    assert f"sfumato {OTHER}" in told
    assert repr(release.manifest["requirements"][0]["words"]) in told
    assert ("'perfectly private'" in told) == (scheme == "randomization")
    for warning in release.warnings:
        assert warning in told or "domain" in warning
    verified = any(f.status == "holds" and "every required warning is there" in f.claim for f in changed.findings())
    assert verified == (not missing_warnings(changed))
    ours = by(release, version("sfumato"), **facts)
    assert broken(ours)


def test_no_warning_of_ours_is_lost_in_silence() -> None:
    """hilb is refuted, groups give values away, columns have no noise: a forger leaves all of that out."""
    for scheme, text in [
        ("bucketization", sf.Hilb.refuted),
        ("certain", "published exactly for"),
        ("randomization", "Published as in the private table, without noise"),
    ]:
        release = made(scheme)
        assert any(str(text) in w for w in release.warnings)
        plain = {n: v for n, v in release.manifest.items() if n != "warnings"} | {"sfumato": OTHER}
        silent = sf.Release(plain, release.tables)
        assert not broken(silent)
        assert str(text) in said(silent)
        silent.check()


@pytest.mark.parametrize("name", [OTHER, version("sfumato")])
def test_a_figure_in_a_warning_is_verified_where_it_can_be_read(name: str) -> None:
    release = made("certain")
    (due,) = [w for w in release.warnings if "published exactly for" in w]
    less = due.replace(due.split(" of 60 rows")[0].split()[-1], "1", 1)
    assert less != due
    for warnings in ([less], [due, less]):
        assert broken(by(release, name, warnings=warnings)) == [
            "it warns of every sensitive value that a group gives away"
        ]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_forger_gains_nothing_but_words_by_naming_another_version(scheme: str) -> None:
    release, accepted = made(scheme), 0
    for seed in range(120):
        rng = np.random.default_rng([7, seed])
        plain = copy.deepcopy(release.manifest)
        try:
            for _ in range(1 + seed % 2):
                MANIFEST[int(rng.integers(len(MANIFEST)))](rng, plain)
            mutant = sf.Release(plain | {"sfumato": OTHER}, release.tables)
            found = broken(mutant)
        except (Skip, sf.SfumatoError, KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
            continue
        if not found:
            accepted += 1
            assert broken(with_our_sentences(mutant)) == [], seed
    assert accepted


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_figure_is_still_verified(scheme: str) -> None:
    release = made(scheme)
    forgeries: list[dict[str, Any]] = [{"rows": release.manifest["rows"] + 1}]
    for i, entry in enumerate(release.manifest["requirements"]):
        for part in ("achieved", "required"):
            for name, value in entry[part].items():
                if isinstance(value, int | float):
                    claims = copy.deepcopy(release.manifest["requirements"])
                    claims[i][part][name] = value * 3 if part == "achieved" else -value
                    forgeries.append({"requirements": claims})
    if scheme == "randomization":
        told = release.manifest["epsilon"]
        forgeries += [{"epsilon": told | {"total": 0.1}}, {"epsilon": told | {"guarantee": "whole release"}}]
        forgeries += [{"epsilon": told | {"randomized": 0.01}}, {"epsilon": told | {"words": 5}}]
    if scheme == "sampling":
        method = release.manifest["method"]
        forgeries += [{"method": method | {"p": 0.1}}, {"method": method | {"epsilon": 0.1}}, {"sampled_from": 5}]
    for forgery in forgeries:
        assert broken(by(release, OTHER, **forgery)), forgery
