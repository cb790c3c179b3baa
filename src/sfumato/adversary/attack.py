"""A release, the people it may be about, and what a corrupting adversary knows about them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.adversary.placement import place
from sfumato.adversary.posterior import (
    Attacks,
    assignments,
    multiset_posterior,
    pg_posterior,
    randomized_posterior,
)
from sfumato.errors import DataError, PolicyError
from sfumato.release.release import Release
from sfumato.release.scheme.bucket_columns import COUNT
from sfumato.release.scheme.sampling import SIZE
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata
from sfumato.table.published import domain_codes

Priors = Callable[
    [list[str], NDArray[Any], NDArray[Any] | None], tuple[NDArray[np.float64], NDArray[np.float64] | None]
]
"""Maps the domain, each attack's favoured value and the counts of the data to the priors of victims and of others."""


class Attacked(NamedTuple):
    """Attacks on a release: the victims (rows of the external database), the results, and the victims left out.

    Victims are left out if a person in their group also fits another group: the exact belief would then need every
    way to assign people to groups.
    """

    victims: NDArray[np.int64]
    attacks: Attacks
    left_out: int


def sensitive_domain(release: Release) -> tuple[str, list[str]]:
    """The one sensitive attribute of a release, and its domain."""
    names = release.with_role(Role.SENSITIVE)
    if len(names) != 1:
        raise PolicyError(
            f"the corruption adversary needs exactly one sensitive attribute; the release has {len(names)}"
        )
    return names[0], release.description.domain(names[0])


