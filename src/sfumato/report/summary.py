"""A release in short: rows in and out, groups, information kept, what was suppressed, what groups give away."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from sfumato import notebook
from sfumato.engine.counts import Counted, Counts, totals
from sfumato.method.base import PartitionMethod
from sfumato.method.catalogue import METHODS
from sfumato.release.best_guess import BestGuess, best_guess_of
from sfumato.release.manifest import EarlierEntry
from sfumato.release.release import Release
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.release.scheme.sampling import SIZE
from sfumato.report.plots import percent
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import SUPPRESSED

_NAMED = 3
"""How many attributes a line names."""


@dataclass(frozen=True)
class GroupSizes:
    """How many groups a release shows, and how many rows they stand for."""

    number: int
    smallest: int
    median: float
    largest: int


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a steward should know about a release before handing it over. Private, since it counts what was left out.

    ``kept`` is, for each quasi-identifier, 1 less the share of its domain that the labels hide on average (the
    normalized certainty penalty); for a randomized attribute, the share of the values that are expected to stay
    unchanged. ``hidden``: the attributes that show one label for everyone. ``retention``: the probability with which a
    sampled sensitive value was kept. ``changed``: the number of values that a method must have changed at least.
    ``joins``: the earlier releases that it was joined with.

    Of the rows ``read``, ``dropped`` had missing values, ``left_out`` were suppressed and ``published`` are in the
    release, in ``groups``. ``cells`` is how many cells hide their value, ``guesses`` how often the best guess by group
    is right. ``scheme`` says how people are shown.
    """

    method: str
    scheme: str
    read: int
    dropped: int
    left_out: int
    published: int
    groups: GroupSizes | None
    kept: Mapping[str, float]
    unchanged: tuple[str, ...] = ()
    cells: int = 0
    hidden: tuple[str, ...] = ()
    retention: float | None = None
    changed: Mapping[str, int] = field(default_factory=dict)
    guesses: Mapping[str, BestGuess] = field(default_factory=dict)
    joins: tuple[EarlierEntry, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether quasi-identifiers are shown unchanged."""
        return SCHEMES[self.scheme].separates

    @property
    def randomized(self) -> bool:
        """Whether values were drawn at random in place of true ones."""
        return SCHEMES[self.scheme].randomizes

    @property
    def information(self) -> float | None:
        """The information kept about the quasi-identifiers, on average; None if nothing is generalized."""
        if self.exact:
            return 1.0
        if self.randomized or not self.kept:
            return None
        return sum(self.kept.values()) / len(self.kept)

    def __repr__(self) -> str:
        groups = "" if self.groups is None else f" in {self.groups.number:,} groups"
        kept = "" if self.information is None else f", {percent(self.information)} of the information kept"
        return f"Summary({self.published:,} of {self.read:,} rows published by {self.method}{groups}{kept})"

    def _repr_html_(self) -> str:
        title = f"{self.published:,} rows published by {self.method}"
        return notebook.panel(title, notebook.table(["", ""], self.facts()), notebook.bars(self.kept.items()))

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "rows": {
                "read": self.read,
                "dropped": self.dropped,
                "left_out": self.left_out,
                "published": self.published,
            },
            "groups": None if self.groups is None else asdict(self.groups),
            "information_kept": self.information,
            "kept": dict(self.kept),
            "unchanged": list(self.unchanged),
            "suppressed": {"rows": self.left_out, "cells": self.cells, "attributes": list(self.hidden)},
            "retention": self.retention,
            "changed_at_least": dict(self.changed),
            "best_guess": {name: asdict(guess) for name, guess in self.guesses.items()},
        } | ({"joins": {e.name: _plain_join(e) for e in self.joins}} if self.joins else {})

    def facts(self) -> list[tuple[str, str]]:
        """Each fact as a title and a sentence."""
        told = [("Rows", self._rows())]
        if self.groups is not None:
            told.append(("Groups", self._groups(self.groups)))
        told += [("Information kept", self._information()), ("Suppressed", self._suppressed())]
        if self.retention is not None:
            told.append(
                (
                    "Sensitive values",
                    f"kept with probability {self.retention:.4g}, otherwise drawn from the whole domain",
                )
            )
        for name, least in self.changed.items():
            told.append(("Sensitive values", f"at least {least:,} values of {name} differ from the table"))
        told += [(f"Best guess, {name}", _guessed(guess)) for name, guess in self.guesses.items()]
        return told + [(f"Joined with {e.name}", _joined(e)) for e in self.joins]

    def lines(self) -> list[str]:
        """The facts for a terminal, one per line."""
        facts = self.facts()
        width = max(len(title) for title, _ in facts)
        return [f"{title:{width}}  {text}" for title, text in facts]

    def _rows(self) -> str:
        parts = [f"{self.read:,} read"]
        if self.dropped:
            parts.append(f"{self.dropped:,} dropped for missing values ({percent(self.dropped / self.read)})")
        if self.left_out:
            parts.append(f"{self.left_out:,} left out by {self.method} ({percent(self.left_out / self.read)})")
        one = f", one per group ({percent(self.published / self.read)})" if SCHEMES[self.scheme].rows_are_groups else ""
        return ", ".join([*parts, f"{self.published:,} published{one}"])

    def _groups(self, groups: GroupSizes) -> str:
        if groups.number == 1:
            alike = "one pool of sensitive values for" if self.exact else "with the same labels for all"
            return f"1, {alike} {groups.largest:,} rows"
        sizes = f"smallest {groups.smallest:,}, median {groups.median:,g}, largest {groups.largest:,} rows"
        return f"{groups.number:,}; {sizes}"

    def _information(self) -> str:
        if self.exact:
            return "quasi-identifiers are shown exactly; which sensitive value of a group belongs to whom is hidden"
        if self.randomized:
            return self._randomized()
        if not self.kept:
            return "no quasi-identifier is published"
        worst = sorted(self.kept.items(), key=lambda pair: pair[1])[:_NAMED]
        least = ", ".join(f"{name} {percent(share)}" for name, share in worst)
        of = "quasi-identifier" if len(self.kept) == 1 else "quasi-identifiers"
        rows = " of the published rows" if self.left_out else ""
        return f"{percent(self.information or 0.0)} on average over {len(self.kept)} {of}{rows}; least: {least}"

    def _randomized(self) -> str:
        if not self.kept:
            return "everything: no value was randomized"
        shares = ", ".join(f"{name} {percent(share)}" for name, share in self.kept.items())
        told = f"values expected to stay unchanged: {shares}"
        return told + (f"; not randomized: {', '.join(self.unchanged)}" if self.unchanged else "")

    def _suppressed(self) -> str:
        parts = [f"{self.left_out:,} row" + "s" * (self.left_out > 1)] if self.left_out else []
        if self.cells:
            of = self.published * len(self.kept)
            parts.append(
                f"{self.cells:,} of {of:,} quasi-identifier cells show {SUPPRESSED} ({percent(self.cells / of)})"
            )
        if self.hidden:
            parts.append(f"{', '.join(self.hidden)} entirely (one label for everyone)")
        return "; ".join(parts) or "nothing"


def summarize(release: Release, table: Microdata | Counts) -> Summary:
    """What a release made from this table kept, and what it left out.

    >>> import polars as pl
    >>> import sfumato as sf
    >>> frame = pl.DataFrame({"age": [21, 22, 35, 36], "ill": ["flu", "HIV", "flu", "cancer"]})
    >>> table = sf.read(frame, quasi=["age"], sensitive="ill")
    >>> print("\\n".join(summarize(sf.publish(table, require=sf.KAnonymity(k=2)), table).lines()))
    Rows              4 read, 4 published
    Groups            2; smallest 2, median 2, largest 2 rows
    Information kept  50% on average over 1 quasi-identifier; least: age 50%
    Suppressed        nothing
    Best guess, ill   right for 50% of the rows by group, 50% in the worst group; 50% without groups
    """
    manifest, settings = release.description, release.description.method.settings
    published = int(manifest.rows)
    cells, hidden = _suppressed(release)
    changed, unchanged = _randomized(release, table)
    kept = {n: 1.0 - a.loss for n, a in manifest.labelled.items()}
    return Summary(
        method=manifest.method.name or "the method",
        scheme=release.scheme,
        read=table.rows + table.dropped,
        dropped=table.dropped,
        left_out=0 if release.sampled else max(table.rows - published, 0),
        published=published,
        groups=_groups(release),
        kept=changed or kept,
        unchanged=unchanged,
        cells=cells,
        hidden=hidden,
        retention=settings.get("p") if release.sampled else None,
        changed=_changed(release, table),
        guesses=_guesses(release, table),
        joins=manifest.after or (),
    )


def _groups(release: Release) -> GroupSizes | None:
    """The groups as the release shows them; None if it shows none."""
    if release.scheme_class.randomizes or not release.quasi():
        return None
    sizes = release.tables["data"][SIZE].to_numpy() if release.sampled else release.group_sizes()
    sizes = sizes[sizes > 0]
    return GroupSizes(len(sizes), int(sizes.min()), float(np.median(sizes)), int(sizes.max()))


def _suppressed(release: Release) -> tuple[int, tuple[str, ...]]:
    """How many cells hide their value entirely, and which attributes show a single label that covers several values."""
    cells, hidden = 0, []
    for name, entry in release.description.labelled.items() if "data" in release.tables else ():
        labels = release.rows_by_value("data", name)
        if entry.nodes.get(SUPPRESSED, [SUPPRESSED]) != [SUPPRESSED]:
            cells += labels.get(SUPPRESSED, 0)
        if entry.loss > 0 and len(labels) == 1:
            hidden.append(name)
    return cells, tuple(hidden)


def _randomized(release: Release, table: Microdata | Counts) -> tuple[dict[str, float], tuple[str, ...]]:
    """The share of the values of each randomized attribute that are expected to stay, and the attributes left alone."""
    if not release.scheme_class.randomizes:
        return {}, ()
    kept = {}
    drawn = table.drawn_from(Role.QUASI, Role.SENSITIVE)
    for name, way in release.description.distortions().items():
        if name in release.description.matrices:
            column = drawn[name]
            shares = totals(Counted(column.codes, column.size), table.weights) / table.rows
            kept[name] = float(shares @ np.diag(way.matrix))
    return kept, tuple(c.name for c in (*table.quasi, *table.sensitive) if c.name not in kept)


def _perturbs(release: Release) -> bool:
    """Whether the method publishes groups with sensitive values that it may have changed."""
    method = METHODS.get(release.description.method.name)
    return method is not None and issubclass(method, PartitionMethod) and method.perturbs


def _changed(release: Release, table: Microdata | Counts) -> dict[str, int]:
    """At least how many values must have been changed, given the totals before and after."""
    if not _perturbs(release):
        return {}
    found = {}
    for column in table.sensitive:
        shown = release.scheme_class.values_by_group(release, column.name)
        if shown is not None:
            held = totals(Counted(column.codes, column.size), table.weights)
            before = dict(zip(column.domain.leaves, held.tolist(), strict=True))
            after = shown.totals()
            found[column.name] = int(sum(abs(after.get(v, 0) - before.get(v, 0)) for v in {*before, *after})) // 2
    return found


def _guesses(release: Release, table: Microdata | Counts) -> dict[str, BestGuess]:
    """What groups give away about each sensitive attribute and class, if the values are published unchanged."""
    private = [] if _perturbs(release) else table.sensitive
    found = {c.name: best_guess_of(release, c.name) for c in (*private, *table.with_role(Role.CLASS))}
    return {name: guess for name, guess in found.items() if guess is not None}


def _guessed(guess: BestGuess) -> str:
    return (
        f"right for {percent(guess.mean)} of the rows by group, {percent(guess.worst)} in the worst group; "
        f"{percent(guess.base)} without groups"
    )


def _joined(entry: EarlierEntry) -> str:
    """How rows match an earlier release, and how many do not."""
    here, there = entry.dangling["here"], entry.dangling["there"]
    nothing = f"{here:,} rows here and {there:,} rows there match nothing" if here or there else "every row has a match"
    return f"{entry.title or 'untitled'}; by {', '.join(entry.join) or 'rules only'}; {nothing}"


def _plain_join(entry: EarlierEntry) -> dict[str, Any]:
    return {"title": entry.title, "join": list(entry.join), "dangling": dict(entry.dangling)}
