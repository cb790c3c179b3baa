"""What an analyst makes of labels, against a naive spreading of every row."""

import datetime as dt
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.engine.local import tally_of
from sfumato.method.mondrian import Mondrian
from sfumato.release.release import Release
from sfumato.report.distributions import BeforeAfter, before_after, plain
from sfumato.report.scale import date_scale, number_scale
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.table.microdata import Microdata, read

TREE = {"Any": {"Left": ["a", "b", "c"], "Right": {"Deep": ["d", "e"], "f": {}}}}


def reported(table: Microdata, release: Release, name: str) -> BeforeAfter:
    labels = Counter(release.tables["data"][name].cast(pl.String).to_list())
    entry = release.description.labelled.get(name)
    return before_after(table[name], entry.nodes if entry else {}, labels)


@given(values=st.lists(st.sampled_from("abcdef"), min_size=4, max_size=40), k=st.integers(1, 4))
@settings(deadline=None, max_examples=40)
def test_twin_for_trees(values: list[str], k: int) -> None:
    """Each row of a label counts for one part in so many of each value that the manifest lists."""
    table = read(pl.DataFrame({"x": values}), quasi=["x"], taxonomies={"x": TREE})
    release = Mondrian().publish(table, [KAnonymity(k=k)])
    nodes = release.manifest["attributes"]["x"]["nodes"]
    expected: Counter[str] = Counter()
    for label in release.tables["data"]["x"]:
        for value in nodes[label]:
            expected[value] += 1 / len(nodes[label]) / len(values)
    found = reported(table, release, "x")
    after = found.before if found.after is None else found.after
    assert dict(zip(found.labels, after, strict=True)) == pytest.approx({v: expected[v] for v in "abcdef"})
    assert found.before.sum() == pytest.approx(1)
    counts = Counter(values)
    apart = sum(abs(counts[v] / len(values) - expected[v]) for v in "abcdef") / 2
    assert found.apart == pytest.approx(apart, abs=1e-9)


@given(values=st.lists(st.integers(-50, 300), min_size=3, max_size=40), k=st.integers(1, 3))
@settings(deadline=None, max_examples=40)
def test_twin_for_numbers(values: list[int], k: int) -> None:
    """Each row of an interval lies evenly in it: whole numbers fill the bins one by one."""
    values = [*values, min(values), max(values)]  # where one row has an end, it is not told
    table = read(pl.DataFrame({"x": values}), quasi=["x"])
    release = Mondrian().publish(table, [KAnonymity(k=k)])
    nodes = release.manifest["attributes"]["x"]["nodes"]
    assume(not any(None in ends for ends in nodes.values() if ends))  # nor where it is a neighbour of the extremes
    found = reported(table, release, "x")
    edges = [float(e) for e in found.edges]
    expected = np.zeros(len(edges) - 1)
    for label in release.tables["data"]["x"]:
        low, high = nodes[label]
        for number in range(int(low), int(high)):
            place = min(max(int(np.searchsorted(edges, number, side="right")) - 1, 0), len(expected) - 1)
            expected[place] += 1 / (high - low) / len(values)
    after = found.before if found.after is None else found.after
    assert after == pytest.approx(expected)
    assert found.before.sum() == pytest.approx(1)


