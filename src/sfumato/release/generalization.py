"""The generalization scheme: each group shows one label for each quasi-identifier."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.local import recode
from sfumato.kernel.arrange import by_group
from sfumato.kernel.axes import Axis, Space, make_space, summarize
from sfumato.table.encode import Column, Domain
from sfumato.table.microdata import Microdata
from sfumato.table.ordered_domain import MISSING, OrderedDomain
from sfumato.table.taxonomy import SUPPRESSED, Taxonomy

Meaning = list[Any] | None


@dataclass(frozen=True)
class Shown:
    """What a quasi-identifier shows: a label a row, what each label means, and the share that it hides.

    ``hidden[i]`` is the share of the domain that the label of row ``i`` covers, 0 for one value.
    """

    column: pl.Series
    nodes: dict[str, Meaning]
    hidden: NDArray[np.float64]


def axis_of(domain: Domain, *, sets: bool) -> Axis:
    """A domain as an axis for the kernels; ``sets``: whether some children of a node can be shown."""
    if isinstance(domain, OrderedDomain):
        return Axis(domain.size, position=domain.position)
    return Axis(
        domain.size,
        lo=domain.lo,
        hi=domain.hi,
        parent=domain.parent,
        children=domain.children,
        leaf_node=domain.leaf_nodes,
        sets=sets and not domain.shown_or_suppressed,
    )


def space_of(columns: list[Column], *, sets: bool) -> Space:
    """The axes of the quasi-identifiers."""
    return make_space([axis_of(c.domain, sets=sets) for c in columns])


def show(table: Microdata, group_of_row: NDArray[np.int64], groups: int, *, sets: bool) -> list[Shown]:
    """The narrowest label of each group on each quasi-identifier, spread over the rows."""
    quasi = table.quasi
    rows, starts = by_group([c.codes for c in quasi], group_of_row, groups)
    summary = summarize(space_of(quasi, sets=sets), rows, starts, table.rows)
    return [_shown(c, summary[:, j], group_of_row) for j, c in enumerate(quasi)]


def _shown(column: Column, summary: NDArray[np.int64], group_of_row: NDArray[np.int64]) -> Shown:
    """Name the distinct boxes of one attribute once, then look them up."""
    frame = pl.DataFrame({"lo": summary[0], "hi": summary[1], "node": summary[2], "mask": summary[3]})
    if isinstance(column.domain, Taxonomy):
        frame = frame.with_columns(
            lo=pl.when(pl.col("lo") == pl.col("hi")).then("lo").otherwise(-1),
            hi=pl.when(pl.col("lo") == pl.col("hi")).then("hi").otherwise(-1),
        )
    numbered = frame.with_columns(box=pl.struct(pl.all()).rank("dense") - 1)
    boxes = numbered.unique("box").sort("box")
    labels, meanings, hidden = [], [], []
    for lo, hi, node, mask in boxes.select("lo", "hi", "node", "mask").iter_rows():
        label, meaning, share = _box(column.domain, lo, hi, node, mask)
        labels.append(label)
        meanings.append(meaning)
        hidden.append(share)
    labels = told_apart(labels, meanings)
    box_of_row = numbered["box"].to_numpy()[group_of_row]
    return Shown(
        recode(column.name, labels, box_of_row),
        dict(sorted(zip(labels, meanings, strict=True), key=lambda pair: pair[0])),
        np.array(hidden)[box_of_row],
    )


class Box(NamedTuple):
    """What a label of a cut covers: an interval or a value (the codes [lo, hi)), a node of a tree, a hidden rest."""

    lo: int
    hi: int
    node: int = -1
    rest: bool = False


def name_boxes(domain: Domain, boxes: Sequence[Box]) -> list[tuple[str, Meaning, float]]:
    """Label, meaning and hidden share of each box of a cut; intervals reach up to the next."""
    named = [_cut_box(domain, box) for box in boxes]
    labels = told_apart([n[0] for n in named], [n[1] for n in named])
    return [(label, meaning, share) for label, (_, meaning, share) in zip(labels, named, strict=True)]


def _cut_box(domain: Domain, box: Box) -> tuple[str, Meaning, float]:
    if box.rest:
        return SUPPRESSED, None, (box.hi - box.lo) / domain.size
    if not isinstance(domain, OrderedDomain):
        node = box.node if box.node >= 0 else int(domain.leaf_nodes[box.lo])
        single = domain.hi[node] - domain.lo[node] == 1
        return _box(domain, box.lo if single else -1, box.lo if single else -1, node, 0)
    label = domain.interval(box.lo, box.hi)
    meaning = None if label == SUPPRESSED else domain.interval_meaning(box.lo, box.hi)
    return label, meaning, domain.share(box.lo, box.hi)


def show_cut(column: Column, boxes: Sequence[Box], box_of_code: NDArray[np.int64]) -> Shown:
    """One attribute by a cut that is the same for all rows."""
    named = name_boxes(column.domain, boxes)
    occurring = np.zeros(len(boxes), np.bool_)
    box_of_row = box_of_code[column.codes]
    occurring[box_of_row] = True
    nodes = {label: meaning for (label, meaning, _), here in zip(named, occurring, strict=True) if here}
    return Shown(
        recode(column.name, [n[0] for n in named], box_of_row),
        dict(sorted(nodes.items())),
        np.array([n[2] for n in named])[box_of_row],
    )


def told_apart(labels: list[str], meanings: list[Meaning]) -> list[str]:
    """Labels that read alike and mean different things get a number; what hides all keeps its label.

    >>> told_apart(["a", "*", "*"], [["a"], ["*"], None])
    ['a', '* (2)', '*']
    """
    owner: dict[str, Meaning] = {}
    out = list(labels)
    for i in sorted(range(len(labels)), key=lambda i: meanings[i] is not None):
        number = 2
        while out[i] in owner and owner[out[i]] != meanings[i]:
            out[i], number = f"{labels[i]} ({number})", number + 1
        owner[out[i]] = meanings[i]
    return out


def _box(domain: Domain, lo: int, hi: int, node: int, mask: int) -> tuple[str, Meaning, float]:
    """The label of a box, its meaning for the manifest, and the share of the domain that it hides."""
    if isinstance(domain, OrderedDomain):
        label = domain.label(lo, hi + 1)
        return label, None if label == SUPPRESSED else domain.meaning(lo, hi + 1), domain.share(lo, hi + 1)
    if lo >= 0:
        value = domain.leaves[lo]
        return value, _tree_meaning(domain, value, [lo]), 0.0
    mask = 0 if _lists_values(domain, node, mask) else mask
    codes = domain.codes_of(node, mask)
    label = domain.label(node, mask)
    return label, _tree_meaning(domain, label, codes, node, mask), len(codes) / domain.size


def _lists_values(tree: Taxonomy, node: int, mask: int) -> bool:
    """Whether a set of children would name values of a tree built from the data: somebody may be alone with one."""
    below = tree.some_children(node, mask) if tree.derived else []
    return any(child in tree.leaf_nodes and tree.labels[child] != MISSING for child in below)


def as_shown(tree: Taxonomy, node: int) -> tuple[str, Meaning, float]:
    """The label of a node that is shown as it is, its meaning for the manifest, and the share that it hides."""
    if node in tree.leaf_nodes:
        return _box(tree, int(tree.lo[node]), int(tree.lo[node]), node, 0)
    codes = tree.codes_of(node)
    label, share = tree.labels[node], 0.0 if len(codes) == 1 else len(codes) / tree.size
    if tree.derived and tree.intervals is None:
        return label, None, share
    return label, _tree_meaning(tree, label, codes, node), share


def _tree_meaning(tree: Taxonomy, label: str, codes: list[int], node: int = 0, mask: int = 0) -> Meaning:
    """The values below a label, unless listing them would tell which values occur; of intervals, their bounds."""
    parts = [tree.labels[c] for c in tree.some_children(node, mask)] if mask else [label]
    if tree.intervals is not None:
        bounds = [tree.intervals[p] for p in parts if p in tree.intervals]
        joined = _joined(bounds) if len(bounds) == len(parts) else None
        if joined is not None or (not mask and len(codes) > 1):
            return joined
    if tree.derived:
        return parts if mask or len(codes) == 1 else None
    return [tree.leaves[c] for c in codes]


def _joined(parts: list[tuple[float, float]]) -> Meaning:
    """Neighbouring intervals as one; None where there is a gap."""
    if any(a[1] != b[0] for a, b in pairwise(parts)):
        return None
    return [parts[0][0], parts[-1][1]]


def as_published(column: Column) -> pl.Series:
    """A column that is published as it is: numbers and dates by their type, all else by its text."""
    if not isinstance(column.domain, OrderedDomain) or column.domain.form == "word":
        return recode(column.name, column.domain.leaves, column.codes)
    numbers = pl.Series(column.name, [*column.domain.values, None][: column.size], dtype=pl.Float64)
    if column.domain.form == "date":
        return numbers.cast(pl.Int32).cast(pl.Date).gather(pl.Series(column.codes))
    if column.domain.step == 1.0:
        numbers = numbers.cast(pl.Int64)
    return numbers.gather(pl.Series(column.codes))
