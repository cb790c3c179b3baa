"""(α, k)-anonymity: k rows per group, and no sensitive value with a share above α."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel import judge
from sfumato.requirement.base import (
    Dial,
    Floats,
    Key,
    Schema,
    Tally,
    Test,
    above,
    as_fraction,
    rounded_up,
    settled,
    share,
    whole_number,
)
from sfumato.requirement.guarantee import ONE_ROW, SIMILAR, Guarantee, figure, percent
from sfumato.requirement.sensitive_values import SensitiveValues


@dataclass(frozen=True, kw_only=True)
class AlphaK(SensitiveValues):
    """Each group has at least k rows, and no sensitive value makes up more than ``alpha`` of it.

    >>> AlphaK(alpha=0.5, k=3).words()
    'every group has at least 3 rows, and no sensitive value makes up more than 0.5 of it'
    """

    model: ClassVar[str] = "alpha-k"
    summary: ClassVar[str] = "k-anonymity, and no sensitive value can be attributed to anyone with a confidence above α"
    weaker: ClassVar[str | None] = "a larger alpha or a lower k"
    at_most: ClassVar[frozenset[str]] = frozenset({"alpha"})
    by_labels: ClassVar[bool] = True
    dials: ClassVar[Mapping[str, Dial]] = {"alpha": Dial(0.05, 1, 0.05, start=0.5), "k": Dial(2, 100, 1, start=5)}
    alpha: float
    k: int
    sensitive: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        share(self.model, "alpha", self.alpha)
        whole_number(self.model, "k", self.k, 1)
        super().__post_init__()

    def tests(self, schema: Schema, totals: Mapping[Key, NDArray[Any]]) -> Sequence[Test]:
        limit = as_fraction(self.alpha)
        tests = [Test(judge.SIZE, limit=Fraction(self.k))]
        for key in self.columns():
            values = schema.domain(key[0]).size
            vectors = ([limit.numerator] * values, [limit.denominator] * values)
            tests.append(Test(judge.SHARE, key, vectors=vectors))
        return tests

    def achieved(self, schema: Schema, tally: Tally) -> dict[str, float]:
        shares = [float((tally.sizes_and_most(key)[1] / tally.sizes).max()) for key in self.columns()]
        return {"alpha": settled(max(shares), self.alpha), "k": int(np.min(tally.sizes))}

    def exceeded(self, attack: str, attribute: str, belief: Floats, before: Floats) -> bool:
        if attack == "prosecutor":
            return above(belief, 1 / self.k)
        return attack == "inference" and self.is_about(attribute) and above(belief, self.alpha)

    def words(self) -> str:
        return f"every group has at least {self.k} rows, and no sensitive value makes up more than {self.alpha} of it"

    def in_short(self, about: str) -> str:
        return (
            f"Nobody can be told apart from at least {self.k - 1:,} other{'s' * (self.k > 2)}, and nobody’s {about} "
            f"can be guessed with a probability above {percent(float(self.alpha))}."
        )

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        return Guarantee(
            "(α, k)-anonymity",
            f"An adversary who knows a person's quasi-identifiers finds at least {figure(self.k)} rows that fit "
            "equally well, and cannot attribute any sensitive value to the person with a confidence above "
            f"{figure(self.alpha)}.",
            (SIMILAR, ONE_ROW),
        )

    def remedy(self, schema: Schema, whole: Tally) -> str:
        best = self.achieved(schema, whole)
        if best["k"] < self.k:
            return f"{best['k']} rows cannot be {self.k}-anonymous; lower k to {best['k']} or less"
        return (
            f"one sensitive value makes up {best['alpha']:.2%} of the whole table, more than alpha = "
            f"{self.alpha}; raise alpha to {rounded_up(best['alpha'])} or more"
        )
