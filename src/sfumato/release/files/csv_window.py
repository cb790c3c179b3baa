"""The bytes of a csv file as they are compared: from its beginning on, or from its end back, some at a time."""

from io import FileIO
from pathlib import Path
from typing import Self

import numpy as np

from sfumato.errors import DAMAGED, ReleaseError
from sfumato.kernel.csv_rows import BEYOND

CHUNK = 1 << 21
"""How many bytes are read at a time: few enough to be in the cache when they are compared."""


class CsvWindow:
    """Some bytes of a file; those before ``place`` have been compared, or, ``backwards``, those from there on.

    They end before ``end``; what follows them in memory is not part of the file.
    """

    def __init__(self, file: Path, *, backwards: bool) -> None:
        self.backwards = backwards
        self._file = FileIO(file)
        self._size = self._file.seek(0, 2)
        self._begin = self._size if backwards else 0
        self.bytes, self.place, self.end = np.zeros(BEYOND, np.uint8), 0, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def at(self) -> int:
        """The place in the file up to which, or back to which, its bytes have been compared."""
        return self._begin + self.place

    @property
    def more(self) -> bool:
        """Whether there are bytes left to read."""
        return self._begin > 0 if self.backwards else self._begin + self.end < self._size

    def read(self, least: int) -> None:
        """Read on, or back, until so many bytes wait to be compared, if the file has them.

        As many are read even if some wait already: these are moved, and moving must not take longer than reading.
        """
        waiting = self.place if self.backwards else self.end - self.place
        there = self._begin if self.backwards else self._size - self._begin - self.end
        number = min(max(CHUNK, least), there)
        kept = self.bytes[:waiting] if self.backwards else self.bytes[self.place : self.end]
        room = self.bytes if len(self.bytes) >= number + waiting + BEYOND else _room(number + waiting)
        if self.backwards:
            room[number : number + waiting] = kept
            self._begin -= number
            self._fill(room[:number], self._begin)
            self.place = number + waiting
        else:
            room[:waiting] = kept
            self._fill(room[waiting : waiting + number], self._begin + self.end)
            self._begin += self.place
            self.place = 0
        self.bytes, self.end = room, number + waiting

    def passes(self, text: bytes) -> bool:
        """Whether a text comes next; if it does, it has been compared."""
        if (self.place if self.backwards else self.end - self.place) < len(text):
            self.read(len(text))
        first = self.place - len(text) if self.backwards else self.place
        if first < 0 or self.bytes[first : min(first + len(text), self.end)].tobytes() != text:
            return False
        self.place = first if self.backwards else first + len(text)
        return True

    def _fill(self, room: np.ndarray[tuple[int], np.dtype[np.uint8]], begin: int) -> None:
        """Read the bytes of the file from a place on."""
        self._file.seek(begin)
        while len(room):
            number = self._file.readinto(room.data)
            if not number:
                raise ReleaseError(f"{Path(str(self._file.name)).name} became shorter while it was read; {DAMAGED}")
            room = room[number:]


def _room(number: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.zeros(number + BEYOND, np.uint8)
