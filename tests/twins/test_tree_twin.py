"""C4.5 on counts against C4.5 row by row, as Quinlan describes it: recursion over lists, sharing the logarithms."""

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.analyst.c45 import C45, C45Tree
from sfumato.analyst.features import Examples, examples
from sfumato.kernel.c45 import tree as kernel
from sfumato.kernel.c45.grow import times_log

_TABLE = times_log(2000)


@dataclass
class Node:
    """A node of the slow tree."""

    leaf: int
    test: int | None = None
    cut: float | None = None
    branches: list["Node"] = field(default_factory=list)

    def way(self, row):
        """The branch of a row."""
        if self.cut is not None:
            return self.branches[row[self.test] > self.cut]
        return self.branches[row[self.test]]


class Slow:
    """C4.5 over rows ``(value, ..., class)``; ``domains[a]`` is the number of categories, or None for numbers."""

    def __init__(self, rows, domains, classes, confidence=0.25):
        self.rows, self.domains, self.classes = rows, domains, classes
        self.confidence, self.raised, self.cropped = confidence, 0, 0
        many = [d is not None and d >= 0.3 * len(rows) for d in domains]
        self.usual = [not m or all(many) for m in many]
        self.root = self.grow(rows, None)
        if confidence < 1:
            self.estimate(self.root, rows, update=True)

    def counts(self, rows):
        tally = Counter(row[-1] for row in rows)
        return [tally[c] for c in range(self.classes)]

    def spread(self, counts):
        return _TABLE[sum(counts)] - sum((_TABLE[c] for c in counts), 0.0)

    def grow(self, rows, parent):
        if not rows:
            return Node(parent.leaf)
        counts = self.counts(rows)
        node = Node(counts.index(max(counts)))
        if max(counts) == len(rows) or len(rows) < 4:
            return node
        node.test, node.cut = self.choose(rows)
        if node.test is None:
            return node
        parts = self.split(node, rows)
        node.branches = [self.grow(part, node) for part in parts]
        if self.seen(node, rows) >= len(rows) - max(counts):
            node.test, node.cut, node.branches = None, None, []
        elif node.cut is not None:
            low = max(r[node.test] for r in parts[0])
            middle = (low + min(r[node.test] for r in parts[1])) / 2
            node.cut = max(r[node.test] for r in self.rows if r[node.test] <= middle)
        return node

    def split(self, node, rows):
        if node.cut is not None:
            return [[r for r in rows if r[node.test] <= node.cut], [r for r in rows if r[node.test] > node.cut]]
        return [[r for r in rows if r[node.test] == v] for v in range(self.domains[node.test])]

    def seen(self, node, rows):
        """How often the tree errs on the rows that it was grown from."""
        if node.test is None:
            return sum(r[-1] != node.leaf for r in rows)
        return sum(self.seen(b, part) for b, part in zip(node.branches, self.split(node, rows), strict=True))

    def choose(self, rows):
        options = []
        for a, domain in enumerate(self.domains):
            found = self.cut(a, rows) if domain is None else self.categories(a, rows)
            if found is not None:
                options.append((a, *found))
        usual = [gain for a, gain, _, _ in options if self.usual[a]]
        average = sum(usual, 0.0) / len(usual) if usual else 1e6
        best, ratio = (None, None), -1e-3
        for a, gain, info, cut in options:
            if gain >= average - 1e-3 and info > 1e-3 and gain / info > ratio:
                best, ratio = (a, cut), gain / info
        return best

    def categories(self, a, rows):
        parts = [[r for r in rows if r[a] == v] for v in range(self.domains[a])]
        if sum(len(p) >= 2 for p in parts) < 2:
            return None
        inside = sum((self.spread(self.counts(p)) for p in parts), 0.0)
        sizes = sum((_TABLE[len(p)] for p in parts), 0.0)
        return (self.spread(self.counts(rows)) - inside) / len(rows), (_TABLE[len(rows)] - sizes) / len(rows), None

    def cut(self, a, rows):
        n = len(rows)
        trimmed = max(2.0, min(0.1 * n / self.classes, 25.0))
        tries = []
        for value in sorted({r[a] for r in rows})[:-1]:
            low = [r for r in rows if r[a] <= value]
            high = [r for r in rows if r[a] > value]
            if trimmed <= len(low) <= n - trimmed:
                tries.append((self.spread(self.counts(low)) + self.spread(self.counts(high)), len(low), value))
        if not tries:
            return None
        inside, size, value = min(tries, key=lambda t: (t[0], t[2]))
        gain = (self.spread(self.counts(rows)) - inside) / n - _TABLE[len(tries)] / len(tries) / n
        if gain <= 0:
            return None
        return gain, (_TABLE[n] - _TABLE[size] - _TABLE[n - size]) / n, value

    def extra(self, n, errors):
        deviation = (0.84 + (0.25 - 0.84) * (self.confidence - 0.20) / 0.20) ** 2
        if errors == 0:
            return n * (1 - self.confidence ** (1 / n))
        if errors + 0.5 >= n:
            return 0.67 * (n - errors)
        more = errors + 0.5
        root = math.sqrt(deviation * (more * (1 - more / n) + deviation / 4))
        return n * (more + deviation / 2 + root) / (n + deviation) - errors

    def estimate(self, node, rows, update):
        """The errors expected of a tree; with ``update`` it is pruned on the way."""
        counts = self.counts(rows)
        errors = len(rows) - max(counts)
        as_leaf = errors + self.extra(len(rows), errors)
        if update and counts[node.leaf] < max(counts):
            node.leaf = counts.index(max(counts))
        if node.test is None:
            return as_leaf
        parts = self.split(node, rows)
        pairs = list(zip(node.branches, parts, strict=True))
        as_tree = sum((self.estimate(b, p, update) for b, p in pairs if p), 0.0)
        if not update:
            return as_tree
        largest = max(range(len(parts)), key=lambda i: (len(parts[i]), i))
        branch = node.branches[largest]
        as_branch = self.estimate(branch, rows, update=False)
        if as_leaf <= as_branch + 0.1 and as_leaf <= as_tree + 0.1:
            node.test, node.cut, node.branches = None, None, []
            self.cropped += 1
            return as_leaf
        if as_branch <= as_tree + 0.1:
            self.raised += 1
            expected = self.estimate(branch, rows, update=True)
            node.leaf, node.test, node.cut, node.branches = branch.leaf, branch.test, branch.cut, branch.branches
            return expected
        return as_tree

    def predict(self, row):
        node = self.root
        while node.test is not None:
            if node.cut is None and row[node.test] not in range(self.domains[node.test]):
                return node.leaf
            node = node.way(row)
        return node.leaf

    def shape(self, node=None):
        """The tree as nested tuples."""
        node = node or self.root
        if node.test is None:
            return node.leaf
        return (node.test, node.cut, tuple(self.shape(b) for b in node.branches))


