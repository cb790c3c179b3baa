"""What every release of Mondrian must have, checked by means that share nothing with it."""

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError
from sfumato.kernel.mondrian import partition
from sfumato.method.base import silent
from sfumato.method.catalogue import from_table
from sfumato.method.mondrian import Mondrian
from sfumato.release.judgement import bind
from sfumato.release.release import Release
from sfumato.requirement.base import Requirement
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.table.microdata import read
from sfumato.table.ordered_domain import MISSING
from strategies import LineAxis, Row, Sample, TreeAxis, examples, leaves, policies, samples, satisfies

methods = st.builds(Mondrian, strict=st.booleans(), labels=st.sampled_from(["siblings", "nodes"]))


def publish(sample: Sample, required: Sequence[Requirement], method: Mondrian | None = None) -> Release:
    try:
        return (method or Mondrian()).publish(sample.read(), list(required))
    except Infeasible:
        assume(False)
        raise


def classes(release: Release, names: Sequence[str]) -> list[list[int]]:
    """The groups of the released table by an independent group-by, as original row numbers."""
    data = release.tables["data"].with_columns(pl.col(n).cast(pl.String) for n in names)
    return data.group_by(list(names)).agg("row")["row"].to_list()


# --- the guarantee -------------------------------------------------------------------------------------


@given(samples(), policies(3), methods)
@examples(120)
def test_release_satisfies_what_is_required(sample: Sample, required: list[Requirement], method: Mondrian) -> None:
    release = publish(sample, required, method)
    rows = sample.facts.rows
    for group in classes(release, sample.quasi):
        for requirement in required:
            assert satisfies(requirement, [rows[i] for i in group], sample.facts), requirement.words()
    assert [f.status for f in release.check() if f.status == "broken"] == []


@given(samples(), methods, st.integers(1, 5))
@examples(60)
def test_nothing_but_labels_changes(sample: Sample, method: Mondrian, k: int) -> None:
    release = publish(sample, [KAnonymity(k=k)], method)
    data, rows = release.tables["data"], sample.facts.rows
    assert data.height == len(rows) == release.manifest["rows"]
    assert data.columns == [*sample.quasi, "ill", "row"]
    assert sorted(data["row"]) == list(range(len(rows)))
    assert Counter(data["ill"]) == Counter(row["ill"] for row in rows)
    for row, ill in data.select("row", "ill").iter_rows():
        assert rows[row]["ill"] == ill


# --- quality -------------------------------------------------------------------------------------------


def final_groups(sample: Sample, required: Sequence[Requirement], method: Mondrian) -> list[list[Row]]:
    table = sample.read()
    try:
        bound = bind(list(required), table)
    except Infeasible:
        assume(False)
        raise
    of_row = method.groups(table, bound, draws=Draws(), progress=silent).of_row.tolist()
    rows = sample.facts.rows
    return [[rows[i] for i, g in enumerate(of_row) if g == group] for group in range(max(of_row) + 1)]


@given(samples(), policies(2), st.booleans())
@examples(100)
def test_no_group_can_be_cut_any_more(sample: Sample, required: list[Requirement], strict: bool) -> None:
    for rows in final_groups(sample, required, Mondrian(strict=strict)):
        for name, axis in sample.axes.items():
            values = {row[name] for row in rows}
            for part in axis.cuts(values) if len(values) > 1 else ():
                sides = [row for row in rows if row[name] in part], [row for row in rows if row[name] not in part]
                allowed = all(satisfies(r, side, sample.facts) for r in required for side in sides)
                assert not allowed, (name, part, rows)


@given(samples(), st.integers(1, 5))
@examples(40)
def test_relaxed_loses_no_more_than_strict(sample: Sample, k: int) -> None:
    strict, relaxed = (publish(sample, [KAnonymity(k=k)], Mondrian(strict=s)) for s in (True, False))
    for name in sample.quasi:
        loss = [release.manifest["attributes"][name]["loss"] for release in (relaxed, strict)]
        assert 0 <= loss[0] <= loss[1] <= 1


