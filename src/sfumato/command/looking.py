"""A table as a steward brings it: find out how it is written, then read it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from sfumato.table.sniff import Sniffed


@dataclass(frozen=True)
class Looked:
    """A table, the form that its file seems to have, and what the file calls its columns in words."""

    frame: "pl.DataFrame"
    form: "Sniffed"
    labels: dict[str, str] = field(default_factory=dict)


def look_at(data: str, query: str | None) -> Looked:
    """Read a table by the form that it seems to have; of several files, the first says which."""
    from sfumato.table.address import expanded
    from sfumato.table.form import PLAIN
    from sfumato.table.sniff import Sniffed, sniffed
    from sfumato.table.source import read_frame
    from sfumato.table.statistics_file import EXTENSIONS, variable_labels

    path = _file(expanded(data))
    form = Sniffed(PLAIN) if path is None else sniffed(path, data)
    frame = read_frame(expanded(data), query=query, form=form.form)
    labelled = path is not None and path.suffix.lower() in EXTENSIONS
    return Looked(frame, form, variable_labels(path, data) if path is not None and labelled else {})


def _file(source: str) -> Path | None:
    """The file to look at; None if there is none, or nothing in it: reading it says what is wrong."""
    from sfumato.table.checks import located
    from sfumato.table.file_set import files_of, is_several

    if "://" in source:
        return None
    path = files_of(source, None)[1][0] if is_several(source, None) else located(source, None)
    return path if path.is_file() and path.stat().st_size else None
