"""The audit as a whole: what is refused, left out, sampled and said."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.adversary import auditing
from sfumato.adversary.auditing import closed_form_audit
from sfumato.adversary.base import Adversary
from sfumato.adversary.catalogue import ADVERSARIES, CLOSED_FORM
from sfumato.adversary.finding import finding, share_interval
from sfumato.engine.overview import overview_of
from sfumato.release.release import Release

ROWS = 240


def frame(rows: int = ROWS, seed: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 80, rows),
            "sex": rng.choice(["M", "F"], rows),
            "ill": rng.choice(["flu", "HIV", "cold"], rows, p=[0.4, 0.3, 0.3]),
            "debt": rng.choice(["none", "some"], rows),
            "name": [f"canary{i // 2}" for i in range(rows)],
        }
    )


TREES: dict[str, Any] = {"age": {"intervals": [20, 40, 60, 80]}, "sex": {"Any": ["M", "F"]}}


def table(**more: Any) -> sf.Microdata:
    settings: dict[str, Any] = {"quasi": ["age", "sex"], "sensitive": "ill", "taxonomies": TREES}
    return sf.read(frame(), **(settings | more))


def released(truth: sf.Microdata, **more: Any) -> Release:
    return sf.publish(truth, require=more.pop("require", sf.KAnonymity(k=5)), method=more.pop("method", "incognito"))


def test_every_adversary_is_in_the_catalogue_under_its_own_name() -> None:
    assert list(ADVERSARIES) == [
        "linkage", "inference", "corruption", "distribution", "algorithm-aware", "sequential", "membership"
    ]  # fmt: skip
    for name, cls in ADVERSARIES.items():
        assert issubclass(cls, Adversary)
        assert (cls.name, bool(cls.summary)) == (name, True)


def test_all_that_applies_is_attacked_and_the_rest_refused_in_words() -> None:
    truth = table()
    audit = sf.audit(released(truth), truth=truth, budget=None)
    titles = [f.title for f in audit.findings]
    assert titles[:5] == [
        "linkage (prosecutor)",
        "inference",
        "corruption (any one other)",
        "corruption (half of the others)",
        "corruption (everyone else)",
    ]
    assert "distribution" in titles
    assert {r.adversary for r in audit.refused} == {"membership", "algorithm-aware", "sequential"}
    assert all(len(r.reason) > 20 for r in audit.refused)
    assert not audit.left_out
    assert not audit.broken
    assert audit.worst is not None
    assert "everyone else" in audit.worst.title


def test_several_sensitive_attributes_are_attacked_one_by_one() -> None:
    truth = table(sensitive=["ill", "debt"])
    found = sf.audit(released(truth), truth=truth, adversary=["inference", "corruption"]).findings
    assert [f.variant for f in found[:2]] == ["ill", "debt"]
    assert {f.variant for f in found[2:]} >= {"ill, everyone else", "debt, any one other"}
    assert all(v in f.target for f in found for v in (f.variant.split(",")[0],))


def test_people_with_several_rows_are_counted_or_refused() -> None:
    truth = table(identifiers=["name"])
    release = released(truth, require=sf.KAnonymity(k=3, entity="name"))
    audit = sf.audit(release, truth=truth, adversary=["linkage", "inference", "corruption", "membership"])
    (linked,) = audit.findings
    assert linked.attacked == ROWS // 2
    assert linked.worst <= 1 / 3
    assert {r.adversary for r in audit.refused} == {"inference", "corruption", "membership"}
    assert all("several rows" in r.reason for r in audit.refused if r.adversary != "membership")
    groups = released_groups(release, truth)
    names = truth.hidden["name"].to_list()
    people = {g: {n for n, h in zip(names, groups, strict=True) if h == g} for g in set(groups)}
    worst = {n: max(1 / len(people[g]) for m, g in zip(names, groups, strict=True) if m == n) for n in set(names)}
    assert linked.mean == pytest.approx(float(np.mean(list(worst.values()))))


def released_groups(release: Release, truth: sf.Microdata) -> list[int]:
    from sfumato.adversary.placement import place

    return [int(g) for g in place(release, truth).of_person]


def test_rows_that_were_left_out_are_said() -> None:
    lone = {"age": [79], "sex": ["F"], "ill": ["flu"], "debt": ["some"], "name": ["x"]}
    rows = pl.concat([frame().filter(pl.col("age") < 40), pl.DataFrame(lone)])
    truth = sf.read(rows, quasi=["age", "sex"], sensitive="ill", taxonomies=TREES)
    method = sf.Incognito(suppression=0.1)
    release = sf.publish(truth, require=sf.KAnonymity(k=3), method=method)
    audit = sf.audit(release, truth=truth, adversary=["linkage", "inference", "corruption"])
    assert not audit.broken
    lacking = truth.rows - release.description.rows
    assert lacking > 0
    (linked, guessed, *_) = audit.findings
    assert linked.attacked == release.description.rows
    assert f"{lacking:,} people do not fit any published row" in " ".join(linked.notes)
    assert f"{lacking:,} people do not fit anything published" in " ".join(guessed.notes)


def test_missing_values_are_a_value() -> None:
    rows = frame().with_columns(sex=pl.when(pl.col("age") > 60).then(None).otherwise(pl.col("sex")))
    truth = sf.read(rows, quasi=["age", "sex"], sensitive="ill", missing="category")
    for method in ("mondrian", "anatomy"):
        require: Any = sf.KAnonymity(k=4) if method == "mondrian" else sf.LDiversity(l=2)
        audit = sf.audit(sf.publish(truth, require=require, method=method), truth=truth, adversary="inference")
        assert not audit.broken
        assert audit.findings[0].attacked == ROWS


def test_an_earlier_release_is_joined() -> None:
    truth = table()
    first, second = released(truth), released(truth, method="mondrian")
    audit = sf.audit(second, truth=truth, adversary="sequential", after=[first])
    records, values = audit.findings
    joined = sf.sequential_join([second, first])
    assert records.worst == pytest.approx(1 / (joined.anonymity or 1))
    assert records.people == joined.pinned_down["T1"]
    assert values.worst == pytest.approx(sf.sequential_join([second, first], y="T1.ill").confidence)
    assert "with this release alone" in records.sentence()
    assert "cannot" not in records.sentence()
    assert records.gain is None


def test_a_corruption_object_is_an_adversary() -> None:
    truth = table(domains={"ill": ["cold", "flu", "HIV"]})
    release = sf.publish(truth, require=sf.Growth(delta=0.5, skew=0.6), method=sf.PG(k=4))
    given = sf.Corruption(prior="data", corrupted="everyone")
    (found,) = sf.audit(release, truth=truth, adversary=given).findings
    (level,) = sf.audit(release, truth=truth, adversary={"adversary": "corruption", "corrupted": "everyone"}).findings
    assert found.worst == pytest.approx(level.worst)
    assert found.mean == pytest.approx(level.mean)
    (some,) = sf.audit(release, truth=truth, adversary=given, sample=50, rng=np.random.default_rng(1)).findings
    assert (some.attacked, some.of, some.sampled) == (50, ROWS, True)
    assert some.interval is not None
    assert "among the 50 of 240 people attacked" in some.sentence()
    assert "cannot" not in some.sentence()


def test_what_the_budget_does_not_allow_is_said() -> None:
    truth = table()
    audit = sf.audit(released(truth), truth=truth, budget=1e-6)
    assert {r.adversary for r in audit.left_out} >= {"linkage", "inference", "corruption", "distribution"}
    assert all("the budget of 1e-06 s was used up" in r.reason for r in audit.left_out)
    assert not audit.findings
    assert "left out for lack of time" in "\n".join(audit.lines())


def test_the_closed_forms_run_on_counts() -> None:
    truth = table()
    release = released(truth)
    audit = closed_form_audit(release, overview_of(truth))
    assert {f.adversary for f in audit.findings} == {"linkage", "inference", "corruption"}
    assert all("listed" not in f.private_dict() for f in audit.findings)
    listed = sf.audit(release, truth=truth, adversary="inference").findings[0]
    assert audit.of("inference")[0].mean == pytest.approx(listed.mean)


def test_nobody_is_shown_outside_the_private_part() -> None:
    truth = table(identifiers=["name"])
    audit = sf.audit(released(truth, method="mondrian"), truth=truth, adversary=["linkage", "inference"], margin=0)
    shown = [repr(audit), audit._repr_html_(), audit.to_json(), *audit.lines(), *(repr(f) for f in audit.findings)]
    assert not any("canary" in text or '"row"' in text or "listed" in text for text in shown)
    private = json.loads(audit.to_json(private=True))
    people = private["findings"][1]["listed"]
    assert people
    assert people[0].keys() == {"row", "belief", "baseline"}
    assert [p["belief"] for p in people] == sorted((p["belief"] for p in people), reverse=True)
    assert len(people) == audit.findings[1].people


def test_claims_that_beliefs_refute() -> None:
    """The manifest claims more than the groups hold; the audit names the claim, whatever the check says."""
    truth = table()
    release = released(truth)
    size = int(np.bincount(release.groups()).min())
    claim = dict(release.manifest["requirements"][0]) | {"required": {"k": size + 1}}
    forged = release.stating(requirements=[claim])
    audit = sf.audit(forged, truth=truth, adversary="linkage")
    assert any("k-anonymity" in claim and "prosecutor" in claim for claim in audit.findings[0].broken)
    assert audit.broken


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"adversary": "nobody"}, "there is no adversary"),
        ({"adversary": 7}, "not an adversary"),
        ({"adversary": [7]}, "not an adversary"),
        ({"budget": -1}, "number of seconds above 0"),
        ({"sample": 0}, "whole number"),
        ({"margin": 2}, "must be in"),
        ({"truth": 5}, "needs the private table"),
    ],
)
def test_wrong_calls(arguments: dict[str, Any], told: str) -> None:
    truth = table()
    with pytest.raises((sf.PolicyError, TypeError), match=told if arguments != {"adversary": 7} else "iterable|not an"):
        sf.audit(released(truth), **({"truth": truth} | arguments))


def test_another_table_is_refused() -> None:
    truth = table()
    release = released(truth)
    with pytest.raises(sf.DataError, match="the table has 100 rows"):
        sf.audit(release, truth=sf.read(frame()[:100], quasi=["age", "sex"], sensitive="ill", taxonomies=TREES))
    with pytest.raises(sf.DataError, match="does not have"):
        sf.audit(release, truth=sf.read(frame(), quasi=["age", "sex"], sensitive="debt"))
    with pytest.raises(sf.DataError, match="another role"):
        sf.audit(release, truth=sf.read(frame(), quasi=["age", "ill"], sensitive="sex"))
    other = sf.read(frame(seed=6), quasi=["age", "sex"], sensitive="ill", taxonomies=TREES)
    assert any(
        "the people of the table" in claim for claim in sf.audit(release, truth=other, adversary="linkage").broken
    )


def test_sampled_shares_are_covered() -> None:
    """The stated 95% interval covers the share of all people in 93% of samples or more (false alarm below 1e-6)."""
    rng, missed, runs = np.random.default_rng(2), 0, 3000
    for _ in range(runs):
        people, share = int(rng.integers(200, 5000)), rng.uniform(0.02, 0.98)
        learned, number = round(share * people), int(rng.integers(50, 150))
        seen = int(rng.hypergeometric(learned, people - learned, number))
        low, high = share_interval(seen, number)
        missed += not low <= learned / people <= high
    # at 5% the number of misses has mean 150 and deviation 12; 210 is five deviations above it
    assert missed <= 210


def test_intervals_of_drawn_worlds_cover_the_exact_worst_case() -> None:
    """Each run misses with a probability of at most 5%; 9 of 20 would have a probability below 1e-7."""
    ages, ill = list(range(6)), ["a", "a", "b", "c", "c", "d"]
    truth = sf.read(pl.DataFrame({"age": ages, "ill": ill}), quasi=["age"], sensitive="ill")
    release = sf.publish(truth, require=sf.LDiversity(l=2), method=sf.HilbPlus(scheme="bucketization"))
    (exact,) = sf.audit(release, truth=truth, adversary="algorithm-aware", budget=None).findings
    missed = 0
    for seed in range(20):
        drawn = sf.AlgorithmAware(limit=1, draws=300)
        rng = np.random.default_rng(seed)
        (found,) = sf.audit(release, truth=truth, adversary=drawn, budget=None, rng=rng).findings
        assert found.worst_interval is not None
        assert found.interval is not None
        assert not found.exact
        low, high = found.worst_interval
        missed += not low <= exact.worst <= high
    assert missed <= 8


def test_sentences() -> None:
    exact = finding("inference", "knows you", "of your illness", np.array([0.2, 1 / 3]), np.array([0.1, 0.1]))
    assert exact.sentence() == (
        "An adversary who knows you cannot be more than 33.4% sure of your illness; without the release 10%."
    )
    sure = finding("inference", "knows you", "of your illness", np.array([0.2, 1.0]), np.array([0.1, 0.1]))
    assert "is certain of your illness for 1 of the 2 people" in sure.sentence()
    bound = finding("inference", "knows you", "of it", np.array([1.0]), np.array([0.1]), exact=False, bound=True)
    assert "may be certain of it for up to 1 of the 1 people" in bound.sentence()
    guess = finding("inference", "knows you", "of it", np.array([0.5]), np.array([0.1]), exact=False)
    assert "was at most 50% sure of it" in guess.sentence()


def test_publish_leaves_large_tables_to_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    table = sf.read(pl.DataFrame({"x": [1, 2] * 10, "s": ["a", "b"] * 10}), quasi=["x"], sensitive="s")
    release = sf.publish(table, require=sf.KAnonymity(k=2), method="mondrian")
    assert auditing.closed_form_audit(release, table).findings
    monkeypatch.setattr(auditing, "MOST_ATTACKED", 10)
    found = auditing.closed_form_audit(release, table)
    assert not found.findings
    assert {"linkage", "inference"} <= {r.adversary for r in found.left_out}
    assert all("sfumato audit" in r.reason for r in found.left_out)


def test_the_closed_forms_are_known_by_name() -> None:
    assert tuple(name for name in ADVERSARIES if ADVERSARIES[name].closed_form) == CLOSED_FORM
