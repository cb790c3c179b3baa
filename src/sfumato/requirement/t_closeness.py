"""t-closeness: the sensitive values of each group are distributed nearly as in the whole table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
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
    names,
    settled,
    share,
)
from sfumato.requirement.guarantee import ONE_ROW, WHOLE_TABLE, Guarantee, figure
from sfumato.requirement.sensitive_values import ComparedWithTable

Distance = Literal["equal", "ordered", "hierarchical"]
_OPS = {"equal": judge.EQUAL, "ordered": judge.ORDERED, "hierarchical": judge.TREE}


@dataclass(frozen=True, kw_only=True)
class TCloseness(ComparedWithTable):
    """The earth mover's distance of each group's distribution to that of the table is at most t.

    equal: any two values are 1 apart. ordered: values are apart by their ranks in the domain,
    divided by the number of values less one. hierarchical: by the height of their lowest common
    node in the attribute's taxonomy, divided by the height of the tree.

    >>> TCloseness(t=0.2).words()
    "every group's distribution of the sensitive values is within 0.2 of the table's (equal distance)"
    """

    model: ClassVar[str] = "t-closeness"
    summary: ClassVar[str] = "the sensitive values of every group are distributed nearly as in the whole table"
    weaker: ClassVar[str | None] = "a larger t"
    at_most: ClassVar[frozenset[str]] = frozenset({"t"})
    dials: ClassVar[Mapping[str, Dial]] = {"t": Dial(0.05, 1, 0.05, start=0.3)}
    t: float
    distance: Distance = "equal"
    sensitive: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        share(self.model, "t", self.t, zero=True)
        if self.distance not in _OPS:
            raise PolicyError(
                f"{self.model}: there is no distance {self.distance!r}{nearest(str(self.distance), _OPS)}"
            )
        super().__post_init__()

    def bind(self, schema: Schema) -> Self:
        bound = super().bind(schema)
        for name in names(bound.sensitive):
            if self.distance == "hierarchical" and not schema.domain(name).hierarchical:
                raise PolicyError(f"{self.model}: the hierarchical distance needs a taxonomy of {name!r}; give one")
        return bound

    def tests(self, schema: Schema, totals: Mapping[Key, NDArray[Any]]) -> Sequence[Test]:
        limit = as_fraction(self.t)
        return [
            Test(_OPS[self.distance], key, limit, vectors=self._vectors(schema, key, totals[key]))
            for key in self.columns()
        ]

    def _vectors(self, schema: Schema, key: Key, totals: NDArray[Any]) -> tuple[Any, ...]:
        if self.distance != "hierarchical":
            return (totals,)
        tree = schema.domain(key[0])
        axis = tree.axis(sets=False)
        return (totals, axis["lo"], axis["hi"], axis["parent"], tree.height, [len(tree.height)])

    def achieved(self, schema: Schema, tally: Tally) -> dict[str, float]:
        worst = 0.0
        for test in self.tests(schema, tally.totals):
            aux = judge.pack([test.row(0)], [test.vectors]).aux[0]
            worst = max(worst, float(np.max(judge.distances(test.op, tally.counts[test.column], aux))))
        return {"t": settled(worst, self.t)}

    def bounds_confidence(self) -> bool:
        return False

    def words(self) -> str:
        return (
            f"every group's distribution of the sensitive values is within {self.t} of the table's "
            f"({self.distance} distance)"
        )

    def in_short(self, about: str) -> str:
        return (
            f"Finding somebody’s group says little about {about}: its values are spread nearly as in the whole table."
        )

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        return Guarantee(
            "t-closeness",
            "The sensitive values of a group are distributed nearly as in the whole table, at a distance of at most "
            f"{figure(self.t)}, so finding a person's group reveals little that the whole table does not.",
            (
                WHOLE_TABLE,
                "It bounds a distance between distributions, not the confidence in a value: with the equal distance a "
                "value's share in a group may exceed its share in the table by t, with the other distances by more.",
                ONE_ROW,
            ),
        )
