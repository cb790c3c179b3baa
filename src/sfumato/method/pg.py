"""Perturbed generalization: privacy when the adversary has corrupted everyone else."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.draws import drawn_words, shuffled
from sfumato.engine.local import Counted, count, recode
from sfumato.errors import DataError, Infeasible, PolicyError
from sfumato.kernel.pg.boxes import LAST_APART, PLAIN, WHOLE_OR_ONE, divide, pick
from sfumato.method.base import Method, Progress, silent
from sfumato.release.describe import describe
from sfumato.release.generalization import space_of
from sfumato.release.judgement import Judgement, bind
from sfumato.release.release import Release
from sfumato.release.sampling import SIZE, ShownBox, show_boxes
from sfumato.requirement.base import Requirement, as_fraction, is_number, share, whole_number
from sfumato.requirement.corruption import CorruptionPromise, Growth, RhoBreach
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.pg_bounds import epsilon, pg_retention
from sfumato.table.encode import Codes, Column, Role
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import named

_WHOLE = 1 << 64


class Boxes(NamedTuple):
    """The groups of a table: the group of each row, how many rows each has, and its box in codes."""

    of_row: NDArray[np.int64]
    size: NDArray[np.int64]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class PG(Method):
    """Perturb the sensitive values, generalize the quasi-identifiers, draw one row of each group.

    Tao, Xiao, Li, Zhang (ICDE 2008). Phase 1: a value is kept with probability ``p``, else replaced by one
    drawn from the whole declared domain. Phase 2: groups of at least ``k`` rows by quasi-identifiers alone,
    their boxes disjoint (property G3). Phase 3: one row of each group, with the size G of the group.

    ``k`` may be given as the cardinality ``s``, the greatest share of the rows to publish: k = ⌈1/s⌉.
    Without ``p`` the largest one is taken that keeps the required promises, by theorem or, with
    ``bound = "exact"``, by the worst attack. ``domain = "occurring"`` allows a domain that was not declared
    but projected from the data, which tells an adversary who knows all others; the release warns of it.

    ``boxes``: ``closed`` ones cover the whole space, so that they tell little of who is in the table; ``tight`` ones
    reach only as far as their people, which analysts like better and the bounds do not mind, for a group still has k
    people. But an outsider sees that somebody is there, where Equation 13 takes all strangers for equally likely.

    Phase 2 looks at quasi-identifiers only and phase 3 at nothing, so perturbing just the rows that are drawn
    gives the same release with the same probability; that is what is done.
    """

    name: ClassVar[str] = "pg"
    summary: ClassVar[str] = "one row a group with a perturbed sensitive value and the size of its group"
    guarantees: ClassVar[str] = (
        "rho-breach and growth, even if all others are corrupted, where people's values are independent"
    )

    schemes: ClassVar[tuple[str, ...]] = ("sampling",)
    beside: ClassVar[frozenset[str]] = frozenset({"epsilon"})

    p: float | None = None
    k: int | None = None
    s: float | None = None
    bound: Literal["theorem", "exact"] = "theorem"
    domain: Literal["declared", "occurring"] = "declared"
    boxes: Literal["closed", "tight"] = "closed"

    def __post_init__(self) -> None:
        if self.p is not None:
            share(self.name, "p", self.p, zero=True)
        if self.k is not None:
            whole_number(self.name, "k", self.k, 1)
        if self.s is not None:
            share(self.name, "s", self.s)
        if self.k is not None and self.s is not None:
            raise PolicyError("pg: both k and s are given; s is the same as k = ceil(1/s), so give one of them")
        if self.bound not in ("theorem", "exact"):
            raise PolicyError(f"pg: bound = {self.bound!r}; it is 'theorem' or 'exact'")
        if self.domain not in ("declared", "occurring"):
            raise PolicyError(f"pg: domain = {self.domain!r}; it is 'declared' or 'occurring'")
        if self.boxes not in ("closed", "tight"):
            raise PolicyError(f"pg: boxes = {self.boxes!r}; it is 'closed' or 'tight'")

    def redrawn(self) -> str | None:
        return (
            "Every release of pg draws and perturbs again: the more of them somebody holds, the better they know how "
            "often each value occurs in a group. The bounds are for one release."
        )

    def publish(
        self,
        table: Microdata,
        requirements: Sequence[Requirement],
        *,
        title: str = "",
        rng: np.random.Generator | None = None,
        progress: Progress = silent,
    ) -> Release:
        table = table.drawn_from(Role.SENSITIVE)
        sensitive = self._sensitive(table)
        bound = bind(requirements, table)
        k = self._least(bound)
        if k > table.rows:
            raise Infeasible(f"{table.rows} rows make no group of k = {k}; lower k to {table.rows} or less")
        p = self._retention(bound, k, sensitive)
        progress("cuts", 0.0)
        tight = self.boxes == "tight"
        groups = make_groups(table, k, tight=tight, progress=lambda done: progress("cuts", done))
        progress("order", 0.0)
        rows = pick(groups.of_row, groups.size, drawn_words(len(groups.size), rng))
        seen = perturb(sensitive.codes[rows], sensitive.size, as_fraction(p), rng)
        progress("labels", 0.0)
        shown = [show_boxes(c, groups.lo[:, j], groups.hi[:, j]) for j, c in enumerate(table.quasi)]
        values = recode(sensitive.name, sensitive.domain.leaves, seen)
        frame = pl.DataFrame([*(s.column for s in shown), values, pl.Series(SIZE, groups.size)])
        manifest = self._manifest(table, title, bound, p, k, sensitive, groups, shown)
        return Release(manifest, {"data": frame[shuffled(frame.height, rng)]})

    def settings(self) -> dict[str, Any]:
        return {"name": self.name, "p": self.p, "k": self.k, "bound": self.bound, "boxes": self.boxes}

    def warnings(self, requirements: Sequence[Requirement]) -> list[str]:
        """What follows from a retention probability of 0 or 1."""
        if self.p == 0:
            return ["The retention probability is 0: the sensitive values are pure chance and tell nothing."]
        if self.p == 1:
            return ["The retention probability is 1: nothing is perturbed, and no promise under corruption holds."]
        return []

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        self._least(requirements)

    def contradiction(self, manifest: Mapping[str, Any]) -> str | None:
        size = next(len(a["domain"]) for a in manifest["attributes"].values() if a["role"] == Role.SENSITIVE)
        if self.p is None or self.k is None:
            return "it must state the retention probability p and the smallest group size k"
        found, claimed = epsilon(self.p, size), manifest["method"].get("epsilon", "nothing")
        same = found is claimed or (is_number(claimed) and found is not None and math.isclose(found, claimed))
        return None if same else f"the perturbation has epsilon {found}, and the manifest states {claimed}"

    def _sensitive(self, table: Microdata) -> Column:
        """The one column to perturb, if the table has nothing that the guarantee does not cover."""
        if not table.quasi:
            raise PolicyError("pg needs a quasi-identifier, but none is declared; give a column that role")
        if len(table.sensitive) != 1:
            raise PolicyError(
                f"pg perturbs one sensitive attribute, and the table has {len(table.sensitive)}; give exactly one "
                "column the role 'sensitive'"
            )
        if bare := [*(c.name for c in table.with_role(Role.CLASS)), *table.plain.columns]:
            raise PolicyError(
                f"pg covers quasi-identifiers and one sensitive attribute; published as they are, {named(bare)} would "
                "tell whose row was drawn. Make them quasi-identifiers, or identifiers to leave them out"
            )
        if SIZE in table.columns:
            raise PolicyError(f"pg names its own column {SIZE!r} for the size of a group; rename that of the table")
        (column,) = table.sensitive
        if column.size < 2:
            raise DataError(f"{column.name!r} has one value in its domain; there is nothing to perturb or to hide")
        if not column.declared and self.domain == "declared":
            raise PolicyError(
                f"pg draws from the domain of {column.name!r}, and it is not declared: with everyone else corrupted, "
                "the values that happen to occur give the victim away. List all values that can occur, e.g. domain = "
                '["flu", "HIV", "none"], or give a taxonomy. To publish anyway, set domain = "occurring" under '
                "[method]"
            )
        return column

    def least_size(self) -> int | None:
        """The least size of a group that the settings give: k, or ⌈1/s⌉."""
        return math.ceil(1 / as_fraction(self.s)) if self.s is not None else self.k

    def _least(self, requirements: Sequence[Requirement]) -> int:
        """The least size of a group, by the settings and by k-anonymity."""
        own = self.least_size()
        sizes = [] if own is None else [own]
        for r in requirements:
            if isinstance(r, KAnonymity) and r.entity is None:
                sizes.append(r.k)
            elif not isinstance(r, CorruptionPromise):
                raise PolicyError(f"pg serves rho-breach, growth and k-anonymity; it cannot serve: {r.words()}")
        if not sizes:
            raise PolicyError("pg needs the least size of a group: k, or s with k = ceil(1/s), under [method]")
        return max(sizes)

    def _retention(self, requirements: Sequence[Requirement], k: int, sensitive: Column) -> float:
        """The retention probability that is given, if it keeps the promises; else the largest that does."""
        promises = [r for r in requirements if isinstance(r, CorruptionPromise)]
        if self.p is None and not promises:
            raise PolicyError(
                "pg needs a retention probability p, or a rho-breach or growth requirement to solve for it"
            )
        if self.p is None:
            return min(self._solved(r, k, sensitive.size) for r in promises)
        for r in promises:
            verdict = r.judged(p=self.p, k=k, domain=sensitive.size)
            if verdict.status != "holds":
                most = self._solved(r, k, sensitive.size)
                raise Infeasible(
                    f"{r.model} does not hold: {verdict.detail}; lower p to {most:.9g} or less, or raise k"
                )
        return self.p

    def _solved(self, promise: CorruptionPromise, k: int, domain: int) -> float:
        exact = self.bound == "exact"
        if isinstance(promise, RhoBreach):
            return pg_retention(
                k=k, domain=domain, skew=promise.skew, rho1=promise.rho1, rho2=promise.rho2, exact=exact
            )
        if isinstance(promise, Growth):
            return pg_retention(k=k, domain=domain, skew=promise.skew, growth=promise.delta, exact=exact)
        raise PolicyError(f"pg cannot solve {promise.model} for p; give p")

    def _manifest(
        self, table: Microdata, title: str, bound: Sequence[Requirement], p: float, k: int, sensitive: Column,
        groups: Boxes, shown: Sequence[ShownBox],
    ) -> dict[str, Any]:  # fmt: skip
        judgements = [_judged(r, p, k, sensitive.size, groups.size) for r in bound]
        drawn = replace(self, p=float(p), k=k, s=None)
        manifest = describe(
            table,
            title=title,
            scheme="sampling",
            method=drawn.settings() | {"epsilon": epsilon(p, sensitive.size)},
            judgements=judgements,
            shown=shown,
            warnings=[*_undeclared(sensitive), *drawn.warnings(bound)],
        )
        for s in shown:
            entry = manifest["attributes"][s.column.name]
            entry["ranges"] = s.ranges
            entry["loss"] = round(float(np.average(s.hidden, weights=groups.size)), 4)
        return manifest | {"rows": len(groups.size), "sampled_from": table.rows}


def _judged(requirement: Requirement, p: float, k: int, domain: int, sizes: NDArray[np.int64]) -> Judgement:
    if isinstance(requirement, CorruptionPromise):
        verdict = requirement.judged(p=p, k=k, domain=domain)
        return Judgement(requirement, verdict.achieved, len(sizes), int(verdict.status != "holds"))
    return Judgement(requirement, {"k": float(sizes.min())}, len(sizes), 0)


def _undeclared(sensitive: Column) -> list[str]:
    if sensitive.declared:
        return []
    return [
        f"The domain of {sensitive.name} was not declared: it consists of the values that occur in the table. An "
        "adversary who knows everybody else's value learns more from it than is guaranteed."
    ]


def make_groups(table: Microdata, k: int, *, tight: bool = False, progress: Any = lambda done: None) -> Boxes:
    """Phase 2: groups of at least k rows whose boxes are disjoint, by quasi-identifiers alone.

    As Mondrian, the widest attribute is cut at the boundary nearest to the median. A range of a taxonomy is cut
    between children; an attribute without one is cut into its single values or not at all.
    """
    quasi = [Counted(c.codes, c.size) for c in table.quasi]
    vectors = count(quasi)
    mode = np.array([_mode(c) for c in table.quasi], np.int64)
    codes = [c.codes[vectors.first] for c in quasi]
    boxes = divide(space_of(table.quasi, sets=True), mode, codes, vectors.size, k, tight=tight, progress=progress)
    of_row = boxes.of_row[vectors.of_row]
    return Boxes(of_row, np.bincount(of_row, minlength=len(boxes.lo)), boxes.lo, boxes.hi)


def _mode(column: Column) -> int:
    if column.domain.shown_or_suppressed:
        return WHOLE_OR_ONE
    return LAST_APART if column.domain.missing_apart else PLAIN


def perturb(codes: Codes, size: int, p: Fraction, rng: np.random.Generator | None) -> NDArray[np.int64]:
    """Phase 1: each code is kept with probability p, else drawn from all ``size`` codes (Equation 11).

    >>> perturb(np.array([2, 0, 1]), 3, Fraction(1), None).tolist()
    [2, 0, 1]
    """
    keep = int(p * _WHOLE)
    kept = drawn_words(len(codes), rng) <= np.uint64(keep - 1) if keep else np.zeros(len(codes), np.bool_)
    drawn = (drawn_words(len(codes), rng) % np.uint64(size)).astype(np.int64)
    return np.where(kept, codes.astype(np.int64), drawn)
