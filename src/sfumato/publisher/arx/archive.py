"""A project file of ARX (.deid): a zip archive of which only text is read, never serialized Java objects."""

import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from sfumato.errors import DataError
from sfumato.table.regular_file import check_file

_LARGEST_XML = 16 << 20
_LARGEST_HIERARCHY = 256 << 20
_LARGEST_TABLE = 2 << 30
_LARGEST_TOTAL = 4 << 30
_MOST_ENTRIES = 10_000
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Assignment:
    """What a project says about one column."""

    name: str
    role: str
    datatype: str
    format: str = ""
    hierarchy: str = ""
    """The name of the entry that holds its hierarchy."""
    more: dict[str, str] = field(default_factory=dict)


class Archive:
    """The entries of a project, read by name and with limits; nothing is unpacked to a path named in it."""

    def __init__(self, path: Path) -> None:
        check_file(path, str(path))
        self.where = str(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
            raise self._unreadable(str(error)) from None
        names = self._zip.namelist()
        if len(names) > _MOST_ENTRIES or len(set(names)) < len(names):
            raise self._unreadable("it has too many entries, or two of the same name")
        self.names = set(names)
        self._unpacked = 0

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def _unreadable(self, why: str) -> DataError:
        return DataError(
            f"{self.where} cannot be read as an ARX project: {why.rstrip('.')}. Give a .deid file saved by ARX 3; a "
            "table and hierarchies exported as csv can be used directly."
        )

    def read(self, name: str, largest: int) -> bytes:
        """One entry, which must not exceed a number of bytes once unpacked."""
        if name not in self.names:
            raise self._unreadable(f"it has no {name}")
        parts, size = [], 0
        try:
            with self._zip.open(name) as entry:
                while part := entry.read(_BLOCK):
                    size += len(part)
                    self._unpacked += len(part)
                    if size > largest:
                        raise self._unreadable(f"{name} is larger than {largest >> 20:,} MiB")
                    if self._unpacked > _LARGEST_TOTAL:
                        raise self._unreadable(f"its entries are larger than {_LARGEST_TOTAL >> 20:,} MiB together")
                    parts.append(part)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError) as error:
            raise self._unreadable(f"{name}: {error}") from None
        return b"".join(parts)

    def xml(self, name: str) -> ElementTree.Element:
        """An entry as XML without a document type: no entities, no external references."""
        try:
            text = self.read(name, _LARGEST_XML).decode("utf-8")
        except UnicodeDecodeError:
            raise self._unreadable(f"{name} is not UTF-8") from None
        if "<!DOCTYPE" in text.upper() or "<!ENTITY" in text.upper() or "\0" in text:
            raise self._unreadable(f"{name} declares a document type")
        try:
            return ElementTree.fromstring(text)  # no document type, so no entities
        except (ElementTree.ParseError, ValueError, RecursionError) as error:
            raise self._unreadable(f"{name} is not XML: {error}") from None

    def table(self) -> bytes:
        """The rows, as csv."""
        return self.read("data/input.csv", _LARGEST_TABLE)

    def hierarchy(self, name: str) -> bytes:
        """A hierarchy, as csv."""
        return self.read(name, _LARGEST_HIERARCHY)

    def assignments(self) -> list[Assignment]:
        """The columns in their order."""
        found = []
        for element in self.xml("input/definition.xml").iter("assigment"):
            told = {child.tag: (child.text or "").strip() for child in element}
            ref = "input/" + told.pop("ref") if "ref" in told else ""
            found.append(
                Assignment(
                    name=told.pop("name", ""),
                    role=told.pop("type", ""),
                    datatype=told.pop("datatype", ""),
                    format=told.pop("format", ""),
                    hierarchy=ref if ref in self.names else "",
                    more=told,
                )
            )
        if not found:
            raise self._unreadable("its definition names no column")
        return found
