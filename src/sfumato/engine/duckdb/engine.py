"""Rows in files or in DuckDB, on one machine, within bounded memory: what does not fit is spilled to disk.

DuckDB reads, finds distinct values, counts and streams; Python codes the distinct values (`table.encode`), decides on
counts and draws. Every coded column becomes a dictionary (value, code); joined with these, the codes of a row are
packed into one 64-bit key (several if they do not fit), by which rows are counted.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from sfumato.engine.base import Attributes
from sfumato.engine.counted import CountedEngine
from sfumato.engine.duckdb.connection import Connection, speaking
from sfumato.engine.duckdb.rows import DuckDBRows
from sfumato.engine.progress import Progress, silent, with_rows
from sfumato.engine.settings import EngineSettings
from sfumato.engine.shuffle import Spill
from sfumato.engine.stored_rows import Limits, rowless
from sfumato.engine.values import (
    Declared,
    readable,
)
from sfumato.table.encode import Role
from sfumato.table.form import PLAIN, Form
from sfumato.table.microdata import Missing, check_columns


class DuckDBEngine(CountedEngine):
    """A table that DuckDB reads where it lies."""

    @classmethod
    def read(
        cls,
        source: object,
        attributes: Attributes,
        *,
        query: str | None = None,
        nulls: Sequence[str] = (),
        missing: Missing = "error",
        folder: Path | None = None,
        form: Form = PLAIN,
        settings: EngineSettings | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Find the distinct values of a source's columns, code them, and count the rows by their codes."""
        chosen = settings or EngineSettings(name="duckdb")
        spill = Spill(chosen.spill)
        with speaking():
            stored = Connection.open(spill, chosen.memory_bytes, progress or silent)
            names = stored.load(source, query, nulls, folder, form)
            wanted = readable(attributes(names), form)
            check_columns(names, stored.rows, wanted)
            dropped = stored.keep(wanted, missing)
            stored.progress = with_rows(stored.progress, stored.rows)
            rows = DuckDBRows.coded(stored, wanted, Declared(missing == "category", folder, form), dropped)
            stored.progress("compress", 0.0)
            finest = rows.finest()
        plain, hidden = (rows.empty(wanted, role) for role in (Role.INSENSITIVE, Role.IDENTIFIER))
        table = rowless(dict(rows.columns), plain, hidden, stored.rows - dropped, dropped)
        return cls(table, rows, finest, spill, limits=limits, progress=progress)
