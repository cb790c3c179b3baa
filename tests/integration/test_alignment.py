"""Both sides find the same people in the same order, and of anybody else they learn nothing but the number."""

import hashlib
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from integration.model_group import model
from integration.parties import converse, together
from integration.test_secure_comparison import bad_points
from integration.tls import QUICK
from sfumato.errors import DataError, PeerError
from sfumato.integration import alignment, curve
from sfumato.integration.alignment import by_intersection, by_record_id
from sfumato.integration.channel import Channel
from sfumato.integration.curve import POINT, hash_to_point
from sfumato.integration.memory import in_memory_pair
from sfumato.integration.wire import Message

KEYS = st.lists(st.text(max_size=4) | st.sampled_from(["1", "2", "3", "4", "5", "6"]), unique=True, max_size=12)


def intersect(left: list[str], right: list[str], *, record: bool = False) -> tuple[list[str], Channel, Channel]:
    """The common keys in the joint order, which must be the same on both sides."""
    mine, theirs, a, b = converse(
        lambda c: by_intersection(c, left), lambda c: by_intersection(c, right), record=record
    )
    assert mine.dtype == theirs.dtype == np.int64
    found = [left[row] for row in mine]
    assert found == [right[row] for row in theirs]
    return found, a, b


@pytest.fixture
def in_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run on the stand-in of the curve."""
    stand_in = model()
    monkeypatch.setattr(curve, "bindings", lambda: stand_in)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([], []),
        ([], ["a"]),
        (["a"], []),
        (["a"], ["a"]),
        (["a"], ["b"]),
        (["a", "b", "c"], ["c", "x", "a", "y", "z"]),
        (["", " ", "é", "e\u0301", "ß", "日本", "a\x00", "a"], ["日本", "e\u0301", "a", ""]),
    ],
)
def test_the_common_keys_are_found_on_the_curve(left: list[str], right: list[str]) -> None:
    found, _, _ = intersect(left, right)
    assert sorted(found) == sorted(set(left) & set(right))


@given(KEYS, KEYS)
@settings(max_examples=30, deadline=None)
def test_the_common_keys_are_the_intersection(left: list[str], right: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        stand_in = model()
        patch.setattr(curve, "bindings", lambda: stand_in)
        patch.setattr(alignment, "_BATCH", 5)  # several messages
        found, _, _ = intersect(left, right)
    assert sorted(found) == sorted(set(left) & set(right))


def test_several_batches_on_the_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "_BATCH", 16)
    left, right = [str(i) for i in range(50)], [str(i) for i in range(99, 29, -1)]
    seen: list[float] = []
    mine, theirs, _, _ = converse(lambda c: by_intersection(c, left, seen.append), lambda c: by_intersection(c, right))
    assert [left[i] for i in mine] == [right[i] for i in theirs]
    assert sorted(int(left[i]) for i in mine) == list(range(30, 50))
    assert seen == sorted(seen)
    assert 0 <= seen[0] <= seen[-1] <= 1


@pytest.mark.usefixtures("in_model")
@pytest.mark.parametrize("align", [by_intersection, by_record_id])
def test_the_joint_order_is_drawn_and_not_shaped_by_a_table(align) -> None:  # type: ignore[no-untyped-def]
    """All 24 orders of four people, from sorted tables; chi-square exceeds 75 with a probability below 1e-6."""
    keys = ["1", "2", "3", "4"]
    rounds = 720
    left, right, _, _ = converse(
        lambda c: [align(c, keys) for _ in range(rounds)], lambda c: [align(c, keys) for _ in range(rounds)]
    )
    seen = Counter(tuple(order) for order in left)
    assert [tuple(order) for order in right] == [tuple(order) for order in left]
    due = rounds / 24
    assert sum((seen[order] - due) ** 2 / due for order in itertools.permutations(range(4))) < 75


class TestWhatIsLearned:
    """The transcript of a side, with all its secrets, against a dictionary of all possible keys."""

    def test_a_dictionary_does_not_open_the_keys_that_only_the_other_side_has(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Unkeyed hashes would be opened. Keys are, but only with the number that the other side keeps secret."""
        numbers = _recorded_scalars(monkeypatch)
        universe = [f"{i:03}" for i in range(200)]
        _, a, b = intersect(universe[:60], universe[50:90], record=True)
        for channel, keys in ((a, universe[:60]), (b, universe[50:90])):
            pieces = _pieces(channel, "received")
            own = next(n for n in numbers if _guesses(n, keys[0]) & _pieces(channel, "sent"))
            other = next(n for n in numbers if n != own)
            for key in universe:
                assert not (_hashes(key.encode()) | _guesses(own, key)) & pieces
            opened = [key for key in universe if _guesses(other, key) & pieces]
            assert opened == (universe[50:90] if channel is a else universe[:60])

    def test_two_runs_cannot_be_linked(self) -> None:
        keys = [str(i) for i in range(20)]
        seen: list[set[bytes]] = []
        for _ in range(2):
            _, a, _ = intersect(keys, keys, record=True)
            assert a.transcript is not None
            seen.append({entry.payload[i : i + 16] for entry in _crypto(a) for i in range(0, len(entry.payload), 16)})
        assert not seen[0] & seen[1]

    def test_the_number_of_bytes_depends_on_the_numbers_of_keys_alone(self) -> None:
        sizes = set()
        for left, right in (("abcd", "wxyz"), ("abcd", "abcd"), ("abcd", "cdef")):
            _, a, b = intersect(list(left), [key * 20 for key in right])
            sizes.add((a.sent, b.sent))
        assert len(sizes) == 1

    @pytest.mark.usefixtures("in_model")
    def test_points_are_not_sent_in_the_order_of_the_table(self) -> None:
        """In the model logarithms are plain: quotients of points show the order in which keys were sent."""
        keys = ["1", "2", "3", "4"]
        orders = set()
        for _ in range(60):
            _, a, _ = intersect(keys, keys, record=True)
            assert a.transcript is not None
            (sent,) = (e.payload for e in a.transcript if e.kind == Message.KEY_POINTS and e.way == "sent")
            points = [int.from_bytes(p, "little") for p in curve.split_points(sent)]
            logs = [int.from_bytes(hash_to_point(key.encode()), "little") for key in keys]
            for order in itertools.permutations(range(4)):
                factors = {p * pow(logs[i], -1, curve.ORDER) % curve.ORDER for p, i in zip(points, order, strict=True)}
                if len(factors) == 1:
                    orders.add(order)
        assert len(orders) > 10


