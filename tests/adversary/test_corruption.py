"""The corruption adversary on whole releases: PG resists, the others fall (Lemmas 1 and 2)."""

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversary.placement import place
from sfumato.adversary.posterior import multiset_posterior, pg_posterior, randomized_posterior
from sfumato.release.release import Release
from sfumato.requirement.pg_bounds import epsilon
from strategies import examples

DISEASES = ["bronchitis", "pneumonia", "breast cancer", "ovarian cancer", "hypertension", "Alzheimer", "dementia"]
NAMES = ["Bob", "Calvin", "Debbie", "Ellie", "Emily", "Fiona", "Gloria", "Henry", "Isaac"]
VOTERS = pl.DataFrame(
    {
        "age": [25, 30, 45, 50, 52, 55, 58, 65, 80],
        "zip": [25, 27, 20, 15, 28, 45, 32, 65, 55],
        "ill": [DISEASES[i] for i in (0, 1, 1, 2, 0, 3, 4, 5, 6)],  # Emily's is made up: she is extraneous
    }
)
SETTINGS: dict[str, Any] = {"quasi": ["age", "zip"], "sensitive": "ill", "domains": {"ill": DISEASES}}


def voters() -> sf.Microdata:
    return sf.read(VOTERS, **SETTINGS)


def patients() -> sf.Microdata:
    return sf.read(VOTERS.filter(pl.Series(NAMES) != "Emily"), **SETTINGS)


def table_2c() -> Release:
    """The paper's Table IIc, as a release."""
    ranges = {"[21, 41)": [0, 1], "[41, 61)": [1, 2], "[61, 81)": [2, 3]}
    zips = {"[11, 31)": [0, 1], "[31, 51)": [1, 2], "[51, 71)": [2, 3]}

    def attribute(labels: dict[str, list[int]]) -> dict[str, Any]:
        nodes = {label: [float(end) for end in label.strip("[)").split(", ")] for label in labels}
        return {"role": "quasi", "kind": "continuous", "domain": [0, 99], "nodes": nodes, "loss": 0.2, "ranges": labels}

    data = pl.DataFrame(
        {
            "age": ["[21, 41)", "[41, 61)", "[41, 61)", "[61, 81)"],
            "zip": ["[11, 31)", "[11, 31)", "[31, 51)", "[51, 71)"],
            "ill": ["hypertension", "breast cancer", "bronchitis", "ovarian cancer"],
            "G": [2, 2, 2, 2],
        }
    )
    manifest = {
        "sfumato": "0.1.0", "title": "", "scheme": "sampling", "rows": 4, "sampled_from": 8,
        "method": {
            "name": "pg", "p": 0.25, "k": 2, "bound": "theorem", "boxes": "closed",
            "epsilon": epsilon(0.25, len(DISEASES)),
        },
        "requirements": [
            {"model": "k-anonymity", "required": {"k": 2}, "achieved": {"k": 2}, "words": sf.KAnonymity(k=2).words()}
        ],
        "attributes": {
            "age": attribute(ranges), "zip": attribute(zips),
            "ill": {"role": "sensitive", "kind": "categorical", "domain": DISEASES},
        },
    }  # fmt: skip
    return Release(manifest, {"data": data})


def test_example_1_from_the_release_and_the_voter_list() -> None:
    release = table_2c()
    assert {f.status for f in release.check()} == {"holds", "stated"}
    ellie, debbie, emily = (NAMES.index(name) for name in ("Ellie", "Debbie", "Emily"))
    adversary = sf.Corruption(people=voters(), corrupted=[debbie, emily], extraneous=[emily])
    found = adversary.attack(release, victims=[ellie])
    before, after = found.attacks.confidence([d in ("bronchitis", "pneumonia") for d in DISEASES])
    assert found.attacks.ownership[0] == pytest.approx(4 / 7)
    assert before[0] == pytest.approx(2 / 7)
    assert after[0] == pytest.approx(12 / 49)


