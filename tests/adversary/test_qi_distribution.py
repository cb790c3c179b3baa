"""The adversary with QI-based distributions, against p(t:x) by going through worlds."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import DataError, PolicyError
from sfumato.table.microdata import Microdata


def people(n: int = 60) -> Microdata:
    rng = np.random.default_rng(3)
    sex = rng.choice(["F", "M"], n)
    ill = np.where(rng.random(n) < np.where(sex == "F", 0.35, 0.1), "x", rng.choice(["u", "v"], n))
    frame = pl.DataFrame({"sex": sex, "age": rng.integers(20, 26, n), "ill": ill})
    return sf.read(frame, quasi=["sex", "age"], sensitive="ill")


def by_hand(release: sf.Release, truth: Microdata, r: float, worlds: str) -> tuple[int, float]:
    """Problematic people and the greatest p by the attribute set {sex} alone, group by group, from the release."""
    sex = np.array(truth["sex"].domain.leaves)[truth["sex"].codes]
    ill = np.array(truth["ill"].domain.leaves)[truth["ill"].codes]
    chance = {(s, v): ((ill[sex == s] == v).sum() + (ill == v).mean()) / ((sex == s).sum() + 1)
              for s in ("F", "M") for v in ("x", "u", "v")}  # fmt: skip
    quasi, values = release.tables["quasi"], release.tables["sensitive"]
    count, top = 0, 0.0
    for (g,), part in quasi.group_by("group"):
        here = values.filter(pl.col("group") == g)
        held = dict(zip(here["ill"].cast(pl.String), here["count"], strict=True))
        f = np.array([[chance[s, v] for v in ("x", "u", "v")] for s in part["sex"].cast(pl.String)])
        counts = [held.get(v, 0) for v in ("x", "u", "v")]
        if worlds == "two-valued":
            f, counts = np.stack([f[:, 0], 1 - f[:, 0]], axis=1), [counts[0], len(f) - counts[0]]
        p = sf.linkage_probabilities(f, counts)[:, 0]
        count, top = count + int((p > 1 / r + 1e-9).sum()), max(top, float(p.max()))
    return count, top


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("worlds", ["values", "two-valued"])
def test_problematic_people_and_the_worst_are_those_of_the_groups(seed: int, worlds: str) -> None:
    truth = people()
    rng = np.random.default_rng(seed)
    release = sf.publish(truth, require=sf.LDiversity(l=2), method="anatomy", rng=rng)
    kept = {} if worlds == "values" else {"worlds": worlds}  # the actual values are the default
    wanted = sf.RRobustness(r=2, values=["x"], size=1, minimum=20, **kept)  # ages have fewer people than that
    risk = sf.distribution_risk(release, truth, wanted)
    assert risk.attributes == ("sex",)
    problematic, worst = by_hand(release, truth, 2, worlds)
    assert risk.problematic == problematic > 0
    assert risk.worst == pytest.approx(worst)
    assert risk.people == 60
    assert risk.guessed == 0
    assert 0 < risk.deviation < 1


def test_both_schemes_of_the_same_groups_give_the_same_away() -> None:
    truth, wanted = people(), sf.RRobustness(r=2, values=["x"], minimum=5)
    risks = [
        sf.distribution_risk(
            sf.publish(truth, require=sf.LDiversity(l=1.5), method=sf.Mondrian(scheme=scheme)), truth, wanted
        )
        for scheme in ("bucketization", "generalization")
    ]
    assert risks[0].worst == pytest.approx(risks[1].worst)
    assert replace(risks[0], worst=0.0) == replace(risks[1], worst=0.0)


def test_what_art_publishes_is_not_broken() -> None:
    truth, wanted = people(200), sf.RRobustness(r=2, values=["x"], minimum=60)
    release = sf.publish(truth, require=wanted, method="art")
    risk = sf.distribution_risk(release, truth, wanted)
    assert risk.problematic == 0
    assert risk.worst <= 0.5 + 1e-9
    assert 1 / risk.worst == pytest.approx(release.manifest["requirements"][0]["achieved"]["r"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ills", [["x"] * 6, ["x", "y"] * 3])
def test_where_everybody_has_a_protected_value_everybody_is_linked(ills: list[str]) -> None:
    truth = sf.read(pl.DataFrame({"sex": ["F", "M"] * 3, "ill": ills}), quasi=["sex"], sensitive="ill")
    release = sf.publish(truth, require=sf.KAnonymity(k=3))
    risk = sf.distribution_risk(release, truth, sf.RRobustness(r=2, values=sorted(set(ills)), minimum=1))
    assert (risk.worst, risk.problematic) == (1.0, 6)


def test_what_cannot_be_compared_is_refused() -> None:
    truth, wanted = people(), sf.RRobustness(r=2, values=["x"], minimum=5)
    release = sf.publish(truth, require=sf.LDiversity(l=2), method="anatomy")
    frame = pl.DataFrame({"job": ["a", "b"] * 30, "ill": ["x", "u"] * 30})
    with pytest.raises(DataError, match="no attribute 'job'"):
        sf.distribution_risk(release, sf.read(frame, quasi=["job"], sensitive="ill"), wanted)
    with pytest.raises(PolicyError, match="give an RRobustness"):
        sf.distribution_risk(release, truth, sf.KAnonymity(k=2))  # type: ignore[arg-type]
    by_hand = sf.RandomizedResponse(keep={truth.quasi[0].name: 0.9})
    randomized = sf.publish(truth, require=sf.Disclosure(tau=1.0), method=by_hand)
    with pytest.raises(PolicyError, match="by randomization"):
        sf.distribution_risk(randomized, truth, wanted)


def test_another_table_is_refused() -> None:
    release = sf.publish(people(), require=sf.KAnonymity(k=5))
    with pytest.raises(DataError, match="give the table that the release was made from"):
        sf.distribution_risk(release, people(30), sf.RRobustness(r=2, minimum=5))
