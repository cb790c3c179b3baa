"""What the tests share: random tables for Hypothesis, and slow, obvious twins that judge and cut in exact numbers.

A twin knows nothing of codes, bit masks and kernels: it works on the values themselves, in fractions and
whole numbers of any size.
"""

import datetime as dt
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import polars as pl
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sfumato.requirement.alpha_k import AlphaK
from sfumato.requirement.base import Requirement
from sfumato.requirement.beta_likeness import BetaLikeness
from sfumato.requirement.delta_disclosure import DeltaDisclosure
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.requirement.t_closeness import TCloseness
from sfumato.requirement.templates import Anonymity, Confidentiality
from sfumato.table.microdata import Microdata, read

Row = dict[str, Any]
Tree = dict[str, Any]
"""A nested tree: a name and what lies below it; a leaf has nothing below."""


def examples(number: int) -> settings:
    """Settings of a test that runs so many examples, however long the first one compiles."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=number, deadline=None, suppress_health_check=slow)


# --- trees ------------------------------------------------------------------------------------------


def leaves(tree: Tree) -> list[str]:
    """The leaves of a nested tree, depth first."""
    return [leaf for name, below in tree.items() for leaf in (leaves(below) if below else [name])]


def height(tree: Tree) -> int:
    """How many levels lie between the names at the top and the farthest leaf."""
    return max((1 + height(below) for below in tree.values() if below), default=0)


def path(tree: Tree, leaf: str) -> list[str] | None:
    """The names from the top down to a leaf."""
    for name, below in tree.items():
        if not below:
            if name == leaf:
                return [name]
        elif (deeper := path(below, leaf)) is not None:
            return [name, *deeper]
    return None


def find(tree: Tree, names: Sequence[str]) -> Tree:
    """What lies below the node at the end of a path, with its name."""
    below: Tree = tree
    for name in names[:-1]:
        below = below[name]
    return {names[-1]: below[names[-1]]}


@st.composite
def trees(draw: st.DrawFn, *, most: int = 9, least: int = 1, deepest: int = 3) -> Tree:
    """A random tree with names that occur once; a node may have a single child."""
    shape = draw(
        st.recursive(st.none(), lambda below: st.lists(below, min_size=1, max_size=4), max_leaves=most).filter(
            lambda s: s is not None and _leaves_of(s) >= least and _depth_of(s) <= deepest
        )
    )
    numbers = iter(range(1000))
    return {"Any": _named(shape, numbers)}


def _leaves_of(shape: Any) -> int:
    return 1 if shape is None else sum(_leaves_of(s) for s in shape)


def _depth_of(shape: Any) -> int:
    return 0 if shape is None else 1 + max(_depth_of(s) for s in shape)


def _named(shape: Any, numbers: Any) -> Tree:
    below: Tree = {}
    for s in shape or ():
        name = f"{'v' if s is None else 'N'}{next(numbers)}"
        below[name] = _named(s, numbers)
    return below


# --- exact judges -----------------------------------------------------------------------------------


def entropy_is_at_least(counts: Sequence[int], limit: Fraction) -> bool:
    """H(counts) >= ln(p/q), as n^n q^n >= p^n prod c^c."""
    n = sum(counts)
    return n**n * limit.denominator**n >= limit.numerator**n * math.prod(c**c for c in counts)


def is_recursive(counts: Sequence[int], c: Fraction, l: int) -> bool:
    """Recursive (c, l): the greatest count is below c times the sum from the l-th greatest on."""
    ranked = sorted(counts, reverse=True)
    return ranked[0] < c * sum(ranked[l - 1 :])


def transport(supply: Sequence[int], demand: Sequence[int], cost: Callable[[int, int], int]) -> int:
    """The least cost of moving the supply to the demand, by shortest augmenting paths (whole numbers)."""
    have, want = list(supply), list(demand)
    moved: Counter[tuple[int, int]] = Counter()
    total = 0
    while any(have):
        # Bellman-Ford over the residual graph; sources are places that still have something
        far: dict[tuple[str, int], tuple[int, Any]] = {("s", i): (0, None) for i, h in enumerate(have) if h}
        changed = True
        while changed:
            changed = False
            for (side, i), (d, _) in list(far.items()):
                if side == "s":
                    steps = [(("d", j), d + cost(i, j)) for j in range(len(want))]
                else:
                    steps = [(("s", j), d - cost(j, i)) for j in range(len(have)) if moved[j, i]]
                for to, reach in steps:
                    if to not in far or reach < far[to][0]:
                        far[to] = (reach, (side, i))
                        changed = True
        end = min((("d", j) for j, w in enumerate(want) if w), key=lambda to: far[to][0])
        route = [end]
        while far[route[-1]][1] is not None:
            route.append(far[route[-1]][1])
        route.reverse()
        amount = min(have[route[0][1]], want[end[1]])
        for a, b in pairwise(route):
            if a[0] == "d":
                amount = min(amount, moved[b[1], a[1]])
        for a, b in pairwise(route):
            if a[0] == "s":
                moved[a[1], b[1]] += amount
            else:
                moved[b[1], a[1]] -= amount
        have[route[0][1]] -= amount
        want[end[1]] -= amount
        total += amount * far[end][0]
    return total


def ground(distance: str, domain: Sequence[str], tree: Tree | None) -> tuple[Callable[[int, int], int], int]:
    """How far two values are apart, in whole numbers, and the unit that makes the greatest distance 1."""
    if distance == "equal":
        return (lambda i, j: int(i != j)), 1
    if distance == "ordered":
        return (lambda i, j: abs(i - j)), max(len(domain) - 1, 1)
    assert tree is not None
    paths = [path(tree, value) or [] for value in domain]

    def apart(i: int, j: int) -> int:
        if i == j:
            return 0
        common = [a for a, b in zip(paths[i], paths[j], strict=False) if a == b]
        return height(find(tree, common))

    return apart, max(height(tree), 1)


def earth_movers(
    counts: Sequence[int], totals: Sequence[int], distance: str, domain: Sequence[str], tree: Tree | None = None
) -> Fraction:
    """The earth mover's distance of two distributions, as the cost of the cheapest transport."""
    apart, unit = ground(distance, domain, tree)
    n, whole = sum(counts), sum(totals)
    cost = transport([c * whole for c in counts], [c * n for c in totals], apart)
    return Fraction(cost, unit * n * whole)


