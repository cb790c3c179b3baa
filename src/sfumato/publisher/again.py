"""A table that was published before: warnings for the steward, and notes."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sfumato.method.base import Method
from sfumato.publisher.ledger import Entry
from sfumato.publisher.toml import escape


class Notices(NamedTuple):
    """Warnings, and notes that are no cause for concern."""

    warnings: list[str]
    notes: list[str]


def published_again(
    earlier: Sequence[Entry], *, policy: str, method: Method, seed: int | None, out: Path, force: bool
) -> Notices:
    """What to say if a table has earlier releases."""
    told = Notices([], [])
    same = [e for e in earlier if e.policy == policy]
    fresh = [e for e in same if seed is None or e.seed != seed]
    redrawn = method.redrawn()
    if same and (redrawn is None or not fresh):
        told.notes.append(
            f"{_where(same)}; {method.name} makes the same release of it, with its rows in another order."
        )
    elif fresh:
        replaced = force and any(e.folder == os.path.realpath(out) for e in fresh)
        remedy = (
            "--force replaces it with a release made with fresh draws; do that only if nobody has the earlier one"
            if replaced
            else "hand over that release again, not this one"
        )
        told.warnings.append(f"{_where(fresh)}: {remedy}. {redrawn}")
    joined = {e.manifest for e in getattr(method, "after", ())}
    if others := [e for e in earlier if e.policy != policy and e.manifest not in joined]:
        told.warnings.append(
            f"{_where(others, other=True)}. Anyone who has both releases can combine them, and no requirement is "
            "checked on the two together."
        )
    return told


def _where(entries: Sequence[Entry], *, other: bool = False) -> str:
    last, times = entries[-1], len(entries)
    which = ("another policy" if times == 1 else "other policies") if other else "this policy"
    often = "" if times == 1 else f" {times} times, last"
    method = f" by {last.method}" if other else ""
    gone = "" if last.is_there else ", which no longer holds it"
    told = f"This table was published under {which}{often} on {last.date[:10]}{method} in {last.folder}{gone}"
    return escape(told)
