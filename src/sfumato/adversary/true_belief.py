"""The belief in each person's true sensitive value of an adversary who knows only the person's quasi-identifiers.

The person is one of the published people who fit, all equally likely. So the belief in a value is its share among
their rows; where groups separate values from people, the average of its shares in their groups.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.adversary.posterior import pg_posterior
from sfumato.adversary.situation import Floats, Integers, Situation
from sfumato.errors import PolicyError
from sfumato.kernel.group import EqualRows, group_rows
from sfumato.table.encode import Column
from sfumato.table.published import domain_codes

_MOST_CELLS = 50_000_000


class TruePairs(NamedTuple):
    """Kinds of people and true values that occur together, and the pair of each entry of the truth."""

    kind: Integers
    value: Integers
    found: EqualRows

    @classmethod
    def of(cls, s: Situation, column: Column) -> "TruePairs":
        """The pairs of one sensitive attribute."""
        found = s.pairs(column)
        return cls(s.kinds.of_row[found.first], column.codes[found.first].astype(np.int64), found)


def true_belief(s: Situation, column: Column) -> Floats:
    """The belief in the true value of each entry; where nobody published fits, the value's share in the whole table."""
    pairs = TruePairs.of(s, column)
    if s.release.sampled:
        belief = _sampled(s, column, pairs)
    elif s.release.scheme_class.randomizes:
        belief = _randomized(s, column, pairs)
    else:
        belief = _in_groups(s, column, pairs)
    belief = np.where(s.fits.groups[pairs.kind] > 0, belief, s.share(column)[pairs.value])
    return np.asarray(belief[pairs.found.of_row])


def _in_groups(s: Situation, column: Column, pairs: TruePairs) -> Floats:
    """The share of the value in each group that the person may be in, by how many of its people fit."""
    held = s.held(column)
    which, at = _listed(s, pairs)
    group = s.fits.every[at]
    share = held.at(group, pairs.value[which]) / held.sizes[group]
    sums = np.bincount(which, weights=share * s.fits.every_rows[at], minlength=len(pairs.kind))
    return np.asarray(sums / np.maximum(s.fits.rows[pairs.kind], 1))


def _listed(s: Situation, pairs: TruePairs) -> tuple[Integers, Integers]:
    """Every group that the people of each pair may be in."""
    if (number := int(s.fits.groups[pairs.kind].sum())) > _MOST_CELLS:
        raise PolicyError(f"people fit {number:,} groups in all, more than {_MOST_CELLS:,}; this is not computed")
    return s.fits.listed(pairs.kind)


def greatest_in_group(s: Situation, column: Column, figures: Floats) -> Floats:
    """For each entry of the truth the greatest figure that one of the groups that it may be in has for its value.

    ``figures`` are those of `Situation.held`'s groups and values. 0 where no group fits that shows the value.
    """
    pairs, held = TruePairs.of(s, column), s.held(column)
    which, at = _listed(s, pairs)
    best = np.zeros(len(pairs.kind))
    np.maximum.at(best, which, held.of(s.fits.every[at], pairs.value[which], figures))
    return np.asarray(best[pairs.found.of_row])


def _sampled(s: Situation, column: Column, pairs: TruePairs) -> Floats:
    """Nobody else's value is known: Equations 8 to 19 of PG, with the whole table's shares as everyone's prior."""
    seen = observed(s, column)
    prior = domain_share(s, column)
    row = np.maximum(s.fits.group[pairs.kind], 0)
    size = np.maximum(s.fits.rows[pairs.kind], 1)
    return believed_in(s, column, pairs.value, seen[row], size, prior, size - 1)


