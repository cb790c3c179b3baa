"""A release at a glance, in one line and as a panel in a notebook: only what its manifest and tables say."""

from typing import TYPE_CHECKING

import polars as pl

from sfumato import notebook
from sfumato.engine.base import Table
from sfumato.errors import SfumatoError
from sfumato.release.part_tables import as_stored

if TYPE_CHECKING:
    from sfumato.release.release import Release

_ROWS = 5
_COLUMNS = 12


def short(release: "Release") -> str:
    """One line: the method, the scheme, the number of rows and the models that were required."""
    try:
        told = release.description
    except SfumatoError as error:
        return f"Release({error})"
    models = ", ".join(str(claim.model) for claim in told.requirements or ())
    return f"Release({_count(told.rows)} rows by {told.method.name}, {told.scheme}{'; ' + models if models else ''})"


def html(release: "Release") -> str:
    """The claims, the warnings, and the first rows of each table."""
    try:
        told = release.description
    except SfumatoError as error:
        return notebook.panel("Release", notebook.paragraph(str(error)))
    title = f"Release {told.title!r}" if told.title else "Release"
    claims = [(str(c.model), str(c.words), _figures(c.achieved)) for c in told.requirements or ()]
    parts = [notebook.paragraph(f"{_count(told.rows)} rows by {told.method.name}, shown by {told.scheme}")]
    parts += [notebook.table(["model", "what holds", "achieved"], claims)] if claims else []
    parts += [notebook.paragraph(f"Warning: {warning}") for warning in release.warnings]
    parts += [_first_rows(name, table) for name, table in as_stored(release.tables).items()]
    return notebook.panel(title, *parts)


def _count(rows: object) -> str:
    """The number of rows that a manifest states, which may be anything in one that was not checked."""
    return f"{rows:,}" if isinstance(rows, int) else "?"


def _figures(achieved: object) -> str:
    """The achieved figures, as ``k = 6``."""
    if not isinstance(achieved, dict):
        return ""
    return ", ".join(f"{name} = {value:.4g}" for name, value in achieved.items() if isinstance(value, int | float))


def _first_rows(name: str, table: Table) -> str:
    """A few rows of a table, of which no more are read, and how many rows and columns it has."""
    if isinstance(table, pl.DataFrame):
        few = table.head(_ROWS)
    else:
        few = pl.read_parquet(table.files[0], glob=False, n_rows=_ROWS)
    shown = few.columns[:_COLUMNS]
    about = f"{name}: {table.height:,} rows, {few.width:,} columns"
    return notebook.paragraph(about) + notebook.table(shown, few.select(shown).rows())
