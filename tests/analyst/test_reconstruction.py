"""Counts and trees from perturbed values."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.analyst.noisy_tree import majority
from sfumato.analyst.reconstruction import expectation_maximization, retention_matrix
from sfumato.kernel.pg.noisy_tree import grow, walk
from sfumato.release.release import Release
from strategies import examples

VALUES = [str(i) for i in range(10)]
CLASSES = {"low": VALUES[:5], "high": VALUES[5:]}


def incomes(rows: int = 20_000, seed: int = 1) -> sf.Microdata:
    """The income rises with age beyond 40, and for one of two jobs."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(20, 70, rows), rng.choice(["clerk", "miner", "nurse", "smith"], rows)
    high = np.where((age >= 40) & np.isin(job, ["clerk", "miner"]), 0.9, 0.1)
    income = np.where(rng.random(rows) < high, rng.integers(5, 10, rows), rng.integers(0, 5, rows)).astype(str)
    tree = {"Any": {"desk": ["clerk", "miner"], "hand": ["nurse", "smith"]}}
    return sf.read(
        pl.DataFrame({"age": age, "job": job, "zip": rng.integers(0, 5000, rows), "income": income}),
        quasi=["age", "job", "zip"],
        sensitive="income",
        taxonomies={"job": tree},
        domains={"income": VALUES},
    )


@examples(60)
@given(st.lists(st.integers(0, 50), min_size=2, max_size=6), st.integers(1, 10))
def test_inversion_and_em_undo_the_expected_perturbation(counts: list[int], p: int) -> None:
    true = np.array(counts, np.float64)
    matrix = retention_matrix(p / 10, len(true))
    found = sf.reconstruct(true @ matrix, matrix)
    assert np.allclose(found.counts, true, atol=1e-6)
    assert np.allclose(expectation_maximization(true @ matrix, matrix).sum(), true.sum(), atol=1e-6)
    if p >= 5 and true.sum():
        assert np.allclose(expectation_maximization(true @ matrix, matrix), true, atol=0.05 * true.sum())


def test_em_is_never_negative_and_the_most_likely() -> None:
    matrix, seen = retention_matrix(0.3, 3), np.array([90.0, 5.0, 5.0])
    assert (sf.reconstruct(seen, matrix).counts < 0).any()
    found = sf.reconstruct(seen, matrix, way="em").counts
    assert (found >= 0).all()
    likelihood = seen @ np.log(found @ matrix)
    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(3), 500) * 100:
        assert likelihood >= seen @ np.log(other @ matrix) - 1e-6


def test_counts_of_a_region_with_standard_errors() -> None:
    table = incomes()
    release = sf.publish(table, require=sf.KAnonymity(k=4), method=sf.PG(p=0.5), rng=np.random.default_rng(2))
    ages = np.array(table["age"].domain.values)[table["age"].codes]
    jobs = np.array(table["job"].domain.leaves)[table["job"].codes]
    inside = (ages >= 40) & (ages < 60) & (jobs == "miner")
    true = float((table["income"].codes[inside] >= 5).sum())
    estimate = sf.sensitive_counts(release, within={"age": (40, 60), "job": ["miner"]})
    count, error = estimate.of(*VALUES[5:])
    assert abs(count - true) <= 6 * error
    assert 0 < error < 0.2 * true
    assert estimate.frame().columns == ["value", "count", "standard error"]
    assert sf.sensitive_counts(release).total == pytest.approx(table.rows)


