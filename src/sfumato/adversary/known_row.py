"""The adversary who knows even which row of a randomized release is a person's: a bound for everyone who knows less.

Rows are randomized one by one, so whoever knows the row needs nobody else: what the others have, or look like, tells
nothing more. Which row is whose cannot be told afterwards, not even with the truth at hand; so beliefs are averaged
over what the person's row may show, and the worst case is the greatest belief in the truth that some row can cause.
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
    "Which row is whose cannot be told afterwards: averages and numbers of people are expected over the noise, the "
    "worst case is the greatest belief in the truth that the noise can cause. Whoever does not know the row is at most "
    "as sure."
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
        s, expected, before[column.codes], attack=attack, attribute=column.name, exact=False, knowledge=knowledge,
        variant=variant or (column.name if len(s.sensitive) > 1 else ""), target=f"of a person's {column.name}",
        notes=(_AVERAGED, INDEPENDENT),
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
