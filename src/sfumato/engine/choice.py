"""Which engine serves a job: the one that is asked for, or the smallest that can hold the table."""

import os
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import polars as pl

from sfumato.engine.settings import EngineName, EngineSettings
from sfumato.table.file_set import FileSet, file_set, files_of, is_several
from sfumato.table.regular_file import located

_CSV_GROWTH = 4
"""How many times larger a text file is in memory while it is coded and published."""
_BYTES_PER_CELL = 24
_SHARE = 3
"""A table that takes more than one part in this many of the machine's memory is not read into it."""


class EngineChoice(NamedTuple):
    """The engine of a job and the reason, as a clause.

    ``asked``: the policy or the command names it; ``missing``: a larger one should serve, but it is not installed.
    """

    name: EngineName
    why: str
    asked: bool = False
    missing: bool = False

    def __str__(self) -> str:
        return f"{self.name}, since {self.why}"


def choose_engine(
    settings: EngineSettings,
    source: object,
    query: str | None,
    folder: Path | None,
    memory: Callable[[], int] = lambda: physical_memory(),
) -> EngineChoice:
    """The engine for a source; nothing is read but sizes."""
    if settings.name != "auto":
        return EngineChoice(settings.name, "the policy or the command asks for it", asked=True)
    if isinstance(source, str) and source.startswith("spark://"):
        return EngineChoice("spark", "the source is a table of a Spark cluster")
    if isinstance(source, str) and source.startswith("duckdb://"):
        return EngineChoice("duckdb", "the source is a DuckDB database")
    if query is not None or not isinstance(source, str | Path):
        return EngineChoice("local", "the source is not a file that another engine reads in place")
    if not is_several(source, folder) and not located(source, folder).is_file():
        return EngineChoice("local", "the source is not a file that another engine reads in place")
    return _by_size(source, folder, memory())


def _by_size(source: str | Path, folder: Path | None, memory: int) -> EngineChoice:
    files_there = files_of(source, folder)[1] if is_several(source, folder) else [located(source, folder)]
    size = sum(file.stat().st_size for file in files_there)
    if size * _CSV_GROWTH * _SHARE < min(memory, 1 << 30):  # not even worth a look
        return EngineChoice("local", "the table is small")
    files = file_set(source, folder)
    if files is None:
        return EngineChoice("local", "only this engine reads such files")
    need = _in_memory(files)
    told = f"the table takes about {need / 1e9:.1f} GB in memory, and this machine has {memory / 1e9:.1f} GB"
    if need * _SHARE <= memory:
        return EngineChoice("local", told)
    if find_spec("duckdb") is None:
        why = f"DuckDB is not installed (pip install 'sfumato[outofcore]'), although {told}"
        return EngineChoice("local", why, missing=True)
    return EngineChoice("duckdb", told)


def _in_memory(files: FileSet) -> int:
    """How much memory a table takes while it is coded and published, roughly."""
    if files.kind == "csv":
        return files.bytes * _CSV_GROWTH
    rows = int(pl.scan_parquet(list(files.files), glob=False).select(pl.len()).collect().item())
    return rows * len(files.columns) * _BYTES_PER_CELL


def physical_memory() -> int:
    """The memory of this machine in bytes; 8 GiB where it cannot be found out."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


def asked_for(settings: EngineSettings, name: str | None) -> EngineSettings:
    """The settings with the engine that a command names, if it names one."""
    return settings if name is None else replace(settings, name=name)  # type: ignore[arg-type]
