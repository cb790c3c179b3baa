"""Local recoding the slow way: lists of rows, boxes as tuples of names, every box of every row visited by its cost."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from strategies import Axis, LineAxis, Row, Tree, TreeAxis, height, leaves

Node = tuple[Any, ...]
Way = list[tuple[Node, float]]
"""What shows a value on each level, from the value itself to one node for all: the node and its cost."""
Passes = Callable[[Sequence[Row]], bool]


def tree_way(tree: Tree, value: str, ncp: bool) -> Way:
    """A short branch stays at its leaf until the others have come up to it."""
    ((root, below),) = tree.items()
    names, inside = [(root, len(leaves(tree)))], below
    while inside:
        name = next(n for n in inside if value in leaves({n: inside[n]}))
        names.append((name, len(leaves({name: inside[name]}))))
        inside = inside[name]
    size, top = len(leaves(tree)), height(tree)
    way: Way = []
    for level in range(top + 1):
        name, values = names[min(top - level, len(names) - 1)]
        share = (values / size if values > 1 else 0.0) if ncp else (values - 1) / max(size - 1, 1)
        way.append(((name,), share))
    return way


def line_way(axis: LineAxis, occurring: Sequence[Any], value: Any) -> Way:
    """Halves of the line: neighbours in pairs, pairs of pairs and so on."""
    ranked = sorted(occurring, key=lambda v: axis.place[v])
    way: Way = []
    at, last, level = ranked.index(value), len(ranked) - 1, 0
    while True:
        part = [v for i, v in enumerate(ranked) if i >> level == at >> level]
        way.append(((level, at >> level), min(axis.at[part[-1]] - axis.at[part[0]], 1.0)))
        if last >> level == 0:
            return way
        level += 1


class Naive:
    """The ways of all values, and the order of rows by them."""

    def __init__(self, rows: Sequence[Row], axes: dict[str, Axis], domains: dict[str, Sequence[Any]], *, ncp: bool):
        self.rows, self.names = rows, list(axes)
        self.ways: dict[str, dict[Any, Way]] = {}
        self.rank: dict[str, dict[Any, int]] = {}
        for name, axis in axes.items():
            if isinstance(axis, TreeAxis):
                values: list[Any] = leaves(axis.tree)
                ways = {v: tree_way(axis.tree, v, ncp) for v in values}
            else:
                seen = {row[name] for row in rows}
                values = sorted({*domains.get(name, seen), *seen}, key=lambda v: axis.place[v])
                ways = {v: line_way(axis, values, v) for v in values}
            self.ways[name] = {v: [(node, cost / len(axes)) for node, cost in way] for v, way in ways.items()}
            self.rank[name] = {v: i for i, v in enumerate(values)}

    def vector(self, row: Row) -> tuple[int, ...]:
        """The row's place on each axis."""
        return tuple(self.rank[n][row[n]] for n in self.names)

    def cost(self, rows: Sequence[Row]) -> float:
        """The cost of the lowest nodes that cover the rows."""
        total = 0.0
        for n in self.names:
            ways = [self.ways[n][row[n]] for row in rows]
            total += next(at[0][1] for at in zip(*ways, strict=True) if len({node for node, _ in at}) == 1)
        return total

    def visits(self) -> list[tuple[int, tuple[int, ...]]]:
        """Every cost that some row's box has on some levels, rising."""
        levels = list(product(*(range(len(next(iter(self.ways[n].values())))) for n in self.names)))
        return sorted({(self.box(row, at)[1], at) for row in self.rows for at in levels})

    def box(self, row: Row, levels: Sequence[int]) -> tuple[Node, int]:
        """The box of a row on some levels, and its cost on a fine grid."""
        parts = [self.ways[n][row[n]][l] for n, l in zip(self.names, levels, strict=True)]
        total = 0.0
        for _, cost in parts:
            total += cost
        return tuple(node for node, _ in parts), round(total * 2**40)

    def peel(self, passes: Passes) -> tuple[list[list[Row]], list[Row]]:
        """The groups, by their first rows, and the rows that are left."""
        left, groups = sorted(self.rows, key=self.vector), []
        for cost, levels in self.visits():
            boxes: dict[Node, list[Row]] = defaultdict(list)
            for row in left:
                box, price = self.box(row, levels)
                if price == cost:
                    boxes[box].append(row)
            good = [rows for rows in boxes.values() if passes(rows)]
            groups += good
            gone = {row["row"] for rows in good for row in rows}
            left = [row for row in left if row["row"] not in gone]
        return sorted(groups, key=lambda rows: min(map(self.vector, rows))), left

    def join_one_by_one(self, groups: list[list[Row]], left: Sequence[Row]) -> list[list[Row]]:
        """Equal rows together join the group for which that costs least, the first of equals."""
        for vector in sorted({self.vector(row) for row in left}):
            rows = [row for row in left if self.vector(row) == vector]
            more = [self.cost([*g, *rows]) * (len(g) + len(rows)) - self.cost(g) * len(g) for g in groups]
            groups[more.index(min(more))].extend(rows)
        return groups

    def join_together(self, groups: list[list[Row]], left: Sequence[Row], passes: Passes) -> list[list[Row]]:
        """The rows that are left take in the nearest groups, one, two, four and so on, until they pass."""
        near = sorted(groups, key=lambda g: (self.cost([*g, *left]) - self.cost(g)) * len(g))
        number = 1
        while number < len(groups) and not passes([*left, *(row for g in near[:number] for row in g)]):
            number *= 2
        taken = near[:number]
        return [g for g in groups if not any(g is t for t in taken)] + [[*left, *(r for g in taken for r in g)]]
