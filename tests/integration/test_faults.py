"""When a side dies, lies, stalls or is interrupted: a clear error in time on both, and a valid table or none."""

import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from integration.joint import compare_plainly
from integration.parties import together
from integration.test_integrate import side, thesis, with_private_columns
from integration.test_refine import TEMPLATES, table_7_1
from sfumato.errors import PeerError
from sfumato.integration.channel import Channel, TimeLimits
from sfumato.integration.contribution import Contribution
from sfumato.integration.instruction import Instruction, decode
from sfumato.integration.integrate import Integration
from sfumato.integration.wire import Message
from sfumato.method.topdown.two_party import TopDownTwoParty
from sfumato.release.release import Release
from sfumato.table.domain import BoxLabel

PATIENT = TimeLimits(silence=600.0)
"""So long that whatever ends earlier did not wait for it."""
SECRETS = ("Janitor", "Mover", "Carpenter", "Lawyer", "Accountant", "r17", "HIV")


class Dead(Exception):  # noqa: N818
    """Stands for a killed process."""


class Dying(Channel):
    """A channel of a process that is killed after so many messages."""

    left = 1 << 30

    def send(self, kind: Message, payload: bytes) -> None:
        self._live()
        super().send(kind, payload)

    def receive(self, kind: Message, *, at_most: int) -> bytes:
        self._live()
        return super().receive(kind, at_most=at_most)

    def _live(self) -> None:
        self.left -= 1
        if self.left < 0:
            self._stream.close()
            raise Dead


class Lying(Channel):
    """A channel of a side whose messages of one kind are replaced, from the given one on."""

    kind = Message.INSTRUCTION
    after = 0
    lie: Callable[[bytes], bytes] = staticmethod(lambda payload: payload)

    def send(self, kind: Message, payload: bytes) -> None:
        if kind == self.kind:
            self.after -= 1
            payload = self.lie(payload) if self.after < 0 else payload
        super().send(kind, payload)


def pair(kind: type[Channel], *, party: int = 2, limits: TimeLimits = PATIENT) -> tuple[Channel, Channel]:
    """A channel for each party, one of them of a special kind."""
    ends = socket.socketpair()
    made = [Channel(ends[0], party=1, peer=2, limits=limits), Channel(ends[1], party=2, peer=1, limits=limits)]
    made[party - 1] = kind(ends[party - 1], party=party, peer=3 - party, limits=limits)
    return made[0], made[1]


def work(channels: tuple[Channel, Channel], a: Contribution, b: Contribution) -> tuple[Integration, Integration]:
    return (
        Integration(channels[0], a, compare=compare_plainly),
        Integration(channels[1], b, compare=compare_plainly),
    )


def held(end: Integration) -> int:
    """How many refinements the table has that a side keeps; what it keeps passes every check."""
    release = end.last_common()
    if release is None:
        return 0
    release.check()
    stopped = [w for w in release.warnings if "refinement was stopped" in w]
    assert bool(stopped) != end.complete
    return end.prepared().common.steps


def assert_quiet(*errors: object) -> None:
    """No error says anything about a person or a value."""
    for error in errors:
        assert not any(secret in str(error) for secret in SECRETS), error


@pytest.mark.parametrize("party", [1, 2])
def test_a_peer_killed_at_any_message(party: int) -> None:
    """However far it came, the other ends with an error in words, and with a valid table or none.

    Only if it had sent its last message, and was killed before it read the last one of the other, that one may have
    all it needs: the release, whole.
    """
    a, b = thesis(["Sex"]), thesis(["Job", "Salary"])
    kept, whole = set(), set()
    for left in range(1000):
        channels = pair(Dying, party=party)
        channels[party - 1].left = left  # type: ignore[attr-defined]
        both = work(channels, a, b)
        begun = time.monotonic()
        ends = together(both[0].run, both[1].run)
        assert time.monotonic() - begun < PATIENT.silence / 2  # the first one compiles kernels
        if isinstance(ends[party - 1], Release):
            break
        survivor = ends[2 - party]
        if isinstance(survivor, Release):
            survivor.check()
            whole.add(left)
            continue
        assert isinstance(survivor, PeerError), survivor
        assert_quiet(survivor)
        kept.add(held(both[2 - party]))
        steps = [w.held.common.steps for w in both if w.held is not None]
        assert len(steps) < 2 or abs(steps[0] - steps[1]) <= 1
    assert kept == {0, 1, 2, 3, 4, 5}
    assert whole <= {left - 1}


def lie_with(**changes: object) -> Callable[[bytes], bytes]:
    """An instruction with something changed."""
    return lambda payload: replace(decode(payload, most_records=34), **changes).encode() if payload else payload


def too_fine(payload: bytes) -> bytes:
    """One record on its own."""
    told = decode(payload, most_records=34)
    part = np.zeros(len(told.part), np.int64)
    part[0] = 1
    return Instruction(told.attribute, told.label, part, [BoxLabel("x", ["x"], 0.1)] * 2).encode()


def one_record_less(payload: bytes) -> bytes:
    told = decode(payload, most_records=34)
    return replace(told, part=told.part[:-1]).encode()


def part_without_record(payload: bytes) -> bytes:
    told = decode(payload, most_records=34)
    return replace(told, labels=[*told.labels, BoxLabel("x", ["x"], 0.1)]).encode()


def bad_meaning(payload: bytes) -> bytes:
    told = decode(payload, most_records=34)
    return replace(told, labels=[label._replace(meaning=[["nested"]]) for label in told.labels]).encode()


