"""How well a release answers random count queries (ASAP, section 8.1.3; Xiao and Tao, Anatomy, VLDB 2006).

The analyst answers from the release alone, as `sf.Analyst` does: from labels, assuming that their rows are spread over
the values they stand for as in the rest of the release (or evenly, as in the papers), or from the exact
quasi-identifiers of a bucket, assuming that its values are spread evenly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.analyst.shares import SpreadRule, check_spread, label_shares
from sfumato.analyst.workload import Queries, Workload
from sfumato.errors import DAMAGED, DataError, PolicyError, ReleaseError
from sfumato.kernel.arrange import sort_order
from sfumato.kernel.group import group_rows
from sfumato.kernel.queries.bitmap import Items, make_items
from sfumato.kernel.queries.sums import (
    LANES,
    SMALL,
    Blocks,
    ItemValues,
    LabelShares,
    Weights,
    count,
    pair,
    spread,
    spread_cells,
)
from sfumato.release.labels import ColumnLabels, exact, read_labels, read_values
from sfumato.release.release import Release, refuse_unpublished
from sfumato.release.scheme.bucket_columns import COUNT, GROUP
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata, refuse_raw
from sfumato.table.taxonomy import named

Integers = NDArray[np.int64]

_MOST_CELLS = 10_000_000
"""The most counts of groups and values kept at once; beyond that, groups are processed one by one."""


@dataclass(frozen=True, eq=False)
class RelativeErrors:
    """The true count, the estimate and the relative error of each query.

    The error is |actual - estimate| / max(actual, bound). With ``bound`` = 0 a query that counts no row has no relative
    error: it is NaN here, is left out of mean and median, and is counted in ``left_out``.
    """

    actual: Integers
    estimate: NDArray[np.float64]
    bound: float

    @property
    def error(self) -> NDArray[np.float64]:
        """The relative error of each query, NaN if it has none."""
        base = np.maximum(self.actual, self.bound)
        off = np.abs(self.actual - self.estimate)
        return np.asarray(np.divide(off, base, out=np.full(len(base), np.nan), where=base > 0))

    @property
    def left_out(self) -> int:
        """How many queries have no relative error."""
        return int((np.maximum(self.actual, self.bound) == 0).sum())

    @property
    def mean(self) -> float:
        """The average relative error, the measure of the papers."""
        return float(np.nanmean(self.error))

    @property
    def median(self) -> float:
        """The median relative error."""
        return float(np.nanmedian(self.error))


def relative_errors(
    release: Release, truth: Microdata, workload: Workload, *, bound: float = 0.0, spread: SpreadRule = "likely"
) -> RelativeErrors:
    """Score a generalized or bucketized release by the queries of a workload; the truth serves to score only.

    ``spread``: how the rows of a label are spread over its values, ``likely`` (`sf.Analyst`) or ``even`` (the papers).

    ``bound`` is the sanity bound of the literature: errors of smaller counts are relative to it (0.1% of the rows is
    a usual choice). Without one, queries that count no row are left out.
    """
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 <= bound < np.inf:
        raise PolicyError(f"the sanity bound is {bound!r}; it must be a number, 0 or more")
    check_spread(spread)
    refuse_unpublished(release)
    refuse_raw(truth)
    if not isinstance(workload, Workload):
        raise PolicyError(f"workload must be a Workload(dimension=..., selectivity=...), not {workload!r}")
    queries = workload.draw(truth)
    if release.description.rows != truth.rows:
        raise DataError(
            f"the release has {release.description.rows} rows and the table {truth.rows}; the release was made from "
            "another table, or rows were suppressed: give the table that it was made from, or publish all rows"
        )
    found = RelativeErrors(true_counts(truth, queries), estimates(release, queries, spread=spread), float(bound))
    if found.left_out == len(queries):
        raise PolicyError(
            f"none of the {len(queries)} queries counts a row, so there is no relative error; raise the selectivity, "
            "lower the dimension, or give a sanity bound"
        )
    return found


def true_counts(truth: Microdata, queries: Queries) -> Integers:
    """How many rows of the private table each query counts."""
    last = truth[queries.sensitive]
    order = sort_order(last.codes.astype(np.int64), last.size)  # so that a run of rows has few sensitive values
    columns = [exact(truth[name].codes[order], truth[name].size) for name in queries.domains]
    return count(_items(queries, columns), queries.predicates)


def estimates(release: Release, queries: Queries, *, spread: SpreadRule = "likely") -> NDArray[np.float64]:
    """The answer to each query from the release alone.

    Generalization: the sum over groups of c · product over the asked quasi-identifiers of the share of the label within
    the predicate, where c is the number of rows of the group with an allowed sensitive value. Bucketization: the sum
    over groups of c · (the share of the group's rows that meet the predicates on quasi-identifiers).
    """
    _refuse_other(release, queries)
    if release.bucketized:
        return _bucketized(release, queries)
    if release.scheme_class.labels_people:
        return _generalized(release, queries, spread)
    raise PolicyError(
        f"this needs a generalized or bucketized release, but this one is by {release.scheme}; use Analyst instead"
    )


def _refuse_other(release: Release, queries: Queries) -> None:
    """Refuse a release whose attributes differ from those queried: it was made from another table."""
    if sorted(release.quasi()) != sorted(queries.quasi):
        raise DataError(
            f"the quasi-identifiers of the release are {named(release.quasi())}, those of the table "
            f"{named(queries.quasi)}; give the table that the release was made from"
        )
    if queries.sensitive not in release.with_role(Role.SENSITIVE):
        raise DataError(
            f"{queries.sensitive!r} is not a sensitive attribute of the release; give the table it was made from"
        )


def _items(queries: Queries, columns: Sequence[ColumnLabels], places: Sequence[Integers] = (), room: int = 0) -> Items:
    """The columns for the kernels; ``places`` says where the rows of each lie in ``room`` places."""
    rows = room or -(-len(columns[0].of_row) // 64) * 64
    labels = np.full((len(columns), rows), -1, np.int32)
    ends = _ends(columns)
    lo, hi, leaves, shift = [], [], [], 0
    domains = list(queries.domains.values())[: len(columns)]
    for c, (column, domain) in enumerate(zip(columns, domains, strict=True)):
        labels[c, places[c] if places else slice(len(column.of_row))] = column.of_row + ends[c]
        lo.append(column.lo + (0 if domain.ordered else shift))
        hi.append(column.hi + (0 if domain.ordered else shift))
        leaves.append(column.leaves)
        shift += len(column.leaves)
    return make_items(
        labels,
        np.concatenate(lo),
        np.concatenate(hi),
        np.concatenate(leaves).astype(np.int32),
        [domain.ordered for domain in domains],
        [domain.size for domain in domains],
    )


def _ends(columns: Sequence[ColumnLabels]) -> Integers:
    """Where the labels of each column start, numbered across all columns, and where the last one ends."""
    return np.cumsum([0, *(len(column.lo) for column in columns)])


def _generalized(release: Release, queries: Queries, how: SpreadRule) -> NDArray[np.float64]:
    """Groups are the rows that show the same labels."""
    data, told = release.tables["data"], release.description
    columns = [read_labels(data[n], told.label(n).nodes, queries.domains[n]) for n in queries.quasi]
    values = read_values(data[queries.sensitive], queries.domains[queries.sensitive])
    groups = group_rows([c.of_row for c in columns], [len(c.lo) for c in columns])
    number, size = len(groups.first), len(values.lo)
    asked, chosen = queries.predicates, queries.sensitive_sets()
    parts = [label_shares(c, queries.domains[n], how) for c, n in zip(columns, queries.quasi, strict=True)]
    shares = _shares(columns, parts)
    if number * size <= _MOST_CELLS:
        pairs = group_rows([groups.of_row, values.of_row], [number, size])
        item = groups.of_row[pairs.first]
        order = sort_order(item, number)
        start, each = np.append(0, np.cumsum(np.bincount(item, minlength=number))), np.arange(number)
        held = values.of_row[pairs.first][order], pairs.size[order].astype(np.float64)
        counted = ItemValues(each, each, start, *held, size)
        shown = [c._replace(of_row=c.of_row[groups.first]) for c in columns]
        return spread_cells(_items(queries, shown), number, _ends(shown), shares, counted, asked, chosen)
    order, weights = _weights(groups.of_row, number, values)
    shown = [c._replace(of_row=c.of_row[groups.first[order]]) for c in columns]
    return spread(_items(queries, shown), _ends(shown), shares, weights, asked, chosen)


def _shares(columns: Sequence[ColumnLabels], parts: Sequence[NDArray[np.float64]]) -> LabelShares:
    """The shares of the values of all labels, label after label, each added up from 0 to 1."""
    lengths = np.concatenate([column.hi - column.lo for column in columns])
    starts = np.cumsum(lengths) - lengths
    return LabelShares(np.insert(np.concatenate(parts), starts, 0.0), starts + np.arange(len(starts)))


def _weights(group_of_row: Integers, groups: int, values: ColumnLabels) -> tuple[Integers, Weights]:
    """How often each value occurs in each group, by the binary digits of the counts: which values have the digit.

    Groups are sorted by their number of entries, which is faster; also returns this order.
    """
    size = len(values.lo)
    pairs = group_rows([group_of_row, values.of_row], [groups, size])
    group, value, number = group_of_row[pairs.first], values.of_row[pairs.first], pairs.size
    digits, words = int(number.max()).bit_length(), -(-size // 64)
    has = np.nonzero(number[:, None] >> np.arange(digits) & 1)
    keys = group_rows([group[has[0]], value[has[0]] // 64, has[1]], [groups, words, digits])
    group, word, digit = group[has[0]][keys.first], value[has[0]][keys.first] // 64, has[1][keys.first]
    masks = np.zeros(len(keys.first), np.uint64)
    np.bitwise_or.at(masks, keys.of_row, np.uint64(1) << (value[has[0]] % 64).astype(np.uint64))
    entries = np.bincount(group, minlength=groups)
    order = np.argsort(entries, kind="stable")
    rank = np.empty(groups, np.int64)
    rank[order] = np.arange(groups)
    by = sort_order(rank[group], groups)
    return order, Weights(np.append(0, np.cumsum(entries[order])), word[by], 1 << digit[by], masks[by])


def _bucketized(release: Release, queries: Queries) -> NDArray[np.float64]:
    """The quasi-identifiers and the sensitive values of a group, in any order."""
    quasi, sensitive = release.tables["quasi"], release.tables["sensitive"]
    number = sensitive[COUNT].to_numpy()
    codes = np.concatenate([quasi[GROUP].to_numpy(), sensitive[GROUP].to_numpy()])
    groups = group_rows([codes - codes.min()], [int(codes.max() - codes.min()) + 1])
    of_row, of_entry = groups.of_row[: quasi.height], groups.of_row[quasi.height :]
    sizes = np.bincount(of_row, minlength=len(groups.first))
    if not np.array_equal(sizes, np.bincount(of_entry, weights=number, minlength=len(groups.first))):
        raise ReleaseError(f"a group has more or fewer sensitive values than people; {DAMAGED}")
    columns = [read_values(quasi[n], queries.domains[n]) for n in queries.quasi]
    values = read_values(sensitive[queries.sensitive], queries.domains[queries.sensitive])
    vectors = group_rows([c.of_row for c in columns], [len(c.lo) for c in columns])
    if len(vectors.first) * len(values.lo) > _MOST_CELLS:
        return _dealt(queries, columns, values, (of_row, of_entry, sizes), number)
    by, order = sort_order(of_row, len(sizes)), sort_order(of_entry, len(sizes))
    start = np.append(0, np.cumsum(np.bincount(of_entry, minlength=len(sizes))))
    held = values.of_row[order], (number / sizes[of_entry])[order]
    shown = [c._replace(of_row=c.of_row[vectors.first]) for c in columns]
    return spread_cells(
        _items(queries, shown),
        len(vectors.first),
        _ends(shown),
        _shares(columns, [np.ones(len(c.lo)) for c in columns]),
        ItemValues(vectors.of_row[by], of_row[by], start, *held, len(values.lo)),
        queries.predicates,
        queries.sensitive_sets(),
    )


def _dealt(
    queries: Queries,
    columns: Sequence[ColumnLabels],
    values: ColumnLabels,
    groups: tuple[Integers, Integers, Integers],
    number: Integers,
) -> NDArray[np.float64]:
    """The same where that would take too much room: people and values of a group occupy the same places."""
    of_row, of_entry, sizes = groups
    of_value = np.repeat(of_entry, number)
    blocks, first, step = _blocks(sizes)
    all_columns = [*columns, values._replace(of_row=np.repeat(values.of_row, number))]
    people, dealt = (first[of] + step[of] * _ranks(of, sizes) for of in (of_row, of_value))
    items = _items(queries, all_columns, [people] * len(queries.quasi) + [dealt], 64 * int(blocks.at[-1]))
    return pair(items, queries.predicates, blocks)


def _ranks(group_of_row: Integers, sizes: Integers) -> Integers:
    """The rank of each row within its group."""
    order = sort_order(group_of_row, len(sizes))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return ranks


def _blocks(sizes: Integers) -> tuple[Blocks, Integers, Integers]:
    """Lay groups out in blocks; of each group, its first place and the step to the next."""
    first, step, at, size_of = np.zeros(len(sizes), np.int64), np.ones(len(sizes), np.int64), [0], []
    for size in np.unique(sizes).tolist():
        groups = np.flatnonzero(sizes == size)
        most = 64 * LANES if size < SMALL else 1
        for begin in range(0, len(groups), most):
            here = groups[begin : begin + most]
            lanes = -(-len(here) // 64)
            first[here] = 64 * at[-1] + np.arange(len(here))
            step[here] = 64 * lanes if size < SMALL else 1
            at.append(at[-1] + (size * lanes if size < SMALL else -(-size // 64)))
            size_of.append(size)
    return Blocks(np.array(at), np.array(size_of)), first, step