@given(samples(kinds=("number", "date", "ordinal", "tree", "flat")), st.integers(1, 4))
@examples(80)
def test_strict_groups_share_no_values_on_some_attribute(sample: Sample, k: int) -> None:
    """What was cut stays cut: for any two groups some attribute's values lie apart, as ranges or below a node."""
    groups = final_groups(sample, [KAnonymity(k=k)], Mondrian())
    boxes = [{n: (a, {row[n] for row in rows}) for n, a in sample.axes.items()} for rows in groups]
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert any(_apart(axis, values, other[name][1]) for name, (axis, values) in one.items())


def _apart(axis: LineAxis | TreeAxis, a: set[Any], b: set[Any]) -> bool:
    if isinstance(axis, TreeAxis):
        return not a & b
    places = [sorted(axis.place[v] for v in values) for values in (a, b)]
    return places[0][-1] < places[1][0] or places[1][-1] < places[0][0]


@given(samples(kinds=("number", "date", "ordinal", "tree")), st.integers(1, 4))
@examples(80)
def test_strict_labels_do_not_overlap(sample: Sample, k: int) -> None:
    """With sibling sets no value can lie in the labels of two groups on every attribute at once.

    Not so where a label says less than the box: next to missing numbers (shown as `*`), and under a
    node with more children than a set may name; and where it goes past the neighbour of a value that one row alone has.
    """
    rows = sample.facts.rows
    for name, axis in sample.axes.items():
        column = [row[name] for row in rows]
        assume(isinstance(axis, TreeAxis) or not any(column.count(v) == 1 for v in column))
    assume(not any(row[n] is None for row in rows for n in sample.quasi))
    assume(not any(isinstance(a, TreeAxis) and a.size == 70 for a in sample.axes.values()))
    release = publish(sample, [KAnonymity(k=k)])
    data = release.tables["data"].select(sample.quasi).unique()
    boxes = [
        {n: covered(release, sample, n, str(label)) for n, label in row.items()} for row in data.iter_rows(named=True)
    ]
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert any(not one[n] & other[n] for n in sample.quasi)


# --- labels --------------------------------------------------------------------------------------------


def text_of(value: Any) -> str:
    """How a single value is shown."""
    if value is None:
        return MISSING
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def covered(release: Release, sample: Sample, name: str, label: str) -> set[Any]:
    """The values of the data that a label covers, by what its text says and by what the manifest says."""
    values = {row[name] for row in sample.facts.rows}
    meaning = release.manifest["attributes"][name]["nodes"][label]
    axis = sample.axes[name]
    if isinstance(axis, TreeAxis) and axis.sets:
        said = {v for v in values if v in meaning}
        assert said == {v for v in values if v in _under(axis.tree, label)}
        return said
    if label == "*":
        return values
    if found := re.fullmatch("(<|>=) (.+)", label):
        end = found[2] if isinstance(meaning[0] or meaning[1], str) else float(found[2])
        assert meaning == ([None, end] if found[1] == "<" else [end, None])
        plain = {v: v.isoformat() if isinstance(v, dt.date) else v for v in values if v is not None}
        return {v for v, known in plain.items() if (known < end) == (found[1] == "<")}
    if (interval := re.fullmatch(r"\[(.+), (.+)[)\]]", label)) is None:
        alone = {v for v in values if text_of(v) == label}
        assert all(_means(meaning, v) for v in alone)
        return alone
    low, high = interval.groups()
    if sample.options["kinds"].get(name) == "ordinal":
        words = sample.options["domains"][name]
        between = words[words.index(low) : words.index(high) + 1]
        assert meaning == between
        return values & set(between)
    if isinstance(next(iter(v for v in values if v is not None)), int | float):
        assert meaning == [float(low), float(high)]
        return {v for v in values if v is not None and float(low) <= v < float(high)}
    assert meaning == [low, high]
    return {v for v in values if v is not None and low <= v.isoformat() < high}


