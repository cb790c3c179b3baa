"""The risk against exact rationals, gradients against differences, the solver against a dense grid."""

import itertools
import math
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.kernel.rr.disclosure_risk import RiskLimits, levels
from sfumato.method.rr import optimize
from sfumato.method.rr.in_table import RiskInTable
from sfumato.method.rr.occurring import RiskBound
from sfumato.method.rr.optimize import Problem, _pairs, people_of, solve
from sfumato.requirement.disclosure import paper_risk
from sfumato.table.distortion import WORDS, Distortion, distorted
from sfumato.table.microdata import Microdata


@st.composite
def tables(draw: st.DrawFn, most_quasi: int = 2) -> Microdata:
    """A few people with one or two small quasi-identifiers and a small sensitive attribute; domains are declared."""
    quasi = draw(st.integers(1, most_quasi))
    sizes = [draw(st.integers(2, 3)) for _ in range(quasi)] + [draw(st.integers(2, 3))]
    rows = draw(st.lists(st.tuples(*(st.integers(0, d - 1) for d in sizes)), min_size=2, max_size=14))
    names = [f"q{i}" for i in range(quasi)] + ["s"]
    frame = pl.DataFrame({n: [str(r[i]) for r in rows] for i, n in enumerate(names)})
    domains = {n: [str(v) for v in range(d)] for n, d in zip(names, sizes, strict=True)}
    return sf.read(frame, quasi=names[:-1], sensitive="s", domains=domains)


def rational_matrix(way: Distortion) -> list[list[Fraction]]:
    """Every entry is a multiple of 2^-32, so that floats hold it exactly."""
    return [[Fraction(float(x)) for x in row] for row in way.matrix]


def rational_risk(table: Microdata, ways: list[Distortion]) -> dict[tuple[int, ...], Fraction]:
    """Equations 6 to 8 word for word, summed over the whole domain."""
    columns = [*table.quasi, *table.sensitive]
    people = list(zip(*(c.codes.tolist() for c in columns), strict=True))
    p = [rational_matrix(w) for w in ways]
    n = len(people)
    alphas = list(itertools.product(*(range(c.size) for c in table.quasi)))
    pi = {a: Fraction(sum(x[:-1] == a for x in people), n) for a in alphas}
    chance = {
        (b, a): math.prod((p[k][b[k]][a[k]] for k in range(len(a))), start=Fraction(1)) for b in alphas for a in alphas
    }
    out = {}
    for person in set(people):
        a, u = person[:-1], person[-1]
        back = sum(
            pi[a] * chance[b, a] ** 2 / sum(pi[c] * chance[b, c] for c in alphas)
            for b in alphas
            if sum(pi[c] * chance[b, c] for c in alphas)
        )
        joint = [Fraction(people.count((*a, v)), n) for v in range(columns[-1].size)]
        value = sum(
            p[-1][v][u] ** 2 * joint[u] / sum(p[-1][v][j] * joint[j] for j in range(len(joint)))
            for v in range(len(joint))
            if sum(p[-1][v][j] * joint[j] for j in range(len(joint)))
        )
        out[person] = joint[u] / pi[a] * back * value
    return out


