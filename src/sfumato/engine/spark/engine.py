"""Rows on a Spark cluster: executors read, count and stream; the driver codes, decides, draws and writes.

No task draws anything: all randomness is the driver's, from the operating system's entropy, so that a task which fails
and runs again gives the same rows, and no secret leaves the driver. What moves to the driver are distinct values, the
counted table and, if there are insensitive columns, these with the number of each row's vector.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from sfumato.engine.base import Attributes
from sfumato.engine.counted import CountedEngine
from sfumato.engine.progress import Progress, silent, with_rows
from sfumato.engine.settings import EngineSettings
from sfumato.engine.shuffle import Spill
from sfumato.engine.spark.rows import SparkRows
from sfumato.engine.spark.session import session, speaking
from sfumato.engine.spark.stored import Stored
from sfumato.engine.stored_rows import Limits, rowless
from sfumato.engine.values import (
    Declared,
    readable,
)
from sfumato.table.encode import Role
from sfumato.table.form import PLAIN, Form
from sfumato.table.microdata import Missing, check_columns


class SparkEngine(CountedEngine):
    """A table that a Spark cluster reads and counts."""

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
        chosen = settings or EngineSettings(name="spark")
        spill = Spill(chosen.spill)
        with speaking():
            stored = Stored.load(session(chosen), source, query, folder, form).with_nulls(nulls)
            stored = replace(stored, progress=progress or silent)
            wanted = readable(attributes(stored.names), form)
            total = stored.rows()
            stored = replace(stored, progress=with_rows(stored.progress, total))
            check_columns(stored.names, total, wanted)
            kept, dropped = stored.kept(wanted, missing, total)
            rows = SparkRows.coded(kept, wanted, Declared(missing == "category", folder, form), chosen, dropped)
            rows.source, rows.total = stored, total
            stored.progress("compress", 0.0)
            finest = rows.finest()
        plain, hidden = (rows.empty(wanted, role) for role in (Role.INSENSITIVE, Role.IDENTIFIER))
        table = rowless(dict(rows.columns), plain, hidden, total - dropped, dropped)
        return cls(table, rows, finest, spill, limits=limits, progress=progress)
