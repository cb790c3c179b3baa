"""How an analyst reads a release: for each attribute, what a row shows and how that is spread over values."""

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.analyst.condition import AttributeCondition, PossibleValues, as_number
from sfumato.analyst.margin import correlation
from sfumato.analyst.ranges import Ranges
from sfumato.analyst.shares import Bools, likely_shares, narrower
from sfumato.analyst.unlisted import Hidden, Spread, hidden_by, with_unlisted
from sfumato.engine.counts import Counted
from sfumato.errors import PolicyError, ReleaseError, nearest
from sfumato.release.label_meaning import Interval, LabelMeaning, fits, hides, is_mask, masks_of, read, spans
from sfumato.release.manifest import MOST_ROWS, LabelAttribute, ValueAttribute
from sfumato.release.part_tables import is_too_large
from sfumato.release.release import Release, refuse_unpublished
from sfumato.table.distortion import WORDS, Distortion, Floats
from sfumato.table.encode import Kind, Role
from sfumato.table.ordered_domain import MISSING, is_day
from sfumato.table.published import counted_rows, distinct_texts, domain_codes
from sfumato.table.taxonomy import SUPPRESSED

_MEASURED = (Kind.CONTINUOUS, Kind.DATE)
_MANY = 50_000
"""From this many rows on, equal rows are counted first."""


