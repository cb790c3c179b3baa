"""What requirements may ask about a release, answered from the public part alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from sfumato.engine.counts import Counted
from sfumato.errors import ReleaseError, SfumatoError
from sfumato.release.bucketization import COUNT
from sfumato.requirement.base import GroupRequirement, Schema
from sfumato.table.encode import Attribute, Domain, Kind, Role, encode, value_codes
from sfumato.table.ordered_domain import MISSING, OrderedDomain
from sfumato.table.taxonomy import Taxonomy


class PublicSchema(Schema):
    """The attributes of a manifest as a schema, and the published columns as codes."""

    def __init__(self, manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> None:
        self.attributes: dict[str, dict[str, Any]] = manifest["attributes"]
        self.tables = tables

    def _with_role(self, role: Role) -> list[str]:
        return [n for n, a in self.attributes.items() if a.get("role") == role]

    def quasi_names(self) -> list[str]:
        return self._with_role(Role.QUASI)

    def sensitive_names(self) -> list[str]:
        return self._with_role(Role.SENSITIVE)

    def all_names(self) -> list[str]:
        return list(self.attributes)

    def domain(self, name: str) -> Domain:
        entry = self.attributes[name]
        if entry.get("taxonomy") is not None:
            return Taxonomy.from_tree(entry["taxonomy"], what=f"the taxonomy of {name!r} in the manifest")
        if entry.get("kind") == Kind.ORDINAL:
            return OrderedDomain.of_words(entry["domain"])
        if len(set(entry["domain"])) < len(entry["domain"]):
            raise ReleaseError(f"manifest.json names a value of {name!r} twice")
        return Taxonomy.flat(entry["domain"])

    def counted(self, name: str) -> Counted:
        """The codes of a published column; of a bucketized one, a code for each of the values counted."""
        if "sensitive" in self.tables:
            table = self.tables["sensitive"]
            column = table[name].gather(np.repeat(np.arange(table.height), table[COUNT].to_numpy()))
        else:
            column = self.tables["data"][name]
        if "domain" not in self.attributes[name]:
            return Counted(*value_codes(column))
        domain = tuple(str(v) for v in self.attributes[name]["domain"])
        if column.null_count() and MISSING not in domain:
            raise ReleaseError(f"column {name!r} lacks values, and the manifest states none are missing")
        stated = Attribute(name=name, role=Role.SENSITIVE, kind=Kind.CATEGORICAL, domain=domain)
        try:
            coded = encode(column, stated)
        except SfumatoError as e:
            raise ReleaseError(f"column {name!r} is not what the manifest states: {e}") from None
        return Counted(coded.codes, coded.size)

    def hidden(self, requirement: GroupRequirement) -> str | None:
        """A column that the requirement counts and that is not published as it was, if there is one."""
        for (name,) in requirement.columns():
            if name not in self.attributes:
                raise ReleaseError(f"a claim is about {name!r}, and there is no such attribute")
        for key in (*requirement.columns(), *requirement.distinct_columns()):
            for name in key:
                if self.attributes.get(name, {}).get("role", Role.QUASI) == Role.QUASI:
                    return name
        return None
