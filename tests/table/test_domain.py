"""Every kind of domain does what the protocol says: one set of checks for trees, lines, intervals and words."""

from itertools import pairwise

import numpy as np
import pytest

from sfumato.table.domain import Domain
from sfumato.table.hierarchy import read_taxonomy
from sfumato.table.names import MISSING, SUPPRESSED
from sfumato.table.ordered_domain import OrderedDomain
from sfumato.table.taxonomy import Taxonomy
from sfumato.table.tree_forms import masked

DOMAINS: dict[str, Domain] = {
    "tree": Taxonomy.from_tree({"Any": {"A": ["a", "b"], "B": ["c", "d"]}}),
    "tree with missing": Taxonomy.from_tree({"Any": {"A": ["a", "b"], "B": ["c", "d"]}}).with_missing(),
    "flat": Taxonomy.flat(["a", "b", "c"]),
    "mask": masked(["471", "472", "480"], "right", what="zip"),
    "declared intervals": read_taxonomy({"intervals": [0, 18, 65, 120]}, ["3", "70"], name="age"),
    "found intervals": read_taxonomy({"width": 5}, ["31", "33", "36", "52"], name="age"),
    "found intervals with missing": read_taxonomy({"width": 5}, ["31", "33", "52"], name="age").with_missing(),
    "numbers": OrderedDomain.of_numbers([20.0, 25.0, 39.0]),
    "numbers with missing": OrderedDomain.of_numbers([20.0, 25.0, 39.0], missing=True),
    "days": OrderedDomain.of_days([0.0, 3.0, 400.0]),
    "words": OrderedDomain.of_words(["low", "medium", "high"]),
    "words with missing": OrderedDomain.of_words(["low", "medium", "high"], missing=True),
}


def members() -> list[str]:
    return [name for name in vars(Domain) if not name.startswith("_")]


@pytest.fixture(params=DOMAINS)
def domain(request: pytest.FixtureRequest) -> Domain:
    return DOMAINS[request.param]


def test_nothing_of_the_protocol_is_left_out(domain: Domain) -> None:
    assert [name for name in members() if not hasattr(domain, name)] == []


def test_codes_and_values_agree(domain: Domain) -> None:
    assert len(domain.leaves) == domain.size == len(set(domain.leaves))
    assert domain.codes_of_values(domain.leaves) == list(range(domain.size))
    assert domain.codes_of_values(["no such value"]) == [-1]


def test_a_value_by_itself_is_shown_as_it_is_and_hides_nothing(domain: Domain) -> None:
    for code, leaf in enumerate(domain.leaves):
        assert domain.value(code) == domain.box(code, code, -1, 0)
        assert domain.value(code).label == leaf
        assert domain.value(code).share == 0
        assert domain.box_codes(code, code, -1, 0) == (code,)


def test_all_of_a_domain_is_one_label_that_covers_it(domain: Domain) -> None:
    last = domain.size - 1
    assert domain.box(0, last, 0, 0).share == pytest.approx(1)
    assert domain.box_codes(0, last, 0, 0) == tuple(range(domain.size))
    assert domain.cut_label(0, domain.size, 0).share == pytest.approx(1)
    assert domain.range_label(0, domain.size)[0] in (SUPPRESSED, "Any", "[0, 120)", "[20, 60)", "[20, 80)", "[0, 80)")


def test_numbers_lie_between_their_ends(domain: Domain) -> None:
    numbers = domain.numbers
    assert numbers.shape == (domain.size,)
    known = np.flatnonzero(~np.isnan(numbers))
    for code in known:
        assert code in domain.codes_between(numbers[code], np.nextafter(numbers[code], np.inf))
    assert domain.codes_between(-np.inf, np.inf).tolist() == known.tolist()
    if MISSING in domain.leaves:
        assert domain.codes_of_values([MISSING])[0] not in known


def test_a_measured_domain_has_a_span_around_all_its_numbers(domain: Domain) -> None:
    if not domain.measured:
        assert domain.scale() is None
        return
    low, high = domain.span()
    numbers = domain.numbers[~np.isnan(domain.numbers)]
    assert low <= numbers.min()
    assert numbers.max() < high
    assert domain.intervals_of(["no such value"]) == [(low, high)]
    scale = domain.scale()
    assert (scale is None) == (domain.declared() is not None)
    if scale is not None:
        assert scale.values.tolist() == numbers.tolist()


def test_what_was_found_in_the_data_is_not_declared(domain: Domain) -> None:
    assert (domain.declared() is None) == domain.derived
    assert (domain.public_tree() is None) == (not domain.hierarchical)


def test_the_axis_is_a_line_or_a_tree(domain: Domain) -> None:
    axis = domain.axis(sets=True)
    assert axis["size"] == domain.size
    assert ("position" in axis) == domain.ordered == (not domain.children) == (not domain.named_ranges)
    assert axis.get("sets", False) == (domain.hierarchical and not domain.ordered)


def test_a_missing_value_is_added_once_and_goes_when_nobody_has_it(domain: Domain) -> None:
    added = domain.with_missing()
    assert added.leaves == (*(v for v in domain.leaves if v != MISSING), MISSING)
    assert added.with_missing().leaves == added.leaves
    assert added.missing_apart == (added.ordered or added.measured)
    kept = np.array([leaf != MISSING for leaf in added.leaves])
    assert added.observed(kept).leaves == added.leaves[:-1]


def test_values_that_nobody_has_leave_a_found_domain(domain: Domain) -> None:
    assert domain.observed(np.ones(domain.size, np.bool_)).leaves == domain.leaves
    if domain.derived:
        kept = np.arange(domain.size) != 1
        assert domain.observed(kept).leaves == tuple(v for v in domain.leaves if v != domain.leaves[1])


def test_published_types(domain: Domain) -> None:
    values = domain.typed_values()
    assert (values is None) == (not (domain.ordered and domain.measured))
    if values is not None:
        assert len(values) == domain.size
        assert values.null_count() == domain.missing_apart


def test_levels_begin_with_the_values_and_end_with_one_node(domain: Domain) -> None:
    levels = domain.levels()
    assert [domain.node_label(node).label for node in levels[0].tolist()] == list(domain.leaves)
    assert len(set(levels[-1].tolist())) == 1
    assert domain.node_label(int(levels[-1][0])).share == pytest.approx(1)
    for finer, coarser in pairwise(levels):
        assert len(set(zip(finer.tolist(), coarser.tolist(), strict=True))) == len(set(finer.tolist()))


def test_only_lines_of_numbers_spare_single_rows(domain: Domain) -> None:
    spared = domain.sparing(np.ones(domain.size, np.int64))
    assert spared.leaves == domain.leaves
    assert (spared is domain) == (not domain.ordered)
    assert len(domain.height) == len(domain.children)
