"""The files of the tables of a release: written side by side, each with its digest."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl

from sfumato.beside import beside
from sfumato.engine.local import write_table
from sfumato.engine.parts import Parts
from sfumato.release.files.part_files import put_parts
from sfumato.release.files.spreadsheet import csv_of
from sfumato.release.manifest import OutputEntry, TableFile
from sfumato.release.part_tables import as_stored
from sfumato.table.checks import open_regular

Write = Callable[[pl.DataFrame, Path], None]
"""How a table is written to a file: that of an engine."""


def digest(file: Path) -> str:
    """The SHA-256 of a regular file; pipes and devices are refused without waiting for them."""
    with open_regular(file) as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


@contextmanager
def writing_tables(
    draft: Path,
    tables: Mapping[str, pl.DataFrame],
    output: OutputEntry | None,
    write: Write = write_table,
    *,
    csv_of_parts: bool = False,
) -> Iterator[Callable[[], list[TableFile]]]:
    """Write the tables of a release on other cores; what is yielded waits for them and says which files they are.

    The folder is not left before nobody writes to it any more.
    """
    files = beside(partial(write_tables, csv_of_parts=csv_of_parts), draft, tables, output, write)
    try:
        yield files.result
    finally:
        wait([files])


def write_tables(
    draft: Path,
    tables: Mapping[str, pl.DataFrame],
    output: OutputEntry | None,
    write: Write = write_table,
    *,
    csv_of_parts: bool = False,
) -> list[TableFile]:
    """Write each table as parquet and csv, or put its parts in place; all of them at the same time.

    ``csv_of_parts``: a table in parts gets a csv file too, one for all parts.
    """
    with ThreadPoolExecutor() as pool:
        files = []
        for name, frame in as_stored(tables).items():
            if isinstance(frame, Parts):
                files.append(pool.submit(put_parts, draft, name, frame, digest))
                if csv_of_parts:
                    files.append(pool.submit(_csv_of_parts, draft / f"{name}.csv", frame, output))
                continue
            files.append(pool.submit(_written, draft / f"{name}.parquet", frame, None, write))
            files.append(pool.submit(_written, draft / f"{name}.csv", frame, output, write))
        return [entry for file in files for entry in file.result()]


def _written(file: Path, frame: pl.DataFrame, output: OutputEntry | None, write: Write) -> list[TableFile]:
    """One file, flushed to the disk, with its digest; ``output`` changes the cells of a csv file only."""
    write(csv_of(frame, output), file)
    return _described(file, frame.columns)


def _csv_of_parts(file: Path, parts: Parts, output: OutputEntry | None) -> list[TableFile]:
    """One csv file of all parts, written a part at a time."""
    with file.open("wb") as there:
        for number, frame in enumerate(parts.frames()):
            csv_of(frame, output).write_csv(there, include_header=number == 0)
    return _described(file, parts.columns)


def _described(file: Path, columns: list[str]) -> list[TableFile]:
    found = digest(file)
    with file.open("rb") as written:
        os.fsync(written.fileno())
    return [TableFile(name=file.stem, file=file.name, sha256=found, columns=columns)]
