"""Text tables read without Polars, against the reader that every other file goes through."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.kernel import plain_cells
from sfumato.publisher import reading_ahead
from sfumato.publisher.publish import publish_policy
from sfumato.table import plain_text
from sfumato.table.digest import coded_digest, table_digest
from sfumato.table.encode import Attribute, Role
from sfumato.table.microdata import Microdata
from sfumato.table.plain_text import read_plain
from sfumato.table.ranked import frame_of, ranked_columns
from sfumato.table.source import read_frame
from strategies import examples

CELLS = st.one_of(
    st.sampled_from(["", "a", "b", "ab", "0", "07", " ", "é", "☃𝔄", "12345678", "123456789", "?", "#", "'", "^", "$"]),
    st.text(st.sampled_from(list("ab;| \té☃")), max_size=20),
)
ODD = st.sampled_from(['"', "\r", "\0", "\n", ",", "\n\n", '"a"', "\ufeff"])


@pytest.fixture(scope="module", params=[40, 97, 1 << 23])
def blocks(request: pytest.FixtureRequest) -> Iterator[int]:
    """Blocks that end within a row and within a character, and one for all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_text, "_BLOCK", request.param)
        yield request.param


@st.composite
def tables(draw: st.DrawFn, separator: str = ",") -> str:
    """A plain table with two to four columns, some with values that occur again and again."""
    width = draw(st.integers(2, 4))
    cells = [draw(st.lists(CELLS, min_size=1, max_size=4)) for _ in range(width)]
    choose = [st.one_of(st.sampled_from(known), CELLS) for known in cells]
    rows = draw(st.lists(st.tuples(*choose), min_size=1, max_size=30))
    lines = [separator.join("wxyz"[:width]), *(separator.join(c.replace(separator, "") for c in row) for row in rows)]
    return "\n".join(lines) + draw(st.sampled_from(["", "\n"]))


