"""The adversary who knows even which row of a randomized release is a person's: a bound for everyone who knows less.

Rows are randomized independently, so an adversary who knows the row needs nobody else: what the others have, or look
like, reveals nothing more. Which row is whose cannot be determined afterwards, not even from the truth; so beliefs are
averaged over what the person's row may show, and the worst case is the greatest belief in the truth that some row can
cause.
"""

from dataclasses import replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.base import Adversary, refuted
from sfumato.adversary.finding import AdversaryFinding
from sfumato.adversary.situation import Situation
from sfumato.adversary.true_belief import by_bayes, domain_share, in_domain, noise
from sfumato.requirement.guarantee import INDEPENDENT
from sfumato.table.encode import Column

_SURE = 1 - 1e-9
_AVERAGED = (
    "Which row belongs to whom cannot be determined afterwards: averages and numbers of people are expectations over "
    "the noise, and the worst case is the greatest belief in the truth that the noise can cause. An adversary who "
    "does not know the row is at most as sure."
)


PRIOR = " and assumes that values are as likely as in the whole table"
SHOWS_THROUGH = (
    "Everyone's value is assumed to be as likely as in the whole table. Where many people share quasi-identifiers "
    "and most of them share a value, their average shows through the noise, and an adversary who uses it is surer."
)


def known_row(
    adversary: Adversary, s: Situation, column: Column, *, attack: str, knowledge: str, variant: str = ""
) -> AdversaryFinding:
    """What is learned about a sensitive value that was randomized, by the stated noise."""
    prior, matrix, at = domain_share(s, column), noise(s, column), in_domain(s, column)
    belief = by_bayes(prior, matrix)
    expected = (matrix * belief).sum(axis=1)[at][column.codes]
    greatest = np.where(matrix > 0, belief, 0.0).max(axis=1)[at]
    before = s.share(column)
    found = adversary.learned(
        s, expected, before[column.codes], attack=attack, attribute=column.name,
        exact=False, knowledge=knowledge + PRIOR,
        variant=variant or (column.name if len(s.sensitive) > 1 else ""), target=f"of a person's {column.name}",
        notes=(_AVERAGED, INDEPENDENT, SHOWS_THROUGH),
    )  # fmt: skip
    there = np.flatnonzero(before > 0)
    worst = there[np.lexsort((before[there], -greatest[there]))[0]]
    number = s.truth.rows * before

    def people(shown: NDArray[np.bool_]) -> int:
        chance = np.where(shown, matrix, 0.0).sum(axis=1)[at]
        return ceil(float(number @ chance) - 1e-9)

    return replace(
        found,
        bound=True,
        worst=float(greatest[worst]),
        worst_baseline=float(before[worst]),
        certain=people(belief >= _SURE),
        people=people(belief - prior[:, None] > s.margin),
        concerned=None,
        broken=tuple(refuted(s, attack, column.name, greatest[there], before[there])),
    )
