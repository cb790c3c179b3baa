"""The few forms of DER (X.690) that a certificate needs. Only writing: what others wrote is read by OpenSSL."""

import base64
from datetime import UTC, datetime
from typing import Final

_BOOLEAN, _INTEGER, _BITS, _OCTETS, _NULL, _OID, _TEXT = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0C
_SHORT_TIME, _LONG_TIME, _SEQUENCE, _SET = 0x17, 0x18, 0x30, 0x31
_PEM_LINE: Final = 64


def element(tag: int, content: bytes) -> bytes:
    """Tag, length, content.

    >>> element(4, b"ab").hex(), element(4, bytes(200))[:3].hex()
    ('04026162', '0481c8')
    """
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(length)]) + length + content


def sequence(*parts: bytes) -> bytes:
    """Parts in their order."""
    return element(_SEQUENCE, b"".join(parts))


def set_of_one(part: bytes) -> bytes:
    """A set with one member."""
    return element(_SET, part)


def integer(number: int) -> bytes:
    """A number that is not negative.

    >>> integer(128).hex()
    '02020080'
    """
    return element(_INTEGER, number.to_bytes(number.bit_length() // 8 + 1))


def boolean(value: bool) -> bytes:
    """True or false."""
    return element(_BOOLEAN, b"\xff" if value else b"\x00")


def octets(content: bytes) -> bytes:
    """A string of bytes."""
    return element(_OCTETS, content)


def bits(content: bytes, unused: int = 0) -> bytes:
    """A string of bits, the last of which may be unused."""
    return element(_BITS, bytes([unused]) + content)


def text(content: str) -> bytes:
    """A string in UTF-8."""
    return element(_TEXT, content.encode())


def object_identifier(dotted: str) -> bytes:
    """A registered name.

    >>> object_identifier("1.3.101.112").hex()
    '06032b6570'
    """
    first, second, *rest = (int(part) for part in dotted.split("."))
    out = bytearray()
    for arc in (40 * first + second, *rest):
        digits = [arc & 0x7F]
        while arc := arc >> 7:
            digits.append(0x80 | (arc & 0x7F))
        out += bytes(reversed(digits))
    return element(_OID, bytes(out))


def moment(when: datetime) -> bytes:
    """A time in UTC, to the second: with two digits of the year up to 2049, with four after (RFC 5280, 4.1.2.5)."""
    when = when.astimezone(UTC)
    if when.year < 2050:
        return element(_SHORT_TIME, when.strftime("%y%m%d%H%M%SZ").encode())
    return element(_LONG_TIME, when.strftime("%Y%m%d%H%M%SZ").encode())


def tagged(number: int, content: bytes) -> bytes:
    """An optional part with its number, written around it."""
    return element(0xA0 | number, content)


def pem(label: str, data: bytes) -> str:
    """The text form of DER."""
    lines = base64.b64encode(data).decode()
    body = "\n".join(lines[at : at + _PEM_LINE] for at in range(0, len(lines), _PEM_LINE))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"