def test_who_is_extraneous_but_not_corrupted_only_blurs() -> None:
    release = table_2c()
    ellie, emily = NAMES.index("Ellie"), NAMES.index("Emily")
    unknown = sf.Corruption(people=voters(), corrupted="nobody", extraneous=[emily]).attack(release, victims=[ellie])
    assert unknown.attacks.ownership[0] == pytest.approx(0.5)  # one of Debbie and Emily is in: g = 1/2 each
    with pytest.raises(sf.DataError, match="contradicts the release"):
        sf.Corruption(people=voters()).attack(release, victims=[ellie])  # Emily cannot be in too
    with pytest.raises(sf.PolicyError, match="extraneous"):
        sf.Corruption(people=voters(), extraneous=[emily]).attack(release, victims=[emily])


def hospital(rows: int = 400) -> sf.Microdata:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 80, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(["a", "b", "c", "d"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )
    trees = {"sex": {"Any": ["f", "m"]}}
    return sf.read(
        frame, quasi=["age", "sex"], sensitive="ill", taxonomies=trees, domains={"ill": ["a", "b", "c", "d", "e"]}
    )


def test_side_by_side_pg_stays_within_its_guarantee_and_the_others_fall() -> None:
    table = hospital()
    promise = sf.RhoBreach(rho1=0.3, rho2=0.6, skew=0.3)
    releases = {
        "pg": sf.publish(table, require=promise, method=sf.PG(k=4)),
        "mondrian": sf.publish(table, require=sf.KAnonymity(k=4), method="mondrian"),
        "mondrian+": sf.publish(table, require=sf.LDiversity(l=2), method="mondrian+"),
        "anatomy": sf.publish(table, require=sf.LDiversity(l=2), method="anatomy"),
    }
    p = releases["pg"].manifest["method"]["p"]
    limit = sf.pg_guarantee(k=4, p=p, domain=5, skew=0.3, rho1=0.3)
    for prior in ({"prior": "uniform"}, {"prior": "skewed", "skew": 0.3}):
        found = sf.Corruption(**prior).side_by_side(releases, table)
        pg, *others = found.iter_rows(named=True)
        assert pg["greatest growth"] <= limit.growth_exact + 1e-12
        assert pg["sure"] == 0
        for other in others:  # Lemma 2
            assert other["sure"] == other["victims"] == table.rows


def test_half_corrupted_generalization_gives_away_who_is_left() -> None:
    table = hospital()
    release = sf.publish(table, require=sf.KAnonymity(k=2), method="mondrian")
    groups = sf.partition(table, require=sf.KAnonymity(k=2), method="mondrian")
    victim = 0
    mates = [i for i in np.flatnonzero(groups == groups[victim]).tolist() if i != victim]
    found = sf.Corruption(corrupted=mates).attack(release, table, victims=[victim])
    assert found.attacks.beliefs[0].max() == pytest.approx(1.0)
    nobody = sf.Corruption(corrupted="nobody").attack(release, table, victims=[victim])
    counts = np.bincount(table["ill"].codes[groups == groups[victim]], minlength=5)
    assert nobody.attacks.beliefs[0].tolist() == pytest.approx((counts / counts.sum()).tolist())


def test_buckets_whose_people_fit_others_too_are_left_out_not_guessed() -> None:
    table = hospital()
    release = sf.publish(table, require=sf.LDiversity(l=2), method="anatomy")
    found = sf.Corruption(corrupted="nobody").attack(release, table)
    assert len(found.victims) + found.left_out == table.rows
    assert found.left_out > 0


def test_a_randomized_release_with_everyone_corrupted_is_bayes() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 3], "ill": ["a", "b", "a", "b"]})
    table = sf.read(frame, quasi=["age"], sensitive="ill", domains={"ill": ["a", "b"]})
    manifest = {
        "scheme": "randomization", "method": {"name": "rr"}, "requirements": [], "rows": 4,
        "matrices": {"ill": {"keep": 0.8}},
        "attributes": {"age": {"role": "quasi"}, "ill": {"role": "sensitive", "domain": ["a", "b"]}},
    }  # fmt: skip
    shown = pl.DataFrame({"age": [3, 2, 1, 3], "ill": ["a", "a", "a", "b"]})
    found = sf.Corruption().attack(Release(manifest, {"data": shown}), table)
    assert found.attacks.beliefs[0].tolist() == pytest.approx([0.8, 0.2])
    assert found.attacks.beliefs[1].tolist() == pytest.approx([0.8, 0.2])
    # of the two of age 3 the other has b: a was shown of the victim and b of him, or the other way round
    straight, crossed = 0.8 * 0.8 + 0.2 * 0.2, 0.2 * 0.8 + 0.8 * 0.2
    assert found.attacks.beliefs[2, 0] == pytest.approx(straight / (straight + crossed))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"present": 3}, "no more people can be in the table than are corrupted"),
        ({"corrupted": 9}, "no more people can be corrupted than fit the box"),
        ({"size": 1}, "more corrupted people are in the table than the group has"),
        ({"size": 5}, "the group has more people than fit"),
        ({"matching": 2}, "no more people can have the value seen"),
        ({"observed": 7}, "a code from 0 to 2"),
    ],
)
def test_contradictions_are_refused(change: dict[str, int], words: str) -> None:
    attack: dict[str, Any] = {"observed": 0, "size": 3, "candidates": 3, "corrupted": 2, "present": 1, "matching": 0}
    with pytest.raises(sf.DataError, match=words):
        pg_posterior(p=0.5, prior=[0.5, 0.25, 0.25], **(attack | change))


