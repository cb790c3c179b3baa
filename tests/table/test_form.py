"""Files as people write them: what the settings of [data] mean, and what `init` finds out about a file."""

import datetime as dt
import string
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import DataError, PolicyError
from sfumato.table.encode import Attribute, Kind, Role
from sfumato.table.form import KEYS, Form, FormKeys
from sfumato.table.notation import as_dates, as_numbers
from sfumato.table.sniff import sniffed
from sfumato.table.source import read_frame

GERMAN = "Name;Größe;Betrag;Aufnahme\nMüller;1,75;1.234,50 €;31.12.2024\nÖz;1,6;12 €;1.2.2025\n"


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def test_a_german_file(tmp_path: Path) -> None:
    file = write(tmp_path / "d.csv", GERMAN, "cp1252")
    with pytest.raises(DataError, match='set encoding = "cp1252"'):
        read_frame(file)
    form = Form(encoding="cp1252", separator=";", decimal=",", thousands=".", dates="%d.%m.%Y")
    frame = read_frame(file, form=form)
    assert frame["Name"].to_list() == ["Müller", "Öz"]
    assert frame["Größe"].to_list() == ["1.75", "1.6"]
    assert frame["Betrag"].to_list() == ["1234.50", "12"]
    assert frame["Aufnahme"].to_list() == [dt.date(2024, 12, 31), dt.date(2025, 2, 1)]
    table = sf.read(file, quasi=["Größe", "Aufnahme"], **form.said())
    assert [c.kind.value for c in table.quasi] == ["continuous", "date"]


# fmt: off
CORPUS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("german clinic", GERMAN, "cp1252",
     {"encoding": "cp1252", "separator": ";", "decimal": ",", "thousands": ".", "dates": "%d.%m.%Y"}),
    ("english", "zip,age,d\n02138,30,2024-01-01\n02139,31,2024-01-02\n", "utf-8", {}),
    ("dollars", 'a,b,when\n1,"$65,794",12/31/2024\n2,"$1,000,000",01/02/2024\n', "utf-8",
     {"thousands": ",", "dates": "%m/%d/%Y"}),
    ("british", "a,when\n1,31/12/2024\n2,01/02/2024\n", "utf-8", {"dates": "%d/%m/%Y"}),
    ("utf-16 tabs", "a\tb\tw\n1\t1 234,5\t31-Dec-2024\n2\t7,25\t01-Jan-2025\n", "utf-16",
     {"encoding": "utf-16", "separator": "\t", "decimal": ",", "thousands": " ", "dates": "%d-%b-%Y"}),
    ("swiss", "a;b\n1'234.50;x\n2.5;y\n", "utf-8", {"separator": ";", "thousands": "'"}),
    ("french", "a;b\n1\u202f234,50;é\n2,5;y\n", "utf-8", {"separator": ";", "decimal": ",", "thousands": " "}),
    ("points between thousands only", "a;b;c\n1,5;2,5;1.234\n2,5;3,5;12.500\n", "utf-8",
     {"separator": ";", "decimal": ",", "thousands": "."}),
    ("versions are no numbers", "v;b\n1.2.3;x\n10.0.1;y\n", "utf-8", {"separator": ";"}),
    ("codes with commas are no numbers", "c;b\n01,5;x\n07,2;y\n", "utf-8", {"separator": ";"}),
    ("times", "a,at\n1,31.12.2024 23:10\n2,01.02.2025 00:00\n", "utf-8", {"dates": "%d.%m.%Y %H:%M"}),
    ("american times", "a,at\n1,12/31/2024 11:10 PM\n2,01/02/2025 01:00 AM\n", "utf-8",
     {"dates": "%m/%d/%Y %I:%M %p"}),
    ("iso with slashes", "a,at\n1,2024/12/31\n2,2025/01/02\n", "utf-8", {"dates": "%Y/%m/%d"}),
    ("iso with times needs nothing", "a,at\n1,2024-12-31T10:00:00\n2,2025-01-02T11:00:00\n", "utf-8", {}),
    ("months by name", "a,at\n1,\"December 31, 2024\"\n2,\"January 2, 2025\"\n", "utf-8", {"dates": "%B %d, %Y"}),
    ("two formats", "a,b\n31.12.2024,12/31/2024\n01.02.2025,01/15/2025\n", "utf-8",
     {"dates": ["%d.%m.%Y", "%m/%d/%Y"]}),
    ("one column settles the other", "a,b\n31/12/2024,01/02/2024\n01/02/2025,03/04/2025\n", "utf-8",
     {"dates": "%d/%m/%Y"}),
    ("markers are passed over", "a;b\n1,5;31.12.2024\nk.A.;k.A.\n2,5;?\n", "utf-8",
     {"separator": ";", "decimal": ",", "dates": "%d.%m.%Y"}),
    ("pipe", "a|b\n1|2\n", "utf-8", {"separator": "|"}),
    ("latin-1", "a,b\n\x81é,1\n", "latin-1", {"encoding": "latin-1"}),
    ("utf-16 without a mark", "a,b\nx,1\ny,2\n", "utf-16-le", {"encoding": "utf-16-le"}),
    ("utf-8 with a mark", "\ufeffa,b\nx,1\n", "utf-8", {}),
    ("euros before", "a;b\nx;€ 12,50\ny;€ 7,00\n", "utf-8", {"separator": ";", "decimal": ","}),
    ("minus", "a;b\nx;-12,50\ny;+7,00\n", "utf-8", {"separator": ";", "decimal": ","}),
]
# fmt: on


