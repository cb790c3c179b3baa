"""A proposed policy: what `sfumato init` writes, with the reasons as comments.

It is a text for a steward to read and correct, so everything from the data (column names, values) is escaped: no
table, however odd, breaks out of a string or a comment.
"""

import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from sfumato.publisher.policy import DROP
from sfumato.publisher.toml import escape, key, toml
from sfumato.table.form import PLAIN
from sfumato.table.sniff import Sniffed

_CONTEXT_HINT = (
    "# [context]  # for the signed certificate; private, except for the keys listed in disclose",
    '# operator = "…"',
    '# recipient = "…"',
    '# purpose = "…"',
    '# disclose = ["operator"]',
)
_POPULATION_HINT = (
    "# [population]  # the population the people are drawn from, for their risk in it; or source = a table of it",
    "# size = …",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedAttribute:
    """One line of `[attributes]`; only ordinals have a domain, in order."""

    name: str
    role: str
    kind: str
    taxonomy: dict[str, Any] | None = None
    domain: tuple[str, ...] | None = None
    pad: int | None = None
    reason: str
    why: str = ""
    """The part of the reason that is about the role; the policy keeps it for the certificate."""

    def entry(self) -> dict[str, Any]:
        """What the policy says; kind and taxonomy matter only where values are worked on."""
        if self.role in ("identifier", "insensitive", DROP):
            return {"role": self.role}
        entry = {
            **{"role": self.role, "kind": self.kind, "taxonomy": self.taxonomy, "domain": self.domain, "pad": self.pad}
        }
        return {name: value for name, value in entry.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedRequirement:
    """One `[[require]]` of the policy."""

    entry: dict[str, Any]
    reason: str


@dataclass(frozen=True, slots=True)
class ProposedMethod:
    """The `[method]` of the policy; None leaves it out, so that one is chosen when the table is published."""

    name: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Requirements that go together, with the method for them."""

    requirements: tuple[ProposedRequirement, ...]
    method: ProposedMethod


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What the proposal did to the table, or to a sample of it, before it was proposed; for the steward alone."""

    rows: int
    sampled: bool
    method: str
    kept: float | None
    """The share of the information about quasi-identifiers that is kept; None if that is not measured."""
    risk_before: float
    risk_after: float
    """The greatest risk of re-identification, for an adversary who knows that a person is in the table."""
    guesses: dict[str, float] = field(default_factory=dict)
    """How often the best guess of each sensitive value is right in the worst group."""
    bounded: dict[str, float] = field(default_factory=dict)
    """The greatest confidence in a value that is bounded, by attribute."""

    def words(self) -> str:
        """One paragraph."""
        where = f"{self.rows:,} rows drawn at random" if self.sampled else f"all {self.rows:,} rows"
        kept = "" if self.kept is None else f" keeps {self.kept:.0%} of the information and"
        told = (
            f"Tried on {where}: {self.method}{kept} lowers the greatest risk of re-identification from "
            f"{self.risk_before:.0%} to {self.risk_after:.1%}"
        )
        worst = [f"the best guess of {name!r} is right for {share:.0%}" for name, share in self.guesses.items()]
        worst += [f"the confidence in a bounded value of {name!r} is {c:.0%}" for name, c in self.bounded.items()]
        return told + (f". In the worst group, {'; '.join(worst)}." if worst else ".")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A policy that a person still has to read."""

    title: str = ""
    """Left to the steward: it is public, and a file name may reveal who the data are about."""
    source: str
    query: str | None = None
    form: Sniffed = field(default_factory=lambda: Sniffed(PLAIN))
    """How the source writes its rows, with the reasons."""
    missing: str
    nulls: dict[str, list[str]] = field(default_factory=dict)
    """The texts that seem to mean a missing value, each with the columns that contain it."""
    weights: str | None = None
    """The column of sampling weights."""
    attributes: tuple[ProposedAttribute, ...]
    requirements: tuple[ProposedRequirement, ...]
    method: ProposedMethod
    weaker: tuple[Ask, ...] = ()
    """What to require if this is more than the table allows, in order."""
    trial: Trial | None = None
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The proposal for machines, with its reasons and warnings."""
        return {
            "title": self.title,
            "data": {
                "source": self.source,
                **({"query": self.query} if self.query else {}),
                **self.form.form.said(),
                **({"nulls": list(self.nulls)} if self.nulls else {}),
                **({"weights": self.weights} if self.weights else {}),
                "missing": self.missing,
                "others": "error",
            },
            "attributes": [asdict(attribute) for attribute in self.attributes],
            "require": [{**needed.entry, "reason": needed.reason} for needed in self.requirements],
            "method": asdict(self.method),
            "trial": asdict(self.trial) if self.trial else None,
            "warnings": list(self.warnings),
        }

    def to_toml(self) -> str:
        """The text that `sfumato publish` reads, with the reasons as comments."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from comment("Proposed by `sfumato init`. You know the data best: read every line.")
        if self.trial is not None:
            yield from comment(self.trial.words())
        for warning in self.warnings:
            yield from comment(f"Note: {warning}")
        yield from (
            "",
            f"title = {toml(self.title)}  # public; the file name is not used, since it may reveal too much",
        )
        yield from ("", "[data]", f"source = {toml(self.source)}")
        if self.query:
            yield f"query = {toml(self.query)}"
        for name, value in self.form.form.said().items():
            yield from comment(self.form.reasons.get(name, "as given"))
            yield f"{name} = {toml(value)}"
        if self.nulls:
            told = "; ".join(f"{text!r} in {', '.join(map(repr, names[:5]))}" for text, names in self.nulls.items())
            yield from comment(f"Treated as missing values: {told}")
            yield f"nulls = {toml(list(self.nulls))}"
        if self.weights:
            yield from comment("Sampling weights, which say how many people of the population a row stands for")
            yield f"weights = {toml(self.weights)}"
        yield f"missing = {toml(self.missing)}  # error | category | drop"
        yield from (
            'others = "error"  # columns not named below: error | drop | insensitive',
            "",
            "[attributes]",
        )
        for attribute in self.attributes:
            yield from comment(attribute.reason.removeprefix(attribute.why).removeprefix("; "))
            yield f"{key(attribute.name)} = {toml(attribute.entry() | {'reason': attribute.why})}"
        for needed in self.requirements:
            yield from ("", *comment(needed.reason), "[[require]]")
            yield from (f"{key(name)} = {toml(value)}" for name, value in needed.entry.items())
        yield from ("", *comment(self.method.reason))
        if self.method.name is not None:
            yield from ("[method]", f"name = {toml(self.method.name)}")
        yield from ("", *_POPULATION_HINT, "", *_CONTEXT_HINT)


def comment(text: str) -> list[str]:
    return textwrap.wrap(escape(text), 100, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
