"""Ranks of cells: the same as by sorting in Python, the same digest, the same codes."""

import hashlib
import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.table.digest import table_digest
from sfumato.table.encode import Attribute, Role
from sfumato.table.microdata import Microdata
from sfumato.table.ranked import places, ranked, ranked_columns
from strategies import examples

TEXTS = st.lists(
    st.one_of(st.none(), st.sampled_from(["", "a", "A", "10", "9", "ä", "z" * 20])), min_size=1, max_size=12
)
LIMITS = {pl.Int8: 2**7, pl.Int16: 2**15, pl.Int64: 2**63, pl.UInt8: 2**8, pl.UInt64: 2**64}


@st.composite
def integers(draw: st.DrawFn) -> pl.Series:
    dtype = draw(st.sampled_from(list(LIMITS)))
    limit = LIMITS[dtype]
    least = 0 if dtype in (pl.UInt8, pl.UInt64) else -limit
    near = st.sampled_from([least, least + 1, 0, 1, 5, 100, limit - 2, limit - 1])
    values = st.one_of(st.none(), near, st.integers(least, limit - 1))
    return pl.Series(draw(st.lists(values, min_size=1, max_size=12)), dtype=dtype)


def by_sorting(column: pl.Series) -> tuple[list[Any], list[int]]:
    cells = column.to_list()
    values = sorted({c for c in cells if c is not None}, key=lambda c: c.encode() if isinstance(c, str) else c)
    return values, [len(values) if c is None else values.index(c) for c in cells]


@examples(60)
@given(st.one_of(TEXTS.map(lambda texts: pl.Series(texts, dtype=pl.String)), integers()))
def test_ranks_are_those_of_sorting(column: pl.Series) -> None:
    found = ranked(column)
    assert (found.values.to_list(), found.place.tolist()) == by_sorting(column)


@pytest.mark.parametrize("values", [[0.5, -1.0, 0.5, 2.0], [1e300, -1e300, 0.0]])
def test_fractions_are_searched_for(values: list[float]) -> None:
    column = pl.Series([*values, None])
    assert places(column, column.drop_nulls().unique().sort()).tolist() == by_sorting(column)[1]


def naive_digest(frame: pl.DataFrame) -> str:
    """The digest by its definition: the ranks of texts, rows sorted as tuples of these."""
    summed = hashlib.sha256(json.dumps([sorted(frame.columns), frame.height]).encode())
    ranks = []
    for name in sorted(frame.columns):
        texts = frame[name].cast(pl.String).to_list()
        words = sorted({t for t in texts if t is not None}, key=str.encode)
        summed.update(json.dumps([name, words]).encode())
        ranks.append(([len(words) if t is None else words.index(t) for t in texts], len(words) + 1))
    keys = []
    for row in range(frame.height):
        key = 0
        for rank, size in ranks:
            key = key * size + rank[row]
        keys.append(key)
    summed.update(np.array(sorted(keys), "<u8").tobytes())
    return summed.hexdigest()


@examples(60)
@given(st.data())
def test_the_digest_is_the_same_with_ranks_and_without(data: st.DataObject) -> None:
    texts = data.draw(TEXTS)
    numbers = data.draw(st.lists(st.one_of(st.none(), st.integers(-12, 120)), min_size=len(texts), max_size=len(texts)))
    halves = [None if n is None else n / 2 for n in numbers]
    frame = pl.DataFrame({"t": pl.Series(texts, dtype=pl.String), "n": pl.Series(numbers, dtype=pl.Int64), "h": halves})
    frame = frame.cast({"h": pl.Float64})
    assert table_digest(frame) == table_digest(frame, ranked_columns(frame)) == naive_digest(frame)


@pytest.mark.parametrize("block", [1, 3, 4, 12, 13])
def test_the_digest_is_the_same_whatever_rows_are_taken_at_a_time(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.table.digest._BLOCK", block)
    frame = pl.DataFrame({"t": ["b", "a", None, "c"] * 3, "n": list(range(12)), "h": [0.5, None] * 6})
    assert table_digest(frame) == naive_digest(frame)


@pytest.mark.parametrize("missing", ["category", "drop"])
def test_codes_are_the_same_with_ranks_and_without(missing: Any) -> None:
    frame = pl.DataFrame(
        {"age": [30, None, 30, -4], "zip": ["02", "9", None, "02"], "ill": ["b", "a", "b", "c"], "pad": [7, 12, 7, 7]}
    )
    attributes = [
        Attribute(name="age", role=Role.QUASI),
        Attribute(name="zip", role=Role.QUASI),
        Attribute(name="ill", role=Role.SENSITIVE),
        Attribute(name="pad", role=Role.QUASI, pad=3),
    ]
    with_ranks, without = (
        Microdata.from_frame(frame, attributes, missing=missing, ranks=ranks) for ranks in (ranked_columns(frame), None)
    )
    for name, column in without.columns.items():
        assert with_ranks[name].codes.tolist() == column.codes.tolist()
        assert with_ranks[name].domain.leaves == column.domain.leaves
    assert next(with_ranks["pad"].domain.leaves[c] for c in with_ranks["pad"].codes) == "007"


def test_ranking_tells_how_many_columns_are_done_and_can_be_ended() -> None:
    frame = pl.DataFrame({name: ["x", "y"] for name in "abcd"} | {"e": [0.5, 1.5]})
    shares: list[float] = []
    assert list(ranked_columns(frame, shares.append)) == ["a", "b", "c", "d"]
    assert shares == [0.25, 0.5, 0.75, 1.0]

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ranked_columns(frame, stop)
