"""The sampling scheme: one row per group, its box of quasi-identifiers, and in column ``G`` the size of the group.

The boxes are disjoint. So that this can be verified from the public part, the manifest gives each label its
``ranges``: the ranks of its ends among all ends of the attribute's labels.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.base import Engine
from sfumato.engine.counts import Block, Counts
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.engine.local import as_published, recode
from sfumato.errors import PolicyError, ReleaseError
from sfumato.kernel.arrange import sort_order
from sfumato.kernel.pg.box_overlap import meet
from sfumato.release.check.finding import Finding, verdict, whole_numbers
from sfumato.release.check.label_looks import labels_explained, losses_fit
from sfumato.release.check.noise import one_sensitive, sample_plausible
from sfumato.release.check.public import PublicSchema
from sfumato.release.describe import attribute_entries
from sfumato.release.judgement import Judgement, judge_blocks
from sfumato.release.label_meaning import LabelMeaning, fits, masks_of, read
from sfumato.release.manifest import AttributeEntry, BoxAttribute, LabelAttribute, Manifest, SchemeName
from sfumato.release.scheme.base import Grouped, Look, Made, Progress, Scheme
from sfumato.release.scheme.group_labels import Shown, told_apart
from sfumato.requirement.base import GroupRequirement, Requirement, names
from sfumato.table.distortion import Distortion
from sfumato.table.encode import Column, Domain
from sfumato.table.microdata import Microdata

if TYPE_CHECKING:
    from sfumato.release.release import Release

SIZE = "G"

_MOST_PEOPLE = 1 << 53
_MOST_LISTED = 1 << 30


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Sample(Grouped):
    """One person drawn from each group; the box of each group in codes, and how the sensitive value is perturbed."""

    lo: NDArray[np.int64]
    hi: NDArray[np.int64]
    way: Distortion


def _boxes_apart(release: "Release") -> Finding:
    claim = "the groups are as large as stated, and nobody's quasi-identifiers fit two rows"
    sizes, stated = release.tables["data"][SIZE], release.description.sampled_from
    k = release.description.method.settings.get("k")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        return Finding(claim, "broken", "the manifest does not state a whole number k")
    if why := whole_numbers(sizes, stated):
        return Finding(claim, "broken", why)
    least, people = int(np.min(sizes.to_numpy())), sum(sizes.to_list())
    if least < k:
        return Finding(claim, "broken", f"the smallest group has {least} people, fewer than k = {k}")
    if people != stated:
        return Finding(claim, "broken", f"the sizes add up to {people}, not to {stated}")
    try:
        meeting = overlapping(release.description, release.tables["data"], release.quasi())
    except ReleaseError as e:
        return Finding(claim, "broken", str(e))
    fault = f"{meeting} boxes overlap" if meeting else None
    return verdict(claim, fault, f"{sizes.len()} disjoint boxes; sizes of {least} or more add up to {people}")


class Sampling(Scheme):
    """One row per group: its box, a perturbed value, and the size of the group."""

    name: ClassVar[SchemeName] = "sampling"
    words: ClassVar[str] = "one row per group is shown, with its sensitive value perturbed and the size of the group"
    quasi_entry: ClassVar[type[AttributeEntry]] = BoxAttribute
    rows_are_groups: ClassVar[bool] = True
    own_columns: ClassVar[frozenset[str]] = frozenset({SIZE})
    looks: ClassVar[tuple[Look, ...]] = (labels_explained, _boxes_apart, losses_fit, sample_plausible)

    def lacks(self, quasi: int, sensitive: int, attributes: int) -> str | None:
        if fault := super().lacks(quasi, sensitive, attributes) or one_sensitive(self.name, sensitive):
            return fault
        alone = attributes == quasi + 1
        return None if alone else "a sample publishes only quasi-identifiers and one sensitive attribute"

    def weights(self, release: "Release") -> NDArray[np.int64]:
        return self._sizes(release, _MOST_PEOPLE)

    def groups(self, release: "Release", x: tuple[str, ...]) -> NDArray[np.int64]:
        """A row stands for its whole group, so it is counted as often as the group has people."""
        return np.repeat(release.same_labels(x), self._sizes(release, _MOST_LISTED))

    def judge(self, release: "Release", bound: GroupRequirement, view: PublicSchema) -> Judgement:
        if bound.columns() or bound.distinct_columns():
            raise PolicyError(f"{bound.model} cannot be judged on a sample; only the sizes of groups are known")
        group_of_row = release.same_labels(names(bound.groups_by()))
        sizes = np.zeros(int(group_of_row.max()) + 1, np.int64)
        np.add.at(sizes, group_of_row, self.weights(release))
        return judge_blocks(bound, view, [Block(sizes, {}, {})], {})

    def _sizes(self, release: "Release", most: int) -> NDArray[np.int64]:
        """How many people each row stands for, together ``most`` or fewer."""
        sizes = release.tables["data"][SIZE]
        if why := whole_numbers(sizes, most // max(sizes.len(), 1)):
            raise ReleaseError(f"the sizes of the groups cannot be counted: {why}")
        return np.asarray(sizes.to_numpy(), np.int64)

    def counted(self, table: Microdata) -> list[str]:
        return [c.name for c in table.sensitive]

    def publish(
        self,
        engine: Engine,
        counts: Counts,
        decision: Sample,
        bound: Sequence[Requirement],
        draws: Draws,
        progress: Progress,
    ) -> Made:
        grouping, sizes = decision.grouping, decision.grouping.sizes
        progress("order", 0.0)
        drawn = one_of_each(grouping, draws)
        (sensitive,) = counts.sensitive
        values = replace(sensitive, codes=decision.way.draw(sensitive.codes[drawn], draws.bytes))
        progress("labels", 0.0)
        shown = [show_boxes(c, decision.lo[:, j], decision.hi[:, j]) for j, c in enumerate(counts.quasi)]
        columns = [recode(s.name, s.labels, s.of_group) for s in shown]
        data = pl.DataFrame([*columns, as_published(values), pl.Series(SIZE, sizes)])
        attributes = attribute_entries(engine.table, shown, sizes)
        return Made(
            {"data": data[draws.order(data.height)]},
            decision.judgements,
            attributes,
            len(sizes),
            {"sampled_from": counts.rows},
        )


def one_of_each(grouping: Grouping, draws: Draws) -> NDArray[np.int64]:
    """The vector of one person of each group, all of them equally likely."""
    order = sort_order(grouping.group, grouping.groups)
    ends = np.cumsum(grouping.number[order])
    sizes = grouping.sizes
    place = np.cumsum(sizes) - sizes + draws.below(sizes)
    return np.asarray(grouping.vector[order[np.searchsorted(ends, place, side="right")]])


def show_boxes(column: Column, lo: NDArray[np.int64], hi: NDArray[np.int64]) -> Shown:
    """The labels of the ranges ``[lo, hi)`` of codes, one per group."""
    pairs, of_group = np.unique(lo * (column.size + 1) + hi, return_inverse=True)
    first, end = np.divmod(pairs, column.size + 1)
    named = [column.domain.range_label(a, b) for a, b in zip(first.tolist(), end.tolist(), strict=True)]
    meanings = [meaning for _, meaning in named]
    labels = told_apart([label for label, _ in named], meanings)
    ranks = np.searchsorted(np.unique([first, end]), np.stack([first, end], axis=1)).tolist()
    ranges = dict(sorted(zip(labels, ranks, strict=True)))
    # on a line, too, values are counted, not measured: otherwise the loss would reveal how far the extremes lie
    hidden = np.where(end - first == 1, 0.0, (end - first) / column.size)
    return Shown(column.name, labels, meanings, hidden, of_group.astype(np.int64), ranges)


def overlapping(manifest: Manifest, data: pl.DataFrame, quasi: Sequence[str]) -> int:
    """How many boxes of a sample overlap another one."""
    lo, hi = boxes_of(manifest, data, quasi)
    return int((meet(lo, hi, lo, hi, same=True).hit >= 0).sum())


def boxes_of(
    manifest: Manifest, data: pl.DataFrame, quasi: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The box of each row as ranks of ends, rows x quasi-identifiers."""
    boxes = np.empty((2, data.height, len(quasi)), np.int64)
    for j, name in enumerate(quasi):
        ranges = ranges_of(name, manifest.label(name))
        labels = data[name].cast(pl.String)
        for side in (0, 1):
            place = {label: ends[side] for label, ends in ranges.items()}
            found = labels.replace_strict(place, default=None, return_dtype=pl.Int64)
            if found.null_count():
                raise ReleaseError(f"a label of {name!r} has no range in the manifest")
            boxes[side, :, j] = found.to_numpy()
    return boxes[0], boxes[1]


