"""Files other than text, the way to a file, and what holds of every source."""

import datetime
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter

from sfumato.errors import DataError, PolicyError, SfumatoError
from sfumato.table.form import Form
from sfumato.table.source import read_frame

FRAME = pl.DataFrame({"name": ["ann", None], "age": [1, 2]})


def failure(source: object, kind: type[SfumatoError] = DataError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        read_frame(source, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def workbook(path: Path, *rows: list[Any]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        book.add_worksheet().write(0, 0, "other sheet")
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for place, row in enumerate(rows):
            for column, value in enumerate(row):
                if value is not None:
                    sheet.write(place, column, value, day if isinstance(value, datetime.date) else None)
    return path


def test_paths_are_relative_to_the_folder(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    for source in ("t.csv", Path("t.csv"), str(tmp_path / "t.csv")):
        assert read_frame(source, folder=tmp_path).rows() == [("1",)]
    (tmp_path / "T2.CSV").write_text("a\n1\n")
    assert read_frame("T2.CSV", folder=tmp_path).rows() == [("1",)]


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "year=1.parquet")
    assert read_frame(tmp_path / "year=1.parquet").equals(FRAME)


@pytest.mark.parametrize("dtype", [pl.Date(), pl.Datetime("ms"), pl.Datetime("us"), pl.Datetime("ns", "UTC")])
def test_days_beyond_the_calendar_are_refused(dtype: pl.DataType) -> None:
    """Polars panics at some of them, and Python has none."""
    day = {"ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}.get(getattr(dtype, "time_unit", ""), 1)
    first, last = -719_162, 2_932_896
    good = [0, None] if day > 10**13 else [first * day, None, (last + 1) * day - 1]  # ns reach from 1677 to 2262
    assert read_frame(pl.DataFrame({"when": pl.Series(good).cast(dtype)})).height == len(good)
    for odd in () if day > 10**13 else (first * day - 1, (last + 1) * day):
        with pytest.raises(DataError, match=r"'when' has days before the year 1 or after the year 9999"):
            read_frame(pl.DataFrame({"when": pl.Series([0, odd]).cast(dtype)}))


def test_a_missing_file_suggests_others(tmp_path: Path) -> None:
    (tmp_path / "Discharges.csv").write_text("a\n1\n")
    (tmp_path / "unlike.txt").write_text("a\n1\n")
    message = failure("dischargs.csv", folder=tmp_path)
    assert "dischargs.csv does not exist" in message
    assert "Did you mean Discharges.csv?" in message
    assert "Discharges.csv" in failure("discharges.parquet", folder=tmp_path)
    assert "similar name" in failure("zzz.parquet", folder=tmp_path)
    assert "no folder" in failure("nowhere/t.csv", folder=tmp_path)


def test_folder_extension_and_empty_file(tmp_path: Path) -> None:
    assert "is a folder" in failure(tmp_path)
    (tmp_path / "t.sas7").write_text("x")
    message = failure(tmp_path / "t.sas7")
    assert "'.sas7'" in message
    assert ".parquet" in message
    for name in ("t.csv", "t.parquet", "t.xlsx"):
        (tmp_path / name).touch()
        assert "is empty" in failure(tmp_path / name)
    (tmp_path / "t.db").write_text("x")
    assert "sqlite:///" in failure(tmp_path / "t.db")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.csv")
    assert "not a regular file" in failure(tmp_path / "t.csv")


def test_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may read everything
    assert "permission denied" in failure(tmp_path / "t.csv")


def test_a_failing_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> pl.DataFrame:
        raise OSError(5, "Input/output error")

    FRAME.write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(pl, "read_parquet", fail)
    assert "Input/output error" in failure(tmp_path / "t.parquet")


@pytest.mark.parametrize("content", [b"nonsense", b"PAR1nonsensePAR1"])
@pytest.mark.parametrize(("name", "format_"), [("t.parquet", "parquet"), ("t.xlsx", "Excel"), ("t.xls", "Excel")])
def test_broken_files(tmp_path: Path, content: bytes, name: str, format_: str) -> None:
    (tmp_path / name).write_bytes(content)
    message = failure(tmp_path / name)
    assert f"cannot be read as {'an ' if format_ == 'Excel' else ''}{format_}" in message


def test_truncated_parquet(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(content[: len(content) // 2])
    assert "cannot be read as parquet" in failure(tmp_path / "t.parquet")


def test_excel_types(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    day = datetime.date(2020, 1, 2)
    rows: list[list[Any]] = [
        ["x", "02138", 1.5, day, True, 7, None],
        [None] * 7,
        ["y", "02139", 2, day, False, "text", None],
    ]
    names = ["name", "zip", "score", "day", "flag", "mix", "void"]
    frame = read_frame(workbook(tmp_path / "t.xlsx", names, *rows))
    assert frame.columns == names
    assert frame.rows() == [
        ("x", "02138", 1.5, day, True, "7", None),
        ("y", "02139", 2.0, day, False, "text", None),
    ]
    assert capfd.readouterr() == ("", "")


def test_excel_types_do_not_depend_on_the_first_rows(tmp_path: Path) -> None:
    frame = read_frame(workbook(tmp_path / "t.xlsx", ["a"], *([n] for n in range(1200)), ["late"]))
    assert frame["a"].to_list()[-2:] == ["1199", "late"]


def test_excel_names(tmp_path: Path) -> None:
    assert "'a'" in failure(workbook(tmp_path / "t.xlsx", ["a", "b", "a"], [1, 2, 3]))
    assert "column 2" in failure(workbook(tmp_path / "t.xlsx", ["a", None, "b"], [1, 2, 3]))
    assert read_frame(workbook(tmp_path / "t.xlsx", ["a", "a_1"], [1, 2])).columns == ["a", "a_1"]
    assert read_frame(workbook(tmp_path / "t.xlsx", ["a", None, "b"], [1, None, 3])).columns == ["a", "b"]


def test_excel_without_rows(tmp_path: Path) -> None:
    assert "no rows" in failure(workbook(tmp_path / "t.xlsx", ["a", "b"]))
    assert "no rows" in failure(workbook(tmp_path / "t.xlsx"))


def test_types_are_simplified() -> None:
    frame = pl.DataFrame(
        {
            "cat": pl.Series(["x", None], dtype=pl.Categorical),
            "enum": pl.Series(["x", "?"], dtype=pl.Enum(["x", "?"])),
            "money": pl.Series(["1.25", None]).cast(pl.Decimal(10, 2)),
            "void": [None, None],
            "float": [float("nan"), float("inf")],
            "list": [[1], [2]],
        }
    )
    tidy = read_frame(frame, nulls=["?"])
    assert tidy.dtypes == [pl.String, pl.String, pl.Float64, pl.String, pl.Float64, pl.List(pl.Int64)]
    assert tidy.drop("float", "list").rows() == [("x", "x", 1.25, None), (None, None, None, None)]
    assert tidy["float"].is_nan().to_list() == [True, False]


def test_null_strings_hold_for_every_source_and_only_for_text() -> None:
    frame = read_frame(pl.DataFrame({"a": ["0", "x", ""], "b": [0, 1, 2]}), nulls=["0"])
    assert frame.rows() == [(None, 0), ("x", 1), ("", 2)]


def test_wrong_use() -> None:
    assert "not a database" in failure("t.csv", PolicyError, query="select 1")
    assert "not a database" in failure(FRAME, PolicyError, query="select 1")
    assert "list of strings" in failure(FRAME, PolicyError, nulls="NA")
    assert "list of strings" in failure(FRAME, PolicyError, nulls=[None])
    assert "builtins.int" in failure(42, PolicyError)
    assert "builtins.NoneType" in failure(None, PolicyError)


def test_heavy_libraries_are_not_imported() -> None:
    code = (
        "import sys; from sfumato.table.source import read_frame; import polars as pl;"
        "read_frame(pl.DataFrame({'a': ['x']}));"
        "print([m for m in ('pandas', 'pyarrow', 'fastexcel', 'adbc_driver_manager') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "[]"


def test_folders_and_patterns_are_read_as_one_table(tmp_path: Path) -> None:
    for name, rows in (("b.csv", "Öz;1,5\n"), ("a.csv", "Müller;2,5\nGroß;3\n")):
        (tmp_path / name).write_bytes(f"Name;x\n{rows}".encode("cp1252"))
    (tmp_path / "_odd.csv").write_text("other\n1\n")
    form = Form(encoding="cp1252", separator=";", decimal=",")
    for source in (tmp_path, str(tmp_path / "?.csv")):
        found = read_frame(source, form=form)
        assert found.rows() == [("Müller", "2.5"), ("Groß", "3"), ("Öz", "1.5")]
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "c.parquet")
    with pytest.raises(DataError, match="a table must have one kind"):
        read_frame(tmp_path, form=form)
    (tmp_path / "c.csv").write_text("Name;y\nA;1\n")
    with pytest.raises(DataError, match="does not have the same columns"):
        read_frame(str(tmp_path / "*.csv"), form=form)
    with pytest.raises(DataError, match="does not match any file"):
        read_frame(str(tmp_path / "*.txt"))
