"""The rows of the release, without record numbers: the group of each, its class, and its unchanged values.

If neither side publishes columns unchanged, both know the labels and the class of every record, and put the rows into
an order that both drew together. Otherwise the side that holds these columns draws the order by itself and sends the
rows: the other learns what the release shows, and not which record a value belongs to.
"""

import datetime as dt
import hashlib
import itertools
import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.draws import Draws
from sfumato.engine.local import as_published
from sfumato.errors import DataError, PeerError, ReleaseError
from sfumato.kernel.arrange import shuffle
from sfumato.release.describe import attribute_entries
from sfumato.release.manifest import AttributeEntry, attribute_from
from sfumato.table.checks import POLARS_FAILURES
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata

Integers = NDArray[np.int64]

_LENGTH = struct.Struct(">I")
_MOST_HEADER = 1 << 28
_PLAIN = ("Boolean", "Date", "Float32", "Float64", "Int8", "Int16", "Int32", "Int64", "String")
_TYPES: dict[str, Any] = {name: getattr(pl, name) for name in (*_PLAIN, "UInt8", "UInt16", "UInt32", "UInt64")}
_WORDS = "Enum"


@dataclass(frozen=True, eq=False)
class PublishedRows:
    """The published rows: group and class of each by number, and the columns that are published unchanged."""

    group: Integers
    classes: Integers | None
    unchanged: Sequence[pl.Series] = ()
    entries: Mapping[str, AttributeEntry] | None = None


def in_joint_order(group: Integers, classes: Integers | None, seed: bytes) -> PublishedRows:
    """The rows in the order that both sides draw from joint randomness."""
    order = joint_order(seed, len(group))
    return PublishedRows(group[order], None if classes is None else classes[order])


def joint_order(seed: bytes, number: int) -> Integers:
    """A permutation that follows from secret bytes; SHAKE-256 makes as many words of them as it takes.

    >>> sorted(joint_order(b"seed", 4).tolist())
    [0, 1, 2, 3]
    """
    counter = itertools.count()

    def words(size: int) -> NDArray[np.uint32]:
        stream = hashlib.shake_256(seed + next(counter).to_bytes(8, "big")).digest(4 * size)
        return np.frombuffer(stream, "<u4").astype(np.uint32)

    return shuffle(number, words)


def refuse_unsent_types(table: Microdata) -> None:
    """Refuse unchanged columns of types that cannot be sent."""
    for series in table.plain.get_columns():
        if str(series.dtype) not in _TYPES:
            raise DataError(
                f"the insensitive column {series.name!r} holds {series.dtype}; two publishers can exchange text, "
                "numbers, days and booleans: convert it, or leave it out"
            )
        if series.dtype.is_float() and not bool(series.drop_nulls().is_finite().all()):
            raise DataError(f"the insensitive column {series.name!r} has numbers that are not finite; replace them")


def encode_rows(group: Integers, classes: Integers | None, table: Microdata) -> bytes:
    """The rows of the side that holds unchanged columns, in a secret order, as they travel."""
    order = Draws().order(len(group))
    entries = attribute_entries(table)
    columns = [*(as_published(c) for c in table.sensitive), *table.plain.get_columns()]
    header, arrays = [], [group[order]] + ([] if classes is None else [classes[order]])
    for series in columns:
        values = series.unique(maintain_order=False)
        texts = values.cast(pl.String) if series.dtype == pl.Enum else values
        texts = texts.sort()
        place = _codes(series, texts)
        kind = _WORDS if series.dtype == pl.Enum else str(series.dtype)
        plain = [v.isoformat() if isinstance(v, dt.date) else v for v in texts.to_list()]
        header.append({"name": series.name, "type": kind, "values": plain, "entry": entries[series.name].plain()})
        arrays.append(place[order])
    told = json.dumps(header, ensure_ascii=False, allow_nan=False).encode()
    return _LENGTH.pack(len(told)) + told + b"".join(a.astype(">u4").tobytes() for a in arrays)


