"""Top-down refinement for classification (TDR) and confidence bounding (TDD): Fung's thesis, chapters 4 and 5."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.counts import Counts
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.errors import DataError, PolicyError, nearest
from sfumato.kernel.topdown import state as r
from sfumato.method.base import STEP, Enough, Method, Progress, silent
from sfumato.method.topdown.recoding import Cut, box
from sfumato.method.topdown.search import SCORES, RawStep, Refinement, Score
from sfumato.method.topdown.templates import bound_to, need_class, refuse_others, refuse_unmet, templates_of
from sfumato.release.judgement import Judgement, TableSchema, on_groups
from sfumato.release.release import Release
from sfumato.release.scheme.base import Grouped
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.release.scheme.group_labels import Shown, name_boxes
from sfumato.requirement.base import GroupRequirement, Requirement
from sfumato.requirement.templates import Anonymity, Confidentiality
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import named


@dataclass(frozen=True, kw_only=True)
class TopDown(Method):
    """Start with everything masked; while valid and beneficial refinements remain, perform the one with the best score.

    Fung, Algorithm 1 (TDR) and Algorithm 3 (TDD): a node of a taxonomy is replaced by its children, a hidden
    value of an attribute without taxonomy is disclosed, an interval is cut where that reveals the most about the class.
    A refinement is valid if every template holds after it, and beneficial if more than one class is involved in the
    refined rows. Every step leaves a table that satisfies all templates.

    ``score``: ``gain-per-loss`` (information gain by one more than the average loss of privacy, Eq. 4.1),
    ``gain``, ``distortion`` (rows refined) or ``discernibility`` (pairs of rows distinguished), the last two
    also ``-per-loss``; these ignore the class, so every refinement is beneficial and an interval is
    cut into equal halves. ``categorical``: ``generalize`` along taxonomies, or ``suppress`` all values
    one by one. Ties are broken by the order of attributes, then of values.

    ``templates`` are those of a run by steps; `publish` takes the requirements. ``scheme`` is always generalization.

    >>> frame = pl.DataFrame({"age": [21, 22, 35, 36], "buys": ["no", "no", "yes", "yes"]})
    >>> from sfumato.table.microdata import read
    >>> table = read(frame, quasi=["age"], class_="buys")
    >>> for step in TopDown(templates=[Anonymity(x=["age"], k=2)]).steps(table):
    ...     print(step.value, step.children, step.gain, step.loss, step.anonymity)
    * ('< 30', '>= 30') 1.0 2.0 (2,)
    """

    name: ClassVar[str] = "tdr"
    stage: ClassVar[str] = "steps"
    summary: ClassVar[str] = "refine the most masked table top down, for classification; can be stopped at any time"
    guarantees: ClassVar[str] = (
        "anonymity and confidentiality templates and k-anonymity, at every step, against an adversary who does not "
        "exploit how the algorithm chose its refinements; the class guides them and is not protected"
    )
    refuted: ClassVar[str | None] = (
        "with templates on sensitive values, the refused refinements reveal something about them. Smallest "
        "counterexample, HIV at most 1/2: t1 of town A and t2, t3 of town B, all shown as *, with one HIV among "
        "them: t1 certainly has it, else town A would have been disclosed. For frequency l-diversity, use "
        "mondrian+ or mondrian-blur instead"
    )

    templates: Sequence[Requirement] = ()
    score: str = "gain-per-loss"
    categorical: Literal["generalize", "suppress"] = "generalize"
    scheme: Literal["generalization"] = "generalization"

    def __post_init__(self) -> None:
        if self.scheme != "generalization":
            raise PolicyError(f"{self.name}: scheme = {self.scheme!r}; it must be 'generalization'")
        if not isinstance(self.score, str) or self.score not in SCORES:
            raise PolicyError(f"{self.name}: there is no score {self.score!r}{nearest(str(self.score), SCORES)}")
        if self.categorical not in ("generalize", "suppress"):
            raise PolicyError(f"{self.name}: categorical = {self.categorical!r}; it must be 'generalize' or 'suppress'")
        several = isinstance(self.templates, Sequence) and not isinstance(self.templates, str)
        object.__setattr__(self, "templates", tuple(self.templates) if several else (self.templates,))
        self.refuse_unserved(self.templates)

    def warnings(self, requirements: Sequence[Requirement]) -> list[str]:
        """No warning if only sizes decide: then refusals reveal nothing about sensitive values."""
        return self.if_steered(requirements, "the refinements")

    def refuse_unserved(self, requirements: Sequence[Requirement]) -> None:
        for requirement in requirements:
            refuse_others(requirement, self.name)

    def redrawn(self) -> str | None:
        return None

    def settings(self) -> dict[str, Any]:
        return {name: value for name, value in super().settings().items() if name not in ("templates", "scheme")}

    def steps(self, table: Microdata) -> "Run":
        """The refinements of a table one by one, each computed when it is asked for."""
        if not isinstance(table, Microdata):
            raise DataError(
                f"{self.name} refines microdata, not {type(table).__name__}; read the table with sf.read first"
            )
        bound = self.bind(table, [])
        self.refuse_infeasible(bound, table)
        return self.started(table, bound)

    def finish(self, table: Microdata) -> "Masking":
        """The table after the last refinement."""
        return self.steps(table).finish()

    def bind(self, table: Microdata, requirements: Sequence[Requirement]) -> list[Requirement]:
        return list(bound_to([*requirements, *self.templates], table, self.name))

    def counted(self, table: Microdata, bound: Sequence[Requirement]) -> list[str]:
        classes = [c.name for c in table.with_role(Role.CLASS)] if SCORES[self.score].needs_class else []
        return [*super().counted(table, bound), *classes]

    def refuse_infeasible(self, bound: Sequence[Requirement], counts: Microdata | Counts) -> None:
        refuse_unmet(on_groups(bound, self.name), counts)

    def started(self, table: Microdata | Counts, bound: Sequence[Requirement]) -> "Run":
        """A refinement before its first step."""
        return Run(self, table, on_groups(bound, self.name))

    def decide(self, counts: Counts, requirements: Sequence[Requirement], draws: Draws, progress: Progress) -> Grouped:
        run = self.started(counts, requirements)
        if progress is silent:  # nobody sees the steps, so their labels need no names
            return run.finish().decision(counts)
        try:
            for step in run:
                progress(step.words(), 0.0)
        except Enough:
            run.stopped = True
        return run.now().decision(counts)


@dataclass(frozen=True, kw_only=True)
class TopDownDisclosure(TopDown):
    """Top-down disclosure as in chapter 5: categorical values are suppressed and disclosed one by one.

    Parameters as for `TopDown`; ``scheme`` is always generalization.
    """

    name: ClassVar[str] = "tdd"
    summary: ClassVar[str] = "disclose suppressed values one by one as long as no sensitive value can be inferred"
    categorical: Literal["generalize", "suppress"] = "suppress"


class Run:
    """A refinement in progress: iterate over its steps; the current state can be masked and published at any time.

    ``templates`` are those that count, ``redundant`` the others (Theorems 4.1.1 and 5.1.1); ``anonymity`` and
    ``confidence`` of a step follow the order of ``templates``.
    """

    def __init__(self, method: TopDown, table: Microdata | Counts, bound: Sequence[GroupRequirement]) -> None:
        self.method = method
        self.table = table
        self.requirements: Sequence[Requirement] = bound
        self.templates, self.redundant = templates_of(bound, TableSchema(table))
        score = SCORES[method.score]
        if score.needs_class:
            need_class(table, method.score)
        self.refinement = self.refined(score, suppress=method.categorical == "suppress")
        self.stopped = False
        self._raw: list[RawStep] = []
        self._disclosed: dict[int, NDArray[np.int64]] = {}
        self._coming = self.refinement.steps()

    def refined(self, score: Score, *, suppress: bool) -> Refinement:
        """The refinement of the table under the templates."""
        return Refinement(self.table, self.templates, score, suppress=suppress)

    def __iter__(self) -> Iterator["Step"]:
        return self

    def __next__(self) -> "Step":
        raw = next(self._coming)
        self._raw.append(raw)
        if self.refinement.kind(raw.attribute) == r.SET:
            lo, hi, _ = self.refinement.part(raw.label)
            here = self.refinement.classes(raw.attribute, lo, hi)
            self._disclosed[raw.attribute] = self.disclosed(raw.attribute) + here
        return _step(self, raw, len(self._raw))

    def disclosed(self, attribute: int) -> NDArray[np.int64]:
        """The class counts of the disclosed values of an attribute."""
        return self._disclosed.get(attribute, self.refinement.classes(attribute, 0, 0))

    def start(self) -> "Masking":
        """The most masked table."""
        return Masking(self, 0, *_told(self, self.refinement.start()))

    def now(self) -> "Masking":
        """The table after the steps taken so far."""
        if not self._raw:
            return self.start()
        return Masking(self, len(self._raw), *_told(self, self._raw[-1].now))

    def finish(self) -> "Masking":
        """Take all steps that are left."""
        self._raw.extend(self._coming)
        return self.now()

    def cut(self, number: int) -> Cut:
        """What the attributes show after so many steps."""
        return Cut(self.refinement, self._raw[:number])

    def judgements(self, counts: Counts, grouping: Grouping, shown: Sequence[Shown]) -> list[Judgement]:
        """Requirements that the scheme does not judge; there are none on a table alone."""
        return []

    def warnings(self) -> list[str]:
        """Warnings for users of a release: templates left out, quasi-identifiers that no template masks."""
        told = [x.words() for x in self.redundant]
        masked = {c.name for c in self.refinement.columns}
        if open_ := [c.name for c in self.table.quasi if c.name not in masked]:
            told.append(f"{named(open_)} is not in any template and is published unchanged")
        if self.stopped:
            told.append(f"refinement was stopped after {len(self._raw)} steps; the table is valid, and could show more")
        return told


@dataclass(frozen=True)
class Masking:
    """The table after some refinements: what each template attains, its labels, and a release of it."""

    run: Run = field(repr=False)
    number: int
    anonymity: tuple[int, ...]
    confidence: tuple[float, ...]

    @cached_property
    def _cut(self) -> Cut:
        return self.run.cut(self.number)

    def labels(self) -> dict[str, list[str]]:
        """The labels of each masked attribute, in the order of its values."""
        return self._cut.labels()

    def mask(self, rows: object = None) -> pl.DataFrame:
        """Rows with their labels, in their order: those of the table, or others (frame, file) with its columns.

        A number outside the table's range goes to the nearest interval, a categorical value that was never
        disclosed is suppressed. Private: use `release` to publish.
        """
        return self._cut.mask(self._table() if rows is None else rows)

    def decision(self, counts: Counts) -> Grouped:
        """The groups that the labels make."""
        grouping, shown = self._cut.decision(counts)
        judgements = self.run.judgements(counts, grouping, shown)
        return Grouped(grouping=grouping, shown=shown, warnings=self.run.warnings(), judgements=judgements)

    def release(
        self, *, title: str = "", rng: np.random.Generator | None = None, progress: Progress = silent
    ) -> Release:
        """Publish this table: judged, in a secret order, with a manifest."""
        run, engine = self.run, LocalEngine(self._table())
        counts = engine.count(run.method.counted(engine.table, run.requirements))
        decision = self.decision(counts)
        made = SCHEMES["generalization"].publish(engine, counts, decision, run.requirements, Draws(rng), progress)
        return run.method.described(made, decision, run.requirements, engine.table, title)

    def _table(self) -> Microdata:
        """The rows, which are not available to a decision on counts."""
        if not isinstance(self.run.table, Microdata):
            raise DataError("only the counts of this table are known; refine microdata to mask or publish a step")
        return self.run.table


@dataclass(frozen=True)
class Step(Masking):
    """One refinement and the table after it.

    ``value`` was replaced by ``children``; ``classes`` are the class counts of the rows under each child.
    ``gain`` is in bits (or rows, or pairs), ``loss`` the average over the templates that hold the attribute.
    """

    attribute: str
    value: str
    children: tuple[str, ...]
    gain: float
    loss: float
    score: float
    classes: dict[str, dict[str, int]]

    def words(self) -> str:
        """The step as one line."""
        left = [f"anonymity {', '.join(map(str, self.anonymity))}"] if self.anonymity else []
        left += [f"confidence {', '.join(f'{c:.3g}' for c in self.confidence)}"] if self.confidence else []
        to = ", ".join(self.children[:3]) + (f" and {len(self.children) - 3} more" if len(self.children) > 3 else "")
        return f"{STEP}{self.number}: {self.attribute} {self.value} → {to}; score {self.score:.6g}, {', '.join(left)}"


def _step(run: Run, raw: RawStep, number: int) -> Step:
    refinement = run.refinement
    column = refinement.columns[raw.attribute]
    boxes = [box(refinement, raw.attribute, label) for label in (raw.label, *raw.parts)]
    value, *children = [label for label, _, _ in name_boxes(column.domain, boxes)]
    told = _told(run, raw.now)
    classes = dict(zip(children, _class_counts(run, raw), strict=True))
    return Step(run, number, *told, column.name, value, tuple(children), raw.gain, raw.loss, raw.score, classes)


def _class_counts(run: Run, raw: RawStep) -> list[dict[str, int]]:
    """The class counts under each part; for a hidden rest, those of the values still hidden."""
    refinement = run.refinement
    leaves = refinement.class_column.domain.leaves if refinement.class_column is not None else ()
    counts = []
    for label in raw.parts:
        lo, hi, _ = refinement.part(label)
        here = refinement.classes(raw.attribute, lo, hi)
        if refinement.kind(raw.attribute) == r.SET and label == refinement.root(raw.attribute):
            here = here - run.disclosed(raw.attribute)
        counts.append({leaf: int(n) for leaf, n in zip(leaves, here, strict=True) if n})
    return counts


def _told(run: Run, now: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The anonymity and the confidence of the templates, in their order."""
    both = list(zip(run.templates, now, strict=True))
    return (
        tuple(n for t, (n, _) in both if isinstance(t, Anonymity)),
        tuple(n / of for t, (n, of) in both if isinstance(t, Confidentiality)),
    )
