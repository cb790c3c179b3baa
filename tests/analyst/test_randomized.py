"""The way back: unbiased, with the covariance that all possible releases of a tiny table really have."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.analyst.answer import Answer
from sfumato.analyst.randomized import (
    Reconstruction,
    chi_squared,
    euclidean,
    kullback_leibler,
    onto_simplex,
    smoothed,
    uncertainty,
)
from sfumato.table.distortion import Distortion

PEOPLE = [("m", "a"), ("f", "b"), ("f", "a")]
MATRIX = [[0.8, 0.3], [0.2, 0.7]]


def tiny(keep: float = 0.75) -> sf.Release:
    """Three people; sex by a matrix, ill by a keep probability."""
    frame = pl.DataFrame(PEOPLE, schema=["sex", "ill"], orient="row")
    table = sf.read(frame, quasi=["sex"], sensitive="ill", domains={"sex": ["m", "f"], "ill": ["a", "b", "c"]})
    method = sf.RandomizedResponse(matrices={"sex": MATRIX}, keep={"ill": keep})
    return sf.publish(table, require=sf.Disclosure(tau=1.0), method=method)


def all_releases() -> list[tuple[float, sf.Release]]:
    """Every release of the three people that can be drawn, with its probability."""
    made = tiny()
    sex = Distortion.from_entry(made.manifest["matrices"]["sex"], 2, what="").matrix
    ill = Distortion.from_entry(made.manifest["matrices"]["ill"], 3, what="").matrix
    sexes, ills = ["m", "f"], ["a", "b", "c"]
    found = []
    for shown in itertools.product(itertools.product(range(2), range(3)), repeat=len(PEOPLE)):
        chance = math.prod(
            sex[s, sexes.index(p[0])] * ill[i, ills.index(p[1])] for (s, i), p in zip(shown, PEOPLE, strict=True)
        )
        rows = [(sexes[s], ills[i]) for s, i in shown]
        frame = pl.DataFrame(rows, schema=["sex", "ill"], orient="row")
        found.append((chance, sf.Release(made.manifest, {"data": frame})))
    return found


def true_table() -> np.ndarray:
    pi = np.zeros((2, 3))
    for s, i in PEOPLE:
        pi[["m", "f"].index(s), ["a", "b", "c"].index(i)] += 1 / len(PEOPLE)
    return pi


def test_unbiased_and_the_covariance_of_a_fixed_table() -> None:
    releases = all_releases()
    assert sum(chance for chance, _ in releases) == pytest.approx(1)
    estimates = [(w, sf.Analyst(r).distribution(["sex", "ill"]).unbiased().ravel()) for w, r in releases]
    mean = sum(w * e for w, e in estimates)
    assert mean == pytest.approx(true_table().ravel(), abs=1e-12)
    cov = sum(w * np.outer(e - mean, e - mean) for w, e in estimates)
    ways = sf.Analyst(releases[0][1]).distribution(["sex", "ill"]).ways
    expected = np.kron(ways[0].matrix, ways[1].matrix) @ true_table().ravel()
    told = Reconstruction(expected.reshape(2, 3), ways, len(PEOPLE))
    variances = told.variances("fixed").ravel()
    assert variances == pytest.approx(np.diag(told.covariance("fixed")), abs=1e-12)
    assert np.trace(told.covariance("fixed")) == pytest.approx(np.trace(cov_of_fixed(ways)), abs=1e-12)
    # each person's own covariance, added up, is what the releases really have; diag(π) in place of ππᵀ (notes on Eq. 2)
    assert cov == pytest.approx(told.covariance("fixed"), abs=1e-12)


def cov_of_fixed(ways: list[Distortion]) -> np.ndarray:
    """The sum of the people's covariances, by definition."""
    p = np.kron(ways[0].matrix, ways[1].matrix)
    back = np.linalg.inv(p)
    total = np.zeros((6, 6))
    for s, i in PEOPLE:
        cell = ["m", "f"].index(s) * 3 + ["a", "b", "c"].index(i)
        q = p[:, cell]
        total += back @ (np.diag(q) - np.outer(q, q)) @ back.T
    return total / len(PEOPLE) ** 2


