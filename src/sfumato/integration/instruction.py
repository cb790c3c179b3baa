"""An instruction: how a publisher's records under one label are divided among its parts, in a few bits per record.

Both sides know which records show a label, in the joint order of records, so no record is named: only the part of each
travels, in as many bits as the parts need. The labels of the parts travel along: what each is called and what it means.
Which share of its domain a label hides does not: it depends on values that the label hides.

    attribute | label | parts | records | bytes of labels   (big-endian)
    labels of the parts as JSON | the lowest bits of the parts, eight to a byte | the next lowest bits | …
"""

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, PeerError
from sfumato.integration.mirror import MOST_PARTS
from sfumato.table.domain import BoxLabel, Meaning

_HEADER = struct.Struct(">HIIII")
MOST_LABEL_BYTES = 1 << 24
"""The longest text that the labels of one refinement may have."""


@dataclass(frozen=True, eq=False)
class Instruction:
    """A refinement to follow: ``part[i]`` is where the i-th record under the label goes.

    ``attribute`` is the place in the joint order; ``label`` counts the labels of the attribute as they were revealed.
    """

    attribute: int
    label: int
    part: NDArray[np.int64]
    labels: Sequence[BoxLabel]

    def encode(self) -> bytes:
        """The bytes that travel."""
        told = json.dumps([plain_label(label) for label in self.labels], ensure_ascii=False, allow_nan=False).encode()
        if len(told) > MOST_LABEL_BYTES:
            raise DataError(
                f"the labels of one refinement take {len(told):,} bytes; at most {MOST_LABEL_BYTES:,} can be sent: "
                "give the taxonomy another level, or shorter names"
            )
        header = _HEADER.pack(self.attribute, self.label, len(self.labels), len(self.part), len(told))
        return header + told + pack(self.part, len(self.labels))


def pack(part: NDArray[np.int64], parts: int) -> bytes:
    """Numbers below ``parts`` in as few bits as that takes, bit by bit.

    >>> pack(np.array([0, 1, 2, 1]), 3).hex(), pack(np.array([0, 0]), 1)
    ('5020', b'')
    """
    return b"".join(np.packbits((part >> bit) & 1).tobytes() for bit in range((parts - 1).bit_length()))


def unpack(data: bytes, number: int, parts: int) -> NDArray[np.int64]:
    """What `pack` packed.

    >>> unpack(pack(np.array([0, 1, 2, 1]), 3), 4, 3).tolist()
    [0, 1, 2, 1]
    """
    out, each = np.zeros(number, np.int64), (number + 7) // 8
    for bit in range((parts - 1).bit_length()):
        plane = np.frombuffer(data, np.uint8, each, bit * each)
        out |= np.unpackbits(plane, count=number).astype(np.int64) << bit
    return out


def longest(records: int) -> int:
    """How many bytes an instruction about so many records may have."""
    return _HEADER.size + MOST_LABEL_BYTES + (MOST_PARTS - 1).bit_length() * ((records + 7) // 8)


def decode(data: bytes, *, most_records: int) -> Instruction:
    """Read an instruction; refuses everything that `Instruction.encode` does not write for so many records."""
    if len(data) < _HEADER.size:
        raise PeerError(f"an instruction has {len(data)} bytes, too few for its header")
    attribute, label, parts, records, told = _HEADER.unpack_from(data)
    if records > most_records:
        raise PeerError(f"an instruction divides {records} records, but there are only {most_records}")
    packed = max(0, parts - 1).bit_length() * ((records + 7) // 8)
    if not 1 <= parts <= MOST_PARTS or told > MOST_LABEL_BYTES or len(data) != _HEADER.size + told + packed:
        raise PeerError("an instruction does not have the length that its header states")
    body = data[_HEADER.size + told :]
    return Instruction(
        attribute, label, unpack(body, records, parts), labels_of(data[_HEADER.size : _HEADER.size + told], parts)
    )


def labels_of(told: bytes, number: int) -> list[BoxLabel]:
    """Read so many labels, each with its meaning."""
    try:
        entries = json.loads(told.decode())
    except (ValueError, RecursionError):
        raise PeerError("the labels of an instruction are not JSON") from None
    if not isinstance(entries, list) or len(entries) != number:
        raise PeerError(f"an instruction must have one label for each of its {number} parts")
    return [label_of(entry) for entry in entries]


def plain_label(label: BoxLabel) -> list[object]:
    """A label as it travels: without the share that it hides."""
    return [label.label, label.meaning]


def label_of(entry: object) -> BoxLabel:
    """A label as it travels, checked; its share is not known."""
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[0], str) or not _is_meaning(entry[1]):
        raise PeerError("a label must have a text and a meaning: values, the ends of an interval, or nothing")
    meaning: Meaning = entry[1]
    return BoxLabel(entry[0], meaning, 0.0)


def _is_meaning(meaning: object) -> bool:
    if meaning is None:
        return True
    return isinstance(meaning, list) and all(v is None or isinstance(v, str) or is_number(v) for v in meaning)


def is_number(value: object) -> bool:
    """Whether a value of JSON is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
