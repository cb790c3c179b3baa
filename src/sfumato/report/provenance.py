"""Where a release comes from: what only the job that made it knows, for the certificate and the recipe."""

import datetime as dt
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version

from sfumato.release.manifest import CONTEXT

_MOST_FILES = 40
_LIBRARIES = ("sfumato", "polars", "numpy", "numba")
_NAMES = {"sfumato": "sfumato", "polars": "Polars", "numpy": "NumPy", "numba": "Numba"}
_EXPECTED = CONTEXT[:3]
"""What every certificate should say."""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Who asked for a release, what it was made from, how, and which files it has. Private.

    ``context`` is that of the policy, ``reasons`` why columns have their roles. ``cells`` is the digest of the table's
    cells in any order, ``file`` the SHA-256 of the source if it is a file. ``files`` are the SHA-256 of the release's
    files, ``command`` is what makes it again, ``population`` what is known about the population of the people.
    """

    made: dt.datetime
    context: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    cells: str = ""
    file: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    population: str = ""

    def lines(self) -> list[tuple[str, str | None]]:
        """Date and context, each with its title; None where the policy does not say what it should."""
        told = [(key, self.context.get(key)) for key in CONTEXT if key in self.context or key in _EXPECTED]
        return [("Made", self.date), *((key.replace("_", " ").capitalize(), text) for key, text in told)]

    @property
    def date(self) -> str:
        """When it was made."""
        return self.made.strftime("%Y-%m-%d %H:%M") + (" UTC" if self.made.tzinfo == dt.UTC else "")

    def hashes(self) -> list[tuple[str, str, str]]:
        """Each thing with its SHA-256, and what that is computed of."""
        found = []
        if self.file:
            found.append((self.source, self.file, "the private table, the file itself"))
        if self.cells:
            found.append(
                (self.source, self.cells, "its cells, in any order of rows and columns, as the ledger records it")
            )
        return found + [(f"release/{name}", digest, "to hand over") for name, digest in self._listed()]

    def _listed(self) -> list[tuple[str, str]]:
        """The files of the release; many parts are left out, since the manifest states their digests."""
        files = list(self.files.items())
        return files if len(files) <= _MOST_FILES else [(name, digest) for name, digest in files if "/" not in name]


@cache
def versions() -> Sequence[tuple[str, str]]:
    """What was running."""
    libraries = [(_NAMES[name], version(name)) for name in _LIBRARIES]
    machine = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return [*libraries, ("Python", platform.python_version()), ("Platform", machine)]