def ranges_of(name: str, entry: LabelAttribute) -> Mapping[str, Sequence[int]]:
    """The ranges of an attribute's labels, if labels that share a value have ranges that overlap."""
    ranges = entry.ranges if isinstance(entry, BoxAttribute) else None
    most = 2 * len(ranges) if isinstance(ranges, dict) else 0  # ranks among the ends of all labels
    if not isinstance(ranges, dict) or not all(_is_range(ends, most) for ends in ranges.values()):
        raise ReleaseError(f"manifest.json does not state the ranges of the labels of {name!r}")
    for sharing in _sharing({label: known for label, known in read(entry.nodes).items() if label in ranges}):
        if max(ranges[label][0] for label in sharing) >= min(ranges[label][1] for label in sharing):
            raise ReleaseError(f"labels of {name!r} share a value, but their ranges in the manifest do not overlap")
    return ranges


def _is_range(ends: object, most: int) -> bool:
    whole = isinstance(ends, list) and len(ends) == 2 and all(type(end) is int for end in ends)
    return whole and 0 <= ends[0] < ends[1] <= most  # type: ignore[index]


def _sharing(labels: Mapping[str, LabelMeaning]) -> Iterator[list[str]]:
    """Labels that share a value: for each listed value, and for each end of an interval."""
    below: dict[str, list[str]] = {}
    for label, known in labels.items():
        for name in known.names if known.listed else ():
            below.setdefault(name, []).append(label)
    yield from below.values()
    if names := [label for label, known in labels.items() if known.interval]:
        low, high = np.array([labels[label].interval for label in names]).T
        for point in np.unique(low):
            yield [names[i] for i in np.flatnonzero((low <= point) & (point < high))]