def _crypto(channel: Channel):  # type: ignore[no-untyped-def]
    assert channel.transcript is not None
    return [entry for entry in channel.transcript if entry.kind in (Message.KEY_POINTS, Message.KEY_TAGS)]


def _pieces(channel: Channel, way: str) -> set[bytes]:
    """All that one could look for in what went one way."""
    assert channel.transcript is not None
    text = b"".join(entry.payload for entry in channel.transcript if entry.way == way)
    return {text[i : i + 16] for i in range(len(text))}


def _hashes(key: bytes) -> set[bytes]:
    return {hashlib.new(name, key).digest()[:16] for name in ("sha256", "sha512", "blake2b", "sha1", "md5")}


def _guesses(number: bytes, key: str) -> set[bytes]:
    """What whoever knows this secret number can compute of a key."""
    point = hash_to_point(key.encode())
    multiple = curve.times(number, point)
    return {point[:16], multiple[:16], alignment._tag(point), alignment._tag(multiple)}


def _recorded_scalars(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    numbers: list[bytes] = []

    def draw() -> bytes:
        numbers.append(curve.random_scalar())
        return numbers[-1]

    monkeypatch.setattr(alignment, "random_scalar", draw)
    return numbers


@pytest.mark.parametrize("align", [by_intersection, by_record_id])
def test_repeated_keys_are_refused_without_naming_them(align) -> None:  # type: ignore[no-untyped-def]
    a, b = in_memory_pair(limits=QUICK)
    ends = together(lambda: align(a, ["secret-1", "x", "secret-1"]), lambda: align(b, ["x"]))
    assert isinstance(ends[0], DataError)
    assert "has repeated values in 1 of 3 rows" in str(ends[0])
    assert isinstance(ends[1], PeerError)
    assert "its table does not fit this one" in str(ends[1])
    assert "secret" not in str(ends)


class TestRecordIds:
    """A column of random ids, the same set on both sides."""

    @pytest.mark.parametrize("number", [0, 1, 2, 300])
    def test_the_same_ids_in_another_order(self, number: int) -> None:
        left = [f"r{i}" for i in range(number)]
        right = left[::-1]
        mine, theirs, _, _ = converse(lambda c: by_record_id(c, left), lambda c: by_record_id(c, right))
        assert [left[i] for i in mine] == [right[i] for i in theirs]
        assert sorted(mine) == list(range(number))

    @pytest.mark.parametrize(
        ("left", "right"), [("abc", "abd"), ("abc", "ab"), ("", "a"), ("abc", "abcd"), ("abc", "xyz")]
    )
    def test_other_ids_are_refused_on_both_sides(self, left: str, right: str) -> None:
        a, b = in_memory_pair(limits=QUICK)
        ends = together(lambda: by_record_id(a, list(left)), lambda: by_record_id(b, list(right)))
        for end in ends:
            assert isinstance(end, PeerError)
            assert "the record ids of the two tables differ" in str(end) or "does not fit" in str(end)
        assert any("psi" in str(end) for end in ends)

    def test_who_repeats_the_digest_of_the_other_is_not_believed(self) -> None:
        a, b = in_memory_pair(limits=QUICK)

        def echo() -> None:
            alignment.joint_randomness(b, "record ids")
            b.send(Message.RECORD_DIGEST, b.receive(Message.RECORD_DIGEST, at_most=32))

        end, _ = together(lambda: by_record_id(a, ["1", "2"]), echo)
        assert isinstance(end, PeerError)


class TestLyingPeers:
    """What is received is checked."""

    def _against(self, number: int, points: bytes, tags: bytes = b"", probe: bytes | None = None) -> str:
        a, b = in_memory_pair(limits=QUICK)

        def lie() -> None:
            due = hash_to_point(alignment._PROBE) if probe is None else probe
            b.exchange(Message.KEY_NUMBER, alignment._NUMBER.pack(number, due), exactly=40)
            b.exchange(Message.KEY_POINTS, points, at_most=1000)
            b.exchange(Message.KEY_TAGS, tags, at_most=1000)

        end, _ = together(lambda: by_intersection(a, ["1", "2"]), lie)
        assert isinstance(end, PeerError), end
        return str(end)

    def test_bad_points(self) -> None:
        for point in bad_points():
            assert "a point that is not in the group" in self._against(2, hash_to_point(b"x") + point)

    def test_other_numbers_of_points_and_tags(self) -> None:
        point = hash_to_point(b"x")
        assert "has 32 bytes; it must have 64" in self._against(2, point)
        assert "at most 32 are allowed" in self._against(1, point + point)
        assert "has 16 bytes; it must have 32" in self._against(1, point, bytes(16))

    def test_too_many_keys(self) -> None:
        assert "at most 20000000 are allowed" in self._against(2**40, b"")

    def test_too_many_own_keys(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(alignment, "MOST_KEYS", 2)
        a, _ = in_memory_pair(limits=QUICK)
        with pytest.raises(DataError, match="this table has 3 keys; at most 2 can be intersected"):
            by_intersection(a, ["1", "2", "3"])

    def test_another_way_to_map_keys_to_points(self) -> None:
        assert "install the same pynacl" in self._against(1, b"", probe=hash_to_point(b"other"))

    def test_the_same_point_or_tag_twice(self) -> None:
        point = hash_to_point(b"x")
        assert "sent the same key twice" in self._against(2, point + point, bytes(32))
        assert "sent the same key twice" in self._against(1, point, bytes(32))


def test_keys_are_mapped_to_valid_points_that_depend_on_all_of_the_key() -> None:
    points = {hash_to_point(key) for key in (b"", b"a", b"b", b"ab", b"a\x00", bytes(1000))}
    assert len(points) == 6
    assert all(len(point) == POINT and curve.check_point(point) for point in points)


def test_the_map_to_points_has_not_changed() -> None:
    """Both sides must compute the same points, whatever their versions."""
    assert hash_to_point(b"123-45-6789").hex() == "1c7f3b66aedd480c3d656ed8726d4b84f3b464041a18429bc002454cea3e9a1a"
