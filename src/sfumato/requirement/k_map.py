"""k-map (Sweeney 2001): each combination of labels fits at least k people of the population."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from sfumato.errors import PolicyError
from sfumato.requirement.base import PRIVATE, Dial, Floats, Requirement, Schema, above, whole_number
from sfumato.requirement.guarantee import RULED_OUT, SHARED, Guarantee, figure, percent
from sfumato.table.population import Population


@dataclass(frozen=True, kw_only=True)
class KMap(Requirement):
    """The labels of each group fit at least k people of a ``population``, no matter which of them are in the table.

    The population is a frame, a file or a `Population`, with one row per person and the quasi-identifiers of the table;
    in a policy it is ``[population] source``. It is private: a release does not reveal it, and without it a claim is
    only stated, not verified.

    >>> KMap(k=5).words()
    'every combination of labels fits at least 5 people of the population that was given'
    """

    model: ClassVar[str] = "k-map"
    summary: ClassVar[str] = "the labels of every group fit at least k people of a population"
    weaker: ClassVar[str | None] = "a lower k"
    by_labels: ClassVar[bool] = True
    counts_rows: ClassVar[bool] = False
    served_by: ClassVar[str | None] = "incognito"
    dials: ClassVar[Mapping[str, Dial]] = {"k": Dial(2, 100, 1, start=5)}
    k: int
    population: object = field(default=None, repr=False, compare=False, metadata=PRIVATE)

    def __post_init__(self) -> None:
        whole_number(self.model, "k", self.k, 1)
        if self.population is not None and not isinstance(self.population, Population):
            object.__setattr__(self, "population", Population(self.population))

    def people_of(self) -> Population:
        """The population, which must have been given."""
        if not isinstance(self.population, Population):
            raise PolicyError(
                'k-map needs a population; give it as [population] source = "..." in the policy, or as '
                "KMap(k=..., population=...)"
            )
        return self.population

    def covers(self, schema: Schema) -> frozenset[str]:
        return frozenset()

    def exceeded(self, attack: str, attribute: str, belief: Floats, before: Floats) -> bool:
        return attack == "journalist" and above(belief, 1 / self.k)

    def bounds_confidence(self) -> bool:
        return False

    def words(self) -> str:
        return f"every combination of labels fits at least {self.k} people of the population that was given"

    def met_by(self, achieved: Mapping[str, float]) -> bool:
        return achieved.keys() == {"k"} and achieved["k"] >= self.k

    def in_short(self, about: str) -> str:
        return f"Everyone looks like at least {self.k:,} people of the population."

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        k = achieved.get("k", self.k)
        return Guarantee(
            "k-map",
            "An adversary who looks for the person behind a row in the population finds at least "
            f"{figure(k)} people who fit its labels, and picks the right one with a probability of at most "
            f"{percent(1 / k)}.",
            (
                "It assumes that the population contains everyone in the table exactly once, with the same "
                "quasi-identifiers. That cannot be verified from the release.",
                "An adversary who knows who in the population is in the table only has to choose among the rows "
                "that show "
                "the same labels, perhaps a single one. Against such an adversary, require k-anonymity.",
                SHARED,
                RULED_OUT,
            ),
        )
