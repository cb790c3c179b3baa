"""A slow, obvious twin of sequential anonymization: lists the rows of the join for every candidate of every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import naive_join as naive
from naive_topdown import ONE, Attribute, Line, Naive, Row, Set, Template, Tree

EVERYTHING = frozenset(["*"])
Place = tuple[str, str]


@dataclass
class JoinTemplate:
    """x and y by release and attribute (``""``: the records); y may be ``{(place, value): limit}``; k.

    ``scored``: whether it counts in scores; one that no refinement of T1 can hurt does not.
    """

    x: tuple[Place, ...]
    y: Any
    k: int = 1
    scored: bool = True

    def amount(self, groups: Mapping[Any, list[Any]]) -> Fraction | None:
        """Anonymity, or the greatest confidence; None if the join is empty."""
        if not groups:
            return None
        if isinstance(self.y, dict):
            return max(naive.confidence(groups, place, value) for place, value in self.y)
        return Fraction(naive.anonymity(groups, self.y))

    def holds(self, groups: Mapping[Any, list[Any]]) -> bool:
        if not groups:
            return True
        if isinstance(self.y, dict):
            return all(naive.confidence(groups, *key) <= limit for key, limit in self.y.items())
        return naive.anonymity(groups, self.y) >= self.k


def meets(a: frozenset[Any], b: frozenset[Any]) -> bool:
    """Whether two labels can mean the same value."""
    return EVERYTHING in (a, b) or bool(a & b)


class NaiveSequential(Naive):
    """The whole run; ``table`` are the rows of T1, ``earlier`` those of the others as (labels, meanings)."""

    def __init__(
        self,
        rows: Sequence[Row],
        attributes: Sequence[Attribute],
        templates: Sequence[Template],
        score: str,
        *,
        joins: Sequence[JoinTemplate],
        earlier: Mapping[str, Sequence[tuple[Row, Mapping[str, frozenset[Any]]]]],
        rules: Sequence[Any],
        last: float,
        in_floats: bool,
    ) -> None:
        super().__init__(rows, attributes, templates, score)
        self.joins, self.earlier, self.rules, self.last, self.in_floats = joins, earlier, rules, last, in_floats

    def meaning(self, name: str, shown: Any, ends: Sequence[int]) -> frozenset[Any]:
        """The values that a label of T1 may mean; of a line, tenths of units."""
        attribute = self.attributes.get(name)
        if isinstance(attribute, Tree):
            return frozenset(v for v, path in attribute.paths.items() if path[: len(shown)] == shown)
        if isinstance(attribute, Set):
            return EVERYTHING if shown == "*" else frozenset([shown])
        if isinstance(attribute, Line):
            return interval(shown, next((e for e in ends if e > shown), self.last))
        return frozenset([shown])

    def join(self, name: str | None = None, candidate: Any = None) -> list[dict[Place, Any]]:
        """The rows of the join; as if a candidate were refined."""
        shown = {
            a: [self.attributes[a].part(r[a], candidate) if a == name else self.show(a, r[a]) for r in self.rows]
            for a in self.order
        }
        here = []
        for i, row in enumerate(self.rows):
            labels = {a: shown[a][i] if a in shown else v for a, v in row.items()}
            ends = {a: sorted(set(shown[a])) for a in shown if isinstance(self.attributes[a], Line)}
            if name is not None and isinstance(self.attributes[name], Line):
                ends[name] = sorted({*self.attributes[name].ends, candidate[1]})
            for a in ends:
                ends[a] = sorted({*ends[a], *self.attributes[a].ends})  # type: ignore[union-attr]
            here.append((labels, {a: self.meaning(a, labels[a], ends.get(a, ())) for a in labels}))
        return joined({"T1": here, **self.earlier}, self.rules)

    def amounts(self, joined: Sequence[Any]) -> list[Fraction | None]:
        return [t.amount(naive.grouped(joined, t.x)) for t in self.joins]

    def valid(self, name: str, candidate: Any) -> bool:
        if not super().valid(name, candidate):
            return False
        after = self.join(name, candidate)
        if not after and self.in_floats:
            return False  # nothing could be said about an empty join
        return all(t.holds(naive.grouped(after, t.x)) for t in self.joins if ("T1", name) in t.x)

    def joined_loss(self, name: str, candidate: Any) -> list[float]:
        """The loss of each template over the join that has the attribute; one that improves loses nothing."""
        before, after = self.amounts(self.join()), self.amounts(self.join(name, candidate))
        out = []
        for t, now, then in zip(self.joins, before, after, strict=True):
            if ("T1", name) in t.x and t.scored:
                lost = 0.0 if now is None or then is None else float(then) - float(now)
                out.append(max(0.0, lost if isinstance(t.y, dict) else -lost))
        return out

    def loss(self, name: str, candidate: Any) -> tuple[Any, int]:
        total, number = super().loss(name, candidate)
        if self.in_floats:
            losses = float(total) / float(ONE)
            more = self.joined_loss(name, candidate)
            for lost in more:
                losses += lost
            return losses * ONE, number + len(more)
        before, after = self.amounts(self.join()), self.amounts(self.join(name, candidate))
        for t, now, then in zip(self.joins, before, after, strict=True):
            if ("T1", name) in t.x and t.scored and now is not None and then is not None:
                number += 1
                total += int(then * ONE) - int(now * ONE) if isinstance(t.y, dict) else int(now - then) * ONE
        return total, number

    def score(self, name: str, candidate: Any) -> float:
        if not self.in_floats:
            return super().score(name, candidate)
        gain = float(self.gain(name, candidate)) / (float(ONE) if self.measure == "gain" else 1.0)
        losses, number = self.loss(name, candidate)
        if not self.per_loss or number == 0:
            return gain
        return gain * number / (losses / ONE + number)


def interval(low: float, high: float) -> frozenset[int]:
    """The tenths of units in a half-open interval."""
    return frozenset(range(round(10 * low), round(10 * high)))


def joined(
    sides: Mapping[str, Sequence[tuple[Row, Mapping[str, frozenset[Any]]]]], rules: Sequence[Any]
) -> list[dict[Place, Any]]:
    """All combinations of rows that match."""
    found: list[list[tuple[str, int, Row, Mapping[str, frozenset[Any]]]]] = [[]]
    for name, rows in sides.items():
        found = [
            [*before, (name, i, row, means)]
            for before in found
            for i, (row, means) in enumerate(rows)
            if all(meets(means[a], other[a]) for _, _, _, other in before for a in means.keys() & other.keys())
        ]
    out = []
    for chosen in found:
        means = {name: m for name, _, _, m in chosen}
        if any(all(means[r][a] <= values for r, side in rule.items() for a, values in side.items()) for rule in rules):
            continue
        one: dict[Place, Any] = {(name, a): label for name, _, row, _ in chosen for a, label in row.items()}
        out.append(one | {(name, ""): i for name, i, _, _ in chosen})
    return out
