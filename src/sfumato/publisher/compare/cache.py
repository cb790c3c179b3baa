"""Outcomes that were measured before, by content: one small JSON file each, in a folder that only its owner can read.

An outcome is found again if the table, the requirements, the method with its settings and the code of sfumato are the
same. What cannot be read is measured again, and a folder that cannot be written costs time, never the comparison.
"""

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sfumato.errors import OutputError, SfumatoError
from sfumato.publisher.compare.figures import NAMES, Figures, Outcome
from sfumato.publisher.compare.points import Point
from sfumato.release.files.output import whole_file
from sfumato.release.files.recognize import public_part_around
from sfumato.release.manifest import this_version
from sfumato.table.checks import is_number
from sfumato.table.digest import table_digest
from sfumato.table.population import Population
from sfumato.table.regular_file import digest, read_bytes

_FORMAT = 1
_LARGEST = 1 << 20


@cache
def code_stamp() -> str:
    """A digest of the sources of sfumato, kernels included: other code may publish other releases."""
    summed = hashlib.sha256(this_version().encode())
    root = Path(str(files("sfumato")))
    for source in sorted(root.rglob("*.py")):
        summed.update(str(source.relative_to(root)).encode())
        summed.update(source.read_bytes())
    return summed.hexdigest()


def key_of(point: Point, table: str) -> str:
    """What identifies an outcome; ``table`` is the digest of the coded table."""
    told = [_FORMAT, code_stamp(), table, _told(point.method), [_told(r) for r in point.requirements]]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _told(value: object) -> Any:
    """A value as JSON, with the content of the tables and files that it names."""
    if isinstance(value, Population):
        return ["population", table_digest(value.frame), value.missing, list(value.nulls)]
    if hasattr(value, "digests") and hasattr(value, "name"):  # an earlier release
        return ["earlier", value.name, dict(value.digests)]
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, {f.name: _told(getattr(value, f.name)) for f in fields(value)}]
    if isinstance(value, Mapping):
        return {str(name): _told(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_told(inner) for inner in value]
    if isinstance(value, str):
        return [value, *_content(value)]
    return value if value is None or isinstance(value, bool | int | float) else repr(value)


def _content(name: str) -> list[str]:
    """The digest of the file that a text names, if it does."""
    with contextlib.suppress(OSError, ValueError):
        if Path(name).is_file():
            return [digest(Path(name))]
    return []


def user_folder() -> Path:
    """Where outcomes are kept unless another folder is named: ``sfumato/compare`` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "sfumato" / "compare"


@dataclass(frozen=True)
class OutcomeCache:
    """A folder of outcomes; None keeps nothing."""

    folder: Path | None

    @classmethod
    def at(cls, folder: Path | None) -> "OutcomeCache":
        """The cache in a folder that is made for its owner alone; one inside a public part is refused."""
        if folder is None:
            return cls(None)
        if (public := public_part_around(folder)) is not None:
            raise OutputError(
                f"{folder} is inside the public part of a release ({public}), but the figures of a comparison are "
                "private; choose a folder outside it"
            )
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
        except OSError:
            return cls(None)
        return cls(folder)

    def get(self, key: str) -> Outcome | None:
        """An outcome that was measured before; None if none can be read."""
        if self.folder is None:
            return None
        try:
            return _parsed(json.loads(read_bytes(self._place(key), largest=_LARGEST, links=False)), key)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def put(self, key: str, outcome: Outcome) -> None:
        """Keep an outcome, unless it failed for a reason that may not recur."""
        if self.folder is None or outcome.failed is not None:
            return
        told: dict[str, Any] = {"key": key, "refused": outcome.refused, "notes": list(outcome.notes)}
        told["figures"] = None if outcome.figures is None else outcome.figures.as_dict()
        with contextlib.suppress(OSError, SfumatoError), whole_file(self._place(key)) as draft:
            draft.touch(mode=0o600)
            draft.write_text(json.dumps(told, allow_nan=False) + "\n", encoding="utf-8")

    def _place(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{key}.json"


def _parsed(plain: Any, key: str) -> Outcome:
    """The outcome in a file; raises if it is not an outcome, or that of another point."""
    if not isinstance(plain, dict) or plain.keys() != {"key", "refused", "notes", "figures"} or plain["key"] != key:
        raise ValueError("not the outcome of this point")
    if not (plain["refused"] is None or isinstance(plain["refused"], str)):
        raise TypeError("a reason must be text")
    if not all(isinstance(note, str) for note in plain["notes"]) or (plain["refused"] is None) == (
        not plain["figures"]
    ):
        raise TypeError("an outcome has figures or a reason")
    return Outcome(figures=_figures(plain["figures"]), refused=plain["refused"], notes=tuple(plain["notes"]))


def _figures(plain: Any) -> Figures | None:
    if plain is None:
        return None
    if tuple(plain) != NAMES or not all(v is None or (is_number(v) and math.isfinite(v)) for v in plain.values()):
        raise ValueError("not the figures of a release")
    return Figures(**plain)
