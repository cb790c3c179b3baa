"""δ-disclosure privacy (Brickell, Shmatikov: The Cost of Privacy, KDD 2008)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel import judge
from sfumato.requirement.base import (
    Dial,
    Key,
    Schema,
    Tally,
    Test,
    as_fraction,
    positive,
    rounded_up,
)
from sfumato.requirement.guarantee import ONE_ROW, SIMILAR, WHOLE_TABLE, Guarantee, figure
from sfumato.requirement.sensitive_values import ComparedWithTable
from sfumato.requirement.share_limits import decimal, neighbours_of_irrational

_ANY = 200
"""From this δ on, only the absence of a value is forbidden: e^200 exceeds the rows of any table."""


@dataclass(frozen=True, kw_only=True)
class DeltaDisclosure(ComparedWithTable):
    """For every value of the table, with the share p there and q in a group, abs(ln(q / p)) is less than ``delta``.

    So every value occurs in every group, and is neither much rarer nor much more frequent there than in the table.

    >>> DeltaDisclosure(delta=1.5).words()
    "every sensitive value's share in a group differs from its share in the table by a factor below e^1.5"
    """

    model: ClassVar[str] = "delta-disclosure"
    summary: ClassVar[str] = "no sensitive value is much more or less frequent in a group than in the whole table"
    weaker: ClassVar[str | None] = "a larger delta"
    at_most: ClassVar[frozenset[str]] = frozenset({"delta"})
    dials: ClassVar[Mapping[str, Dial]] = {"delta": Dial(0.1, 5, 0.1, start=1.5)}
    delta: float
    sensitive: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        positive(self.model, "delta", self.delta)
        super().__post_init__()

    def tests(self, schema: Schema, totals: Mapping[Key, NDArray[Any]]) -> Sequence[Test]:
        return [test for key in self.columns() for test in self._tests(key, totals[key])]

    def _tests(self, key: Key, totals: NDArray[Any]) -> tuple[Test, Test]:
        """The least and the greatest share of each value."""
        rows, delta = int(totals.sum()), min(as_fraction(self.delta), Fraction(_ANY))
        limits = [_limits(delta, int(t), rows) for t in totals]
        low, high = ([pair[side] for pair in limits] for side in (0, 1))
        return (
            Test(judge.SHARE_AT_LEAST, key, vectors=([f.numerator for f in low], [f.denominator for f in low])),
            Test(judge.SHARE, key, vectors=([f.numerator for f in high], [f.denominator for f in high])),
        )

    def achieved(self, schema: Schema, tally: Tally) -> dict[str, float]:
        """The greatest abs(ln(q / p)), infinite where a value is absent from a group."""
        greatest = 0.0
        for key in self.columns():
            counts, totals = tally.counts[key], tally.totals[key]
            there = totals > 0
            ratios = counts[:, there] / tally.sizes[:, None] / (totals[there] / totals.sum())
            logs = np.log(ratios, out=np.full_like(ratios, -math.inf), where=ratios > 0)
            greatest = max(greatest, float(np.abs(logs).max()))
        return {"delta": greatest}

    def words(self) -> str:
        return (
            "every sensitive value's share in a group differs from its share in the table by a factor below "
            f"e^{float(self.delta):g}"
        )

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        most = rounded_up(achieved.get("delta", self.delta))
        ratio = figure(rounded_up(math.exp(most))) if most < _ANY else f"e^{figure(most)}"
        return Guarantee(
            "δ-disclosure privacy",
            "For an adversary who knows the distribution of the sensitive values in the whole table and then finds a "
            f"person's group, each value is at most {ratio} times and at least 1/{ratio} times as likely as before "
            f"(abs(ln(q/p)) is at most {figure(most)} and must be less than {figure(self.delta)}): no value can be "
            "attributed or ruled out.",
            (
                "The bound is a factor: with a large δ, a value that is frequent in the table may become nearly "
                "certain.",
                WHOLE_TABLE,
                SIMILAR,
                ONE_ROW,
            ),
        )


@lru_cache(maxsize=1 << 16)
def _limits(delta: Fraction, count: int, rows: int) -> tuple[Fraction, Fraction]:
    """The least and the greatest share that a group may give a value that occurs ``count`` times in the table.

    The limits p e^-δ and p e^δ are irrational, so no share is equal to them, and "less than" is "at most".
    """
    if count == 0:
        return Fraction(0), Fraction(0)
    p = Fraction(count, rows)

    def scaled(sign: int) -> Decimal:
        return decimal(p) * (sign * decimal(delta)).exp()

    below = neighbours_of_irrational(lambda: scaled(1), rows).below
    return neighbours_of_irrational(lambda: scaled(-1), rows).above, min(below, Fraction(1))
