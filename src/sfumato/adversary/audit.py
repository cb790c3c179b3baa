"""The audit of a release: what every adversary that applies to it finds out, and which claims do not hold."""

import html
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from sfumato.adversary.finding import AdversaryFinding
from sfumato.release.check.finding import Finding


class Refused(NamedTuple):
    """An adversary, or a variant of it, that did not attack, and why."""

    adversary: str
    reason: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit:
    """What an audit found.

    ``findings`` are those of the adversaries; ``claims`` is the status of each claim of the manifest, checked from the
    public part and against the truth. ``refused`` adversaries do not apply or cannot be computed; ``left_out`` is what
    the time ``budget`` (in seconds) did not allow. ``rows`` is how many people the table has, ``sample`` how many of
    them were attacked where attacks are made one by one; None if all.
    """

    findings: tuple[AdversaryFinding, ...]
    claims: tuple[Finding, ...] = ()
    refused: tuple[Refused, ...] = ()
    left_out: tuple[Refused, ...] = ()
    rows: int
    sample: int | None = None
    seconds: float = 0.0
    budget: float | None = None

    @property
    def broken(self) -> tuple[str, ...]:
        """The claims of the manifest that do not hold, each with what refutes it."""
        stated = [f"{c.claim}: {c.detail}" for c in self.claims if c.status == "broken"]
        return tuple(dict.fromkeys([*stated, *(claim for f in self.findings for claim in f.broken)]))

    @property
    def worst(self) -> AdversaryFinding | None:
        """The finding with the greatest average gain."""
        return max((f for f in self.findings if f.gain is not None), key=lambda f: f.gain or 0.0, default=None)

    def of(self, adversary: str) -> list[AdversaryFinding]:
        """The findings of one adversary."""
        return [f for f in self.findings if f.adversary == adversary]

    def as_dict(self, *, private: bool = False) -> dict[str, Any]:
        """For machines; the people concerned only if ``private``."""
        return {
            "holds": not self.broken,
            "broken": list(self.broken),
            "findings": [f.private_dict() if private else f.as_dict() for f in self.findings],
            "claims": [c.as_dict() for c in self.claims],
            "refused": [r._asdict() for r in self.refused],
            "left_out": [r._asdict() for r in self.left_out],
            "rows": self.rows,
            "sample": self.sample,
            "seconds": round(self.seconds, 3),
            "budget": self.budget,
        }

    def to_json(self, *, private: bool = False) -> str:
        """The same as JSON text."""
        return json.dumps(self.as_dict(private=private), ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    def lines(self) -> list[str]:
        """The audit in sentences: broken claims first."""
        told = [f"BROKEN: {claim}" for claim in self.broken]
        told += [f"{f.title}: {f.sentence()}" for f in self.findings]
        told += [f"not attacked: {r.adversary}: {r.reason}" for r in self.refused]
        return told + [f"left out for lack of time: {r.adversary}: {r.reason}" for r in self.left_out]

    def __repr__(self) -> str:
        return (
            f"<audit of {self.rows:,} people: {len(self.findings)} findings, {len(self.broken)} broken claims, "
            f"{len(self.refused)} refused, {len(self.left_out)} left out>"
        )

    def _repr_html_(self) -> str:
        return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in self.lines()) + "</ul>"
