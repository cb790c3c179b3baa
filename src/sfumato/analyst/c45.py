"""C4.5, the decision tree used in the thesis (Quinlan, C4.5: Programs for Machine Learning, 1993; its
treatment of numbers: Improved Use of Continuous Attributes in C4.5, JAIR 4, 1996).

A node takes the test with the greatest gain ratio among those of at least average information gain. Categories
branch on every value; numbers, and intervals by their midpoints, on ``<= cut``, which costs log2(cuts tried) / rows of
the gain. Then subtrees are replaced, bottom up, by a leaf or their largest branch if the pessimistic error (upper
end of a confidence interval) is no greater. Not done: fractional rows for missing values, which are a value here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.analyst.features import Examples, Feature
from sfumato.kernel.c45 import tree as kernel
from sfumato.kernel.c45.grow import grow
from sfumato.kernel.c45.prune import prune
from sfumato.kernel.group import group_rows
from sfumato.requirement.base import share
from sfumato.table.ordered_domain import number_text

_SHARES = (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.00)
_DEVIATES = (4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.00)


@dataclass(frozen=True, kw_only=True)
class C45:
    """The learner; ``confidence`` is C4.5's CF: smaller values prune more, 1 does not prune."""

    confidence: float = 0.25

    def __post_init__(self) -> None:
        share("c45", "confidence", self.confidence)

    @property
    def deviation(self) -> float:
        """The square of the normal deviate of the confidence, interpolated between the values that C4.5 tabulates.

        >>> round(C45().deviation ** 0.5, 4)
        0.6925
        """
        return float(np.interp(self.confidence, _SHARES, _DEVIATES)) ** 2

    def fit(self, examples: Examples) -> "C45Tree":
        """Grow a tree on the training rows and prune it."""
        features, classes = examples.features, len(examples.classes)
        if not features:
            leaf = np.full((1, kernel.FIELDS), -1, np.int64)
            leaf[0, kernel.LEAF] = np.bincount(examples.label).argmax()
            return C45Tree((), examples.classes, leaf)
        codes, sizes, label, weight = _compressed(examples)
        nodes, rows = grow(codes, sizes, [f.numbers for f in features], label, weight, classes)
        if self.confidence < 1:
            prune(nodes, codes, label, weight, rows, classes, self.confidence, self.deviation)
        return C45Tree(features, examples.classes, nodes)

    def predict(self, examples: Examples) -> NDArray[np.int64]:
        """The class of each held-out row, by a tree grown on the training rows."""
        return self.fit(examples).predict(examples)


def _compressed(examples: Examples) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Distinct rows with how often they occur."""
    columns = [f.codes for f in examples.features]
    sizes = np.array([f.size for f in examples.features], np.int64)
    groups = group_rows([*columns, examples.label], [*sizes.tolist(), len(examples.classes)])
    return np.stack(columns)[:, groups.first], sizes, examples.label[groups.first], groups.size


@dataclass(frozen=True, eq=False)
class C45Tree:
    """A decision tree: what it tests, what it predicts."""

    features: tuple[Feature, ...]
    classes: tuple[str, ...]
    nodes: NDArray[np.int64]

    @property
    def root(self) -> str | None:
        """The attribute at the root; None if the tree is a single leaf."""
        test = int(self.nodes[0, kernel.TEST])
        return self.features[test].name if test >= 0 else None

    @property
    def leaves(self) -> int:
        """How many leaves there are, empty ones included."""
        return sum(self.nodes[node, kernel.TEST] < 0 for node, _, _ in self._walk())

    def predict(self, examples: Examples) -> NDArray[np.int64]:
        """The class of each held-out row; for an unseen category, the majority class of the node that tests it."""
        rows = len(examples.held_out)
        if not self.features:
            return np.full(rows, self.nodes[0, kernel.LEAF])
        return kernel.classify(self.nodes, np.stack([f.held_out for f in examples.features]))

    def lines(self) -> list[str]:
        """The tree as text, one line per branch, with sub-branches indented."""
        out = []
        for node, depth, branch in self._walk():
            leaf = self.nodes[node, kernel.TEST] < 0
            told = f": {self.classes[self.nodes[node, kernel.LEAF]]}" if leaf else ""
            if branch or leaf:
                out.append("    " * max(depth - 1, 0) + (branch + told).removeprefix(": "))
        return out

    def _walk(self) -> Iterator[tuple[int, int, str]]:
        """Every node from the top, with its depth and the branch that leads to it."""
        todo = [(0, 0, "")]
        while todo:
            node, depth, branch = todo.pop()
            yield node, depth, branch
            test, first, forks = (int(self.nodes[node, f]) for f in (kernel.TEST, kernel.FIRST, kernel.FORKS))
            if test >= 0:
                below = [(first + b, depth + 1, self._words(node, b)) for b in range(forks)]
                todo += reversed(below)

    def _words(self, node: int, branch: int) -> str:
        feature = self.features[self.nodes[node, kernel.TEST]]
        if feature.numbers is None:
            return f"{feature.name} = {feature.categories[branch]}"
        cut = number_text(float(feature.numbers[self.nodes[node, kernel.CUT]]))
        return f"{feature.name} {'>' if branch else '<='} {cut}"
