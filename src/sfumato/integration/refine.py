"""TDS2P (Fung, Algorithm 5): two publishers refine one table together, each seeing only labels of the other's columns.

In each round both find their best candidate by themselves, a secure comparison tells whose is better, its holder
instructs the other, who checks the instruction before following it: exactly the records under the refined label, and
every template holds afterwards. Steps and ties are those of TDR on the joined table.
"""

import struct
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PeerError
from sfumato.integration.channel import Channel
from sfumato.integration.common_table import CommonTable, first_of, groups_of
from sfumato.integration.instruction import Instruction, decode, longest
from sfumato.integration.mirror import Candidate, PartyRefinement
from sfumato.integration.wire import Message, Reason, letter
from sfumato.method.base import STEP, Progress, silent
from sfumato.method.topdown.recoding import box
from sfumato.release.scheme.group_labels import name_boxes
from sfumato.table.domain import BoxLabel

SCORE_BITS = 63
"""The number of bits of the scores that are compared."""


Compare = Callable[[Channel, int | None], int]
"""Finds the party with the greater score without revealing either; of equals, and of two without one, it is party A."""


def comparable(score: float) -> int:
    """A score as a positive integer of `SCORE_BITS` bits, in the same order: the bits of the number, plus one.

    >>> comparable(0.0), comparable(0.25) < comparable(0.5), comparable(2.0**63).bit_length()
    (1, True, 63)
    """
    return int(struct.unpack(">q", struct.pack(">d", score))[0]) + 1


class JointRefinement:
    """The refinement of two tables as one side conducts it."""

    def __init__(
        self,
        channel: Channel,
        own: PartyRefinement,
        common: CommonTable,
        *,
        compare: Compare,
        progress: Progress = silent,
    ) -> None:
        self.channel = channel
        self.own = own
        self.common = common
        self.compare = compare
        self.progress = progress
        self._number = {own.root(i): 0 for i in range(len(own.columns)) if not own.is_mirror(i)}
        self._mirror = {(i, 0): own.root(i) for i in range(len(own.columns)) if own.is_mirror(i)}
        self._unconfirmed = False
        self._shares = {
            i: [label.share for label in named_labels(own, i, [own.root(i)])]
            for i in range(len(own.columns))
            if not own.is_mirror(i)
        }

    def run(self) -> None:
        """Refine until neither side has a valid and beneficial candidate.

        If the other side fails, an own refinement that it may not have followed is taken back.
        """
        try:
            while self._round():
                pass
        except BaseException:
            if self._unconfirmed:
                self.common.undo()
            raise

    def losses(self) -> dict[str, float]:
        """The average share of the domain that the labels of each own attribute hide, as a manifest states it."""
        groups = groups_of(self.common)
        sizes, first = np.bincount(groups.of_row), first_of(groups)
        found = {}
        for i, shares in self._shares.items():
            of_group = np.array(shares)[self.common.of_record[i][first]]
            found[self.common.names[i]] = round(float(np.average(of_group, weights=sizes)), 4)
        return found

    def _round(self) -> bool:
        """One refinement; returns False if no candidate is left on either side."""
        with self.channel.computing():
            mine = self.own.best()
        winner = self.compare(self.channel, comparable(mine.score) if mine else None)
        self._unconfirmed = False
        if winner == self.channel.party:
            return self._instruct(mine)
        received = self.channel.receive(Message.INSTRUCTION, at_most=longest(self.common.records))
        # if neither has a candidate, the lower party wins; otherwise the winner has one
        if not received and (mine is not None or self.channel.peer > self.channel.party):
            raise self._bad("it says that nothing is left to refine, but the comparison says otherwise")
        if received:
            self._follow(self._decoded(received))
        return bool(received)

    def _decoded(self, received: bytes) -> Instruction:
        try:
            return decode(received, most_records=self.common.records)
        except PeerError as error:
            raise self._bad(str(error)) from None

    def _bad(self, words: str) -> PeerError:
        """Give up because of an instruction that contradicts what both know, or would break a template."""
        return self.channel.fail(Reason.BAD_INSTRUCTION, f"party {letter(self.channel.peer)}: {words}")

    def _instruct(self, mine: Candidate | None) -> bool:
        """Send the own best refinement and perform it; without one, say so."""
        if mine is None:
            self.channel.send(Message.INSTRUCTION, b"")
            return False
        with self.channel.computing():
            label = self._number[self.own.shown_label(mine)]
            records, part = self.own.parts_of(mine)
            there, part = np.unique(part, return_inverse=True)  # parts that no record falls into stay unknown
            parts = self.own.perform(mine)
            labels = named_labels(self.own, mine.attribute, [parts[i] for i in there])
            told = Instruction(mine.attribute, label, part, without_shares(labels))
        self.channel.send(Message.INSTRUCTION, told.encode())
        self._unconfirmed = True
        numbers = self._apply(told, records)
        self._shares[mine.attribute] += [each.share for each in labels]
        self._number.update(zip((parts[i] for i in there), numbers, strict=True))
        return True

    def _follow(self, told: Instruction) -> None:
        """Check an instruction and follow it."""
        key = (told.attribute, told.label)
        records = self._records_of(told)
        with self.channel.computing():
            labels = self.own.follow(told.attribute, self._mirror[key], len(told.labels), records, told.part)
        if labels is None:
            raise self._bad("an instruction of the other publisher would break a requirement; it was not followed")
        del self._mirror[key]
        for number, label in zip(self._apply(told, records), labels, strict=True):
            self._mirror[told.attribute, number] = label

    def _records_of(self, told: Instruction) -> NDArray[np.int64]:
        """The records that an instruction is about, if it divides exactly those under a label of the other side."""
        if (told.attribute, told.label) not in self._mirror:
            raise self._bad("an instruction is about a label that no record shows, or that this side holds")
        records = self.common.records_under(told.attribute, told.label)
        if len(records) != len(told.part):
            raise self._bad(
                f"an instruction divides {len(told.part)} records, but {len(records)} are under the refined label"
            )
        if not np.array_equal(np.unique(told.part), np.arange(len(told.labels))):
            raise self._bad("the parts of an instruction must each have a record, and each record one of the parts")
        return records

    def _apply(self, told: Instruction, records: NDArray[np.int64]) -> range:
        before = self.common.labels[told.attribute][told.label]
        numbers = self.common.refine(told.attribute, records, told.part, told.labels)
        if self.progress is not silent:
            self.progress(self._words(told, before), 0.0)
        return numbers

    def _words(self, told: Instruction, before: BoxLabel) -> str:
        """A refinement as one line."""
        held = self.channel.peer if self.own.is_mirror(told.attribute) else self.channel.party
        names = [_printable(label.label) for label in told.labels]
        to = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        attribute = _printable(self.common.names[told.attribute])
        return f"{STEP}{self.common.steps}: {attribute} {_printable(before.label)} → {to}; held by {letter(held)}"


def _printable(text: str) -> str:
    """A text of the other publisher on a terminal: nothing in it can steer that."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def without_shares(labels: Sequence[BoxLabel]) -> list[BoxLabel]:
    """Labels as both sides know them, in the form in which they travel."""
    return [BoxLabel(b.label, None if b.meaning is None else list(b.meaning), 0.0) for b in labels]


def named_labels(own: PartyRefinement, attribute: int, labels: list[int]) -> list[BoxLabel]:
    """What own labels are called, what they mean and which share of the domain they hide."""
    domain = own.columns[attribute].domain
    return [name_boxes(domain, [box(own, attribute, label)])[0] for label in labels]
