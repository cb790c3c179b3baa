"""Certificates for a first try: a small authority and one certificate per party, all with Ed25519 keys.

The authority signs the two certificates and forgets its key, so nobody can issue a third one. Certificates follow
RFC 5280, keys in certificates RFC 8410.
"""

import hashlib
import os
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from sfumato.errors import OutputError, os_words
from sfumato.integration import der
from sfumato.integration.credentials import party_name
from sfumato.integration.sodium import bindings
from sfumato.integration.wire import letter

DAYS: Final = 90
_ED25519: Final = der.sequence(der.object_identifier("1.3.101.112"))
_COMMON_NAME: Final = der.object_identifier("2.5.4.3")
_SUBJECT_KEY, _KEY_USAGE, _CONSTRAINTS, _AUTHORITY_KEY, _USES = (
    der.object_identifier(f"2.5.29.{number}") for number in (14, 15, 19, 35, 37)
)
_SERVER, _CLIENT = (der.object_identifier(f"1.3.6.1.5.5.7.3.{number}") for number in (1, 2))
_SIGNS_CERTIFICATES, _SIGNS = der.bits(b"\x04", 2), der.bits(b"\x80", 7)


@dataclass(frozen=True)
class KeyPair:
    """A new Ed25519 key."""

    seed: bytes
    public: bytes
    private: bytes

    @staticmethod
    def new() -> "KeyPair":
        """From the operating system's entropy."""
        seed = secrets.token_bytes(32)
        public, private = bindings().crypto_sign_seed_keypair(seed)
        return KeyPair(seed, public, private)

    def sign(self, data: bytes) -> bytes:
        """The signature alone."""
        signed: bytes = bindings().crypto_sign(data, self.private)
        return signed[:64]

    def pem(self) -> str:
        """The private key as PKCS #8."""
        key = der.sequence(der.integer(0), _ED25519, der.octets(der.octets(self.seed)))
        return der.pem("PRIVATE KEY", key)

    @property
    def identifier(self) -> bytes:
        """A short name of the public key."""
        return hashlib.sha256(self.public).digest()[:20]


@dataclass(frozen=True)
class Authority:
    """Signs certificates."""

    name: str
    keys: KeyPair

    @staticmethod
    def new(name: str = "sfumato authority") -> "Authority":
        """With a fresh key."""
        return Authority(name, KeyPair.new())

    def certificate(self, start: datetime, end: datetime) -> str:
        """The authority's own certificate, which it signs itself. It may sign end certificates only."""
        constraints = der.sequence(der.boolean(True), der.integer(0))
        extensions = (
            _extension(_CONSTRAINTS, constraints, critical=True),
            _extension(_KEY_USAGE, _SIGNS_CERTIFICATES, critical=True),
        )
        return self._signed(self.name, self.keys, start, end, extensions)

    def issue(self, name: str, keys: KeyPair, start: datetime, end: datetime) -> str:
        """A certificate for either end of a TLS connection."""
        extensions = (
            _extension(_CONSTRAINTS, der.sequence(), critical=True),
            _extension(_KEY_USAGE, _SIGNS, critical=True),
            _extension(_USES, der.sequence(_SERVER, _CLIENT)),
        )
        return self._signed(name, keys, start, end, extensions)

    def _signed(self, name: str, keys: KeyPair, start: datetime, end: datetime, extensions: tuple[bytes, ...]) -> str:
        links = (
            _extension(_SUBJECT_KEY, der.octets(keys.identifier)),
            _extension(_AUTHORITY_KEY, der.sequence(der.element(0x80, self.keys.identifier))),
        )
        body = der.sequence(
            der.tagged(0, der.integer(2)),
            der.integer(secrets.randbits(127) + 1),
            _ED25519,
            _distinguished(self.name),
            der.sequence(der.moment(start), der.moment(end)),
            _distinguished(name),
            der.sequence(_ED25519, der.bits(keys.public)),
            der.tagged(3, der.sequence(*extensions, *links)),
        )
        return der.pem("CERTIFICATE", der.sequence(body, _ED25519, der.bits(self.keys.sign(body))))


def make_certificates(directory: Path, *, days: int = DAYS) -> list[Path]:
    """Write ca.pem, a.pem, a.key, b.pem and b.key into a folder; none of them may exist yet."""
    files = _contents(days)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        present = [name for name in files if (directory / name).exists()]
        if present:
            raise OutputError(f"{directory} already has {', '.join(present)}; choose another folder or remove them")
        return [_write(directory / name, content) for name, content in files.items()]
    except OSError as error:
        raise OutputError(f"cannot write certificates to {directory}: {os_words(error)}") from None


def _contents(days: int) -> dict[str, str]:
    now = datetime.now(UTC)
    start, end = now - timedelta(hours=1), now + timedelta(days=days)
    authority = Authority.new()
    files = {"ca.pem": authority.certificate(start, end)}
    for party in (1, 2):
        keys = KeyPair.new()
        name = letter(party).lower()
        files[f"{name}.pem"] = authority.issue(party_name(party), keys, start, end)
        files[f"{name}.key"] = keys.pem()
    return files


def _write(path: Path, content: str) -> Path:
    """A new file; a private key can be read by its owner alone from the first moment."""
    mode = 0o600 if path.suffix == ".key" else 0o644
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="ascii") as file:
        file.write(content)
    return path


def _distinguished(name: str) -> bytes:
    return der.sequence(der.set_of_one(der.sequence(_COMMON_NAME, der.text(name))))


def _extension(kind: bytes, content: bytes, *, critical: bool = False) -> bytes:
    mark = (der.boolean(True),) if critical else ()
    return der.sequence(kind, *mark, der.octets(content))
