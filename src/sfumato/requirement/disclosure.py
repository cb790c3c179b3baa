"""Attribute disclosure under randomized response (Guo, Ying, Wu, JCSE 2011): Definition 1 and Result 1."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, SfumatoError
from sfumato.requirement.base import Dial, Promise, Schema, Verdict, names, share
from sfumato.requirement.guarantee import ONE_ROW, Guarantee, figure
from sfumato.requirement.local_privacy import by_attribute, refuse_misstated
from sfumato.requirement.manifest_view import ManifestView
from sfumato.table.distortion import Distortion, Floats, distorted
from sfumato.table.encode import Role
from sfumato.table.published import domain_codes

_MOST_ESTIMATED = 2_000_000


class JointShares(NamedTuple):
    """The table as the risk sees it: the share of each combination of quasi-identifiers that occurs, its cell in the
    table of all combinations (``sizes`` are the domains, flat in row-major order), and the shares of the sensitive
    values in it."""

    sizes: tuple[int, ...]
    weight: Floats
    cell: NDArray[np.int64]
    shares: Floats

    @property
    def cells(self) -> int:
        """How many combinations there could be."""
        return math.prod(self.sizes)

    @property
    def pi(self) -> Floats:
        """The shares of all combinations, those that do not occur too."""
        table = np.zeros(self.cells)
        table[self.cell] = self.weight
        return table

    @property
    def occurring(self) -> NDArray[np.bool_]:
        """Which pairs of quasi-identifiers and sensitive value some person has."""
        return np.asarray(self.shares > 0)

    def attack_success(self) -> Floats:
        """For each combination, how often guessing its most frequent value is right, whatever the matrices are."""
        return np.asarray(self.shares.max(axis=1))


def traced_back(people: JointShares, quasi: Sequence[Distortion]) -> Floats:
    """Pr(reconstructed = true) of each combination that occurs (Eq. 7 and 9)."""
    seen = distorted(people.pi, people.sizes, quasi)
    np.divide(1.0, seen, out=seen, where=seen > 0)  # where nothing is seen, 0 stays
    back = distorted(seen, people.sizes, quasi, power=2)
    return np.asarray(people.weight * back[people.cell])


def value_traced_back(shares: Floats, sensitive: Distortion) -> Floats:
    """Pr(reconstructed = true | quasi-identifiers) of each sensitive value (Eq. 8)."""
    p = sensitive.matrix
    seen = shares @ p.T
    once = np.divide(1.0, seen, out=np.zeros_like(seen), where=seen > 0)
    return np.asarray(shares * (once @ p**2))


def paper_risk(people: JointShares, quasi: Sequence[Distortion], sensitive: Distortion) -> Floats:
    """Pr(S_r | QI_r) of Equation 6: combinations that occur x sensitive values.

    >>> table = JointShares((2,), np.array([0.5, 0.5]), np.array([0, 1]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    >>> kept = Distortion.keeping(1.0, 2, what="")
    >>> paper_risk(table, [kept], kept).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    back = traced_back(people, quasi)
    return np.asarray(people.shares * back[:, None] * value_traced_back(people.shares, sensitive))


@dataclass(frozen=True, kw_only=True)
class Disclosure(Promise):
    """The risk of Equation 6 is at most ``tau`` for every person in the table; tau = 1/l compares with l-diversity.

    ``tau`` may also give each sensitive value its own limit (those not named have none), and ``person`` may name a
    column that gives each person theirs; where both are given, both hold.

    Equation 6 is not the success rate of the best attacker: guessing the most frequent value among people with the same
    quasi-identifiers is right as often as that value occurs, whatever was randomized. Reports state both.

    >>> Disclosure(tau=0.5).words()
    'nobody’s sensitive value is traced back with a probability above 0.5'
    """

    model: ClassVar[str] = "disclosure"
    summary: ClassVar[str] = "randomized response: a sensitive value is traced back with a probability of at most tau"
    served_by: ClassVar[str | None] = "rr"
    dials: ClassVar[Mapping[str, Dial]] = {"tau": Dial(0.05, 1, 0.05, start=0.5)}
    tau: float | Mapping[str, float] | None = None
    person: str | None = None

    def __post_init__(self) -> None:
        if self.tau is None and self.person is None:
            raise PolicyError("disclosure needs tau, a number in (0, 1], or person, a column with one limit per person")
        if isinstance(self.tau, Mapping):
            if not self.tau:
                raise PolicyError("disclosure: tau is empty; write e.g. tau = { HIV = 0.2 }, or one number")
            for value, limit in self.tau.items():
                share(self.model, f"tau of {value!r}", limit)
        elif self.tau is not None:
            share(self.model, "tau", self.tau)
        if self.person is not None:
            names(self.person)

    def bind(self, schema: Schema) -> "Disclosure":
        known = schema.sensitive_names()
        if len(known) != 1:
            raise PolicyError(
                f"disclosure needs exactly one sensitive attribute, but this table has {len(known)}; "
                "give exactly one column the role 'sensitive'"
            )
        if isinstance(self.tau, Mapping):
            leaves = schema.domain(known[0]).leaves
            if strange := [v for v in self.tau if v not in leaves]:
                raise PolicyError(f"disclosure: tau names {strange[0]!r}, which is not a value of {known[0]!r}")
        if self.person is not None and self.person not in schema.all_names():
            raise PolicyError(f"disclosure: there is no column {self.person!r} with a limit per person")
        return self

    def words(self) -> str:
        what = "nobody’s sensitive value is traced back with a probability above "
        if isinstance(self.tau, Mapping):
            what += ", ".join(f"{limit:.6g} for {value}" for value, limit in self.tau.items())
        elif self.tau is not None:
            what += f"{self.tau:.6g}"
        if self.person is not None:
            what += f"{' or ' if self.tau is not None else ''}the person’s own limit ({self.person})"
        return what

    def guarantee(self, achieved: Mapping[str, float]) -> Guarantee:
        one = self.tau is not None and not isinstance(self.tau, Mapping)
        limit = figure(self.tau) if one else "the limit of the value or the person"
        return Guarantee(
            "Bounded disclosure (randomized response)",
            "An adversary who picks a row, traces its quasi-identifiers and its sensitive value back with the public "
            "matrices and assumes that it is a certain person’s row finds that person’s value with a probability of at "
            f"most {limit} (the risk of Guo, Ying and Wu).",
            (
                "It is not the success rate of the best attacker. An attacker who reconstructs the distribution and "
                "guesses the most frequent value among people with the same quasi-identifiers is right as often as "
                "that value occurs, whatever was randomized; this report states that rate along with the risk.",
                "The release reveals that the private table meets this limit with the public matrices.",
                ONE_ROW,
            ),
        )

    @property
    def is_void(self) -> bool:
        """Whether every table meets it, so that meeting it reveals nothing: no risk is above 1."""
        limits = self.tau.values() if isinstance(self.tau, Mapping) else [self.tau]
        return self.person is None and all(limit == 1 for limit in limits)

    def limits(self, values: Sequence[str]) -> Floats:
        """The limit of each sensitive value, infinite if it has none; limits per person are not included."""
        if isinstance(self.tau, Mapping):
            return np.array([float(self.tau.get(v, math.inf)) for v in values])
        return np.full(len(values), math.inf if self.tau is None else float(self.tau))

    def met_by(self, achieved: Mapping[str, float]) -> bool:
        limits = self.tau.values() if isinstance(self.tau, Mapping) else [1.0 if self.tau is None else self.tau]
        own = 1.0 if self.person is not None else max(limits)
        return not achieved or (achieved.keys() == {"tau"} and 0 <= achieved["tau"] <= own * (1 + 1e-9))

    def verify(self, manifest: ManifestView, tables: Mapping[str, pl.DataFrame]) -> Verdict:
        """Broken if the release is not randomized; the true risk cannot be seen and is estimated from the release."""
        if not manifest.randomized:
            return Verdict("broken", {}, "the release is not randomized")
        try:
            ways = manifest.distortions()
            refuse_misstated(manifest, excludes_tables=not self.is_void)
        except SfumatoError as e:
            return Verdict("broken", {}, str(e))
        told = ", ".join(f"{n} {f'{e:.3g}' if math.isfinite(e) else '∞'}" for n, e in by_attribute(manifest).items())
        nothing = "" if manifest.matrices else "no attribute was randomized; "
        detail = f"{nothing}ε of the noise, given the matrices: {told}; the true risk needs the private table"
        estimate = _estimated(manifest, tables, ways)
        if estimate is not None:
            detail += f"; estimated from the release it is about {estimate:.3g}"
        return Verdict("stated", {}, detail)


def _estimated(
    manifest: ManifestView, tables: Mapping[str, pl.DataFrame], ways: Mapping[str, Distortion]
) -> float | None:
    """The greatest risk of combinations that amount to at least one row, by the reconstructed distribution."""
    chosen = manifest.with_role(Role.QUASI) + manifest.with_role(Role.SENSITIVE)
    sizes = [ways[n].size for n in chosen if n in ways]
    if len(sizes) < len(chosen) or math.prod(sizes) > _MOST_ESTIMATED or not chosen:
        return None
    flat = np.zeros(tables["data"].height, np.int64)
    for name, size in zip(chosen, sizes, strict=True):
        codes = domain_codes(tables["data"][name], manifest.domain(name))
        if (codes < 0).any():
            return None
        flat = flat * size + codes
    seen = np.bincount(flat, minlength=math.prod(sizes)) / max(len(flat), 1)
    guess = distorted(seen, sizes, [ways[n] for n in chosen], undo=True).reshape(-1, sizes[-1])
    guess = np.where(guess * len(flat) >= 0.5, guess, 0.0)
    pi = guess.sum(axis=1) / max(guess.sum(), 1e-300)
    cell = np.flatnonzero(pi)
    if not len(cell):
        return None
    people = JointShares(tuple(sizes[:-1]), pi[cell], cell, guess[cell] / guess[cell].sum(axis=1, keepdims=True))
    return float(paper_risk(people, [ways[n] for n in chosen[:-1]], ways[chosen[-1]]).max())
