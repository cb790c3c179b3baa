"""The method by itself: it serves, it is never refuted, the choice tells nothing, and a false reason does not pass."""

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.errors import PolicyError
from sfumato.method.catalogue import METHODS
from sfumato.method.choice import SAFE, caveat, reason
from sfumato.publisher import proposal_trial
from sfumato.publisher.choose import choose, dealt_out
from sfumato.publisher.policy import parse_policy
from sfumato.publisher.propose import propose
from sfumato.publisher.publish import publish_policy
from sfumato.release.judgement import completed
from sfumato.requirement.catalogue import MODELS

ROWS = 96
DOMAIN = ("a", "b", "c", "d", "e", "f", "g", "h")


def frame(rows: int = ROWS) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + i * 7 % 41 for i in range(rows)],
            "zip": [f"{i * 5 % 7 % 4}" for i in range(rows)],
            "ill": [DOMAIN[i * 3 % 8] for i in range(rows)],
        }
    )


def table(rows: int = ROWS, **more: Any) -> sf.Microdata:
    return sf.read(frame(rows), quasi=["age", "zip"], sensitive="ill", domains={"ill": DOMAIN}, **more)


PEOPLE = pl.concat([frame(200), frame(200)]).select("age", "zip")
K, L = sf.KAnonymity(k=3), sf.LDiversity(l=2)
REQUIREMENTS: dict[str, list[Any]] = {
    "k-anonymity": [K],
    "k-map": [sf.KMap(k=4, population=PEOPLE)],
    "l-diversity": [L],
    "l-diversity, distinct": [sf.LDiversity(l=2, variant="distinct")],
    "l-diversity, entropy": [sf.LDiversity(l=2, variant="entropy")],
    "l-diversity, recursive": [sf.LDiversity(l=2, variant="recursive", c=3.0)],
    "t-closeness": [sf.TCloseness(t=0.4)],
    "beta-likeness": [sf.BetaLikeness(beta=2.0)],
    "delta-disclosure": [sf.DeltaDisclosure(delta=2.0)],
    "alpha-k": [sf.AlphaK(alpha=0.5, k=3)],
    "anonymity": [sf.Anonymity(x=["zip"], k=5)],
    "anonymity of a sensitive attribute": [sf.Anonymity(x=["zip"], y="ill", k=2)],
    "confidentiality": [sf.Confidentiality(x=["zip"], y={"ill": ["a"]}, k=0.5)],
    "m-confidentiality": [sf.MConfidentiality(m=2)],
    "disclosure": [sf.Disclosure(tau=0.9)],
    "rho-breach": [sf.RhoBreach(rho1=0.2, rho2=0.6, skew=0.2)],
    "growth": [sf.Growth(delta=0.4, skew=0.2)],
    "r-robustness": [sf.RRobustness(r=2)],
    "k and l": [K, L],
    "k and rho-breach": [K, sf.RhoBreach(rho1=0.2, rho2=0.6, skew=0.2)],
    "k and t": [K, sf.TCloseness(t=0.4)],
    "l and t": [L, sf.TCloseness(t=0.4)],
    "k-map and k": [K, sf.KMap(k=4, population=PEOPLE)],
    "l and growth": [L, sf.Growth(delta=0.4, skew=0.2)],
}
REFUSED = {
    *("l-diversity, distinct", "l-diversity, entropy", "l-diversity, recursive", "t-closeness", "beta-likeness"),
    *("delta-disclosure", "alpha-k", "confidentiality", "m-confidentiality", "disclosure", "r-robustness"),
    *("anonymity of a sensitive attribute", "k and t", "l and t"),
}
"""Only refuted methods serve these."""


def test_every_model_is_tried() -> None:
    assert {r.model for required in REQUIREMENTS.values() for r in required} == set(MODELS)


@pytest.mark.parametrize("name", sorted(set(REQUIREMENTS) - REFUSED - {"l and growth"}))
def test_the_choice_serves_and_is_not_refuted(name: str) -> None:
    required, rows = REQUIREMENTS[name], table()
    release = sf.publish(rows, require=required)
    method = METHODS[release.description.method.name]
    assert caveat(method(), completed(required, rows)) is None
    assert release.description.method.chosen is not None
    assert {f.status for f in release.check()} <= {"holds", "stated"}
    assert {c.model for c in release.description.requirements} == {r.model for r in required}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refuted_methods_are_named_not_chosen(name: str) -> None:
    with pytest.raises(PolicyError, match="does not choose a refuted method") as refusal:
        sf.publish(table(), require=REQUIREMENTS[name])
    (named,) = {part.split('"')[1] for part in str(refusal.value).split("method=")[1:]}
    assert METHODS[named].refuted