def written(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def agrees(path: Path, nulls: tuple[str, ...] = ()) -> bool:
    """Whether the table is read without Polars; then it must be the one that is read with Polars, and ranked alike."""
    found = read_plain(path, nulls)
    if found is None:
        return False
    frame, ranks = frame_of(found)
    other = read_frame(path, nulls=nulls)
    assert frame.cast(pl.String).equals(other)
    for name, (values, place) in ranked_columns(other).items():
        assert ranks[name].values.to_list() == values.to_list()
        assert ranks[name].place.tolist() == place.tolist()
    assert table_digest(frame, ranks) == table_digest(frame) == table_digest(other)
    return True


@given(tables(), st.sampled_from([(), ("?",), ("a", "0", "")]))
@examples(150)
def test_plain_tables_are_those_that_polars_reads(
    tmp_path_factory: pytest.TempPathFactory, blocks: int, text: str, nulls: tuple[str, ...]
) -> None:
    path = written(tmp_path_factory.mktemp("plain"), text)
    longest = max(len(line.encode()) for line in text.split("\n")) + 1
    blank = "\n\n" in text or text.endswith("\n\n")
    assert agrees(path, nulls) or blank or longest > blocks


@pytest.mark.parametrize(("separator", "name"), [(";", "t.csv"), ("\t", "t.tsv"), ("|", "t.txt")])
def test_other_separators(tmp_path: Path, separator: str, name: str) -> None:
    rows = separator.join(["x", "y"]) + "\n" + separator.join(["1,5", ""]) + "\n" + separator.join(["", "b c"])
    assert agrees(written(tmp_path, rows, name))


@given(tables(), st.integers(0, 200), ODD)
@examples(150)
def test_whatever_is_not_plain_is_left_to_polars(
    tmp_path_factory: pytest.TempPathFactory, blocks: int, text: str, place: int, odd: str
) -> None:
    """A table that Polars refuses is not read; one that it reads is read alike, or not at all."""
    path = written(tmp_path_factory.mktemp("odd"), text[:place] + odd + text[place:])
    try:
        read_frame(path)
    except DataError:
        assert read_plain(path, ()) is None
    else:
        agrees(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x,y",
        b"x,y\n",
        b"x\n1\n",
        b"\n\n",
        b"x,x\n1,2\n",
        b"x,\n1,2\n",
        b"^x$,y\n1,2\n",
        b"\xef\xbb\xbfx,y\n1,2\n",
        b"x,y\r\n1,2\r\n",
        b'x,y\n"1",2\n',
        b"x,y\n1,2\n\n",
        b"x,y\n1,2\n3\n",
        b"x,y\n1,2,3\n",
        b"x,y\n1,\xff\n",
        b"x,\xff\n1,2\n",
        b"x,y\n1,\0\n",
    ],
)
def test_what_is_not_plain(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert read_plain(path, ()) is None
    assert read_plain(tmp_path / "absent.csv", ()) is None
    assert read_plain(tmp_path, ()) is None


def test_many_values_in_many_blocks(tmp_path: Path, blocks: int) -> None:
    """So many that they share places in the table of hashes: short ones, some of which begin others, and long ones."""
    drawn = np.random.default_rng(5).integers(0, 20_000, (30_000, 2))
    rows = "".join(f"{a},value-{b:08d}\n" for a, b in drawn)
    path = written(tmp_path, "x,y\n" + rows)
    if blocks == 40:
        path = written(tmp_path, "x,y\n" + "".join(rows.splitlines(keepends=True)[:3000]))
    assert agrees(path)


def test_more_values_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = written(tmp_path, "x,y\n" + "".join(f"{n},{n % 7}\n" for n in range(plain_cells.MOST)))
    assert agrees(most)
    with most.open("a") as file:
        file.write("one more,1\n")
    assert read_plain(most, ()) is None
    few = written(tmp_path, "x,y\n" + "abcdefgh,b\n" * 10)
    monkeypatch.setattr(plain_text, "_ROOM", 9)
    assert agrees(few)
    monkeypatch.setattr(plain_text, "_ROOM", 8)
    assert read_plain(few, ()) is None


ATTRIBUTES = [
    Attribute(name="w", role=Role.IDENTIFIER),
    Attribute(name="x", role=Role.INSENSITIVE),
    Attribute(name="y", role=Role.QUASI),
    Attribute(name="z", role=Role.QUASI, pad=3),
]


@pytest.mark.parametrize("missing", ["error", "drop", "category"])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ann", "bob", ""]),
            st.sampled_from(["1", "2", "3.5", ""]),
            st.sampled_from(["1", "10", "9", ""]),
            st.sampled_from(["1", "22", "xyz"]),
        ),
        min_size=1,
        max_size=20,
    )
)
@examples(60)
def test_the_coded_tables_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, missing: str, rows: list[tuple[str, ...]]
) -> None:
    path = written(tmp_path_factory.mktemp("coded"), "\n".join(["w,x,y,z", *map(",".join, rows)]) + "\n")
    found = read_plain(path, ())
    assert found is not None
    frame, ranks = frame_of(found)

    def coded(frame: pl.DataFrame, **known: object) -> str:
        try:
            table = Microdata.from_frame(frame, ATTRIBUTES, missing=missing, **known)  # type: ignore[arg-type]
        except DataError as error:
            return str(error)
        assert table.hidden["w"].dtype == pl.String
        return f"{coded_digest(table)} {table.plain.schema} {table.plain.rows()} {table.dropped}"

    assert coded(frame, ranks=ranks) == coded(frame) == coded(read_frame(path))


POLICY = """[data]
source = "t.csv"
nulls = ["?"]
missing = "drop"
[attributes]
name = { role = "identifier" }
age = { role = "quasi", kind = "continuous" }
zip = { role = "quasi" }
note = { role = "insensitive" }
[[require]]
model = "k-anonymity"
k = 3
"""


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_release_is_the_same_either_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quote: str) -> None:
    """Also if the table turns out not to be plain in its last row."""
    monkeypatch.setattr(reading_ahead, "_LEAST_PLAIN", 0)
    drawn = np.random.default_rng(1).integers(0, 30, (400, 2))
    rows = [f"p{n},{20 + a},{b % 4 if b else '?'},{n % 5}" for n, (a, b) in enumerate(drawn)]
    written(tmp_path, "\n".join(["name,age,zip,note", *rows, f"{quote}last{quote},33,1,4"]))
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    ahead = reading_ahead.read_ahead(policy)
    assert ahead is not None
    is_plain = ahead.frame.result(timeout=120)["age"].dtype == pl.Enum
    assert is_plain == (quote == "")
    made = publish_policy(policy, tmp_path / "ahead", seed=3, ahead=ahead, ledger=False)
    publish_policy(policy, tmp_path / "now", seed=3, ledger=False)
    for name in ("data.csv", "manifest.json"):
        assert (tmp_path / "ahead/release" / name).read_bytes() == (tmp_path / "now/release" / name).read_bytes()
    assert made.summary.dropped == sum(row.split(",")[2] == "?" for row in rows)