@pytest.mark.parametrize("where", ["sex = 'm'", "ill = 'a'", "ill in ('a', 'c')", "not ill = 'b'"])
def test_counts_and_their_variances_are_unbiased(where: str) -> None:
    answers = [(w, sf.Analyst(r).count(where)) for w, r in all_releases()]
    mean = sum(w * a.estimate for w, a in answers)
    truth = {"sex = 'm'": 1, "ill = 'a'": 2, "ill in ('a', 'c')": 2, "not ill = 'b'": 2}[where]
    assert mean == pytest.approx(truth, abs=1e-12)
    variance = sum(w * (a.estimate - mean) ** 2 for w, a in answers)
    assert sum(w * a.standard_error**2 for w, a in answers) == pytest.approx(variance, abs=1e-12)


@pytest.mark.parametrize(
    "where",
    ["sex = 'm' and ill = 'a'", "sex = 'm' or ill = 'a'", "not (sex = 'f' and ill != 'b')", "sex = 'f' or sex = 'm'"],
)
def test_conditions_on_several_attributes_are_unbiased(where: str) -> None:
    truth = {
        "sex = 'm' and ill = 'a'": 1,
        "sex = 'm' or ill = 'a'": 2,
        "not (sex = 'f' and ill != 'b')": 2,
        "sex = 'f' or sex = 'm'": 3,
    }[where]
    assert sum(w * sf.Analyst(r).count(where).estimate for w, r in all_releases()) == pytest.approx(truth, abs=1e-12)


def test_groups_and_cubes_are_unbiased_and_agree_with_counts() -> None:
    releases = all_releases()
    mean = sum(w * sf.Analyst(r).group_by(["sex", "ill"])["count"].to_numpy() for w, r in releases)
    assert mean == pytest.approx(3 * true_table().ravel(), abs=1e-12)
    analyst = sf.Analyst(releases[17][1])
    for row in analyst.cube(["sex", "ill"], "ill != 'c'").iter_rows(named=True):
        parts = [f"{n} = '{row[n]}'" for n in ("sex", "ill") if row[n] is not None]
        alone = analyst.count(" and ".join([*parts, "ill != 'c'"]))
        assert row["count"] == pytest.approx(alone.estimate, abs=1e-12)
        assert row["standard_error"] == pytest.approx(alone.standard_error, abs=1e-12)


def test_where_and_group_by_the_same_attribute_across_an_or() -> None:
    analyst = sf.Analyst(tiny())
    table = analyst.group_by(["sex"], "sex = 'm' or ill = 'a'")
    for sex, estimate, error, *_ in table.iter_rows():
        alone = analyst.count(f"sex = '{sex}' and (sex = 'm' or ill = 'a')")
        assert (estimate, error) == pytest.approx((alone.estimate, alone.standard_error), abs=1e-12)


def test_keep_1_gives_the_truth_without_error() -> None:
    frame = pl.DataFrame(PEOPLE, schema=["sex", "ill"], orient="row")
    table = sf.read(frame, quasi=["sex"], sensitive="ill")
    raw = sf.RandomizedResponse(fit="counts", unchanged="allow")
    release = sf.publish(table, require=sf.Disclosure(tau=1.0), method=raw)
    assert release.manifest["matrices"] == {}
    assert sorted(release.tables["data"].select("sex", "ill").cast(pl.String).rows()) == sorted(PEOPLE)
    analyst = sf.Analyst(release)
    assert analyst.count("sex = 'f' and ill = 'a'") == Answer.exactly(1.0)
    assert analyst.group_by(["sex", "ill"])["standard_error"].to_list() == [0.0] * 4
    assert analyst.distribution("sex").covariance("fixed").tolist() == [[0.0, 0.0], [0.0, 0.0]]
    iid = analyst.distribution("sex").covariance("iid")
    assert iid == pytest.approx(np.array([[2, -2], [-2, 2]]) / 27)


