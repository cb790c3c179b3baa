"""Every method, scheme and requirement that is accepted: what the manifest claims holds of what is shown.

The judge is naive and independent (`naive_claims`): it takes the exact quasi-identifiers of a bucketized release for
what they are, and people for people.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from naive_claims import EARLIER, PERSON, POPULATION, broken_claims
from sfumato.errors import DataError, Infeasible, PolicyError
from sfumato.method.base import Method, PartitionMethod
from sfumato.method.catalogue import METHODS
from sfumato.requirement.base import GroupRequirement, Requirement
from sfumato.requirement.catalogue import MODELS
from strategies import examples

REQUIREMENTS: list[Requirement] = [
    sf.KAnonymity(k=2),
    sf.KAnonymity(k=3, entity=PERSON),
    sf.KMap(k=9, population=pl.DataFrame(POPULATION)),
    sf.LDiversity(l=2),
    sf.LDiversity(l=2, variant="distinct"),
    sf.LDiversity(l=1.5, variant="entropy"),
    sf.LDiversity(l=2, variant="recursive", c=3),
    sf.TCloseness(t=0.5),
    sf.TCloseness(t=0.4, distance="ordered"),
    sf.BetaLikeness(beta=1.5),
    sf.BetaLikeness(beta=4, variant="enhanced"),
    sf.DeltaDisclosure(delta=2),
    sf.AlphaK(alpha=0.75, k=2),
    sf.Anonymity(x="zip", k=2),
    sf.Anonymity(y="ill", k=2),
    sf.Anonymity(y=PERSON, k=2),
    sf.Confidentiality(x="zip", y={"ill": ["a"]}, k=0.6),
    sf.Confidentiality(y={"ill": ["a", "b"]}, k=0.75),
    sf.MConfidentiality(m=2),
    sf.MConfidentiality(m=2, values=["a"]),
    sf.RRobustness(r=1.3, values=["a"], minimum=1000),
    sf.RhoBreach(rho1=0.2, rho2=0.9, skew=0.4),
    sf.Growth(delta=0.9, skew=0.4),
    sf.Disclosure(tau=0.6),
]
POLICIES: list[list[Requirement]] = [
    *([r] for r in REQUIREMENTS),
    *([r, sf.KAnonymity(k=2)] for r in REQUIREMENTS),
    *([r, sf.KAnonymity(k=2, entity=PERSON)] for r in REQUIREMENTS),
    *([sf.LDiversity(l=2), r] for r in REQUIREMENTS),
]
SETTINGS: dict[str, dict[str, Any]] = {
    "pg": {"p": 0.3, "k": 2},
    "tdr": {"score": "distortion"},
    "tdd": {"score": "distortion"},
}
SETTINGS["rr"] = {"unchanged": "allow"}
BEFORE = sf.earlier(pl.DataFrame(EARLIER), quasi=["zip", "town"], taxonomies={"zip": {"Any": ["11", "12", "21", "22"]}})
JOINED = [sf.Anonymity(x=["zip", "town"], k=2), sf.Confidentiality(x=["age", "town"], y={"ill": ["a"]}, k=0.9)]
SETTINGS["tdssa"] = {"score": "distortion", "after": [BEFORE], "templates": JOINED}
ALONE = {name: cls for name, cls in METHODS.items() if name != "tds2p"}  # which needs two: tests/integration
CASES = [
    (name, scheme)
    for name, cls in ALONE.items()
    for scheme in (("generalization", "bucketization") if issubclass(cls, PartitionMethod) else (None,))
]


def made(name: str, scheme: str | None) -> Method:
    return METHODS[name](**SETTINGS.get(name, {}), **({"scheme": scheme} if scheme else {}))


def frame(seed: int, rows: int = 32, *, people: int | None = None) -> pl.DataFrame:
    """Each person one row, or several of few people."""
    dice = Random(seed)
    return pl.DataFrame(
        {
            "row": range(rows),
            PERSON: [f"P{i if people is None else dice.randrange(people)}" for i in range(rows)],
            "age": [dice.randint(20, 60) for _ in range(rows)],
            "zip": [dice.choice(["11", "12", "21"]) for _ in range(rows)],
            "ill": [dice.choice("aabbcd") for _ in range(rows)],
        }
    )


def table_of(data: pl.DataFrame, *, numbered: bool = True) -> sf.Microdata:
    return sf.read(
        data, quasi=["age", "zip"], sensitive="ill", identifiers=[PERSON], insensitive=["row"] * numbered,
        taxonomies={"zip": {"Any": {"1": ["11", "12"], "2": ["21"]}}}, domains={"ill": ["a", "b", "c", "d"]},
    )  # fmt: skip


def published(data: pl.DataFrame, method: Method, policy: Sequence[Requirement]) -> sf.Release | None:
    """The release, or None if it is refused in words; anything else that is raised is a bug."""
    try:
        table = table_of(data, numbered=method.name != "pg")  # which shows no other columns
        return sf.publish(table, require=policy, method=method, rng=np.random.default_rng(1))
    except (PolicyError, Infeasible, DataError):
        return None


def assert_true(release: sf.Release, data: pl.DataFrame) -> None:
    who = dict(zip(data["row"], data[PERSON], strict=True))
    assert broken_claims(release.manifest, release.tables, who) == []
    assert "broken" not in {f.status for f in release.findings()}
    if release.description.after:
        assert "broken" not in {f.status for f in release.findings([BEFORE])}


def test_nothing_is_left_out() -> None:
    assert {r.model for r in REQUIREMENTS if not r.counts_rows} == {"k-map"}
    assert {r.model for r in REQUIREMENTS} == set(MODELS)
    assert {name for name, _ in CASES} == set(ALONE)
    bucketizing = {name for name, scheme in CASES if scheme == "bucketization"}
    refining = {"tdr", "tdd", "tdssa"}
    assert bucketizing == {n for n, c in ALONE.items() if "scheme" in {f.name for f in fields(c)}} - refining


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.words())
def test_every_requirement_says_what_it_promises_and_what_not(requirement: Requirement) -> None:
    told = requirement.guarantee({})
    assert told.name
    assert told.promise.endswith(".")
    assert told.limits
    assert all(limit.endswith(".") for limit in told.limits)


@pytest.mark.parametrize(("name", "scheme"), CASES)
def test_what_is_accepted_is_true(name: str, scheme: str | None) -> None:
    method, served = made(name, scheme), Counter[str]()
    for data in (frame(1), frame(2, 40)):
        for policy in POLICIES:
            release = published(data, method, policy)
            if release is not None:
                assert_true(release, data)
                served.update({r.model for r in policy})
    assert served, "nothing is accepted, so nothing was tested"
    if scheme == "bucketization":
        assert not {"k-anonymity", "k-map", "alpha-k", "anonymity", "confidentiality"} & served.keys()
    if name == "incognito":
        assert {"k-map", "beta-likeness", "delta-disclosure"} <= served.keys()


@given(st.data())
@examples(150)
def test_what_is_accepted_is_true_of_any_table(given_: st.DataObject) -> None:
    data = frame(given_.draw(st.integers(0, 10**6)), given_.draw(st.integers(8, 40)))
    policy = given_.draw(st.sampled_from(POLICIES))
    release = published(data, made(*given_.draw(st.sampled_from(CASES))), policy)
    if release is not None:
        assert_true(release, data)


def bucketizing() -> Iterator[Method]:
    return (made(name, scheme) for name, scheme in CASES if scheme == "bucketization")


@pytest.mark.parametrize("requirement", [r for r in REQUIREMENTS if r.by_labels])
def test_exact_quasi_identifiers_hide_nobody(requirement: Requirement) -> None:
    """Alone or beside what the method serves, the refusal says what is wrong and what to do."""
    table = table_of(frame(1))
    for method in bucketizing():
        for policy in ([requirement], [sf.LDiversity(l=2), requirement], [requirement, sf.MConfidentiality(m=2)]):
            with pytest.raises(PolicyError) as refused:
                sf.publish(table, require=policy, method=method)
            if method.name != "art":  # it serves r-robustness and nothing else, under any scheme
                told = str(refused.value)
                assert told.startswith(f"{requirement.model} is about people who show the same quasi-identifiers")
                assert 'scheme = "generalization"' in told
                assert "l-diversity" in told


def test_models_about_who_is_told_apart_say_so() -> None:
    """Whatever groups by labels or counts people in them is about labels."""
    about_labels = {"k-anonymity", "k-map", "alpha-k", "anonymity", "confidentiality"}
    assert {r.model for r in REQUIREMENTS if r.by_labels} == about_labels
    for r in REQUIREMENTS:
        if isinstance(r, GroupRequirement) and (r.groups_by() is not None or r.distinct_columns()):
            assert r.by_labels


@pytest.mark.parametrize(("name", "scheme"), CASES)
def test_people_with_several_rows_are_counted_or_refused(name: str, scheme: str | None) -> None:
    data = frame(3, 40, people=12)
    entities = (sf.KAnonymity(k=3, entity=PERSON), sf.Anonymity(y=PERSON, k=3))
    for entity in entities:
        for r in REQUIREMENTS:
            release = published(data, made(name, scheme), [entity, r])
            if release is not None:
                assert r.people([PERSON]) or not r.counts_rows, f"{name} takes rows for people: {r.words()}"
                assert_true(release, data)
    if name in ("mondrian", "incognito", "tdr", "tdd") and scheme != "bucketization":
        for entity in entities:
            release = published(data, made(name, scheme), [entity])
            assert release is not None
            assert_true(release, data)
