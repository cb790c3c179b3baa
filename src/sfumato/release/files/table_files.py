"""The files of the tables of a release: written side by side, each with its digest."""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl

from sfumato.background import in_background
from sfumato.engine.base import Table
from sfumato.engine.local import write_parquet
from sfumato.engine.parts import Parts
from sfumato.release.files.csv_file import write_csv
from sfumato.release.files.part_files import put_parts
from sfumato.release.manifest import OutputEntry, TableFile
from sfumato.release.part_tables import as_stored
from sfumato.table.regular_file import digest

Write = Callable[[pl.DataFrame, Path], None]
"""How a table is written to a parquet file: that of an engine."""


@contextmanager
def writing_tables(
    draft: Path,
    tables: Mapping[str, pl.DataFrame],
    output: OutputEntry | None,
    write: Write = write_parquet,
    *,
    csv_of_parts: bool = False,
) -> Iterator[Callable[[], list[TableFile]]]:
    """Write the tables of a release on other cores; what is yielded waits for them and says which files they are.

    The folder is not left while anything is still writing to it.
    """
    files = in_background(partial(write_tables, csv_of_parts=csv_of_parts), draft, tables, output, write)
    try:
        yield files.result
    finally:
        wait([files])


def write_tables(
    draft: Path,
    tables: Mapping[str, pl.DataFrame],
    output: OutputEntry | None,
    write: Write = write_parquet,
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
            else:
                files.append(pool.submit(_parquet, draft / f"{name}.parquet", frame, write))
            if csv_of_parts or not isinstance(frame, Parts):
                files.append(pool.submit(_csv, draft / f"{name}.csv", frame, output))
        return [entry for file in files for entry in file.result()]


def _parquet(file: Path, frame: pl.DataFrame, write: Write) -> list[TableFile]:
    """One file, flushed to the disk, with its digest."""
    write(frame, file)
    found = digest(file)
    with file.open("rb") as written:
        os.fsync(written.fileno())
    return [TableFile(name=file.stem, file=file.name, sha256=found, columns=frame.columns)]


def _csv(file: Path, table: Table, output: OutputEntry | None) -> list[TableFile]:
    """One csv file of a table, or of all its parts, a part at a time; ``output`` changes its cells."""
    found = write_csv(file, table.frames() if isinstance(table, Parts) else [table], output)
    return [TableFile(name=file.stem, file=file.name, sha256=found, columns=table.columns)]
