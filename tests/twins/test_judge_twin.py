"""The tests of sfumato.kernel.judge and of the requirements against twins in exact numbers."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.kernel import judge
from sfumato.requirement.alpha_k import AlphaK
from sfumato.requirement.base import Requirement, Schema, Tally
from sfumato.requirement.base import Test as Comparison
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.requirement.t_closeness import TCloseness
from sfumato.table.encode import Domain
from sfumato.table.taxonomy import Taxonomy
from strategies import (
    Tree,
    diverse,
    earth_movers,
    entropy_is_at_least,
    examples,
    ground,
    height,
    is_recursive,
    leaves,
    transport,
    trees,
)

KEY = ("ill",)
FLAT3: Tree = {"Any": {"a": {}, "b": {}, "c": {}}}

small = st.integers(0, 12)
counts_of = st.integers(1, 6).flatmap(lambda m: st.lists(small, min_size=m, max_size=m)).filter(any)
large_counts = st.lists(st.integers(0, 2**31), min_size=1, max_size=5).filter(any)
limits = st.builds(Fraction, st.integers(1, 60), st.integers(1, 30))
fine = st.integers(1, 10**9).flatmap(lambda q: st.integers(1, q).map(lambda p: Fraction(p, q)))


class Given(Schema):
    """A table with one sensitive attribute and a tree over it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = Taxonomy.from_tree(tree)

    def quasi_names(self) -> list[str]:
        return []

    def sensitive_names(self) -> list[str]:
        return ["ill"]

    def all_names(self) -> list[str]:
        return ["ill"]

    def domain(self, name: str) -> Domain:
        return self.tree


def tally(counts: Sequence[Sequence[int]], totals: Sequence[int] | None = None) -> Tally:
    matrix = np.array(counts, dtype=np.int64)
    whole = matrix.sum(axis=0) if totals is None else np.array(totals, dtype=np.int64)
    return Tally(matrix.sum(axis=1), {KEY: matrix}, {}, {KEY: whole})


def holds(test: Comparison, counts: Sequence[int]) -> bool:
    """The verdict with what floating point leaves open settled; the kernel alone is never wrong, only undecided."""
    settled = bool(test.holds(tally([counts]))[0])
    packed = judge.pack([test.row(0)], [test.vectors])
    alone = judge.verdicts(packed.spec[0], packed.aux[0], np.array([counts], dtype=np.int64))[0]
    assert alone in (judge.CLOSE, judge.YES if settled else judge.NO)
    return settled


def judged(requirement: Requirement, counts: Sequence[int], tree: Tree, totals: Sequence[int] | None = None) -> bool:
    schema = Given(tree)
    return bool(requirement.bind(schema).holds(schema, tally([counts], totals))[0])


def flat(m: int) -> Tree:
    return {"Any": {f"v{i}": {} for i in range(m)}}


# --- size, distinct, share, tail ----------------------------------------------------------------------


@given(counts_of, st.integers(1, 30))
@examples(60)
def test_size_and_distinct(counts: list[int], limit: int) -> None:
    assert holds(Comparison(judge.SIZE, KEY, Fraction(limit)), counts) == (sum(counts) >= limit)
    assert holds(Comparison(judge.DISTINCT, KEY, Fraction(limit)), counts) == (sum(c > 0 for c in counts) >= limit)


@given(st.data(), st.one_of(counts_of, large_counts))
@examples(100)
def test_share(data: st.DataObject, counts: list[int]) -> None:
    each = data.draw(st.lists(fine, min_size=len(counts), max_size=len(counts)))
    if data.draw(st.booleans()):  # exactly on the limit, for a value that has one
        i = data.draw(st.sampled_from([i for i, c in enumerate(counts) if c]))
        each[i] = Fraction(counts[i], sum(counts))
    vectors = ([f.numerator for f in each], [f.denominator for f in each])
    expected = all(Fraction(c, sum(counts)) <= limit for c, limit in zip(counts, each, strict=True))
    assert holds(Comparison(judge.SHARE, KEY, vectors=vectors), counts) == expected


@given(st.data(), st.one_of(counts_of, large_counts))
@examples(100)
def test_share_at_least(data: st.DataObject, counts: list[int]) -> None:
    each = data.draw(st.lists(st.one_of(fine, st.just(Fraction(0))), min_size=len(counts), max_size=len(counts)))
    if data.draw(st.booleans()):  # exactly on the limit
        each = [Fraction(c, sum(counts)) for c in counts]
    vectors = ([f.numerator for f in each], [f.denominator for f in each])
    expected = all(Fraction(c, sum(counts)) >= limit for c, limit in zip(counts, each, strict=True))
    assert holds(Comparison(judge.SHARE_AT_LEAST, KEY, vectors=vectors), counts) == expected


