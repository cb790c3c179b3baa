"""What both publishers know at any time: the label of each record on each masked attribute. Equal on both sides."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.decision import Groups
from sfumato.kernel.group import group_rows
from sfumato.table.domain import BoxLabel


class CommonTable:
    """The table after some refinements, by records in their joint order.

    Labels of an attribute are numbered as they were revealed, from 0, the label that it starts with. A number is never
    used again.
    """

    def __init__(self, names: Sequence[str], roots: Sequence[BoxLabel], records: int) -> None:
        self.names = list(names)
        self.records = records
        self.labels = [[root] for root in roots]
        self.of_record = [np.zeros(records, np.int32) for _ in names]
        self.steps = 0
        self._last: tuple[int, NDArray[np.int32], int] | None = None

    def records_under(self, attribute: int, label: int) -> NDArray[np.int64]:
        """The records that show a label."""
        return np.flatnonzero(self.of_record[attribute] == label)

    def refine(
        self, attribute: int, records: NDArray[np.int64], part: NDArray[np.int64], labels: Sequence[BoxLabel]
    ) -> range:
        """Let records show the parts of their label; returns the numbers of the new labels."""
        before, first = self.of_record[attribute], len(self.labels[attribute])
        after = before.copy()
        after[records] = first + part
        self._last = attribute, before, first
        self.of_record[attribute] = after
        self.labels[attribute] = [*self.labels[attribute], *labels]
        self.steps += 1
        return range(first, first + len(labels))

    def undo(self) -> None:
        """Take back the last refinement; only the last one can be taken back."""
        if self._last is None:
            raise ValueError("there is no refinement to take back")
        attribute, before, labels = self._last
        self.of_record[attribute] = before
        self.labels[attribute] = self.labels[attribute][:labels]
        self.steps -= 1
        self._last = None

    def digest(self) -> bytes:
        """A digest of the table, to be compared with the other publisher's."""
        found = hashlib.sha256()
        for name, labels, of_record in zip(self.names, self.labels, self.of_record, strict=True):
            found.update(repr((name, [tuple(label) for label in labels])).encode())
            found.update(of_record.astype("<i4").tobytes())
        return found.digest()


def groups_of(common: CommonTable) -> Groups:
    """The group of each record: those that show the same labels."""
    found = group_rows(list(common.of_record), [len(labels) for labels in common.labels])
    return Groups(found.of_row, len(found.first))


def first_of(groups: Groups) -> NDArray[np.int64]:
    """The first record of each group."""
    first = np.zeros(groups.number, np.int64)
    first[groups.of_row[::-1]] = np.arange(len(groups.of_row))[::-1]
    return first