class Places:
    """Where values of a quasi-identifier lie among the ends of its labels.

    A value lies in the cell (between two neighbouring ends) that is covered by the labels that contain it and by no
    other label; -1 if there is none, because nobody there was published.
    """

    def __init__(self, name: str, entry: LabelAttribute) -> None:
        self.ranges = ranges_of(name, entry)
        self.cells = max(hi for _, hi in self.ranges.values())
        labels = read(entry.nodes)
        here = {label: labels[label] for label in self.ranges if label in labels}
        ends = {end: rank for n, k in here.items() for end, rank in zip(k.interval or (), self.ranges[n], strict=False)}
        self.ends, self.ranks = np.array(sorted(ends)), np.array([ends[end] for end in sorted(ends)], np.int64)
        self.listed = {n: set(known.names) for n, known in here.items() if known.listed}
        masks = masks_of(entry.domain, labels)
        self.masks = {n: self.listed[n] & masks if n in self.listed else {n} for n in self.ranges}
        covering: list[set[str]] = [set() for _ in range(self.cells)]
        for label, (lo, hi) in self.ranges.items():
            for cell in range(lo, hi):
                covering[cell].add(label)
        self.cell_of = {frozenset(labels): cell for cell, labels in enumerate(covering)}

    def of(self, domain: Domain) -> NDArray[np.int64]:
        """The cell of each value of a domain."""
        if not len(self.ends):
            return np.array([self._cell(v) for v in domain.leaves], np.int64)
        place = np.searchsorted(self.ends, domain.numbers, side="right") - 1
        inside = (place >= 0) & (place < len(self.ends) - 1)
        cells = np.where(inside, self.ranks[np.maximum(place, 0)], -1)
        for i in np.flatnonzero(~inside):
            cells[i] = self._cell(domain.leaves[i])
        return cells

    def _cell(self, value: str) -> int:
        inside = {n for n in self.ranges if value in self.listed.get(n, ()) or value == n}
        inside |= {n for n in self.ranges if any(fits(value, mask) for mask in self.masks.get(n, ()))}
        return self.cell_of.get(frozenset(inside), -1)
