"""The files of tables are written side by side; nobody writes to a folder that is given up."""

import threading
import time
from pathlib import Path

import polars as pl
import pytest

from sfumato.engine.local import write_parquet
from sfumato.release.files.table_files import write_tables, writing_tables
from sfumato.table.regular_file import digest

TABLES = {"quasi": pl.DataFrame({"a": ["=1", "x"]}), "sensitive": pl.DataFrame({"b": [1, 2]})}


def test_every_file_is_listed_in_order_with_its_digest(tmp_path: Path) -> None:
    files = write_tables(tmp_path, TABLES, {"spreadsheet": "safe"})
    assert [f.file for f in files] == ["quasi.parquet", "quasi.csv", "sensitive.parquet", "sensitive.csv"]
    assert all(f.sha256 == digest(tmp_path / f.file) for f in files)
    assert pl.read_parquet(tmp_path / "quasi.parquet")["a"].to_list() == ["=1", "x"]
    assert (tmp_path / "quasi.csv").read_text() == "a\n'=1\nx\n"


def test_an_error_is_raised_where_the_files_are_asked_for(tmp_path: Path) -> None:
    def full(table: pl.DataFrame, file: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"), writing_tables(tmp_path, TABLES, None, full) as files:
        files()


def test_the_folder_is_left_when_nobody_writes_any_more(tmp_path: Path) -> None:
    begun = threading.Event()

    def slow(table: pl.DataFrame, file: Path) -> None:
        begun.set()
        time.sleep(0.2)
        write_parquet(table, file)

    def interrupted() -> None:
        with writing_tables(tmp_path, TABLES, None, slow):
            begun.wait(30)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(list(tmp_path.iterdir())) == 4
