"""A condition split into classes: values of an attribute that no comparison distinguishes form a class."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.analyst.condition import AttributeCondition, Condition, Truth, comparisons, evaluate
from sfumato.analyst.view import AttributeView
from sfumato.errors import PolicyError
from sfumato.table.distortion import Floats

Look = Callable[[str], AttributeView]

_MOST_CLASSES = 1_000_000
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Touched:
    """An attribute that a condition mentions: its values cut as needed, and the class of each of them."""

    view: AttributeView
    which: NDArray[np.int64]
    classes: int

    def shares(self) -> Floats:
        """The weight of each class given what is shown: shown x classes."""
        return self.view.classes(self.which, self.classes)

    def allowed(self) -> Floats:
        """1 where what is shown allows a class: shown x classes."""
        return self.view.allowed(self.which, self.classes)


class Plan:
    """A condition over the classes of the attributes it mentions.

    ``truth`` has one axis per touched attribute, in the order of ``touched``: first those that are also grouped by,
    then the others. So a query over many large domains needs a table of a few classes, never of the values.
    """

    def __init__(self, look: Look, where: Condition, grouped: Sequence[str]) -> None:
        mentioned: dict[str, list[AttributeCondition]] = {}
        for c in comparisons(where):
            mentioned.setdefault(c.attribute, []).append(c)
        self.shared = [n for n in mentioned if n in grouped]
        self.others = [n for n in mentioned if n not in grouped]
        self.touched: dict[str, Touched] = {}
        known: dict[AttributeCondition, Truth] = {}
        order = self.shared + self.others
        for axis, name in enumerate(order):
            view = look(name).cut(mentioned[name], grouped=name in grouped)
            truths = np.stack([view.values.truth(c) for c in mentioned[name]])
            classes, which = np.unique(truths, axis=1, return_inverse=True)
            self.touched[name] = Touched(view, which.ravel(), classes.shape[1])
            for c, row in zip(mentioned[name], classes, strict=True):
                known[c] = row.reshape([-1 if a == axis else 1 for a in range(len(order))])
        shape = [self.touched[n].classes for n in order]
        if math.prod(shape) > _MOST_CLASSES:
            raise PolicyError(
                f"the condition distinguishes {math.prod(shape):,} cases, which is too many; ask for less at a time"
            )
        self.truth: NDArray[np.bool_] = np.broadcast_to(evaluate(where, known), shape)
        self.by = {n: self.touched[n].view if n in self.touched else look(n).cut([], grouped=True) for n in grouped}

    @property
    def seen(self) -> list[Touched]:
        """The attributes that are not grouped by."""
        return [self.touched[n] for n in self.others]

    def values_of(self, name: str, chosen: Sequence[int]) -> NDArray[np.int64]:
        """The values of a grouped attribute that belong to the chosen classes of the shared ones."""
        if name not in self.shared:
            return np.arange(len(self.by[name].values.texts))
        return np.flatnonzero(self.touched[name].which == chosen[self.shared.index(name)])

    def cell(self, values: Sequence[int]) -> tuple[list[Touched], NDArray[np.bool_]]:
        """The attributes of one combination of values of those that are grouped by, and when a row belongs to it."""
        chosen = tuple(int(self.touched[n].which[v]) for n, v in zip(self.by, values, strict=True) if n in self.shared)
        order = [n for n in self.by if n in self.shared]
        truth = self.truth[tuple(chosen[order.index(n)] for n in self.shared)]
        pairs = zip(self.by.values(), values, strict=True)
        one = [Touched(s, (np.arange(len(s.values.texts)) == v).astype(np.int64), 2) for s, v in pairs]
        belongs = np.zeros([2] * len(one), np.bool_)
        belongs[(1,) * len(one)] = True
        return [*self.seen, *one], truth[(..., *[None] * len(one))] & belongs


def contracted(tables: Sequence[Floats], codes: Sequence[NDArray[Any]], truth: NDArray[Any]) -> Floats:
    """For each row, the sum of truth over the classes, weighted by the tables (shown x classes) of what it shows.

    Trailing axes of ``truth`` beyond the tables are kept.

    >>> contracted([np.array([[0.25, 0.75]])], [np.array([0, 0])], np.array([True, False])).tolist()
    [0.25, 0.25]
    """
    kept = truth.shape[len(tables) :]
    out = np.empty((len(codes[0]), *kept))
    for first in range(0, len(out), _BLOCK):
        rows = slice(first, first + _BLOCK)
        part: Any = tables[0][codes[0][rows]] @ truth.reshape(truth.shape[0], -1).astype(np.float64)
        for table, code, size in zip(tables[1:], codes[1:], truth.shape[1:], strict=False):
            part = np.einsum("gc,gcr->gr", table[code[rows]], part.reshape(len(part), size, -1))
        out[rows] = part.reshape(len(part), *kept)
    return out
