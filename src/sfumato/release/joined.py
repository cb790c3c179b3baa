"""What a manifest says of the releases that it was joined with, and recognizing them again by their SHA-256."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.errors import PolicyError, ReleaseError
from sfumato.release.earlier import Earlier, EarlierColumn, as_earlier, this_table
from sfumato.release.label_meaning import LabelMeaning, parse_label
from sfumato.release.manifest import EarlierAttribute, EarlierEntry
from sfumato.release.rule import Inconsistent
from sfumato.table.encode import Kind, Role
from sfumato.table.names import MISSING
from sfumato.table.published import distinct_texts
from sfumato.table.regular_file import digest
from sfumato.table.source import read_frame

if TYPE_CHECKING:
    from sfumato.release.release import Release


def stating_join(release: "Release", after: Sequence[Earlier], rules: Sequence[Inconsistent]) -> "Release":
    """The release with what its manifest says of earlier ones: which they are, how rows match, and what dangles."""
    from sfumato.release.join.join import Join

    join = Join([this_table(release), *after], rules)
    dangling, words = join.dangling(), _named(release)
    entries = [entry_of(e, join.common[e.name], dangling[e.name], _used(e, words, after, rules)).plain() for e in after]
    return release.stating(after=entries, **({"inconsistent": [r.plain() for r in rules]} if rules else {}))


def _named(release: "Release") -> set[str]:
    """The attributes and releases that claims about the join name."""
    found: set[str] = set()
    for claim in release.description.requirements:
        for names in (claim.required.get("x", ()), claim.required.get("y", ())) if "over" in claim.required else ():
            found.update([names] if isinstance(names, str) else names)
    return found


def _used(earlier: Earlier, words: set[str], after: Sequence[Earlier], rules: Sequence[Inconsistent]) -> set[str]:
    """The columns of an earlier release that claims or rules name, or that another one has too."""
    shared = {n for other in after if other is not earlier for n in other.columns}
    ruled = {n for rule in rules for n in rule.values(earlier.name)}
    return ruled | {n for n in earlier.columns if n in words | shared or f"{earlier.name}.{n}" in words}


def entry_of(earlier: Earlier, common: Sequence[str], dangling: tuple[int, int], used: set[str]) -> EarlierEntry:
    """What the manifest says of an earlier release: which it is, how it is joined, and what matches nothing.

    Of a plain file it also says what labels mean, in columns that are joined by or ``used``.
    """
    explained = {n: explanation(c) for n, c in earlier.columns.items() if n in used or n in common}
    return EarlierEntry(
        name=earlier.name,
        title=earlier.title,
        scheme=earlier.scheme,
        rows=earlier.rows,
        tables=dict(earlier.digests),
        join=list(common),
        dangling={"here": dangling[0], "there": dangling[1]},
        attributes=explained if earlier.plain_file else None,
    )


def explanation(column: EarlierColumn) -> EarlierAttribute:
    """What the manifest says of a column of a plain file."""
    nodes = {label: _stated(m) for label, m in zip(column.labels, column.meanings, strict=True)}
    return {"role": str(column.role), "kind": str(column.kind), "nodes": nodes}


def _stated(meaning: LabelMeaning) -> Sequence[str | float | None] | None:
    """A meaning as a manifest states it; ends of days are numbers here, and an open end is null."""
    if meaning.interval is not None:
        return [end if abs(end) != float("inf") else None for end in meaning.interval]
    return list(meaning.names) if meaning.listed else None


def rules_of(plain: Sequence[Mapping[str, Any]] | None) -> list[Inconsistent]:
    """The rules of inconsistency that a manifest states."""
    return [Inconsistent(sides=entry) for entry in plain or ()]


def recognized(entries: Sequence[EarlierEntry], sources: Sequence[Any]) -> dict[str, Earlier]:
    """The given releases by the names that the manifest calls them, recognized by the SHA-256 of their tables."""
    found: dict[str, Earlier] = {}
    for source in sources:
        one = _opened(entries, source)
        entry = next((e for e in entries if _same_files(e.tables, one.digests)), None)
        if entry is None:
            known = ", ".join(f"{e.name} ({e.title or 'untitled'})" for e in entries) or "none"
            raise PolicyError(
                f"{_shown(source)} is not a release that this one was published after (its SHA-256 is not in the "
                f"manifest, which names {known}); give those releases, unchanged"
            )
        if entry.name in found:
            raise PolicyError(f"{_shown(source)} is {entry.name}, which was already given; give each release once")
        found[entry.name] = one.called(entry.name)
    return found


def _shown(source: object) -> str:
    return str(source) if isinstance(source, str | Path) else "the release given"


def _same_files(stated: Mapping[str, str], there: Mapping[str, str]) -> bool:
    """Whether some file is in both, and all that are have the same SHA-256."""
    both = stated.keys() & there.keys()
    return bool(both) and all(stated[file] == there[file] for file in both)


def _opened(entries: Sequence[EarlierEntry], source: Any) -> Earlier:
    """A release; or a plain file, read by what the manifest says of its labels."""
    path = Path(source) if isinstance(source, str | Path) else None
    if path is None or not path.is_file():
        return as_earlier(source, "the earlier release")
    files = {f"data{path.suffix.lower()}": digest(path)}
    entry = next((e for e in entries if e.attributes is not None and _same_files(e.tables, files)), None)
    if entry is None:
        raise PolicyError(
            f"{path} is a file whose SHA-256 is not in the manifest; give the file that was named when this release "
            "was made, unchanged, or the folder of a sfumato release"
        )
    return _plain_file(read_frame(path), entry, files)


def _plain_file(frame: pl.DataFrame, entry: EarlierEntry, files: dict[str, str]) -> Earlier:
    from sfumato.release.earlier_file import flat

    columns = {n: _read(frame, n, a) for n, a in (entry.attributes or {}).items()}
    return replace(flat(columns, frame.height, name=entry.name, title=entry.title), digests=files)


def _read(frame: pl.DataFrame, name: str, stated: EarlierAttribute) -> EarlierColumn:
    if name not in frame.columns or stated["role"] not in list(Role) or stated["kind"] not in list(Kind):
        raise ReleaseError(
            f"the manifest describes the column {name!r} of an earlier file, but the file's column does not match"
        )
    shown, nodes = distinct_texts(frame[name]), stated["nodes"]
    texts = [t if t in nodes else MISSING for t in shown.texts]  # a text that the policy names in nulls is missing
    if MISSING in texts and MISSING not in nodes:
        lost = shown.texts[texts.index(MISSING)]
        raise ReleaseError(f"the manifest does not explain the label {lost!r} of {name!r} of an earlier file")
    meanings = tuple(parse_label(t, nodes[t]) for t in texts)
    listed = frozenset(n for m in meanings if m.listed for n in m.names)
    role, kind = Role(stated["role"]), Kind(stated["kind"])
    return EarlierColumn(name, role, kind, tuple(texts), shown.of_row.astype("int64"), meanings, listed)
