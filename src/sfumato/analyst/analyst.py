"""Counts from a release, with standard errors: by conditions, by groups, with all subtotals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato import notebook
from sfumato.analyst.condition import All, Comparison, Condition, Truth, comparisons, evaluate
from sfumato.analyst.query import parse, parse_condition
from sfumato.analyst.randomized import Estimator, Reconstruction, Sampling, check_sampling, too_large, uncertainty
from sfumato.analyst.view import AttributeView, View
from sfumato.engine.counts import count
from sfumato.errors import PolicyError
from sfumato.release.release import Release
from sfumato.table.distortion import Distortion, Floats, distorted
from sfumato.table.microdata import Microdata

MOST_CELLS = 100_000_000
"""The largest contingency table of the attributes that a query touches."""

_MOST_ANSWERS = 20_000_000
_MOST_CLASSES = 1_000_000
_MOST_CUBE = 12
_BLOCK = 1 << 16


@dataclass(frozen=True)
class Answer:
    """An estimated count and its standard error."""

    estimate: float
    standard_error: float

    def interval(self, deviations: float = 1.96) -> tuple[float, float]:
        """The estimate minus and plus that many standard errors; 1.96 covers about 95%."""
        return self.estimate - deviations * self.standard_error, self.estimate + deviations * self.standard_error


class Analyst:
    """A user of a release, who sees its manifest and tables and nothing else.

    Counts from a randomized release are unbiased (and may be negative); the standard error covers the randomization
    (``sampling="fixed"``: the query is about exactly this table) or the sampling of people as well (``iid``). A
    generalized label is spread evenly over what it covers, a bucketized value over the people of its group; there the
    standard error assumes that people are indeed spread that way, independently of each other.

    >>> import polars as pl, sfumato as sf
    >>> table = sf.read(pl.DataFrame({"sex": ["m", "f"] * 50, "ill": ["flu"] * 60 + ["HIV"] * 40}), quasi=["sex"],
    ...                 sensitive="ill")
    >>> raw = sf.RandomizedResponse(unchanged="allow")
    >>> release = sf.publish(table, require=sf.Disclosure(tau=1.0), method=raw)
    >>> Analyst(release).count("sex = 'm' and ill = 'flu'")
    Answer(estimate=30.0, standard_error=0.0)
    """

    def __init__(self, release: Release, *, sampling: Sampling = "fixed") -> None:
        check_sampling(sampling)
        self.view = View(release)
        if sampling == "iid" and not release.scheme_class.randomizes:
            raise PolicyError(
                "sampling = 'iid' (--iid) adds the error of drawing people to that of randomizing their values, but "
                f"this release is by {release.scheme}, which randomizes none; leave it out"
            )
        self.sampling = sampling

    def __repr__(self) -> str:
        return f"Analyst({self.view.release!r}, sampling={self.sampling!r})"

    def _repr_html_(self) -> str:
        told = self.view.release.description
        rows = [(name, str(entry.role), str(getattr(entry, "kind", ""))) for name, entry in told.attributes.items()]
        return notebook.panel(repr(self), notebook.table(["ask about", "role", "kind"], rows))

    def count(self, where: str = "") -> Answer:
        """How many rows satisfy a condition."""
        return self._count(parse_condition(where))

    def group_by(self, columns: str | Sequence[str], where: str = "") -> pl.DataFrame:
        """The count and its standard error for each combination of values of some columns."""
        return self._grouped(_listed(columns), parse_condition(where))

    def cube(self, columns: str | Sequence[str], where: str = "") -> pl.DataFrame:
        """The counts by all subsets of the columns; a missing value in a column means all of its values."""
        return self._cube(_listed(columns), parse_condition(where))

    def query(self, text: str) -> Answer | pl.DataFrame:
        """Answer ``SELECT COUNT(*) [, columns] [WHERE condition] [GROUP BY columns | CUBE columns]``."""
        asked = parse(text)
        if not asked.columns:
            return self._count(asked.where)
        return (self._cube if asked.cube else self._grouped)(list(asked.columns), asked.where)

    def distribution(self, columns: str | Sequence[str]) -> Reconstruction:
        """The shares that a randomized release shows, ready for reconstruction; ask only for the attributes needed."""
        if not self.view.release.scheme_class.randomizes:
            raise PolicyError("a distribution can only be reconstructed from a randomized release; this one is not")
        seen = [self.view[n] for n in _listed(columns)]
        sizes = [s.shown.size for s in seen]
        too_large([s.name for s in seen], sizes, MOST_CELLS)
        flat = _flat(seen, self.view.rows)
        table = np.bincount(flat, minlength=math.prod(sizes)) / self.view.rows
        ways = [w if isinstance(w := s.weights, Distortion) else _kept(s.shown.size) for s in seen]
        return Reconstruction(table.reshape(sizes), ways, self.view.rows)

    def uncertainty(self, first: str, second: str, *, estimator: Estimator = "simplex") -> float:
        """The uncertainty coefficient (Eq. 12): what the first attribute tells about the second, from 0 to 1."""
        if self.view.release.scheme_class.randomizes:
            return uncertainty(self.distribution([first, second]).estimate(estimator))
        table = self._grouped([first, second], All())
        shape = [len(self.view[n].values.texts) for n in (first, second)]
        return uncertainty(table["count"].to_numpy().reshape(shape) / max(self.view.rows, 1))

    def uncertainty_change(
        self, first: str, second: str, truth: Microdata, *, estimator: Estimator = "simplex"
    ) -> float:
        """The coefficient from the release minus that of the true table; negative values are what was lost."""
        columns = [truth[name] for name in (first, second)]
        joint = np.zeros((columns[0].size, columns[1].size))
        np.add.at(joint, tuple(c.codes for c in columns), 1.0)
        return self.uncertainty(first, second, estimator=estimator) - uncertainty(joint / truth.rows)

    def _count(self, where: Condition) -> Answer:
        plan = _Plan(self.view, where, ())
        groups = count([s.shown for s in plan.seen]) if plan.seen else None
        if groups is None:
            return Answer(float(self.view.rows) if bool(plan.truth) else 0.0, 0.0)
        weight = plan.weights([s.shown.codes[groups.first] for s in plan.seen], plan.truth)
        first, second = float(groups.size @ weight), float(groups.size @ weight**2)
        exact = self.view.release.bucketized and len(plan.seen) == 1
        return Answer(first, 0.0 if exact else float(np.sqrt(self._variance(np.array(first), np.array(second)))))

    def _variance(self, estimate: Floats, squares: Floats) -> Floats:
        """From the sums of the rows' weights and of their squares; at least 0."""
        if not self.view.release.scheme_class.randomizes:
            return np.maximum(estimate - squares, 0.0)
        if self.sampling == "fixed":
            return np.maximum(squares - estimate, 0.0)
        rows = self.view.rows
        return np.maximum(squares - estimate**2 / rows, 0.0) * rows / max(rows - 1, 1)

    def _grouped(self, columns: Sequence[str], where: Condition) -> pl.DataFrame:
        plan = _Plan(self.view, where, columns)
        by = [plan.cut.get(n, self.view[n]) for n in columns]
        sizes = [len(s.values.texts) for s in by]
        too_large(columns, sizes, _MOST_ANSWERS)
        too_large(columns, [s.shown.size for s in by], MOST_CELLS)
        estimate, squares = np.zeros(sizes), np.zeros(sizes)
        flat = _flat(by, self.view.rows)
        for chosen in product(*(range(plan.numbers[n]) for n in plan.shared)):
            truth = plan.truth[chosen]
            if not np.any(truth):
                continue
            weight = plan.weights([s.shown.codes for s in plan.seen], truth) if plan.seen else None
            place = np.ix_(*(plan.cells(s, chosen) for s in by))
            for power, total in ((1, estimate), (2, squares)):
                total[place] = _spread(by, flat, None if weight is None else weight**power, power)[place]
        exact = self.view.release.bucketized and len(by) + len(plan.seen) == 1
        errors = np.zeros(sizes) if exact else np.sqrt(self._variance(estimate, squares))
        frame = _cells([s.values.texts for s in by], columns)
        return frame.with_columns(pl.Series("count", estimate.ravel()), pl.Series("standard_error", errors.ravel()))

    def _cube(self, columns: Sequence[str], where: Condition) -> pl.DataFrame:
        if len(columns) > _MOST_CUBE:
            raise PolicyError(
                f"a cube of {len(columns)} columns has {2 ** len(columns):,} parts; use at most {_MOST_CUBE} columns"
            )
        for n in columns:
            self.view[n]
        too_large(columns, [len(self.view[n].values.texts) + 1 for n in columns], _MOST_ANSWERS)
        parts = []
        for size in range(len(columns), -1, -1):
            for some in combinations(columns, size):
                part = self._grouped(some, where) if some else _single(self._count(where))
                missing = [pl.lit(None, pl.String).alias(n) for n in columns if n not in some]
                parts.append(part.with_columns(missing)[[*columns, "count", "standard_error"]])
        return pl.concat(parts)


