"""Two publishers, one release: agree, align the records, refine together, put the rows together (Fung, chapter 7)."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import Infeasible, PeerError, PolicyError, ReleaseError, SfumatoError
from sfumato.integration.agreement import Joint, agree, linked
from sfumato.integration.alignment import by_intersection, by_record_id
from sfumato.integration.channel import Channel
from sfumato.integration.coin import joint_randomness
from sfumato.integration.columns import exchange_columns, exchange_losses
from sfumato.integration.common_table import CommonTable, groups_of
from sfumato.integration.contribution import Contribution
from sfumato.integration.mirror import PartyRefinement, mirrored
from sfumato.integration.refine import SCORE_BITS, Compare, JointRefinement
from sfumato.integration.release import JointRelease
from sfumato.integration.rows import PublishedRows, decode_rows, encode_rows, in_joint_order, longest
from sfumato.integration.secure_comparison import greater
from sfumato.integration.wire import Message, Reason
from sfumato.method.base import Progress, silent
from sfumato.method.topdown.search import SCORES
from sfumato.method.topdown.templates import bound_to, refuse_unmet, templates_of
from sfumato.release.describe import attribute_entries
from sfumato.release.judgement import TableSchema
from sfumato.release.release import Release
from sfumato.requirement.templates import Anonymity
from sfumato.table.encode import Column, Role
from sfumato.table.microdata import Microdata
from sfumato.table.occurring import occurring

_DIGEST = 32
_OTHER_CLASS = (
    "the two tables disagree on the class of some record, or declare its values differently; both sides must have the "
    "same class for each record"
)
_OTHER_TABLE = "the tables that the two sides hold after the last refinement differ; nothing is published"


def compare_securely(channel: Channel, value: int | None) -> int:
    """The party with the greater score, by the secure comparison."""
    return greater(channel, value, bits=SCORE_BITS)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What one side holds once the records are aligned; ``common`` changes as the table is refined."""

    joint: Joint
    table: Microdata
    """This side's rows of the joint records, in the joint order."""
    own: PartyRefinement
    common: CommonTable
    parts: JointRelease
    seed: bytes

    @property
    def classes(self) -> NDArray[np.int64] | None:
        """The class of each record."""
        column = self.parts.class_column
        return None if column is None else column.codes.astype(np.int64)

    def rows_by_seed(self) -> PublishedRows:
        """The rows in an order that both sides drew together; only if no column is published unchanged."""
        return in_joint_order(groups_of(self.common).of_row, self.classes, self.seed)


