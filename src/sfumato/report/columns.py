"""The certificate's list of columns: each with its role, what the role means, and why it was chosen."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sfumato.engine.overview import Overview
from sfumato.release.release import Release
from sfumato.table.encode import Role

_MEANING = {
    Role.IDENTIFIER: "names a person; never published",
    Role.QUASI: "others may know it about a person",
    Role.SENSITIVE: "others must not learn it about a person",
    Role.CLASS: "what analysts want to predict",
    Role.INSENSITIVE: "nobody can recognize a person by it, and it is not secret",
}


class RoleTold(NamedTuple):
    """A column, its role in words, whether it is published, and the policy's reason; empty if it gives none."""

    name: str
    role: str
    meaning: str
    published: bool
    reason: str


def roles_told(release: Release, table: Overview, reasons: Mapping[str, str]) -> list[RoleTold]:
    """Every column of the private table."""
    public = release.description.attributes
    return [
        RoleTold(name, str(role), _MEANING[role], name in public, reasons.get(name, "")) for name, role in _roles(table)
    ]


def _roles(table: Overview) -> Iterator[tuple[str, Role]]:
    yield from ((name, Role.IDENTIFIER) for name in table.hidden)
    yield from ((column.name, column.role) for column in table.columns.values())
    yield from ((name, Role.INSENSITIVE) for name in table.plain)
