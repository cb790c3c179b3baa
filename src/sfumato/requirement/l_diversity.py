"""l-diversity in four readings: distinct, entropy, recursive (c, l) and frequency (at most 1/l)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, nearest
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
    is_number,
    ordinal,
    rounded_down,
    rounded_up,
    settled,
    whole_number,
)
from sfumato.requirement.guarantee import ONE_ROW, SIMILAR, Guarantee, figure, one_in
from sfumato.requirement.sensitive_values import SensitiveValues

Variant = Literal["distinct", "entropy", "recursive", "frequency"]
_VARIANTS = ("distinct", "entropy", "recursive", "frequency")


@dataclass(frozen=True, kw_only=True)
class LDiversity(SensitiveValues):
    """Each group's sensitive values are diverse; with several sensitive attributes, each one is.

    distinct: at least l values. entropy: the entropy is at least ln l, exactly; l may be a fraction.
    recursive: the most frequent count is below c times the sum of the l-th most frequent one and
    those after it. frequency: no value makes up more than 1/l.

    >>> LDiversity(l=3, variant="entropy").words()
    'in every group the entropy of the sensitive values is at least ln 3'
    """

    model: ClassVar[str] = "l-diversity"
    summary: ClassVar[str] = "the sensitive values of every group are diverse, in one of four senses"
    weaker: ClassVar[str | None] = "a lower l"
    at_most: ClassVar[frozenset[str]] = frozenset({"c"})
    dials: ClassVar[Mapping[str, Dial]] = {
        "l": Dial(2, 20, 1, start=3),
        "c": Dial(0.5, 10, 0.5, start=3, only=("variant", "recursive")),
    }
    l: float
    variant: Variant = "frequency"
    c: float | None = None
    sensitive: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.variant not in _VARIANTS:
            known = nearest(str(self.variant), _VARIANTS)
            raise PolicyError(f"{self.model}: there is no variant {self.variant!r}{known}")
        if self.variant in ("distinct", "recursive"):
            whole_number(self.model, "l", self.l, 1)
        elif not is_number(self.l) or not 1 <= self.l < 1e9:
            raise PolicyError(f"{self.model}: l = {self.l!r}; it must be a number from 1 up to 1e9")
        if (self.c is None) == (self.variant == "recursive"):
            raise PolicyError(f"{self.model}: c is a parameter of the recursive variant, which requires it, e.g. c = 3")
        if self.c is not None and (not is_number(self.c) or not 0 < self.c < 1e9):
            raise PolicyError(f"{self.model}: c = {self.c!r}; it must be a positive number below 1e9")
        super().__post_init__()

    def tests(self, schema: Schema, totals: Mapping[Key, NDArray[Any]]) -> Sequence[Test]:
        return [self._test(key, schema.domain(key[0]).size) for key in self.columns()]

    def _test(self, key: Key, values: int) -> Test:
        limit = as_fraction(self.l)
        if self.variant == "distinct":
            return Test(judge.DISTINCT, key, limit)
        if self.variant == "entropy":
            return Test(judge.ENTROPY, key, limit)
        if self.variant == "recursive":
            return Test(judge.TAIL, key, as_fraction(self.c or 0), int(self.l))
        num, den = [limit.denominator] * values, [limit.numerator] * values
        return Test(judge.SHARE, key, vectors=(num, den))

    def achieved(self, schema: Schema, tally: Tally) -> dict[str, float]:
        if self.variant == "frequency":
            worst = [_least_ratio(*tally.sizes_and_most(key)) for key in self.columns()]
        else:
            worst = [self._worst(tally.counts[key]) for key in self.columns()]
        if self.variant == "recursive":
            return {"c": max(worst)}
        return {"l": settled(min(worst), self.l)}

    def _worst(self, counts: NDArray[np.int64]) -> float:
        if self.variant == "distinct":
            return int((counts > 0).sum(axis=1).min())
        sizes, most = judge.greatest(counts)
        if self.variant == "frequency":
            return _least_ratio(sizes, most)
        if self.variant == "entropy":
            parts = counts / sizes[:, None]
            logs = np.log(parts, out=np.zeros_like(parts), where=parts > 0)
            return float(np.exp(-(parts * logs).sum(axis=1)).min())
        ranked = -np.sort(-counts, axis=1)
        tail = ranked[:, int(self.l) - 1 :].sum(axis=1)
        return float(np.divide(ranked[:, 0], tail, out=np.full(len(tail), np.inf), where=tail > 0).max())

    def exceeded(self, attack: str, attribute: str, belief: Floats, before: Floats) -> bool:
        about = self.variant == "frequency" and attack == "inference" and self.is_about(attribute)
        return about and above(belief, 1 / self.l)

    def bounds_confidence(self) -> bool:
        return self.variant == "frequency"

    def words(self) -> str:
        l = float(self.l)
        what = {
            "distinct": f"every group has at least {self.l} distinct sensitive values",
            "entropy": f"in every group the entropy of the sensitive values is at least ln {l:g}",
            "frequency": f"no sensitive value makes up more than 1/{l:g} of any group",
            "recursive": f"in every group the most frequent sensitive value is less than {self.c} times as frequent "
            f"as the {ordinal(int(self.l))} most frequent and all following ones together",
        }
        return what[self.variant]

    def in_short(self, about: str) -> str:
        if self.variant != "frequency":
            return super().in_short(about)
        return f"Nobody’s {about} can be guessed with a probability above {one_in(float(self.l))}."

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        l = figure(self.l)
        promise, limit = {
            "distinct": (
                f"Every group holds at least {l} different sensitive values.",
                "It does not bound a probability: one value may be far more frequent in a group than all others.",
            ),
            "entropy": (
                f"The sensitive values of every group are spread at least as evenly as {l} equally frequent ones "
                f"(their entropy is at least ln {l}).",
                f"Entropy is an average: a single value may still be more likely than 1/{l}.",
            ),
            "recursive": (
                "The most frequent sensitive value of a group is bounded by the rarer ones, the "
                f"{ordinal(int(self.l))} most frequent and those after it, so that it does not outweigh them even "
                "after some values have been ruled out.",
                "The bound is relative to the rarer values; it is not a limit on the probability of a value.",
            ),
            "frequency": (
                "An adversary who finds a person's group cannot attribute any sensitive value to the person with a "
                f"confidence above 1/{l}.",
                "Rare and frequent values are treated alike: a group may make a rare value much more likely than it is "
                "in the whole table.",
            ),
        }[self.variant]
        return Guarantee(f"{self.variant.capitalize()} l-diversity", promise, (limit, SIMILAR, ONE_ROW))

    def remedy(self, schema: Schema, whole: Tally) -> str:
        key = next(k for k in self.columns() if not self._test(k, whole.counts[k].shape[1]).holds(whole)[0])
        counts = whole.counts[key][0]
        present = int((counts > 0).sum())
        if self.l > present and self.variant in ("distinct", "recursive"):
            plural = "" if present == 1 else "s"
            return (
                f"the {present} distinct value{plural} of {key[0]!r} cannot be {float(self.l):g}-diverse; "
                f"lower l to {present} or less"
            )
        top = schema.domain(key[0]).leaves[int(counts.argmax())]
        best = self._worst(whole.counts[key])
        if self.variant == "recursive":
            advice = f"raise c to {rounded_up(best * 1.001)} or more"
        else:
            as_whole = "" if best == int(best) else f" (as a whole number {int(best)})"
            advice = f"the table allows l = {rounded_down(best):.4g}{as_whole} at best: lower l to that or less"
        return (
            f"the whole table is not {self.variant} {float(self.l):g}-diverse in {key[0]!r}: {top!r} alone makes "
            f"up {counts.max() / whole.sizes[0]:.1%}; {advice}"
        )


def _least_ratio(sizes: NDArray[np.int64], most: NDArray[np.int64]) -> float:
    """The least ratio of the rows of a group to those with its most frequent value."""
    return float((sizes / most).min())
