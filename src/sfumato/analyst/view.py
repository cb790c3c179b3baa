"""How an analyst reads a release: for each attribute, what a row shows and how that is spread over values."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.analyst.condition import PossibleValues, as_number
from sfumato.analyst.ranges import Ranges
from sfumato.engine.counts import Counted
from sfumato.errors import PolicyError, ReleaseError, nearest
from sfumato.release.label_meaning import LabelMeaning, fits, masks_of, read, spans
from sfumato.release.manifest import LabelAttribute, ValueAttribute
from sfumato.release.release import Release
from sfumato.release.scheme.bucket_columns import COUNT, GROUP
from sfumato.table.distortion import WORDS, Distortion, Floats
from sfumato.table.encode import Kind, Role
from sfumato.table.ordered_domain import MISSING, is_day
from sfumato.table.published import distinct_texts, domain_codes
from sfumato.table.taxonomy import SUPPRESSED


@dataclass(frozen=True, eq=False)
class AttributeView:
    """One attribute: the code of what each row shows, the values there can be, and the weights of values given
    what is shown (values x shown), or the distortion to undo, or None if the value itself is shown. If labels are
    ranges of numbers, ``ranges`` can cut them differently."""

    name: str
    shown: Counted
    values: PossibleValues
    weights: Floats | Distortion | None
    ranges: Ranges | None = None

    def cut(self, literals: Iterable[object], *, grouped: bool) -> "AttributeView":
        """The same, with ranges cut at the literals, so that a comparison is true for all of a piece or none of it; if
        it is grouped by, its own pieces are cut further."""
        if self.ranges is None:
            return self
        cuts = self.ranges.cuts(number for x in literals if (number := self.values.number(x)) is not None)
        values, weights = self.ranges.spread([*cuts, *(self.ranges.ends() if grouped else ())])
        return AttributeView(self.name, self.shown, values, weights, self.ranges)

    @property
    def matrix(self) -> Floats:
        """The weights in full: values x shown."""
        if self.weights is None:
            return np.eye(len(self.values.texts))
        return self.weights.inverse if isinstance(self.weights, Distortion) else self.weights

    def classes(self, which: NDArray[np.int64], number: int) -> Floats:
        """The weight of each class of values given what is shown: shown x classes."""
        member = np.zeros((len(which), number))
        member[np.arange(len(which)), which] = 1.0
        way = self.weights
        if way is None:
            return member
        if isinstance(way, Distortion) and way.share is not None:  # closed form: the matrix may be large
            return np.asarray((member - way.share / WORDS * member.sum(axis=0)) / way.retained)
        return np.asarray(self.matrix.T @ member)


class View:
    """A release as an analyst sees it; columns are read on first use."""

    def __init__(self, release: Release) -> None:
        if release.scheme_class.rows_are_groups:
            raise PolicyError(
                f"queries cannot be answered from releases by {release.scheme}; analyse its tables directly"
            )
        self.release = release
        self.attributes = release.description.attributes
        self.ways = release.description.distortions() if release.scheme_class.randomizes else {}
        self.rows = release.tables[release.scheme_class.people].height
        self._seen: dict[str, AttributeView] = {}

    def __getitem__(self, name: str) -> AttributeView:
        if name not in self.attributes:
            raise PolicyError(f"the release has no attribute {name!r}{nearest(name, self.attributes)}")
        if name not in self._seen:
            self._seen[name] = self._look(name)
        return self._seen[name]

    def _look(self, name: str) -> AttributeView:
        about = self.attributes[name]
        if self.release.bucketized and about.role is Role.SENSITIVE:
            return self._bucket(name)
        column = self.release.tables[self.release.scheme_class.people][name]
        if isinstance(about, LabelAttribute):
            return _labelled(name, column, about)
        if isinstance(about, ValueAttribute):
            texts = tuple(str(v) for v in about.domain)
            codes = domain_codes(column, texts, ReleaseError)
            way = self.ways.get(name)
            values = _values(texts, about.kind)
            return AttributeView(name, Counted(codes, len(texts)), values, way if way and way.changes else None)
        shown = distinct_texts(column)
        return AttributeView(name, Counted(shown.of_row, len(shown.texts)), _values(tuple(shown.texts)), None)

    def _bucket(self, name: str) -> AttributeView:
        """A sensitive value is known by its share in the group."""
        quasi, sensitive = self.release.tables["quasi"], self.release.tables["sensitive"]
        texts, about = tuple(self.release.description.domain(name)), self.attributes[name]
        kind = about.kind if isinstance(about, ValueAttribute) else None
        groups = sensitive[GROUP].unique().sort()
        place = {g: i for i, g in enumerate(groups)}
        of_row = quasi[GROUP].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        of_value = sensitive[GROUP].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        counts = np.zeros((len(texts), len(groups)))
        np.add.at(counts, (domain_codes(sensitive[name], texts, ReleaseError), of_value), sensitive[COUNT].to_numpy())
        return AttributeView(name, Counted(of_row, len(groups)), _values(texts, kind), counts / counts.sum(axis=0))


def _values(texts: tuple[str, ...], kind: Kind | None = None) -> PossibleValues:
    found = [math.nan if t == MISSING else as_number(t) for t in texts]
    days = {is_day(t) for t in texts if t != MISSING}
    ordered = kind == Kind.ORDINAL
    numeric = not ordered and len(days) == 1 and all(n is not None for n in found)
    return PossibleValues(
        texts, np.array(found, np.float64) if numeric else None, ordered, days=numeric and True in days
    )


def _labelled(name: str, column: pl.Series, about: LabelAttribute) -> AttributeView:
    """A generalized attribute: each label's rows are spread evenly over what it covers."""
    labels, codes = distinct_texts(column)
    if strange := [l for l in labels if l not in about.nodes]:
        raise ReleaseError(f"column {name!r} shows {strange[0]!r}, which the manifest does not explain")
    known = read(about.nodes)
    told, shown = {l: known[l] for l in labels}, Counted(codes, len(labels))
    if covered := spans(about.domain, told):
        ranges = Ranges(covered, days=about.kind == Kind.DATE)
        return AttributeView(name, shown, *ranges.spread(ranges.ends()), ranges)
    return AttributeView(name, shown, *_on_leaves(told, known, about))


def _on_leaves(
    told: Mapping[str, LabelMeaning], known: Mapping[str, LabelMeaning], about: LabelAttribute
) -> tuple[PossibleValues, Floats]:
    """Labels over the values in the manifest; a mask stands for those that fit it, or is a value of its own."""
    listed, masks = (v for t in told.values() if t.listed for v in t.names), masks_of(about.domain, known)
    stated = (v for v in map(str, about.domain) if v not in known or v in known[v].names)
    texts = [v for v in dict.fromkeys([*stated, *listed]) if v not in masks]
    masks |= {t.names[0] for t in told.values() if not t.listed}
    for mask in sorted(masks - {SUPPRESSED}, key=lambda m: (m.count(SUPPRESSED), m)):
        if not any(fits(v, mask) for v in texts):
            texts.append(mask)
    if not texts:  # everything is suppressed, and the manifest does not say what
        return PossibleValues((SUPPRESSED,), None, hidden=True), np.ones((1, len(told)))
    place = {t: i for i, t in enumerate(texts)}
    weights = np.zeros((len(texts), len(told)))
    for j, t in enumerate(told.values()):
        for name in t.names:
            exact = t.listed and name in place
            weights[place[name] if exact else [i for i, v in enumerate(texts) if fits(v, name)], j] = 1.0
    return _values(tuple(texts), about.kind), weights / weights.sum(axis=0)