@given(st.one_of(counts_of, large_counts), st.one_of(limits, fine), st.integers(1, 7))
@examples(100)
def test_tail(counts: list[int], c: Fraction, l: int) -> None:
    assert holds(Comparison(judge.TAIL, KEY, c, l), counts) == is_recursive(counts, c, l)


@given(st.one_of(counts_of, large_counts), st.integers(1, 5))
@examples(60)
def test_tail_is_strict_on_its_limit(counts: list[int], l: int) -> None:
    ranked = sorted(counts, reverse=True)
    assume(sum(ranked[l - 1 :]) > 0)
    limit = Fraction(ranked[0], sum(ranked[l - 1 :]))
    assert not holds(Comparison(judge.TAIL, KEY, limit, l), counts)
    assert holds(Comparison(judge.TAIL, KEY, limit + Fraction(1, 10**9), l), counts)


# --- entropy ------------------------------------------------------------------------------------------


@given(counts_of, limits)
@examples(150)
def test_entropy(counts: list[int], limit: Fraction) -> None:
    assert holds(Comparison(judge.ENTROPY, KEY, limit), counts) == entropy_is_at_least(counts, limit)


def partitions(n: int, most: int) -> Iterator[list[int]]:
    if n == 0:
        yield []
    for first in range(min(n, most), 0, -1):
        yield from ([first, *rest] for rest in partitions(n - first, first))


