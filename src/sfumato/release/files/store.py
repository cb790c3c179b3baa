"""The files of a release: written with their digests, read with every path and digest checked."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import polars as pl

from sfumato.background import in_background, known
from sfumato.engine.base import Table
from sfumato.engine.parts import Parts
from sfumato.errors import DAMAGED, OutputError, ReleaseError
from sfumato.release.check.statement import parse_manifest
from sfumato.release.files import stages
from sfumato.release.files.csv_twin import same_bytes, same_values
from sfumato.release.files.part_files import is_part, read_parts, refuse_gaps, strange_parts
from sfumato.release.files.table_files import write_tables
from sfumato.release.manifest import Manifest, OutputEntry, TableFile
from sfumato.release.part_tables import as_stored
from sfumato.release.readme.page import README, readme
from sfumato.table.checks import POLARS_FAILURES, is_beyond_the_calendar, is_opaque, is_pattern
from sfumato.table.regular_file import digest, read_bytes

MANIFEST = "manifest.json"
_TABLES = ("data", "quasi", "sensitive")
RELEASE_FILES = (MANIFEST, README, *(f"{name}.{end}" for name in _TABLES for end in ("csv", "parquet")))
"""All names that a file of a release can have."""
DIGEST_LIMIT = 256 * 1024 * 1024
"""The SHA-256 of a larger csv file is computed only on request, if every byte was compared with the parquet file."""
_MOST_ROWS = 1 << 32
"""A frame of Polars has fewer rows."""
_MANIFEST_LIMIT = 512 * 1024 * 1024
_README_LIMIT = 64 * 1024 * 1024


def fill(draft: Path, manifest: Manifest, tables: Mapping[str, pl.DataFrame]) -> dict[str, str]:
    """Write tables, manifest and README.html into an existing empty folder; returns the SHA-256 of each file."""
    csv_of_parts = any(file.file.endswith(".csv") for file in manifest.tables or ())  # as where it was read from
    files = write_tables(draft, tables, manifest.output, csv_of_parts=csv_of_parts)
    return describe_files(draft, manifest, files)


def describe_files(draft: Path, manifest: Manifest, files: Sequence[TableFile]) -> dict[str, str]:
    """Write manifest and README.html next to the files of the tables; returns the SHA-256 of each file."""
    stages.reached("tables written")
    told = replace(manifest, tables=tuple(files)).plain()
    text = json.dumps(told, ensure_ascii=False, indent=1, allow_nan=False)
    (draft / MANIFEST).write_text(text + "\n", encoding="utf-8")
    stages.reached("manifest written")
    (draft / README).write_bytes(readme(Manifest.from_plain(json.loads(text))))
    return {entry.file: entry.sha256 for entry in files} | {name: digest(draft / name) for name in (MANIFEST, README)}


def read_page(folder: Path) -> bytes | None:
    """README.html of a release folder; None if it has none, as releases of earlier versions."""
    try:
        return read_bytes(folder / README, largest=_README_LIMIT, links=False)
    except FileNotFoundError:
        return None
    except OSError as e:
        raise ReleaseError(f"{README} cannot be read ({e.strerror}); remove it, or ask for an intact copy") from None


def read_folder(folder: Path) -> tuple[dict[str, Any], dict[str, Table]]:
    """Read the parquet files of a release folder, each of which must be the one that the manifest describes.

    The csv twins must be there, but they are not read: `verify_twins` does that.
    """
    plain, manifest = parsed_manifest(manifest_bytes(folder))
    entries = plain.get("tables")
    refuse_unlisted(folder, entries)
    tables: dict[str, Table] = {}
    twins: set[str] = set()
    parts: dict[str, list[Path]] = {}
    if not isinstance(entries, list) or not entries:
        raise ReleaseError(f"manifest.json does not list any tables; {DAMAGED}")
    for entry in entries:
        file = _file_of(folder, entry)
        if file.suffix == ".csv":
            twins.add(str(entry["name"]))
            continue
        if file.parent != folder:
            _refuse_other_digest(file, entry)
            parts.setdefault(str(entry["name"]), []).append(file)
        else:
            tables[str(entry["name"])] = _verified_table(file, entry, manifest.rows)
    frames = {name for name, table in tables.items() if isinstance(table, pl.DataFrame)}
    columns = {entry["name"]: entry for entry in entries}
    for name, files in parts.items():
        tables[name] = read_parts(files, manifest, partial(_read_table_of, columns[name]))
    if tables.keys() not in ({"data"}, {"quasi", "sensitive"}) or not frames <= twins <= tables.keys():
        raise ReleaseError(f"manifest.json does not list the tables of its scheme; {DAMAGED}")
    return plain, tables


def verify_twins(
    folder: Path,
    entries: object,
    output: OutputEntry | None,
    tables: Mapping[str, pl.DataFrame],
    *,
    digests: bool = False,
) -> list[str]:
    """Refuse a csv file that is not the one that the manifest describes, or does not hold the rows of its table.

    Returns the names of the files whose SHA-256 was not computed: those above `DIGEST_LIMIT` of which every byte was
    compared with the table, unless ``digests`` asks for it.
    """
    left_out = []
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and str(entry.get("file")).endswith(".csv"):
            file = _file_of(folder, entry)
            table = as_stored(tables).get(entry["name"])
            if not _verify_twin(file, entry, table, output, digests or file.stat().st_size <= DIGEST_LIMIT):
                left_out.append(file.name)
    return left_out


def _verify_twin(
    file: Path, entry: dict[str, Any], table: Table | None, output: OutputEntry | None, summed: bool
) -> bool:
    """Refuse a csv file with another digest or other rows; whether its digest was computed.

    ``summed`` asks for the digest. It is computed in any case if the bytes do not follow from the table.
    """
    try:
        return _compare_twin(file, entry, table, output, summed)
    except POLARS_FAILURES:
        raise ReleaseError(
            f"{file.name} cannot be compared: its table has a value that cannot be written as csv; {DAMAGED}"
        ) from None


def _compare_twin(
    file: Path, entry: dict[str, Any], table: Table | None, output: OutputEntry | None, summed: bool
) -> bool:
    same = in_background(same_bytes, file, table, output) if table is not None else known(False)
    try:
        if summed:
            _refuse_other_digest(file, entry)
    finally:
        wait([same])  # the file is not in use any more when this ends, however it ends
    if same.result():
        return summed
    if not summed:
        _refuse_other_digest(file, entry)
    if table is None or not same_values(file, table, output):
        other = f"the parts in {file.stem}/" if isinstance(table, Parts) else f"{file.stem}.parquet"
        raise ReleaseError(f"{file.name} differs in content from {other}; {DAMAGED}")
    return True


def listed_files(entries: object) -> list[str]:
    """The names of the files that a manifest lists for its tables, whatever else is in it."""
    return [str(e.get("file")) for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []


def refuse_unlisted(folder: Path, entries: object) -> None:
    """A release folder holds the manifest, its page and the files that it lists, each once, and nothing else."""
    files = listed_files(entries)
    if len(set(files)) < len(files):
        raise ReleaseError(f"manifest.json lists a file twice; {DAMAGED}")
    refuse_gaps(files)
    there = {*files, *(file.partition("/")[0] for file in files if "/" in file)}
    for place in [*sorted(folder.iterdir()), *strange_parts(folder, files)]:
        if place.name not in (MANIFEST, README, *there) or place.parent != folder:
            raise ReleaseError(
                f"{place.name!r} is in the release folder but not in its manifest; a release must contain only what "
                "the manifest lists: remove it before handing over the release, or ask its publisher for an intact copy"
            )


def parsed_manifest(text: bytes) -> tuple[dict[str, Any], Manifest]:
    """The content of a manifest as written and as a typed object, if it is valid."""
    try:
        plain = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise ReleaseError(f"{MANIFEST} is not JSON; {DAMAGED}") from None
    return cast(dict[str, Any], plain), parse_manifest(plain)


def manifest_bytes(folder: Path) -> bytes:
    """The content of manifest.json of a release folder, whatever it is."""
    try:
        return read_bytes(folder / MANIFEST, largest=_MANIFEST_LIMIT, links=False)
    except OSError as e:
        raise OutputError(
            f"{folder} is not a release: manifest.json cannot be read ({e.strerror}); give the folder OUT/release"
        ) from None


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _file_of(folder: Path, entry: object) -> Path:
    """The file of a table; only plain names that sfumato writes are accepted, inside the folder."""
    if not isinstance(entry, dict) or {"name", "file", "sha256", "columns"} != entry.keys():
        raise ReleaseError("manifest.json has a table that lacks a name, file, sha256 or columns")
    whole = (f"{entry['name']}.csv", f"{entry['name']}.parquet")
    if entry["name"] not in _TABLES or not (entry["file"] in whole or is_part(entry["name"], entry["file"])):
        raise ReleaseError(f"manifest.json names the file {entry['file']!r}, which no release has")
    file = folder / str(entry["file"])
    if not file.is_file() or file.is_symlink() or file.parent.is_symlink():
        raise ReleaseError(f"{entry['file']} is missing from the release; {DAMAGED}")
    return file


def _verified_table(file: Path, entry: dict[str, Any], most: int) -> pl.DataFrame:
    """A table from a file, which is hashed while it is read; another digest is an error, whatever is in it."""
    found = in_background(digest, file)
    try:
        return _read_table(file, entry, most)
    finally:
        _refuse_other_digest(file, entry, found.result())


def _refuse_other_digest(file: Path, entry: dict[str, Any], found: str | None = None) -> None:
    if (digest(file) if found is None else found) != entry["sha256"]:
        raise ReleaseError(
            f"{entry['file']} is not the file that the manifest describes (its SHA-256 differs); {DAMAGED}"
        )


def _read_table_of(entry: dict[str, Any], file: Path, most: int) -> pl.DataFrame:
    return _read_table(file, entry, most)


def _read_table(file: Path, entry: dict[str, Any], most: int) -> pl.DataFrame:
    """A table with at most a given number of rows; a small file can expand to more than memory holds."""
    try:
        frame = pl.read_parquet(file, glob=False, n_rows=min(most, _MOST_ROWS) + 1).rechunk()
    except (*POLARS_FAILURES, OSError):
        raise ReleaseError(f"{file.name} cannot be read as parquet; {DAMAGED}") from None
    if frame.height > most:
        raise ReleaseError(f"{file.name} has more rows than the {most} that the manifest states; {DAMAGED}")
    if frame.columns != entry["columns"]:
        raise ReleaseError(f"{file.name} does not have the columns that the manifest lists")
    if patterns := [name for name in frame.columns if is_pattern(name)]:
        raise ReleaseError(f"{file.name} has a column named {patterns[0]!r}; no release has such a column")
    for column in frame.get_columns():
        if is_opaque(column.dtype):
            raise ReleaseError(
                f"{file.name}: column {column.name!r} holds {column.dtype}; no release has such a column"
            )
        if is_beyond_the_calendar(column):
            raise ReleaseError(
                f"{file.name}: column {column.name!r} has days before the year 1 or after the year 9999; {DAMAGED}"
            )
    return frame