def _means(meaning: list[Any], value: Any) -> bool:
    """Whether what the manifest says of a single value's label has this value in it."""
    if isinstance(value, int | float):
        return meaning[0] <= value < meaning[1]
    if isinstance(value, dt.date):
        return meaning[0] <= value.isoformat() < meaning[1]
    return meaning == [text_of(value)]


def _under(tree: dict[str, Any], label: str) -> list[str]:
    """The leaves below a node's name, or below the names in a set of siblings."""
    names = label[1:-1].split(", ") if label.startswith("{") else [label]
    found: list[str] = []

    def walk(below: dict[str, Any]) -> None:
        for name, deeper in below.items():
            if name in names:
                found.extend(leaves({name: deeper}))
            elif deeper:
                walk(deeper)

    walk(tree)
    return found


@given(samples(), methods, st.integers(1, 6))
@examples(120)
def test_every_label_contains_the_original_value(sample: Sample, method: Mondrian, k: int) -> None:
    release = publish(sample, [KAnonymity(k=k)], method)
    data = release.tables["data"]
    for name in sample.quasi:
        meaning = {label: covered(release, sample, name, label) for label in data[name].cast(pl.String).unique()}
        for row, label in data.select("row", pl.col(name).cast(pl.String)).iter_rows():
            assert sample.facts.rows[row][name] in meaning[label], (name, label)


@given(samples(), st.integers(1, 6))
@examples(60)
def test_labels_are_tight(sample: Sample, k: int) -> None:
    """A label is no wider than its group: a number's begins at the least value, a tree's is the lowest one."""
    release = publish(sample, [KAnonymity(k=k)])
    data = {row["row"]: row for row in release.tables["data"].iter_rows(named=True)}
    for group in classes(release, sample.quasi):
        for name, axis in sample.axes.items():
            values = {sample.facts.rows[i][name] for i in group}
            label = str(data[group[0]][name])
            if len(values) == 1:
                assert label == text_of(next(iter(values)))
            elif isinstance(axis, TreeAxis) and axis.sets:
                assert set(_under(axis.tree, label)) == axis.shown(values)
            elif isinstance(axis, TreeAxis) or None in values:
                assert label == "*"
            else:
                least = min(values, key=lambda v: axis.place[v])
                if [row[name] for row in sample.facts.rows].count(least) > 1 or sample.options["kinds"].get(name):
                    assert label.startswith((f"[{text_of(least)}, ", f">= {text_of(least)}"))
                else:
                    _begins_in_the_gap(sample, name, label, least)


def _begins_in_the_gap(sample: Sample, name: str, label: str, least: Any) -> None:
    """A value that one row alone has is no end: the label begins below it, above the one but one before, or is open."""
    axis = sample.axes[name]
    assert isinstance(axis, LineAxis)
    before = [v for v in axis.at if v is not None and axis.place[v] < axis.place[least]]
    if label.startswith(("< ", "*")):
        assert len(before) < 2
        return
    begin = re.fullmatch(r"\[(.+), .+\)|>= (.+)", label)
    assert begin is not None
    text, last = begin[1] or begin[2], sorted(before, key=lambda v: axis.place[v])[-2:]
    low: Any = dt.date.fromisoformat(text) if isinstance(least, dt.date) else float(text)
    assert low <= least
    assert (last[0] if len(last) == 2 else last[0] - type(least - last[0])(1)) < low


def test_equal_labels_of_different_boxes_are_told_apart() -> None:
    """Four ordinal values whose ranges read alike; each label must mean what the rows below it had."""
    words = ["x", "y, z", "x, y", "z"]
    frame = pl.DataFrame({"q": [w for w in words for _ in range(5)], "row": range(20)})
    table = read(frame, quasi=["q"], insensitive=["row"], kinds={"q": "ordinal"}, domains={"q": words})
    release = Mondrian().publish(table, [KAnonymity(k=10)])
    nodes = release.manifest["attributes"]["q"]["nodes"]
    for row, label in release.tables["data"].select("row", pl.col("q").cast(pl.String)).iter_rows():
        assert frame["q"][row] in nodes[label]


