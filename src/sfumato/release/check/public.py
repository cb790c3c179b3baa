"""What requirements may ask about a release, answered from the public part alone."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from sfumato.engine.counts import Counted
from sfumato.errors import ReleaseError
from sfumato.release.manifest import AttributeEntry, LabelAttribute, ValueAttribute
from sfumato.release.scheme.bucket_columns import COUNT
from sfumato.requirement.base import GroupRequirement, Schema
from sfumato.table.encode import Domain, Kind, Role
from sfumato.table.ordered_domain import OrderedDomain
from sfumato.table.published import domain_codes, value_codes
from sfumato.table.taxonomy import Taxonomy


class PublicSchema(Schema):
    """The attributes of a manifest as a schema, and the published columns as codes."""

    def __init__(self, attributes: Mapping[str, AttributeEntry], tables: Mapping[str, pl.DataFrame]) -> None:
        self.attributes = attributes
        self.tables = tables

    def _with_role(self, role: Role) -> list[str]:
        return [n for n, a in self.attributes.items() if a.role is role]

    def quasi_names(self) -> list[str]:
        return self._with_role(Role.QUASI)

    def sensitive_names(self) -> list[str]:
        return self._with_role(Role.SENSITIVE)

    def all_names(self) -> list[str]:
        return list(self.attributes)

    def domain(self, name: str) -> Domain:
        entry = self.attributes[name]
        if not isinstance(entry, ValueAttribute | LabelAttribute):
            raise ReleaseError(f"the manifest does not state the domain of {name!r}")
        if isinstance(entry, ValueAttribute) and entry.taxonomy is not None:
            tree = Taxonomy.from_tree(entry.taxonomy, what=f"the taxonomy of {name!r} in the manifest")
            if list(tree.leaves) != list(entry.domain):  # the codes of a column are places in the domain
                raise ReleaseError(f"the taxonomy of {name!r} in the manifest is not over its domain")
            return tree
        values = [str(value) for value in entry.domain]
        if entry.kind == Kind.ORDINAL:
            return OrderedDomain.of_words(values)
        if len(set(values)) < len(values):
            raise ReleaseError(f"manifest.json lists a value of {name!r} twice")
        return Taxonomy.flat(values)

    def counted(self, name: str) -> Counted:
        """The codes of a published column; of a bucketized one, a code for each of the values counted."""
        if "sensitive" in self.tables:
            table = self.tables["sensitive"]
            column = table[name].gather(np.repeat(np.arange(table.height), table[COUNT].to_numpy()))
        else:
            column = self.tables["data"][name]
        entry = self.attributes[name]
        if not isinstance(entry, ValueAttribute | LabelAttribute):
            return Counted(*value_codes(column))
        domain = [str(v) for v in entry.domain]
        return Counted(domain_codes(column, domain, ReleaseError), len(domain))

    def hidden(self, requirement: GroupRequirement) -> str | None:
        """A column that the requirement counts but that is not published unchanged, if there is one."""
        for (name,) in requirement.columns():
            if name not in self.attributes:
                raise ReleaseError(f"a claim is about {name!r}, which is not an attribute of the release")
        for key in (*requirement.columns(), *requirement.distinct_columns()):
            for name in key:
                if name not in self.attributes or self.attributes[name].role is Role.QUASI:
                    return name
        return None