def regions(name: str, values: list[Any], k: int, **more: Any) -> Release:
    frame = pl.DataFrame({name: values, "ill": ["a", "b"] * (len(values) // 2)})
    table = sf.read(frame, quasi=[name], sensitive="ill", domains={"ill": ["a", "b"]}, missing="category", **more)
    return sf.publish(table, require=sf.KAnonymity(k=k), method=sf.PG(p=1))


def test_regions_of_days_masks_and_missing_values() -> None:
    days = regions("day", [date(2001, 1, 1) + timedelta(days=i) for i in range(40)], 10)
    assert sf.sensitive_counts(days, within={"day": ("2001-01-06", "2001-01-21")}).total == pytest.approx(15)
    masks = {"taxonomies": {"zip": {"mask": "right"}}}
    single, sets = (regions("zip", [str(i) for i in range(10, 50)], k, **masks) for k in (10, 15))
    for release in (single, sets):
        assert sf.sensitive_counts(release, within={"zip": ["1*"]}).total == pytest.approx(10)
        assert sf.sensitive_counts(release, within={"zip": ["99"]}).total == 0
    ages = regions("age", [None if i % 5 == 0 else i for i in range(40)], 8)
    assert sf.sensitive_counts(ages, within={"age": (0, 100)}).total == pytest.approx(32)
    assert sf.sensitive_counts(ages, within={"age": ["(missing)"]}).total == pytest.approx(8)
    hidden = regions("age", [None, *range(39)], 40)
    for release, region, words in (
        (days, {"day": ["2001-01-06"]}, "interval of days"),
        (days, {"day": (1, 2)}, "interval of days"),
        (single, {"zip": ["11"]}, "ask for whole labels"),
        (sets, {"zip": ["11"]}, "ask for whole labels"),
        (regions("sex", ["f", "m"] * 4, 8), {"sex": ["f"]}, "ask for whole labels"),
        (hidden, {"age": (1, 2)}, "do not ask for a region"),
        (hidden, {"age": ["(missing)"]}, "do not ask for a region"),
    ):
        with pytest.raises(sf.PolicyError, match=words):
            sf.sensitive_counts(release, within=region)


def test_a_tree_finds_its_columns_by_name() -> None:
    frame = pl.DataFrame({"a": [0, 9] * 200, "b": list(range(20)) * 20, "ill": ["x", "y"] * 200})
    settings: dict[str, Any] = {"quasi": ["a", "b"], "sensitive": "ill", "domains": {"ill": ["x", "y"]}}
    table = sf.read(frame, **settings)
    swapped = sf.read(frame.select("b", "a", "ill"), **settings)
    tree = sf.DecisionTree.from_release(sf.publish(table, require=sf.KAnonymity(k=2), method=sf.PG(p=1)), least=2)
    assert tree.error(table) == tree.error(swapped) == 0
    with pytest.raises(sf.PolicyError, match="no quasi-identifier 'b'"):
        tree.predict(sf.read(frame.drop("b"), **(settings | {"quasi": ["a"]})))


def test_a_tree_from_a_release_classifies_the_microdata() -> None:
    table = incomes()
    release = sf.publish(table, require=sf.KAnonymity(k=4), method=sf.PG(p=0.4), rng=np.random.default_rng(2))
    tree = sf.DecisionTree.from_release(release, CLASSES)
    guess = 1 - majority(table, CLASSES)["rows"].max() / table.rows
    best = sf.DecisionTree.from_table(table, CLASSES).error(table, CLASSES)
    assert best < 0.11
    assert tree.error(table, CLASSES) < best + 0.03 < guess
    assert tree.leaves < 12


def test_a_tree_from_pure_noise_does_not_grow() -> None:
    table = incomes(5000)
    noise = np.random.default_rng(4).integers(0, 10, table.rows)
    assert sf.DecisionTree.from_table(table, CLASSES, seen=noise).leaves <= 2


def test_unbiased_weights_of_the_root_and_of_each_node() -> None:
    """With p known, each node's weights are those that reconstruct() gives for the rows in it."""
    rng = np.random.default_rng(0)
    rows = 3000
    bins, seen, weights = (
        rng.integers(0, 4, (rows, 2)),
        rng.integers(0, 3, rows),
        rng.integers(1, 5, rows).astype(float),
    )
    seen = np.where(bins[:, 0] < 2, np.minimum(seen, 1), seen)
    p, away = 0.4, np.full(3, 0.2)
    tree = grow(bins, seen, weights, p=p, away=away, size=4, least=5, limit=15.0, deepest=4)
    leaf = walk(tree, bins)
    matrix = p * np.eye(3) + away
    for node in np.flatnonzero(tree.feature < 0):
        inside = leaf == node
        observed = np.bincount(seen[inside], weights=weights[inside], minlength=3)
        assert np.allclose(tree.weight[node], sf.reconstruct(observed, matrix).counts)
    assert tree.feature[0] == 0
    assert tree.at[0] == 2


def test_the_best_cut_is_that_of_the_gini_index() -> None:
    rng = np.random.default_rng(3)
    bins, weights = rng.integers(0, 5, (300, 3)), rng.integers(1, 4, 300).astype(float)
    seen = ((bins[:, 1] + rng.integers(0, 4, 300)) > 4).astype(np.int64)
    tree = grow(bins, seen, weights, p=1.0, away=np.zeros(2), size=5, least=10, limit=1.0, deepest=1)

    def gini(inside: np.ndarray) -> float:
        share = np.bincount(seen[inside], weights=weights[inside], minlength=2)
        return share.sum() * (1 - ((share / share.sum()) ** 2).sum())

    cuts = [(gini(bins[:, j] < b) + gini(bins[:, j] >= b), j, b) for j in range(3) for b in range(1, 5)]
    assert (int(tree.feature[0]), int(tree.at[0])) == min(cuts)[1:]


def test_what_cannot_be_reconstructed_is_refused() -> None:
    table = incomes(200)
    plain = sf.publish(table, require=sf.KAnonymity(k=4))
    noise = sf.publish(table, require=sf.KAnonymity(k=4), method=sf.PG(p=0))
    good = sf.publish(table, require=sf.KAnonymity(k=4), method=sf.PG(p=0.5))
    failing: list[tuple[Any, type[Exception], str]] = [
        (lambda: sf.sensitive_counts(plain), sf.PolicyError, "generalization release"),
        (lambda: sf.sensitive_counts(noise), sf.DataError, "reveal nothing"),
        (lambda: sf.DecisionTree.from_release(noise), sf.DataError, "reveal nothing"),
        (lambda: sf.sensitive_counts(good, within={"height": (1, 2)}), sf.PolicyError, "not a quasi-identifier"),
        (lambda: sf.sensitive_counts(good, within={"age": ["old"]}), sf.PolicyError, "interval of numbers"),
        (lambda: sf.sensitive_counts(good, within={"job": (1, 2)}), sf.PolicyError, "list of values"),
        (lambda: sf.DecisionTree.from_release(good, {"low": VALUES[:5]}), sf.PolicyError, "give each value one class"),
        (lambda: sf.DecisionTree.from_release(good, {"low": ["x"]}), sf.PolicyError, "unknown"),
        (lambda: sf.reconstruct([1, 2], np.ones((2, 2))), sf.PolicyError, "must add up to 1"),
        (lambda: sf.reconstruct([1, 2], np.full((2, 2), 0.5)), sf.DataError, "has no usable inverse"),
        (lambda: sf.sensitive_counts(good).of("x"), sf.PolicyError, "no value 'x'"),
    ]
    for work, error, words in failing:
        with pytest.raises(error, match=words):
            work()