@settings(max_examples=60, deadline=None)
@given(tables(), st.data())
def test_risk_is_equation_6_in_rationals(table: Microdata, data: st.DataObject) -> None:
    columns = [*table.quasi, *table.sensitive]
    ways = []
    for c in columns:
        by_matrix = data.draw(st.booleans())
        keep = data.draw(st.floats(1 / c.size + 0.01, 1.0))
        way = Distortion.keeping(keep, c.size, what=c.name)
        ways.append(Distortion.given(way.matrix, c.size, what=c.name) if by_matrix else way)
    people, _ = people_of(table)
    found = paper_risk(people, ways[:-1], ways[-1])
    for person, risk in rational_risk(table, ways).items():
        cell = int(np.ravel_multi_index(person[:-1], people.sizes))
        at = int(np.flatnonzero(people.cell == cell)[0])
        assert found[at, person[-1]] == pytest.approx(float(risk), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(tables(), st.data())
def test_gradients_are_the_differences(table: Microdata, data: st.DataObject) -> None:
    problem = Problem.of(table, sf.Disclosure(tau=0.5), "both")
    limits = RiskInTable.of(problem.people, _pairs(problem)).limits
    sizes = np.array(problem.people.sizes, np.int64)
    c = np.array([data.draw(st.floats(0.05, 0.98)) for _ in problem.sizes])
    level, gradient = levels(c, problem.people.pi, sizes, limits, gradients=True)
    ways = [Distortion.keeping(x + (1 - x) / d, d, what="") for x, d in zip(c, problem.sizes, strict=True)]
    risk = problem.risk(ways)
    rows = [int(np.flatnonzero(problem.people.cell == i)[0]) for i in limits.cell]
    assert level == pytest.approx(np.log(risk[rows, limits.value] / 0.5), abs=1e-6)
    for k in range(len(c)):
        step = np.zeros(len(c))
        step[k] = 1e-6
        up, _ = levels(c * np.exp(step), problem.people.pi, sizes, limits)
        down, _ = levels(c * np.exp(-step), problem.people.pi, sizes, limits)
        assert gradient[:, k] == pytest.approx((up - down) / 2e-6, abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(tables(most_quasi=3), st.data())
def test_the_bound_from_what_occurs_is_one(table: Microdata, data: st.DataObject) -> None:
    """It is never below the risk, single cells make it smaller, and with one quasi-identifier it is exact."""
    problem = Problem.of(table, sf.Disclosure(tau=0.5), "both")
    sizes = np.array(problem.people.sizes, np.int64)
    c = np.array([data.draw(st.floats(0.05, 0.98)) for _ in problem.sizes])
    exact = RiskInTable.of(problem.people, _pairs(problem)).levels(np.log(c))
    bound = RiskBound(problem.people, _pairs(problem))
    rough, near = bound.rough(np.log(c)), bound.near(np.arange(len(exact)))
    close, gradient = levels(c, None, sizes, near, gradients=True)
    assert (exact <= close + 1e-9).all()
    assert bound.exact(np.log(c), np.arange(len(exact))) == pytest.approx(exact, abs=1e-9)
    assert exact.max() - 1e-9 <= bound.greatest(np.log(c)) <= close.max() + 1e-9
    assert (close <= rough + 1e-9).all()
    if len(sizes) == 1:
        assert close == pytest.approx(exact, abs=1e-9)
    few = np.array(data.draw(st.lists(st.integers(0, len(exact) - 1), min_size=1, unique=True)))
    assert bound.rough(np.log(c), np.sort(few)) == pytest.approx(rough[np.sort(few)])
    for k in range(len(c)):
        step = np.zeros(len(c))
        step[k] = 1e-6
        up, down = (levels(c * np.exp(sign * step), None, sizes, near)[0] for sign in (1, -1))
        assert gradient[:, k] == pytest.approx((up - down) / 2e-6, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(tables(most_quasi=3), st.sampled_from(["qi", "sensitive", "both"]), st.floats(0.15, 0.95), st.booleans())
def test_a_solution_from_what_occurs_keeps_every_limit(
    table: Microdata, mode: optimize.Mode, tau: float, by_value: bool
) -> None:
    """Where the domain counts as large: the exact risk is within the limit, and the one told is not below it."""
    limit = {table.sensitive[0].domain.leaves[0]: tau} if by_value else tau
    problem = Problem.of(table, sf.Disclosure(tau=limit), mode)
    heard: list[float] = []
    with patch.object(optimize, "_MANY_CELLS", 0):
        try:
            found = solve(problem, heard.append)
        except sf.Infeasible:
            return
    ways = list(found.distortions.values())
    assert problem.over(ways) == 0
    assert problem.risk(ways).max() <= found.risk + 1e-9
    assert all(k == 1 or k < 1 - 1e-6 for k in found.keep.values())  # nothing is randomized next to never
    assert heard == [] or all(0 <= done <= 1 for done in heard)
    exact = solve(problem)
    assert found.objective >= exact.objective * (1 - 1e-3)
    assert len(table.quasi) > 1 or found.objective <= exact.objective * 1.01


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from(["qi", "sensitive", "both"]), st.floats(0.15, 0.95))
def test_no_point_of_a_dense_grid_is_better(table: Microdata, mode: str, tau: float) -> None:
    problem = Problem.of(table, sf.Disclosure(tau=tau), mode)  # type: ignore[arg-type]
    people = problem.people
    free = problem.free
    axis = np.linspace(0.02, 1.0, 25)
    grid = np.array(list(itertools.product(*(axis if f else [1.0] for f in free))))
    every = np.arange(len(people.cell))
    value = people.shares.argmax(axis=1)
    limits = RiskLimits(people.cell, np.log(people.shares[every, value]), value, np.ascontiguousarray(people.shares))
    sizes = np.array(people.sizes, np.int64)
    worst = np.array([levels(c, people.pi, sizes, limits)[0].max() for c in grid])
    cost = np.log1p((np.array(problem.sizes) - 1.0) / grid**2).sum(axis=1)
    allowed = worst <= np.log(tau)
    try:
        best = solve(problem)
    except sf.Infeasible:
        assert not allowed.any()
        return
    assert best.risk <= tau * (1 + 1e-9)
    if allowed.any():
        assert math.log(best.objective) <= cost[allowed].min() + 1e-6


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from(["qi", "both"]), st.floats(0.2, 0.9), st.integers(0, 2**32 - 1))
def test_one_limit_for_all_or_the_same_by_value(table: Microdata, mode: str, tau: float, seed: int) -> None:
    """Limits by sensitive value take the path of all pairs; equal ones must give the same optimum."""
    values = table.sensitive[0].domain.leaves
    by_value = dict.fromkeys(values, tau)
    slightly = {**by_value, values[0]: min(tau * (1 + 1e-9), 1.0)}
    try:
        one = sf.optimal_response(table, tau=tau, mode=mode)  # type: ignore[arg-type]
    except sf.Infeasible:
        with pytest.raises(sf.Infeasible):
            sf.optimal_response(table, tau=by_value, mode=mode)  # type: ignore[arg-type]
        return
    for limits in (by_value, slightly):
        assert sf.optimal_response(table, tau=limits, mode=mode).objective == pytest.approx(one.objective, rel=1e-5)  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 2), st.booleans(), st.data())