def root(number: int, n: int) -> int | None:
    """The whole n-th root, where there is one."""
    guess = round(number ** (1 / n)) if number < 2**900 else 1 << (number.bit_length() // n)
    return next((g for g in range(max(guess - 2, 1), guess + 3) if g**n == number), None)


def ties() -> list[tuple[list[int], Fraction]]:
    """Count vectors of up to 18 people whose entropy is exactly the logarithm of a fraction."""
    found = []
    for n in range(1, 19):
        for counts in partitions(n, n):
            ratio = Fraction(n**n, math.prod(c**c for c in counts))
            p, q = root(ratio.numerator, n), root(ratio.denominator, n)
            if p is not None and q is not None:
                found.append((counts, Fraction(p, q)))
    return found


def test_every_tie_of_the_entropy_holds() -> None:
    found = ties()
    assert ([4, 1, 1, 1, 1], Fraction(4)) in found  # not uniform
    assert len(found) > 30
    step = Fraction(1, 10**9)
    for counts, l in found:
        for scale in (1, 7, 1000):
            scaled = [scale * c for c in counts]
            assert holds(Comparison(judge.ENTROPY, KEY, l), scaled), (scaled, l)
            if scale < 1000:
                assert not holds(Comparison(judge.ENTROPY, KEY, l + step), scaled), (scaled, l)
                assert holds(Comparison(judge.ENTROPY, KEY, l - step), scaled), (scaled, l)


@pytest.mark.parametrize(
    ("counts", "l", "expected"),
    [
        ([1, 1, 1], 3, True),
        ([333_333, 333_333, 333_333], 3, True),
        ([4, 1, 1, 1, 1], 4, True),
        ([400_000, 100_000, 100_000, 100_000, 100_000], 4, True),
        ([2, 1, 1], 3, False),
        ([2, 1, 1], 2.8284271, True),  # exp(H) = 2^1.5
        ([2, 1, 1], 2.8284272, False),
        ([5, 0, 0], 1, True),
        ([5, 0, 0], 1.000001, False),
        ([20_001, 20_000], 2, False),  # nearer to ln 2 than floating point tells
        ([60_001, 60_000], 2, False),
    ],
)
def test_entropy_at_its_limit(counts: list[int], l: float, expected: bool) -> None:
    assert judged(LDiversity(l=l, variant="entropy"), counts, flat(len(counts))) is expected


# --- distances ----------------------------------------------------------------------------------------

OPS = {"equal": judge.EQUAL, "ordered": judge.ORDERED, "hierarchical": judge.TREE}


def distance_test(distance: str, totals: Sequence[int], tree: Tree, limit: Fraction) -> Comparison:
    vectors: tuple[Any, ...] = (totals,)
    if distance == "hierarchical":
        t = Taxonomy.from_tree(tree)
        vectors = (totals, t.lo, t.hi, t.parent, t.height, [len(t.labels)])
    return Comparison(OPS[distance], KEY, limit, vectors=vectors)


@st.composite
def distributions(draw: st.DrawFn) -> tuple[Tree, list[int], list[int]]:
    """A tree over values, a group's counts and the whole table's, which contain them."""
    tree = draw(trees(most=6, deepest=4))
    m = len(leaves(tree))
    counts = draw(st.lists(small, min_size=m, max_size=m).filter(any))
    others = draw(st.lists(small, min_size=m, max_size=m))
    return tree, counts, [a + b for a, b in zip(counts, others, strict=True)]


def test_transport_twin() -> None:
    """The twin itself, on costs that can be checked by hand."""
    assert transport([3, 0], [0, 3], lambda i, j: abs(i - j)) == 3
    assert transport([1, 1, 0], [0, 1, 1], lambda i, j: abs(i - j)) == 2
    assert transport([2, 0, 1], [1, 1, 1], lambda i, j: int(i != j)) == 1
    apart, unit = ground("hierarchical", ["a", "b", "c"], {"Any": {"x": {"a": {}, "b": {}}, "c": {}}})
    assert (apart(0, 1), apart(0, 2), apart(1, 1), unit) == (1, 2, 0, 2)


@pytest.mark.parametrize("distance", OPS)
def test_distance_is_the_earth_movers(distance: str) -> None:
    @given(distributions(), limits)
    @examples(80)
    def check(case: tuple[Tree, list[int], list[int]], limit: Fraction) -> None:
        tree, counts, totals = case
        moved = earth_movers(counts, totals, distance, leaves(tree), tree)
        test = distance_test(distance, totals, tree, limit)
        assert holds(test, counts) == (moved <= limit)
        aux = judge.pack([test.row(0)], [test.vectors]).aux[0]
        found = judge.distances(test.op, np.array([counts], dtype=np.int64), aux)[0]
        assert found == pytest.approx(float(moved), abs=1e-12)

    check()


@pytest.mark.parametrize("distance", OPS)
def test_distance_exactly_at_its_limit(distance: str) -> None:
    @given(distributions())
    @examples(60)
    def check(case: tuple[Tree, list[int], list[int]]) -> None:
        tree, counts, totals = case
        moved = earth_movers(counts, totals, distance, leaves(tree), tree)
        step = Fraction(1, 10**9)
        assert holds(distance_test(distance, totals, tree, moved), counts)
        assert holds(distance_test(distance, totals, tree, moved + step), counts)
        if moved:
            assert not holds(distance_test(distance, totals, tree, moved - step), counts)
            assert judged(TCloseness(t=moved, distance=distance), counts, tree, totals)  # type: ignore[arg-type]

    check()


@given(trees(most=7, deepest=4), st.data())
@examples(40)
def test_distance_of_the_table_to_itself_is_zero(tree: Tree, data: st.DataObject) -> None:
    m = len(leaves(tree))
    counts = data.draw(st.lists(st.integers(0, 2**20), min_size=m, max_size=m).filter(any))
    for distance in OPS:
        assert judged(TCloseness(t=0, distance=distance), counts, tree, [3 * c for c in counts])  # type: ignore[arg-type]


@given(st.data())
@examples(60)
def test_distance_of_large_counts(data: st.DataObject) -> None:
    """The design promises one decision code for a billion rows: the numbers must not wrap around."""
    m = data.draw(st.integers(2, 100))
    rows = data.draw(st.sampled_from([10**6, 10**8, 10**9]))
    each = rows // m
    group = [0] * m
    group[0] = each
    totals = [each] * m
    for distance, expected in (("equal", Fraction(m - 1, m)), ("ordered", Fraction(1, 2))):
        assert holds(distance_test(distance, totals, flat(m), expected), group), (distance, m, rows)
        assert not holds(distance_test(distance, totals, flat(m), expected - Fraction(1, 1000)), group)


def test_distance_of_half_a_billion_rows() -> None:
    """100 values of 10 million rows each, and a group with the first fifty of them: the distance is 25/99."""
    totals = [10**7] * 100
    group = [10**7] * 50 + [0] * 50
    moved = Fraction(sum(min(i, 100 - i) for i in range(1, 100)), 100 * 99)
    assert moved == Fraction(25, 99)
    test = distance_test("ordered", totals, flat(100), moved)
    aux = judge.pack([test.row(0)], [test.vectors]).aux[0]
    assert judge.distances(judge.ORDERED, np.array([group]), aux)[0] == pytest.approx(25 / 99)
    assert holds(test, group)
    assert not holds(distance_test("ordered", totals, flat(100), moved - Fraction(1, 1000)), group)


# --- requirements -------------------------------------------------------------------------------------


@given(counts_of, st.data())
@examples(100)
def test_l_diversity(counts: list[int], data: st.DataObject) -> None:
    variant = data.draw(st.sampled_from(["distinct", "entropy", "frequency", "recursive"]))
    whole = variant in ("distinct", "recursive")
    l = data.draw(st.integers(1, 4) if whole else st.sampled_from([1, 1.5, 2, 2.5, 3, 4, 1 / 0.3]))
    c = data.draw(st.sampled_from([0.1, 0.3, 0.5, 1, 2, 2.5])) if variant == "recursive" else None
    requirement = LDiversity(l=l, variant=variant, c=c)
    assert judged(requirement, counts, flat(len(counts))) == diverse(requirement, counts)


@pytest.mark.parametrize(
    ("l", "counts", "expected"),
    [
        (3, [2, 2, 2], True),
        (3, [3, 2, 1], False),
        (2.5, [2, 2, 1], True),
        (2.5, [3, 2, 2], False),
        (10, [1] * 10, True),
        (10, [2] + [1] * 9, False),
        (10 / 3, [3, 3, 3, 1], True),  # the float nearest to 10/3 means 10/3
        (1, [5], True),
    ],
)
def test_frequency_at_its_limit(l: float, counts: list[int], expected: bool) -> None:
    assert judged(LDiversity(l=l), counts, flat(len(counts))) is expected


@pytest.mark.parametrize("tenths", range(1, 11))
def test_alpha_in_decimal_means_the_decimal(tenths: int) -> None:
    """0.3 in floating point is below three tenths; a share of exactly three tenths must still pass."""
    n = 10
    counts = [tenths] + [1] * (n - tenths)
    alpha = tenths / 10
    assert judged(AlphaK(alpha=alpha, k=n), counts, flat(len(counts)))
    if tenths < 10:
        over = [tenths + 1] + [1] * (n - tenths - 1)
        assert not judged(AlphaK(alpha=alpha, k=n), over, flat(len(over)))
    assert not judged(AlphaK(alpha=alpha, k=n + 1), counts, flat(len(counts)))


@pytest.mark.parametrize(
    ("c", "l", "counts", "expected"),
    [
        (2, 2, [2, 1], False),
        (2, 2, [3, 2], True),
        (2.0001, 2, [2, 1], True),
        (0.1, 1, [1, 9], False),
        (0.3, 2, [3, 3, 3, 3, 1], False),  # 3 < 0.3 * 10 is false, exactly
        (0.3, 2, [3, 3, 3, 3, 2], True),
        (0.3, 2, [3, 10], False),  # 10 < 0.3 * 3
        (0.3, 1, [3, 3, 3, 1], False),
        (0.3, 1, [3, 3, 3, 2], True),
        (1, 3, [2, 2, 2], False),
        (1, 4, [2, 2, 2], False),  # there is no fourth value
    ],
)
def test_recursive_at_its_limit(c: float, l: int, counts: list[int], expected: bool) -> None:
    assert judged(LDiversity(l=l, c=c, variant="recursive"), counts, flat(len(counts))) is expected


@pytest.mark.parametrize(
    ("distance", "t", "counts", "totals", "expected"),
    [
        ("equal", 0.5, [2, 0], [2, 2], True),
        ("equal", 0.4999999, [2, 0], [2, 2], False),
        ("equal", 0.3, [5, 5], [2, 8], True),  # exactly three tenths
        ("equal", 0.1, [6, 4], [5, 5], True),
        ("ordered", 0.5, [1, 0, 0], [1, 1, 1], True),
        ("ordered", 0.375, [1, 1, 1, 0, 0, 0, 0, 0, 0], [1] * 9, True),  # Li et al., section 5: salary 3K-5K
        ("ordered", 0.3749999, [1, 1, 1, 0, 0, 0, 0, 0, 0], [1] * 9, False),
        ("ordered", 0.1666667, [0, 0, 0, 1, 0, 1, 0, 0, 1], [1] * 9, True),  # 6K, 8K, 11K: .167
        ("ordered", 0.1666666, [0, 0, 0, 1, 0, 1, 0, 0, 1], [1] * 9, False),
    ],
)
def test_closeness_at_its_limit(distance: Any, t: float, counts: list[int], totals: list[int], expected: bool) -> None:
    assert judged(TCloseness(t=t, distance=distance), counts, flat(len(counts)), totals) is expected


def test_hierarchical_closeness_at_its_limit() -> None:
    """Two values under one node are half as far apart as two under the root."""
    tree: Tree = {"Any": {"x": {"a": {}, "b": {}}, "y": {"c": {}, "d": {}}}}
    assert height(tree) == 2
    for counts, t in (([1, 0, 0, 0], 0.625), ([1, 1, 0, 0], 0.5), ([1, 0, 1, 0], 0.25), ([1, 1, 1, 1], 0)):
        assert judged(TCloseness(t=t, distance="hierarchical"), counts, tree, [1, 1, 1, 1])
        if t:
            assert not judged(TCloseness(t=t - 0.001, distance="hierarchical"), counts, tree, [1, 1, 1, 1])


@given(st.lists(counts_of.map(lambda c: (c + [0] * 6)[:6]).filter(any), min_size=1, max_size=8))
@examples(50)
def test_achieved_is_the_worst_group(groups: list[list[int]]) -> None:
    """What a requirement says was achieved is the limit that all groups just meet."""
    schema = Given({"Any": {"x": {"a": {}, "b": {}}, "y": {"c": {}, "d": {}, "z": {"e": {}, "f": {}}}}})
    seen = tally(groups)

    def achieved(requirement: Requirement) -> float:
        (value, *_) = requirement.bind(schema).achieved(schema, seen).values()
        return value

    totals = [sum(column) for column in zip(*groups, strict=True)]
    assert achieved(KAnonymity(k=1)) == min(sum(g) for g in groups)
    assert achieved(LDiversity(l=1, variant="distinct")) == min(sum(c > 0 for c in g) for g in groups)
    frequency = min(Fraction(sum(g), max(g)) for g in groups)
    assert achieved(LDiversity(l=1)) == pytest.approx(float(frequency), rel=1e-12)
    entropy = min(-sum(c / sum(g) * math.log(c / sum(g)) for c in g if c) for g in groups)
    assert achieved(LDiversity(l=1, variant="entropy")) == pytest.approx(math.exp(entropy), rel=1e-9)
    assert achieved(AlphaK(alpha=1, k=1)) == pytest.approx(float(1 / frequency), rel=1e-12)
    for distance in OPS:
        worst = max(earth_movers(g, totals, distance, list("abcdef"), schema.tree.to_tree()) for g in groups)
        found = achieved(TCloseness(t=1, distance=distance))  # type: ignore[arg-type]
        assert found == pytest.approx(float(worst), abs=1e-12)


@pytest.mark.parametrize(
    ("requirement", "counts"),
    [
        (LDiversity(l=3, variant="entropy"), [1, 1, 1]),
        (LDiversity(l=4, variant="entropy"), [4, 1, 1, 1, 1]),
        (LDiversity(l=10, variant="entropy"), [7] * 10),
        (TCloseness(t=0.6), [1, 1, 0, 0, 0]),
        (TCloseness(t=0.3), [2, 2, 2, 1, 1, 1, 1, 0, 0, 0]),
        (TCloseness(t=0.5, distance="ordered"), [1, 0, 0, 0, 0, 0, 0]),
        (AlphaK(alpha=0.3, k=10), [3, 3, 3, 1]),
        (LDiversity(l=10 / 3), [3, 3, 3, 1]),
    ],
    ids=lambda v: v.words() if isinstance(v, Requirement) else "",
)
def test_achieved_does_not_contradict_the_verdict(requirement: Requirement, counts: list[int]) -> None:
    """Where the limit is met exactly, what was achieved must not read as if it were missed: 2.9999999999999996 < 3."""
    schema = Given(flat(len(counts)))
    seen = tally([counts], [1] * len(counts))
    bound = requirement.bind(schema)
    assert bound.holds(schema, seen)[0]
    ((name, value), *_) = bound.achieved(schema, seen).items()
    limit = getattr(requirement, name)
    assert value >= limit if name == "l" else value <= limit


NEAR = st.one_of(
    st.integers(0, 2**63 - 1),
    *(st.integers(max(0, 2**b - 2), min(2**b + 2, 2**63 - 1)) for b in (1, 16, 31, 32, 33, 62, 63)),
)


@given(NEAR, NEAR, NEAR, NEAR)
@examples(1000)
def test_shares_are_compared_exactly(size: int, most: int, p: int, q: int) -> None:
    """Small numbers are multiplied in 64 bits, others in 128."""
    assert judge.shares_at_most(np.array([size]), np.array([most]), p, q).tolist() == [most * q <= p * size]
