"""Taxonomies as users have them: ARX's csv there and back, JSON, TOML, and trees built by rule."""

import json
import math
import tomllib
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, PolicyError, SfumatoError
from sfumato.table.hierarchy import from_arx_csv, read_taxonomy, to_arx_csv
from sfumato.table.microdata import read
from sfumato.table.ordered_domain import MISSING, number_text
from sfumato.table.taxonomy import Taxonomy
from strategies import Tree, examples, leaves, trees


def ranges(t: Taxonomy) -> set[tuple[str, int, int]]:
    """The tree as its ranges; a node with one child is one range with it, if they have one name."""
    return {(label, int(lo), int(hi)) for label, lo, hi in zip(t.labels, t.lo, t.hi, strict=True)}


# --- ARX csv ---------------------------------------------------------------------------------------------


@given(trees(most=12, deepest=5), st.sampled_from(";,"))
@examples(150)
def test_arx_there_and_back(tree: Tree, delimiter: str) -> None:
    t = Taxonomy.from_tree(tree)
    again = from_arx_csv(to_arx_csv(t, delimiter=delimiter))
    assert again.leaves == t.leaves
    assert ranges(again) == ranges(t)


awkward = st.text(st.sampled_from("ab ,;\"'\n\r|\té"), min_size=1, max_size=5)


@given(st.lists(awkward, min_size=2, max_size=6, unique=True), st.sampled_from(";,"))
@examples(150)
def test_arx_there_and_back_with_awkward_values(values: list[str], delimiter: str) -> None:
    t = Taxonomy.from_tree({"Every one": {"First": values[:1], "Rest": values[1:]}})
    again = from_arx_csv(to_arx_csv(t, delimiter=delimiter))
    assert again.leaves == t.leaves
    assert ranges(again) == ranges(t)


def test_arx_there_and_back_of_one_value() -> None:
    t = Taxonomy.from_tree({"Any": ["a"]})
    assert ranges(from_arx_csv(to_arx_csv(t))) == ranges(t)