def test_equal_labels_of_different_sets_are_told_apart() -> None:
    tree = {"Any": ["a", "b, c", "a, b", "c"]}
    frame = pl.DataFrame({"q": [w for w in tree["Any"] for _ in range(5)], "row": range(20)})
    table = read(frame, quasi=["q"], insensitive=["row"], taxonomies={"q": tree})
    release = Mondrian().publish(table, [KAnonymity(k=10)])
    nodes = release.manifest["attributes"]["q"]["nodes"]
    for row, label in release.tables["data"].select("row", pl.col("q").cast(pl.String)).iter_rows():
        assert frame["q"][row] in nodes[label]


def built(rule: dict[str, Any], k: int) -> tuple[pl.DataFrame, Release]:
    """Sixty numbers below 60 with a tree of intervals, published."""
    frame = pl.DataFrame({"q": np.random.default_rng(k).integers(0, 60, 60), "row": np.arange(60)})
    table = read(frame, quasi=["q"], insensitive=["row"], taxonomies={"q": rule})
    return frame, Mondrian().publish(table, [KAnonymity(k=k)])


@pytest.mark.parametrize("rule", [{"width": 5}, {"intervals": [0, 10, 25, 60]}, {"intervals": [0, 60]}])
@pytest.mark.parametrize("k", [1, 2, 5, 25])
def test_labels_of_built_intervals(rule: dict[str, Any], k: int) -> None:
    """An interval of the tree has the row's number in it, as the text and as the manifest say it."""
    frame, release = built(rule, k)
    nodes = release.manifest["attributes"]["q"]["nodes"]
    for row, label in release.tables["data"].select("row", pl.col("q").cast(pl.String)).iter_rows():
        value = frame["q"][row]
        if label.startswith("{"):  # a set of siblings, whose members are intervals or values
            members = re.findall(r"\[[^)]*\)|[^,{} \"]+", label)
            ends = [[float(b) for b in m.strip("[)").split(", ")] for m in members]
            assert any(e[0] <= value < e[-1] or value == e[0] for e in ends), (label, value)
        elif interval := re.fullmatch(r"\[(.+), (.+)\)", label):
            low, high = nodes[label]
            assert low <= value < high
            assert [float(b) for b in interval.groups()] == [low, high]
        else:
            assert float(label) == value


def test_a_single_number_means_the_same_on_a_line_and_in_a_tree() -> None:
    """The manifest's [low, high] is the half-open interval of a label; a single number lies in its own."""
    line = Mondrian().publish(read(pl.DataFrame({"q": [7, 30]}), quasi=["q"]), [KAnonymity(k=1)])
    tree = Mondrian().publish(
        read(pl.DataFrame({"q": [7, 30]}), quasi=["q"], taxonomies={"q": {"width": 5}}), [KAnonymity(k=1)]
    )
    for release in (line, tree):
        low, high = release.manifest["attributes"]["q"]["nodes"]["7"]
        assert low <= 7 < high


def test_sets_of_a_built_tree_are_explained() -> None:
    """The contract: a label is explained by leaves or by [low, high]; a set of siblings is no suppressed value."""
    _, release = built({"intervals": [*range(0, 61, 2)]}, 4)
    nodes = release.manifest["attributes"]["q"]["nodes"]
    sets = [label for label in nodes if label.startswith("{")]
    assert sets
    assert [label for label in sets if nodes[label] is None] == []


def test_a_missing_number_in_a_built_tree_is_explained() -> None:
    """The label of missing numbers says what it means; only `*` says nothing."""
    data = pl.DataFrame({"q": [None] * 4 + [1, 2, 21, 22]})
    for options in ({}, {"taxonomies": {"q": {"width": 10}}}, {"taxonomies": {"q": {"intervals": [0, 10, 30]}}}):
        table = read(data, quasi=["q"], missing="category", **options)
        release = Mondrian().publish(table, [KAnonymity(k=2)])
        assert release.manifest["attributes"]["q"]["nodes"][MISSING] == [MISSING]


