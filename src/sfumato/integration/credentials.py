"""Who is allowed to talk: certificates that both sides check, for TLS 1.3 and nothing older."""

import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sfumato.errors import PeerError, PolicyError, os_words
from sfumato.integration.tls_words import tls_words
from sfumato.integration.wire import letter

_LARGEST: Final = 1 << 20
_OTHERS: Final = 0o077


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """The files that prove who this side is, and the authority that must have signed the peer's certificate."""

    certificate: Path
    key_file: Path
    authority: Path

    def context(self, *, server: bool) -> ssl.SSLContext:
        """TLS 1.3 with certificates of both sides required."""
        self._check_files()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # certificates name parties, not machines: see ``check_party``
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        if server:
            context.num_tickets = 0
        self._load(context)
        return context

    def _load(self, context: ssl.SSLContext) -> None:
        try:
            context.load_verify_locations(cafile=self.authority)
        except ssl.SSLError:
            raise PolicyError(
                f"{self.authority} holds no certificate in PEM; name the authority's certificate"
            ) from None
        try:
            context.load_cert_chain(self.certificate, self.key_file, password=_no_password)
        except ssl.SSLError as error:
            raise PolicyError(
                f"{self.certificate} and {self.key_file} are not a certificate and its private key, both in PEM "
                f"({tls_words(error)}); make them with `sfumato integrate --make-certificates DIR`"
            ) from None

    def _check_files(self) -> None:
        for name in ("certificate", "key_file", "authority"):
            path: Path = getattr(self, name)
            try:
                if not path.is_file():
                    raise PolicyError(f"{name} = {str(path)!r}: there is no such file")
                if path.stat().st_size > _LARGEST:
                    raise PolicyError(f"{name} = {str(path)!r} is larger than a MiB; it must be a PEM file")
                path.read_bytes()
            except OSError as error:
                raise PolicyError(f"{name} = {str(path)!r} cannot be read: {os_words(error)}") from None
        mode = self.key_file.stat().st_mode
        if os.name == "posix" and mode & _OTHERS:
            raise PolicyError(
                f"the private key {self.key_file} can be read by other users (mode {mode & 0o777:04o}); "
                f"run `chmod 600 {self.key_file}`"
            )


def party_name(party: int) -> str:
    """The common name that a party's certificate must have."""
    return f"sfumato party {letter(party)}"


def check_party(stream: ssl.SSLSocket, peer: int) -> None:
    """Refuse a peer whose certificate, though signed by the authority, was not issued for this party."""
    subject: Any = (stream.getpeercert() or {}).get("subject", ())
    names = [value for part in subject for key, value in part if key == "commonName"]
    if names != [party_name(peer)]:
        raise PeerError(
            f"the certificate that was shown is not that of party {letter(peer)}: its common name must be "
            f"{party_name(peer)!r}; check `party`, `certificate` and `key_file` in both policies"
        )


def _no_password() -> str:
    raise PolicyError(
        "the private key is protected by a password; sfumato needs it without one, in a file of mode 0600"
    )