SHAPES: dict[str, tuple[str, Tree]] = {
    "plain": ("a;x;*\nb;x;*\nc;y;*\n", {"*": {"x": {"a": {}, "b": {}}, "y": {"c": {}}}}),
    "commas": ("a,x,*\nb,x,*\nc,y,*\n", {"*": {"x": {"a": {}, "b": {}}, "y": {"c": {}}}}),
    "windows line ends": ("a;x;*\r\nb;y;*\r\n", {"*": {"x": {"a": {}}, "y": {"b": {}}}}),
    "no last line end": ("a;*\nb;*", {"*": {"a": {}, "b": {}}}),
    "empty lines": ("a;*\n\nb;*\n\n", {"*": {"a": {}, "b": {}}}),
    "quotes": ('"a;1";"x, y";*\n"b""c";"x, y";*\n', {"*": {"x, y": {"a;1": {}, 'b"c': {}}}}),
    "commas inside": ("a, b;x;*\nc, d;x;*\n", {"*": {"x": {"a, b": {}, "c, d": {}}}}),
    "many commas inside": ("a, b, c, and d;x;*\ne;x;*\n", {"*": {"x": {"a, b, c, and d": {}, "e": {}}}}),
    "rows not in tree order": ("a;x;*\nb;y;*\nc;x;*\n", {"*": {"x": {"a": {}, "c": {}}, "y": {"b": {}}}}),
    "no common root": ("a;x\nb;y\n", {"*": {"x": {"a": {}}, "y": {"b": {}}}}),
    "one level": ("a\nb\n", {"*": {"a": {}, "b": {}}}),
    "another root": ("a;Any\nb;Any\n", {"Any": {"a": {}, "b": {}}}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_arx_shapes(shape: str) -> None:
    text, tree = SHAPES[shape]
    assert from_arx_csv(text).to_tree() == tree


def test_arx_ages() -> None:
    """As ARX ships them: 1;0-4;0-9;0-19;*"""
    rows = [f"{a};{a // 5 * 5}-{a // 5 * 5 + 4};{a // 10 * 10}-{a // 10 * 10 + 9};*" for a in range(1, 100)]
    t = from_arx_csv("\n".join(rows))
    assert t.leaves[:3] == ("1", "2", "3")
    assert t.path(41) == ["42", "40-44", "40-49", "*"]
    assert t.labels[t.cover(40, 44)] == "40-44"
    assert t.labels[t.cover(40, 45)] == "40-49"


REPEATED: dict[str, str] = {
    "a leaf on two levels": "a;a;*\nb;x;*\nc;x;*\n",
    "a leaf on three levels": "a;a;a;*\nb;x;y;*\nc;x;y;*\n",
    "a leaf on four levels": "a;a;a;a;*\nb;x;y;z;*\nc;x;y;z;*\n",
    "a node on two levels": "a;x;x;*\nb;x;x;*\nc;y;z;*\n",
    "a node on three levels": "a;x;x;x;*\nb;x;x;x;*\nc;y;z;w;*\n",
    "every node on two levels": "a;x;x;*\nb;x;x;*\nc;y;y;*\nd;y;y;*\n",
    "the root twice": "a;x;*;*\nb;x;*;*\nc;y;*;*\n",
    "masked twice": "471;47*;47*;*\n472;47*;47*;*\n480;48*;48*;*\n",
}


@pytest.mark.parametrize("shape", REPEATED)
def test_arx_levels_that_repeat(shape: str) -> None:
    """Real hierarchies repeat a value where a branch has no more to say; that is one node, not a cycle."""
    t = from_arx_csv(REPEATED[shape])
    rows = [line.split(";") for line in REPEATED[shape].splitlines()]
    assert sorted(t.leaves) == sorted(row[0] for row in rows)
    for row in rows:
        path = t.path(t.leaves.index(row[0]))
        assert [label for i, label in enumerate(path) if i == 0 or label != path[i - 1]] == list(dict.fromkeys(row))


ARX_REFUSED: dict[str, tuple[str, str]] = {
    "empty": ("", "is empty"),
    "blank": ("\n\n", "is empty"),
    "ragged": ("a;x;*\nb;*\n", "2 levels in row 2 but 3 in row 1"),
    "a leaf twice": ("a;x;*\na;x;*\n", "'a' in two rows"),
    "a leaf in two places": ("a;x;*\na;y;*\n", "'a' in two rows"),
    "a node below two others": ("a;n;x;*\nb;n;y;*\n", "'n' twice"),
    "a leaf that is a node elsewhere": ("a;x;*\nx;y;*\n", "'x' twice"),
    "a group named as one of its values": ("x;x;*\nb;x;*\n", "'x'"),
    "a true cycle": ("a;x;y;x;*\nb;z;y;x;*\n", "cycle"),
}


@pytest.mark.parametrize("case", ARX_REFUSED)
def test_arx_refused(case: str) -> None:
    text, told = ARX_REFUSED[case]
    with pytest.raises(DataError, match=told):
        from_arx_csv(text)


def test_arx_with_a_huge_field() -> None:
    with pytest.raises(DataError):
        from_arx_csv(f"{'a' * 200_000};*\nb;x;*\n")


# --- files -----------------------------------------------------------------------------------------------


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "a;x;*\nb;x;*\nc;y;*\n"),
        ("t.CSV", "a,x,*\nb,x,*\nc,y,*\n"),
        ("t.txt", "a;x;*\nb;x;*\nc;y;*\n"),
        ("t.json", '{"*": {"x": ["a", "b"], "y": {"c": {}}}}'),
        ("t.json", '{"x": ["a", "b"], "y": ["c"]}'),
        ("t.json", "\ufeff" + '{"*": {"x": ["a", "b"], "y": {"c": {}}}}'),
        ("t.csv", "\ufeffa;x;*\nb;x;*\nc;y;*\n"),
    ],
)
def test_files(name: str, content: str, tmp_path: Path) -> None:
    write(tmp_path, name, content)
    for spec, folder in ((name, tmp_path), (tmp_path / name, None), (str(tmp_path / name), None)):
        t = read_taxonomy(spec, [], name="job", folder=folder)
        assert t.to_tree() == {"*": {"x": {"a": {}, "b": {}}, "y": {"c": {}}}}


FILES_REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    "empty csv": ("t.csv", "", "empty"),
    "empty json": ("t.json", "", "JSON"),
    "not json": ("t.json", "{'a': 1}", "line 1"),
    "a list": ("t.json", '["a", "b"]', "nested object"),
    "an empty object": ("t.json", "{}", "nested object"),
    "null": ("t.json", "null", "nested object"),
    "a key twice": ("t.json", '{"Any": {"x": ["a"], "x": ["b"]}}', "'x' twice"),
    "a key twice at the top": ("t.json", '{"x": ["a"], "x": ["b"]}', "'x' twice"),
    "a leaf twice": ("t.json", '{"Any": ["a", "a"]}', "'a' twice"),
    "not a number": ("t.json", '{"Any": {"x": NaN}}', "nan"),
    "too deep": ("t.json", '{"a":' * 5000 + "{}" + "}" * 5000, "deep"),
    "too deep a list": ("t.json", '{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "deep"),
    "101 levels": ("t.json", "".join(f'{{"n{i}":' for i in range(103)) + "{}" + "}" * 103, "deep"),
    "not UTF-8 csv": ("t.csv", b"K\xf6ln;*\n", "not UTF-8 at byte 1"),
    "not UTF-8 json": ("t.json", b'{"K\xf6ln": []}', "not UTF-8 at byte 3"),
    "UTF-16": ("t.csv", "a;*\n".encode("utf-16"), "not UTF-8"),
    "another kind": ("t.xml", "<a/>", "ARX hierarchy .csv or a nested .json"),
}


