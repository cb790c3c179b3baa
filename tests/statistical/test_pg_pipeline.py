"""The whole pipeline of PG, simulated: what an adversary sees happens as often as the equations say.

Counts are compared with their expectation to six sigma: a normal deviate is beyond with probability 2e-9, and there are
fewer than 100 comparisons, so that a false alarm is less likely than 1e-6.
"""

from fractions import Fraction

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.adversary.posterior import pg_posterior
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.release.scheme.sampling import one_of_each
from sfumato.table.distortion import Distortion

ROUNDS = 40_000


def close(count: float, chance: float, rounds: int) -> bool:
    """Whether a count is within six sigma of its expectation."""
    return abs(count - chance * rounds) <= 6 * np.sqrt(rounds * chance * (1 - chance)) + 1e-9


def test_perturbation_by_the_operating_systems_entropy() -> None:
    rounds, size, p = 200_000, 5, 0.3
    seen = Distortion.retaining(Fraction(3, 10), size).draw(np.full(rounds, 2), Draws().bytes)
    for value in range(size):
        assert close(int((seen == value).sum()), (1 - p) / size + p * (value == 2), rounds)


def test_sampling_is_uniform_in_each_group() -> None:
    groups, number = np.array([0, 1, 0, 1, 0, 0, 1]), np.array([1, 3, 2, 1, 1, 4, 2])
    sizes = np.bincount(groups, weights=number)
    grouping = Grouping(np.arange(7), groups, number, 2)
    counts = np.zeros(len(groups))
    for _ in range(ROUNDS):
        counts[one_of_each(grouping, Draws())] += 1
    for vector, group in enumerate(groups):
        assert close(counts[vector], number[vector] / sizes[group], ROUNDS)


def test_posterior_of_a_simulated_attack() -> None:
    """A group of three: the victim, one corrupted, and one of two strangers; the belief is how often it is true."""
    rng = np.random.default_rng(2024)
    n, p = 3, 0.4
    prior, others = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    victim = rng.choice(n, ROUNDS, p=prior)
    strangers = rng.choice(n, (ROUNDS, 2), p=others)
    member = strangers[np.arange(ROUNDS), rng.integers(0, 2, ROUNDS)]
    true = np.stack([victim, np.full(ROUNDS, 1), member], axis=1)
    groups = np.repeat(np.arange(ROUNDS), 3)
    draws = Draws(rng)
    rows = one_of_each(Grouping(np.arange(3 * ROUNDS), groups, np.ones(3 * ROUNDS, np.int64), ROUNDS), draws)
    seen = Distortion.retaining(Fraction(2, 5), n).draw(true.reshape(-1)[rows], draws.bytes)
    for y in range(n):
        attack = pg_posterior(
            p=p, observed=y, size=3, prior=prior, others=others, candidates=3, corrupted=1, present=1, matching=y == 1
        )
        here = seen == y
        assert close(int((here & (rows % 3 == 0)).sum()), float(attack.ownership), int(here.sum()))
        for x in range(n):
            assert close(int((victim[here] == x).sum()), float(attack.beliefs[x]), int(here.sum()))


def test_the_published_release_is_as_sure_as_the_adversary_says() -> None:
    """publish() many times, all others corrupted: the victim's value is what is seen as often as Equation 15 says."""
    frame = pl.DataFrame({"age": [1, 2, 3, 11, 12, 13], "ill": ["a", "b", "b", "c", "c", "c"]})
    table = sf.read(frame, quasi=["age"], sensitive="ill", domains={"ill": ["a", "b", "c"]})
    rng = np.random.default_rng(11)
    rounds, counts = 3000, np.zeros(3)
    for _ in range(rounds):
        release = sf.publish(table, require=sf.KAnonymity(k=3), method=sf.PG(p=0.5, k=3), rng=rng)
        data = release.tables["data"]
        assert data["G"].to_list() == [3, 3]
        row = [i for i, label in enumerate(data["age"]) if label.startswith("< ")]
        counts["abc".index(data["ill"][row[0]])] += 1
    for value, share in zip(range(3), (1 / 3, 2 / 3, 0.0), strict=True):
        assert close(counts[value], 0.5 * share + 0.5 / 3, rounds)


def test_reconstructed_counts_are_unbiased_and_their_errors_honest() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"age": rng.integers(0, 50, 400), "ill": rng.choice(["a", "b", "c"], 400, p=[0.6, 0.3, 0.1])})
    table = sf.read(frame, quasi=["age"], sensitive="ill", domains={"ill": ["a", "b", "c"]})
    true = np.bincount(table["ill"].codes, minlength=3)
    rounds, found, squares = 1500, [], []
    for _ in range(rounds):
        release = sf.publish(table, require=sf.KAnonymity(k=4), method=sf.PG(p=0.6, k=4), rng=rng)
        estimate = sf.sensitive_counts(release)
        found.append(estimate.counts)
        squares.append(estimate.errors**2)
    counts = np.array(found)
    spread = counts.std(axis=0)
    assert (np.abs(counts.mean(axis=0) - true) <= 6 * spread / np.sqrt(rounds)).all()
    # the stated variance is that of one common distribution, which is no less than the true one (to its own noise)
    assert (np.mean(squares, axis=0) >= 0.8 * spread**2).all()
    assert (np.mean(squares, axis=0) <= 1.5 * spread**2).all()
