"""Tables of a release that are written in parts: ``data/part-00000.parquet`` and so on, each with its SHA-256."""

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from sfumato.engine.parts import Compressing, Parts, part_name
from sfumato.errors import DAMAGED, ReleaseError
from sfumato.release.manifest import AttributeEntry, Manifest, TableFile
from sfumato.table.encode import Role

PARTED = ("data",)
"""The tables that may be in parts."""
_PART = re.compile(r"(data)/(part-[0-9]{5}\.parquet)", re.ASCII)
_MOST_PARTS = 100_000


def put_parts(draft: Path, name: str, parts: Parts, digest: Callable[[Path], str]) -> list[TableFile]:
    """Put the files of a table into the folder of a release."""
    folder = draft / name
    folder.mkdir()
    entries = []
    for number, file in enumerate(parts.files):
        place = folder / part_name(number)
        _put(file, place, ours=parts.spill is not None)
        entries.append(
            TableFile(name=name, file=f"{name}/{place.name}", sha256=digest(place), columns=list(parts.columns))
        )
    return entries


def _put(file: Path, place: Path, *, ours: bool) -> None:
    """A copy of a file; of one that is private to this process a second name, if both are on the same disk."""
    if ours:
        with contextlib.suppress(OSError):
            place.hardlink_to(file)
            return
    shutil.copyfile(file, place)


def is_part(name: object, file: object) -> bool:
    """Whether a manifest can list this file as a part of this table."""
    found = _PART.fullmatch(str(file))
    return found is not None and found[1] == name


def refuse_gaps(files: Sequence[str]) -> None:
    """Parts are numbered from 0 up, without gaps, in the order of the manifest."""
    listed = [file for file in files if _PART.fullmatch(file)]
    if len(listed) > _MOST_PARTS or listed != [f"data/{part_name(number)}" for number in range(len(listed))]:
        raise ReleaseError("manifest.json does not list the parts of a table one after the other")


def strange_parts(folder: Path, listed: Sequence[str]) -> Iterator[Path]:
    """Whatever is in a folder of parts but not among the files that a manifest lists."""
    for name in PARTED:
        place = folder / name
        if place.is_dir() and not place.is_symlink():
            yield from (p for p in sorted(place.iterdir()) if f"{name}/{p.name}" not in listed or p.is_symlink())


def looks_like_parts(path: Path) -> bool:
    """Whether this is a folder that holds nothing but parts of a table."""
    if path.name not in PARTED or path.is_symlink() or not path.is_dir():
        return False
    return all(_PART.fullmatch(f"{path.name}/{p.name}") and p.is_file() and not p.is_symlink() for p in path.iterdir())


def read_parts(files: Sequence[Path], manifest: Manifest, read: Callable[[Path, int], pl.DataFrame]) -> Parts:
    """Count the rows of a table in parts, a part at a time; ``read`` reads and checks one, up to a number of rows."""
    compressing, height = Compressing(), 0
    schema: pl.Schema | None = None
    for file in files:
        frame = read(file, manifest.rows - height)
        if schema is not None and frame.schema != schema:
            raise ReleaseError(f"{file.name} has columns of different types than the first part; {DAMAGED}")
        schema, height = frame.schema, height + frame.height
        compressing.add(frame.select(coded_columns(frame.columns, manifest.attributes)))
    counted, weights = compressing.result()
    assert schema is not None
    return Parts(list(files), schema, height, counted, weights)


def coded_columns(columns: Sequence[str], attributes: Mapping[str, AttributeEntry]) -> list[str]:
    """The columns that are counted: all but the insensitive ones."""
    return [n for n in columns if n not in attributes or attributes[n].role is not Role.INSENSITIVE]
