"""The generalization scheme: each group shows one label for each quasi-identifier."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.local import recode
from sfumato.kernel.arrange import by_group
from sfumato.kernel.axes import Axis, Space, make_space, summarize
from sfumato.table.domain import BoxLabel, Domain
from sfumato.table.domain import Meaning as Meaning
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata
from sfumato.table.names import SUPPRESSED


@dataclass(frozen=True)
class Shown:
    """What a quasi-identifier shows: a label a row, what each label means, and the share that it hides.

    ``hidden[i]`` is the share of the domain that the label of row ``i`` covers, 0 for one value.
    """

    column: pl.Series
    nodes: dict[str, Meaning]
    hidden: NDArray[np.float64]


def space_of(columns: list[Column], *, sets: bool) -> Space:
    """The axes of the quasi-identifiers."""
    return make_space([Axis(**c.domain.axis(sets=sets)) for c in columns])


def show(table: Microdata, group_of_row: NDArray[np.int64], groups: int, *, sets: bool) -> list[Shown]:
    """The narrowest label of each group on each quasi-identifier, spread over the rows."""
    quasi = table.quasi
    rows, starts = by_group([c.codes for c in quasi], group_of_row, groups)
    summary = summarize(space_of(quasi, sets=sets), rows, starts, table.rows)
    return [_shown(c, summary[:, j], group_of_row) for j, c in enumerate(quasi)]


def _shown(column: Column, summary: NDArray[np.int64], group_of_row: NDArray[np.int64]) -> Shown:
    """Name the distinct boxes of one attribute once, then look them up."""
    frame = pl.DataFrame({"lo": summary[0], "hi": summary[1], "node": summary[2], "mask": summary[3]})
    if not column.domain.ordered:  # a node is the same label whichever leaves are below it
        frame = frame.with_columns(
            lo=pl.when(pl.col("lo") == pl.col("hi")).then("lo").otherwise(-1),
            hi=pl.when(pl.col("lo") == pl.col("hi")).then("hi").otherwise(-1),
        )
    numbered = frame.with_columns(box=pl.struct(pl.all()).rank("dense") - 1)
    boxes = numbered.unique("box").sort("box")
    labels, meanings, hidden = [], [], []
    for lo, hi, node, mask in boxes.select("lo", "hi", "node", "mask").iter_rows():
        label, meaning, share = column.domain.box(lo, hi, node, mask)
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


def name_boxes(domain: Domain, boxes: Sequence[Box]) -> list[BoxLabel]:
    """Label, meaning and hidden share of each box of a cut; intervals reach up to the next."""
    named = [_cut_box(domain, box) for box in boxes]
    labels = told_apart([n[0] for n in named], [n[1] for n in named])
    return [box._replace(label=label) for label, box in zip(labels, named, strict=True)]


def _cut_box(domain: Domain, box: Box) -> BoxLabel:
    if box.rest:
        return BoxLabel(SUPPRESSED, None, (box.hi - box.lo) / domain.size)
    return domain.cut_label(box.lo, box.hi, box.node)


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


def as_published(column: Column) -> pl.Series:
    """A column that is published as it is: numbers and dates by their type, all else by its text."""
    values = column.domain.typed_values()
    if values is None:
        return recode(column.name, column.domain.leaves, column.codes)
    return values.alias(column.name).gather(pl.Series(column.codes))