def test_bad_adversaries_are_refused() -> None:
    for settings, words in (
        ({"prior": "wild"}, "'uniform', 'skewed', 'data'"),
        ({"prior": "skewed"}, r"needs a skew in \(0, 1\]"),
        ({"corrupted": "some"}, "'everyone', 'nobody'"),
    ):
        with pytest.raises(sf.PolicyError, match=words):
            sf.Corruption(**settings)  # type: ignore[arg-type]
    table = hospital()
    release = sf.publish(table, require=sf.KAnonymity(k=4), method=sf.PG(p=0.5))
    for settings, words in (
        ({"prior": [0.5, 0.5]}, "for each of 5 values"),
        ({"prior": [0.9, 0.9, 0, 0, 0]}, "add up to 1"),
        ({"prior": {"z": 1.0}}, "'z', which is not in the domain"),
        ({"prior": "skewed", "skew": 0.1}, "below 1/5"),
        ({"corrupted": [400]}, "from 0 to 399"),
    ):
        with pytest.raises(sf.PolicyError, match=words):
            sf.Corruption(**settings).attack(release, table)  # type: ignore[arg-type]
    with pytest.raises(sf.PolicyError, match="external database"):
        sf.Corruption().attack(release)
    with pytest.raises(sf.DataError, match="lacks a value"):
        multiset_posterior(left=[1, -1], prior=[0.5, 0.5])
    with pytest.raises(sf.DataError, match="more rows than"):
        randomized_posterior(observed=[1, 0], matrix=np.eye(2), prior=[0.5, 0.5], known=[0])


def test_a_predicate_and_a_prior_from_data() -> None:
    table = hospital()
    release = sf.publish(table, require=sf.KAnonymity(k=4), method=sf.PG(p=0.5))
    audit = sf.Corruption(prior="data", predicate=["a", "b"]).audit(release, table)
    assert audit["prior"] == pytest.approx(float(np.isin(table["ill"].codes, [0, 1]).mean()))
    with pytest.raises(sf.PolicyError, match="'z', which is not in the domain"):
        sf.Corruption(predicate=["z"]).audit(release, table)