@pytest.mark.parametrize(("more", "told"), [([], "k-anonymity of rows"), ([L], 'with variant = "frequency"')])
def test_people_counted_by_an_entity_are_told_apart_from_values(more: list[Any], told: str) -> None:
    """What is wrong is the entity; to require l-diversity as required already would not help."""
    rows = frame().with_columns(id=pl.Series(range(ROWS)))
    people = sf.read(rows, quasi=["age", "zip"], sensitive="ill", identifiers=["id"])
    with pytest.raises(PolicyError, match=rf"one row and leave out entity: others serve .*{told}"):
        sf.publish(people, require=[sf.KAnonymity(k=3, entity="id"), *more])


def test_what_no_method_serves_is_said_requirement_by_requirement() -> None:
    with pytest.raises(PolicyError, match="no method serves 'l-diversity', 'growth' together") as refusal:
        sf.publish(table(), require=REQUIREMENTS["l and growth"])
    assert "growth: 'pg'" in str(refusal.value)
    assert "'mondrian+'" in str(refusal.value)


def test_a_table_without_quasi_identifiers_is_told_apart_from_too_much_required() -> None:
    frame = pl.DataFrame({"diagnosis": ["flu", "cold", "flu", "HIV"]})
    unknown = sf.read(frame, sensitive="diagnosis")
    with pytest.raises(PolicyError, match="without quasi-identifiers, and none is declared; give the"):
        sf.publish(unknown, require=[sf.KAnonymity(k=2)])


def test_promises_without_a_group_size_get_one() -> None:
    release = sf.publish(table(), require=REQUIREMENTS["growth"])
    assert release.description.method.settings["k"] == 5
    sized = sf.publish(table(), require=[sf.KAnonymity(k=3), *REQUIREMENTS["growth"]])
    assert sized.description.method.settings["k"] == 3


def test_no_choice_masks_everything_where_another_keeps_more() -> None:
    """Half of the people have one value, so that mondrian+ cannot cut at l = 2; mondrian++ and hilb-safe can."""
    skewed = sf.read(
        pl.DataFrame({"age": range(40), "ill": ["a", "b"] * 20}),
        quasi=["age"],
        sensitive="ill",
        domains={"ill": ["a", "b"]},
    )
    choice = choose(skewed, [sf.LDiversity(l=2)])
    assert choice.losses["mondrian+"] == pytest.approx(1.0)
    assert choice.losses[choice.method.name] == min(choice.losses.values()) < 1.0
    assert choice.among == tuple(n for n in SAFE if n in choice.among)


def common(rows: int = 4000) -> pl.DataFrame:
    """People with a value so common that mondrian+ cuts nothing at l = 2."""
    dice = np.random.default_rng(4)
    ages, zips = dice.integers(20, 80, rows), dice.choice(list("123456"), rows)
    ill = np.where(dice.random(rows) < 0.3, "a", dice.choice(DOMAIN, rows))
    return pl.DataFrame({"age": ages, "zip": zips, "diagnosis": ill})