class _Plan:
    """A condition split into classes: values of an attribute that no comparison distinguishes form a class.

    ``truth`` has one axis per touched attribute: first those that are also grouped by (``shared``), then the others
    (``seen``). So a query over many large domains needs a table of a few classes, never of the values.
    """

    def __init__(self, view: View, where: Condition, grouped: Sequence[str]) -> None:
        mentioned: dict[str, list[Comparison]] = {}
        for c in comparisons(where):
            mentioned.setdefault(c.attribute, []).append(c)
        self.shared = [n for n in mentioned if n in grouped]
        order = self.shared + [n for n in mentioned if n not in grouped]
        self.which: dict[str, NDArray[np.int64]] = {}
        self.numbers: dict[str, int] = {}
        self.cut: dict[str, AttributeView] = {}
        known: dict[Comparison, Truth] = {}
        for axis, name in enumerate(order):
            literals = [x for c in mentioned[name] for x in c.literals]
            self.cut[name] = view[name].cut(literals, grouped=name in grouped)
            truths = np.stack([self.cut[name].values.truth(c) for c in mentioned[name]])
            classes, which = np.unique(truths, axis=1, return_inverse=True)
            self.which[name], self.numbers[name] = which.ravel(), classes.shape[1]
            for c, row in zip(mentioned[name], classes, strict=True):
                known[c] = row.reshape([-1 if a == axis else 1 for a in range(len(order))])
        shape = [self.numbers[n] for n in order]
        if math.prod(shape) > _MOST_CLASSES:
            raise PolicyError(f"the condition distinguishes {math.prod(shape):,} cases; ask for less at a time")
        self.truth: NDArray[np.bool_] = np.broadcast_to(evaluate(where, known), shape)
        self.seen: list[AttributeView] = [self.cut[n] for n in order[len(self.shared) :]]

    def weights(self, codes: Sequence[NDArray[Any]], truth: NDArray[np.bool_]) -> Floats:
        """For each row, the share that satisfies the condition, its values weighted by what it shows."""
        tables = [s.classes(self.which[s.name], self.numbers[s.name]) for s in self.seen]
        out = np.empty(len(codes[0]))
        for first in range(0, len(out), _BLOCK):
            rows = slice(first, first + _BLOCK)
            part: Any = tables[0][codes[0][rows]] @ truth.reshape(truth.shape[0], -1)
            for table, code, size in zip(tables[1:], codes[1:], truth.shape[1:], strict=True):
                part = np.einsum("gc,gcr->gr", table[code[rows]], part.reshape(len(part), size, -1))
            out[rows] = part.ravel()
        return out

    def cells(self, by: AttributeView, chosen: Sequence[int]) -> NDArray[np.int64]:
        """The values of a grouped attribute that belong to the chosen class."""
        if by.name not in self.shared:
            return np.arange(len(by.values.texts))
        return np.flatnonzero(self.which[by.name] == chosen[self.shared.index(by.name)])


