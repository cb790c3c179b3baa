"""What models of the values of sensitive attributes share, and those that compare groups with the whole table."""

from collections.abc import Sequence
from typing import ClassVar, Self

from sfumato.requirement.base import GroupRequirement, Key, Schema, Tally, names, sensitive_or_all


class SensitiveValues(GroupRequirement):
    """A model of the values of some sensitive attributes, or of all that the table has if none is named.

    It is not a dataclass: each model declares the field ``sensitive`` itself, after its own parameters, since the order
    of fields is the order in which a manifest writes them.
    """

    sensitive: str | Sequence[str] | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", names(self.sensitive))

    def bind(self, schema: Schema) -> Self:
        return self.with_parameters(sensitive=sensitive_or_all(self.model, names(self.sensitive), schema))

    def is_about(self, attribute: str) -> bool:
        """Whether an attribute is among those that it is about."""
        return not self.sensitive or attribute in names(self.sensitive)

    def columns(self) -> Sequence[Key]:
        return [(name,) for name in names(self.sensitive)]


class ComparedWithTable(SensitiveValues):
    """A model that compares how values are distributed in a group and in the whole table."""

    against_table: ClassVar[bool] = True

    def remedy(self, schema: Schema, whole: Tally) -> str:
        return "the table differs from itself, which is impossible; please report it"