@dataclass
class Integration:
    """The work of one side; what it holds survives an error."""

    channel: Channel
    mine: Contribution
    progress: Progress = silent
    compare: Compare = compare_securely
    held: Prepared | None = None
    complete: bool = False
    """Whether nothing is left to refine."""

    def run(self) -> Release:
        """Everything up to the release, which is the same on both sides. An error ends the conversation."""
        with self.ending():
            self.held = self._prepared()
            mine = self._refine(self.held)
            losses = exchange_losses(self.channel, mine, self.held.joint.offers[self.channel.peer].masked)
            return self._closed(self.held, losses)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Tell the other side if this one gives up."""
        try:
            yield
        except BaseException as error:
            self.channel.abort(_reason(error))
            raise

    def last_common(self) -> Release | None:
        """After an error: the table after the last refinement that both sides took, if there was one.

        Without the other side it can be put together only if no column is published unchanged.
        """
        if self.held is None or not self.held.common.steps or self.held.joint.holder is not None:
            return None
        try:
            return self.held.parts.build(self.held.common, self.held.rows_by_seed(), None, stopped=not self.complete)
        except ReleaseError:  # the other side's labels contradict each other: there is no table to keep
            return None

    def prepared(self) -> Prepared:
        """What this side holds, once the records are aligned."""
        if self.held is None:
            raise SfumatoError("the records are not aligned yet; please report this")
        return self.held

    def compare_digests(self, mine: bytes, words: str) -> None:
        """Raise on both sides if the two do not have the same."""
        if not self.same_digest(mine):
            raise self.channel.fail(Reason.DATA_DIFFERS, words)

    def same_digest(self, mine: bytes) -> bool:
        """Whether both sides have the same."""
        return self.channel.exchange(Message.DIGEST, mine, exactly=_DIGEST) == mine

    def _prepared(self) -> Prepared:
        """Agree on everything, align the records, and set up the refinement."""
        mine, channel = self.mine, self.channel
        self.progress("agree", 0.0)
        joint = agree(channel, mine.terms(), mine.offer(), mine.requirements, mine.class_name)
        self.progress("align", 0.0)
        table = self._aligned()
        seed = joint_randomness(channel, "order of rows")
        class_column = next(iter(table.with_role(Role.CLASS)), None)
        self.compare_digests(_class_digest(class_column, seed), _OTHER_CLASS)
        with channel.computing():
            own = self._refinement(joint, table)
        columns = exchange_columns(channel, own, joint.offers[channel.peer].masked)
        common = CommonTable(joint.masked, [columns[n].root for n in joint.masked], table.rows)
        parts = JointRelease(mine.method, mine.requirements, columns, class_column, mine.title, mine.spreadsheet)
        return Prepared(joint, table, own, common, parts, seed)

    def _aligned(self) -> Microdata:
        """This side's rows of the joint records, in the joint order."""
        keys = self.mine.keys()
        if self.mine.intersect:
            rows = by_intersection(self.channel, keys, lambda done: self.progress("align", done))
        else:
            rows = by_record_id(self.channel, keys)
        if not len(rows):
            raise Infeasible("the two tables have no record in common; check that both use the same key")
        return taken(self.mine.table, rows)

    def _refinement(self, joint: Joint, table: Microdata) -> PartyRefinement:
        """The state of the own attributes and mirrors of the others, with the templates that this side can judge."""
        theirs, method = joint.offers[self.channel.peer], self.mine.method
        both = {**table.columns, **mirrored(theirs.masked, table.rows)}
        rest = {n: c for n, c in table.columns.items() if c.role is not Role.QUASI}
        sides = replace(table, columns={n: both[n] for n in joint.masked} | rest)
        wanted = [r for r in self.mine.requirements if not {*linked(r)} & {*theirs.unchanged}]
        bound = bound_to(wanted or [Anonymity(x=joint.masked, k=1)], sides, method.name)
        refuse_unmet(bound, sides)
        templates, _ = templates_of(bound, TableSchema(sides))
        suppress = method.categorical == "suppress"
        return PartyRefinement(sides, templates, SCORES[method.score], suppress=suppress, mirrors=theirs.masked)

    def _refine(self, held: Prepared) -> dict[str, float]:
        """Refine to the end; returns the losses of the own attributes."""
        self.progress("steps", 0.0)
        joint = JointRefinement(self.channel, held.own, held.common, compare=self.compare, progress=self.progress)
        joint.run()
        self.compare_digests(held.common.digest(), _OTHER_TABLE)
        self.complete = True
        return joint.losses()

    def _closed(self, held: Prepared, losses: Mapping[str, float]) -> Release:
        """Put the rows together and describe them."""
        self.progress("labels", 0.0)
        rows = held.rows_by_seed() if held.joint.holder is None else self._rows(held, held.joint.holder)
        try:
            with self.channel.computing():
                return held.parts.build(held.common, rows, losses)
        except ReleaseError as error:
            raise self.channel.fail(Reason.DATA_DIFFERS, f"the joint release does not hold: {error}") from None

    def _rows(self, held: Prepared, holder: int) -> PublishedRows:
        """The rows as the holder of the unchanged columns puts them together."""
        columns, records = held.joint.offers[holder].unchanged, held.common.records
        groups = groups_of(held.common).of_row
        if holder == self.channel.party:
            with self.channel.computing():
                data = encode_rows(groups, held.classes, held.table)
            self.channel.send(Message.RECORD_VALUES, data)
        else:
            data = self.channel.receive(Message.RECORD_VALUES, at_most=longest(records, len(columns)))
        column = held.parts.class_column
        try:
            rows = decode_rows(data, records=records, columns=columns, classes=None if column is None else column.size)
            _refuse_other_rows(rows, groups, held.classes)
        except PeerError as error:
            raise self.channel.fail(Reason.BAD_MESSAGE, str(error)) from None
        return rows


def _reason(error: BaseException) -> Reason:
    """Why this side gives up, as far as the other side may know."""
    if isinstance(error, PolicyError):
        return Reason.POLICY_DIFFERS
    return Reason.FAILED if isinstance(error, SfumatoError) else Reason.CANCELLED


def taken(table: Microdata, rows: NDArray[np.int64]) -> Microdata:
    """Some rows of a table, in this order, without a trace of the others."""
    columns = {name: occurring(replace(c, codes=c.codes[rows])) for name, c in table.columns.items()}
    plain, hidden = (frame[rows] if frame.width else frame for frame in (table.plain, table.hidden))
    return replace(table, columns=columns, plain=plain, hidden=hidden, rows=len(rows))


def _class_digest(column: Column | None, key: bytes) -> bytes:
    """A keyed digest of the class of each record and of what is declared about the class."""
    told = b""
    if column is not None:
        entry = attribute_entries(Microdata({column.name: column}, pl.DataFrame(), pl.DataFrame(), len(column.codes)))
        told = json.dumps(entry[column.name].plain(), sort_keys=True).encode() + column.codes.astype("<i8").tobytes()
    return hashlib.sha256(key + told).digest()


def _refuse_other_rows(rows: PublishedRows, group: NDArray[np.int64], classes: NDArray[np.int64] | None) -> None:
    """Refuse rows that are not those of the common table: as many of each group and class."""
    size = 1 if classes is None else int(classes.max()) + 1
    theirs = rows.group * size + (0 if rows.classes is None else rows.classes)
    mine = group * size + (0 if classes is None else classes)
    if not np.array_equal(np.sort(theirs), np.sort(mine)):
        raise PeerError("the rows of the release do not have the labels and classes of the common table")