def test_blurred_cuts_are_chosen_where_they_lose_less_than_looking_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by init. With secret draws it loses 0.2, or 0.5 if good cuts are refused, the others 0.78 and more."""
    people = sf.read(common(), quasi=["age", "zip"], sensitive="diagnosis")
    choice = choose(people, [sf.KAnonymity(k=5), sf.LDiversity(l=2)], draws=Draws(np.random.default_rng(1)))
    assert choice.losses["mondrian+"] > 0.9
    assert choice.losses["mondrian-blur"] < 0.6
    assert choice.method.name == "mondrian-blur"
    monkeypatch.setattr(proposal_trial, "Draws", lambda: Draws(np.random.default_rng(1)))
    proposed = proposal_trial.tried(propose(common(), "people.csv"), common())
    assert [n.entry["model"] for n in proposed.requirements] == ["k-anonymity", "l-diversity"]
    assert proposed.trial is not None
    assert proposed.trial.method == "mondrian-blur"


def test_templates_about_few_attributes_do_not_mask_the_others() -> None:
    """Groups by zip of half of the people: mondrian would have to make groups of that size by age and zip."""
    choice = choose(table(), [sf.Anonymity(x=["zip"], k=ROWS // 4)])
    assert set(choice.among) == {"mondrian", "tdr"}
    assert choice.losses[choice.method.name] == min(choice.losses.values())


def test_sizes_alone_are_tried_by_both_that_decide_by_them() -> None:
    """Towns of three people each in two regions: one node per group keeps what cuts at the median cannot."""
    towns = [f"{region}{town}" for region in "ab" for town in range(9) for _ in range(3)]
    tree = {"Any": {region: [f"{region}{town}" for town in range(9)] for region in "ab"}}
    people = sf.read(
        pl.DataFrame({"town": towns, "age": [20 + i * i % 50 for i in range(54)]}),
        quasi=["town", "age"],
        taxonomies={"town": tree},
    )
    choice = choose(people, [sf.KAnonymity(k=3)])
    assert choice.among == ("mondrian", "local-recoding")
    assert choice.losses[choice.method.name] == min(choice.losses.values())
    assert len(set(choice.losses.values())) == 2
    release = sf.publish(people, require=sf.KAnonymity(k=3))
    lost = {
        m.name: 1.0 - (sf.summarize(sf.publish(people, require=sf.KAnonymity(k=3), method=m), people).information or 0)
        for m in (sf.Mondrian(), sf.LocalRecoding(rounds=0))
    }
    assert lost == pytest.approx(choice.losses)  # nothing is dealt out: the trial is the release
    assert release.description.method.name == min(lost, key=lambda m: lost[m])
    assert not [f for f in release.findings() if f.status == "broken"]


def test_a_small_table_is_dealt_out_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared is the average over all deals; a method that fails in one of them is not chosen."""
    deals = [{"mondrian+": 0.5, "mondrian++": 0.1}, {"mondrian+": 0.5, "mondrian++": 0.8}, {"mondrian+": 0.5}]
    given: list[dict[str, float]] = []
    used: list[dict[str, float]] = []

    def one(*_: object) -> dict[str, float]:
        given.append(deals[len(given) % len(used)])
        return given[-1]

    monkeypatch.setattr("sfumato.publisher.choose.trial", one)
    for some, best in ((deals[:2], ("mondrian+", "mondrian++")), (deals, ("mondrian+",))):
        given.clear()
        used[:] = some
        choice = choose(table(), [L])
        assert len(given) == 5
        assert choice.losses == pytest.approx({n: sum(g.get(n, 0.0) for g in given) / 5 for n in best})
        assert choice.method.name == min(best, key=lambda n: choice.losses[n])


def test_many_rows_are_not_tried_by_sizes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.publisher.choose.MOST_ROWS", ROWS - 1)
    choice = choose(table(), [K])
    assert (choice.method.name, choice.among) == ("mondrian", ("mondrian",))
    assert "no requirement depends on sensitive values" in choice.entry.reason


class _Given(Draws):
    """Draws that deal values out in a given order and leave rows in theirs."""

    def __init__(self, deal: tuple[int, ...]) -> None:
        super().__init__(np.random.default_rng(0))
        self.orders: Iterator[Any] = iter([np.arange(len(deal)), np.array(deal)])

    def order(self, number: int) -> Any:
        return next(self.orders)


def test_the_trial_is_as_likely_to_see_any_table_whoever_has_which_value() -> None:
    """All 24 deals of four people, for every way to give them two values: the trial sees the same tables equally often.

    So the probability of each choice is the same for all tables that an adversary considers.
    """
    seen = []
    for values in sorted(set(itertools.permutations("aabb"))):
        people = sf.read(pl.DataFrame({"age": [1, 2, 3, 4], "ill": values}), quasi=["age"], sensitive="ill")
        counts = LocalEngine(people).count(["ill"])
        dealt = (dealt_out(counts, _Given(deal)) for deal in itertools.permutations(range(4)))
        seen.append(Counter((tuple(t["age"].codes.tolist()), tuple(t["ill"].codes.tolist())) for t in dealt))
    assert len(seen) == 6
    assert all(one == seen[0] for one in seen)


def test_a_trial_keeps_the_quasi_identifiers_and_the_values() -> None:
    rows = table()
    dealt = dealt_out(LocalEngine(rows).count(["ill"]), Draws(np.random.default_rng(1)))
    pairs = list(zip(dealt["age"].codes.tolist(), dealt["zip"].codes.tolist(), strict=True))
    assert Counter(pairs) == Counter(zip(rows["age"].codes.tolist(), rows["zip"].codes.tolist(), strict=True))
    assert Counter(dealt["ill"].codes.tolist()) == Counter(rows["ill"].codes.tolist())
    before = Counter(zip(rows["age"].codes.tolist(), rows["ill"].codes.tolist(), strict=True))
    assert Counter(zip(dealt["age"].codes.tolist(), dealt["ill"].codes.tolist(), strict=True)) != before


def test_a_trial_of_a_large_table_draws_some_of_its_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.publisher.choose.MOST_ROWS", 50)
    dealt = dealt_out(LocalEngine(table()).count(["ill"]), Draws(np.random.default_rng(1)))
    assert dealt.rows == len(dealt["ill"].codes) == 50
    assert choose(table(), [L]).losses