@examples(60)
@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-3, 20), st.integers(10, 39), st.sampled_from(["lo", "mid", "hi"]),
            st.none() | st.dates(date(2001, 1, 1), date(2001, 2, 1)), st.sampled_from(["x", "y", "*"]),
        ),
        min_size=2,
        max_size=30,
    ),
    st.integers(1, 6),
    st.sampled_from(["closed", "tight"]),
)  # fmt: skip
def test_everyone_is_found_in_the_group_that_counts_him(rows: list[Any], k: int, boxes: Any) -> None:
    kinds = {"age": pl.Int64, "zip": pl.String, "level": pl.String, "day": pl.Date, "mark": pl.String}
    frame = pl.DataFrame([(a, str(z), *rest) for a, z, *rest in rows], schema=kinds, orient="row")
    table = sf.read(
        frame.with_columns(ill=pl.Series([DISEASES[i % 3] for i in range(len(rows))])),
        quasi=list(kinds), sensitive="ill", taxonomies={"zip": {"mask": "right"}}, kinds={"level": "ordinal"},
        domains={"ill": DISEASES, "level": ["lo", "mid", "hi"]}, missing="category",
    )  # fmt: skip
    k = min(k, len(rows))
    release = sf.publish(table, require=sf.KAnonymity(k=k), method=sf.PG(p=0.5, boxes=boxes))
    found = place(release, table).of_person
    assert (found >= 0).all()
    assert np.bincount(found, minlength=release.manifest["rows"]).tolist() == release.tables["data"]["G"].to_list()


def test_priors_and_corrupted_people_may_be_arrays() -> None:
    table = hospital()
    release = sf.publish(table, require=sf.KAnonymity(k=4), method=sf.PG(p=0.5))
    listed = sf.Corruption(prior=[0.2, 0.1, 0.1, 0.1, 0.5], corrupted=[3, 5]).attack(release, table)
    as_arrays = sf.Corruption(prior=np.array([0.2, 0.1, 0.1, 0.1, 0.5]), corrupted=np.array([3, 5]))  # type: ignore[arg-type]
    assert np.array_equal(as_arrays.attack(release, table).attacks.beliefs, listed.attacks.beliefs)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"p": "x"}, "p = 'x'"),
        ({"domain": 0}, "2 or more"),
        ({"observed": 5}, "from 0 to 4"),
        ({"observed": 0.5}, "whole numbers"),
        ({"observed": [0, 1], "size": [2, 2, 2]}, "shapes"),
    ],
)
def test_attacks_that_are_none(change: dict[str, Any], words: str) -> None:
    attack = {"p": 0.3, "domain": 5, "observed": 0, "size": 2, "candidates": 3} | change
    for prior in ({}, {"prior": "skewed", "skew": 0.4}):
        with pytest.raises((sf.PolicyError, sf.DataError), match=words):
            sf.Corruption(**prior).posterior(**attack)  # type: ignore[arg-type]


def test_victims_that_are_no_rows() -> None:
    table = hospital()
    release = sf.publish(table, require=sf.KAnonymity(k=4), method=sf.PG(p=0.5))
    for victims in ([400], [-1], [0.5]):
        with pytest.raises(sf.PolicyError, match="from 0 to 399"):
            sf.Corruption().attack(release, table, victims=victims)  # type: ignore[arg-type]
    with pytest.raises(sf.PolicyError, match="each of 5 values"):
        sf.Corruption(others="uniform").attack(release, table)


def test_days_up_to_the_last_one() -> None:
    days = [date(1, 1, 1), date(900, 1, 1), date(2000, 1, 1), date.max]
    frame = pl.DataFrame({"day": days, "ill": DISEASES[:4]})
    table = sf.read(frame, quasi=["day"], sensitive="ill", domains={"ill": DISEASES})
    for release in (
        sf.publish(table, require=sf.KAnonymity(k=2), method=sf.PG(p=0.5)),
        sf.publish(table, require=sf.KAnonymity(k=2), method="mondrian"),
    ):
        assert {f.status for f in release.check()} <= {"holds", "stated"}
        assert np.bincount(place(release, table).of_person).tolist() == [2, 2]
