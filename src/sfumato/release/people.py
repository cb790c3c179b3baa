"""People with several rows: which requirements count people, and which would mistake rows for people."""

from collections.abc import Sequence

from sfumato.errors import PolicyError
from sfumato.release.manifest import Claim
from sfumato.requirement.base import GroupRequirement, Key, Requirement
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import named


def refuse_rows_for_people(requirements: Sequence[Requirement], table: Microdata) -> None:
    """If a requirement names a column of people and some have several rows, refuse those that count rows.

    People are not counted instead: someone with different values in different rows has no single value to
    count, and shares of people are not monotone under merging groups.
    """
    identifiers = table.hidden.columns
    entities = dict.fromkeys(key for r in requirements if (key := r.people(identifiers)))
    rows_only = [r for r in requirements if r.counts_rows and not r.people(identifiers)]
    for entity in entities if rows_only else ():
        people, several = table.people(entity)
        if several:
            raise PolicyError(_told(rows_only[0], entity, people, several))


def _told(requirement: Requirement, entity: Key, people: int, several: int) -> str:
    model, by = requirement.model, named(entity)
    only_rows = isinstance(requirement, GroupRequirement) and not requirement.distinct_columns()
    parameter = requirement.person_parameter if only_rows else None
    instead = f"count people with {parameter} = {by}, " if parameter else ""
    return (
        f"{several:,} of {people:,} people ({by}) have several rows, but {model} counts rows: the rows of one person "
        f"would count as several people. For {model}, {instead}give each person one row (e.g. aggregate the rows "
        f"first), or drop {model}"
    )


def entity_of(claims: Sequence[Claim]) -> str | None:
    """The column by which a claim counts people, if one does."""
    named = [claim.required.get("entity") for claim in claims]
    return next((str(name) for name in named if name), None)