def test_nothing_generalized_changes_nothing() -> None:
    """Where every label is a value itself, the distribution is the same to the last row."""
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i // 2 * 9) for i in range(40)]
    frame = pl.DataFrame({"n": [i // 2 for i in range(40)], "d": days, "c": [f"v{i // 2}" for i in range(40)]})
    for name in frame.columns:
        table = read(frame, quasi=[name])
        release = Mondrian().publish(table, [KAnonymity(k=1)])
        found = reported(table, release, name)
        assert found.after is None
        assert found.apart == 0


def test_one_group_is_spread_over_everything() -> None:
    table = read(pl.DataFrame({"n": [0, 0, 0, 9]}), quasi=["n"])
    found = reported(table, Mondrian().publish(table, [KAnonymity(k=4)]), "n")
    assert found.after is not None
    assert found.after == pytest.approx([0.1] * 10)
    assert found.apart == pytest.approx(0.75 + 0.25 - 0.2)


def test_suppressed_values_without_a_tree() -> None:
    table = read(pl.DataFrame({"job": ["cook", "cook", "cook", "nurse"]}), quasi=["job"])
    found = reported(table, Mondrian().publish(table, [KAnonymity(k=4)]), "job")
    assert found.labels == ("cook", "nurse")
    assert found.after is not None
    assert found.after.tolist() == [0.5, 0.5]


def test_missing_values_stand_apart() -> None:
    table = read(pl.DataFrame({"n": [1, 2, 1, 2, None, None]}), quasi=["n"], missing="category")
    found = reported(table, Mondrian().publish(table, [KAnonymity(k=2)]), "n")
    assert found.labels[-1] == "(missing)"
    assert found.before[-1] == pytest.approx(1 / 3)
    assert (found.before if found.after is None else found.after)[-1] == pytest.approx(1 / 3)


def test_declared_intervals_are_the_bars() -> None:
    """Nothing finer than a declared interval is published, so that nothing finer is compared; all of them are bars."""
    table = read(pl.DataFrame({"n": [1, 2, 3, 14]}), quasi=["n"], taxonomies={"n": {"intervals": [0, 10, 20, 30]}})
    found = reported(table, Mondrian(labels="nodes").publish(table, [KAnonymity(k=4)]), "n")
    assert found.labels == ("[0, 10)", "[10, 20)", "[20, 30)")
    assert found.before.tolist() == [0.75, 0.25, 0]
    assert found.after is not None
    assert found.after.tolist() == pytest.approx([1 / 3] * 3), "one group of four: spread over all that is declared"


def test_sets_of_masked_codes_are_read_by_the_tree() -> None:
    codes = ["10", "11", "20", "21", "30", "31"]
    table = read(pl.DataFrame({"zip": codes}), quasi=["zip"], taxonomies={"zip": {"mask": "right"}})
    nodes = {"{1*, 2*}": ["1*", "2*"], "3*": None}
    found = before_after(table["zip"], nodes, {"{1*, 2*}": 4, "3*": 2})
    assert found.after is None, "four rows over four codes and two over two give what there was"
    skewed = before_after(table["zip"], nodes, {"{1*, 2*}": 2, "3*": 4})
    assert skewed.after is not None
    assert dict(zip(skewed.labels, skewed.after, strict=True))["30"] == pytest.approx(2 / 6)


def test_a_set_with_a_gap_is_spread_over_its_parts_only() -> None:
    """``{1, 3}`` is named by its values, since no interval holds them alone; so are intervals."""
    table = read(pl.DataFrame({"n": [1, 3, 4, 4]}), quasi=["n"], taxonomies={"n": {"width": 5}})
    release = Mondrian().publish(table, [KAnonymity(k=2)])
    assert before_after(table["n"], {"4": [4.0, 5.0], "{1, 3}": ["1", "3"]}, {"{1, 3}": 2, "4": 2}).after is None
    assert set(release.manifest["attributes"]["n"]["nodes"]) == {"4", "[0, 5)"}, "no value of one person is named"
    wide = read(pl.DataFrame({"n": [5, 25, 15]}), quasi=["n"], taxonomies={"n": {"intervals": [0, 10, 20, 30]}})
    label, nodes = "{[0, 10), [20, 30)}", ["[0, 10)", "[20, 30)"]
    found = before_after(wide["n"], {label: nodes, "[10, 20)": [10.0, 20.0]}, {label: 1, "[10, 20)": 2})
    assert found.after is not None
    assert dict(zip(found.labels, found.after, strict=True)) == pytest.approx(
        {"[0, 10)": 1 / 6, "[10, 20)": 2 / 3, "[20, 30)": 1 / 6}
    )


def test_many_categories_are_shortened_but_counted_in_full() -> None:
    values = [f"v{i}" for i in range(40) for _ in range(40 - i)]
    found = plain(tally_of(pl.Series("x", values)))
    assert found is not None
    assert found.rest
    assert found.labels[0] == "v0"
    assert found.labels[-1] == "28 others"
    assert found.before.sum() == pytest.approx(1)


def test_far_off_values_do_not_flatten_the_rest() -> None:
    found = plain(tally_of(pl.Series("x", [*range(1000), 10**12])))
    assert found is not None
    assert found.open_ends == (False, True)
    assert found.before.sum() == pytest.approx(1)
    assert len(found.before) > 10


@pytest.mark.parametrize("values", [[[1], [2]], [dt.timedelta(1)], [b"x"]])
def test_types_without_a_distribution(values: list[object]) -> None:
    assert plain(tally_of(pl.Series("x", values))) is None


@given(
    values=st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=1, max_size=50),
    step=st.sampled_from([0.0, 1.0]),
)
@settings(deadline=None)
def test_number_scales_hold_every_value(values: list[float], step: float) -> None:
    numbers = np.unique(np.round(values) if step else np.array(values))
    scale = number_scale(numbers, np.ones(len(numbers)), step)
    assert 1 <= len(scale.edges) - 1 <= 28
    assert len(scale.texts) == len(scale.edges)
    assert scale.count(numbers, np.ones(len(numbers))).sum() == len(numbers)
    if scale.open_ends == (False, False):
        slack = 1e-9 * max(1.0, float(np.abs(numbers).max()))
        assert scale.edges[0] <= numbers[0] + slack
        assert scale.edges[-1] >= numbers[-1] - slack


@given(first=st.integers(-200_000, 200_000), span=st.integers(0, 100_000))
@settings(deadline=None)
def test_date_scales_hold_every_day(first: int, span: int) -> None:
    scale = date_scale(np.array([first, first + span], np.float64))
    assert scale.edges[0] <= first
    assert scale.edges[-1] > first + span
    assert (np.diff(scale.edges) > 0).all()
    assert len(set(scale.texts)) == len(scale.texts) <= 28