@pytest.mark.parametrize("case", FILES_REFUSED)
def test_files_refused(case: str, tmp_path: Path) -> None:
    name, content, told = FILES_REFUSED[case]
    path = write(tmp_path, name, content)
    with pytest.raises((DataError, PolicyError), match=told) as error:
        read_taxonomy(path, [], name="job")
    assert "'job'" in str(error.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv"):
        read_taxonomy("nowhere.csv", [], name="job", folder=tmp_path)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match=r"folder\.csv"):
        read_taxonomy("folder.csv", [], name="job", folder=tmp_path)


# --- in a policy -----------------------------------------------------------------------------------------


def test_toml_inline() -> None:
    policy = tomllib.loads(
        """
        sex = { Any = ["M", "F"] }
        job = { Any = { Work = ["Nurse", "Cook"], "None" = {} } }
        several = { Work = ["Nurse", "Cook"], None = [] }
        age = { intervals = [0, 18, 65, 120] }
        step = { width = 5 }
        zip = { mask = "right" }
        code = { mask = "left" }
        """
    )
    ages = [str(a) for a in range(0, 120, 7)]
    assert read_taxonomy(policy["sex"], [], name="sex").leaves == ("M", "F")
    assert read_taxonomy(policy["job"], [], name="job").labels == ("Any", "Work", "Nurse", "Cook", "None")
    assert read_taxonomy(policy["several"], [], name="job").labels == ("*", "Work", "Nurse", "Cook", "None")
    assert set(read_taxonomy(policy["age"], ages, name="age").to_tree()["[0, 120)"]) == {  # type: ignore[call-overload]
        *("[0, 18)", "[18, 65)", "[65, 120)")
    }
    assert "[5, 10)" in read_taxonomy(policy["step"], ages, name="age").labels
    assert read_taxonomy(policy["zip"], ["123", "124"], name="zip").path(0) == ["123", "12*", "1**", "*"]
    assert read_taxonomy(policy["code"], ["123", "223"], name="zip").path(0) == ["123", "*23", "**3", "*"]


def test_a_taxonomy_as_it_is() -> None:
    t = Taxonomy.from_tree({"Any": ["a"]})
    assert read_taxonomy(t, [], name="x") is t


@pytest.mark.parametrize("spec", [5, ["a", "b"], None, True, 2.5])
def test_what_is_no_taxonomy(spec: Any) -> None:
    with pytest.raises(PolicyError, match="'job'"):
        read_taxonomy(spec, [], name="job")


RULES_REFUSED: list[dict[str, Any]] = [
    {"intervals": []},
    {"intervals": [0]},
    {"intervals": [0, 0, 5]},
    {"intervals": [5, 0]},
    {"intervals": [0, "18"]},
    {"intervals": [0, True]},
    {"intervals": 5},
    {"intervals": [0, math.nan, 100]},
    {"width": 0},
    {"width": -5},
    {"width": "5"},
    {"width": True},
    {"width": math.nan},
    {"width": math.inf},
    {"mask": "middle"},
    {"mask": True},
    {"mask": None},
]


@pytest.mark.parametrize("rule", RULES_REFUSED, ids=str)
def test_rules_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match="'age'"):
        read_taxonomy(rule, ["1", "2"], name="age")


@pytest.mark.parametrize("rule", [{"width": 5}, {"intervals": [0, 10, 20]}])
def test_rules_on_words_are_refused(rule: dict[str, Any]) -> None:
    for kinds in ({}, {"age": "continuous"}, {"age": "categorical"}):
        with pytest.raises(SfumatoError, match="'age'"):
            read(pl.DataFrame({"age": ["young", "old"]}), quasi=["age"], taxonomies={"age": rule}, kinds=kinds)


def test_values_outside_the_intervals_are_named() -> None:
    with pytest.raises(DataError, match=r"'120'.*widen") as error:
        read_taxonomy({"intervals": [0, 18, 120]}, ["5", "120", "-3"], name="age")
    assert "'-3'" in str(error.value)


NUMBERS: dict[str, st.SearchStrategy[float]] = {
    "ints": st.integers(-500, 500).map(float),
    "tenths": st.integers(-100, 100).map(lambda i: i / 10),
    "cents": st.integers(-10_000, 10_000).map(lambda i: i / 100),
    "millionths": st.floats(-1000, 1000).map(lambda v: round(v, 6)),
}


