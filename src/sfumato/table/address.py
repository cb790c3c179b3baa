"""Addresses of databases: which parts may be shown, where the secrets are, and ``${VARIABLES}`` in a source.

Nothing of an address is shown unless it is known to be harmless: a user, a host with port, a database name and
options from a list, each written in plain characters. Everything else, such as a password with a stray @ or /, an
unknown option or a part that cannot be identified, is shown as ***.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from sfumato.errors import PolicyError

_HIDDEN = "***"
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<name>[^}]*)(?P<end>\}?)")
_REFERENCES = re.compile(rf"(?:\$\{{{_NAME}\}})+")
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://", re.ASCII)
_PLAIN = re.compile(r"[\w.@~+-]*")
_PLAIN_VALUE = re.compile(r"[\w.~+/,-]*")
_PLACE = re.compile(r"(?:[\w.-]*|\[[0-9A-Fa-f:.]+\]|%2[Ff][\w.%-]*)(?::\d*)?(?:,[\w.-]*(?::\d*)?)*", re.ASCII)
_HARMLESS = (
    *("host", "hostaddr", "port", "user", "dbname", "sslmode", "connect_timeout", "application_name"),
    *("target_session_attrs", "client_encoding", "channel_binding", "gssencmode", "keepalives", "mode"),
    *("sslrootcert", "sslcert", "sslkey", "sslcrl", "passfile"),
)
_SECRETIVE = re.compile(
    r"^\s*[A-Za-z][\w+.-]+\s*:\s*/"  # postgresql:/…, jdbc:…://, a Path made of a URL; not the drive C:/
    r"|^\s*(?:jdbc|postgres\w*|sqlite|mysql|mariadb|mssql|oracle)\w*\s*(?::|//)"
    r"|:[\s\S]*@"  # user:password@host, over several lines too
    r"|(?:pass|pwd|secret|token)\w*\s*=",
    re.IGNORECASE,
)


class Option(NamedTuple):
    """One option after the question mark, as written; ``value`` is None where there is no equals sign."""

    key: str
    value: str | None

    @property
    def name(self) -> str:
        """The key as the driver reads it."""
        return unquote(self.key).strip().lower()

    @property
    def shown(self) -> str:
        """The option as it may be shown."""
        if self.value is None:
            return _HIDDEN
        harmless = self.name in _HARMLESS and _PLAIN_VALUE.fullmatch(unquote(self.value))
        name = self.key if _PLAIN.fullmatch(self.key) else _HIDDEN
        return f"{name}={self.value if harmless or _is_reference(self.value) else _HIDDEN}"


@dataclass(frozen=True)
class Address:
    """The parts of ``scheme://user:password@host:port/path?options``, as written."""

    scheme: str
    user: str
    password: str | None
    at: str
    host: str
    path: str
    options: tuple[Option, ...]

    @classmethod
    def of(cls, url: str) -> "Address | None":
        """The parts of an address; None if the text is not one. The last @ ends the account."""
        match = _SCHEME.match(url)
        if match is None:
            return None
        scheme = match["scheme"].lower()
        account, at, place = url[match.end() :].rpartition("@") if scheme != "sqlite" else ("", "", url[match.end() :])
        user, colon, password = account.partition(":")
        place, _, query = place.partition("?")
        host, slash, path = place.partition("/")
        options = tuple(Option(k, v if eq else None) for k, eq, v in (o.partition("=") for o in query.split("&")))
        return cls(scheme, user, password if colon else None, at, host, slash + path, options if query else ())

    def __str__(self) -> str:
        """The address as written, the scheme in lower case."""
        account = self.user + ("" if self.password is None else f":{self.password}") + self.at
        options = "&".join(o.key if o.value is None else f"{o.key}={o.value}" for o in self.options)
        return f"{self.scheme}://{account}{self.host}{self.path}{'?' if options else ''}{options}"

    def masked(self) -> str:
        """The address with *** for everything not known to be harmless."""
        user = self.user if _is_reference(self.user) or self._has_plain_user() else _HIDDEN
        password = self.password if self.password is None or _is_reference(self.password) else _HIDDEN
        host, path, shown = self._shown_host(), self._shown_path(), "&".join(option.shown for option in self.options)
        if host == _HIDDEN:  # it is uncertain where the parts begin and end
            path, shown = path and f"/{_HIDDEN}", shown and _HIDDEN
        parts = replace(self, user=user, password=password, host=host, path=path, options=())
        return f"{parts}{'?' if shown else ''}{shown}"

    def _has_plain_user(self) -> bool:
        return "@" not in self.user and _PLAIN.fullmatch(unquote(self.user)) is not None

    def _shown_host(self) -> str:
        """The host; hidden if the @ before it may belong to an option, since it may then be the end of a password."""
        plain = _is_reference(self.host) or _PLACE.fullmatch(self.host)
        return self.host if plain and "?" not in self.user + (self.password or "") else _HIDDEN

    def _shown_path(self) -> str:
        """A database's name, or SQLite's file unless it could contain a user and password."""
        if self.scheme == "sqlite":
            return self.path if not re.search(r":[\s\S]*@", str(self)[len("sqlite:") :]) else f"/{_HIDDEN}"
        name = self.path.removeprefix("/")
        return self.path if _is_reference(name) or _PLAIN.fullmatch(unquote(name)) else f"/{_HIDDEN}"

    def is_plain(self) -> bool:
        """Whether every part can be identified, so that a driver's message about it shows no secret."""
        odd = re.search(r"[@/?#\s]|%(?![0-9A-Fa-f]{2})", self.password or "")
        told = self._has_plain_user() and all(re.fullmatch("[a-z_]+", o.name) for o in self.options)
        told = told and all(o.value is not None for o in self.options)
        return told and not odd and _HIDDEN not in (self._shown_host(), self._shown_path().removeprefix("/"))

    def secrets(self) -> list[str]:
        """Everything that must not be shown, as written and as the driver reads it; the longest first."""
        found = [self.password or "", *(o.value or "" for o in self.options if o.shown.endswith(_HIDDEN))]
        return sorted({s for secret in found for s in (secret, unquote(secret)) if s}, key=len, reverse=True)

    def seen_from(self, folder: Path) -> "Address":
        """The address as a policy in a folder names it: a relative SQLite file is resolved from that folder."""
        name = self.path.removeprefix("/")
        if self.scheme != "sqlite" or self.host or not name or name.startswith(("/", "~", "$", ":")):
            return self
        return replace(self, path=f"/{os.path.relpath(name, folder)}")

    def without_secrets(self) -> tuple["Address", list[str]]:
        """The address with variables in place of its secrets, and the names of these variables."""
        names: list[str] = []

        def reference(name: str) -> str:
            names.append(f"PG{re.sub(r'[^A-Z0-9]+', '_', name.upper())}")
            return f"${{{names[-1]}}}"

        hides = self.password and not _is_reference(self.password)
        password = reference("password") if hides else self.password
        options = tuple(o._replace(value=reference(o.name)) if o.shown.endswith(_HIDDEN) else o for o in self.options)
        return replace(self, password=password, options=options), names


