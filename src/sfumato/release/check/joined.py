"""Verify what a release claims about its join with earlier ones, from their public parts if these are given."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.errors import PolicyError, ReleaseError, SfumatoError
from sfumato.release.check.finding import Finding, verdict
from sfumato.release.manifest import EarlierEntry, Manifest
from sfumato.requirement.base import Verdict, names
from sfumato.requirement.join_template import THIS, JoinTemplate
from sfumato.requirement.templates import Anonymity

if TYPE_CHECKING:
    from sfumato.release.earlier import Earlier
    from sfumato.release.join.join import Join
    from sfumato.release.release import Release


def join_with(release: "Release", given: Mapping[str, "Earlier"]) -> "Join | None":
    """The join of a release with the earlier ones that are given; None without any."""
    if not given:
        return None
    from sfumato.release.earlier import this_table
    from sfumato.release.join.join import Join
    from sfumato.release.joined import rules_of

    rules = [r for r in rules_of(release.description.inconsistent) if {*r.sides} <= {THIS, *given}]
    order = [e.name for e in release.description.after or () if e.name in given]
    return Join([this_table(release), *(given[n] for n in order)], rules)


def on_join(
    release: "Release", requirement: JoinTemplate, given: Mapping[str, "Earlier"], achieved: Mapping[str, float]
) -> Verdict:
    """The status of a template over the join; stated, if an earlier release is not given or a column is not public."""
    entries = {e.name: e for e in release.description.after or ()}
    over = [n for n in requirement.over if n != THIS]
    if requirement.over[0] != THIS or (strange := [n for n in over if n not in entries]):
        told = f"the manifest does not name {strange[0]!r}" if requirement.over[0] == THIS else "it leaves out T1"
        raise ReleaseError(f"a claim is about the join of {' and '.join(requirement.over)}, but {told}")
    if unknown := [n for n in requirement.x if _own(n) not in (None, *release.description.attributes)]:
        raise ReleaseError(f"a claim is about {unknown[0]!r}, which is not an attribute of the release")
    if absent := [entries[n] for n in over if n not in given]:
        return Verdict("stated", {}, how_to_verify(absent))
    join = join_with(release, {n: given[n] for n in over})
    assert join is not None
    if hidden := _hidden(release, requirement):
        return _in_part(join, requirement, hidden, achieved)
    judgement = join.judge(requirement)
    detail = ", ".join(f"{n} = {v:.6g}" for n, v in judgement.achieved.items())
    if not judgement.holds:
        return Verdict("broken", {}, f"{judgement.failing} of {judgement.groups} combinations fail; {detail}")
    return Verdict("holds", judgement.achieved, detail)


def _in_part(join: "Join", requirement: JoinTemplate, hidden: str, achieved: Mapping[str, float]) -> Verdict:
    """What can be said if a template counts people by a column that is not published: no more than their records."""
    why = f"{hidden!r} is not published, so it cannot be counted in the join"
    if not isinstance(requirement.template, Anonymity):
        return Verdict("stated", {}, why)
    records = requirement.with_parameters(template=requirement.template.with_parameters(y=(THIS,)))
    least = int(join.judge(records).achieved["k"])
    if least < max(requirement.template.k, achieved.get("k", 0)):
        return Verdict("broken", {}, f"a combination is linked to only {least} records of {THIS}")
    return Verdict("stated", {}, f"{why}; every combination is linked to at least {least} records of {THIS}")


def how_to_verify(absent: Sequence[EarlierEntry]) -> str:
    """Which releases are needed to verify a claim about the join, and how they are given."""
    told = ", ".join(
        f"{e.name} ({e.title or 'untitled'}, SHA-256 {next(iter(e.tables.values()))[:12]}…)" for e in absent
    )
    return f"to verify it, give {told} with --after RELEASE, or check(after=[...]) from Python"


def _own(word: str) -> str | None:
    """The attribute of this table that a qualified name refers to; None for any other name."""
    return word.removeprefix(f"{THIS}.") if word.startswith(f"{THIS}.") else None


def _hidden(release: "Release", requirement: JoinTemplate) -> str | None:
    """An attribute of this table that a template counts but that is not published, such as an identifier."""
    y = tuple(requirement.y) if isinstance(requirement.y, Mapping) else names(requirement.y)
    return next((n for n in map(_own, y) if n is not None and n not in release.description.attributes), None)


def matching(release: "Release", given: Mapping[str, "Earlier"]) -> list[Finding]:
    """Whether rows match as the manifest says: by which attributes, and how many match nothing."""
    found = []
    for entry in release.description.after or ():
        if entry.name not in given:
            continue
        claim = (
            f"{entry.name} is joined by {', '.join(entry.join) or 'no attribute'}, and the rows that match nothing "
            "are stated"
        )
        try:
            fault, told = _matched(release, entry, given[entry.name])
        except SfumatoError as e:
            fault, told = str(e), ""
        found.append(verdict(claim, fault, told))
    return found


def _matched(release: "Release", entry: EarlierEntry, earlier: "Earlier") -> tuple[str | None, str]:
    join = join_with(release, {entry.name: earlier})
    assert join is not None
    here, there = join.dangling()[entry.name]
    told = f"{here} rows here and {there} rows there match nothing"
    if earlier.rows != entry.rows or earlier.scheme != entry.scheme or earlier.title != entry.title:
        return f"{entry.name} has {earlier.rows} rows by {earlier.scheme}, titled {earlier.title!r}", told
    if list(join.common[entry.name]) != list(entry.join):
        return f"both have {', '.join(join.common[entry.name]) or 'no attribute'}", told
    if name := _misread(entry, earlier):
        return f"the labels of {name!r} of {entry.name} are explained differently", told
    wrong = {"here": here, "there": there} != dict(entry.dangling)
    return (told if wrong else None), told


def _misread(entry: EarlierEntry, earlier: "Earlier") -> str | None:
    """A column of a plain file with labels that mean something other than the manifest says; None if there is none."""
    from sfumato.release.joined import explanation

    if earlier.plain_file and (lost := [n for n in entry.join if n not in (entry.attributes or {})]):
        return lost[0]
    for name, said in (entry.attributes or {}).items():
        if name not in earlier.columns:
            return name
        known = explanation(earlier.columns[name])
        if (said["role"], said["kind"]) != (known["role"], known["kind"]):
            return name
        if any(label not in said["nodes"] or said["nodes"][label] != m for label, m in known["nodes"].items()):
            return name
    return None


def declared(manifest: Manifest) -> list[Finding]:
    """What only the publisher says about earlier releases: rules, and the labels of plain files."""
    if not manifest.after:
        return []
    from sfumato.release.joined import rules_of

    told = "pairs of rows that it excludes are not in the join, and no claim is about them"
    found = [Finding(f"nobody has {rule.words()}", "stated", told) for rule in rules_of(manifest.inconsistent)]
    files = [entry for entry in manifest.after if entry.attributes is not None]
    return found + [
        Finding(f"the labels of {entry.name}, a plain file, are explained", "stated", ", ".join(entry.attributes or ()))
        for entry in files
    ]


def given_after(release: "Release", sources: Sequence[object]) -> dict[str, "Earlier"]:
    """The earlier releases that are given, by name; refused for a release that claims nothing about a join."""
    if not sources:
        return {}
    if not release.description.after:
        raise PolicyError(
            "this release makes no claim about a join with earlier releases; check it without --after, or use "
            "sf.sequential_join to see what the join gives away"
        )
    from sfumato.release.joined import recognized

    return recognized(release.description.after, sources)
