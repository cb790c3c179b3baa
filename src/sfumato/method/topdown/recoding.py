"""A table masked by a cut of each attribute: its labels, for its own rows and for others."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping
from sfumato.engine.local import as_published, recode
from sfumato.errors import DataError
from sfumato.kernel.topdown import state as r
from sfumato.method.topdown.search import RawStep, Refinement
from sfumato.release.scheme.group_labels import Box, Shown, name_boxes, recoded
from sfumato.table.encode import Attribute, Column, Kind, encode
from sfumato.table.microdata import Microdata
from sfumato.table.source import read_frame
from sfumato.table.taxonomy import SUPPRESSED, named


class Cut:
    """What each masked attribute shows after some refinements: a box for each code."""

    def __init__(self, refinement: Refinement, steps: Sequence[RawStep]) -> None:
        self._refinement = refinement
        self._of_code: list[NDArray[np.int64]] = []
        self._boxes: list[list[Box]] = []
        for i, column in enumerate(refinement.columns):
            shown = np.full(column.size, refinement.root(i), np.int64)
            for step in steps:
                if step.attribute == i:
                    self._apply(shown, step)
            labels, of_code = np.unique(shown, return_inverse=True)
            self._of_code.append(of_code.astype(np.int64))
            self._boxes.append([box(refinement, i, int(label)) for label in labels])

    def _apply(self, shown: NDArray[np.int64], step: RawStep) -> None:
        kept = step.parts[:1] if self._refinement.kind(step.attribute) == r.SET else step.parts
        for part in kept:
            lo, hi, _ = self._refinement.part(part)
            shown[lo:hi] = part

    def labels(self) -> dict[str, list[str]]:
        """The labels of each masked attribute, in the order of its values."""
        out: dict[str, list[str]] = {}
        for column, boxes, of_code in zip(self._refinement.columns, self._boxes, self._of_code, strict=True):
            texts = [label for label, _, _ in name_boxes(column.domain, boxes)]
            out[column.name] = list(dict.fromkeys(texts[i] for i in of_code))
        return out

    def decision(self, counts: Counts) -> tuple[Grouping, list[Shown]]:
        """Groups of rows that show the same: masked quasi-identifiers by their cut, others by their values."""
        masked = {c.name: i for i, c in enumerate(self._refinement.columns)}
        cuts = []
        for column in counts.quasi:
            if column.name in masked:
                i = masked[column.name]
                cuts.append((name_boxes(column.domain, self._boxes[i]), self._of_code[i]))
            else:
                values = [Box(c, c + 1) for c in range(column.size)]
                cuts.append((name_boxes(column.domain, values), np.arange(column.size)))
        return recoded(counts, cuts)

    def mask(self, rows: object) -> pl.DataFrame:
        """Rows with the masked attributes replaced by their labels; they need not be the table's own."""
        own = rows is self._refinement.table
        raw = rows if isinstance(rows, pl.DataFrame | Microdata) else read_frame(rows)
        frame = plain_frame(raw) if isinstance(raw, Microdata) else raw
        done = {}
        for i, column in enumerate(self._refinement.columns):
            if column.name not in frame.columns:
                raise DataError(f"the rows to mask have no column {column.name!r}; they have {named(frame.columns)}")
            texts = [label for label, _, _ in name_boxes(column.domain, self._boxes[i])]
            hides = self._refinement.kind(i) == r.SET
            codes = column.codes if own else codes_of(frame[column.name], column, hides=hides)
            labels = [*(texts[b] for b in self._of_code[i]), *([SUPPRESSED] if hides else [])]
            done[column.name] = recode(column.name, labels, codes, unseen=True)
        return pl.DataFrame([done.get(c.name, c) for c in frame.get_columns()])


def plain_frame(table: Microdata) -> pl.DataFrame:
    """Microdata as a frame: all columns by their values."""
    columns = [as_published(c) for c in table.columns.values()]
    return pl.DataFrame([*columns, *table.plain.get_columns()])


def box(refinement: Refinement, attribute: int, label: int) -> Box:
    """What a label covers, to be named."""
    part = refinement.part(label)
    rest = refinement.kind(attribute) == r.SET and label == refinement.root(attribute)
    return Box(part.lo, part.hi, part.node, rest)


def codes_of(series: pl.Series, column: Column, *, hides: bool) -> NDArray[np.int64]:
    """The codes of values in a known domain; a number gets the code of the next lower one in the domain.

    Values missing from a tree or an order are refused; if values are hidden (``hides``), an unknown one
    gets the code after the last.
    """
    domain = column.domain
    kind = Kind.CATEGORICAL if column.kind is Kind.ORDINAL else column.kind
    coded = encode(series, Attribute(name=column.name, role=column.role, kind=kind))
    if domain.ordered and coded.domain.ordered:
        if coded.domain.missing_apart and not domain.missing_apart:
            raise DataError(f"column {column.name!r} has missing values, but the masked table has none; fill them in")
        known, given = (d.numbers[: d.size - d.missing_apart] for d in (domain, coded.domain))
        place = np.clip(np.searchsorted(known, given, side="right") - 1, 0, None)
        return np.append(place, len(known))[coded.codes]
    code_of = np.array(domain.codes_of_values(coded.domain.leaves), np.int64)
    if not hides and (unknown := [v for v, code in zip(coded.domain.leaves, code_of, strict=True) if code < 0]):
        raise DataError(f"column {column.name!r} has {named(unknown)}, not in its taxonomy or domain; add it there")
    return np.where(code_of < 0, domain.size, code_of)[coded.codes]
