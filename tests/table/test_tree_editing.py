"""Edits of trees: no value is ever lost, every result is a taxonomy, and each edit does what it says."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.table.hierarchy import from_arx_csv, to_arx_csv
from sfumato.table.taxonomy import Taxonomy
from sfumato.table.tree_editing import add, coverage, flat_tree, group, move, rename, subtrees, ungroup

TREE = {"Any": {"Work": {"Nurse": {}, "Trade": {"Cook": {}, "Smith": {}}}, "None": {}}}


def leaves(tree: dict[str, Any]) -> set[str]:
    return {path[-1] for path, below in subtrees(tree) if not below}


def parent_of(tree: dict[str, Any], label: str) -> str:
    return next(path[-2] for path, _ in subtrees(tree) if path[-1] == label)


@st.composite
def edits(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A tree that came out of several edits, and the one before the last."""
    tree = before = flat_tree([f"v{i}" for i in range(draw(st.integers(1, 6)))])
    for step in range(draw(st.integers(1, 8))):
        every = [path[-1] for path, _ in subtrees(tree)]
        one, other = draw(st.sampled_from(every)), draw(st.sampled_from(every))
        kind = draw(st.sampled_from(["group", "ungroup", "move", "rename"]))
        try:
            changed = {
                "group": lambda o=one, p=other, t=tree, s=step: group(t, [o, p], f"g{s}"),
                "ungroup": lambda o=one, t=tree: ungroup(t, o),
                "move": lambda o=one, p=other, t=tree: move(t, o, p),
                "rename": lambda o=one, t=tree, s=step: rename(t, o, f"r{s}"),
            }[kind]()
        except DataError:
            continue
        before, tree = tree, changed
    return before, tree


@given(edits())
@settings(max_examples=200, deadline=None)
def test_edits_keep_every_value_and_give_taxonomies(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    before, after = pair
    assert leaves(after) == leaves(before)
    taxonomy = Taxonomy.from_tree(after)
    assert taxonomy.to_tree() == after
    read = from_arx_csv(to_arx_csv(taxonomy))
    assert {frozenset(taxonomy.leaves[lo:hi]) for lo, hi in taxonomy.named_ranges.values()} >= {
        frozenset(read.leaves[lo:hi]) for lo, hi in read.named_ranges.values()
    }


def test_group_takes_nodes_from_several_places() -> None:
    made = group(TREE, ["None", "Cook"], "Odd")
    assert made == {"Any": {"Odd": {"Cook": {}, "None": {}}, "Work": {"Nurse": {}, "Trade": {"Smith": {}}}}}
    assert TREE["Any"]["None"] == {}, "the tree that was given is unchanged"


def test_group_of_a_group_and_its_member_keeps_the_group_whole() -> None:
    assert group(TREE, ["Trade", "Cook"], "G")["Any"]["Work"] == {
        "Nurse": {},
        "G": {"Trade": {"Cook": {}, "Smith": {}}},
    }


def test_a_group_that_is_left_empty_vanishes() -> None:
    assert move(move(TREE, "Cook", "Work"), "Smith", "Work")["Any"]["Work"] == {"Nurse": {}, "Cook": {}, "Smith": {}}
    made = group(TREE, ["Cook", "Smith"], "Hands")
    assert made["Any"]["Work"]["Trade"] == {"Hands": {"Cook": {}, "Smith": {}}}
    assert move(move(TREE, "Cook", "Any"), "Smith", "Any") == {
        "Any": {"Work": {"Nurse": {}}, "None": {}, "Cook": {}, "Smith": {}}
    }


def test_move_and_ungroup() -> None:
    moved = move(TREE, "Trade", "Any")
    assert parent_of(moved, "Trade") == "Any"
    assert parent_of(moved, "Cook") == "Trade"
    assert move(TREE, "Nurse", "Work")["Any"]["Work"] == {"Trade": {"Cook": {}, "Smith": {}}, "Nurse": {}}
    assert ungroup(TREE, "Work")["Any"] == {"Nurse": {}, "Trade": {"Cook": {}, "Smith": {}}, "None": {}}


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda: group(TREE, ["Nurse"], "Cook"), "already has 'Cook'"),
        (lambda: group(TREE, ["Nurse"], " "), "needs a name"),
        (lambda: group(TREE, [], "G"), "choose some"),
        (lambda: group(TREE, ["Any"], "G"), "choose some"),
        (lambda: group(TREE, ["Nuse"], "G"), "no 'Nuse'.*Nurse"),
        (lambda: move(TREE, "Work", "Trade"), "below itself"),
        (lambda: move(TREE, "Work", "Work"), "below itself"),
        (lambda: move(TREE, "Cook", "Nurse"), "a value of the data"),
        (lambda: move(TREE, "Any", "Work"), "root"),
        (lambda: rename(TREE, "Cook", "Chef"), "only groups"),
        (lambda: rename(TREE, "Work", "None"), "already has"),
        (lambda: ungroup(TREE, "Any"), "the root"),
        (lambda: ungroup(TREE, "Cook"), "a value"),
        (lambda: move({"Any": {"a": {"b": {}}, "b": {}}}, "a", "Any"), "twice"),
    ],
)
def test_what_is_not_a_tree_is_refused(edit: Any, why: str) -> None:
    with pytest.raises(DataError, match=why):
        edit()


def test_coverage_and_adding_what_is_lacking() -> None:
    found = coverage(Taxonomy.from_tree(TREE), ["Cook", "Nurse", "Baker", "(missing)"])
    assert (found.lacking, found.unused, found.values) == (("Baker",), ("Smith", "None"), 3)
    assert found.share == pytest.approx(2 / 3)
    fuller = add(TREE, [*found.lacking, "Cook", "(missing)"])
    assert leaves(fuller) == leaves(TREE) | {"Baker"}
    assert coverage(Taxonomy.from_tree(fuller), ["Baker"]).share == 1
