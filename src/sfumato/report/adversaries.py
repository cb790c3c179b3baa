"""The certificate's section on adversaries: what each finds out, beside what could be guessed without the release."""

from collections.abc import Callable
from typing import Any

from sfumato.adversary.audit import Audit
from sfumato.adversary.finding import AdversaryFinding, percent_down, percent_up

Facts = dict[str, Any]


def adversaries(audit: Audit | None) -> Facts | None:
    """What an audit found, in sentences and figures; None if there was no audit."""
    if audit is None:
        return None
    return {
        "findings": [_finding(f) for f in audit.findings],
        "broken": list(audit.broken),
        "refused": [(r.adversary, r.reason) for r in audit.refused],
        "left_out": [(r.adversary, r.reason) for r in audit.left_out],
    }


def _share(share: float | None, words: Callable[[float], str]) -> str:
    """A share in words; a dash where it was not computed."""
    return "–" if share is None else words(share)


def _finding(found: AdversaryFinding) -> Facts:
    return {
        "title": found.title,
        "sentence": found.sentence(),
        "worst": percent_up(found.worst),
        "worst_baseline": percent_down(found.worst_baseline),
        "mean": _share(found.mean, percent_up),
        "mean_baseline": _share(found.mean_baseline, percent_down),
        "people": "–" if found.people is None else f"{found.people:,} of {found.attacked:,}",
        "notes": list(found.notes),
    }
