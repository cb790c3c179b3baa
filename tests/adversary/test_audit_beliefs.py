"""Each adversary's belief against enumeration: which row, which bucket, which values, who is known."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversary.corruption_levels import CorruptionLevels, left_over
from sfumato.adversary.finding import AdversaryFinding
from sfumato.adversary.situation import Situation
from sfumato.adversary.true_belief import true_belief
from sfumato.engine.draws import Draws
from sfumato.engine.overview import overview_of
from sfumato.release.judgement import TableSchema
from sfumato.release.label_meaning import parse_label
from sfumato.release.labels import Meanings
from sfumato.release.release import Release
from strategies import examples

ILL = ["flu", "HIV", "cold"]
Rows = list[tuple[int, str, str]]

rows = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(["M", "F"]), st.sampled_from(ILL)), min_size=4, max_size=7
).filter(lambda r: len({x[0] for x in r}) > 1 and len({x[1] for x in r}) > 1)


def table(found: Rows) -> sf.Microdata:
    frame = pl.DataFrame(found, schema=["age", "sex", "ill"], orient="row")
    return sf.read(frame, quasi=["age", "sex"], sensitive="ill", domains={"ill": ILL})


def findings(release: Release, truth: sf.Microdata, adversary: Any, **more: Any) -> list[AdversaryFinding]:
    found = sf.audit(release, truth=truth, adversary=adversary, budget=None, **more)
    assert not found.refused, found.refused
    assert not found.broken, found.broken
    return list(found.findings)


def covers(release: Release, truth: sf.Microdata, row: int, person: int) -> bool:
    """Whether the labels of a row cover a person, attribute by attribute."""
    for name in release.quasi():
        label, column = str(release.tables["data"][name][row]), truth[name]
        codes = Meanings(column.domain).codes(parse_label(label, release.description.label(name).nodes.get(label)))
        if int(column.codes[person]) not in codes.tolist():
            return False
    return True


def candidates(release: Release, truth: sf.Microdata, person: int) -> list[int]:
    """The published rows that may be a person's."""
    if not release.bucketized:
        return [r for r in range(release.tables["data"].height) if covers(release, truth, r, person)]
    shown = release.tables["quasi"]
    mine = {n: truth[n].domain.leaves[int(truth[n].codes[person])] for n in release.quasi()}
    return [r for r in range(shown.height) if all(str(shown[n][r]) == v for n, v in mine.items())]


def value(truth: sf.Microdata, person: int) -> str:
    return str(truth["ill"].domain.leaves[int(truth["ill"].codes[person])])


def bucket(release: Release, row: int) -> list[str]:
    """The values of a row's bucket."""
    held = release.tables["sensitive"].filter(pl.col("group") == release.tables["quasi"]["group"][row])
    return [v for v, n in zip(held["ill"].to_list(), held["count"].to_list(), strict=True) for _ in range(n)]


def enumerated(release: Release, truth: sf.Microdata, person: int) -> Fraction:
    """All worlds: which row is the person's and, with buckets, who of the bucket has which of its values."""
    worlds: Counter[bool] = Counter()
    for row in candidates(release, truth, person):
        if not release.bucketized:
            worlds[release.tables["data"]["ill"][row] == value(truth, person)] += 5040
            continue
        orders = list(permutations(bucket(release, row)))
        for order in orders:  # the person is the first member
            worlds[order[0] == value(truth, person)] += 5040 // len(orders) if 5040 % len(orders) == 0 else 0
    return Fraction(worlds[True], worlds.total())


@pytest.mark.parametrize("method", ["mondrian", "incognito", "anatomy", "hilb", "mondrian++"])
@examples(15)
@given(found=rows)
def test_inference_and_linkage_are_the_shares_of_all_worlds(method: str, found: Rows) -> None:
    truth = table(found)
    require: Any = sf.KAnonymity(k=2) if method in ("mondrian", "incognito") else sf.LDiversity(l=2)
    try:
        release = sf.publish(truth, require=require, method=method)
    except sf.Infeasible:
        return
    (guessed,) = findings(release, truth, "inference")
    (linked, *_) = findings(release, truth, "linkage")
    expected = [enumerated(release, truth, i) for i in range(truth.rows) if candidates(release, truth, i)]
    assert guessed.concerned is not None
    assert linked.concerned is not None
    there = [i for i in range(truth.rows) if candidates(release, truth, i)]
    assert np.allclose(guessed.concerned.belief[there], [float(e) for e in expected], atol=1e-12)
    assert linked.concerned.rows.tolist() == there
    assert np.allclose(linked.concerned.belief, [1 / len(candidates(release, truth, i)) for i in there])
    shares = Counter(value(truth, i) for i in range(truth.rows))
    assert np.allclose(guessed.concerned.before, [shares[value(truth, i)] / truth.rows for i in range(truth.rows)])
    assert guessed.worst == pytest.approx(max(guessed.concerned.belief))