def inside(label: str, value: float) -> bool:
    """Whether a number lies in an interval, or is the number, as a reader of the label sees it."""
    if not label.startswith("["):
        return float(label) == value
    low, high = label[1:-1].split(", ")
    return Fraction(low) <= Fraction(number_text(value)) < Fraction(high)


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("width", [5, 0.5, 0.1, 0.25, 3, 1000])
def test_numbers_lie_in_their_widths(kind: str, width: float) -> None:
    @given(st.lists(NUMBERS[kind], min_size=1, max_size=8, unique=True))
    @examples(25)
    def check(values: list[float]) -> None:
        t = read_taxonomy({"width": width}, [number_text(v) for v in values], name="q")
        assert sorted(float(leaf) for leaf in t.leaves) == sorted(values)
        for code, leaf in enumerate(t.leaves):
            for label in t.path(code):
                assert inside(label, float(leaf)), (label, leaf)

    check()


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_lie_in_their_intervals(kind: str) -> None:
    @given(st.lists(NUMBERS[kind], min_size=1, max_size=8, unique=True), st.data())
    @examples(50)
    def check(values: list[float], data: st.DataObject) -> None:
        between = data.draw(st.lists(NUMBERS[kind], max_size=3))
        bounds = sorted({min(values) - 1, *(b for b in between if min(values) < b <= max(values)), max(values) + 1})
        t = read_taxonomy({"intervals": bounds}, [number_text(v) for v in values], name="q")
        assert not t.derived
        assert t.leaves == tuple(f"[{number_text(a)}, {number_text(b)})" for a, b in pairwise(bounds))
        for value, code in zip(values, t.codes_of_values([number_text(v) for v in values]), strict=True):
            for label in t.path(code):
                assert inside(label, value), (label, value)
        assert t.codes_of_values([number_text(bounds[-1]), "nan", "x", MISSING]) == [-1] * 4

    check()


def test_a_width_between_the_values() -> None:
    """.3 lies in [.3, .4), not in [.2, .3): what 0.3 / 0.1 is in floating point must not matter."""
    t = read_taxonomy({"width": 0.1}, ["0.1", "0.2", "0.3", "0.6", "0.7"], name="q")
    for value, interval in (("0.3", "[0.3, 0.4)"), ("0.7", "[0.7, 0.8)"), ("0.6", "[0.6, 0.7)")):
        assert t.path(t.leaves.index(value))[1] == interval


@pytest.mark.parametrize("alone", [3, 17, 19, 104, 150, -4])
def test_where_widths_begin_tells_nothing_of_the_least_value(alone: int) -> None:
    """One person more, and the intervals of all others stay as they were."""
    some = ["20", "27", "34", "38"]
    wide = {"width": 5}
    without, beside = (read_taxonomy(wide, values, name="q") for values in (some, [*some, str(alone)]))
    for value in some:
        mine, theirs = (t.path(t.leaves.index(value)) for t in (without, beside))
        shared = min(len(mine), len(theirs)) - 1
        assert mine[:shared] == theirs[:shared]
    assert without.path(0) == ["20", "[20, 25)", "[20, 30)", "[20, 40)"]


def test_widths_on_both_sides_of_zero_meet() -> None:
    t = read_taxonomy({"width": 5}, ["-7", "3", "12"], name="q")
    assert t.labels[0] == "[-20, 20)"
    assert t.path(t.leaves.index("3")) == ["3", "[0, 5)", "[0, 10)", "[0, 20)", "[-20, 20)"]
    assert t.path(t.leaves.index("-7")) == ["-7", "[-10, -5)", "[-10, 0)", "[-20, 0)", "[-20, 20)"]


def test_numbers_written_in_two_ways() -> None:
    """A csv has `20`, `20.0` and `020`; by width they are one number."""
    data = pl.DataFrame({"q": ["20", "20.0", "31"]})
    column = read(data, quasi=["q"], taxonomies={"q": {"width": 10}})["q"]
    assert column.codes.tolist() == [0, 0, 1]


# --- against data ----------------------------------------------------------------------------------------


def test_values_that_the_tree_lacks_are_named(tmp_path: Path) -> None:
    data = pl.DataFrame({"job": ["Nurse", "Cook", "Spy", "Poet"]})
    tree: Tree = {"Any": ["Nurse", "Cook"]}
    path = write(tmp_path, "t.json", json.dumps(tree))
    for spec in (tree, path, Taxonomy.from_tree(tree)):
        with pytest.raises(DataError, match=r"'job' has 2 values that are not in its taxonomy: 'Poet', 'Spy'"):
            read(data, quasi=["job"], taxonomies={"job": spec})


@given(trees(most=10), st.data())
@examples(60)
def test_codes_are_in_leaf_order(tree: Tree, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.sampled_from(leaves(tree)), min_size=1, max_size=12))
    column = read(pl.DataFrame({"q": values}), quasi=["q"], taxonomies={"q": tree})["q"]
    assert [column.domain.leaves[c] for c in column.codes] == values
    assert column.domain.leaves == tuple(leaves(tree))
