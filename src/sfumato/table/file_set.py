"""Tables in files that are read in place: one file, all files of a folder, or those that match a pattern."""

import codecs
import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from sfumato.errors import DataError, PolicyError
from sfumato.table.address import may_hold_secret
from sfumato.table.checks import POLARS_FAILURES, check_names
from sfumato.table.delimited import read_header
from sfumato.table.form import PLAIN, Form
from sfumato.table.regular_file import check_file, located
from sfumato.table.text_file import TextFile

_KINDS: dict[str, Literal["csv", "parquet"]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
}
_MOST_FILES = 100_000


@dataclass(frozen=True, kw_only=True)
class FileSet:
    """Files with the same columns that make up one table; ``separator`` is that of text files."""

    kind: Literal["csv", "parquet"]
    files: tuple[Path, ...]
    columns: tuple[str, ...]
    separator: str = ","

    @property
    def bytes(self) -> int:
        """How large the files are together."""
        return sum(file.stat().st_size for file in self.files)


def is_several(source: object, folder: Path | None) -> bool:
    """Whether a source names a folder or a pattern of files rather than one file."""
    if not isinstance(source, str | Path) or "://" in str(source) or may_hold_secret(str(source)):
        return False
    path = located(source, folder)
    try:
        return not path.is_file() and (path.is_dir() or glob.has_magic(str(source)))
    except OSError:  # a name that is too long, for example; reading it says what is wrong
        return False


def file_set(source: object, folder: Path | None, form: Form = PLAIN) -> FileSet | None:
    """The files that a source names; None for anything but parquet and text files, such as a database or a workbook."""
    if not isinstance(source, str | Path) or "://" in str(source):
        return None
    if not is_several(source, folder) and located(source, folder).suffix.lower() not in _KINDS:
        return None
    kind, files = files_of(source, folder)
    form.refuse_unused("text" if kind == "csv" else "other")
    if form.encoding is not None and codecs.lookup(form.encoding).name not in ("utf-8", "utf-8-sig"):
        raise PolicyError(
            f"files are read in place, as UTF-8, but encoding is {form.encoding}; convert them first, e.g. with iconv, "
            'or set name = "local" under [engine]'
        )
    return _described(kind, tuple(files), form)


def files_of(source: str | Path, folder: Path | None) -> tuple[Literal["csv", "parquet"], list[Path]]:
    """The files of a folder or a pattern, or one file; all of one kind, and none of them empty."""
    path, where = located(source, folder), str(source)
    files = _matching(path, where) if is_several(source, folder) else [path]
    for file in files:
        check_file(file, str(file))
        if file.stat().st_size == 0:
            raise DataError(f"{file} is empty (0 bytes); a table needs a header and rows. Check how it was exported.")
    kinds = {_KINDS[file.suffix.lower()] for file in files}
    if len(kinds) > 1:
        raise DataError(
            f"{where} matches both parquet and text files; a table must have one kind. Choose one with a pattern."
        )
    return kinds.pop(), files


def refuse_other_columns(first: Sequence[str], others: Sequence[str], file: Path, beside: Path) -> None:
    """Refuse a file that does not have the columns of the first one."""
    if list(others) != list(first):
        raise DataError(
            f"{file} does not have the same columns as {beside}, in the same order; all files of a table must. "
            "Correct it, or name only the files that belong together."
        )


def _matching(path: Path, where: str) -> list[Path]:
    """The files of a folder or of a pattern, in the order of their names."""
    if path.is_dir():
        found = [file for file in path.iterdir() if file.suffix.lower() in _KINDS and not _is_hidden(file)]
    else:
        matches = glob.iglob(str(path), recursive=True)  # noqa: PTH207 - the pattern may be absolute
        names = (Path(name) for name in matches)
        found = [file for file in names if file.suffix.lower() in _KINDS and file.is_file()]
    if not found:
        kinds, is_folder = ", ".join(_KINDS), path.is_dir()
        raise DataError(
            f"{where} is a folder without a file that ends in {kinds}. Name the file that contains the table."
            if is_folder
            else f"{where} does not match any file that ends in {kinds}. Check the path."
        )
    if len(found) > _MOST_FILES:
        raise DataError(
            f"{where} matches {len(found):,} files; at most {_MOST_FILES:,} can be read. Merge some of them."
        )
    return sorted(found)


def _is_hidden(file: Path) -> bool:
    """Whether a file is marked as not being a part, as programs that write folders of parts do."""
    return file.name.startswith((".", "_"))


def _described(kind: Literal["csv", "parquet"], files: tuple[Path, ...], form: Form) -> FileSet:
    first, separator = _columns(kind, files[0], form)
    check_names(first, str(files[0]))
    for file in files[1:]:
        others, mark = _columns(kind, file, form)
        refuse_other_columns(first, others if mark == separator else (), file, files[0])
    return FileSet(kind=kind, files=files, columns=tuple(first), separator=separator)


def _columns(kind: str, file: Path, form: Form) -> tuple[Sequence[str], str]:
    """The names of the columns of a file, and what separates them in a text file."""
    if kind == "csv":
        header = read_header(TextFile.of(file, str(file)), form.separator)
        return header.names, header.separator
    try:
        return list(pl.read_parquet_schema(file)), ","
    except (*POLARS_FAILURES, OSError):
        raise DataError(
            f"{file} cannot be read as parquet. It is damaged, incomplete or in another format; export it again."
        ) from None