@examples(15)
@given(found=rows)
def test_counts_give_the_same_findings_as_rows(found: Rows) -> None:
    truth = table(found)
    release = sf.publish(truth, require=sf.KAnonymity(k=2), method="mondrian")
    counted, listed = Situation(release, overview_of(truth)), Situation(release, truth)
    for adversary in (sf.Linkage(), sf.Inference(), sf.CorruptionLevels()):
        for a, b in zip(adversary.findings(counted), adversary.findings(listed), strict=True):
            one, other = a.as_dict(), b.as_dict()
            assert one.keys() == other.keys()
            for name in one:
                close = isinstance(one[name], float)
                assert one[name] == (pytest.approx(other[name]) if close else other[name]), name


def left(group: list[str], known: list[str], mine: str) -> Fraction:
    """The share of a value in what is left of a group once the known values are struck out."""
    rest = Counter(group) - Counter(known)
    return Fraction(rest[mine], rest.total())


@pytest.mark.parametrize(("size", "people"), [(1, 3), (2, 3), (3, 6), (4, 6), (4, 4)])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_a_random_part_of_the_others_by_all_subsets(size: int, people: int, share: float) -> None:
    """Everyone outside the group has any value; the victim is person 0 and the group are the first ``size``."""
    for same in range(1, size + 1):
        group = ["x"] * same + ["y"] * (size - same)
        subsets = list(combinations(range(1, people), round(share * (people - 1))))
        found = [left(group, [group[j] for j in s if j < size], "x") for s in subsets]
        belief, alone = left_over(np.array([size]), np.array([same]), share, people)
        assert belief[0] == pytest.approx(float(sum(found) / len(found)), abs=1e-12)
        single = sum(all(j in s for j in range(same, size)) for s in subsets)
        assert alone[0] == pytest.approx(single / len(subsets), abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_any_one_other_by_trying_everyone(size: int) -> None:
    for same in range(1, size + 1):
        group = ["x"] * same + ["y"] * (size - same)
        tried = [left(group, [group[j]], "x") for j in range(1, size)] + [left(group, [], "x")]
        assert left_over(np.array([size]), np.array([same]), 1, 10)[0][0] == pytest.approx(float(max(tried)))


@examples(12)
@given(found=rows)
def test_corruption_of_groups_that_overlap_is_a_bound(found: Rows) -> None:
    """Whichever of the groups that a person fits is the person's, the belief of whoever knows it is at most this."""
    truth = table(found)
    release = sf.publish(truth, require=sf.KAnonymity(k=2), method="mondrian")
    groups = release.groups()
    one, _, everyone = findings(release, truth, "corruption")
    assert everyone.certain == truth.rows
    assert one.concerned is not None
    for i in range(truth.rows):
        mine = value(truth, i)
        fitting = {int(groups[r]) for r in candidates(release, truth, i)}
        best = Fraction(0)
        for g in fitting:
            group = release.tables["data"]["ill"].filter(pl.Series(groups == g)).to_list()
            if mine in group:
                others = list(group)
                others.remove(mine)
                best = max([best, left(group, [], mine), *(left(group, [v], mine) for v in others)])
        assert one.concerned.belief[i] == pytest.approx(float(best))


def pg_release(truth: sf.Microdata) -> Release:
    return sf.publish(truth, require=sf.Growth(delta=0.9, skew=0.9), method=sf.PG(k=2, p=0.4))


@examples(15)
@given(found=rows)
def test_samples_by_the_posterior_of_one_victim_at_a_time(found: Rows) -> None:
    truth = table(found)
    release = pg_release(truth)

    def by_one(corrupted: Any, person: int) -> float:
        attack = sf.Corruption(prior="data", corrupted=corrupted).attack(release, truth, victims=[person])
        return float(attack.attacks.beliefs[0, ILL.index(value(truth, person))])

    (guessed,) = findings(release, truth, "inference")
    one, half, everyone = findings(release, truth, "corruption", rng=np.random.default_rng(7))
    known = Draws(np.random.default_rng(7)).order(truth.rows)[: round(0.5 * (truth.rows - 1))]
    for i in range(truth.rows):
        assert guessed.concerned is not None
        assert guessed.concerned.belief[i] == pytest.approx(by_one("nobody", i))
        assert everyone.concerned is not None
        assert everyone.concerned.belief[i] == pytest.approx(by_one("everyone", i))
        assert half.concerned is not None
        at = half.concerned.rows.tolist().index(i)
        others = [int(j) for j in known if j != i]
        assert half.concerned.belief[at] == pytest.approx(by_one(others, i))
        tried = max([by_one([j], i) for j in range(truth.rows) if j != i])
        assert one.concerned is not None
        assert one.concerned.belief[i] == pytest.approx(max(tried, 0.0)) or truth.rows == 1


@examples(15)
@given(found=rows, keep=st.sampled_from([0.6, 0.9]))
def test_randomized_values_by_the_posterior_of_one_victim_at_a_time(found: Rows, keep: float) -> None:
    truth = table(found)
    method = sf.RandomizedResponse(keep={"ill": keep})
    release = sf.publish(truth, require=sf.Disclosure(tau=1.0), method=method)
    attack = sf.Corruption(prior="data", corrupted="nobody").attack(release, truth)
    (guessed,) = findings(release, truth, "inference")
    assert guessed.concerned is not None
    for victim, beliefs in zip(attack.victims, attack.attacks.beliefs, strict=True):
        assert guessed.concerned.belief[victim] == pytest.approx(beliefs[ILL.index(value(truth, int(victim)))])
    (known,) = findings(release, truth, "corruption")
    assert known.bound
    everyone = sf.Corruption(prior="data", corrupted="everyone").attack(release, truth)
    codes = truth["ill"].codes[everyone.victims]
    assert (everyone.attacks.beliefs[np.arange(len(codes)), codes] <= known.worst + 1e-9).all()


@examples(12)
@given(found=rows, more=rows)
def test_population_by_counting(found: Rows, more: Rows) -> None:
    truth = table(found)
    release = sf.publish(truth, require=sf.KAnonymity(k=2), method="incognito")
    population = pl.DataFrame([*found, *more], schema=["age", "sex", "ill"], orient="row").drop("ill")
    people = sf.read(population.with_columns(ill=pl.lit("flu")), quasi=["age", "sex"], sensitive="ill")
    data = release.tables["data"]
    fitting = [sum(covers(release, people, r, i) for i in range(people.rows)) for r in range(data.height)]
    _, journalist = findings(release, truth, "linkage", population=population)
    assert journalist.worst == pytest.approx(1 / min(fitting))
    assert journalist.mean == pytest.approx(float(np.mean([1 / n for n in fitting])))
    (member,) = findings(release, truth, "membership", population=population)
    groups = Counter(release.groups().tolist())
    beliefs = [groups[int(g)] / n for g, n in zip(release.groups(), fitting, strict=True)]
    assert member.worst == pytest.approx(max(beliefs))
    assert member.mean == pytest.approx(float(np.mean(beliefs)))
    assert member.worst_baseline == pytest.approx(data.height / people.rows)


@examples(15)
@given(found=rows)
def test_distributions_by_the_probabilities_of_each_group(found: Rows) -> None:
    truth = table(found)
    release = sf.publish(truth, require=sf.KAnonymity(k=2), method="incognito")
    situation = Situation(release, truth)
    if (situation.fits.groups != 1).any():
        return
    (known,) = findings(release, truth, sf.DistributionAttack(minimum=1))
    required = sf.RRobustness(r=2, size=1, minimum=1).bind(TableSchema(truth))
    knowledge = required.known(truth)
    group = situation.fits.group[situation.kinds.of_row]
    assert known.concerned is not None
    for i in range(truth.rows):
        members = np.flatnonzero(group == group[i])
        held = np.bincount(truth["ill"].codes[members], minlength=3)
        best = 0.0
        for d in knowledge.distributions:
            f = d.chance[d.of_kind[knowledge.kinds.of_row[members]]]
            p = sf.linkage_probabilities(f, held)
            best = max(best, p[members.tolist().index(i), truth["ill"].codes[i]])
        assert known.concerned.belief[i] == pytest.approx(best)


def test_the_aware_adversary_is_exact_on_a_small_table() -> None:
    """The smallest table on which Hilb+ gives two people away (READING: Theorem 6.2 is false)."""
    ages, ill = list(range(6)), ["a", "a", "b", "c", "c", "d"]
    truth = sf.read(pl.DataFrame({"age": ages, "ill": ill}), quasi=["age"], sensitive="ill")
    release = sf.publish(truth, require=sf.LDiversity(l=2), method=sf.HilbPlus(scheme="bucketization"))
    (aware,) = findings(release, truth, "algorithm-aware")
    smart = sf.worlds(truth, method=sf.HilbPlus(scheme="bucketization"), require=sf.LDiversity(l=2)).smart
    assert aware.exact
    assert aware.concerned is not None
    assert np.allclose(aware.concerned.belief, smart[np.arange(6), truth["ill"].codes])


def test_beliefs_never_exceed_one_and_baselines_are_shares() -> None:
    truth = table([(1, "M", "flu"), (2, "M", "HIV"), (3, "F", "flu"), (4, "F", "cold")])
    release = sf.publish(truth, require=sf.KAnonymity(k=2), method="mondrian")
    for found in sf.audit(release, truth=truth, budget=None).findings:
        assert 0 <= found.worst_baseline <= 1
        assert 0 <= found.worst <= 1
        assert found.concerned is None or (found.concerned.belief <= 1).all()
    assert CorruptionLevels(corrupted=0.5).levels == (0.5,)
    assert true_belief(Situation(release, truth), truth["ill"]).shape == (4,)
