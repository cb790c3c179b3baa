"""What one publisher brings to an integration, checked before the other is met."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import polars as pl

from sfumato.errors import DataError, PolicyError
from sfumato.integration.agreement import PROTOCOL, Offer
from sfumato.integration.rows import refuse_unsent_types
from sfumato.method.topdown.search import SCORES
from sfumato.method.topdown.templates import need_class, refuse_others
from sfumato.method.topdown.two_party import TopDownTwoParty
from sfumato.requirement.base import Requirement, names
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import named


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """What one publisher brings, and what it wants; ``key`` names the identifier that records are aligned by.

    ``intersect``: records known to one side only are left out, and stay unknown to the other; otherwise both sides
    must have the same records.
    """

    table: Microdata
    key: str
    intersect: bool
    requirements: Sequence[Requirement]
    method: TopDownTwoParty
    title: str = ""
    spreadsheet: str = "plain"

    def __post_init__(self) -> None:
        for requirement in (*self.requirements, *self.method.templates):
            refuse_others(requirement, self.method.name)
        if SCORES[self.method.score].needs_class:
            need_class(self.table, self.method.score)
        if len(self.table.with_role(Role.CLASS)) > 1:
            raise PolicyError("two publishers share at most one class; give the other columns another role")
        if self.key not in self.table.hidden.columns:
            raise PolicyError(
                f"the key {self.key!r} must be a column with the role identifier, so that it is never published; "
                f"identifiers are {named(self.table.hidden.columns)}"
            )
        if self.table.hidden[self.key].null_count():
            raise DataError(
                f"the key {self.key!r} is missing in {self.table.hidden[self.key].null_count()} rows; fill it in"
            )
        refuse_unsent_types(self.table)

    @property
    def class_name(self) -> str | None:
        """The class, which both sides hold."""
        return next((c.name for c in self.table.with_role(Role.CLASS)), None)

    def keys(self) -> list[str]:
        """The key of each row."""
        return list(self.table.hidden[self.key].cast(pl.String))

    def offer(self) -> Offer:
        """The columns that this side publishes."""
        x = [names(getattr(r, "x", None)) for r in self.requirements]
        quasi = [c.name for c in self.table.quasi]
        masked = quasi if any(not each for each in x) else [n for n in quasi if any(n in each for each in x)]
        if open_ := [n for n in quasi if n not in masked]:
            raise PolicyError(
                f"{named(open_)} is in no template, so it would be published unchanged; name it in x of a template, or "
                'give it the role "insensitive" (published unchanged) or "identifier" (left out)'
            )
        return Offer(tuple(masked), (*(c.name for c in self.table.sensitive), *self.table.plain.columns))

    def terms(self) -> dict[str, Any]:
        """What both sides must state in the same words."""
        return {
            "the protocol": PROTOCOL,
            "the version of sfumato": version("sfumato"),
            "the version of polars": pl.__version__,
            "title": self.title,
            "[method]": self.method.settings(),
            "[[require]]": [{"model": r.model, **r.parameters()} for r in self.requirements],
            "the class": self.class_name,
            "spreadsheet under [output]": self.spreadsheet,
            "how records are aligned (key or psi)": "psi" if self.intersect else "key",
        }
