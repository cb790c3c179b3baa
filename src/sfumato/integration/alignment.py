"""Which rows of the two tables are about the same person, in an order that neither table shapes.

Either both tables have a column of random record ids, the same set on both sides, or the people are found by private
set intersection on a key such as a social security number (Diffie-Hellman, Huberman, Franklin and Hogg 1999).
"""

import hashlib
import hmac
import struct
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.draws import Draws
from sfumato.errors import DataError, PeerError
from sfumato.integration.channel import Channel
from sfumato.integration.coin import joint_randomness
from sfumato.integration.curve import POINT, hash_to_point, in_parallel, random_scalar, split_points, times
from sfumato.integration.wire import Message, Reason, letter

Progress = Callable[[float], object]
MOST_KEYS: Final = 20_000_000
"""More would need more than about 8 GB of memory."""
_BATCH: Final = 4096
"""Keys per message: at most a second of work, so that neither side is silent for long."""
_TAG: Final = 16
_NUMBER: Final = struct.Struct(">Q32s")
_PROBE: Final = b"the same on both sides"


def by_record_id(channel: Channel, ids: Sequence[str]) -> NDArray[np.int64]:
    """The row of each record, in the joint order; both tables must have the same ids.

    A hash of all ids, keyed with fresh joint randomness, is compared; the ids themselves do not travel.
    """
    _refuse_repeated(channel, ids)
    key = joint_randomness(channel, "record ids")
    tags = [hmac.digest(key, text.encode(), "sha256") for text in ids]
    order = sorted(range(len(tags)), key=tags.__getitem__)
    whole = hashlib.sha256(b"".join(tags[row] for row in order)).digest()
    mine, due = (_digest(key, party, len(ids), whole) for party in (channel.party, channel.peer))
    theirs = channel.exchange(Message.RECORD_DIGEST, mine, exactly=len(mine))
    if not hmac.compare_digest(theirs, due):
        raise channel.fail(
            Reason.DATA_DIFFERS,
            f"the record ids of the two tables differ (this one has {len(ids)}); both must have the same set, or use "
            '`psi = "COLUMN"` to find the people that both sides have',
        )
    return np.array(order, np.int64)


def by_intersection(channel: Channel, keys: Sequence[str], progress: Progress = lambda _: None) -> NDArray[np.int64]:
    """The row of each person that both sides know, in the joint order.

    Each side multiplies the points of its keys, in a secret order, by a secret number and sends them; the other
    multiplies them by its own number and returns a tag of each. Two keys are the same exactly if their tags are, and
    the joint order is that of the tags. Each side learns how many keys the other has and which it shares, and of the
    other keys nothing (if the decisional Diffie-Hellman problem is hard in the group).
    """
    _refuse_repeated(channel, keys)
    order = Draws().order(len(keys))
    secret = random_scalar()
    mine, theirs = _tags(channel, [keys[row].encode() for row in order], secret, progress)
    known = set(theirs)
    if len(known) != len(theirs) or len(set(mine)) != len(mine):
        raise channel.fail(Reason.BAD_MESSAGE, f"party {letter(channel.peer)} sent the same key twice")
    common = sorted((tag, int(row)) for tag, row in zip(mine, order, strict=True) if tag in known)
    return np.array([row for _, row in common], np.int64)


def _tags(channel: Channel, keys: list[bytes], secret: bytes, progress: Progress) -> tuple[list[bytes], list[bytes]]:
    """The tags of the own keys, as the peer computed them, and those of the peer's keys."""
    number = _exchange_numbers(channel, len(keys))
    longest = max(len(keys), number, 1)
    points: list[bytes] = []
    for at in range(0, longest, _BATCH):
        batch = in_parallel(lambda key: times(secret, hash_to_point(key)), keys[at : at + _BATCH])
        size = POINT * _batch_size(number, at)
        points += split_points(channel.exchange(Message.KEY_POINTS, b"".join(batch), exactly=size))
        progress(at / longest / 2)
    mine: list[bytes] = []
    theirs: list[bytes] = []
    for at in range(0, longest, _BATCH):
        batch = _multiplied(channel, secret, points[at : at + _BATCH])
        theirs += batch
        answer = channel.exchange(Message.KEY_TAGS, b"".join(batch), exactly=_TAG * _batch_size(len(keys), at))
        mine += [answer[i : i + _TAG] for i in range(0, len(answer), _TAG)]
        progress(0.5 + at / longest / 2)
    return mine, theirs


def _multiplied(channel: Channel, secret: bytes, points: list[bytes]) -> list[bytes]:
    """The tags of the peer's points, each of which is checked as it is multiplied."""
    try:
        return in_parallel(lambda point: _tag(times(secret, point)), points)
    except PeerError as error:
        raise channel.fail(Reason.BAD_MESSAGE, str(error)) from None


def _tag(point: bytes) -> bytes:
    """A short name of a point: two of a billion points share one with a probability below 2^-68."""
    return hashlib.blake2b(point, digest_size=_TAG, person=b"sfumato key tag").digest()


def _exchange_numbers(channel: Channel, number: int) -> int:
    """How many keys the peer has. A probe shows whether both sides map keys to the same points."""
    if number > MOST_KEYS:
        channel.abort(Reason.DATA_DIFFERS)
        raise DataError(f"this table has {number} keys; at most {MOST_KEYS} can be intersected: split the work by key")
    probe = hash_to_point(_PROBE)
    theirs, point = _NUMBER.unpack(
        channel.exchange(Message.KEY_NUMBER, _NUMBER.pack(number, probe), exactly=_NUMBER.size)
    )
    if point != probe:
        raise channel.fail(Reason.BAD_MESSAGE, "the two sides map keys to different points; install the same pynacl")
    if theirs > MOST_KEYS:
        raise channel.fail(Reason.BAD_MESSAGE, f"the peer has {theirs} keys; at most {MOST_KEYS} are allowed")
    return int(theirs)


def _batch_size(number: int, at: int) -> int:
    return max(0, min(_BATCH, number - at))


def _digest(key: bytes, party: int, number: int, whole: bytes) -> bytes:
    """What a party with this set of ids says; the party number keeps one from repeating what the other said."""
    return hmac.digest(key, struct.pack(">HQ", party, number) + whole, "sha256")


def _refuse_repeated(channel: Channel, keys: Sequence[str]) -> None:
    """Each person must have one row; the message says how many do not, never who."""
    extra = len(keys) - len(set(keys))
    if extra:
        channel.abort(Reason.DATA_DIFFERS)
        raise DataError(
            f"the key column has repeated values in {extra} of {len(keys)} rows; each person must have one row: "
            "remove or combine the others"
        )