@pytest.mark.parametrize(("text", "encoding", "expected"), [c[1:] for c in CORPUS], ids=[c[0] for c in CORPUS])
def test_what_is_found_about_a_file(tmp_path: Path, text: str, encoding: str, expected: dict[str, Any]) -> None:
    file = write(tmp_path / "t.csv", text, encoding)
    found = sniffed(file, "t.csv")
    assert found.form.said() == expected
    assert set(found.reasons) == set(expected)
    read_frame(file, form=found.form)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,when\n1,01/02/2024\n2,03/04/2024\n", "%m/%d/%Y or %d/%m/%Y"),
        ("a;when\n1;01/02/2024\n2;03/04/2024\n", "%d/%m/%Y or %m/%d/%Y"),
        ('a,b\n1,"65,794"\n2,"1,234"\n', "treats them as thousands"),
        ("a;b\n1;65,794\n2;1,234\n", "treats them as decimals"),
        ("a,when\n1,01.02.50\n2,31.04.20\n2,30.04.20\n", ""),
        ("a,when\n1,01.02.50\n2,30.04.20\n", "two-digit years"),
    ],
)
def test_what_is_ambiguous_is_said(tmp_path: Path, text: str, says: str) -> None:
    notes = sniffed(write(tmp_path / "t.csv", text), "t.csv").notes
    assert any(says in note for note in notes) if says else not notes


@given(
    st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1),
    st.sampled_from([(",", "."), (",", " "), (".", ","), (".", "'"), (",", None)]),
)
def test_numbers_come_back(numbers: list[Any], marks: tuple[str, str | None]) -> None:
    decimal, thousands = marks
    written = [f"{n:,.2f}".replace(",", "\0").replace(".", decimal).replace("\0", thousands or "") for n in numbers]
    found = as_numbers(pl.Series(written), decimal, thousands)
    assert found is not None
    assert [float(text) for text in found] == [float(n) for n in numbers]


@given(
    st.lists(st.dates(dt.date(1000, 1, 1)), min_size=1),
    st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%b-%Y", "%B %d, %Y"]),
)
def test_dates_come_back(days: list[dt.date], written: str) -> None:
    found = as_dates(pl.Series([day.strftime(written) for day in days]), [written])
    assert found is not None
    assert found.to_list() == days


@given(st.text(string.printable, max_size=12))
def test_any_text_is_a_number_or_stays(text: str) -> None:
    found = as_numbers(pl.Series([text]), ",", ".")
    assert found is None or np.isfinite(float(found[0]))


def test_a_column_changes_as_a_whole_or_not(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", "a;b\n1,5;31.12.2024\nx;32.12.2024\n")
    frame = read_frame(file, form=Form(decimal=",", dates="%d.%m.%Y"))
    assert frame.rows() == [("1,5", "31.12.2024"), ("x", "32.12.2024")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"encoding": "utf-9"}, {"encoding": "base64"}, {"encoding": 7}, {"separator": ";;"}, {"separator": "a"},
        {"separator": '"'}, {"decimal": ";"}, {"thousands": "."}, {"decimal": ",", "thousands": ","},
        {"dates": "%d.%m."},
        {"dates": ["%Y-%m-%d", 3]}, {"dates": ["%d.%m.%Y"] * 11}, {"sheet": 0}, {"sheet": ""}, {"header": True},
        {"header": "1"}, {"user_missing": "drop"},
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        Form.of(wrong)


def test_settings_for_other_sources_are_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", "a,b\n1,2\n")
    with pytest.raises(PolicyError, match="is only for workbooks"):
        read_frame(file, form=Form(sheet=1))
    with pytest.raises(PolicyError, match="is only for text files"):
        read_frame(pl.DataFrame({"a": [1]}), form=Form(encoding="cp1252"))
    with pytest.raises(DataError, match="is not utf-16"):
        read_frame(write(tmp_path / "u.csv", "a,b\n1,2\nx"), form=Form(encoding="utf-16"))
    assert set(KEYS) == set(FormKeys.__annotations__)


def test_encodings_that_do_not_fit(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", GERMAN, "cp1252")
    with pytest.raises(DataError, match="cp1252 fits"):
        read_frame(file, form=Form(encoding="ascii"))
    assert read_frame(file, form=Form(encoding="latin-1"))["Betrag"][1] == "12 \x80"


def test_iso_dates_of_text_are_dates(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", "d,e,f\n2024-01-31,2024-01-31T10:00,2024-01-32\n2024-02-01,2024-01-31,x\n")
    table = sf.read(file, quasi=["d", "e", "f"])
    assert [c.kind.value for c in table.quasi] == ["date", "date", "categorical"]


def test_lost_zeros_come_back(tmp_path: Path) -> None:
    policy = write(
        tmp_path / "p.toml",
        '[data]\nsource = "t.csv"\n[attributes]\nplz = { role = "quasi", pad = 5, taxonomy = { mask = "right" } }\n'
        'd = "sensitive"\nnote = "drop"\n[[require]]\nmodel = "k-anonymity"\nk = 2\n[method]\nname = "mondrian"\n',
    )
    write(
        tmp_path / "t.csv", "plz,d,note\n" + "".join(f"{z},{d},x\n" for z in (1067, 1069, 99084, 99085) for d in "ab")
    )
    release = sf.publish_policy(policy, tmp_path / "out").release
    shown = set(release.tables["data"]["plz"].cast(pl.String))
    assert all(len(label) == 5 or label == "*" for label in shown)
    assert any(label.startswith("0") for label in shown)
    assert release.tables["data"].columns == ["plz", "d"]
    with pytest.raises(PolicyError, match="pad is only for codes"):
        Attribute(name="x", role=Role.QUASI, kind=Kind.CONTINUOUS, pad=5)
