"""Answers from a release: counts by conditions, by groups, with all subtotals, each with its error and its bounds."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from sfumato import notebook
from sfumato.analyst.answer import ADDED, BUCKETS, EXACT, LABELS, RANDOMIZED, SAMPLED, SUPPRESSED_ROWS, Answer
from sfumato.analyst.buckets import count_buckets
from sfumato.analyst.condition import All, AttributeCondition, Condition, comparisons
from sfumato.analyst.counting import MOST_CELLS as MOST_CELLS
from sfumato.analyst.counting import count_rows, flat_index, group_rows_by, kept
from sfumato.analyst.margin import Totals
from sfumato.analyst.moments import Sides, checked_share, sides, too_many_figures
from sfumato.analyst.plan import Look, Plan
from sfumato.analyst.query import Figure, parse, parse_condition
from sfumato.analyst.randomized import Estimator, Reconstruction, SamplingModel, check_sampling, too_large, uncertainty
from sfumato.analyst.view import AttributeView, View
from sfumato.errors import DataError, PolicyError
from sfumato.release.release import Release
from sfumato.table.distortion import Distortion
from sfumato.table.microdata import Microdata
from sfumato.table.names import all_named

_MOST_ANSWERS = 20_000_000
_MOST_CUBE = 12


class Analyst:
    """A user of a release, who sees its manifest and tables and nothing else.

    Every answer has an estimate with its standard error and 95% interval, and hard bounds that always hold for the
    private table. Counts from a randomized release are unbiased (and may be negative); their standard error covers the
    randomization (``sampling="fixed"``: the query is about exactly this table) or the sampling of people as well
    (``iid``). The people with a label are spread over what it covers as in the rest of the release (`shares`), and
    bucketized values evenly over the people of their group; the error allows for people who are not spread that way
    (`margin`).

    >>> import polars as pl, sfumato as sf
    >>> table = sf.read(pl.DataFrame({"sex": ["m", "f"] * 2, "ill": ["a", "b", "c", "b"]}), quasi=["sex"],
    ...                 sensitive="ill")
    >>> answer = Analyst(sf.publish(table, require=sf.LDiversity(l=2), method="anatomy")).count("sex = 'm'")
    >>> answer.estimate, answer.interval, answer.bounds
    (2.0, (2.0, 2.0), (2.0, 2.0))
    """

    def __init__(self, release: Release, *, sampling: SamplingModel = "fixed") -> None:
        check_sampling(sampling)
        self.view = View(release)
        if sampling == "iid" and not release.scheme_class.randomizes:
            raise PolicyError(
                "sampling = 'iid' (--iid) adds the error of drawing people to that of randomizing their values, but "
                f"this release is by {release.scheme}, which randomizes nothing; leave it out"
            )
        self.sampling = sampling

    def __repr__(self) -> str:
        return f"Analyst({self.view.release!r}, sampling={self.sampling!r})"

    def _repr_html_(self) -> str:
        told = self.view.release.description
        rows = [(name, str(entry.role), str(getattr(entry, "kind", ""))) for name, entry in told.attributes.items()]
        return notebook.panel(repr(self), notebook.table(["ask about", "role", "kind"], rows))

    def count(self, where: str = "") -> Answer:
        """How many people satisfy a condition."""
        return self._count(parse_condition(where))

    def group_by(self, columns: str | Sequence[str], where: str = "") -> pl.DataFrame:
        """The count, its standard error, interval and bounds for each combination of values of some columns."""
        return self._grouped(_listed(columns), parse_condition(where))

    def cube(self, columns: str | Sequence[str], where: str = "") -> pl.DataFrame:
        """The counts by all subsets of the columns; a missing value in a column means all of its values."""
        return self._cube(_listed(columns), parse_condition(where))

    def mean(self, column: str, where: str = "") -> Answer:
        """The mean of a number over the people who satisfy a condition; people with a missing value are left out."""
        return self._sides(column, parse_condition(where)).mean()

    def sum(self, column: str, where: str = "") -> Answer:
        """The sum of a number over the people who satisfy a condition."""
        return self._sides(column, parse_condition(where)).total()

    def quantile(self, column: str, q: float = 0.5, where: str = "") -> Answer:
        """The least value that a share ``q`` of the people who satisfy a condition do not exceed; 0.5: the median."""
        return self._sides(column, parse_condition(where)).quantile(checked_share(q))

    def _figure(self, asked: Figure, where: Condition) -> Answer:
        people = self._sides(asked.column, where)
        if asked.name in ("avg", "sum"):
            return people.mean() if asked.name == "avg" else people.total()
        return people.quantile(checked_share(asked.share))

    def _figures(self, asked: Figure, columns: list[str], where: Condition) -> pl.DataFrame:
        """A figure for each combination of values that somebody may have in some columns; nan if nobody is shown."""
        for name in columns:
            if (seen := self._look(name)).ranges is not None:
                raise PolicyError(
                    f"{seen.name!r} is shown by ranges; group {asked.name.upper()} by columns of words, and put ranges "
                    "into WHERE"
                )
        groups = self._grouped(columns, where).filter(pl.col("greatest") > 0).select(columns)
        too_many_figures(groups.height)
        told = [self._group_figure(asked, group, where) for group in groups.iter_rows(named=True)]
        numbers = np.array(told, np.float64).reshape(-1, len(ADDED)).T
        names = (asked.name, *ADDED[1:])
        return groups.with_columns(pl.Series(n, x) for n, x in zip(names, numbers, strict=True))

    def _group_figure(self, asked: Figure, group: dict[str, str], where: Condition) -> tuple[float, ...]:
        inside = All((where, *(AttributeCondition(n, "=", (value,)) for n, value in group.items())))
        try:
            answer = self._figure(asked, inside)
        except DataError:  # nobody is shown there, or nobody with a value
            return (np.nan,) * len(ADDED)
        return (answer.estimate, answer.standard_error, *answer.interval, *answer.bounds)

    def _sides(self, column: str, where: Condition) -> Sides:
        return sides(self._look(column), where, self._count)

    def query(self, text: str) -> Answer | pl.DataFrame:
        """Answer ``SELECT COUNT(*) [, columns] [WHERE condition] [GROUP BY columns | CUBE columns]
        [ORDER BY columns [DESC]] [LIMIT number]``; in place of ``COUNT(*)`` also ``AVG(column)``, SUM, MIN, MAX, MEDIAN
        or QUANTILE(column, share)."""
        asked = parse(text)
        columns = list(asked.columns)
        if not columns:
            return self._figure(asked.figure, asked.where) if asked.figure else self._count(asked.where)
        if asked.figure is not None:
            found = self._figures(asked.figure, columns, asked.where)
        else:
            found = (self._cube if asked.cube else self._grouped)(columns, asked.where)
        if asked.order:
            names, down = zip(*asked.order, strict=True)
            found = found.sort(names, descending=list(down), maintain_order=True)
        return found if asked.limit is None else found.head(asked.limit)

    def distribution(self, columns: str | Sequence[str]) -> Reconstruction:
        """The shares that a randomized release shows, ready for reconstruction; ask only for the attributes needed."""
        if not self.view.release.scheme_class.randomizes:
            raise PolicyError("a distribution can only be reconstructed from a randomized release; this one is not")
        seen = [self.view[n] for n in _listed(columns)]
        sizes = [s.shown.size for s in seen]
        too_large([s.name for s in seen], sizes, MOST_CELLS)
        flat = flat_index(seen, self.view.rows)
        entries = self.view.sizes if self.view.counted else None
        table = np.bincount(flat, weights=entries, minlength=math.prod(sizes))
        table = table / table.sum()
        ways = [w if isinstance(w := s.weights, Distortion) else kept(s.shown.size) for s in seen]
        return Reconstruction(
            table.reshape(sizes), ways, int(self.view.people) if self.view.counted else self.view.rows
        )

    def uncertainty(self, first: str, second: str, *, estimator: Estimator = "simplex") -> float:
        """The uncertainty coefficient (Eq. 12): how much the first attribute reveals about the second, from 0 to 1."""
        if self.view.release.scheme_class.randomizes:
            return uncertainty(self.distribution([first, second]).estimate(estimator))
        table = self._grouped([first, second], All())
        joint = table["count"].to_numpy().reshape(table[first].n_unique(), -1)
        return uncertainty(joint / max(self.view.people, 1.0))

    def uncertainty_change(
        self, first: str, second: str, truth: Microdata, *, estimator: Estimator = "simplex"
    ) -> float:
        """The coefficient from the release minus that of the true table; negative values are what was lost."""
        columns = [truth[name] for name in (first, second)]
        joint = np.zeros((columns[0].size, columns[1].size))
        np.add.at(joint, tuple(c.codes for c in columns), 1.0)
        return self.uncertainty(first, second, estimator=estimator) - uncertainty(joint / truth.rows)

    def _look(self, name: str) -> AttributeView:
        return self._looking(self.view.about([name]))(name)

    def _looking(self, view: View) -> Look:
        """How a question reads attributes: all of them from one view."""
        return lambda name: view.sensitive(name) if name in view.attributes and view.separate(name) else view[name]

    def _about(self, where: Condition, grouped: Sequence[str] = ()) -> View:
        """What a question needs to see."""
        return self.view.about([*grouped, *(c.attribute for c in comparisons(where))])

    def _count(self, where: Condition) -> Answer:
        view = self._about(where)
        plan = Plan(self._looking(view), where, ())
        if not plan.touched:
            return Answer.exactly(self.view.people + self.view.suppressed if bool(plan.truth) else 0.0)
        if self.view.release.bucketized:
            found = count_buckets(self.view, plan)
        else:
            found = count_rows(view, plan.seen, plan.truth, self.sampling)
        found = self._whole(found)
        return found.answer("; ".join([self._assumption(found), *self._unshown(plan, found)]))

    def _unshown(self, plan: Plan, found: Totals) -> Iterator[str]:
        """What the answer says of values that no row shows."""
        for name, t in plan.touched.items():
            if found.least == found.greatest:
                continue
            if t.view.values.hidden:
                yield f"the release shows nothing about {name!r}, so everyone may have any of its values"
            elif t.view.unshown:
                yield f"no row shows {all_named(t.view.unshown)} of {name!r}, but labels may hide such values"

    def _whole(self, found: Totals) -> Totals:
        """For the private table, suppressed rows included."""
        rows = self.view.suppressed
        return found.with_suppressed(rows, self.view.people) if rows else found

    def _assumption(self, found: Totals) -> str:
        if bool(found.least == found.greatest):
            return EXACT
        scheme = self.view.release.scheme_class
        if scheme.rows_are_groups:
            return SAMPLED
        words = RANDOMIZED if scheme.randomizes else BUCKETS if scheme.separates else LABELS
        return f"{words}; {SUPPRESSED_ROWS}" if self.view.suppressed else words

    def _grouped(self, columns: Sequence[str], where: Condition) -> pl.DataFrame:
        if taken := set(ADDED) & set(columns):
            raise PolicyError(
                f"the answer adds columns named {sorted(taken)}; rename the table's columns of these names"
            )
        view = self._about(where, columns)
        plan = Plan(self._looking(view), where, columns)
        too_large(columns, [len(s.values.texts) for s in plan.by.values()], _MOST_ANSWERS)
        if self.view.release.bucketized:
            found = count_buckets(self.view, plan)
        else:
            found = group_rows_by(view, plan, self.sampling)
        return _frame(list(plan.by.values()), self._whole(found))

    def _cube(self, columns: Sequence[str], where: Condition) -> pl.DataFrame:
        if len(columns) > _MOST_CUBE:
            raise PolicyError(
                f"a cube of {len(columns)} columns has {2 ** len(columns):,} parts; use at most {_MOST_CUBE} columns"
            )
        too_large(columns, [len(self._look(n).values.texts) + 1 for n in columns], _MOST_ANSWERS)
        parts = []
        for size in range(len(columns), -1, -1):
            for some in combinations(columns, size):
                part = self._grouped(some, where) if some else _single(self._count(where))
                missing = [pl.lit(None, pl.String).alias(n) for n in columns if n not in some]
                parts.append(part.with_columns(missing)[[*columns, *ADDED]])
        return pl.concat(parts)


def _listed(columns: str | Sequence[str]) -> list[str]:
    listed = [columns] if isinstance(columns, str) or not isinstance(columns, Sequence) else list(columns)
    if not listed or not all(isinstance(n, str) for n in listed) or len(set(listed)) < len(listed):
        raise PolicyError(f"columns = {listed}; name at least one column, and each only once")
    return listed


def _frame(by: Sequence[AttributeView], found: Totals) -> pl.DataFrame:
    """One row per combination of values that the release shows, in row-major order."""
    listed = np.ones(found.estimate.shape, np.bool_)
    for axis, s in enumerate(by):
        if s.values.listed is not None:
            listed &= s.values.listed.reshape([-1 if a == axis else 1 for a in range(len(by))])
    places = np.nonzero(listed)
    names = {s.name: pl.Series(s.name, s.values.texts, dtype=pl.String) for s in by}
    columns = [names[s.name].gather(p) for s, p in zip(by, places, strict=True)]
    low, high = found.intervals()
    numbers = (found.estimate, found.errors, low, high, found.least, found.greatest)
    return pl.DataFrame([*columns, *(pl.Series(n, x[places]) for n, x in zip(ADDED, numbers, strict=True))])


def _single(answer: Answer) -> pl.DataFrame:
    numbers = (answer.estimate, answer.standard_error, *answer.interval, *answer.bounds)
    return pl.DataFrame({n: [x] for n, x in zip(ADDED, numbers, strict=True)})