def test_a_value_named_like_the_suppressed_label() -> None:
    """A column without a taxonomy may hold the text `*`; showing it is not suppressing."""
    frame = pl.DataFrame({"q": ["*"] * 3 + ["a", "b", "c"], "row": range(6)})
    release = Mondrian().publish(read(frame, quasi=["q"], insensitive=["row"]), [KAnonymity(k=3)])
    nodes = release.manifest["attributes"]["q"]["nodes"]
    for row, label in release.tables["data"].select("row", pl.col("q").cast(pl.String)).iter_rows():
        assert nodes[label] is None or frame["q"][row] in nodes[label]


# --- secrets -------------------------------------------------------------------------------------------


def names_of(rows: int) -> list[str]:
    return [f"Zq{i:05d}xW" for i in range(rows)]


@given(samples(), methods, st.integers(1, 4), st.booleans())
@examples(40)
def test_identifiers_never_appear(sample: Sample, method: Mondrian, k: int, entity: bool) -> None:
    names = names_of(len(sample.facts.rows))
    for row, name in zip(sample.facts.rows, names, strict=True):
        row["name"] = name
    sample.options["identifiers"] = ["person", "name"]
    required = KAnonymity(k=k, entity="name") if entity else KAnonymity(k=k)
    release = publish(sample, [required], method)
    published = json.dumps(release.manifest) + release.tables["data"].write_csv()
    assert not any(name in published for name in names)
    assert "P-" not in published
    assert not {"name", "person"} & set(release.tables["data"].columns)
    assert not {"name", "person"} & set(release.manifest["attributes"])


def large(rows: int = 3000) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {"age": np.sort(rng.integers(0, 90, rows)), "sex": rng.choice(["F", "M"], rows), "row": np.arange(rows)}
    ).with_columns(ill=pl.Series(rng.choice(["a", "b", "c"], rows)))


@pytest.mark.parametrize("strict", [True, False])
def test_row_order_tells_nothing(strict: bool) -> None:
    """Rank correlation of place and original place; |z| > 5.2 by chance in fewer than 2 of 10 million runs."""
    frame = large()
    table = read(frame, quasi=["age", "sex"], sensitive="ill", insensitive=["row"])
    release = Mondrian(strict=strict).publish(table, [KAnonymity(k=5)])
    original = release.tables["data"]["row"].to_numpy()
    place = np.arange(len(original))
    z = np.corrcoef(original, place)[0, 1] * np.sqrt(len(original) - 1)
    assert abs(z) < 5.2
    # nor do neighbours stay together: pairs that were neighbours and still are; expected 2, Poisson, P(> 16) < 1e-9
    assert (np.abs(np.diff(original)) == 1).sum() <= 16
    # nor do groups: neighbours that share their labels; expected about rows / groups
    data = release.tables["data"].select("age", "sex")
    together = (data.slice(1).select(pl.struct(pl.all())).to_series() == data.slice(0, data.height - 1).select(
        pl.struct(pl.all())
    ).to_series()).sum()  # fmt: skip
    sizes = data.group_by("age", "sex").len()["len"].to_numpy()
    expected = (sizes * (sizes - 1)).sum() / data.height
    assert together < expected + 6 * np.sqrt(expected) + 6


def test_input_order_does_not_matter() -> None:
    """Two orders of one table with the same generator give the same groups, and rows at other places."""
    frame = large(400)
    mixed = frame.sample(fraction=1, shuffle=True, seed=5)

    def groups(f: pl.DataFrame) -> list[tuple[Any, ...]]:
        table = read(f, quasi=["age", "sex"], sensitive="ill", insensitive=["row"])
        data = Mondrian().publish(table, [KAnonymity(k=5)]).tables["data"]
        return sorted(data.select(pl.col("age", "sex", "ill").cast(pl.String), "row").iter_rows())

    assert groups(frame) == groups(mixed)