def _spread(by: Sequence[AttributeView], flat: NDArray[np.int64], weight: Floats | None, power: int) -> Floats:
    """The rows, counted by what they show and spread over the values; map entries are raised to a power."""
    shape = [s.shown.size for s in by]
    table = np.bincount(flat, weights=weight, minlength=math.prod(shape)).astype(np.float64)
    maps = [s.weights for s in by]
    if all(m is None or (isinstance(m, Distortion) and m.share is not None) for m in maps):
        ways = [m if isinstance(m, Distortion) else _kept(n) for m, n in zip(maps, shape, strict=True)]
        return distorted(table, shape, ways, power=power, undo=True).reshape(shape)
    table = table.reshape(shape)
    for axis, s in enumerate(by):
        if s.weights is not None:
            table = np.moveaxis(np.tensordot(s.matrix**power, table, axes=(1, axis)), 0, axis)
    return np.asarray(table)


def _kept(size: int) -> Distortion:
    return Distortion(size, 0)


def _flat(seen: Sequence[AttributeView], rows: int) -> NDArray[np.int64]:
    """The index of each row in the table of what the attributes show."""
    place = np.zeros(rows, np.int64)
    for s in seen:
        place = place * s.shown.size + s.shown.codes
    return place


def _listed(columns: str | Sequence[str]) -> list[str]:
    listed = [columns] if isinstance(columns, str) or not isinstance(columns, Sequence) else list(columns)
    if not listed or not all(isinstance(n, str) for n in listed) or len(set(listed)) < len(listed):
        raise PolicyError(f"columns = {listed}; name at least one column, and each only once")
    return listed


def _cells(texts: Sequence[tuple[str, ...]], columns: Sequence[str]) -> pl.DataFrame:
    """All combinations of values, in row-major order."""
    shape = [len(t) for t in texts]
    places = np.unravel_index(np.arange(math.prod(shape)), shape)
    data: Mapping[str, pl.Series] = {
        n: pl.Series(n, t, dtype=pl.String).gather(p) for n, t, p in zip(columns, texts, places, strict=True)
    }
    if taken := {"count", "standard_error"} & set(columns):
        raise PolicyError(f"the answer adds columns named {sorted(taken)}; rename the table's columns of these names")
    return pl.DataFrame(data)


def _single(answer: Answer) -> pl.DataFrame:
    return pl.DataFrame({"count": [answer.estimate], "standard_error": [answer.standard_error]})
