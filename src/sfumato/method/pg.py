"""Perturbed generalization: privacy when the adversary has corrupted everyone else."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.engine.counts import Counted, Counts, totals
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.engine.progress import counting
from sfumato.errors import DataError, Infeasible, PolicyError
from sfumato.kernel.pg.boxes import LAST_APART, PLAIN, WHOLE_OR_ONE, divide
from sfumato.method.base import Method, Progress
from sfumato.release.judgement import Judgement
from sfumato.release.manifest import Manifest, SchemeName
from sfumato.release.scheme.group_labels import space_of
from sfumato.release.scheme.sampling import SIZE, Sample
from sfumato.requirement.base import Requirement, as_fraction, is_number, share, whole_number
from sfumato.requirement.corruption import CorruptionPromise, Growth, RhoBreach
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.pg_bounds import epsilon, pg_retention
from sfumato.table.distortion import Distortion
from sfumato.table.encode import Column, Role
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import named


class GroupBoxes(NamedTuple):
    """Groups: the group of each row or vector, and for each group its number of rows and its box in codes."""

    of_row: NDArray[np.int64]
    size: NDArray[np.int64]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class PG(Method):
    """Perturb the sensitive values, generalize the quasi-identifiers, draw one row per group.

    Tao, Xiao, Li, Zhang (ICDE 2008). Phase 1: a value is kept with probability ``p``, otherwise replaced by one
    drawn from the whole declared domain. Phase 2: groups of at least ``k`` rows by quasi-identifiers alone,
    with disjoint boxes (property G3). Phase 3: one row per group, with the size G of the group.

    ``k`` may be given as the cardinality ``s``, the greatest share of the rows to publish: k = ⌈1/s⌉.
    Without ``p`` the largest one that keeps the required promises is used, by theorem or, with
    ``bound = "exact"``, by the worst attack. ``domain = "occurring"`` allows a domain that was not declared
    but taken from the data, which reveals something to an adversary who knows all others; the release warns of it.

    ``boxes``: ``closed`` boxes cover the whole space, so they reveal little about who is in the table; ``tight`` boxes
    reach only as far as their people, which is better for analysts and does not affect the bounds, since a group still
    has k people. But an outsider sees that someone is there, whereas Equation 13 treats all strangers as equally
    likely.

    Phase 2 uses only quasi-identifiers and phase 3 uses no values, so perturbing just the rows that are drawn
    gives every release with the same probability; that is what is done.
    """

    name: ClassVar[str] = "pg"
    summary: ClassVar[str] = "one row per group with a perturbed sensitive value and the size of its group"
    guarantees: ClassVar[str] = (
        "rho-breach and growth, even if all others are corrupted, where people's values are independent"
    )

    schemes: ClassVar[tuple[SchemeName, ...]] = ("sampling",)
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
            raise PolicyError(f"pg: bound = {self.bound!r}; it must be 'theorem' or 'exact'")
        if self.domain not in ("declared", "occurring"):
            raise PolicyError(f"pg: domain = {self.domain!r}; it must be 'declared' or 'occurring'")
        if self.boxes not in ("closed", "tight"):
            raise PolicyError(f"pg: boxes = {self.boxes!r}; it must be 'closed' or 'tight'")

    def redrawn(self) -> str | None:
        return (
            "Every release of pg draws and perturbs anew: the more releases an adversary has, the better they know "
            "how often each value occurs in a group. The bounds cover one release only."
        )

    def prepared(self, table: Microdata) -> Microdata:
        return table.drawn_from(Role.SENSITIVE)

    def bind(self, table: Microdata, requirements: Sequence[Requirement]) -> list[Requirement]:
        self._refuse(table)
        return super().bind(table, requirements)

    def decide(self, counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress) -> Sample:
        (sensitive,) = counts.sensitive
        k = self._least(requirements)
        if k > counts.rows:
            raise Infeasible(f"{counts.rows} rows cannot form a group of k = {k}; lower k to {counts.rows} or less")
        p = self._retention(requirements, k, sensitive)
        boxes = make_boxes(counts, k, tight=self.boxes == "tight", progress=counting(progress, "cuts"))
        used = replace(self, p=float(p), k=k, s=None)
        return Sample(
            grouping=Grouping.of_vectors(counts, boxes.of_row, len(boxes.size)),
            lo=boxes.lo,
            hi=boxes.hi,
            way=Distortion.retaining(as_fraction(p), sensitive.size),
            statement=used.settings() | {"epsilon": epsilon(p, sensitive.size)},
            judgements=[_judged(r, p, k, sensitive.size, boxes.size) for r in requirements],
            warnings=[*(used.warnings(requirements) if self.p is None else ()), *_undeclared(sensitive)],
        )

    def settings(self) -> dict[str, Any]:
        return {"name": self.name, "p": self.p, "k": self.k, "bound": self.bound, "boxes": self.boxes}

    def warnings(self, requirements: Sequence[Requirement]) -> list[str]:
        """What follows from a retention probability of 0 or 1."""
        if self.p == 0:
            return ["The retention probability is 0: the sensitive values are pure noise and carry no information."]
        if self.p == 1:
            return ["The retention probability is 1: nothing is perturbed, and no promise under corruption holds."]
        return []

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        self._least(requirements)

    def contradiction(self, manifest: Manifest) -> str | None:
        (sensitive,) = manifest.with_role(Role.SENSITIVE)
        if self.p is None or self.k is None:
            return "it must state the retention probability p and the minimum group size k"
        size = len(manifest.domain(sensitive))
        found, claimed = epsilon(self.p, size), manifest.settings.get("epsilon", "nothing")
        same = found is claimed or (is_number(claimed) and found is not None and math.isclose(found, claimed))
        return None if same else f"the perturbation has epsilon {found}, but the manifest states {claimed}"

    def _refuse(self, table: Microdata) -> None:
        """Raise if the table has more than the guarantee covers, or not exactly one column to perturb."""
        if not table.quasi:
            raise PolicyError("pg needs a quasi-identifier, but none is declared; give a column that role")
        if len(table.sensitive) != 1:
            raise PolicyError(
                f"pg perturbs one sensitive attribute, but the table has {len(table.sensitive)}; give exactly one "
                "column the role 'sensitive'"
            )
        if bare := [*(c.name for c in table.with_role(Role.CLASS)), *table.plain.columns]:
            raise PolicyError(
                f"pg covers quasi-identifiers and one sensitive attribute; published unchanged, {named(bare)} would "
                "reveal whose row was drawn. Make such columns quasi-identifiers, or identifiers to leave them out"
            )
        if SIZE in table.columns:
            raise PolicyError(
                f"pg adds a column {SIZE!r} with the size of the group; rename the table's column of that name"
            )
        (column,) = table.sensitive
        if column.size < 2:
            raise DataError(f"the domain of {column.name!r} has only one value; there is nothing to perturb or hide")
        if not column.declared and self.domain == "declared":
            raise PolicyError(
                f"pg draws from the domain of {column.name!r}, which is not declared: with everyone else corrupted, "
                "the values that happen to occur give the victim away. List all values that can occur, e.g. domain = "
                '["flu", "HIV", "none"], or give a taxonomy. To publish anyway, set domain = "occurring" under '
                "[method]"
            )

    def least_size(self) -> int | None:
        """The smallest group size by the settings: k, or ⌈1/s⌉."""
        return math.ceil(1 / as_fraction(self.s)) if self.s is not None else self.k

    def _least(self, requirements: Sequence[Requirement]) -> int:
        """The smallest group size, by the settings and by k-anonymity."""
        own = self.least_size()
        sizes = [] if own is None else [own]
        for r in requirements:
            if isinstance(r, KAnonymity) and r.entity is None:
                sizes.append(r.k)
            elif not isinstance(r, CorruptionPromise):
                raise PolicyError(f"pg serves rho-breach, growth and k-anonymity; it cannot serve: {r.words()}")
        if not sizes:
            raise PolicyError("pg needs a minimum group size: k, or s with k = ceil(1/s), under [method]")
        return max(sizes)

    def _retention(self, requirements: Sequence[Requirement], k: int, sensitive: Column) -> float:
        """The given retention probability, if it keeps the promises; without one, the largest that does."""
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
        "adversary who knows everyone else's value learns more from it than is guaranteed."
    ]


def make_boxes(counts: Counts, k: int, *, tight: bool = False, progress: Any = lambda done, rows: None) -> GroupBoxes:
    """Phase 2: groups of at least k rows whose boxes are disjoint, by quasi-identifiers alone.

    As in Mondrian, the widest attribute is cut at the boundary nearest to the median. A range of a taxonomy is cut
    between children; an attribute without one is cut into its single values or not at all.
    """
    quasi, space = counts.quasi, space_of(counts.quasi, sets=True)
    mode = np.array([_mode(c) for c in quasi], np.int64)
    found = divide(space, mode, [c.codes for c in quasi], counts.weights, k, tight=tight, progress=progress)
    size = totals(Counted(found.of_row, len(found.lo)), counts.weights)
    return GroupBoxes(found.of_row, size, found.lo, found.hi)


def make_groups(table: Microdata, k: int, *, tight: bool = False) -> GroupBoxes:
    """The same for rows: the group of each."""
    engine = LocalEngine(table)
    counts = engine.count(())
    found = make_boxes(counts, k, tight=tight)
    return found._replace(of_row=found.of_row[engine.vectors(counts)])


def _mode(column: Column) -> int:
    if column.domain.shown_or_suppressed:
        return WHOLE_OR_ONE
    return LAST_APART if column.domain.missing_apart else PLAIN