LIES = {
    "a record too few": (one_record_less, "records, but"),
    "an unknown label": (lie_with(label=99), "a label that no record shows"),
    "a label of this side": (lie_with(attribute=0, label=0), "or that this side holds"),
    "an unknown attribute": (lie_with(attribute=77), "a label that no record shows"),
    "a part without a record": (part_without_record, "must each have a record"),
    "a broken template": (too_fine, "would break a requirement"),
    "a meaning that is none": (bad_meaning, "must have a text and a meaning"),
    "garbage": (lambda payload: b"\xff" * 40, "there are only 34"),
    "a stub": (lambda payload: b"\0", "too few for its header"),
    "a trailing byte": (lambda payload: payload + b"\0", "length that its header states"),
    "more records than there are": (lambda payload: struct.pack(">HIIII", 1, 0, 1, 2**32 - 1, 0), "there are only 34"),
    "labels that are no JSON": (
        lambda payload: struct.pack(">HIIII", 1, 0, 2, 34, 3) + b"{[[" + bytes(5),
        "not JSON",
    ),
}


@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("name", LIES)
def test_a_lying_instruction(name: str, after: int) -> None:
    """The receiver notices, says what is wrong, and both keep the table before it."""
    lie, words = LIES[name]
    channels = pair(Lying)
    channels[1].lie, channels[1].after = lie, after  # type: ignore[attr-defined]
    both = work(channels, thesis(["Sex"]), thesis(["Job", "Salary"]))
    honest, liar = together(both[0].run, both[1].run)
    assert isinstance(honest, PeerError)
    assert words in str(honest)
    assert isinstance(liar, PeerError)
    assert "instruction that contradicts" in str(liar)
    assert_quiet(honest, liar)
    assert held(both[0]) == held(both[1]) == after


@pytest.mark.parametrize(("party", "a", "b"), [(1, ["Job"], ["Sex", "Salary"]), (2, ["Sex", "Salary"], ["Job"])])
def test_an_early_end_is_noticed(party: int, a: list[str], b: list[str]) -> None:
    """A side that wins and then claims to have nothing left contradicts the comparison, or the digest of the table."""
    channels = pair(Lying, party=party)
    channels[party - 1].lie = lambda payload: b""  # type: ignore[attr-defined]
    both = work(channels, thesis(a), thesis(b))
    ends = together(both[0].run, both[1].run)
    assert all(isinstance(end, PeerError) for end in ends)
    assert party == 1 or "the comparison says otherwise" in str(ends[0])
    assert abs(held(both[0]) - held(both[1])) <= 1


def test_other_rows_than_those_of_the_common_table() -> None:
    """The holder of unchanged columns cannot change labels or classes when it puts the rows together."""
    full = replace(with_private_columns(table_7_1()), plain=pl.DataFrame())
    bare = replace(full, columns={n: c for n, c in full.columns.items() if n != "ill"})
    a = side(bare, ["Sex"], requirements=TEMPLATES, method=TopDownTwoParty())
    b = side(full, ["Job", "Salary", "ill"], requirements=TEMPLATES, method=TopDownTwoParty())

    def other_group(payload: bytes) -> bytes:
        (told,) = struct.unpack_from(">I", payload)
        rows = np.frombuffer(payload, ">u4", offset=4 + told).copy()
        rows[0] = 1 if rows[0] != 1 else 2
        return payload[: 4 + told] + rows.tobytes()

    lies = (
        other_group,
        lambda payload: payload[:-4],
        lambda payload: b"",
        lambda payload: payload.replace(b"Enum", b"Date"),
    )
    for lie in lies:
        channels = pair(Lying)
        channels[1].kind, channels[1].lie = Message.RECORD_VALUES, lie  # type: ignore[attr-defined]
        both = work(channels, a, b)
        honest, _ = together(both[0].run, lambda both=both: (both[1].run(), both[1].channel.close()))
        assert isinstance(honest, PeerError)
        assert_quiet(honest)
        assert held(both[0]) == 0


def test_silence_ends_in_time() -> None:
    """A peer that says nothing any more: an error after the time limit, and the last common table."""

    over, stalled = threading.Event(), list[bool]()

    class Stalled(Dying):
        def _live(self) -> None:
            self.left -= 1
            if self.left < 0:
                stalled.append(over.wait(120))
                raise Dead

    def wait_for_it() -> Release:
        try:
            return both[0].run()
        finally:
            over.set()

    a, b = thesis(["Sex"]), thesis(["Job", "Salary"])
    both = work(pair(Channel), a, b)
    together(both[0].run, both[1].run)  # nothing has to be compiled afterwards
    channels = pair(Stalled, limits=TimeLimits(silence=5.0))
    channels[1].left = 24  # type: ignore[attr-defined]
    both = work(channels, a, b)
    waiting, _ = together(wait_for_it, both[1].run)
    assert isinstance(waiting, PeerError)
    assert "5 seconds" in str(waiting)
    assert stalled == [True]
    assert held(both[0]) > 0


@pytest.mark.parametrize("step", [1, 3])
def test_an_interrupt_ends_both(step: int) -> None:
    """Ctrl-C on one side: the other hears of it, and both keep a table that differs by one refinement at most."""

    def press(stage: str, done: float) -> None:
        if stage.startswith(f"step {step}:"):
            raise KeyboardInterrupt

    both = work(pair(Channel), thesis(["Sex"]), thesis(["Job", "Salary"]))
    both[0].progress = press
    mine, theirs = together(both[0].run, both[1].run)
    assert isinstance(mine, KeyboardInterrupt)
    assert isinstance(theirs, PeerError)
    assert "cancelled" in str(theirs)
    assert abs(held(both[0]) - held(both[1])) <= 1
