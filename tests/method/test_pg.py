"""The method pg: its settings, what it refuses, what its release states, and that nothing else leaks."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engine.draws import Draws
from sfumato.method.catalogue import from_table
from sfumato.method.pg import make_groups
from sfumato.requirement.catalogue import from_table as requirement
from sfumato.requirement.pg_bounds import epsilon
from sfumato.table.distortion import Distortion

VALUES = ["flu", "HIV", "none", "cancer"]


def people(rows: int = 60, **more: Any) -> sf.Microdata:
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(VALUES[:3], rows),
        }
    )
    given: dict[str, Any] = {"quasi": ["age", "sex"], "sensitive": "ill", "domains": {"ill": VALUES}}
    return sf.read(frame, **(given | more))


def test_a_release_states_how_it_was_drawn_and_keeps_its_promises() -> None:
    wanted = [sf.RhoBreach(rho1=0.3, rho2=0.6, skew=0.5), sf.Growth(delta=0.2, skew=0.5)]
    release = sf.publish(people(), require=wanted, method=sf.PG(s=0.2))
    method = release.manifest["method"]
    assert method["k"] == 5
    assert method["p"] == min(
        sf.pg_retention(k=5, domain=4, skew=0.5, rho1=0.3, rho2=0.6),
        sf.pg_retention(k=5, domain=4, skew=0.5, growth=0.2),
    )
    assert method["epsilon"] == pytest.approx(np.log(1 + method["p"] * 4 / (1 - method["p"])))
    data = release.tables["data"]
    assert data.columns == ["age", "sex", "ill", "G"]
    assert data["G"].min() >= 5
    assert data["G"].sum() == release.manifest["sampled_from"] == 60
    assert data.height == release.manifest["rows"] <= 60 * 0.2
    findings = release.check()
    assert [f.status for f in findings[-3:-1]] == ["stated"] * 2  # that values were perturbed cannot be seen
    assert {f.status for f in findings if f.claim != "values were randomized as stated"} - {"stated"} == {"holds"}
    assert release.manifest["requirements"][0]["required"] == {"lambda": 0.5, "rho1": 0.3, "rho2": 0.6}


def test_the_exact_bound_allows_a_larger_p() -> None:
    wanted = sf.RhoBreach(rho1=0.2, rho2=0.5, skew=0.3)
    ps = [
        sf.publish(people(), require=wanted, method=sf.PG(k=4, bound=b)).manifest["method"]["p"]
        for b in ("theorem", "exact")
    ]
    assert ps[0] < ps[1] == sf.pg_retention(k=4, domain=4, skew=0.3, rho1=0.2, rho2=0.5, exact=True)


def test_written_and_read_again(tmp_path: Path) -> None:
    release = sf.publish(people(), require=sf.Growth(delta=0.3, skew=0.5), method=sf.PG(k=3))
    release.write(tmp_path / "release")
    again = sf.load(tmp_path / "release")
    assert again == release
    assert [f for f in again.check() if "README" not in f.claim] == release.check()
    assert "seed" not in (tmp_path / "release" / "manifest.json").read_text()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"domains": {}}, "not declared"),
        ({"sensitive": ["ill", "sex"], "quasi": ["age"]}, "one sensitive attribute"),
        ({"sensitive": None, "domains": {}}, "one sensitive attribute"),
        ({"quasi": ["age"], "class_": "sex"}, "whose row was drawn"),
        ({"quasi": ["age"], "insensitive": ["sex"]}, "whose row was drawn"),
        ({"quasi": []}, "needs a quasi-identifier"),
    ],
)
def test_tables_that_the_guarantee_does_not_cover_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(sf.PolicyError, match=words):
        sf.publish(people(**change), require=sf.KAnonymity(k=3), method=sf.PG(p=0.5))


def test_a_projected_domain_needs_the_stewards_word_and_is_warned_of() -> None:
    release = sf.publish(
        people(domains={}), require=sf.KAnonymity(k=3), method=sf.PG(p=0.5, domain="occurring"), title="t"
    )
    assert "not declared" in release.warnings[0]


@pytest.mark.parametrize("ills", [["a", None, "b", "a"], ["a", "b", "b", "a"]])
@pytest.mark.parametrize(
    "declared",
    [
        {"domains": {"ill": ["a", "b"]}},
        {"domains": {"ill": ["a", "b", "(missing)"]}},
        {"taxonomies": {"ill": {"Any": ["a", "b"]}}},
    ],
)
def test_a_declared_domain_does_not_tell_whether_a_value_is_missing(
    ills: list[str | None], declared: dict[str, Any]
) -> None:
    """With missing = "category" the category is a value of every declared domain, whether or not it occurs."""
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ills})
    table = sf.read(frame, quasi=["age"], sensitive="ill", missing="category", **declared)
    release = sf.publish(table, require=sf.KAnonymity(k=2), method=sf.PG(p=0.5, k=2))
    assert release.manifest["attributes"]["ill"]["domain"] == ["a", "b", "(missing)"]
    assert release.manifest["rows"] == 2
    assert release.warnings == []
    with pytest.raises(sf.PolicyError, match="not declared"):
        sf.publish(
            sf.read(frame, quasi=["age"], sensitive="ill", missing="category"),
            require=sf.KAnonymity(k=2),
            method=sf.PG(p=0.5, k=2),
        )


def test_a_tree_declares_its_leaves() -> None:
    table = people(domains={}, taxonomies={"ill": {"Any": {"grave": ["HIV", "cancer"], "mild": ["flu", "none"]}}})
    release = sf.publish(table, require=sf.KAnonymity(k=3), method=sf.PG(p=0.5))
    assert set(release.manifest["attributes"]["ill"]["domain"]) == set(VALUES)


def test_a_domain_that_lacks_an_occurring_value() -> None:
    with pytest.raises(sf.DataError, match="are not in its declared domain: 'none'"):
        people(domains={"ill": ["flu", "HIV"]})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"p": 1.5}, "p = 1.5"),
        ({"p": -0.1}, "p = -0.1"),
        ({"p": float("nan")}, "p = nan"),
        ({"k": 0}, "k = 0"),
        ({"k": 2.5}, "k = 2.5"),
        ({"s": 0}, "s = 0"),
        ({"s": 2}, "s = 2"),
        ({"k": 2, "s": 0.5}, "both k and s"),
        ({"bound": "loose"}, "bound = 'loose'"),
        ({"domain": "all"}, "domain = 'all'"),
        ({"boxes": "wide"}, "boxes = 'wide'"),
    ],
)
def test_bad_settings(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(sf.PolicyError, match=words):
        from_table({"name": "pg", **settings})


def test_what_cannot_be_met_is_said_with_the_remedy() -> None:
    promise = sf.RhoBreach(rho1=0.2, rho2=0.4, skew=0.3)
    with pytest.raises(sf.Infeasible, match=r"lower p to 0\.\d+ or less, or raise k"):
        sf.publish(people(), require=promise, method=sf.PG(p=0.9, k=3))
    with pytest.raises(sf.Infeasible, match="lower k to 60"):
        sf.publish(people(), require=promise, method=sf.PG(k=61))
    with pytest.raises(sf.PolicyError, match="a minimum group size"):
        sf.publish(people(), require=promise, method="pg")
    with pytest.raises(sf.PolicyError, match="needs a retention probability"):
        sf.publish(people(), require=sf.KAnonymity(k=3), method="pg")
    with pytest.raises(sf.PolicyError, match="it cannot serve"):
        sf.publish(people(), require=sf.LDiversity(l=2), method=sf.PG(p=0.5, k=3))
    with pytest.raises(sf.PolicyError, match="not a requirement on groups"):
        sf.publish(people(), require=promise, method="mondrian")
    with pytest.raises(sf.PolicyError, match="below 1/4"):
        sf.publish(people(), require=sf.Growth(delta=0.1, skew=0.2), method=sf.PG(k=3))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"model": "rho-breach", "rho1": 0.5, "rho2": 0.4, "lambda": 0.5}, "not above rho1"),
        ({"model": "rho-breach", "rho1": 0.5, "rho2": 0.5, "lambda": 0.5}, "no retention probability above 0"),
        ({"model": "rho-breach", "rho1": 0, "rho2": 0.5, "lambda": 0.5}, "rho1 = 0"),
        ({"model": "rho-breach", "rho1": 0.2, "rho2": 1.5, "lambda": 0.5}, "rho2 = 1.5"),
        ({"model": "rho-breach", "rho1": 0.2, "rho2": 0.5}, "needs the parameter 'lambda'"),
        ({"model": "rho-breach", "rho1": 0.2, "rho2": 0.5, "lambda": 0}, "lambda = 0"),
        ({"model": "rho-breach", "rho1": 0.2, "rho2": 0.5, "lamda": 0.1}, "did you mean 'lambda'"),
        ({"model": "growth", "delta": 0, "lambda": 0.5}, "delta = 0"),
        ({"model": "growth", "delta": "much", "lambda": 0.5}, "delta = 'much'"),
    ],
)
def test_bad_promises(entry: dict[str, Any], words: str) -> None:
    with pytest.raises(sf.PolicyError, match=words):
        requirement(entry)


def test_a_target_that_no_p_above_0_meets() -> None:
    with pytest.raises(sf.Infeasible, match="no retention probability above 0"):
        sf.pg_retention(k=1, domain=10**6, skew=1.0, growth=1e-9)
    with pytest.raises(sf.PolicyError, match="either"):
        sf.pg_retention(k=2, domain=5, skew=0.5)
    with pytest.raises(sf.PolicyError, match="give rho1"):
        sf.pg_retention(k=2, domain=5, skew=0.5, rho2=0.5)


@pytest.mark.parametrize("exact", [False, True])
def test_the_largest_p_keeps_the_promise_and_the_next_does_not(exact: bool) -> None:
    for target in ({"rho1": 0.2, "rho2": 0.45}, {"growth": 0.17}):
        p = sf.pg_retention(k=5, domain=20, skew=0.3, exact=exact, **target)
        limit = target.get("rho2", target.get("growth"))
        name = ("rho2" if "rho2" in target else "growth") + ("_exact" if exact else "")
        here, above = (
            getattr(sf.pg_guarantee(k=5, p=q, domain=20, skew=0.3, rho1=0.2), name) for q in (p, round(p + 1e-9, 9))
        )
        assert here <= limit < above


def test_p_1_changes_nothing_and_p_0_forgets_everything() -> None:
    codes = np.arange(1000) % 4
    assert (Distortion.retaining(Fraction(1), 4).draw(codes, Draws().bytes) == codes).all()
    for size in (3, 4, 7):
        forget = Distortion.retaining(Fraction(0), size)
        first = forget.draw(codes % size, Draws(np.random.default_rng(3)).bytes)
        same = forget.draw(np.zeros(1000, np.int64), Draws(np.random.default_rng(3)).bytes)
        assert (same == first).all()


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(9, 10), Fraction(1, 10**9)])
@pytest.mark.parametrize("size", [2, 3, 50])
def test_no_more_is_kept_than_is_stated(p: Fraction, size: int) -> None:
    """Whole 32-bit words stand for probabilities: the kept share is at most p, and less by 2^-32 per value at most."""
    way = Distortion.retaining(p, size)
    kept = 1 - Fraction(size * way.share, 2**32)
    assert p - Fraction(size, 2**32) < kept <= p


def test_groups_do_not_depend_on_sensitive_values() -> None:
    frame = pl.DataFrame({"age": list(range(50)), "ill": ["a"] * 25 + ["b"] * 25})
    given: dict[str, Any] = {"quasi": ["age"], "sensitive": "ill", "domains": {"ill": ["a", "b"]}}
    one = make_groups(sf.read(frame, **given), 4)
    other = make_groups(sf.read(frame.with_columns(ill=pl.col("ill").reverse()), **given), 4)
    assert (one.of_row == other.of_row).all()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda m, t: m["method"].update(p=0.99, epsilon=epsilon(0.99, 4)), "the worst attack 0.79"),
        (lambda m, t: m["method"].update(p=0.1, epsilon=epsilon(0.1, 4)), "the manifest claims"),
        (lambda m, t: m["method"].update(p=0.1), "epsilon"),
        (lambda m, t: m["method"].update(k=20), "the smallest group has"),
        (lambda m, t: m.update(sampled_from=61), "add up to 60"),
        (lambda m, t: m["method"].update(k=True), "does not state a whole number k"),
        (lambda m, t: m["attributes"]["age"].pop("ranges"), "lacks 'ranges'"),
        (
            lambda m, t: m["attributes"]["age"].update(nodes=dict.fromkeys(m["attributes"]["age"]["nodes"], 5)),
            "damaged",
        ),
        (lambda m, t: t.update(data=t["data"].with_columns(G=pl.lit("many"))), "must hold whole numbers"),
        (lambda m, t: t.update(data=t["data"].drop("G")), "only in the manifest or only in the table: 'G'"),
        (lambda m, t: t.update(data=t["data"].with_columns(ill=pl.lit("plague"))), "values of 'ill' are not"),
        (
            lambda m, t: (
                m.update(rows=m["rows"] + 1, sampled_from=60 + t["data"]["G"][0]),
                t.update(data=t["data"][[0, *range(t["data"].height)]]),
            ),
            "boxes overlap",
        ),
    ],
)
def test_a_damaged_release_is_found_out(damage: Any, words: str) -> None:
    release = sf.publish(people(), require=sf.Growth(delta=0.3, skew=0.5), method=sf.PG(k=5))
    damage(release.manifest, release.tables)
    with pytest.raises(sf.ReleaseError, match=words):
        release.check()


def test_k_anonymity_is_judged_by_the_sizes_beside_the_rows() -> None:
    release = sf.publish(people(), require=[sf.KAnonymity(k=6), sf.Growth(delta=0.3, skew=0.5)], method=sf.PG(k=2))
    assert release.manifest["method"]["k"] == 6
    assert release.manifest["requirements"][0]["achieved"]["k"] >= 6
    assert release.judge(sf.KAnonymity(k=6)).holds
    assert not release.judge(sf.KAnonymity(k=60)).holds
    with pytest.raises(sf.PolicyError, match="cannot be judged on a sample"):
        release.judge(sf.LDiversity(l=2))


def test_the_manifest_is_json_and_p_1_has_no_epsilon() -> None:
    release = sf.publish(people(), require=sf.KAnonymity(k=6), method=sf.PG(p=1))
    assert json.loads(json.dumps(release.manifest, allow_nan=False))["method"]["epsilon"] is None
    assert "nothing is perturbed" in release.warnings[0]


@pytest.mark.parametrize("taxonomy", [None, {"intervals": [0, 18, 40, 65, 120]}, {"width": 20}])
@pytest.mark.parametrize("rows", [(20, None), (20, 30, 45, 70, None)])
def test_boxes_that_hold_all_numbers_are_explained(taxonomy: Any, rows: tuple[int | None, ...]) -> None:
    """One group of all numbers beside one of missing values, and one that mixes both."""
    for missing in (1, 8):
        ages = [*rows[:-1]] * 8 + [None] * missing
        frame = pl.DataFrame({"age": ages, "ill": (VALUES * 20)[: len(ages)]})
        given = {} if taxonomy is None else {"taxonomies": {"age": taxonomy}}
        table = sf.read(frame, quasi="age", sensitive="ill", domains={"ill": VALUES}, missing="category", **given)
        for k in (5, 8):
            release = sf.publish(table, require=sf.KAnonymity(k=k), method=sf.PG(p=0.3))
            assert {f.status for f in release.check()} == {"holds", "stated"}
