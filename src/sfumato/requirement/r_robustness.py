"""r-robustness (Wong, Fu, Wang, Xu, Pei: ART): nobody is linked to a sensitive value with a probability above 1/r.

The adversary knows who is in the table and in which group, and the probability that people with given
quasi-identifiers have a sensitive value (ART, Definition 1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError, PolicyError
from sfumato.requirement.base import (
    Dial,
    Floats,
    Key,
    Promise,
    Schema,
    Status,
    Verdict,
    above,
    is_number,
    names,
    sensitive_or_all,
    settled,
    whole_number,
)
from sfumato.requirement.distribution import ProtectedValues, told_apart
from sfumato.requirement.exposure import Exposure, GroupedPeople, WorldKind, exposure, judged
from sfumato.requirement.guarantee import ONE_ROW, Guarantee, figure
from sfumato.requirement.knowledge import Knowledge, as_given, estimated
from sfumato.requirement.link_probability import MOST_STATES, STATES
from sfumato.requirement.manifest_view import ManifestView
from sfumato.requirement.user_distributions import checked, resolved
from sfumato.table.encode import Attribute, Column, Kind, Role, encode
from sfumato.table.microdata import Microdata
from sfumato.table.published import domain_codes, value_codes
from sfumato.table.taxonomy import named

_HAIR = 1e-9
_LEAST_SMOOTHING = 1e-6
_WORLDS = ("values", "two-valued")
_LISTS = "it must be a list of sensitive values, or a list of such lists"
_OTHER_VALUES = {
    "values": "It compares the actual sensitive values with each other. An adversary who knows the algorithm can be "
    "more confident.",
    "two-valued": "It compares a protected value only with its absence, as published in ART. That is refuted: an "
    "adversary who knows the distributions of the other values as well can exceed it (0.6435 where 1/2 was promised).",
}


@dataclass(frozen=True, kw_only=True)
class RRobustness(Promise):
    """p(t:x) is at most 1/r for everyone and every protected value, whichever attribute set the adversary knows.

    ``values``: the sensitive values to protect; a list is one set, held by everyone who has one of its values, a list
    of lists is several sets; by default every value is protected separately. ``worlds``: what an adversary
    distinguishes in a group: the actual values (``values``) or, as in ART, a protected set and its absence
    (``two-valued``: refuted, since an adversary who knows the distributions of the other values can exceed 1/r). The
    distributions are estimated from the table for all attribute sets up to ``size`` (default: all), with ``smoothing``
    towards the whole table, for signatures with at least ``minimum`` people; or they are given as ``distributions``, a
    file or a list of [signature, value, probability]. Groups of more than ``limit`` states are judged by a certified
    upper bound.

    >>> RRobustness(r=2).words()
    'nobody is linked to a sensitive value with a probability above 1/2, by any known distribution'
    """

    model: ClassVar[str] = "r-robustness"
    summary: ClassVar[str] = "no known distribution links anyone to a sensitive value with a probability above 1/r"
    served_by: ClassVar[str | None] = "art"
    weaker: ClassVar[str | None] = "a lower r"
    dials: ClassVar[Mapping[str, Dial]] = {"r": Dial(2, 20, 1, start=2)}
    r: float
    sensitive: str | Sequence[str] | None = None
    values: Sequence[str] | Sequence[Sequence[str]] = ()
    worlds: WorldKind = "values"
    size: int | None = None
    smoothing: float = 1.0
    minimum: int = 100
    distributions: str | Sequence[Any] = ()
    limit: int = 200_000

    def __post_init__(self) -> None:
        if not is_number(self.r) or not 1 < self.r < 1e9:
            raise PolicyError(f"{self.model}: r = {self.r!r}; it must be a number above 1 and below 1e9")
        if self.worlds not in _WORLDS:
            raise PolicyError(f"{self.model}: worlds = {self.worlds!r}; it must be 'values' or 'two-valued'")
        if not is_number(self.smoothing) or not self.smoothing >= _LEAST_SMOOTHING:
            raise PolicyError(
                f"{self.model}: smoothing = {self.smoothing!r}; it must be a number of people, {_LEAST_SMOOTHING:g} or "
                "more, since a probability of 0 or 1 would be certainty"
            )
        whole_number(self.model, "minimum", self.minimum, 1)
        if whole_number(self.model, "limit", self.limit, 1) > MOST_STATES:
            raise PolicyError(
                f"{self.model}: limit = {self.limit}; it must be at most {MOST_STATES:,}, 1.6 GB of states"
            )
        if self.size is not None:
            whole_number(self.model, "size", self.size, 1)
        object.__setattr__(self, "sensitive", names(self.sensitive))
        object.__setattr__(self, "values", _sets(self.model, self.values))
        object.__setattr__(self, "distributions", checked(self.distributions))

    def bind(self, schema: Schema) -> Self:
        chosen = sensitive_or_all(self.model, names(self.sensitive), schema)
        if len(chosen) != 1:
            raise PolicyError(
                f"{self.model} needs exactly one sensitive attribute; name one of {named(chosen)} as 'sensitive'"
            )
        leaves = schema.domain(chosen[0]).leaves
        self.told_apart(leaves)
        quasi = {name: schema.domain(name).leaves for name in schema.quasi_names()}
        return self.with_parameters(
            sensitive=chosen, distributions=resolved(checked(self.distributions), quasi, leaves)
        )

    def exceeded(self, attack: str, attribute: str, belief: Floats, before: Floats) -> bool:
        about = attack == "distribution" and attribute in (names(self.sensitive) or (attribute,))
        return about and not self.values and above(belief, 1 / self.r)

    def reads(self) -> Key:
        return names(self.sensitive)

    def words(self) -> str:
        sets = [s[0] if len(s) == 1 else f"one of {', '.join(s)}" for s in self.values]
        what = " or ".join(sets) or "a sensitive value"
        told = f"nobody is linked to {what} with a probability above 1/{float(self.r):g}, by any known distribution"
        return told + (" of it alone (two-valued worlds, as published in ART)" if self.worlds == "two-valued" else "")

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        told = f" No probability is above 1/{figure(achieved['r'])}." if "r" in achieved else ""
        where = "that were given" if self.distributions else "estimated from the table"
        return Guarantee(
            "r-robustness",
            "Take an adversary who knows who is in which group, and how likely people with given quasi-identifiers are "
            f"to have a value, by the distributions {where}. This adversary links nobody to a protected value with a "
            f"probability above 1/{figure(self.r)}.{told}",
            (
                _OTHER_VALUES[self.worlds],
                "An adversary who knows better distributions, or the values of some people, can be more confident.",
                ONE_ROW,
            ),
        )

    def parameters(self) -> dict[str, Any]:
        plain = {name: value for name, value in super().parameters().items() if name not in ("values", "distributions")}
        sets = [list(s) for s in self.values]
        if sets:
            plain["values"] = sets[0] if len(sets) == 1 else sets
        if self.distributions:
            plain["distributions"] = [[dict(e) if isinstance(e, Mapping) else e for e in d] for d in self.distributions]
        return plain

    def told_apart(self, leaves: Sequence[str]) -> ProtectedValues:
        """The sensitive values as distinguished by the worlds."""
        sets: list[tuple[str, ...]] = [names(s) for s in self.values]
        return told_apart(leaves, sets, actual=self.worlds == "values")

    def known(self, table: Microdata, more: Sequence[NDArray[Any]] = ()) -> Knowledge:
        """What the adversary knows about a table that the requirement is bound to; ``more`` people as kinds."""
        sensitive = table[names(self.sensitive)[0]]
        values = self.told_apart(sensitive.domain.leaves)
        if self.distributions:
            totals = np.bincount(sensitive.codes, minlength=sensitive.size)
            leaves = sensitive.domain.leaves
            return as_given(self.distributions, table.quasi, leaves, totals, values, sensitive.codes, more)  # type: ignore[arg-type]
        return estimated(
            table.quasi,
            sensitive,
            values,
            size=self.size,
            smoothing=self.smoothing,
            minimum=self.minimum,
            more=more,
        )

    def exposure(self, people: GroupedPeople, known: Knowledge) -> Exposure:
        """p(t:x) of people in groups."""
        d, v = known.distributions, known.values
        return exposure(people, d, v, worlds=self.worlds, limit=self.limit, most=1 / self.r)

    def broken(
        self, people: GroupedPeople, known: Knowledge, groups: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Those of the given groups (default: all) in which p(t:x) is above 1/r, or may be."""
        d, v = known.distributions, known.values
        found = judged(people, d, v, worlds=self.worlds, limit=self.limit, enough=1 / self.r, groups=groups)
        return np.asarray(np.unique(people.group[self.fails(found.worst)]))

    def fails(self, p: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which probabilities are above 1/r, allowing for rounding error."""
        return ~np.asarray(p * self.r <= 1 + _HAIR)

    def achieved(self, greatest: float) -> dict[str, float]:
        """The r that the greatest probability satisfies."""
        return {"r": settled(1 / greatest, self.r)} if greatest > 0 else {}

    def met_by(self, achieved: Mapping[str, float]) -> bool:
        return not achieved or (achieved.keys() == {"r"} and achieved["r"] >= self.r * (1 - 1e-9))

    def verify(self, manifest: ManifestView, tables: Mapping[str, pl.DataFrame]) -> Verdict:
        """With given distributions and exact quasi-identifiers all is recomputed; otherwise only group shares."""
        sensitive = _only(names(self.sensitive), manifest.with_role(Role.SENSITIVE))
        leaves, quasi = tuple(manifest.domain(sensitive)), manifest.with_role(Role.QUASI)
        bucketized = "sensitive" in tables
        held, group = (_in_buckets if bucketized else _in_classes)(tables, sensitive, leaves, quasi)
        values = self.told_apart(leaves)
        of_values = np.zeros((len(held), len(values.names)), np.int64)
        np.add.at(of_values.T, values.of_code, held.T)
        shares = [of_values[:, list(members)].sum(axis=1) / of_values.sum(axis=1) for members in values.protected]
        share = float(np.max(shares))
        if self.fails(np.array([share]))[0]:
            return Verdict("broken", self.achieved(share), f"a protected value makes up {share:.4g} of a group")
        if not (bucketized and self.distributions):
            return Verdict("stated", {}, self._unseen(bucketized, share))
        columns, codes = [_words_column(tables["quasi"][name]) for name in quasi], np.zeros(0, np.int64)
        entries = resolved(checked(self.distributions), {n: manifest.domain(n) for n in quasi}, leaves)
        known = as_given(entries, columns, leaves, held.sum(axis=0), values, codes)
        people = GroupedPeople(known.kinds.of_row, group, of_values)
        published = self.exposure(people, known)
        found = self.with_parameters(limit=STATES).exposure(people, known) if published.bounded else published
        return self._verdict(found, group, self.achieved(published.greatest))

    def _verdict(self, found: Exposure, group: NDArray[np.int64], achieved: dict[str, float]) -> Verdict:
        """Broken only if an exact probability is above 1/r; if only a bound is, nothing is known.

        ``achieved`` is computed with the limit that the release states: with bounds where it was published with bounds.
        """
        above = self.fails(found.worst)
        exact = above & ~found.over[group]
        detail = f"the greatest probability is {found.greatest:.6g}"
        if exact.any():
            detail += f", and {int(above.sum())} people are above 1/{self.r:g}"
        elif found.bounded:
            detail = f"no probability is above {found.greatest:.6g}; {found.bounded} groups are judged by a certified "
            detail += "upper bound"
        if above.any() and not exact.any():
            detail += f", which does not show 1/{self.r:g}: they have more than {STATES:,} states"
        status: Status = "broken" if exact.any() else "stated" if above.any() else "holds"
        return Verdict(status, {} if status == "stated" else achieved, detail)

    def _unseen(self, bucketized: bool, share: float) -> str:
        why = (
            "the distributions come from the private table"
            if bucketized
            else "exact quasi-identifiers are not published"
        )
        return f"{why}; no protected value makes up more than {share:.4g} of any group"


def _sets(model: str, values: Any) -> tuple[tuple[str, ...], ...]:
    """The protected sets: one list of strings, or several."""
    if isinstance(values, str):
        return ((values,),)
    if not isinstance(values, Sequence):
        raise PolicyError(f"{model}: values = {values!r}; {_LISTS}")
    if values and all(isinstance(v, str) for v in values):
        return (tuple(values),)
    if not all(isinstance(s, list | tuple) and s and all(isinstance(v, str) for v in s) for s in values):
        raise PolicyError(f"{model}: values = {values!r}; {_LISTS}")
    return tuple(tuple(s) for s in values)


def _only(chosen: Sequence[str], known: Sequence[str]) -> str:
    """The one sensitive attribute that a claim is about."""
    if len(chosen) != 1 or chosen[0] not in known:
        raise PolicyError(f"it is about {named(chosen) or 'no attribute'}; it must be about one of {named(known)}")
    return chosen[0]


def _in_buckets(
    tables: Mapping[str, pl.DataFrame], sensitive: str, leaves: Sequence[str], quasi: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How often each group of a bucketized release holds each value, and the group of each person."""
    found = tables["sensitive"]
    joint, number = value_codes(pl.concat([found["group"], tables["quasi"]["group"]]))
    held = np.zeros((number, len(leaves)), np.int64)
    np.add.at(
        held, (joint[: found.height], domain_codes(found[sensitive], leaves, DataError)), found["count"].to_numpy()
    )
    return held, joint[found.height :].astype(np.int64)


def _in_classes(
    tables: Mapping[str, pl.DataFrame], sensitive: str, leaves: Sequence[str], quasi: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same for rows that agree on all labels."""
    data = tables["data"]
    group = pl.DataFrame({str(j): value_codes(data[name])[0] for j, name in enumerate(quasi)})
    codes, number = value_codes(group.to_struct("group"))
    held = np.zeros((number, len(leaves)), np.int64)
    np.add.at(held, (codes.astype(np.int64), domain_codes(data[sensitive], leaves, DataError)), 1)
    return held, codes.astype(np.int64)


def _words_column(column: pl.Series) -> Column:
    return encode(column, Attribute(name=column.name, role=Role.QUASI, kind=Kind.CATEGORICAL))
