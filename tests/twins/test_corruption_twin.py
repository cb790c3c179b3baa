"""Posteriors under corruption against the enumeration of everything that could have happened, in exact rationals."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversary.posterior import multiset_posterior, pg_posterior, randomized_posterior
from sfumato.errors import DataError
from strategies import examples

Prior = tuple[Fraction, ...]


@st.composite
def priors(draw: st.DrawFn, n: int, *, least: int = 0) -> Prior:
    weights = draw(st.lists(st.integers(least, 4), min_size=n, max_size=n).filter(lambda w: sum(w) > 0))
    return tuple(Fraction(w, sum(weights)) for w in weights)


def floats(prior: Prior) -> list[float]:
    return [float(p) for p in prior]


@st.composite
def scenes(draw: st.DrawFn) -> dict:
    n = draw(st.integers(2, 3))
    size = draw(st.integers(1, 3))
    known = draw(st.lists(st.integers(0, n - 1), max_size=size - 1))
    unknown = size - 1 - len(known) + (draw(st.integers(0, 2)) if size - 1 > len(known) else 0)
    return {
        "n": n,
        "size": size,
        "known": known,
        "absent": draw(st.integers(0, 2)),
        "unknown": unknown,
        "p": draw(st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(4, 5)])),
        "prior": draw(priors(n)),
        "others": draw(priors(n)),
    }


def enumerated(scene: dict) -> dict[int, tuple[Fraction, list[Fraction]]]:
    """For each value seen, over all memberships, values and draws: is it the row of the victim, and what to believe."""
    n, p = scene["n"], scene["p"]
    away = (1 - p) / n
    joint = {y: [Fraction(0)] * n for y in range(n)}
    owned = {y: Fraction(0) for y in range(n)}
    members = list(combinations(range(scene["unknown"]), scene["size"] - 1 - len(scene["known"])))
    for x, member in product(range(n), members):
        for values in product(range(n), repeat=len(member)):
            chance = (
                scene["prior"][x] / len(members) * math.prod((scene["others"][v] for v in values), start=Fraction(1))
            )
            group = [x, *scene["known"], *values]
            for owner, true in enumerate(group):
                for y in range(n):
                    here = chance / len(group) * ((p if true == y else 0) + away)
                    joint[y][x] += here
                    owned[y] += here if owner == 0 else 0
    totals = {y: sum(joint[y]) for y in range(n)}
    return {y: (owned[y] / t, [j / t for j in joint[y]]) for y, t in totals.items() if t}


@examples(300)
@given(scene=scenes())
def test_pg_posterior_is_the_enumerated_one(scene: dict) -> None:
    for y, (ownership, beliefs) in enumerated(scene).items():
        found = pg_posterior(
            p=float(scene["p"]),
            observed=y,
            size=scene["size"],
            prior=floats(scene["prior"]),
            others=floats(scene["others"]),
            candidates=len(scene["known"]) + scene["absent"] + scene["unknown"],
            corrupted=len(scene["known"]) + scene["absent"],
            present=len(scene["known"]),
            matching=scene["known"].count(y),
        )
        assert float(found.ownership) == pytest.approx(float(ownership), abs=1e-12)
        assert found.beliefs.tolist() == pytest.approx([float(b) for b in beliefs], abs=1e-12)


@examples(200)
@given(scene=scenes(), skew=st.sampled_from([Fraction(1, 2), Fraction(3, 4), Fraction(1)]))
def test_no_enumerated_attack_beats_the_exact_bounds(scene: dict, skew: Fraction) -> None:
    """Every prior that is no more skewed than λ, every value seen, every predicate."""
    skew = max(skew, max(scene["prior"]))
    guarantee = sf.pg_guarantee(k=scene["size"], p=scene["p"], domain=scene["n"], skew=skew)
    for _, beliefs in enumerated(scene).values():
        for predicate in product((0, 1), repeat=scene["n"]):
            before = sum((b for b, q in zip(scene["prior"], predicate, strict=True) if q), Fraction(0))
            after = sum((b for b, q in zip(beliefs, predicate, strict=True) if q), Fraction(0))
            assert after - before <= Fraction(guarantee.growth_exact)
            if 0 < before < 1:
                rho = sf.pg_guarantee(k=scene["size"], p=scene["p"], domain=scene["n"], skew=skew, rho1=before)
                assert after <= Fraction(rho.rho2_exact)


@examples(60)
@given(
    p=st.integers(1, 19), k=st.integers(1, 6), n=st.integers(2, 12), rho1=st.integers(1, 19), more=st.integers(0, 10)
)
def test_the_worst_attack_attains_the_exact_bounds(p: int, k: int, n: int, rho1: int, more: int) -> None:
    skew = min(1 / n + (1 - 1 / n) * more / 10, 1.0)
    guarantee = sf.pg_guarantee(k=k, p=p / 20, domain=n, skew=skew, rho1=rho1 / 20)
    growth = sf.worst_attack(p=p / 20, k=k, domain=n, skew=skew)
    assert growth.growth == pytest.approx(guarantee.growth_exact, abs=1e-9)
    assert growth.prior.max() <= skew + 1e-9
    sure = sf.worst_attack(p=p / 20, k=k, domain=n, skew=skew, rho1=rho1 / 20)
    assert sure.before <= rho1 / 20 + 1e-9
    assert sure.prior.max() <= skew + 1e-9
    assert sure.after <= guarantee.rho2_exact + 1e-9
    if more == 10:  # any prior is allowed: the bound is attained
        assert sure.after == pytest.approx(guarantee.rho2_exact, abs=1e-9)
    assert guarantee.rho2_exact <= guarantee.rho2
    assert guarantee.growth_exact <= guarantee.growth


@examples(100)
@given(data=st.data(), n=st.integers(2, 6))
def test_worst_predicate_against_all_subsets(data: st.DataObject, n: int) -> None:
    prior, belief = data.draw(priors(n)), data.draw(priors(n))
    rho1 = data.draw(st.sampled_from([0.2, 0.5, 0.9]))
    subsets = list(product((0, 1), repeat=n))
    both = [[sum(float(v) * q for v, q in zip(x, s, strict=True)) for x in (prior, belief)] for s in subsets]
    found = sf.worst_predicate(floats(prior), floats(belief), rho1)
    assert found.before <= rho1 + 1e-9
    assert found.after >= max(after for before, after in both if before <= rho1) - 2e-6
    assert sf.worst_predicate(floats(prior), floats(belief)).growth == pytest.approx(max(b - a for a, b in both))


@examples(150)
@given(data=st.data(), n=st.integers(2, 3), people=st.integers(1, 4))
def test_multiset_posterior_against_all_assignments(data: st.DataObject, n: int, people: int) -> None:
    prior, others = data.draw(priors(n)), data.draw(priors(n, least=1))
    values = data.draw(st.lists(st.integers(0, n - 1), min_size=people, max_size=people))
    weight = [Fraction(0)] * n
    for handed in product(range(n), repeat=people):
        if sorted(handed) == sorted(values):
            weight[handed[0]] += prior[handed[0]] * math.prod((others[v] for v in handed[1:]), start=Fraction(1))
    left = [values.count(v) for v in range(n)]
    if not sum(weight):
        with pytest.raises(DataError, match="rules out"):
            multiset_posterior(left=left, prior=floats(prior), others=floats(others))
        return
    found = multiset_posterior(left=left, prior=floats(prior), others=floats(others))
    assert found.beliefs.tolist() == pytest.approx([float(w / sum(weight)) for w in weight])


@examples(100)
@given(data=st.data(), n=st.integers(2, 3), people=st.integers(1, 4))
def test_randomized_posterior_against_all_worlds(data: st.DataObject, n: int, people: int) -> None:
    prior, others = data.draw(priors(n)), data.draw(priors(n))
    rows = [data.draw(priors(n, least=1)) for _ in range(n)]
    known = data.draw(st.lists(st.integers(0, n - 1), max_size=people - 1))
    seen = data.draw(st.lists(st.integers(0, n - 1), min_size=people, max_size=people))
    weight = [Fraction(0)] * n
    for x, rest in product(range(n), product(range(n), repeat=people - 1 - len(known))):
        true = [x, *known, *rest]
        chance = prior[x] * math.prod((others[v] for v in rest), start=Fraction(1))
        for shown in set(permutations(seen)):
            weight[x] += chance * math.prod((rows[t][s] for t, s in zip(true, shown, strict=True)), start=Fraction(1))
    found = randomized_posterior(
        observed=[seen.count(v) for v in range(n)],
        matrix=np.array([floats(r) for r in rows]),
        prior=floats(prior),
        known=known,
        others=floats(others),
    )
    assert found.beliefs.tolist() == pytest.approx([float(w / sum(weight)) for w in weight])


def test_many_attacks_at_once_are_the_attacks_one_by_one() -> None:
    rng = np.random.default_rng(5)
    n, number = 5, 200
    size = rng.integers(1, 6, number)
    present = np.minimum(rng.integers(0, 5, number), size - 1)
    absent = rng.integers(0, 3, number)
    free = size - 1 - present + np.where(size - 1 > present, rng.integers(0, 4, number), 0)
    many = {
        "observed": rng.integers(0, n, number),
        "size": size,
        "candidates": present + absent + free,
        "corrupted": present + absent,
        "present": present,
        "matching": np.minimum(rng.integers(0, 3, number), present),
        "prior": rng.dirichlet(np.ones(n), number),
    }
    together = pg_posterior(p=0.4, **many)
    for i in range(number):
        one = pg_posterior(p=0.4, **{name: values[i] for name, values in many.items()})
        assert np.allclose(one.beliefs, together.beliefs[i])
    assert np.allclose(together.beliefs.sum(axis=1), 1)
    assert Counter(size)[1] > 0
