"""What each side must know of the other's columns to describe the release: no more than the manifest will say."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfumato.errors import PeerError
from sfumato.integration.channel import Channel
from sfumato.integration.instruction import is_number, label_of, plain_label
from sfumato.integration.mirror import PartyRefinement
from sfumato.integration.refine import named_labels, without_shares
from sfumato.integration.wire import Message, Reason
from sfumato.table.domain import BoxLabel
from sfumato.table.encode import Kind as ColumnKind

_MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class MaskedColumn:
    """A quasi-identifier that templates mask: its kind, its declared domain if it has one, the label it starts with."""

    name: str
    kind: ColumnKind
    declared: list[str | float] | None
    measured: bool
    root: BoxLabel

    def plain(self) -> list[object]:
        """As it travels."""
        return [self.name, str(self.kind), self.declared, self.measured, plain_label(self.root)]


def exchange_columns(channel: Channel, own: PartyRefinement, expected: Sequence[str]) -> dict[str, MaskedColumn]:
    """The masked columns of both sides; ``expected`` are the names that the other publisher announced."""
    mine = own_columns(own)
    told = json.dumps([c.plain() for c in mine.values()], ensure_ascii=False, allow_nan=False).encode()
    received = channel.exchange(Message.AGREEMENT, told, at_most=_MOST_BYTES)
    try:
        theirs = _parsed(received)
        if list(theirs) != list(expected):
            raise PeerError("the other publisher describes columns that it did not announce")
    except PeerError as error:
        raise channel.fail(Reason.BAD_MESSAGE, str(error)) from None
    return mine | theirs


def exchange_losses(channel: Channel, mine: Mapping[str, float], expected: Sequence[str]) -> dict[str, float]:
    """The loss of each masked column on the final table, as the manifest states it."""
    received = channel.exchange(Message.AGREEMENT, json.dumps(mine).encode(), at_most=_MOST_BYTES)
    try:
        theirs = json.loads(received.decode())
        known = isinstance(theirs, dict) and list(theirs) == list(expected)
        if not known or not all(isinstance(v, float) and 0 <= v <= 1 and v == round(v, 4) for v in theirs.values()):
            raise ValueError("not the losses of these columns")
    except (ValueError, RecursionError):
        raise channel.fail(Reason.BAD_MESSAGE, "the losses of the other publisher's columns cannot be read") from None
    return {**mine, **theirs}


def own_columns(own: PartyRefinement) -> dict[str, MaskedColumn]:
    """The masked columns of this side."""
    found = {}
    for i, column in enumerate(own.columns):
        if not own.is_mirror(i):
            (root,) = without_shares(named_labels(own, i, [own.root(i)]))
            domain = column.domain
            found[column.name] = MaskedColumn(column.name, column.kind, domain.declared(), domain.measured, root)
    return found


def _parsed(received: bytes) -> dict[str, MaskedColumn]:
    try:
        entries = json.loads(received.decode())
        found = [_column(*entry) for entry in entries]
    except (ValueError, RecursionError, TypeError):
        raise PeerError("the description of the other publisher's columns cannot be read") from None
    return {c.name: c for c in found}


def _column(name: object, kind: object, declared: object, measured: object, root: object) -> MaskedColumn:
    if not isinstance(name, str) or kind not in list(ColumnKind) or not isinstance(measured, bool):
        raise PeerError("the description of one of the other publisher's columns cannot be read")
    values: list[str | float] | None = None
    if declared is not None:
        if not isinstance(declared, list) or not all(isinstance(v, str) or is_number(v) for v in declared):
            raise PeerError(f"the declared domain of {name!r} cannot be read")
        values = declared
    return MaskedColumn(name, ColumnKind(str(kind)), values, measured, label_of(root))
