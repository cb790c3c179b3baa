"""The steward's ledger: which tables were published, by which policy, when and where.

``sfumato-ledger.json`` is kept next to the source, or next to the policy if the source is a database or its folder
is not writable. It is private. A table is identified by a digest of its cells, whatever the order of its rows, so that
the same table is found again under another name. Publishing never fails because of the ledger: what is wrong with it
becomes a warning.
"""

import contextlib
import datetime as dt
import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from sfumato.engine.locks import locked
from sfumato.errors import OutputError
from sfumato.publisher.policy import Policy
from sfumato.release.files.output import whole_file
from sfumato.release.files.recognize import public_part_around
from sfumato.release.files.store import MANIFEST
from sfumato.table.address import expanded
from sfumato.table.hierarchy import file_of
from sfumato.table.regular_file import digest, read_bytes

LEDGER = "sfumato-ledger.json"
_UNWRITTEN = (
    f"No {LEDGER} could be written next to the source or the policy, so a second release of this table will not be "
    "noticed."
)
_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One release that was made; ``finished`` only once it is in place."""

    table: str
    policy: str
    method: str
    folder: str
    date: str
    manifest: str
    seed: int | None = None
    finished: bool = False

    def __post_init__(self) -> None:
        texts = (self.table, self.policy, self.method, self.folder, self.date, self.manifest)
        kinds = all(isinstance(text, str) for text in texts) and isinstance(self.finished, bool)
        if not kinds or not (self.seed is None or isinstance(self.seed, int)) or "\0" in self.folder:
            raise TypeError("an entry of the ledger has parts of the wrong type")

    @property
    def is_there(self) -> bool:
        """Whether its folder still holds the release."""
        try:
            return digest(Path(self.folder) / "release" / MANIFEST) == self.manifest
        except OSError:
            return False

    @property
    def was_made(self) -> bool:
        """Whether the release was put in place; a process may have been killed just before or just after."""
        return self.finished or self.is_there


@dataclass
class Ledger:
    """The ledgers of a job: all are read, the first writable one is written."""

    places: tuple[Path, ...] = ()
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, job: Policy) -> "Ledger":
        """The ledger next to the source and the one next to the policy; never one in the package or in a release."""
        source = expanded(job.source)
        folders = [job.folder] if "://" in source else [(job.folder / source).parent, job.folder]
        package = Path(str(files("sfumato"))).resolve()
        places = dict.fromkeys(folder.resolve() / LEDGER for folder in folders)
        private = (place for place in places if public_part_around(place) is None)
        return cls(tuple(place for place in private if package not in place.parents))

    def earlier(self, table: str) -> list[Entry]:
        """The earlier releases of a table, oldest first."""
        found = {entry: None for place in self.places for entry in self._read(place) if entry.table == table}
        return sorted((e for e in found if e.was_made), key=lambda e: e.date)

    def record(self, entry: Entry) -> None:
        """Write an entry, replacing its earlier state."""
        for place in self.places:
            if os.access(place.parent, os.W_OK):
                with contextlib.suppress(OSError, OutputError):
                    self._write(place, entry)
                    self.warnings = [w for w in self.warnings if w != _UNWRITTEN]
                    return
        if self.places:
            self.warnings.append(_UNWRITTEN)

    def _write(self, place: Path, entry: Entry) -> None:
        with locked(place, create=True):
            others = [e for e in _entries(place) or () if replace(e, finished=entry.finished) != entry and e.was_made]
            with whole_file(place) as draft:
                draft.touch(mode=0o600)
                draft.chmod(0o600)
                text = json.dumps({"releases": [asdict(e) for e in (*others, entry)]}, indent=1)
                draft.write_text(text + "\n", encoding="utf-8")

    def _read(self, place: Path) -> list[Entry]:
        """The entries of a ledger; a damaged one is set aside."""
        if not os.path.lexists(place):
            return []
        try:
            entries = _entries(place)  # no lock needed: a ledger is replaced as a whole
            return self._set_aside(place) if entries is None else entries
        except OSError as e:
            self.warnings.append(
                f"{place} cannot be read ({e.strerror}), so it is unknown whether this table was published before."
            )
            return []

    def _set_aside(self, place: Path) -> list[Entry]:
        """Move a damaged ledger out of the way; what another job wrote in its place meanwhile is read."""
        with locked(place):
            entries = _entries(place)
            if entries is None:
                aside = place.with_name(f"{LEDGER}.damaged-{_now().replace(':', '')}")
                place.rename(aside)
                self.warnings.append(
                    f"{place} was damaged and has been renamed to {aside.name}; it is unknown whether this table was "
                    "published before."
                )
            return entries or []


def _entries(place: Path) -> list[Entry] | None:
    """What a ledger says; None if it is damaged. An empty file is a ledger that was only just created."""
    try:
        text = read_bytes(place, largest=_LARGEST, links=False).decode("utf-8")
        return [Entry(**entry) for entry in json.loads(text)["releases"]] if text else []
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    except OSError as e:
        if e.errno == errno.EFBIG:
            return None
        raise


def entry_of(job: Policy, table: str, folder: Path, manifest: Path, seed: int | None) -> Entry:
    """The entry of a release whose manifest is at a path and will be moved to a folder."""
    return Entry(
        table=table,
        policy=policy_digest(job),
        method=job.method.name,
        folder=os.path.realpath(folder),
        date=_now(),
        manifest=digest(manifest),
        seed=seed,
    )


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


def policy_digest(job: Policy) -> str:
    """A digest of what the policy asks for: all but title, source and output, including the files it names."""
    data = {name: value for name, value in job.content["data"].items() if name != "source"}
    asked: Mapping[str, Any] = {
        "data": data,
        "attributes": {name: _without_reason(entry) for name, entry in job.content["attributes"].items()},
        **{part: job.content.get(part) for part in ("require", "method")},
        "files": dict(_named_files(job)),
    }
    if after := getattr(job.method, "after", ()):
        told = [[e.name, dict(e.digests)] for e in after]
        asked = {**asked, "after": told, "inconsistent": [r.plain() for r in job.inconsistent]}
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()


def _without_reason(entry: Any) -> Any:
    """What a policy says about an attribute, but not why."""
    return {key: value for key, value in entry.items() if key != "reason"} if isinstance(entry, dict) else entry


def _named_files(job: Policy) -> Iterator[tuple[str, str]]:
    """The digests of the taxonomies, distributions and population that a policy names by file."""
    named = [a.taxonomy for a in job.attributes]
    named += [entry.get("distributions") for entry in job.content["require"]]
    named += [job.content.get("population", {}).get("source")]
    for name in named:
        if isinstance(name, str):
            with contextlib.suppress(OSError):
                yield name, digest(job.folder / file_of(name))


def finish(ledger: Ledger | None, made: Sequence[Entry]) -> None:
    """Record that the release is in place."""
    if ledger is not None:
        ledger.record(replace(made[0], finished=True))