def _codes(series: pl.Series, values: pl.Series) -> Integers:
    """The place of each row's value among the distinct values."""
    text = series.cast(pl.String) if series.dtype == pl.Enum else series
    places = pl.DataFrame({"value": values, "place": np.arange(len(values))})
    found = text.to_frame("value").join(places, on="value", how="left", nulls_equal=True, maintain_order="left")
    return found["place"].to_numpy().astype(np.int64)


def longest(records: int, columns: int) -> int:
    """How many bytes the rows may take."""
    return _LENGTH.size + _MOST_HEADER + 4 * records * (columns + 2)


def decode_rows(data: bytes, *, records: int, columns: Sequence[str], classes: int | None) -> PublishedRows:
    """Read rows; refuses everything that `encode_rows` does not write. ``classes``: how many there are, if any."""
    if len(data) < _LENGTH.size:
        raise PeerError("the rows of the release are cut short")
    (told,) = _LENGTH.unpack_from(data)
    number = 1 + (classes is not None) + len(columns)
    if told > _MOST_HEADER or len(data) != _LENGTH.size + told + 4 * records * number:
        raise PeerError(f"the rows of the release do not have the length of {records} rows")
    header = _header(data[_LENGTH.size : _LENGTH.size + told], columns)
    arrays = np.frombuffer(data, ">u4", records * number, _LENGTH.size + told).reshape(number, records).astype(np.int64)
    first = 1 if classes is None else 2
    if classes is not None and (arrays[1] >= classes).any():
        raise PeerError("a row of the release has a class that does not exist")
    series = [_series(entry, codes) for entry, codes in zip(header, arrays[first:], strict=True)]
    return PublishedRows(
        arrays[0], None if classes is None else arrays[1], series, {e["name"]: _entry(e) for e in header}
    )


def _header(told: bytes, columns: Sequence[str]) -> list[dict[str, Any]]:
    try:
        header = json.loads(told.decode())
        known = [e["name"] for e in header] == list(columns) and all(
            isinstance(e["values"], list)
            and e["type"] in (*_TYPES, _WORDS)
            and all(v is None or isinstance(v, str | int | float) for v in e["values"])
            for e in header
        )
    except (ValueError, RecursionError, TypeError, KeyError):
        known = False
    if not known:
        raise PeerError("the description of the unchanged columns cannot be read")
    return list(header)


def _entry(told: Mapping[str, Any]) -> AttributeEntry:
    try:
        entry = attribute_from(told["name"], told.get("entry"))
    except (ReleaseError, TypeError) as error:
        raise PeerError(f"the description of the column {told['name']!r} cannot be read: {error}") from None
    if entry.role not in (Role.SENSITIVE, Role.INSENSITIVE):
        raise PeerError(f"the column {told['name']!r} is published unchanged, but its role is {entry.role}")
    return entry


def _series(told: Mapping[str, Any], codes: Integers) -> pl.Series:
    """A column from its distinct values and the place of each row among them."""
    values = told["values"]
    if (codes >= len(values)).any():
        raise PeerError(f"a row of the release has a value of {told['name']!r} that does not exist")
    if any(isinstance(v, float) and not math.isfinite(v) for v in values):
        raise PeerError(f"the values of the column {told['name']!r} are not finite")
    try:
        return _typed(told["name"], told["type"], values).gather(pl.Series(codes))
    except (TypeError, ValueError, OverflowError, *POLARS_FAILURES):
        raise PeerError(f"the values of the column {told['name']!r} do not have its type") from None


def _typed(name: str, kind: str, values: list[Any]) -> pl.Series:
    if kind == _WORDS:
        return pl.Series(name, values, dtype=pl.Enum(values))
    if kind == "Date":
        return pl.Series(name, [None if v is None else dt.date.fromisoformat(v) for v in values], dtype=pl.Date)
    return pl.Series(name, values, dtype=_TYPES[kind], strict=True)
