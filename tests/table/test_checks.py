"""What is read at all: regular files of bounded size, by names that can be written down."""

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import DataError, OutputError, PolicyError
from sfumato.publisher.policy import parse_policy, read_policy
from sfumato.requirement.user_distributions import read_distributions
from sfumato.table.checks import check_names, is_number
from sfumato.table.encode import looks_numeric
from sfumato.table.hierarchy import read_taxonomy
from sfumato.table.regular_file import check_file, located, read_text

VALUES = ["20", "25", "30"]
IRREGULAR = r"folder|regular"


@pytest.mark.parametrize("value", [0, -1.5, Fraction(1, 3), np.float32(2), np.int8(3), 10**300])
def test_numbers(value: object) -> None:
    assert is_number(value)


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), float("inf"), 10**400, -(10**400), [], 1j])
def test_what_is_no_number(value: object) -> None:
    assert not is_number(value)


@pytest.mark.parametrize(
    "make", [os.mkfifo, Path.mkdir, lambda p: p.symlink_to("/dev/zero")], ids=["fifo", "dir", "zero"]
)
def test_only_regular_files_are_read(tmp_path: Path, make: object) -> None:
    path = tmp_path / "odd.csv"
    make(path)  # type: ignore[operator]
    with pytest.raises(DataError, match=IRREGULAR):
        check_file(path, "it")
    with pytest.raises(DataError, match=IRREGULAR):
        read_text(path, "it", largest=100)
    with pytest.raises(PolicyError, match=IRREGULAR):
        read_policy(path)
    with pytest.raises(DataError, match=IRREGULAR):
        read_taxonomy(str(path), VALUES, name="x")
    with pytest.raises(PolicyError, match=IRREGULAR):
        read_distributions(path)
    with pytest.raises(DataError, match=IRREGULAR):
        sf.read(path, quasi=["a"])


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffé\r\nb".encode())
    assert read_text(path, "it", largest=9) == "é\nb"
    with pytest.raises(DataError, match="larger than"):
        read_text(path, "it", largest=7)
    path.write_bytes(b"a\xff")
    with pytest.raises(DataError, match="not UTF-8 at byte 1"):
        read_text(path, "it", largest=9)
    with pytest.raises(OutputError, match="name it rightly"):
        read_text(tmp_path / "none", "it", largest=9, kind=OutputError, remedy="name it rightly")


def test_names_of_files() -> None:
    assert located("a.csv", Path("b")) == Path("b/a.csv")
    assert located("~/a.csv", Path("b")) == Path("~/a.csv").expanduser()
    with pytest.raises(DataError, match="user who does not exist"):
        located("~nosuchuser/a.csv", None)
    with pytest.raises(DataError, match="NUL"):
        located("a\0b", None)
    with pytest.raises(PolicyError, match="not UTF-8"):
        located(os.fsdecode(b"\xe9.csv"), None, PolicyError)
    with pytest.raises(DataError, match="user who does not exist"):
        sf.read("~nosuchuser/a.csv", quasi=["a"])
    with pytest.raises(DataError, match="name too long"):
        sf.read("x" * 300 + ".csv", quasi=["a"])


def test_a_name_that_polars_takes_for_a_pattern_is_refused() -> None:
    with pytest.raises(DataError, match=r"pattern.*Rename"):
        sf.read(pl.DataFrame({"^a.*$": [1, 2], "ab": [3, 4]}), quasi=["^a.*$"])
    check_names(["*", "^a", "a$"], "the table")


@pytest.mark.parametrize("k", [10**400, 2**63, 10**16])
def test_no_table_has_that_many_rows(k: int) -> None:
    with pytest.raises(PolicyError, match="no table has that many rows"):
        sf.KAnonymity(k=k)


@pytest.mark.parametrize("t", [10**400, float("inf"), float("nan")])
def test_shares_are_finite(t: float) -> None:
    with pytest.raises(PolicyError, match="t ="):
        sf.TCloseness(t=t)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("x = " + "[" * 300 + "]" * 300, "nested too deeply"),
        ("x = 1" + "0" * 400, "beyond 64 bits"),
        ("x = 0x" + "F" * 5000, "beyond 64 bits"),
        ("x = 1" + "0" * 5000, "not TOML"),
        ("[[a.b]]\nc = [{ d = -9223372036854775809 }]", "beyond 64 bits"),
    ],
)
def test_extremes_of_a_policy(text: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        parse_policy(text, folder=Path())


@pytest.mark.parametrize("width", [1e-300, 5e-324, 1e-16, 10**400])
def test_a_width_too_small_or_too_large(width: float) -> None:
    with pytest.raises(PolicyError, match="width of 'age'"):
        read_taxonomy({"width": width}, VALUES, name="age")


@pytest.mark.parametrize(
    ("header", "refused"),
    [
        ("age;group;all", True),
        ("AGE;young;*", True),
        ("level 0;level 1;level 2", True),
        ("Alter;Gruppe;Alle", True),
        ("35;young;*", False),
    ],
)
def test_a_header_of_a_hierarchy_is_no_value(tmp_path: Path, header: str, refused: bool) -> None:
    (tmp_path / "age.csv").write_text(f"{header}\n20;young;*\n25;young;*\n30;old;*\n")
    if refused:
        with pytest.raises(DataError, match="looks like a header"):
            read_taxonomy("age.csv", VALUES, name="age", folder=tmp_path)
    else:
        tree = read_taxonomy("age.csv", VALUES, name="age", folder=tmp_path)
        assert tree.leaves == ("35", "20", "25", "30")


def test_a_first_row_that_the_data_hold_is_a_value(tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("20;young\n25;old\n30;old\n")
    tree = read_taxonomy("age.csv", VALUES, name="age", folder=tmp_path)
    assert tree.to_tree() == {"*": {"young": {"20": {}}, "old": {"25": {}, "30": {}}}}


def test_codes_are_no_numbers() -> None:
    assert not looks_numeric(["1E5", "123"])
    assert not looks_numeric(["12e07"])
    assert looks_numeric(["1e-5", "2"])
    assert looks_numeric(["1e+16"])


def test_half_of_a_surrogate_pair_is_no_label(tmp_path: Path) -> None:
    (tmp_path / "age.json").write_text('{"Any": ["20", "25", "\\ud800"]}')
    with pytest.raises(DataError, match="Unicode"):
        read_taxonomy("age.json", VALUES, name="age", folder=tmp_path)
