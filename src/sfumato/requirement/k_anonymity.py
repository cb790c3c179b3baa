"""k-anonymity: every combination of quasi-identifiers is shared by at least k people."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.kernel import judge
from sfumato.requirement.base import (
    Dial,
    Floats,
    GroupRequirement,
    Key,
    Schema,
    Tally,
    Test,
    above,
    names,
    whole_number,
)
from sfumato.requirement.guarantee import MANY_ROWS, ONE_ROW, RULED_OUT, SHARED, Guarantee, figure, percent


@dataclass(frozen=True, kw_only=True)
class KAnonymity(GroupRequirement):
    """Each group has at least k rows or, with an ``entity`` column, rows of at least k people.

    >>> KAnonymity(k=5).words()
    'every group has at least 5 rows'
    """

    model: ClassVar[str] = "k-anonymity"
    summary: ClassVar[str] = "every person shares the published quasi-identifiers with at least k - 1 others"
    weaker: ClassVar[str | None] = "a lower k"
    by_labels: ClassVar[bool] = True
    person_parameter: ClassVar[str | None] = "entity"
    dials: ClassVar[Mapping[str, Dial]] = {"k": Dial(2, 100, 1, start=5)}
    k: int
    entity: str | None = None

    def __post_init__(self) -> None:
        whole_number(self.model, "k", self.k, 1)
        if self.entity is not None:
            names(self.entity)
            if not isinstance(self.entity, str):
                raise PolicyError(f"{self.model}: the entity must be one column name, not {self.entity!r}")

    def people(self, identifiers: Collection[str]) -> Key:
        return names(self.entity)

    def columns(self) -> Sequence[Key]:
        return ()

    def distinct_columns(self) -> Sequence[Key]:
        return () if self.entity is None else ((self.entity,),)

    def tests(self, schema: Schema, totals: Mapping[Key, NDArray[Any]]) -> Sequence[Test]:
        if self.entity is None:
            return (Test(judge.SIZE, limit=Fraction(self.k)),)
        return (Test(judge.DISTINCT, (self.entity,), Fraction(self.k)),)

    def achieved(self, schema: Schema, tally: Tally) -> dict[str, float]:
        sizes = tally.sizes if self.entity is None else tally.distinct[(self.entity,)]
        return {"k": int(np.min(sizes))}

    def exceeded(self, attack: str, attribute: str, belief: Floats, before: Floats) -> bool:
        return attack == "prosecutor" and above(belief, 1 / self.k)

    def bounds_confidence(self) -> bool:
        return False

    def words(self) -> str:
        of = "rows" if self.entity is None else f"people ({self.entity})"
        return f"every group has at least {self.k} {of}"

    def in_short(self, about: str) -> str:
        return f"Nobody can be told apart from at least {self.k - 1:,} other{'s' * (self.k > 2)}."

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        k, who = achieved.get("k", self.k), "rows" if self.entity is None else "people"
        return Guarantee(
            "k-anonymity",
            f"An adversary who knows a person's quasi-identifiers finds at least {figure(k)} {who} that fit equally "
            "well, and "
            f"picks the right one with a probability of at most {percent(1 / k)}.",
            (SHARED, RULED_OUT, ONE_ROW if self.entity is None else MANY_ROWS),
        )

    def remedy(self, schema: Schema, whole: Tally) -> str:
        most = int(self.achieved(schema, whole)["k"])
        if self.entity is None:
            of = "row" if most == 1 else "rows"
        else:
            of = f"{'person' if most == 1 else 'people'} (distinct {self.entity!r})"
        return f"{most} {of} cannot be {self.k}-anonymous; lower k to {most} or less"