def exact(number: float | Fraction) -> Fraction:
    """The number a person meant: 0.1 is one tenth, and the float nearest to 1/3 one third."""
    return Fraction(str(number)).limit_denominator(10**9)


@dataclass
class Facts:
    """What a twin must know of a table: its rows, the order and the tree of the sensitive values."""

    rows: list[Row]
    sensitive: str
    domain: list[str]
    tree: Tree | None = None

    def counts(self, rows: Iterable[Row]) -> list[int]:
        seen = Counter(row[self.sensitive] for row in rows)
        return [seen[value] for value in self.domain]


def satisfies(requirement: Requirement, rows: Sequence[Row], facts: Facts) -> bool:
    """Whether a group of rows satisfies a requirement, from its definition."""
    n, counts = len(rows), facts.counts(rows)
    if isinstance(requirement, KAnonymity):
        entity = requirement.entity
        return (n if entity is None else len({row[entity] for row in rows})) >= requirement.k
    if isinstance(requirement, AlphaK):
        return n >= requirement.k and Fraction(max(counts), n) <= exact(requirement.alpha)
    if isinstance(requirement, TCloseness):
        totals = facts.counts(facts.rows)
        moved = earth_movers(counts, totals, requirement.distance, facts.domain, facts.tree)
        return moved <= exact(requirement.t)
    if isinstance(requirement, BetaLikeness):
        return all(gains_little(requirement, Fraction(c, n), p) for c, p in zip(counts, shares(facts), strict=True))
    if isinstance(requirement, DeltaDisclosure):
        before = zip(counts, shares(facts), strict=True)
        return all(discloses_little(requirement, Fraction(c, n), p) for c, p in before)
    if isinstance(requirement, Anonymity):
        y = [requirement.y] if isinstance(requirement.y, str) else list(requirement.y or ())
        return (len({tuple(row[a] for a in y) for row in rows}) if y else n) >= requirement.k
    if isinstance(requirement, Confidentiality):
        assert isinstance(requirement.y, Mapping)
        assert isinstance(requirement.k, float)
        limit = exact(requirement.k)
        return all(
            Fraction(sum(row[name] == value for row in rows), n) <= limit
            for name, values in requirement.y.items()
            for value in values
        )
    assert isinstance(requirement, LDiversity)
    return diverse(requirement, counts)


