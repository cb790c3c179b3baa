"""The certificate's section on adversaries: what each finds out, and what could be guessed without the release."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sfumato.adversary.audit import Audit
from sfumato.adversary.finding import MARGIN, AdversaryFinding, percent_down, percent_up

Facts = dict[str, Any]


def adversaries(audit: Audit | None) -> Facts | None:
    """What an audit found, in sentences and figures; None if there was no audit."""
    if audit is None:
        return None
    often = Counter(note for f in audit.findings for note in set(f.notes))
    shared = [note for note, number in often.items() if number > 1]
    return {
        "findings": [_finding(f, shared) for f in audit.findings],
        "shared": sorted(shared),
        "margin": percent_down(max((f.margin for f in audit.findings), default=MARGIN)).removesuffix("%"),
        "broken": list(audit.broken),
        "refused": [(r.adversary, r.reason) for r in audit.refused],
        "left_out": [(r.adversary, r.reason) for r in audit.left_out],
    }


def _share(share: float | None, words: Callable[[float], str]) -> str:
    """A share in words; a dash where it was not computed."""
    return "–" if share is None else words(share)


def _finding(found: AdversaryFinding, shared: Sequence[str]) -> Facts:
    return {
        "title": found.title,
        "sentence": found.sentence(),
        "worst": percent_up(found.worst),
        "worst_baseline": percent_down(found.worst_baseline),
        "mean": _share(found.mean, percent_up),
        "mean_baseline": _share(found.mean_baseline, percent_down),
        "people": "–" if found.people is None else f"{found.people:,} of {found.attacked:,}",
        "notes": [note for note in found.notes if note not in shared],
    }
