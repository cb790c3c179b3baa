"""What an adversary gains by a release: belief in what is true about a person, beyond what could be guessed before."""

from typing import NamedTuple

from sfumato.adversary.linkage import linkage_risk
from sfumato.release.best_guess import best_guesses
from sfumato.release.release import Release
from sfumato.report.randomized import response
from sfumato.table.microdata import Microdata


class Gain(NamedTuple):
    """The greatest and the average gain over all people, and the greatest probability of finding a person's row."""

    worst: float | None
    mean: float | None
    linked: float


def adversary_gain(release: Release, table: Microdata) -> Gain:
    """What is learned about sensitive values by an adversary who knows everyone's quasi-identifiers."""
    linked = linkage_risk(release.classes()).prosecutor
    if (drawn := response(release, table)) is not None:
        base = max(best_shares(table).values())
        return Gain(drawn["attack"] - base, drawn["attack_mean"] - base, linked)
    found = best_guesses(release).values()
    worst = max((g.worst - g.base for g in found), default=None)
    return Gain(worst, max((g.mean - g.base for g in found), default=None), linked)


def best_shares(table: Microdata) -> dict[str, float]:
    """The share of the most frequent value of each sensitive attribute: what a guess without a release is worth."""
    import numpy as np

    return {c.name: float(np.bincount(c.codes).max() / table.rows) for c in table.sensitive}