def shares(facts: Facts) -> list[Fraction]:
    """How frequent each sensitive value is in the whole table."""
    return [Fraction(total, len(facts.rows)) for total in facts.counts(facts.rows)]


def gains_little(requirement: BetaLikeness, q: Fraction, p: Fraction) -> bool:
    """β-likeness of a value with the share q in a group and p in the table, from its definition."""
    if q <= p:
        return True
    gain = (q - p) / p
    if gain > exact(requirement.beta):
        return False
    with localcontext(Context(prec=80)):
        bound = -(Decimal(p.numerator) / p.denominator).ln()
        return requirement.variant == "basic" or Decimal(gain.numerator) / gain.denominator <= bound


def discloses_little(requirement: DeltaDisclosure, q: Fraction, p: Fraction) -> bool:
    """δ-disclosure of a value with the share q in a group and p in the table, from its definition."""
    if p == 0 or q == 0:
        return p == 0
    with localcontext(Context(prec=80)):
        ratio = q / p
        delta = Decimal(exact(requirement.delta).numerator) / exact(requirement.delta).denominator
        return abs((Decimal(ratio.numerator) / ratio.denominator).ln()) < delta


def diverse(requirement: LDiversity, counts: Sequence[int]) -> bool:
    """l-diversity of a vector of counts, from its definitions."""
    limit = exact(requirement.l)
    if requirement.variant == "distinct":
        return sum(c > 0 for c in counts) >= limit
    if requirement.variant == "entropy":
        return entropy_is_at_least(counts, limit)
    if requirement.variant == "recursive":
        return is_recursive(counts, exact(requirement.c or 0), int(requirement.l))
    return Fraction(max(counts), sum(counts)) <= 1 / limit


# --- axes: how a group is cut, from the docstrings of sfumato.method.mondrian and sfumato.kernel -----


class LineAxis:
    """Sorted values with a place between 0 and 1; a missing value (None) lies apart, at 2."""

    def __init__(self, places: Mapping[Any, float]) -> None:
        least, most = min(places.values(), default=0.0), max(places.values(), default=0.0)
        span = most - least
        self.at: dict[Any, float] = {v: (p - least) / span if span else 0.0 for v, p in places.items()}
        self.at[None] = 2.0
        self.place = {**places, None: math.inf}

    def width(self, values: set[Any]) -> float:
        """The normalized range."""
        return max(self.at[v] for v in values) - min(self.at[v] for v in values)

    def undivided(self, values: set[Any]) -> None:
        """A range of a line can be shown wherever it is cut."""

    def cuts(self, values: set[Any]) -> list[set[Any]]:
        """The values up to each boundary."""
        ranked = sorted(values, key=lambda v: self.place[v])
        return [set(ranked[:i]) for i in range(1, len(ranked))]


class TreeAxis:
    """A tree of values; ``sets``: whether a group may show some of a node's children."""

    most_shown = 63

    def __init__(self, tree: Tree, *, sets: bool) -> None:
        self.tree, self.sets, self.size = tree, sets, len(leaves(tree))

    def _node(self, values: set[Any]) -> tuple[str, Tree]:
        """The lowest node with all the values below it."""
        ((name, below),) = self.tree.items()
        while True:
            for child, deeper in below.items():
                if values <= set(leaves({child: deeper})):
                    name, below = child, deeper
                    break
            else:
                return name, below

    def _touched(self, values: set[Any]) -> list[list[str]]:
        """The leaves of each child of that node that has one of the values below it."""
        below = [leaves({child: deeper}) for child, deeper in self._node(values)[1].items()]
        return [child for child in below if values & set(child)]

    def _shows_sets(self, values: set[Any]) -> bool:
        return self.sets and len(self._node(values)[1]) <= self.most_shown

    def width(self, values: set[Any]) -> float:
        """The share of the leaves that the group's label covers; 0 for one value."""
        if len(values) == 1:
            return 0.0
        if self._shows_sets(values):
            return sum(len(child) for child in self._touched(values)) / self.size
        name, below = self._node(values)
        return len(leaves({name: below})) / self.size

    def undivided(self, values: set[Any]) -> str | None:
        """The node that covers the values, if only all of it can be shown."""
        return None if self._shows_sets(values) else self._node(values)[0]

    def cuts(self, values: set[Any]) -> list[set[Any]]:
        """Each child; then the first two children, the first three and so on, where a set can be shown."""
        touched = self._touched(values)
        cuts = [set(child) for child in touched]
        if self._shows_sets(values):
            cuts += [set().union(*touched[:i]) for i in range(2, len(touched))]
        return cuts

    def shown(self, values: set[Any]) -> set[str]:
        """All values that the group's label may stand for."""
        if len(values) == 1:
            return values
        if self._shows_sets(values):
            return set().union(*self._touched(values))
        name, below = self._node(values)
        return set(leaves({name: below}))


