"""The report's section on earlier releases: how rows match, what holds for the join, and whom it does not cover."""

from collections.abc import Sequence
from typing import Any

from sfumato.release.earlier import Earlier, of_table
from sfumato.release.joined import rules_of
from sfumato.release.manifest import EarlierEntry
from sfumato.release.release import Release
from sfumato.table.microdata import Microdata

Dangling = dict[str, tuple[int, int]]


def raw_dangling(release: Release, table: Microdata, after: Sequence[Earlier]) -> Dangling:
    """How many rows of the private table and of each earlier release match nothing, before anything is hidden."""
    if not after:
        return {}
    from sfumato.release.join.join import Join

    return Join([of_table(table), *after], rules_of(release.description.inconsistent)).dangling()


def joined(release: Release, raw: Dangling) -> dict[str, Any] | None:
    """The facts about earlier releases; None for a release that was not joined with any."""
    entries = release.description.after
    if not entries:
        return None
    over = [claim for claim in release.description.requirements if "over" in claim.required]
    return {
        "releases": [_line(entry, raw.get(entry.name)) for entry in entries],
        "rules": [rule.words() for rule in rules_of(release.description.inconsistent)],
        "of_join": [claim.words for claim in over],
        "of_table": [claim.words for claim in release.description.requirements if claim not in over],
        "related": all(pair == (0, 0) for pair in raw.values()) if raw else None,
        "not_related": [_unrelated(name, pair) for name, pair in raw.items() if pair != (0, 0)],
    }


def _line(entry: EarlierEntry, raw: tuple[int, int] | None) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title or "untitled",
        "rows": entry.rows,
        "scheme": entry.scheme,
        "join": list(entry.join),
        "here": entry.dangling["here"],
        "there": entry.dangling["there"],
        "raw": raw,
        "digests": [f"{file} {digest[:16]}…" for file, digest in entry.tables.items()],
    }


def _unrelated(name: str, pair: tuple[int, int]) -> str:
    return f"{pair[0]:,} of this table and {pair[1]:,} of {name}"


def unrelated(raw: Dangling) -> list[str]:
    """A warning for the steward if two tables are not about the same people; private, since it is about true values."""
    return [
        f"Before anything is hidden, {here:,} rows of this table match no row of {name}, and {there:,} rows of {name} "
        "match no row of this table: the two are not population-related. Templates over the join do not cover rows "
        "that match nothing, and the refinement may have stopped earlier than necessary. If both tables are meant to "
        "be about the same people, look for values that are spelled differently."
        for name, (here, there) in raw.items()
        if here or there
    ]
