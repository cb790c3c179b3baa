"""Instructions and rows as they travel: what is written is read again, and anything else is refused in words."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import DataError, PeerError
from sfumato.integration.instruction import Instruction, decode, longest, pack, unpack
from sfumato.integration.rows import decode_rows, encode_rows, refuse_unsent_types
from sfumato.table.domain import BoxLabel
from strategies import examples

MEANINGS: st.SearchStrategy[Any] = st.none() | st.lists(st.none() | st.text(max_size=4) | st.floats(-9, 9), max_size=3)


@st.composite
def instructions(draw: st.DrawFn) -> Instruction:
    parts = draw(st.integers(1, 9))
    labels = [BoxLabel(draw(st.text(max_size=5)), draw(MEANINGS), 0.0) for _ in range(parts)]
    part = draw(st.lists(st.integers(0, parts - 1), max_size=40))
    return Instruction(draw(st.integers(0, 65535)), draw(st.integers(0, 2**32 - 1)), np.array(part, np.int64), labels)


@examples(200)
@given(instructions())
def test_an_instruction_is_read_as_written(told: Instruction) -> None:
    again = decode(told.encode(), most_records=100)
    assert (again.attribute, again.label, again.labels) == (told.attribute, told.label, told.labels)
    assert again.part.tolist() == told.part.tolist()
    assert len(told.encode()) <= longest(len(told.part))


@examples(300)
@given(instructions(), st.data())
def test_a_mutated_instruction_is_read_or_refused(told: Instruction, data: st.DataObject) -> None:
    """Whatever the bytes are: an instruction whose parts are consistent, or a PeerError; never anything else."""
    payload = bytearray(told.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(payload) - 1))
        payload[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([None, None, -1, 5, 19]))
    try:
        again = decode(bytes(payload[:cut]), most_records=100)
    except PeerError:
        return
    assert len(again.labels) >= 1
    assert all(isinstance(label.label, str) for label in again.labels)


@given(st.binary(max_size=60))
def test_garbage_is_refused(payload: bytes) -> None:
    with pytest.raises(PeerError):
        decode(payload, most_records=100)


@given(st.integers(1, 300), st.data())
def test_parts_take_as_few_bits_as_they_need(parts: int, data: st.DataObject) -> None:
    part = np.array(data.draw(st.lists(st.integers(0, parts - 1), max_size=50)), np.int64)
    assert unpack(pack(part, parts), len(part), parts).tolist() == part.tolist()
    assert len(pack(part, parts)) == (parts - 1).bit_length() * -(-len(part) // 8)


def table() -> sf.Microdata:
    frame = pl.DataFrame(
        {
            "q": [1, 2, 3, 4],
            "ill": ["flu", "HIV", "flu", None],
            "n": [1.5, None, 2.5, 1.5],
            "yes": [True, False, None, True],
            "day": ["2020-01-01", None, "2021-02-03", "2020-01-01"],
        }
    ).with_columns(pl.col("day").str.to_date())
    return sf.read(frame, quasi=["q"], sensitive="ill", insensitive=["n", "yes", "day"], missing="category")


def test_rows_are_read_as_written() -> None:
    """Types, missing values and combinations stay; the order is drawn."""
    group, classes = np.array([0, 1, 0, 1]), np.array([1, 0, 1, 1])
    payload = encode_rows(group, classes, table())
    rows = decode_rows(payload, records=4, columns=["ill", "n", "yes", "day"], classes=2)
    found = pl.DataFrame([pl.Series("group", rows.group), pl.Series("class", rows.classes), *rows.unchanged])
    assert found.schema["day"] == pl.Date
    expected = {
        (0, 1, "flu", 1.5, True, "2020-01-01"),
        (1, 0, "HIV", None, False, None),
        (0, 1, "flu", 2.5, None, "2021-02-03"),
        (1, 1, "(missing)", 1.5, True, "2020-01-01"),
    }
    assert set(found.with_columns(pl.col("ill", "day").cast(pl.String)).rows()) == expected


@examples(200)
@given(st.data())
def test_mutated_rows_are_read_or_refused(data: st.DataObject) -> None:
    payload = bytearray(encode_rows(np.array([0, 1, 0, 1]), None, table()))
    for _ in range(data.draw(st.integers(1, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    try:
        rows = decode_rows(bytes(payload), records=4, columns=["ill", "n", "yes", "day"], classes=None)
    except PeerError:
        return
    assert [s.len() for s in rows.unchanged] == [4] * 4


def test_types_that_cannot_be_sent_are_refused() -> None:
    frame = pl.DataFrame({"q": [1, 2], "t": ["2020-01-01 10:00:00"] * 2}).with_columns(pl.col("t").str.to_datetime())
    with pytest.raises(DataError, match="'t' holds Datetime"):
        refuse_unsent_types(sf.read(frame, quasi=["q"], insensitive=["t"]))
    with pytest.raises(DataError, match="not finite"):
        refuse_unsent_types(
            sf.read(pl.DataFrame({"q": [1, 2], "n": [float("nan"), 1.0]}), quasi=["q"], insensitive=["n"])
        )