def _forged(release: sf.Release, **chosen: Any) -> sf.Release:
    method = dict(release.manifest["method"])
    return release.stating(method=method | {"chosen": method["chosen"] | chosen})


def test_a_reason_that_is_not_true_does_not_pass() -> None:
    release = sf.publish(table(), require=[L])
    among = list(release.manifest["method"]["chosen"]["among"])
    assert release.manifest["method"]["name"] in among
    name = release.manifest["method"]["name"]
    others = [n for n in among if n != name]
    for lie in (
        {"reason": "It is the best."},
        {"among": others, "reason": reason(name, others)},
        {"among": [*among, "mondrian"], "reason": reason(name, [*among, "mondrian"])},
        {"among": among[::-1], "reason": reason(name, among[::-1])},
        {"among": [], "reason": "none"},
        {"among": among},
    ):
        forged = _forged(release, **lie)
        broken = [f for f in forged.findings() if f.status == "broken"]
        assert bool(broken) == (lie != {"among": among}), lie


def test_methods_that_are_not_tried_together_are_not_said_to_be() -> None:
    release = sf.publish(table(), require=[K])
    name = release.manifest["method"]["name"]
    for among in ([name, "incognito"], ["mondrian", "local-recoding", "incognito"]):
        forged = _forged(release, among=among, reason=reason(name, among))
        assert any("not tried together" in f.detail for f in forged.findings()), among


def test_a_refuted_method_cannot_say_that_it_was_chosen() -> None:
    with pytest.warns(sf.RefutedMethodWarning):
        release = sf.publish(table(), require=[sf.TCloseness(t=0.4)], method="mondrian")
    told = {"among": ["mondrian"], "reason": reason("mondrian", ["mondrian"])}
    forged = release.stating(method=dict(release.manifest["method"]) | {"chosen": told})
    assert any("may not be chosen" in f.detail for f in forged.findings() if f.status == "broken")


POLICY = """[data]
source = "people.csv"
[attributes]
age = "quasi"
zip = "quasi"
ill = "sensitive"
[[require]]
model = "k-anonymity"
k = 3
[[require]]
model = "l-diversity"
l = 3
"""


def test_a_policy_without_a_method_publishes_and_says_why(tmp_path: Path) -> None:
    frame().write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    job = publish_policy(tmp_path / "policy.toml", tmp_path / "out")
    chosen = job.release.description.method.chosen
    assert chosen is not None
    assert job.release.description.method.name in SAFE
    assert "dealt out at random" in chosen.reason
    assert sf.load(tmp_path / "out" / "release").check()
    assert "dealt out at random" in (tmp_path / "out" / "private" / "report.html").read_text()


def test_a_policy_with_a_method_does_not_speak_of_a_choice(tmp_path: Path) -> None:
    frame().write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(POLICY + '[method]\nname = "mondrian+"\n')
    job = publish_policy(tmp_path / "policy.toml", tmp_path / "out")
    assert job.release.description.method.chosen is None


AFTER = """
[[after]]
release = "first"
[[require]]
model = "anonymity"
x = ["age", "zip"]
k = 3
over = ["T1", "T2"]
"""


def test_after_earlier_releases_tdssa_is_chosen(tmp_path: Path) -> None:
    frame().write_csv(tmp_path / "people.csv")
    first = sf.read(frame().select("age", "zip"), quasi=["age", "zip"])
    sf.publish(first, require=sf.KAnonymity(k=3)).write(tmp_path / "first")
    class_ = POLICY[: POLICY.index("[[require]]")].replace('ill = "sensitive"', 'ill = "class"')
    (tmp_path / "policy.toml").write_text(class_ + AFTER)
    job = publish_policy(tmp_path / "policy.toml", tmp_path / "out")
    assert job.release.description.method.name == "tdssa"
    assert job.release.description.method.chosen is not None
    job.release.check(after=[tmp_path / "first"])


def test_init_leaves_the_method_out_and_its_policy_runs(tmp_path: Path) -> None:
    people = frame().rename({"ill": "diagnosis"})
    people.write_csv(tmp_path / "people.csv")
    proposal = propose(people, "people.csv")
    (tmp_path / "policy.toml").write_text(proposal.to_toml())
    assert "[method]" not in proposal.to_toml().splitlines()
    assert parse_policy(proposal.to_toml(), folder=tmp_path).named is None
    job = publish_policy(tmp_path / "policy.toml", tmp_path / "out")
    assert not METHODS[job.release.description.method.name].refuted
