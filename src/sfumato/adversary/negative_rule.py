"""A negative association rule against MASK (ASAP, section 8.2.1): "few people up to 25 have a doctorate".

MASK changes values only in groups that violate m-confidentiality. A group of such people that shows the unlikely
value too often was therefore changed, so everyone in it has a sensitive value with a confidence above 1/m.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.adversary.observation import attacked
from sfumato.errors import DataError, PolicyError, nearest
from sfumato.release.label_meaning import read
from sfumato.release.labels import Meanings, read_values
from sfumato.release.release import Release, refuse_unpublished
from sfumato.release.scheme.bucket_columns import COUNT, GROUP
from sfumato.requirement.base import share, whole_number
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata, refuse_raw
from sfumato.table.taxonomy import named

NumberRange = tuple[float, float]
"""The smallest and the largest number in the range."""


@dataclass(frozen=True, kw_only=True)
class NegativeRule:
    """At most a ``share`` of the people with these quasi-identifiers have the ``value``.

    ``where`` maps each quasi-identifier to a list of values or a range of numbers ``(least, greatest)``.
    """

    where: Mapping[str, Sequence[str] | NumberRange]
    value: str
    share: float

    def __post_init__(self) -> None:
        share("a negative rule", "share", self.share, zero=True)
        if not self.where:
            raise PolicyError("a negative rule must select people by quasi-identifiers; name them in `where`")

    def codes(self, column: Column) -> NDArray[np.bool_]:
        """Which codes of a quasi-identifier the rule selects."""
        wanted = self.where[column.name]
        if isinstance(wanted, tuple) and all(isinstance(v, int | float) for v in wanted):
            numbers = column.domain.numbers
            least, greatest = (float(v) for v in wanted) if len(wanted) == 2 else (np.inf, -np.inf)
            if not least <= greatest or np.isnan(numbers).all():
                raise PolicyError(
                    f"the rule is about {column.name} in {wanted!r}; a range must be (least, greatest) over a numeric "
                    "attribute; give other values as a list"
                )
            return np.asarray((numbers >= least) & (numbers <= greatest))
        if isinstance(wanted, str) or not isinstance(wanted, Iterable) or not list(wanted):
            raise PolicyError(f"the rule is about {column.name} = {wanted!r}; give the values as a list")
        leaves = column.domain.leaves
        for value in wanted:
            if str(value) not in leaves:
                raise PolicyError(
                    f"the rule is about {column.name} = {value}, which is not in its "
                    f"domain{nearest(str(value), leaves)}"
                )
        return np.isin(np.array(leaves, dtype=object), [str(v) for v in wanted])


@dataclass(frozen=True)
class Suspects:
    """Groups that break the rule, scored against the truth.

    ``people`` are in the ``groups`` that show the value too often. Of these groups ``violating`` truly had sensitive
    values with a share above 1/m, and ``sensitive`` of the people truly have one.
    """

    groups: int
    people: int
    violating: int
    sensitive: int

    @property
    def precision(self) -> float:
        """The share of the accused groups that were violating; 1 if none is accused."""
        return self.violating / self.groups if self.groups else 1.0


def negative_rule_attack(
    release: Release, rule: NegativeRule, *, truth: Microdata, m: int, values: Sequence[str]
) -> Suspects:
    """Accuse the groups whose people are all covered by the rule and in which the value is too frequent; then score.

    The accusation needs the release alone, with the domains of the quasi-identifiers; the truth says whether it is
    right. People are found in a generalized release by the labels that cover them.

    Args:
        release: a release of mask.
        rule: what the adversary knows: people like these rarely have that value.
        truth: the private table, to score the accusation.
        m: the m of its m-confidentiality.
        values: the values that it calls sensitive.
    """
    sensitive = _refuse(release, rule, truth, values)
    whole_number("a negative rule", "m", m, 1)
    look = _bucketized if release.bucketized else _generalized
    low = np.isin(np.array(sensitive.domain.leaves, dtype=object), list(values))[sensitive.codes]
    groups = people = violating = found = 0
    for members in look(release, rule, truth, sensitive.name):
        groups += 1
        people += len(members)
        found += int(low[members].sum())
        violating += int(low[members].sum()) * m > len(members)
    return Suspects(groups, people, int(violating), found)


def _refuse(release: Release, rule: NegativeRule, truth: Microdata, values: Sequence[str]) -> Column:
    """The sensitive attribute that release, rule and truth share; raises if they do not fit together."""
    refuse_unpublished(release)
    refuse_raw(truth)
    if not isinstance(rule, NegativeRule):
        raise PolicyError(f"rule must be a NegativeRule(where=..., value=..., share=...), not {rule!r}")
    if isinstance(values, str) or len(values) == 0:
        raise PolicyError(f"the sensitive values are {values!r}; name at least one, in a list")
    if not release.scheme_class.shows_groups:
        raise PolicyError(f"this attack needs a generalized or bucketized release; this one is by {release.scheme}")
    told = attacked(release)
    if sorted(release.quasi()) != sorted(c.name for c in truth.quasi) or told not in truth.columns:
        raise DataError(
            f"release and table must have the same quasi-identifiers and {told!r}; give the table that the release "
            "was made from"
        )
    for name in rule.where:
        if name not in release.quasi():
            raise PolicyError(
                f"the rule is about {name!r}, which is not a quasi-identifier; there are {named(release.quasi())}"
            )
    leaves = truth[told].domain.leaves
    for value in (rule.value, *values):
        if not isinstance(value, str) or value not in leaves:
            raise PolicyError(f"{told!r} has no value {value!r}{nearest(str(value), leaves)}")
    return truth[told]


def _generalized(release: Release, rule: NegativeRule, truth: Microdata, sensitive: str) -> list[NDArray[np.int64]]:
    """The rows of the truth in each accused group."""
    data, told = release.tables["data"], release.description
    covered = {c.name: _covered(c, told.label(c.name).nodes) for c in truth.quasi}
    meant = {n: [label for label, codes in covered[n].items() if rule.codes(truth[n])[codes].all()] for n in rule.where}
    key = {n: str(i) for i, n in enumerate(covered)}  # plain names: Polars would take some for patterns
    labels = pl.DataFrame([data[n].cast(pl.String).alias(k) for n, k in key.items()]).with_columns(
        unlikely=data[sensitive].cast(pl.String) == rule.value
    )
    groups = labels.group_by(list(key.values())).agg(pl.col("unlikely").sum(), rows=pl.len())
    accused = groups.filter(
        pl.all_horizontal(pl.col(key[n]).is_in(meant[n]) for n in rule.where)
        & (pl.col("unlikely") > rule.share * pl.col("rows"))
    )
    return [_under(row, covered, truth) for row in accused.select(list(key.values())).iter_rows()]


def _covered(column: Column, nodes: Mapping[str, Any]) -> dict[str, NDArray[np.int64]]:
    meanings = Meanings(column.domain)
    return {label: meanings.codes(known) for label, known in read(nodes).items()}


def _under(
    labels: Sequence[str], covered: Mapping[str, Mapping[str, NDArray[np.int64]]], truth: Microdata
) -> NDArray[np.int64]:
    """The rows of the truth that labels cover."""
    inside = np.ones(truth.rows, np.bool_)
    for label, name in zip(labels, covered, strict=True):
        allowed = np.zeros(truth[name].size, np.bool_)
        allowed[covered[name][label]] = True
        inside &= allowed[truth[name].codes]
    return np.flatnonzero(inside)


def _bucketized(release: Release, rule: NegativeRule, truth: Microdata, sensitive: str) -> list[NDArray[np.int64]]:
    """The rows of the truth in each accused group; people with equal quasi-identifiers are interchangeable."""
    quasi, counts = release.tables["quasi"], release.tables["sensitive"]
    key = {c.name: str(i) for i, c in enumerate(truth.quasi)}  # plain names: Polars would take some for patterns
    codes = {key[c.name]: read_values(quasi[c.name], c.domain).of_row for c in truth.quasi}
    meant = np.logical_and.reduce([rule.codes(truth[n])[codes[key[n]]] for n in rule.where])
    place = pl.int_range(pl.len()).over(list(codes)).alias("")
    known = pl.DataFrame({key[c.name]: c.codes.astype(np.int64) for c in truth.quasi}).with_columns(place)
    rows = (
        pl.DataFrame(codes)
        .with_columns(place, pl.Series(" meant", meant), quasi[GROUP].alias(" group"))
        .join(known.with_row_index(" row"), on=[*codes, ""], how="left")
    )
    if rows[" row"].null_count():
        raise DataError("people in the release are not in the table; give the table that the release was made from")
    unlikely = (
        counts.filter(counts[sensitive].cast(pl.String) == rule.value)
        .group_by(pl.col(GROUP).alias(" group"))
        .agg(pl.col(COUNT).sum().alias(" unlikely"))
    )
    groups = rows.group_by(" group").agg(pl.col(" meant").all(), pl.col(" row")).join(unlikely, on=" group")
    accused = groups.filter(pl.col(" meant") & (pl.col(" unlikely") > rule.share * pl.col(" row").list.len()))
    return [np.array(r, np.int64) for r in accused[" row"].to_list()]
