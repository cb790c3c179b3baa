"""m-confidentiality: by group membership alone, nobody has a sensitive value with a confidence above 1/m."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, nearest
from sfumato.requirement.base import (
    Dial,
    GroupRequirement,
    Key,
    Schema,
    Tally,
    Test,
    names,
    sensitive_or_all,
    settled,
    whole_number,
)
from sfumato.requirement.guarantee import ONE_ROW, Guarantee, figure, one_in


@dataclass(frozen=True, kw_only=True)
class MConfidentiality(GroupRequirement):
    """In each group, as published, the sensitive values have a share of at most 1/m (Wong et al., VLDB 2007).

    ``values`` are the sensitive ones among the values of the attribute; they are bounded together, as one. Without
    ``values`` every value is sensitive and each is bounded separately. It is judged on the values as published,
    which the methods that serve it (mask, mask+, mask++) may have changed; the table itself need not satisfy it.

    >>> MConfidentiality(m=2, values=["AIDS"]).words()
    "the sensitive values 'AIDS' make up no more than 1/2 of any group"
    """

    model: ClassVar[str] = "m-confidentiality"
    summary: ClassVar[str] = "the sensitive values make up no more than 1/m of every group, as published"
    of_the_table: ClassVar[bool] = False
    weaker: ClassVar[str | None] = "a lower m"
    dials: ClassVar[Mapping[str, Dial]] = {"m": Dial(2, 20, 1, start=2)}
    m: int
    sensitive: str | Sequence[str] | None = None
    values: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        whole_number(self.model, "m", self.m, 1)
        listed = (
            self.values if isinstance(self.values, Sequence) and not isinstance(self.values, str) else [self.values]
        )
        wrong = [v for v in listed if not isinstance(v, str)]
        if self.values is not None and wrong:
            raise PolicyError(f"{self.model}: {wrong[0]!r} among the sensitive values; name them as strings, in a list")
        if self.values is not None and not listed:
            raise PolicyError(
                f"{self.model}: the list of sensitive values is empty; name some, or leave `values` out if all are "
                "sensitive"
            )
        object.__setattr__(self, "sensitive", names(self.sensitive))
        object.__setattr__(self, "values", None if self.values is None else names(self.values))

    def bind(self, schema: Schema) -> Self:
        chosen = sensitive_or_all(self.model, names(self.sensitive), schema)
        if len(chosen) != 1:
            raise PolicyError(
                f"{self.model} needs exactly one sensitive attribute; name it, e.g. sensitive = {chosen[0]!r}"
            )
        leaves = schema.domain(chosen[0]).leaves
        for value in names(self.values):
            if value not in leaves:
                raise PolicyError(f"{self.model}: {chosen[0]!r} has no value {value!r}{nearest(value, leaves)}")
        if self.values and set(leaves) <= set(names(self.values)):
            raise PolicyError(
                f"{self.model}: all {len(leaves)} values of {chosen[0]!r} are named, so everyone has one of them; "
                "leave `values` out to bound each value separately, or name fewer"
            )
        return self.with_parameters(sensitive=chosen)

    def columns(self) -> Sequence[Key]:
        return [names(self.sensitive)]

    def tests(self, schema: Schema, totals: Mapping[Key, NDArray[Any]]) -> Sequence[Test]:
        raise PolicyError(
            f"{self.model} is judged on values that a method may change; use mask, mask+ or mask++, or require "
            f"l-diversity (variant frequency) with l = {self.m}"
        )

    def classes(self, schema: Schema) -> NDArray[np.int64]:
        """The class of each value; each class is bounded separately. Sensitive values are class 0 if only some are.

        The others are numbered in the order of the domain.
        """
        leaves = schema.domain(names(self.sensitive)[0]).leaves
        if not self.values:
            return np.arange(len(leaves))
        inside = np.isin(np.array(leaves, dtype=object), names(self.values))
        return np.where(inside, 0, np.cumsum(~inside))

    def _most(self, schema: Schema, tally: Tally) -> NDArray[np.int64]:
        """The largest count of a bounded class in each group."""
        counts = tally.counts[names(self.sensitive)]
        if not self.values:
            return np.asarray(counts.max(axis=1))
        return np.asarray(counts[:, self.classes(schema) == 0].sum(axis=1))

    def holds(self, schema: Schema, tally: Tally) -> NDArray[np.bool_]:
        return np.asarray(self._most(schema, tally) * self.m <= tally.sizes)

    def achieved(self, schema: Schema, tally: Tally) -> dict[str, float]:
        most = self._most(schema, tally)
        none = float(max(tally.largest, tally.sizes.max()))  # the figure of a group in which nobody has a listed value
        parts = np.divide(tally.sizes, most, out=np.full(len(most), none), where=most > 0)
        return {"m": settled(float(parts.min()), self.m)}

    def words(self) -> str:
        if not self.values:
            return f"no sensitive value makes up more than 1/{self.m} of any group"
        listed = ", ".join(repr(v) for v in names(self.values))
        return f"the sensitive values {listed} make up no more than 1/{self.m} of any group"

    def in_short(self, about: str) -> str:
        if self.values:
            return super().in_short(about)
        return (
            f"By the published values, nobody’s {about} can be guessed with a probability above "
            f"{one_in(float(self.m))}."
        )

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        return Guarantee(
            "m-confidentiality",
            "By the published values, a sensitive value cannot be attributed to anyone with a confidence above "
            f"1/{figure(self.m)}; at most 1 in {figure(achieved.get('m'))} rows of a group has one.",
            (
                "Values were changed to reach this, and only where necessary. An adversary who knows the method can "
                "learn more: see the warning.",
                ONE_ROW,
            ),
        )

    def remedy(self, schema: Schema, whole: Tally) -> str:
        best = self.achieved(schema, whole)["m"]
        return f"the whole table allows m = {best:.4g} at best; use a method that perturbs: mask, mask+, mask++"
