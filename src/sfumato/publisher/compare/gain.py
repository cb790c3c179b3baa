"""What adversaries gain by a release: those of an audit that are computed from counts, in three figures."""

from collections.abc import Sequence
from typing import NamedTuple

from sfumato.adversary.auditing import run
from sfumato.adversary.finding import AdversaryFinding
from sfumato.adversary.inference_attack import Inference
from sfumato.adversary.linkage_attack import Linkage
from sfumato.adversary.situation import Situation
from sfumato.release.release import Release
from sfumato.table.microdata import Microdata


class Gain(NamedTuple):
    """The greatest and the average gain over all people, and the greatest probability of finding a person's row.

    None where the adversary does not apply; ``refused`` says why.
    """

    worst: float | None
    mean: float | None
    linked: float | None
    refused: tuple[str, ...] = ()


def adversary_gain(release: Release, table: Microdata) -> Gain:
    """What is learned by an adversary who knows people's quasi-identifiers, about the worst sensitive attribute."""
    found = run(Situation(release, table), [Inference(), Linkage()], check=False)
    inference, linkage = found.of("inference"), found.of("linkage")
    needless = {"inference"} if not table.sensitive else set()
    return Gain(
        _most([_greatest(f) for f in inference]),
        _most([f.gain for f in inference]),
        _most([f.worst for f in linkage]),
        tuple(f"{r.adversary}: {r.reason}" for r in found.refused if r.adversary not in needless),
    )


def _most(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None


def _greatest(found: AdversaryFinding) -> float:
    """The gain of the person about whom the most is learned."""
    if found.concerned is None:
        return found.worst - found.worst_baseline
    return float((found.concerned.belief - found.concerned.before).max())
