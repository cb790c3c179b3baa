"""A text table as UTF-8: the file itself, or what another encoding means, decoded in memory."""

import codecs
import io
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sfumato.errors import DataError

_CHUNK = 1 << 20
_UTF8 = codecs.lookup("utf-8").name
_OTHER_FORMATS = {
    b"\x1f\x8b": "compressed with gzip; decompress it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it first",
    b"PK\x03\x04": "a zip archive or an Excel workbook; unpack it, or give it the extension .xlsx",
    b"PAR1": "a parquet file; give it the extension .parquet",
}
_BOMS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class TextFile:
    """The UTF-8 bytes of a text table; ``decoded`` if the file itself has another encoding."""

    path: Path
    where: str
    decoded: bytes | None = None

    @classmethod
    def of(cls, path: Path, where: str, encoding: str | None = None) -> "TextFile":
        """The file, decoded if need be; raises if it has another format or contains a NUL character."""
        _refuse_other_formats(path, where)
        if encoding is None or codecs.lookup(encoding).name in (_UTF8, "utf-8-sig"):
            text = cls(path, where)
            text._refuse_nul_byte()
            return text
        try:
            decoded = path.read_bytes().decode(encoding).removeprefix("\ufeff").encode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{where} is not {encoding}: the byte 0x{error.object[error.start]:02X} at offset {error.start} is "
                f"not valid in it. Correct encoding under [data]{_hint(path, encoding)}."
            ) from None
        except UnicodeEncodeError:
            raise DataError(
                f"{where} read as {encoding} has half characters (lone surrogates). Correct encoding under [data]."
            ) from None
        if b"\0" in decoded:
            raise DataError(f"{where} read as {encoding} contains NUL characters. Correct encoding under [data].")
        return cls(path, where, decoded)

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self.path.stat().st_size if self.decoded is None else len(self.decoded)

    def open(self) -> BinaryIO:
        """The bytes as a stream."""
        return self.path.open("rb") if self.decoded is None else io.BytesIO(self.decoded)

    def chunks(self) -> Iterator[bytes]:
        """The bytes, a mebibyte at a time."""
        with self.open() as handle:
            while chunk := handle.read(_CHUNK):
                yield chunk

    def _refuse_nul_byte(self) -> None:
        with self.path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as content:
            place = content.find(b"\0")
            line = 1 + content[:place].count(b"\n") if place >= 0 else 0
        if place >= 0 and (found := encoding_of(self.path)) is not None:
            raise DataError(f"{self.where} is not UTF-8 but {found}. {_remedy(found)}")
        if place >= 0:
            raise DataError(
                f"{self.where} contains a NUL byte at offset {place}, on line {line}; a text table must not. Remove it."
            )

    def not_utf8(self) -> DataError | None:
        """The error that names the first byte that is not UTF-8; None if all are."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        done, line = 0, 1
        for chunk in (*self.chunks(), b""):
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                offset = done + len(chunk) - len(error.object) + error.start
                line += error.object[: error.start].count(b"\n")
                return DataError(
                    f"{self.where} is not UTF-8: the byte 0x{error.object[error.start]:02X} at offset {offset}, "
                    f"on line {line}, is not part of a character. {_remedy(encoding_of(self.path) or 'cp1252')}"
                )
            done, line = done + len(chunk), line + chunk.count(b"\n")
        return None


def encoding_of(path: Path) -> str | None:
    """The encoding that a text file seems to have; None if it is UTF-8, or nothing that we know.

    UTF-16 by its mark or by its NUL bytes; of the others cp1252, unless it has bytes that have no meaning there.
    """
    content = path.read_bytes()
    for bom, name in _BOMS.items():
        if content.startswith(bom):
            return name
    start = content[: _CHUNK & ~1]
    if b"\0" in start:
        even, odd = start[::2].count(b"\0"), start[1::2].count(b"\0")
        found = "utf-16-le" if odd > 4 * even else "utf-16-be" if even > 4 * odd else None
        return found if found and _decodes(content, found) else None
    if _decodes(content, "utf-8"):
        return None
    return "cp1252" if _decodes(content, "cp1252") else "latin-1"


def _decodes(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _refuse_other_formats(path: Path, where: str) -> None:
    with path.open("rb") as handle:
        start = handle.read(4)
    for magic, finding in _OTHER_FORMATS.items():
        if start.startswith(magic):
            raise DataError(f"{where} is not a text table: it looks like {finding}.")


def _remedy(encoding: str) -> str:
    return (
        f'It may be {encoding}: set encoding = "{encoding}" under [data] (sf.read(..., encoding="{encoding}") from '
        "Python), or convert the file."
    )


def _hint(path: Path, tried: str) -> str:
    found = encoding_of(path) or "utf-8"
    return f"; {found} fits" if codecs.lookup(found).name != codecs.lookup(tried).name else ""