def believed_in(
    s: Situation, column: Column, value: Integers, seen: Integers, size: Integers, prior: Floats,
    candidates: Integers, **known: Integers,
) -> Floats:  # fmt: skip
    """The PG belief in given values, computed once for each different attack."""
    facts = {"observed": seen, "size": size, "candidates": candidates, **known}
    found = group_rows(list(facts.values()), [int(f.max(initial=0)) + 1 for f in facts.values()])
    columns = {name: fact[found.first] for name, fact in facts.items()}
    if len(found.first) * len(prior) > _MOST_CELLS:
        raise PolicyError(f"{len(found.first):,} different attacks times {len(prior):,} values are too many to compute")
    p = s.release.description.method.settings["p"]
    beliefs = pg_posterior(p=p, prior=prior, **columns).beliefs
    return np.asarray(beliefs[found.of_row, in_domain(s, column)[value]])


def in_domain(s: Situation, column: Column) -> Integers:
    """The place of each value of the truth in the domain that the manifest states."""
    at = {value: i for i, value in enumerate(s.release.description.domain(column.name))}
    if unknown := [v for v in column.domain.leaves if v not in at]:
        raise PolicyError(f"{column.name!r} has the value {unknown[0]!r}, which is not in the domain of the release")
    return np.array([at[v] for v in column.domain.leaves], np.int64)


def domain_share(s: Situation, column: Column) -> Floats:
    """The whole table's shares over the domain that the manifest states."""
    shares = np.zeros(len(s.release.description.domain(column.name)))
    shares[in_domain(s, column)] = s.share(column)
    return shares


def observed(s: Situation, column: Column) -> Integers:
    """The published value of each row, in the domain that the manifest states."""
    return domain_codes(s.release.tables["data"][column.name], s.release.description.domain(column.name), PolicyError)


def noise(s: Situation, column: Column) -> Floats:
    """The probability that a true value (row) is shown as another (column), over the stated domain."""
    way = s.release.description.distortions().get(column.name)
    size = len(s.release.description.domain(column.name))
    return np.eye(size) if way is None else np.asarray(way.matrix.T)


def by_bayes(prior: Floats, matrix: Floats) -> Floats:
    """The belief in each true value (row) by each shown one (column); 0 where nothing can be shown."""
    joint = prior[:, None] * matrix
    total = joint.sum(axis=0)
    return np.asarray(np.divide(joint, total, out=np.zeros_like(joint), where=total > 0))


def _randomized(s: Situation, column: Column, pairs: TruePairs) -> Floats:
    """Quasi-identifiers are exact and values independent: the average of Bayes' rule over the rows that fit."""
    belief = by_bayes(domain_share(s, column), noise(s, column))
    seen, there = observed(s, column), s.kind_of_row >= 0
    kinds, size = len(s.kinds.first), len(belief)
    if kinds * size > _MOST_CELLS:
        return _by_rows(s, column, pairs, belief)
    shown = np.bincount(s.kind_of_row[there] * size + seen[there], minlength=kinds * size).reshape(kinds, size)
    of = in_domain(s, column)[pairs.value]
    sums = np.einsum("ij,ij->i", shown[pairs.kind], belief[of])
    return np.asarray(sums / np.maximum(s.fits.rows[pairs.kind], 1))


def _by_rows(s: Situation, column: Column, pairs: TruePairs, belief: NDArray[np.float64]) -> Floats:
    """The same, a pair of kind and row at a time, where a table of kinds by values would be too large."""
    seen, kind = observed(s, column), s.kind_of_row
    rows = pl.DataFrame({"kind": kind, "seen": seen}).filter(pl.col("kind") >= 0).group_by("kind", "seen").len("rows")
    wanted = pl.DataFrame({"pair": np.arange(len(pairs.kind)), "kind": pairs.kind})
    joined = wanted.join(rows, on="kind")
    pair = joined["pair"].to_numpy()
    weight = joined["rows"].to_numpy() * belief[in_domain(s, column)[pairs.value[pair]], joined["seen"].to_numpy()]
    sums = np.bincount(pair, weights=weight, minlength=len(pairs.kind))
    return np.asarray(sums / np.maximum(s.fits.rows[pairs.kind], 1))
