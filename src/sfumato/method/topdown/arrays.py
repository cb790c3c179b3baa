"""What the kernels of top-down refinement work on: the rows of each template, class counts, attributes as axes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, Counts, combine, count, totals
from sfumato.errors import DataError
from sfumato.kernel.group import EqualRows
from sfumato.kernel.topdown import state as r
from sfumato.kernel.topdown.scores import NOTHING
from sfumato.release.judgement import TableSchema
from sfumato.requirement.base import names
from sfumato.requirement.templates import Anonymity, PrivacyTemplate
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata

MOST_VALUES = 10_000
"""The most values that are disclosed one by one."""


class AttributeArrays(NamedTuple):
    """An attribute as the kernels see it; ``nodes`` are a tree's nodes, children side by side."""

    kind: int
    size: int
    nodes: list[int]
    labels: int
    cells: int


class TemplateRows(NamedTuple):
    """The distinct vectors of one template (codes, what is counted, multiplicity), and how it is judged."""

    names: list[str]
    rows: NDArray[np.int32]
    mode: int
    limit: int
    limits: NDArray[np.int64]
    now: tuple[int, int]

    @property
    def number(self) -> int:
        """How many vectors there are."""
        return int(self.rows.shape[1])


def template_rows(table: Microdata | Counts, template: PrivacyTemplate, schema: TableSchema) -> TemplateRows:
    columns = [c for c in table.quasi if c.name in names(template.x)]
    x, called = [Counted(c.codes, c.size) for c in columns], [c.name for c in columns]
    none = np.zeros((0, 2), np.int64)
    if isinstance(template, Anonymity) and not template.y:
        found = count(x)
        rows = _gathered(x, found.first, _sizes(found, table))
        return TemplateRows(called, rows, r.BY_SIZE, template.k, none, (table.rows, 1))
    if isinstance(template, Anonymity):
        y = combine([schema.counted(name) for name in names(template.y)])
        first = count([*x, y]).first
        first = first[np.argsort(y.codes[first], kind="stable")]
        rows = _gathered([*x, y], first, np.ones(len(first), np.int64))
        return TemplateRows(called, rows, r.BY_DISTINCT, template.k, none, (len(np.unique(y.codes)), 1))
    limits = template.limits(schema)
    sensitive = [_sensitive(schema, name, list(limits)) for name in dict.fromkeys(n for n, _ in limits)]
    found = count([*x, *sensitive])
    held = np.sum([totals(c, table.weights) for c in sensitive], axis=0)
    shares = np.array([(f.numerator, f.denominator) for f in limits.values()], np.int64)
    rows = _gathered([*x, *sensitive], found.first, _sizes(found, table))
    return TemplateRows(called, rows, r.BY_SHARE, 0, shares, (int(np.max(held[1:])), table.rows))


def _sizes(found: EqualRows, table: Microdata | Counts) -> NDArray[np.int64]:
    """How many rows each distinct vector has."""
    return totals(Counted(found.of_row, len(found.first)), table.weights)


def _sensitive(schema: TableSchema, name: str, values: list[tuple[str, str]]) -> Counted:
    """A column with the sensitive values numbered from 1 and 0 for all others."""
    leaves = schema.domain(name).leaves
    number = {value: i + 1 for i, (n, value) in enumerate(values) if n == name}
    told = np.array([number.get(leaf, 0) for leaf in leaves], np.int32)
    return Counted(told[schema.counted(name).codes], len(values) + 1)


def _gathered(columns: Sequence[Counted], chosen: NDArray[np.int64], weight: NDArray[np.int64]) -> NDArray[np.int32]:
    """Some rows of several columns and their weights, column by column."""
    out = np.empty((len(columns) + 1, len(chosen)), np.int32)
    for i, c in enumerate(columns):
        out[i] = c.codes[chosen]
    out[-1] = weight
    return out


def no_counts(modes: Iterable[int], labels: int) -> NDArray[np.int64]:
    """Initial bounds: the worst that refining each label would leave before anything is counted, and no leaf for it."""
    worst = [(0, 1, -1, -1) if mode == r.BY_SHARE else (NOTHING, 1, -1, -1) for mode in modes]
    return np.repeat(np.array(worst, np.int64).reshape(-1, 1, 4), labels, axis=1)


def class_counts(
    columns: Sequence[Column], class_column: Column | None, weights: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """For each attribute the class counts (and all rows, last) of the codes below each code.

    Two more rows follow: what is hidden (at first everything) and a work row.
    """
    classes = 0 if class_column is None else class_column.size
    parts = []
    for c in columns:
        out = np.zeros((c.size + 3, classes + 1), np.int64)
        if class_column is not None:
            both = Counted(c.codes.astype(np.int64) * classes + class_column.codes, c.size * classes)
            counts = totals(both, weights).reshape(c.size, classes)
            np.cumsum(counts, axis=0, out=out[1 : c.size + 1, :-1])
            out[:, -1] = out[:, :-1].sum(axis=1)
        else:
            np.cumsum(totals(Counted(c.codes, c.size), weights), out=out[1 : c.size + 1, 0])
        out[c.size + 1] = out[c.size]
        parts.append(out)
    return np.concatenate(parts)


def axis_of(column: Column, suppress: bool) -> AttributeArrays:
    domain = column.domain
    if domain.ordered:
        return AttributeArrays(r.LINE, domain.size, [], 2 * domain.size + 2, 2)
    if (suppress or domain.shown_or_suppressed) and domain.size > 1:
        if domain.size > MOST_VALUES:
            raise DataError(
                f"{column.name!r} has {domain.size:,} values and no taxonomy; at most {MOST_VALUES:,} values can be "
                "disclosed one by one: give it a taxonomy, make it continuous, or leave it out"
            )
        return AttributeArrays(r.SET, domain.size, [], domain.size + 1, domain.size)
    nodes = [0]
    for node in nodes:
        nodes.extend(domain.children[node])
    return AttributeArrays(
        r.TREE, domain.size, nodes, len(nodes), max(1, *(len(c) for c in domain.children)) if nodes else 1
    )