class CorruptionAttack:
    """Everything that attacks on the same release share, counted once."""

    def __init__(
        self, release: Release, people: Microdata, corrupted: str | Sequence[int], extraneous: Sequence[int],
        priors: Priors,
    ) -> None:  # fmt: skip
        self.release, self.people, self.priors = release, people, priors
        self.name, self.domain = sensitive_domain(release)
        rows = np.arange(people.rows)
        self.present = ~np.isin(rows, rows_of(extraneous, people.rows))
        self.all_known = isinstance(corrupted, str) and corrupted == "everyone"
        self.known = np.full(people.rows, self.all_known)
        if not isinstance(corrupted, str):
            self.known[rows_of(corrupted, people.rows)] = True
        column = people[self.name]
        code = {value: i for i, value in enumerate(self.domain)}
        if unknown := [v for v in column.domain.leaves if v not in code]:
            raise DataError(f"{self.name!r} has the value {unknown[0]!r}, which is not in the domain of the release")
        self.value = np.array([code[v] for v in column.domain.leaves], np.int64)[column.codes]
        self.counts = np.bincount(self.value[self.present], minlength=len(self.domain))

    def attacked(self, victims: NDArray[np.int64]) -> Attacked:
        """Attack the victims with what the scheme shows."""
        if self.release.sampled:
            return self._sampled(victims)
        if self.release.scheme_class.randomizes:
            return self._randomized(victims)
        if self.all_known:
            return self._subtracted(victims)
        return self._in_groups(victims)

    def _subtracted(self, victims: NDArray[np.int64]) -> Attacked:
        """Lemma 2: all true values are shown, so those of all others leave only the victim's."""
        table = self._table()
        left = self._shown(1, np.zeros(table.height, np.int64)) - self.counts
        return self._multiset(victims, left + self._own(victims))

    def _in_groups(self, victims: NDArray[np.int64]) -> Attacked:
        """Each group separately, less the values of the corrupted people in it."""
        placed = place(self.release, self.people)
        groups, number = placed.of_person[victims], len(placed.shared)
        chosen = np.flatnonzero((groups >= 0) & ~placed.shared[groups])
        inside = self.known & self.present & (placed.of_person >= 0)
        cells = placed.of_person[inside] * len(self.domain) + self.value[inside]
        known = np.bincount(cells, minlength=number * len(self.domain)).reshape(number, -1)
        own = self._own(victims[chosen]) * self.known[victims[chosen]][:, None]
        left = (self._shown(number, placed.of_row) - known)[groups[chosen]] + own
        return self._multiset(victims[chosen], left)._replace(left_out=len(victims) - len(chosen))

    def _multiset(self, victims: NDArray[np.int64], left: NDArray[Any]) -> Attacked:
        if not len(victims):
            nothing = np.zeros((0, len(self.domain)))
            return Attacked(victims, Attacks(np.zeros(0), nothing, nothing, np.zeros(0, np.int64)), 0)
        prior, others = self.priors(self.domain, self.value[victims], self.counts)
        return Attacked(victims, multiset_posterior(left=left, prior=prior, others=others), 0)

    def _own(self, victims: NDArray[np.int64]) -> NDArray[np.int64]:
        """One row per victim with a 1 at the victim's value: corrects for having subtracted everyone known."""
        return np.asarray(np.eye(len(self.domain), dtype=np.int64)[self.value[victims]])

    def _table(self) -> pl.DataFrame:
        return self.release.tables["sensitive" if self.release.bucketized else "data"]

    def _shown(self, number: int, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """How often each group shows each value."""
        table = self._table()
        weights = table[COUNT].to_numpy() if self.release.bucketized else np.ones(table.height, np.int64)
        cells = groups * len(self.domain) + domain_codes(table[self.name], self.domain, DataError)
        counts = np.bincount(cells, weights=weights, minlength=number * len(self.domain))
        return counts.astype(np.int64).reshape(number, -1)

    def _sampled(self, victims: NDArray[np.int64]) -> Attacked:
        """Equations 8 to 19; everything is counted once per row of the release, then adjusted for each victim."""
        data = self.release.tables["data"]
        rows = place(self.release, self.people).of_person
        row = rows[victims]
        if (row < 0).any():
            raise DataError(
                "a victim's quasi-identifiers do not fit any row of the release; give the external database that "
                "belongs to it"
            )
        seen, size = domain_codes(data[self.name], self.domain, DataError), data[SIZE].to_numpy()

        def among(people: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.asarray(np.bincount(rows[(rows >= 0) & people], minlength=data.height)[row])

        own = self.known[victims].astype(np.int64)
        in_table = self.known & self.present
        prior, others = self.priors(self.domain, seen[row], self.counts)
        attacks = pg_posterior(
            p=self.release.description.method.settings["p"],
            observed=seen[row],
            size=size[row],
            prior=prior,
            candidates=among(np.ones(len(rows), np.bool_)) - 1,
            corrupted=among(self.known) - own,
            present=among(in_table) - own,
            matching=among(in_table & (self.value == seen[rows])) - own * (self.value[victims] == seen[row]),
            others=others,
        )
        return Attacked(victims, attacks, 0)

    def _randomized(self, victims: NDArray[np.int64]) -> Attacked:
        """Bayes on the rows with the victim's quasi-identifiers, which must be shown as they are."""
        matrix = stated_matrix(self.release, self.name, len(self.domain))
        placed = place(self.release, self.people)
        order = np.argsort(placed.of_row, kind="stable")
        groups = placed.of_row[order]
        values = domain_codes(self.release.tables["data"][self.name], self.domain, DataError)[order]
        done, results = [], []
        for victim in victims:
            group = placed.of_person[victim]
            first, last = np.searchsorted(groups, [group, group + 1])
            seen = np.bincount(values[first:last], minlength=len(self.domain))
            if group < 0 or not assignments(seen):
                continue
            others = (placed.of_person == group) & self.known & self.present
            others[victim] = False
            prior, rest = self.priors(self.domain, self.value[victim], self.counts)
            known = [int(v) for v in self.value[others]]
            results.append(randomized_posterior(observed=seen, matrix=matrix, prior=prior, known=known, others=rest))
            done.append(victim)
        shape = (len(done), len(self.domain))
        beliefs, before = (
            np.array([getattr(r, part) for r in results]).reshape(shape) for part in ("beliefs", "prior")
        )
        chance = np.array([float(r.ownership) for r in results])
        attacks = Attacks(chance, before, beliefs, np.full(len(done), -1))
        return Attacked(np.array(done, np.int64), attacks, len(victims) - len(done))


def rows_of(chosen: Sequence[int], number: int) -> NDArray[np.int64]:
    """Row numbers of the external database, checked."""
    rows = np.asarray(chosen).reshape(-1)
    if len(rows) and (rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= number):
        raise PolicyError(f"a person must be a row number of the external database, from 0 to {number - 1}")
    return rows.astype(np.int64)


def stated_matrix(release: Release, name: str, size: int) -> NDArray[np.float64]:
    """The matrix that the manifest states for the sensitive values, one row per true value."""
    stated = release.description.matrices
    if changed := [n for n in release.quasi() if n in stated]:
        raise PolicyError(
            f"the quasi-identifier {changed[0]!r} was randomized too, so it cannot identify a person with certainty"
        )
    entry = stated.get(name, {"keep": 1.0})
    if "matrix" in entry:
        return np.asarray(entry["matrix"], np.float64).T
    away = (1 - float(entry["keep"])) / max(size - 1, 1)
    return np.asarray((float(entry["keep"]) - away) * np.eye(size) + away)
