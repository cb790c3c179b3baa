"""A slow, obvious twin of top-down refinement: rescans all rows for every candidate of every step.

It knows nothing of codes, leaves and lists. Counts are whole numbers and fractions; logarithms come from
forty digits and are rounded to the agreed number of binary places.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

Row = dict[str, Any]
ONE = 1 << 30


@cache
def log2(n: int, bits: int) -> int:
    """log2(n), rounded to so many binary places."""
    with localcontext(Context(prec=40)):
        exact = Decimal(n).ln() / Decimal(2).ln() * (1 << bits)
        return int(exact.to_integral_value(ROUND_HALF_EVEN))


@dataclass
class Tree:
    """An attribute with a taxonomy: its cut is a set of paths from the root."""

    name: str
    paths: dict[str, tuple[str, ...]]  # value -> labels from the root to it
    cut: set[tuple[str, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.order = list(self.paths)
        self.cut = {next(iter(self.paths.values()))[:1]}

    def show(self, value: str) -> tuple[str, ...]:
        path = self.paths[value]
        return next(path[:i] for i in range(1, len(path) + 1) if path[:i] in self.cut)

    def candidates(self, rows: Sequence[Row], measure: str) -> list[tuple[int, Any]]:
        firsts = {
            node: min(i for i, v in enumerate(self.order) if self.paths[v][: len(node)] == node) for node in self.cut
        }
        return [
            (firsts[n], n) for n in self.cut if any(len(p) > len(n) and p[: len(n)] == n for p in self.paths.values())
        ]

    def under(self, value: str, candidate: Any) -> bool:
        return self.show(value) == candidate

    def part(self, value: str, candidate: Any) -> Any:
        return self.paths[value][: len(candidate) + 1] if self.under(value, candidate) else self.show(value)

    def refine(self, candidate: Any, rows: Sequence[Row], measure: str) -> None:
        below = {p[: len(candidate) + 1] for p in self.paths.values() if p[: len(candidate)] == candidate}
        self.cut = (self.cut - {candidate}) | below

    def text(self, shown: Any) -> str:
        return str(shown[-1])


@dataclass
class Set:
    """An attribute without a taxonomy: the values that are disclosed."""

    name: str
    order: list[str]
    open: set[str] = field(default_factory=set)

    def show(self, value: str) -> str:
        return value if value in self.open else "*"

    def candidates(self, rows: Sequence[Row], measure: str) -> list[tuple[int, Any]]:
        there = {row[self.name] for row in rows}
        return [(i, v) for i, v in enumerate(self.order) if v in there and v not in self.open]

    def under(self, value: str, candidate: Any) -> bool:
        return value not in self.open

    def part(self, value: str, candidate: Any) -> str:
        return value if value == candidate else self.show(value)

    def refine(self, candidate: Any, rows: Sequence[Row], measure: str) -> None:
        self.open.add(candidate)

    def text(self, shown: Any) -> str:
        return str(shown)


@dataclass
class Line:
    """A continuous attribute: intervals, each cut where the parts are purest."""

    name: str
    values: list[int]
    ends: list[int] = field(default_factory=list)  # where intervals begin

    def __post_init__(self) -> None:
        self.ends = [self.values[0]]

    def show(self, value: int) -> int:
        return max(e for e in self.ends if e <= value)

    def _inside(self, rows: Sequence[Row], candidate: int) -> list[int]:
        return sorted({row[self.name] for row in rows if self.show(row[self.name]) == candidate})

    def candidates(self, rows: Sequence[Row], measure: str) -> list[tuple[int, Any]]:
        return [(e, (e, self._cut(rows, e, measure))) for e in self.ends if len(self._inside(rows, e)) > 1]

    def _cut(self, rows: Sequence[Row], begin: int, measure: str) -> int:
        inside = self._inside(rows, begin)
        mine = [row for row in rows if self.show(row[self.name]) == begin]

        def after(cut: int) -> int:
            sides = [[r for r in mine if r[self.name] < cut], [r for r in mine if r[self.name] >= cut]]
            return sum(impurity(side, measure, len(rows)) for side in sides)

        # a cut lies right after a value that occurs: at the next value of the domain
        cuts = [self.values[self.values.index(v) + 1] for v in inside[:-1]]
        return min(cuts, key=lambda c: (after(c), c))

    def under(self, value: int, candidate: Any) -> bool:
        return self.show(value) == candidate[0]

    def part(self, value: int, candidate: Any) -> int:
        return max(candidate) if self.under(value, candidate) and value >= candidate[1] else self.show(value)

    def refine(self, candidate: Any, rows: Sequence[Row], measure: str) -> None:
        self.ends = sorted([*self.ends, candidate[1]])

    def text(self, shown: Any) -> str:
        later = [e for e in self.ends if e > shown]
        return f"[{shown}, {later[0] if later else self.values[-1] + 1})"


Attribute = Tree | Set | Line


@dataclass
class Template:
    """x; y: None (rows), attributes (distinct values), or {(attribute, value): limit}; k."""

    x: tuple[str, ...]
    y: Any
    k: int = 1

    def amount(self, groups: dict[Any, list[Row]]) -> Fraction:
        """Anonymity, or the greatest confidence."""
        if isinstance(self.y, dict):
            return max(confidence(g, a, v) for g in groups.values() for a, v in self.y)
        if self.y is None:
            return Fraction(min(len(g) for g in groups.values()))
        return Fraction(min(len({tuple(r[a] for a in self.y) for r in g}) for g in groups.values()))

    def holds(self, groups: dict[Any, list[Row]]) -> bool:
        if isinstance(self.y, dict):
            return all(confidence(g, a, v) <= limit for g in groups.values() for (a, v), limit in self.y.items())
        return self.amount(groups) >= self.k


def confidence(group: list[Row], attribute: str, value: str) -> Fraction:
    return Fraction(sum(r[attribute] == value for r in group), len(group))


def grouped(rows: Sequence[Row], x: Sequence[str], show: Any) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(show(a, row[a]) for a in x), []).append(row)
    return groups


def bits_of(rows: int) -> int:
    width = rows.bit_length()
    return min(50, 62 - width - width.bit_length())


def impurity(rows: Sequence[Row], measure: str, all_rows: int) -> int:
    if measure != "gain":
        return len(rows) ** 2
    bits = bits_of(all_rows)
    xlogx = lambda n: n * log2(n, bits) if n else 0  # noqa: E731
    return xlogx(len(rows)) - sum(xlogx(n) for n in Counter(r["class"] for r in rows).values())


@dataclass
class Step:
    attribute: str
    gain: float
    loss: float
    score: float
    amounts: list[Fraction]
    shown: dict[str, list[str]]


class Naive:
    """The whole run."""

    def __init__(
        self, rows: Sequence[Row], attributes: Sequence[Attribute], templates: Sequence[Template], score: str
    ) -> None:
        self.rows = rows
        self.attributes = {a.name: a for a in attributes}
        self.order = [a.name for a in attributes]
        self.templates = templates
        self.measure = score.split("-")[0]
        self.per_loss = score.endswith("-per-loss")

    def show(self, name: str, value: Any) -> Any:
        return self.attributes[name].show(value)

    def groups(self, template: Template, name: str | None = None, candidate: Any = None) -> dict[Any, list[Row]]:
        """The groups on X; as if a candidate were refined."""

        def shown(a: str, value: Any) -> Any:
            return self.attributes[a].part(value, candidate) if a == name else self.show(a, value)

        return grouped(self.rows, template.x, shown)

    def valid(self, name: str, candidate: Any) -> bool:
        return all(t.holds(self.groups(t, name, candidate)) for t in self.templates if name in t.x)

    def refined(self, name: str, candidate: Any) -> list[Row]:
        return [r for r in self.rows if self.attributes[name].under(r[name], candidate)]

    def beneficial(self, name: str, candidate: Any) -> bool:
        rows = self.refined(name, candidate)
        return len({r["class"] for r in rows}) > 1 if self.measure == "gain" else bool(rows)

    def gain(self, name: str, candidate: Any) -> int:
        rows, attribute = self.refined(name, candidate), self.attributes[name]
        if self.measure == "distortion":
            return sum(r[name] == candidate for r in rows) if isinstance(attribute, Set) else len(rows)
        parts = grouped(rows, [name], lambda a, v: attribute.part(v, candidate)).values()
        lost = impurity(rows, self.measure, len(self.rows)) - sum(
            impurity(p, self.measure, len(self.rows)) for p in parts
        )
        if self.measure == "discernibility":
            return lost
        unit = len(rows) << (bits_of(len(self.rows)) - 30)
        return max(0, (2 * lost + unit) // (2 * unit))

    def loss(self, name: str, candidate: Any) -> tuple[int, int]:
        """Summed over the templates, in units of 2^-30, and how many these are."""
        total = number = 0
        for t in self.templates:
            if name in t.x:
                now, then = t.amount(self.groups(t)), t.amount(self.groups(t, name, candidate))
                number += 1
                total += int(then * ONE) - int(now * ONE) if isinstance(t.y, dict) else int(now - then) * ONE
        return total, number

    def score(self, name: str, candidate: Any) -> float:
        gain = self.gain(name, candidate)
        unit = 1 if self.measure == "gain" else ONE
        if not self.per_loss:
            return float(gain) / float(ONE) * unit
        loss, number = self.loss(name, candidate)
        return float(gain * number) / float(loss + number * ONE) * unit

    def candidates(self) -> list[tuple[float, int, int, str, Any]]:
        found = []
        for i, name in enumerate(self.order):
            for place, candidate in self.attributes[name].candidates(self.rows, self.measure):
                if self.beneficial(name, candidate) and self.valid(name, candidate):
                    found.append((-self.score(name, candidate), i, place, name, candidate))
        return sorted(found, key=lambda f: f[:3])

    def run(self) -> list[Step]:
        steps = []
        while found := self.candidates():
            score, _, _, name, candidate = found[0]
            gain, (loss, number) = self.gain(name, candidate), self.loss(name, candidate)
            self.attributes[name].refine(candidate, self.rows, self.measure)
            steps.append(
                Step(
                    name,
                    gain / ONE if self.measure == "gain" else float(gain),
                    loss / (number * ONE) if number else 0.0,
                    -score,
                    [t.amount(self.groups(t)) for t in self.templates],
                    {a: [self.text(a, r[a]) for r in self.rows] for a in self.order},
                )
            )
        return steps

    def text(self, name: str, value: Any) -> str:
        return self.attributes[name].text(self.show(name, value))