def test_iid_standard_error_is_that_of_a_mean() -> None:
    release = tiny()
    weights = np.linalg.inv(np.array(release.manifest["matrices"]["sex"]["matrix"])).T[:, 0]
    h = weights[(release.tables["data"]["sex"].cast(pl.String) == "f").to_numpy().astype(int)]
    answer = sf.Analyst(release, sampling="iid").count("sex = 'm'")
    assert answer.estimate == pytest.approx(h.sum())
    assert answer.standard_error == pytest.approx(np.sqrt(3 * h.var(ddof=1)))


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=8))
def test_projection_is_the_nearest_distribution(x: list[float]) -> None:
    given_ = np.array(x)
    p = onto_simplex(given_)
    assert (p >= 0).all()
    assert p.sum() == pytest.approx(1)
    for i in range(len(x)):  # no vertex lies in a direction that leads nearer
        vertex = np.eye(len(x))[i]
        assert (given_ - p) @ (vertex - p) <= 1e-9


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_iterative_bayes_is_the_inverse_where_that_is_a_distribution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ways = [
        Distortion.given(0.7 * np.eye(2) + 0.3 * rng.dirichlet(np.ones(2), 2).T, 2, what=""),
        Distortion.keeping(0.8, 3, what=""),
    ]
    pi = rng.dirichlet(np.full(6, 3.0)).reshape(2, 3)
    seen = (np.kron(ways[0].matrix, ways[1].matrix) @ pi.ravel()).reshape(2, 3)
    back = Reconstruction(seen, ways, 1000)
    assert back.unbiased() == pytest.approx(pi, abs=1e-9)
    assert back.bayes(200_000, 1e-13) == pytest.approx(pi, abs=1e-4)


def test_iterative_bayes_climbs_where_the_inverse_leaves_the_simplex() -> None:
    way = Distortion.keeping(0.6, 3, what="")
    seen = np.array([0.7, 0.2, 0.1])
    back = Reconstruction(seen, [way], 50)
    assert (back.unbiased() < 0).any()
    best = back.bayes()
    likelihood = lambda p: float(seen @ np.log(way.matrix @ p))  # noqa: E731
    rng = np.random.default_rng(3)
    assert all(likelihood(best) >= likelihood(p) - 1e-9 for p in rng.dirichlet(np.ones(3), 2000))


def test_distances_and_their_rule_for_empty_cells() -> None:
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.75, 0.0])
    assert euclidean(p, q) == pytest.approx(math.sqrt(0.125))
    a, b = smoothed(p, 10), smoothed(q, 10)
    assert a.tolist() == pytest.approx([5.5 / 11.5, 5.5 / 11.5, 0.5 / 11.5])
    assert kullback_leibler(p, q, rows=10) == pytest.approx(float((a * np.log(a / b)).sum()))
    assert chi_squared(p, q, rows=10) == pytest.approx(float(((a - b) ** 2 / a).sum()))
    assert kullback_leibler(p, p, rows=10) == chi_squared(p, p, rows=10) == 0


def test_uncertainty_coefficient_by_the_second_attribute() -> None:
    joint = np.array([[0.25, 0.25, 0.0], [0.0, 0.0, 0.5]])
    assert uncertainty(joint) == pytest.approx(math.log(2) / (1.5 * math.log(2)))
    assert uncertainty(joint.T) == pytest.approx(1)
    assert uncertainty(np.array([[0.5], [0.5]])) == 0


def test_the_change_of_an_uncertainty_coefficient() -> None:
    """Kept values change nothing; a column drawn anew tells less of the other than it did."""
    frame = pl.DataFrame({"x": ["a", "b"] * 500, "y": ["c", "d"] * 500, "s": ["u", "v", "u", "v"] * 250})
    table = sf.read(frame, quasi=["x", "y"], sensitive="s", domains={"x": ["a", "b"], "y": ["c", "d"], "s": ["u", "v"]})
    kept = sf.publish(table, require=sf.KAnonymity(k=5))
    assert sf.Analyst(kept).uncertainty_change("x", "y", table) == pytest.approx(0.0)
    drawn = sf.publish(
        table,
        require=sf.Disclosure(tau=1.0),
        method=sf.RandomizedResponse(mode="qi", keep={"x": 0.7, "y": 0.7}),
        rng=np.random.default_rng(3),
    )
    assert -1.0 <= sf.Analyst(drawn).uncertainty_change("x", "y", table) <= 0.0