@dataclass(frozen=True, eq=False)
class AttributeView:
    """One attribute: the code of what each row shows, the values there can be, and the weights of values given
    what is shown (values x shown), or the distortion to undo, or None if the value itself is shown. ``possible``: which
    values a row with a label can have (values x shown). If labels are ranges of numbers, ``ranges`` can cut them
    differently. ``inside``: which labels cover which others, ``people``: how many people show each, ``masks``: what
    they may hide that is not listed; ``unshown``: values asked for that no row shows; ``unlisted``: which labels may
    hide values that are not listed, once such values are among ``values``."""

    name: str
    shown: Counted
    values: PossibleValues
    weights: Floats | Distortion | None
    possible: Bools | None = None
    ranges: Ranges | None = None
    inside: Floats | None = None
    people: Floats | None = None
    masks: Hidden | None = None
    unshown: tuple[str, ...] = ()
    unlisted: Bools | None = None

    def cut(self, asked: Iterable[AttributeCondition], *, grouped: bool) -> "AttributeView":
        """The same, with ranges cut so that each comparison is true for all of a piece or none of it; if it is grouped
        by, its own pieces are cut further."""
        asked = list(asked)
        if self.masks is not None and self.masks.any:
            return self._with_unlisted(asked)
        if self.values.hidden:
            return self._suppressed(asked, grouped)
        if self.ranges is None:
            return self
        pairs = [(c.op, n) for c in asked for x in c.literals if (n := self.values.number(x)) is not None]
        grid = self.ranges.grid() if grouped else ()
        values, weights, possible = self.ranges.spread([*self.ranges.cuts(pairs), *grid])
        return replace(self, values=values, weights=weights, possible=possible)

    def _with_unlisted(self, asked: Sequence[AttributeCondition]) -> "AttributeView":
        """The same with further values that a label may hide."""
        if self.possible is None or self.masks is None or not isinstance(self.weights, np.ndarray):
            return self
        found = with_unlisted(Spread(self.values, self.weights, self.possible), self.masks, asked)
        cut = replace(self, values=found.values, weights=found.weights, possible=found.possible, masks=None)
        unlisted = np.array([bool(masks) for masks in self.masks.masks])
        asked_for = [i for i, text in enumerate(found.values.texts) if text in found.unshown]
        return replace(cut, unshown=found.unshown, unlisted=unlisted | found.possible[asked_for].any(axis=0))

    def _suppressed(self, asked: Sequence[AttributeCondition], grouped: bool) -> "AttributeView":
        """The same if everything is suppressed: nothing to tell apart but what is asked for."""
        if not asked:
            return self
        if grouped:
            raise PolicyError(
                f"all values of {self.name!r} are suppressed, so it cannot be both grouped by and in a condition; "
                "leave out one of them"
            )
        none = replace(self.values, texts=(), regions={SUPPRESSED: np.zeros(0, np.bool_)})
        empty = replace(self, values=none, weights=self.matrix[:0], possible=np.zeros((0, self.shown.size), np.bool_))
        return replace(empty, masks=Hidden([(SUPPRESSED,)] * self.shown.size))._with_unlisted(asked)

    @property
    def matrix(self) -> Floats:
        """The weights in full: values x shown."""
        if self.weights is None:
            return np.eye(len(self.values.texts))
        return self.weights.inverse if isinstance(self.weights, Distortion) else self.weights

    @property
    def random(self) -> bool:
        """Whether the values shown are random, so that each is possible whatever is shown."""
        return isinstance(self.weights, Distortion)

    def classes(self, which: NDArray[np.int64], number: int) -> Floats:
        """The weight of each class of values given what is shown: shown x classes."""
        member = _member(which, number)
        way = self.weights
        if way is None:
            return member
        if isinstance(way, Distortion) and way.share is not None:  # closed form: the matrix may be large
            return np.asarray((member - way.share / WORDS * member.sum(axis=0)) / way.retained)
        return np.asarray(self.matrix.T @ member)

    def allowed(self, which: NDArray[np.int64], number: int) -> Floats:
        """1 where a row that shows something can have a value of a class, otherwise 0: shown x classes."""
        member = _member(which, number)
        if self.random:
            return np.ones((self.shown.size, number))
        if self.possible is None:
            return member
        return np.asarray((self.possible.T.astype(np.float64) @ member) > 0, np.float64)

    def correlations(self, allowed: Floats) -> Floats:
        """Of the people who show each label, given the classes that it allows; 0 if there is only one."""
        several = allowed.sum(axis=1) > 1
        if self.random or self.possible is None:
            return np.zeros(self.shown.size)
        told = np.where(several[:, None], 0.0, allowed)
        least = np.full(self.shown.size, np.inf)
        for c in range(allowed.shape[1]):
            least = np.minimum(least, np.where(allowed[:, c] > 0, self._resolved(told[:, c]), np.inf))
        return np.where(several, self._correlation(np.where(np.isfinite(least), least, 0.0)), 0.0)

    def value_correlations(self) -> Floats:
        """The same for each value alone against all others: values x shown."""
        if self.random or self.possible is None:
            return np.zeros((len(self.values.texts), self.shown.size))
        several = self.possible & (self.possible.sum(axis=0) > 1)
        least = np.minimum(
            self._resolved((self.possible & ~several).astype(float)), self._resolved((~self.possible).astype(float))
        )
        return np.where(several, self._correlation(least), 0.0)

    def _correlation(self, told: Floats) -> Floats:
        """By the rows that show detail inside labels. None of them shows how many people have unlisted values,
        and nothing at all is known where such a value is asked for."""
        if self.unlisted is None:
            return correlation(told)
        unknown = self.unlisted & (self.values.hidden or bool(self.unshown))
        return np.where(unknown, 1.0, correlation(np.where(self.unlisted, 0.0, told)))

    def _resolved(self, told: Floats) -> Floats:
        """How many rows show narrower labels of which something is ``told`` (1, or 0: labels, or values x labels)."""
        if self.inside is None or self.people is None:
            return np.zeros(told.shape)
        return np.asarray((told * self.people) @ self.inside.T)


def _member(which: NDArray[np.int64], number: int) -> Floats:
    member = np.zeros((len(which), number))
    member[np.arange(len(which)), which] = 1.0
    return member