Axis = LineAxis | TreeAxis


# --- random tables ----------------------------------------------------------------------------------

ILLNESSES: list[Tree] = [
    {"Any": {"a": {}, "b": {}, "c": {}, "d": {}}},
    {"Any": {"x": {"a": {}, "b": {}}, "y": {"z": {"c": {}, "d": {}}, "e": {}}}},
    {"Any": {"x": {"y": {"a": {}}}, "b": {}, "w": {"c": {}, "d": {}, "e": {}}}},
]
WIDE: Tree = {"Any": {f"w{i}": {} for i in range(70)}}
LARGE: Tree = {
    "Any": {f"g{i}": {f"h{i}.{j}": {f"{i}.{j}.{m}": {} for m in range(10)} for j in range(8)} for i in range(9)}
}


@dataclass
class Sample:
    """A random table, as sfumato reads it and as a twin sees it."""

    facts: Facts
    axes: dict[str, Axis]
    options: dict[str, Any]
    flat: list[str] = field(default_factory=list)

    @property
    def quasi(self) -> list[str]:
        return list(self.axes)

    @property
    def frame(self) -> pl.DataFrame:
        return pl.DataFrame(self.facts.rows, infer_schema_length=None)

    def read(self, **more: Any) -> Microdata:
        return read(self.frame, **(self.options | more))


class Kind(NamedTuple):
    """A kind of quasi-identifier: how to draw a value, what `read` is told of it, and its axis, given the values."""

    pick: Callable[[Random], Any]
    options: dict[str, Any]
    axis: Callable[[list[Any]], Axis]


def _numbers(rng: Random) -> Kind:
    pick: Callable[[Random], Any] = rng.choice(
        [
            lambda r: r.randint(0, 9),
            lambda r: r.randint(-1000, 100_000),
            lambda r: r.randint(-20, 20) / 10,
            lambda r: r.choice([None, 0, 1, 2, 3, 4, 5, 9]),
        ]
    )
    return Kind(pick, {}, lambda seen: LineAxis({v: float(v) for v in seen if v is not None}))


def _dates(rng: Random) -> Kind:
    first = dt.date(2024, 12, 20)
    days = rng.choice([5, 80])
    return Kind(
        lambda r: first + dt.timedelta(r.randint(0, days)),
        {},
        lambda seen: LineAxis({v: float(v.toordinal()) for v in seen}),
    )


def _ordinals(rng: Random) -> Kind:
    words = rng.sample(["none", "some", "much", "most", "all"], 5)
    axis = LineAxis({w: float(i) for i, w in enumerate(words)})
    return Kind(lambda r: r.choice(words), {"kind": "ordinal", "domain": words}, lambda seen: axis)


def _tree(rng: Random) -> Kind:
    tree = rng.choice([WIDE, LARGE, *({"Any": _grown(rng, 3, iter(range(1000)))} for _ in range(6))])
    values = leaves(tree)
    return Kind(lambda r: r.choice(values), {"taxonomy": tree}, lambda seen: TreeAxis(tree, sets=True))


def _grown(rng: Random, deep: int, numbers: Iterator[int]) -> Tree:
    """What lies below a node: one to four children, up to ``deep`` levels."""
    below: Tree = {}
    for _ in range(rng.choice([1, 2, 3, 3, 4])):
        inner = deep > 1 and rng.random() < 0.5
        name = f"{'N' if inner else 'v'}{next(numbers)}"
        below[name] = _grown(rng, deep - 1, numbers) if inner else {}
    return below