def shape(tree: C45Tree, node: int = 0) -> object:
    """The fast tree as nested tuples."""
    test, cut, first, forks, leaf = (
        int(tree.nodes[node, f]) for f in (kernel.TEST, kernel.CUT, kernel.FIRST, kernel.FORKS, kernel.LEAF)
    )
    if test < 0:
        return leaf
    numbers = tree.features[test].numbers
    return (test, None if numbers is None else float(numbers[cut]), tuple(shape(tree, first + b) for b in range(forks)))


def both(rows, domains, confidence=0.25) -> tuple[C45Tree, Slow, Examples]:
    """The two trees of a table; its categories are made dense first, since a tree knows only those that occur."""
    columns = [np.array(c) for c in zip(*rows, strict=True)]
    for a, domain in enumerate(domains):
        if domain is not None:
            columns[a] = np.unique(columns[a], return_inverse=True)[1]
    columns[-1] = np.unique(columns[-1], return_inverse=True)[1]
    sizes = [None if d is None else int(c.max()) + 1 for c, d in zip(columns, domains, strict=False)]
    frame = pl.DataFrame(
        [
            pl.Series(str(a), c.astype(float) if d is None else [f"v{v:03}" for v in c])
            for a, (c, d) in enumerate(zip(columns, sizes, strict=False))
        ]
        + [pl.Series("class", [f"c{v:03}" for v in columns[-1]])]
    )
    coded = examples(frame, frame, "class")
    dense = [tuple(r) for r in zip(*(c.tolist() for c in columns), strict=True)]
    slow = Slow(dense, sizes, int(columns[-1].max()) + 1, confidence)
    return C45(confidence=confidence).fit(coded), slow, coded