def test_the_kronecker_trick(sizes: list[int], power: int, undo: bool, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    ways = [Distortion.keeping(rng.uniform(1 / d + 0.05, 1) if d > 1 else 1.0, d, what="") for d in sizes]
    if data.draw(st.booleans()):
        ways = [Distortion.given(0.6 * np.eye(d) + 0.4 * rng.dirichlet(np.ones(d), d).T, d, what="") for d in sizes]
    x = rng.random(math.prod(sizes))
    full = np.ones((1, 1))
    for w in ways:
        m = (w.inverse if undo else w.matrix) ** power
        full = np.kron(full, m.T if power == 2 and not undo else m)
    assert distorted(x, sizes, ways, power=power, undo=undo) == pytest.approx(full @ x, rel=1e-8, abs=1e-8)


@settings(deadline=None)
@given(st.integers(2, 40), st.floats(0, 1))
def test_what_is_stated_is_what_is_drawn(size: int, part: float) -> None:
    keep = 1 / size + (1 - 1 / size) * (0.001 + 0.999 * part)
    way = Distortion.keeping(keep, size, what="")
    assert way.share is not None
    assert Fraction(way.keep) == 1 - Fraction((size - 1) * way.share, WORDS)  # exact in a float
    assert 0 <= keep - way.keep <= size / WORDS  # never less random than asked for
    again = Distortion.from_entry(way.entry(), size, what="")
    assert again.share == way.share
    changed = way.share * (size - 1)
    words = [0, max(changed - 1, 0), min(changed, WORDS - 1), WORDS - 1]
    for word, wanted in zip(words, [0, size - 1 if size > 2 else 0, 1, 1], strict=True):
        shown = way.draw(np.full(3, 1), lambda n, w=word: np.tile(_bytes(w, changed), n)[:n])
        assert shown.tolist() == [wanted if way.share else 1] * 3


def _bytes(word: int, changed: int) -> np.ndarray:
    """What is read of a word: its first byte, and all four where it does not settle the choice."""
    four = np.array(list(word.to_bytes(4, "big")), np.uint8)
    return four if four[0] <= changed >> 24 else four[:1]