def _flat(rng: Random) -> Kind:
    words = ["red", "green", "blue", "pink"]
    return Kind(
        lambda r: r.choice(words),
        {"flat": True},
        lambda seen: TreeAxis({"*": {v: {} for v in sorted(set(seen))}}, sets=False),
    )


KINDS: dict[str, Callable[[Random], Kind]] = {
    "number": _numbers,
    "date": _dates,
    "ordinal": _ordinals,
    "tree": _tree,
    "flat": _flat,
}


@st.composite
def samples(
    draw: st.DrawFn, *, kinds: Sequence[str] = tuple(KINDS), most: int = 40, columns: int = 3, least: int = 1
) -> Sample:
    """A table with up to three quasi-identifiers of any kind, a sensitive attribute, an entity and a row number.

    Its values come from a seeded generator, since Hypothesis' own would repeat a few of them.
    """
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=columns))
    number = draw(st.one_of(st.integers(least, most), st.integers(max(least, most // 2), most)))
    rng = draw(st.randoms(use_true_random=True))
    made = {f"q{j}": KINDS[kind](rng) for j, kind in enumerate(chosen)}
    tree = rng.choice(ILLNESSES)
    illnesses = leaves(tree)
    rows: list[Row] = []
    for place in range(number):
        row = {name: kind.pick(rng) for name, kind in made.items()}
        rows.append(row | {"ill": rng.choice(illnesses), "person": f"P-{rng.randint(0, 11)}", "row": place})
    axes = {name: kind.axis([row[name] for row in rows]) for name, kind in made.items()}
    given = {name: kind.options for name, kind in made.items()}
    options = {
        "quasi": list(made),
        "sensitive": "ill",
        "identifiers": ["person"],
        "insensitive": ["row"],
        "missing": "category",
        "taxonomies": {"ill": tree} | {n: o["taxonomy"] for n, o in given.items() if "taxonomy" in o},
        "kinds": {n: o["kind"] for n, o in given.items() if "kind" in o},
        "domains": {n: o["domain"] for n, o in given.items() if "domain" in o},
    }
    return Sample(Facts(rows, "ill", illnesses, tree), axes, options, [n for n, o in given.items() if "flat" in o])


def requirements() -> st.SearchStrategy[Requirement]:
    """Any requirement on a `samples` table, with limits that small groups can meet."""
    k = st.integers(1, 6)
    halves = st.sampled_from([1, 1.5, 2, 2.5, 3])
    return st.one_of(
        st.builds(KAnonymity, k=k),
        st.builds(KAnonymity, k=st.integers(1, 5), entity=st.just("person")),
        st.builds(LDiversity, l=st.integers(1, 3), variant=st.just("distinct")),
        st.builds(LDiversity, l=halves, variant=st.just("entropy")),
        st.builds(LDiversity, l=halves, variant=st.just("frequency")),
        st.builds(
            LDiversity, l=st.integers(1, 3), variant=st.just("recursive"), c=st.sampled_from([0.5, 1, 1.5, 2, 3.0])
        ),
        st.builds(
            TCloseness,
            t=st.sampled_from([0, 0.1, 0.25, 0.3, 1 / 3, 0.5, 0.75]),
            distance=st.sampled_from(["equal", "ordered", "hierarchical"]),
        ),
        st.builds(
            BetaLikeness,
            beta=st.sampled_from([0.25, 1 / 3, 0.5, 1, 2, 5]),
            variant=st.sampled_from(["basic", "enhanced"]),
        ),
        st.builds(DeltaDisclosure, delta=st.sampled_from([0.1, 0.3, 0.5, math.log(2), 1, 1.5, 3])),
        st.builds(AlphaK, alpha=st.sampled_from([0.3, 0.4, 0.5, 2 / 3, 0.75, 1]), k=k),
        st.builds(Anonymity, y=st.sampled_from([None, "ill", "person", ("ill", "person")]), k=st.integers(1, 4)),
        st.builds(Confidentiality, y=st.just({"ill": ["a", "c"]}), k=st.sampled_from([0.25, 0.5, 2 / 3])),
    )


def policies(most: int) -> st.SearchStrategy[list[Requirement]]:
    """Some requirements that all count rows or all count people; beside an entity what counts rows is refused."""
    several = st.lists(requirements(), min_size=1, max_size=most)
    return several.filter(lambda found: len({bool(r.people(["person"])) for r in found}) == 1)