def _is_reference(text: str) -> bool:
    """Whether a text consists of variables only."""
    return _REFERENCES.fullmatch(text) is not None


def begins_with_variable(source: str) -> bool:
    """Whether a source begins with the value of an environment variable, so that nothing may be put before it."""
    return _REFERENCES.match(source) is not None


def masked(source: str) -> str:
    """A source as it may be shown: a file name unchanged, an address without its secrets.

    >>> masked("postgresql://ann:secret@localhost/clinic?sslpassword=x&sslmode=require")
    'postgresql://ann:***@localhost/clinic?sslpassword=***&sslmode=require'
    >>> masked("postgresql://ann:${PGPASSWORD}@localhost/clinic"), masked("host=localhost password=secret")
    ('postgresql://ann:${PGPASSWORD}@localhost/clinic', '***')
    """
    address = Address.of(source)
    if address is not None:
        return address.masked()
    return _HIDDEN if may_hold_secret(source) else source


def may_hold_secret(source: str) -> bool:
    """Whether a text that is not an address could be meant as one."""
    return _SECRETIVE.search(source) is not None


def expanded(source: str, variables: Mapping[str, str] = os.environ) -> str:
    """The source with the values of environment variables in place of ``${NAME}``; ``$${`` stands for ``${``.

    In the account and in the options of an address a value is percent-encoded, so that any password can be a
    variable's value; elsewhere, and if a variable is the whole source, it is used unchanged.

    >>> expanded("postgresql://ann:${PGPASSWORD}@localhost/clinic", {"PGPASSWORD": "p@ss/word"})
    'postgresql://ann:p%40ss%2Fword@localhost/clinic'
    """
    account, options = -1, len(source)
    if _SCHEME.match(source):
        account = source.rfind("@")
        asked = source.find("?", account + 1)
        options = asked if asked >= 0 else len(source)

    def value(found: re.Match[str]) -> str:
        if found["name"] is None:
            return "${"
        if not found["end"] or not re.fullmatch(_NAME, found["name"]):
            raise PolicyError("the source contains ${ without a variable name and a closing }; write $${ for ${")
        if found["name"] not in variables:
            raise PolicyError(
                f"the source names the environment variable {found['name']}, which is not set; set it and run again"
            )
        text = variables[found["name"]]
        return quote(text, safe="") if found.start() < account or found.start() > options else text

    return _REFERENCE.sub(value, source)
