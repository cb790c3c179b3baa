"""Trees of values: ranges in depth-first order, one place for each value, and what is refused."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.table.taxonomy import SUPPRESSED, Taxonomy, named
from sfumato.table.tree_forms import from_paths, masked
from strategies import Tree, examples, find, height, leaves, path, trees


@given(trees(most=15, deepest=5))
@examples(150)
def test_every_node_is_a_range_of_leaves(tree: Tree) -> None:
    t = Taxonomy.from_tree(tree)
    assert list(t.leaves) == leaves(tree)
    assert (int(t.lo[0]), int(t.hi[0]), t.parent[0]) == (0, len(leaves(tree)), -1)
    assert t.size == len(t.leaves) == len(t.leaf_nodes)
    for node in range(len(t.labels)):
        below = t.children[node]
        assert 0 <= t.lo[node] < t.hi[node] <= t.size
        assert all(t.parent[c] == node and c > node for c in below)
        if below:
            assert t.lo[below[0]] == t.lo[node]
            assert t.hi[below[-1]] == t.hi[node]
            assert all(t.hi[a] == t.lo[b] for a, b in pairwise(below))
        else:
            assert t.hi[node] - t.lo[node] == 1
    assert t.to_tree() == tree


@given(trees(most=15, deepest=5))
@examples(100)
def test_paths_heights_and_covers(tree: Tree) -> None:
    t = Taxonomy.from_tree(tree)
    assert int(t.height[0]) == height(tree)
    for code, leaf in enumerate(t.leaves):
        above = path(tree, leaf) or []
        assert t.path(code) == above[::-1]
        for end in range(code + 1, t.size + 1):
            inside = t.leaves[code:end]
            node = t.cover(code, end)
            assert set(inside) <= set(t.leaves[t.lo[node] : t.hi[node]])
            lower = [c for c in t.children[node] if t.lo[c] <= code and end <= t.hi[c]]
            assert lower == []  # nothing lower contains them
            assert height(find(tree, t.path(code)[::-1][: len(_above(t, node)) + 1])) == t.height[node]


def _above(t: Taxonomy, node: int) -> list[int]:
    above = []
    while t.parent[node] >= 0:
        node = int(t.parent[node])
        above.append(node)
    return above


@given(trees(most=12), st.data())
@examples(60)
def test_labels_of_sets(tree: Tree, data: st.DataObject) -> None:
    t = Taxonomy.from_tree(tree)
    inner = [n for n in range(len(t.labels)) if t.children[n]]
    node = data.draw(st.sampled_from(inner))
    mask = data.draw(st.integers(1, 2 ** len(t.children[node]) - 1))
    chosen = [c for bit, c in enumerate(t.children[node]) if mask >> bit & 1]
    assert t.label(node) == t.labels[node]
    assert t.label(node, mask) == "{" + ", ".join(t.labels[c] for c in chosen) + "}"
    expected = [leaf for c in chosen for leaf in t.leaves[t.lo[c] : t.hi[c]]]
    assert [t.leaves[c] for c in t.codes_of(node, mask)] == expected
    assert [t.leaves[c] for c in t.codes_of(node)] == list(t.leaves[t.lo[node] : t.hi[node]])


@given(trees(most=12), st.text(max_size=5))
@examples(60)
def test_one_more_leaf(tree: Tree, value: str) -> None:
    t = Taxonomy.from_tree(tree)
    more = t.with_leaf(value)
    assert more.leaves == (*t.leaves, value)
    assert more.labels[: len(t.labels)] == t.labels
    assert more.labels[more.cover(0, more.size)] == t.labels[0]
    assert more.with_leaf(value) is more
    assert t.size + 1 == more.size
    assert len(t.leaves) == t.size  # the first is as it was


def test_one_more_leaf_of_a_single_value() -> None:
    for single in (Taxonomy.flat(["a"]), Taxonomy.from_tree({"a": {}})):
        more = single.with_leaf("b")
        assert more.leaves == ("a", "b")
        assert more.labels[0] == SUPPRESSED
        assert more.shown_or_suppressed == single.shown_or_suppressed


@given(st.lists(st.text(max_size=6), min_size=1, max_size=8, unique=True))
@examples(60)
def test_flat(values: list[str]) -> None:
    t = Taxonomy.flat(values)
    assert t.leaves == tuple(values)
    assert t.shown_or_suppressed
    assert t.size == len(values)
    assert [t.cover(i, i + 1) for i in range(t.size)] == t.leaf_nodes.tolist()
    if len(values) > 1:
        assert t.labels[t.cover(0, 2)] == SUPPRESSED
        assert t.height.tolist() == [1] + [0] * len(values)


# --- forms -----------------------------------------------------------------------------------------------

ONE: list[Any] = [
    {"Any": {"Work": ["Nurse", "Cook"], "None": {}}},
    {"Any": {"Work": {"Nurse": {}, "Cook": {}}, "None": {}}},
    {"Any": [{"Work": ["Nurse", "Cook"]}, "None"]},
    {"Any": {"Work": [{"Nurse": None}, {"Cook": []}], "None": ""}},
    {"Any": {"Work": ("Nurse", "Cook"), "None": None}},
]


@pytest.mark.parametrize("tree", ONE)
def test_the_same_tree_in_every_form(tree: Any) -> None:
    t = Taxonomy.from_tree(tree)
    assert t.to_tree() == ONE[1]
    assert t.labels == ("Any", "Work", "Nurse", "Cook", "None")


def test_several_roots_and_numbers() -> None:
    assert Taxonomy.from_tree({"a": {}, "b": ["c"]}).to_tree() == {"*": {"a": {}, "b": {"c": {}}}}
    assert Taxonomy.from_tree({"Any": [1, 2.5, "x"]}).leaves == ("1", "2.5", "x")
    assert Taxonomy.from_tree({"Any": {1: [2, 3]}}).leaves == ("2", "3")  # type: ignore[dict-item]


def test_a_chain_of_single_children() -> None:
    """A level that says nothing new, as ARX writes it, is a node with one child."""
    t = Taxonomy.from_tree({"Any": {"a": {"b": {"c": {}}}, "d": {}}})
    assert t.leaves == ("c", "d")
    assert t.path(0) == ["c", "b", "a", "Any"]
    assert t.height[0] == 3
    assert t.labels[t.cover(0, 1)] == "c"


REFUSED: dict[str, tuple[Any, str]] = {
    "leaf twice below one node": ({"Any": ["a", "a"]}, "'a' twice"),
    "leaf twice in two places": ({"Any": {"x": ["a"], "y": ["a"]}}, "'a' twice"),
    "a leaf named as a node elsewhere": ({"Any": {"x": ["a", "b"], "y": ["x"]}}, "'x' twice"),
    "node twice": ({"Any": {"x": {"n": ["a"]}, "y": {"n": ["b"]}}}, "'n' twice"),
    "a leaf named as its parent": ({"Any": {"x": ["x", "b"]}}, "'x'"),
    "a node below itself": ({"Any": {"x": {"y": {"x": ["a", "b"]}, "z": {}}}}, "cycle"),
    "the root below itself": ({"Any": {"x": {"Any": ["a", "b"]}, "c": {}}}, "cycle"),
    "a number for children": ({"Any": {"x": 5}}, "5"),
    "a text for children": ({"Any": {"x": "abc"}}, "'abc'"),
    "nothing in a list": ({"Any": ["a", None]}, "None"),
    "a list in a list": ({"Any": ["a", ["b"]]}, r"\['b'\]"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    tree, told = REFUSED[case]
    with pytest.raises(DataError, match=told) as error:
        Taxonomy.from_tree(tree, what="the taxonomy of 'job'")
    assert "the taxonomy of 'job'" in str(error.value)


def test_too_deep() -> None:
    tree: Any = {}
    for level in range(150):
        tree = {f"n{level}": tree}
    with pytest.raises(DataError, match="deeper than 100"):
        Taxonomy.from_tree(tree)
    deepest: Any = {}
    for level in range(5000):
        deepest = {f"n{level}": deepest}
    with pytest.raises(DataError, match="deep"):
        Taxonomy.from_tree(deepest)


@given(trees(most=12, deepest=4))
@examples(60)
def test_from_paths(tree: Tree) -> None:
    t = Taxonomy.from_tree(tree)
    again = from_paths((t.path(code)[:-1] for code in range(t.size)), what="it", root=t.labels[0])
    assert again.to_tree() == tree


def test_from_paths_refuses_a_leaf_in_two_rows() -> None:
    with pytest.raises(DataError, match="'a' in two rows"):
        from_paths([["a", "x"], ["b", "x"], ["a", "x"]], what="zip")
    with pytest.raises(DataError, match="'a' in two rows"):
        from_paths([["a", "x"], ["a", "y"]], what="zip")


# --- masks -----------------------------------------------------------------------------------------------


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.text("0123456789ab-", min_size=n, max_size=n), min_size=1, max_size=20, unique=True)
    ),
    st.sampled_from(["right", "left"]),
)
@examples(100)
def test_masks(values: list[str], side: str) -> None:
    t = masked(values, side, what="zip")
    assert sorted(t.leaves) == sorted(values)
    n = len(values[0])
    for code, value in enumerate(t.leaves):
        hidden = [value[: n - i] + "*" * i if side == "right" else "*" * i + value[i:] for i in range(n)]
        assert t.path(code) == [*hidden, "*"]
    for node, label in enumerate(t.labels):
        if node == 0:
            continue
        kept = label.rstrip("*") if side == "right" else label.lstrip("*")
        under = [v for v in values if (v.startswith(kept) if side == "right" else v.endswith(kept))]
        assert sorted(t.leaves[t.lo[node] : t.hi[node]]) == sorted(under)


def test_masks_of_different_length_are_refused() -> None:
    with pytest.raises(DataError, match="differ in length") as error:
        masked(["471", "4711"], "right", what="'zip'")
    assert "'471'" in str(error.value)
    assert "'4711'" in str(error.value)


def test_a_code_that_holds_a_star_is_refused() -> None:
    """A code that was masked before (`47*`) would stand for two sets of values."""
    with pytest.raises(DataError, match=r"47\*"):
        masked(["471", "47*"], "right", what="zip")


def test_named() -> None:
    assert named(range(3)) == "'0', '1', '2'"
    assert named(range(9)) == "'0', '1', '2', '3', '4' and 4 more"


def test_wide_trees() -> None:
    t = Taxonomy.flat([str(i) for i in range(70_000)])
    assert t.labels[t.cover(0, 70_000)] == "*"
    assert t.leaf_nodes.dtype == np.int32
    assert t.leaves[69_999] == "69999"
