"""Labels that are named many at once against those named one by one, and what they say about a domain."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.engine.local import recode
from sfumato.kernel.axes import CHILD, Axis, make_space
from sfumato.release.label_meaning import finite_ends, read, stated_ends
from sfumato.release.scheme.group_labels import Shown, told_apart
from sfumato.release.scheme.sampling import show_boxes
from sfumato.table.domain import Domain
from sfumato.table.encode import Column, Kind, Role
from sfumato.table.hierarchy import read_taxonomy
from sfumato.table.ordered_domain import OrderedDomain
from sfumato.table.taxonomy import Taxonomy
from strategies import examples, trees

NUMBERS = st.one_of(
    st.integers(0, 30).map(float), st.integers(-40, 40).map(lambda v: v / 10), st.floats(allow_nan=False, width=64)
).filter(lambda v: abs(v) < 1e300)


@st.composite
def lines(draw: st.DrawFn) -> OrderedDomain:
    """Numbers, days or words, some of which perhaps only one row has, and perhaps a missing value."""
    form, missing = draw(st.sampled_from(["number", "date", "word"])), draw(st.booleans())
    if form == "word":
        return OrderedDomain.of_words(draw(st.lists(st.text(max_size=3), min_size=1, unique=True)), missing=missing)
    values = st.integers(-1000, 20_000).map(float) if form == "date" else NUMBERS.map(lambda v: v + 0.0)
    found = sorted(draw(st.lists(values, min_size=1, max_size=9, unique=True)))
    line = (OrderedDomain.of_days if form == "date" else OrderedDomain.of_numbers)(found, missing=missing)
    rows = draw(st.none() | st.lists(st.integers(1, 2), min_size=line.size, max_size=line.size))
    return line if rows is None else line.sparing(np.array(rows))


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    """A line; a tree, one without levels, perhaps of the values that are left; or intervals of numbers."""
    kind = draw(st.sampled_from(["line", "tree", "flat", "intervals"]))
    if kind == "line":
        return draw(lines())
    if kind == "intervals":
        texts = [str(v) for v in sorted(draw(st.sets(st.integers(0, 60), min_size=1, max_size=8)))]
        found: Taxonomy = read_taxonomy({"width": 5}, texts, name="age")
        return found.with_missing() if draw(st.booleans()) else found
    if kind == "tree":
        return Taxonomy.from_tree(draw(trees(most=8, least=2)))
    flat = Taxonomy.flat([f"v{i}" for i in range(draw(st.integers(1, 70)))])
    kept = np.array(draw(st.lists(st.booleans(), min_size=flat.size, max_size=flat.size)))
    return flat.observed(kept) if kept.any() else flat


def box_of(domain: Domain, draw: st.DrawFn) -> tuple[int, int, int, int]:
    """A box as kernels tell it: a range of a line, a single leaf, or a node and perhaps some of its children."""
    lo, hi = sorted(draw(st.tuples(*[st.integers(0, domain.size - 1)] * 2)))
    if domain.ordered or lo == hi:
        return lo, hi, 0, 0
    assert isinstance(domain, Taxonomy)
    node = domain.cover(lo, hi + 1)
    sets = not domain.shown_or_suppressed and len(domain.children[node]) <= 63
    return -1, -1, node, draw(st.integers(0, 2 ** len(domain.children[node]) - 1)) if sets else 0


@examples(200)
@given(st.data())
def test_many_boxes_are_shown_like_each_of_them(data: st.DataObject) -> None:
    domain = data.draw(domains())
    boxes = [box_of(domain, data.draw) for _ in range(data.draw(st.integers(0, 12)))]
    found = domain.boxes(np.array(boxes, np.int64).reshape(-1, 4).T)
    one_by_one = [domain.box(*box) for box in boxes]
    assert found.labels == [box.label for box in one_by_one]
    assert found.meanings == [box.meaning for box in one_by_one]
    assert found.shares.tolist() == [box.share for box in one_by_one]


def covered_one_by_one(domain: Taxonomy, lo: int, hi: int) -> tuple[str, list[str] | None]:
    """How a range of a tree without levels is shown, by the nodes that it has."""
    whole = [node for node in range(len(domain.labels)) if (domain.lo[node], domain.hi[node]) == (lo, hi)]
    leaf = [node for node in whole if node in domain.leaf_nodes]
    label = domain.labels[whole[0]]
    return label, [label] if leaf and leaf[0] == whole[0] else None


@examples(100)
@given(st.data())
def test_ranges_of_a_sample_are_shown_and_ranked_one_by_one(data: st.DataObject) -> None:
    domain = data.draw(domains().filter(lambda d: not d.missing_apart))
    if domain.shown_or_suppressed:
        pairs = st.sampled_from([*((code, code + 1) for code in range(domain.size)), (0, domain.size)])
    else:
        pairs = st.tuples(*[st.integers(0, domain.size)] * 2).map(sorted).filter(lambda p: p[0] < p[1])
    boxes = data.draw(st.lists(pairs, min_size=1, max_size=12))
    lo, hi = np.array(boxes, np.int64).T
    shown = show_boxes(Column("q", Role.QUASI, Kind.CATEGORICAL, domain, np.zeros(1, np.uint8)), lo, hi)
    ends, wanted = sorted({end for box in boxes for end in box}), sorted({(int(a), int(b)) for a, b in boxes})
    assert [wanted[g] for g in shown.of_group] == [tuple(box) for box in boxes]
    for i, (a, b) in enumerate(wanted):
        label, meaning = domain.range_label(a, b)
        if isinstance(domain, Taxonomy) and domain.shown_or_suppressed:
            assert (label, meaning) == covered_one_by_one(domain, a, b)
        assert shown.meanings[i] == meaning
        assert shown.labels[i].startswith(label)
        assert shown.shares[i] == (0.0 if b - a == 1 else (b - a) / domain.size)
        assert shown.ranges is not None
        if shown.labels.count(shown.labels[i]) == 1:
            assert shown.ranges[shown.labels[i]] == [ends.index(a), ends.index(b)]


@examples(100)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "*"]), st.sampled_from([None, ["a"], ["b"]])), max_size=6))
def test_labels_are_told_apart_by_what_they_mean(named: list[tuple[str, Any]]) -> None:
    labels, meanings = [n[0] for n in named], [n[1] for n in named]
    found = told_apart(list(labels), meanings)
    for i in range(len(named)):
        assert found[i] == labels[i] or labels.count(labels[i]) > 1
        for k in range(len(named)):
            assert (found[i] == found[k]) == (labels[i] == labels[k] and meanings[i] == meanings[k])
    shown = Shown("q", found, meanings, np.zeros(len(found)), np.arange(len(found)))
    number = shown.numbered()
    assert all((number[i] == number[k]) == (found[i] == found[k]) for i in range(len(found)) for k in range(len(found)))
    assert list(shown.nodes.items()) == sorted(dict(zip(found, meanings, strict=True)).items(), key=lambda n: n[0])


MEANINGS = st.one_of(
    st.none(),
    st.tuples(st.floats(), st.floats()).map(list),
    st.tuples(st.none() | st.integers(0, 9).map(float), st.integers(10, 19).map(float)).map(list),
    st.lists(st.integers(0, 99).map(str), min_size=1, max_size=3),
    st.just(["1970-01-02", "1970-01-05"]),
)


@examples(200)
@given(st.dictionaries(st.text(max_size=3), MEANINGS, max_size=6))
def test_ends_are_those_of_the_labels_read_one_by_one(nodes: dict[str, Any]) -> None:
    nodes = {f"[{m[0]}, {m[1]})" if m and str(m[0]).startswith("1970") else label: m for label, m in nodes.items()}
    assert stated_ends(nodes) == finite_ends(read(nodes))


@examples(100)
@given(st.lists(domains(), min_size=1, max_size=3))
def test_the_children_of_a_space_are_those_of_its_trees(found: list[Domain]) -> None:
    space = make_space([Axis(**domain.axis(sets=True)) for domain in found])
    node, first = 0, 0
    for domain in found:
        for below in domain.children:
            last = int(space.nodes[node + 1, CHILD])
            assert int(space.nodes[node, CHILD]) == first
            assert space.child[first:last].tolist() == list(below)
            node, first = node + 1, last
        if isinstance(domain, Taxonomy):
            deepest = {int(domain.lo[n]): n for n in range(len(domain.labels)) if domain.hi[n] - domain.lo[n] == 1}
            assert domain.leaf_nodes.tolist() == [deepest[code] for code in range(domain.size)]
            assert [n for n in range(len(domain.labels)) if domain.is_leaf(n)] == sorted(deepest.values())
    assert (node + 1, first) == (len(space.nodes), len(space.child))


@examples(100)
@given(st.data())
def test_a_column_of_labels_has_those_that_are_shown_in_text_order(data: st.DataObject) -> None:
    labels = data.draw(st.lists(st.text("abc", max_size=2), min_size=1, max_size=8))
    codes: NDArray[np.int64] = np.array(data.draw(st.lists(st.integers(0, len(labels) - 1), max_size=9)), np.int64)
    series = recode("q", labels, codes)
    assert series.to_list() == [labels[code] for code in codes]
    assert series.dtype.categories.to_list() == sorted({labels[code] for code in codes})  # type: ignore[attr-defined]
