"""r-robustness: parameters, given distributions, and what a check can see."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import DataError, PolicyError, ReleaseError
from sfumato.release.check.claims import judged
from sfumato.requirement.catalogue import from_table
from sfumato.table.microdata import Microdata

ILLS = ["heart disease", "flu", "flu", "stomach virus", "HIV", "diabetes"]
ILLS += ["flu", "flu", "flu", "stomach virus", "HIV", "diabetes"] * 3
KNOWN = [["american", "heart disease", 0.1], ["japanese", "Heart Disease", 0.003], ["french", "heart disease", 0.05]]


def voters() -> Microdata:
    """Table 1 of ART, and the same people three more times, all without heart disease."""
    nations = ["American", "Japanese", "Japanese", "Japanese", "French", "Japanese"] * 4
    zips = ["55501", "55502", "55503", "55504", "66601", "66601"] * 4
    frame = pl.DataFrame({"nationality": nations, "zipcode": zips, "disease": ILLS})
    return sf.read(frame, quasi=["nationality", "zipcode"], sensitive="disease")


def required(**settings: Any) -> sf.RRobustness:
    return sf.RRobustness(**{"r": 2, "values": ["heart disease"], "distributions": KNOWN} | settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"r": 1}, "number above 1"),
        ({"worlds": "all"}, "two-valued"),
        ({"smoothing": 0}, "1e-06 or more"),
        ({"smoothing": 1e-16}, "1e-06 or more"),  # a chance would be rounded to 1
        ({"minimum": 0}, "1 or more"),
        ({"limit": 10**12}, "at most 100,000,000"),
        ({"values": [3]}, "list of sensitive values"),
        ({"distributions": [["japanese", "flu", 0]]}, "probabilities of 0 or 1"),
        ({"distributions": [["japanese", "flu", 1.0]]}, "probabilities of 0 or 1"),
        ({"distributions": [["japanese", "flu", 1.2]]}, "between 0 and 1"),
        ({"distributions": [["japanese", 0.2]]}, "signature, value, probability"),
        ({"distributions": "nowhere.csv"}, "cannot be read: No such file"),
        ({"distributions": "no\0where.csv"}, "contains a NUL character"),
    ],
)
def test_wrong_parameters_never_survive(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        required(**settings)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([["martian", "flu", 0.2]], "no quasi-identifier has that value"),
        ([["japanese", "gout", 0.2]], "not a sensitive value"),
        ([[{"sex": "F"}, "flu", 0.2]], "quasi-identifiers are"),
        ([["japanese", "flu", 0.2], ["Japanese", "flu", 0.3]], "gives 'flu' twice"),
        ([["japanese", "flu", 0.7], ["japanese", "HIV", 0.4]], "adds up to 1.1"),
        ([["japanese", v, 0.15] for v in dict.fromkeys(ILLS)], "over all values it must add up to 1"),
    ],
)
def test_wrong_distributions_say_what_is_wrong(entries: list[list[Any]], words: str) -> None:
    with pytest.raises((PolicyError, DataError), match=words):
        sf.publish(voters(), require=required(distributions=entries), method="art")


def test_files_with_and_without_a_header_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text("american, heart disease, 0.1\njapanese, 55502, flu, 0.2\n")
    header = "nationality, zipcode, disease, probability\nAmerican,, heart disease, 0.1\nJapanese, 55502, flu, 0.2\n"
    (tmp_path / "named.csv").write_text(header)
    from sfumato.release.judgement import TableSchema

    schema = TableSchema(voters())
    plain, named = (required(distributions=str(tmp_path / f"{n}.csv")).bind(schema) for n in ("plain", "named"))
    assert plain == named
    assert plain.parameters()["distributions"][1] == [{"nationality": "Japanese", "zipcode": "55502"}, "flu", 0.2]
    assert from_table({"model": "r-robustness", **plain.parameters()}) == plain


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "contains no distribution"),
        ("nationality, disease, probability\n", "no distributions, only the header"),
        ("japanese, flu, 0.3%\n", "no distributions, only the header"),
        ("japanese; flu; 0.3\n", "no distributions, only the header"),
        ("nationality, nationality, disease, p\njapanese, french, flu, 0.1\n", "each column once"),
        (f"japanese, {'f' * 200_000}, 0.1\n", "cannot read"),
    ],
)
def test_a_file_that_says_nothing_is_not_passed_over(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "known.csv").write_text(text)
    with pytest.raises((PolicyError, DataError), match=words):
        required(distributions=str(tmp_path / "known.csv"))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"distributions": "known.csv"}, "names a file"),
        ({"distributions": [[{"sex": "F"}, "flu", 0.1]]}, "about 'sex'"),
        ({"distributions": [[{"nationality": "Martian"}, "flu", 0.1]]}, "about 'Martian'"),
        ({"sensitive": "zipcode"}, "about one of 'disease'"),
        ({"sensitive": ["disease", "zipcode"]}, "about one of 'disease'"),
    ],
)
def test_a_claim_about_what_the_release_does_not_have_is_no_claim(settings: dict[str, Any], words: str) -> None:
    release = sf.publish(voters(), require=required(), method="art")
    (entry,) = release.manifest["requirements"]
    claim = entry | {"required": entry["required"] | settings}
    damaged = sf.Release(release.manifest | {"requirements": [claim]}, release.tables)
    assert words in judged(damaged, damaged.description.requirements[0]).detail
    with pytest.raises(ReleaseError, match=words):
        damaged.check()


def test_given_distributions_are_checked_from_the_public_part() -> None:
    release = sf.publish(voters(), require=required(), method="art")
    finding = (release.check(), judged(release, release.description.requirements[0]))[1]
    assert finding.status == "holds"
    assert release.manifest["requirements"][0]["achieved"]["r"] >= 2
    sf.distribution_risk(release, voters(), required())


def test_a_claim_that_the_distributions_break_is_found() -> None:
    """Alex, an American, and Bob, a Japanese, in one group: 997/1024."""
    table = voters()
    release = sf.publish(table, require=sf.LDiversity(l=2), method="anatomy")
    claim = required(distributions=KNOWN)
    entry = {"model": "r-robustness", "required": claim.parameters(), "achieved": {"r": 2.0}, "words": claim.words()}
    quasi = pl.DataFrame({"nationality": ["American", "Japanese"], "zipcode": ["55501", "55502"], "group": [0, 0]})
    sensitive = pl.DataFrame({"group": [0, 0], "disease": ["flu", "heart disease"], "count": [1, 1]})
    manifest = release.manifest | {"requirements": [entry], "rows": 2}
    entry["required"] |= {"sensitive": "disease", "distributions": [
        [{"nationality": "American"}, "heart disease", 0.1], [{"nationality": "Japanese"}, "heart disease", 0.003]
    ]}  # fmt: skip
    broken = sf.Release(manifest, {"quasi": quasi, "sensitive": sensitive})
    finding = judged(broken, broken.description.requirements[0])
    assert finding.status == "broken"
    assert f"{997 / 1024:.6g}" in finding.detail
    with pytest.raises(ReleaseError):
        broken.check()


def test_a_bound_above_1_over_r_is_no_proof_that_a_claim_is_broken() -> None:
    """Forty people, all apart, with forty values: too many states, and chances too uneven for the bound."""
    chances = np.random.default_rng(4).dirichlet(np.full(41, 0.3), size=40).clip(1e-6, 1)[:, :40]
    people = [f"p{i}" for i in range(40)]
    values = [f"v{i}" for i in range(40)]
    known = [[{"who": w}, v, float(p)] for w, row in zip(people, chances, strict=True)
             for v, p in zip(values, row * 0.99 / row.sum(), strict=True)]  # fmt: skip
    frame = pl.DataFrame({"who": people, "ill": values})
    table = sf.read(frame, quasi=["who"], sensitive="ill", domains={"ill": [*values, "none"]})
    release = sf.publish(table, require=sf.LDiversity(l=40), method="anatomy")
    claim = sf.RRobustness(r=2, sensitive="ill", distributions=known, limit=1)
    entry = {"model": "r-robustness", "required": claim.parameters(), "achieved": {"r": 2.0}, "words": claim.words()}
    other = sf.Release(release.manifest | {"requirements": [entry]}, release.tables)
    finding = judged(other, other.description.requirements[0])
    assert finding.status == "stated"
    assert "certified upper bound, which does not show 1/2" in finding.detail


def test_a_check_computes_exactly_whatever_limit_is_stated() -> None:
    """A claim with limit = 1 would be judged by bounds alone; the greatest probability is told exactly all the same."""
    release = sf.publish(voters(), require=required(limit=1), method="art")
    finding = (release.check(), judged(release, release.description.requirements[0]))[1]
    assert finding.status == "holds"
    assert "the greatest probability is 0.5" in finding.detail


def test_estimated_distributions_are_not_published_and_unseen() -> None:
    wanted = sf.RRobustness(r=2, values=["heart disease"], minimum=4)
    release = sf.publish(voters(), require=wanted, method="art")
    finding = (release.check(), judged(release, release.description.requirements[0]))[1]
    assert finding.status == "stated"
    assert "private table" in finding.detail
    assert "distributions" not in release.manifest["requirements"][0]["required"]


def test_a_share_above_1_over_r_is_broken_without_any_distribution() -> None:
    release = sf.publish(voters(), require=sf.LDiversity(l=2), method="anatomy")
    required = {"r": 100, "sensitive": "disease"}
    entry = {"model": "r-robustness", "required": required, "achieved": {"r": 100.0}, "words": ""}
    broken = sf.Release(release.manifest | {"requirements": [entry]}, release.tables)
    assert judged(broken, broken.description.requirements[0]).status == "broken"


def test_nothing_known_is_the_frequency_of_all() -> None:
    wanted = sf.RRobustness(r=2, values=["heart disease"], minimum=1000)
    release = sf.publish(voters(), require=wanted, method="art")
    assert release.manifest["requirements"][0]["achieved"] == {"r": 2.0}


def test_it_is_not_judged_on_counts() -> None:
    release = sf.publish(voters(), require=sf.LDiversity(l=2), method="anatomy")
    with pytest.raises(PolicyError, match="distribution_risk"):
        release.judge(required())  # type: ignore[arg-type]