@st.composite
def tables(draw):
    """Rows whose class leans on the first attributes, of categories and of numbers."""
    domains = draw(st.lists(st.sampled_from([None, 2, 3, 5]), min_size=1, max_size=4))
    classes = draw(st.integers(2, 3))
    values = [st.integers(0, 8) if d is None else st.integers(0, d - 1) for d in domains]
    one = st.tuples(*values, st.integers(0, 5))
    drawn = draw(st.lists(one, min_size=2, max_size=80))
    rows = [(*r[:-1], (r[0] + r[-1] // 4) % classes if r[-1] < 5 else r[-1] % classes) for r in drawn]
    return rows if len({r[-1] for r in rows}) > 1 else [
        *rows[1:],
        (*rows[0][:-1], (rows[0][-1] + 1) % classes),
    ], domains


@settings(max_examples=200, deadline=None)
@given(tables(), st.sampled_from([0.25, 1.0]))
@example(([(0, 0), (1, 1)], [2]), 0.25)
def test_same_tree(table, confidence):
    rows, domains = table
    if len({r[-1] for r in rows}) < 2:
        return
    fast, slow, _ = both(rows, domains, confidence)
    assert shape(fast) == slow.shape()


def _random(rng, n, domains, classes, noise):
    columns = [rng.integers(0, 12 if d is None else d, n) for d in domains]
    wanted = sum(columns[:3]) % classes
    label = np.where(rng.random(n) < noise, rng.integers(0, classes, n), wanted)
    return [(*(int(c[i]) for c in columns), int(label[i])) for i in range(n)]


def test_same_tree_on_larger_tables_with_every_kind_of_pruning():
    rng = np.random.default_rng(4)
    raised = cropped = 0
    for i in range(30):
        domains = [[None, 2, 3, 6][k] for k in rng.integers(0, 4, rng.integers(2, 6))]
        rows = _random(rng, int(rng.integers(50, 450)), domains, int(rng.integers(2, 4)), rng.uniform(0, 0.6))
        fast, slow, coded = both(rows, domains)
        assert shape(fast) == slow.shape(), i
        predicted = fast.predict(coded)
        assert predicted[:50].tolist() == [slow.predict(r) for r in slow.rows[:50]]
        raised, cropped = raised + slow.raised, cropped + slow.cropped
    assert raised > 10
    assert cropped > 50


def test_a_rare_value_does_not_enter_the_average_gain():
    """A name-like attribute has the greatest gain but too many values to count for the average."""
    rng = np.random.default_rng(7)
    rows = [(i % 30, int(rng.integers(0, 2)), 0) for i in range(60)]
    rows = [(a, b, int((b + (a % 7 == 0)) % 2)) for a, b, _ in rows]
    fast, slow, _ = both(rows, [30, 2])
    assert shape(fast) == slow.shape()
    assert not slow.usual[0]


def test_row_order_does_not_matter():
    rng = np.random.default_rng(11)
    rows = _random(rng, 400, [None, 3, 5, None], 3, 0.3)
    expected = shape(both(rows, [None, 3, 5, None])[0])
    for _ in range(5):
        shuffled = [rows[i] for i in rng.permutation(len(rows))]
        assert shape(both(shuffled, [None, 3, 5, None])[0]) == expected
