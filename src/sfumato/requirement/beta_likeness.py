"""β-likeness (Cao, Karras: Publishing Microdata with a Robust Privacy Guarantee, PVLDB 5(11), 2012)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal

from numpy.typing import NDArray

from sfumato.errors import PolicyError, nearest
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
    settled,
)
from sfumato.requirement.guarantee import ONE_ROW, SIMILAR, WHOLE_TABLE, Guarantee, figure, percent
from sfumato.requirement.sensitive_values import ComparedWithTable
from sfumato.requirement.share_limits import decimal, neighbours, neighbours_of_irrational

Variant = Literal["basic", "enhanced"]
_VARIANTS = ("basic", "enhanced")


@dataclass(frozen=True, kw_only=True)
class BetaLikeness(ComparedWithTable):
    """No value's share in a group exceeds its share p in the table by more than β p: (q - p) / p is at most β.

    basic: at most ``beta``, for every value. enhanced: at most the smaller of ``beta`` and -ln p, so that a frequent
    value never becomes certain. Only a gain counts; a share may fall to nothing.
    ``enhanced = true`` is another way to write the variant.

    >>> BetaLikeness(beta=1).words()
    'no sensitive value is more than 1 + 1 times as frequent in a group as in the table'
    """

    model: ClassVar[str] = "beta-likeness"
    summary: ClassVar[str] = "no sensitive value is more than 1 + β times as frequent in a group as in the whole table"
    weaker: ClassVar[str | None] = "a larger beta"
    at_most: ClassVar[frozenset[str]] = frozenset({"beta"})
    dials: ClassVar[Mapping[str, Dial]] = {"beta": Dial(0.25, 10, 0.25, start=2)}
    beta: float
    variant: Variant | None = None
    enhanced: bool | None = None
    sensitive: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        positive(self.model, "beta", self.beta)
        if self.enhanced is not None and not isinstance(self.enhanced, bool):
            raise PolicyError(f"{self.model}: enhanced = {self.enhanced!r}; it must be true or false")
        meant = "enhanced" if self.enhanced else "basic"
        variant = meant if self.variant is None else self.variant
        if variant not in _VARIANTS:
            raise PolicyError(f"{self.model}: there is no variant {variant!r}{nearest(str(variant), _VARIANTS)}")
        if self.enhanced is not None and variant != meant:
            raise PolicyError(f"{self.model}: enhanced = {self.enhanced} contradicts variant = {variant!r}; give one")
        object.__setattr__(self, "variant", variant)
        object.__setattr__(self, "enhanced", None)
        super().__post_init__()

    def tests(self, schema: Schema, totals: Mapping[Key, NDArray[Any]]) -> Sequence[Test]:
        return [Test(judge.SHARE, key, vectors=self._limits(totals[key])) for key in self.columns()]

    def _limits(self, totals: NDArray[Any]) -> tuple[list[int], list[int]]:
        """Numerators and denominators of the greatest share of each value."""
        rows = int(totals.sum())
        limits = [_limit(as_fraction(self.beta), self.variant == "enhanced", int(t), rows) for t in totals]
        return [f.numerator for f in limits], [f.denominator for f in limits]

    def achieved(self, schema: Schema, tally: Tally) -> dict[str, float]:
        """The greatest relative gain of any value in a group."""
        greatest = 0.0
        for key in self.columns():
            counts, totals = tally.counts[key], tally.totals[key]
            there = totals > 0
            before = totals[there] / totals.sum()
            gains = counts[:, there] / tally.sizes[:, None] / before - 1
            greatest = max(greatest, float(gains.max()))
        return {"beta": settled(greatest, self.beta)}

    def words(self) -> str:
        told = f"no sensitive value is more than 1 + {self.beta:g} times as frequent in a group as in the table"
        return told + (", nor more than 1 - ln p times, p being its share there" * (self.variant == "enhanced"))

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        found = f" (1 + {figure(rounded_up(achieved['beta']))} in this release)" if "beta" in achieved else ""
        enhanced = (
            ", nor more than 1 - ln p, where p is its share in the table, so a value becomes certain only if everyone "
            "has it"
        )
        certain = f"A value that makes up {percent(1 / (1 + self.beta))} of the table or more may become certain."
        return Guarantee(
            f"{str(self.variant).capitalize()} β-likeness",
            "For an adversary who knows the distribution of the sensitive values in the whole table and then finds a "
            "person's group, the probability of a value grows by a factor of no more than "
            f"1 + {figure(self.beta)}{found}"
            f"{enhanced if self.variant == 'enhanced' else ''}.",
            (
                "Only a gain is bounded. A value may be rarer in a group than in the table, or absent; it is then "
                "certain "
                "that nobody in the group has it.",
                *(() if self.variant == "enhanced" else (certain,)),
                WHOLE_TABLE,
                SIMILAR,
                ONE_ROW,
            ),
        )


@lru_cache(maxsize=1 << 16)
def _limit(beta: Fraction, enhanced: bool, count: int, rows: int) -> Fraction:
    """The greatest share that a group of a table with ``rows`` rows may give a value that occurs ``count`` times."""
    p = Fraction(count, max(rows, 1))
    most = neighbours(min(p * (1 + beta), Fraction(1)), rows).below
    if not enhanced or not 0 < p < 1:
        return most
    return min(most, neighbours_of_irrational(lambda: decimal(p) * (1 - decimal(p).ln()), rows).below)