class View:
    """A release as an analyst sees it; columns are read on first use."""

    def __init__(self, release: Release) -> None:
        refuse_unpublished(release)
        self.release = release
        self.attributes = release.description.attributes
        self.ways = _ways(release)
        self.counted = release.scheme_class.labels_people and is_too_large(release.tables)
        """Whether entries are distinct rows with their numbers, since there are too many rows for memory."""
        self._tables: Mapping[str, pl.DataFrame] = release.counted if self.counted else release.tables
        table = self._tables[release.scheme_class.people]
        self._weights = release.row_weights if self.counted else release.scheme_class.weights(release)
        self.rows = table.height
        self.people = float(table.height if self._weights is None else self._weights.sum())
        self.suppressed = _suppressed(release)
        self._seen: dict[str, AttributeView] = {}
        self._narrow: dict[tuple[str, ...], View] = {}

    @cached_property
    def sizes(self) -> Floats:
        """How many people each entry stands for."""
        return np.ones(self.rows) if self._weights is None else self._weights.astype(np.float64)

    def about(self, names: Iterable[str]) -> "View":
        """The same, for questions about some attributes alone: rows that show the same of these are one entry.

        Only of labelled rows, and only if that is less to look at; otherwise this view itself.
        """
        chosen = tuple(dict.fromkeys(names))
        if chosen not in self._narrow:
            self._narrow[chosen] = self._narrowed(chosen) or self
        return self._narrow[chosen]

    def _narrowed(self, names: tuple[str, ...]) -> "View | None":
        table = self._tables[self.release.scheme_class.people]
        apart = self.ways or self.counted or self.release.bucketized or not self.release.scheme_class.labels_people
        if apart or not names or table.height < _MANY or not {*names} <= {*table.columns}:
            return None
        found = counted_rows(table.select(names), most=table.height // 2)
        if found is None:
            return None
        other = copy(self)
        other._tables = {self.release.scheme_class.people: found.rows}
        other._weights, other.rows, other._seen = found.times, found.rows.height, {}
        vars(other).pop("sizes", None)  # those of this view, once computed
        return other

    def __getitem__(self, name: str) -> AttributeView:
        if name not in self.attributes:
            raise PolicyError(f"the release has no attribute {name!r}{nearest(name, self.attributes)}")
        if name not in self._seen:
            self._seen[name] = self._look(name)
        return self._seen[name]

    def _look(self, name: str) -> AttributeView:
        about = self.attributes[name]
        if self.separate(name):
            raise ReleaseError(f"{name!r} is in the table of sensitive values; it is read by groups")
        column = self._column(name)
        if isinstance(about, LabelAttribute):
            return _labelled(name, column, about, self.sizes)
        return self._read(name, column)

    def _column(self, name: str) -> pl.Series:
        table = self._tables[self.release.scheme_class.people]
        if self.counted and name not in table.columns:
            raise ReleaseError(
                f"{name!r} is insensitive, and this release has too many rows to be read into memory; ask about "
                "quasi-identifiers, sensitive attributes and classes, or read the parts one by one"
            )
        return table[name]

    def separate(self, name: str) -> bool:
        """Whether an attribute is in the table of sensitive values, apart from the quasi-identifiers."""
        return self.release.bucketized and self.attributes[name].role is Role.SENSITIVE

    def sensitive(self, name: str) -> AttributeView:
        """A column of the table of sensitive values, entry by entry."""
        return self._read(name, self.release.tables["sensitive"][name])

    def _read(self, name: str, column: pl.Series) -> AttributeView:
        """A column of values, true or random."""
        about = self.attributes[name]
        if isinstance(about, ValueAttribute):
            texts = tuple(str(v) for v in about.domain)
            codes = domain_codes(column, texts, ReleaseError)
            way = self.ways.get(name)
            if way is not None and way.share is None and self.release.scheme_class.rows_are_groups:
                raise PolicyError(
                    f"the retention probability of the sample is 0, so it says nothing about {name!r}; ask about the "
                    "other attributes only"
                )
            values = _values(texts, about.kind)
            drawn = (
                self.release.scheme_class.rows_are_groups
            )  # of a box only one value is known, even if it is the true one
            return AttributeView(
                name, Counted(codes, len(texts)), values, way if way and (way.changes or drawn) else None
            )
        shown = distinct_texts(column)
        return AttributeView(name, Counted(shown.of_row, len(shown.texts)), _values(tuple(shown.texts)), None)


def _suppressed(release: Release) -> int:
    """How many rows of the private table the release leaves out, as its manifest states."""
    found = release.description.method.settings.get("suppressed", 0)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= MOST_ROWS:
        raise ReleaseError(f"manifest.json states {found!r} suppressed rows; this must be a whole number, 0 or more")
    return found


def _ways(release: Release) -> Mapping[str, Distortion]:
    """How columns were randomized."""
    if release.scheme_class.randomizes:
        return release.description.distortions()
    if release.scheme_class.rows_are_groups:
        (name,) = release.with_role(Role.SENSITIVE)
        p = release.description.method.settings.get("p")
        if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p <= 1:
            raise ReleaseError("manifest.json does not state the retention probability p of the sample; it is damaged")
        return {name: Distortion.retaining(Fraction(p), len(release.description.domain(name)))}
    return {}


def _values(texts: tuple[str, ...], kind: Kind | None = None) -> PossibleValues:
    found = [math.nan if t == MISSING else as_number(t) for t in texts]
    days = {is_day(t) for t in texts if t != MISSING}
    ordered = kind == Kind.ORDINAL
    if not texts:
        return PossibleValues((), np.zeros(0) if kind in _MEASURED else None, ordered, days=kind == Kind.DATE)
    numeric = not ordered and len(days) == 1 and all(n is not None for n in found)
    return PossibleValues(
        texts, np.array(found, np.float64) if numeric else None, ordered, days=numeric and True in days
    )


def _labelled(name: str, column: pl.Series, about: LabelAttribute, sizes: Floats) -> AttributeView:
    """A generalized attribute: the rows of each label are spread over what it covers."""
    labels, codes = distinct_texts(column)
    if strange := [l for l in labels if l not in about.nodes]:
        raise ReleaseError(f"column {name!r} shows {strange[0]!r}, which the manifest does not explain")
    known = read(about.nodes)
    told, shown = {l: known[l] for l in labels}, Counted(codes, len(labels))
    people = np.bincount(codes, weights=sizes, minlength=len(labels)).astype(np.float64)
    if covered := spans(about.domain, told):
        ranges = Ranges(covered, _stated(told, covered), people, days=about.kind == Kind.DATE)
        parts = ranges.spread(ranges.grid())
        return AttributeView(name, shown, *parts, ranges, ranges.narrower, people)
    return _on_leaves(name, shown, told, known, about, people)


def _stated(told: Mapping[str, LabelMeaning], covered: Mapping[str, list[Interval]]) -> dict[str, list[Interval]]:
    """Where the rows of a label certainly are: nowhere in particular if it hides everything."""
    return {l: [t.interval] if t.interval else covered[l] if t.listed else [] for l, t in told.items()}


def _on_leaves(
    name: str,
    shown: Counted,
    told: Mapping[str, LabelMeaning],
    known: Mapping[str, LabelMeaning],
    about: LabelAttribute,
    people: Floats,
) -> AttributeView:
    """Labels over the values in the manifest; a mask stands for those that fit it, or is a value of its own."""
    texts, regions = _leaves(told, known, about)
    if not texts:  # everything is suppressed, and the manifest does not say what
        hidden = replace(_values((), about.kind), texts=(SUPPRESSED,), hidden=True)
        return AttributeView(name, shown, hidden, np.ones((1, len(told))), np.ones((1, len(told)), np.bool_))
    place = {t: i for i, t in enumerate(texts)}
    covers = np.zeros((len(texts), len(told)), np.bool_)
    for j, t in enumerate(told.values()):
        for part in t.names:
            exact = t.listed and part in place
            covers[place[part] if exact else [i for i, v in enumerate(texts) if fits(v, part)], j] = True
    weights = likely_shares(covers, np.ones(len(texts)), people)
    values = _values(tuple(texts), about.kind)
    values = replace(values, regions={r: np.arange(len(texts)) == place[r] for r in regions})
    names = [t.names if t.listed or is_mask(t.names[0]) else (SUPPRESSED,) for t in told.values()]
    masks = hidden_by(names, texts, regions)
    return AttributeView(name, shown, values, weights, covers, None, narrower(covers), people, masks)


def _leaves(
    told: Mapping[str, LabelMeaning], known: Mapping[str, LabelMeaning], about: LabelAttribute
) -> tuple[list[str], list[str]]:
    """The values that labels can stand for, and which of them are masks that stand for others."""
    listed, masks = (v for t in told.values() if t.listed for v in t.names), masks_of(about.domain, known)
    stated = (v for v in map(str, about.domain) if v not in known or v in known[v].names)
    texts = [v for v in dict.fromkeys([*stated, *listed]) if v not in masks]
    masks |= {t.names[0] for t in told.values() if not t.listed}
    values = len(texts)
    for mask in sorted(masks - {SUPPRESSED}, key=lambda m: (hides(m), m)):
        if not any(fits(v, mask) for v in texts):
            texts.append(mask)
    return texts, texts[values:]