@pytest.mark.parametrize("strict", [True, False])
def test_a_generator_repeats_and_none_does_not(strict: bool) -> None:
    table = read(large(300), quasi=["age", "sex"], sensitive="ill", insensitive=["row"])
    method, required = Mondrian(strict=strict), [KAnonymity(k=5)]
    one, two = (method.publish(table, required, rng=np.random.default_rng(8)) for _ in range(2))
    assert one == two
    other = method.publish(table, required, rng=np.random.default_rng(9))
    assert not one.tables["data"].equals(other.tables["data"])
    secret = [method.publish(table, required).tables["data"] for _ in range(2)]
    assert not secret[0].equals(secret[1])
    assert "seed" not in json.dumps(one.manifest).lower()


def test_nothing_mutates_its_input() -> None:
    table = read(large(200), quasi=["age", "sex"], sensitive="ill", insensitive=["row"])
    before = {n: c.codes.copy() for n, c in table.columns.items()}
    for strict in (True, False):
        Mondrian(strict=strict).publish(table, [KAnonymity(k=5), LDiversity(l=2)])
    assert all((before[n] == c.codes).all() for n, c in table.columns.items())


# --- what it refuses -----------------------------------------------------------------------------------


def test_refusals() -> None:
    table = read(pl.DataFrame({"age": [1, 2, 3]}), quasi=["age"])
    with pytest.raises(Infeasible, match=r"3 rows cannot be 4-anonymous; lower k to 3 or less"):
        Mondrian().publish(table, [KAnonymity(k=4)])
    with pytest.raises(PolicyError, match="nothing is required"):
        Mondrian().publish(table, [])
    with pytest.raises(PolicyError, match="needs a quasi-identifier, but none is declared"):
        Mondrian().publish(read(pl.DataFrame({"ill": ["a"]}), sensitive="ill"), [KAnonymity(k=1)])
    with pytest.raises(PolicyError, match="sensitive"):
        Mondrian().publish(table, [LDiversity(l=2)])
    for wrong in ({"strict": "yes"}, {"strict": 1}, {"labels": "sets"}, {"labels": None}):
        with pytest.raises(PolicyError, match="mondrian"):
            Mondrian(**wrong)
    with pytest.raises(PolicyError, match="did you mean 'strict'"):
        from_table({"name": "mondrian", "strct": True})
    with pytest.raises(PolicyError, match="did you mean 'mondrian'"):
        from_table({"name": "mondrain"})
    with pytest.raises(PolicyError, match="randomization"):
        from_table({"name": "mondrian", "scheme": "randomization"})


def test_one_row_one_value_and_many_attributes() -> None:
    one = Mondrian().publish(read(pl.DataFrame({"age": [41], "sex": ["F"]}), quasi=["age", "sex"]), [KAnonymity(k=1)])
    assert one.tables["data"].rows() == [("41", "F")]
    rng = np.random.default_rng(2)
    wide = pl.DataFrame({f"q{j}": rng.integers(0, 2 + j % 3, 60) for j in range(70)})
    release = Mondrian().publish(read(wide, quasi=wide.columns), [KAnonymity(k=7)])
    assert release.tables["data"].group_by(wide.columns).len()["len"].min() >= 7
    assert release.tables["data"].group_by(wide.columns).len().height >= 4


def test_many_values_that_are_split_off_at_once_are_not_cut_one_call_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call of the kernel makes room for itself: with one per value, the time grew with the number of values."""
    calls: list[int] = []
    split = partition._split

    def counted(*given: Any) -> Any:
        calls.append(1)
        return split(*given)

    monkeypatch.setattr(partition, "_split", counted)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"code": [f"v{i}" for i in rng.permutation(60_000) % 3_000], "age": rng.integers(0, 90, 60_000)}
    )
    table = sf.read(frame, quasi=["code", "age"])
    groups = sf.partition(table, require=sf.KAnonymity(k=5))
    assert len(np.unique(groups)) > 3_000
    assert len(calls) < 4 * partition.PIECES
