"""Taxonomies that write themselves: codes by their structure, numbers in intervals, dates, rare values."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import DataError, PolicyError
from sfumato.table.code_structure import classification, postal_codes, same_form
from sfumato.table.hierarchy import from_arx_csv, read_taxonomy, to_arx_csv
from sfumato.table.taxonomy import Taxonomy
from sfumato.table.tree_forms import shortened
from sfumato.table.written_tree import Distinct, How, WrittenTree, labels_by_level, structure_of, written_tree


def column(values: list[str], rows: list[int] | None = None, **more: Any) -> Distinct:
    return Distinct("x", values, rows or [1] * len(values), **more)


def path(tree: Taxonomy, value: str) -> list[str]:
    return tree.path(tree.leaves.index(value))


# fmt: off
CODES: list[tuple[list[str], list[str], tuple[int | str, ...] | None]] = [
    (["I21.4", "E11.90", "I10"], [], (5, 3, 1)),                 # ICD-10
    (["I214", "E1190", "I100"], [], (4, 3, 1)),                  # without the point
    (["I10", "E11"], [], (1,)),                                  # categories only
    (["47.11", "86.10"], ["nace"], (4, 2)),                      # NACE
    (["47.11.3", "86.10.1"], ["wz08"], (5, 4, 2)),
    (["G47.11", "Q86.10"], ["nace"], (5, 3, 1)),                 # with the letter of the section
    (["2211", "5120"], ["isco"], (3, 2, 1)),                     # ISCO
    (["2211", "5120"], ["salary"], None),                        # numbers, not codes
    (["43124", "71402"], ["beruf"], (4, 3, 2, 1)),               # KldB
    (["221", "5120"], ["isco"], None),
    (["x", "y"], ["isco"], None),
]
POSTAL: list[tuple[list[str], tuple[int | str, ...] | None]] = [
    (["01067", "99084"], ()),
    (["SW1A 1AA", "M1 1AE", "B33 8TH"], (" ", 2, 1)),
    (["K1A 0B1", "H0H 0H0"], (3, 1)),
    (["1234 AB", "9876 XY"], (4, 2, 1)),
    (["02138", "02138-1234"], (5, 3, 1)),
    (["1067", "99084"], None),
    (["A-1010", "6020"], None),
]
# fmt: on


@pytest.mark.parametrize(("values", "words", "levels"), CODES)
def test_classifications_by_structure(
    values: list[str], words: list[str], levels: tuple[int | str, ...] | None
) -> None:
    found = classification(values, words)
    assert (found and found.levels) == levels


@pytest.mark.parametrize(("values", "levels"), POSTAL)
def test_postal_codes(values: list[str], levels: tuple[int | str, ...] | None) -> None:
    found = postal_codes(values)
    assert (None if found is None else found.levels) == levels


def test_codes_of_several_parts() -> None:
    found = same_form(["DE-BY-091", "DE-BE-100"])
    assert found is not None
    assert found.levels == (5, 2)
    assert same_form(["DE-BY-091", "DE-BE-1"]) is None
    assert same_form(["north-east", "south-west"]) is None


@given(st.lists(st.from_regex(r"[A-C][0-9]{2}(\.[0-9]{1,2})?", fullmatch=True), min_size=1, unique=True))
def test_labels_of_shortened_codes_cover_what_begins_like_them(codes: list[str]) -> None:
    """A label stands for all codes with its beginning and for no other, so it means the same in any population."""
    tree = shortened(codes, [5, 3, 1], what="x")
    assert sorted(tree.leaves) == sorted(codes)
    for node, label in enumerate(tree.labels):
        if label.endswith("…"):
            below = {tree.leaves[code] for code in range(tree.lo[node], tree.hi[node])}
            assert below == {code for code in codes if code.startswith(label.removesuffix("…"))}


@pytest.mark.parametrize("method", ["mondrian", "incognito", "local-recoding"])
def test_a_release_with_shortened_codes(method: str) -> None:
    codes = ["I10.00", "I10.90", "I10", "I21.0", "E11.90", "E11.2", "E1", "J44.19"]
    frame = pl.DataFrame({"icd": [codes[i * i % 8] for i in range(160)], "age": [20 + i * 7 % 60 for i in range(160)]})
    table = sf.read(frame, quasi=["icd", "age"], taxonomies={"icd": {"prefix": [5, 3, 1]}})
    release = sf.publish(table, require=sf.KAnonymity(k=10), method=method)
    release.check()
    nodes = release.manifest["attributes"]["icd"]["nodes"]
    assert all(meaning is None for label, meaning in nodes.items() if label.endswith("…")), "no value is listed"
    if "I10…" in nodes:
        bounds = sf.Analyst(release).count("icd = 'I10.00'").bounds
        assert bounds[0] <= frame.filter(pl.col("icd") == "I10.00").height <= bounds[1]
    judged = release.judge(sf.KMap(k=10, population=frame))
    assert judged.holds, "the table itself is a population in which at least as many people fit"


@pytest.mark.parametrize(
    "wrong", [[], [0], [1, 3], [3, 3], ["a", 1], [" ", " "], ["ab", 1], 2.5, [True], [200], {"a": 1}]
)
def test_wrong_prefixes_are_refused(wrong: Any) -> None:
    with pytest.raises((PolicyError, DataError)):
        read_taxonomy({"prefix": wrong}, ["I10", "I11"], name="x")


def test_what_cannot_be_shortened() -> None:
    with pytest.raises(DataError, match="already contains"):
        read_taxonomy({"prefix": [1]}, ["I1*"], name="x")
    with pytest.raises(DataError, match="pad = 5"):
        read_taxonomy({"mask": "right"}, ["1067", "99084"], name="zip")


@pytest.mark.parametrize("wrong", [[], [0], [5, 12], [10, 5], [5, 5], [5, "10"], [float("inf")], [True]])
def test_wrong_widths_are_refused(wrong: Any) -> None:
    with pytest.raises((PolicyError, DataError)):
        read_taxonomy({"width": wrong}, ["1", "2"], name="x")


@given(st.lists(st.decimals(-(10**6), 10**6, places=2), min_size=1, unique=True))
def test_round_intervals_nest_and_cover(numbers: list[Any]) -> None:
    values = [str(float(n)) for n in dict.fromkeys(map(float, numbers))]
    found = written_tree(column(values), "round")
    _nests(found, [float(v) for v in values])
    widths = [Fraction(str(w)) for w in found.spec["width"]]
    assert all(b % a == 0 for a, b in pairwise(widths))
    spans = [high - low for low, high in (found.tree.intervals or {}).values()]
    assert max(float(v) for v in values) - min(float(v) for v in values) <= max(spans)


@given(st.lists(st.integers(-1000, 1000), min_size=1), st.integers(2, 12))
def test_quantiles_hold_about_equally_many_rows(numbers: list[int], groups: int) -> None:
    values = sorted(set(numbers))
    found = written_tree(
        column([str(v) for v in values], [numbers.count(v) for v in values]), "quantiles", groups=groups
    )
    _nests(found, [float(v) for v in values])
    ends = found.spec["intervals"]
    assert len(ends) - 1 <= groups
    assert read_taxonomy(found.spec, [str(v) for v in values], name="x").size == len(ends) - 1


def _nests(found: WrittenTree, numbers: list[float]) -> None:
    """Each number lies in every interval above it, and these grow."""
    known = found.tree.intervals or {}
    for code, leaf in enumerate(found.tree.leaves):
        above = [known[label] for label in found.tree.path(code)[1:]]
        assert all(low <= float(leaf) < high for low, high in above)
        assert all(a[0] >= b[0] and a[1] <= b[1] for a, b in pairwise(above))
    assert sorted(float(leaf) for leaf in found.tree.leaves) == sorted(numbers)


def test_equal_quantiles_of_a_uniform_column() -> None:
    found = written_tree(column([str(i) for i in range(80)]), "quantiles", groups=4)
    assert found.spec == {"intervals": [0, 20, 40, 60, 80]}
    assert labels_by_level(found.tree) == [80, 4, 2, 1]


def test_ages_dates_and_rare_values() -> None:
    ages = written_tree(column([str(n) for n in range(18, 91)], is_age=True))
    assert ages.spec == {"width": 5}
    assert path(ages.tree, "47")[:3] == ["47", "[45, 50)", "[40, 50)"]
    days = written_tree(column(["2024-01-31", "2024-02-01", "1999-12-31"]))
    assert path(days.tree, "2024-01-31") == ["2024-01-31", "2024-01…", "2024…", "202…", "*"]
    rare = written_tree(column(["a", "b", "c", "other"], [9, 1, 2, 9]))
    assert rare.tree.to_tree() == {"Any": {"a": {}, "other": {}, "other.": {"b": {}, "c": {}}}}


@pytest.mark.parametrize(
    ("values", "how"),
    [
        (["a", "b"], "auto"), (["a", "bb"], "mask"), (["a", "b"], "round"), (["a", "b"], "quantiles"),
        (["a", "b"], "calendar"), (["a", "b"], "code"), (["a"], "rare"), ([], "auto"),
    ],
)  # fmt: skip
def test_what_does_not_suit_is_said(values: list[str], how: How) -> None:
    with pytest.raises(DataError, match=r"'x'"):
        written_tree(column(values, [1] * len(values)), how)


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    for values in (["01067", "99084"], ["I10.0", "I10"], ["1.5", "7"], ["2024-01-31", "2023-01-01"]):
        tree = written_tree(column(values, is_postal=values[0] == "01067")).tree
        again = from_arx_csv(to_arx_csv(tree))
        assert [again.path(code) for code in range(again.size)] == [tree.path(code) for code in range(tree.size)]


def test_long_values_are_text_and_no_codes() -> None:
    """The pattern of codes takes quadratic time, so a value of 200,000 characters must not reach it."""
    long = [f"{n}{'a' * 200_000}" for n in range(3)]
    assert structure_of(Distinct("note", long, [1, 1, 1])) is None


def test_two_days_can_be_two_values() -> None:
    """A categorical column with exactly two days: its domain is not an interval."""
    frame = pl.DataFrame({"day": ["2020-01-01", "2021-01-01"] * 8, "ill": ["a", "b", "b", "a"] * 4})
    table = sf.read(frame, quasi=["day"], sensitive="ill", kinds={"day": "categorical"})
    for method in ("mondrian", "incognito"):
        release = sf.publish(table, require=sf.KAnonymity(k=2), method=method)
        release.check()
        assert set(release.tables["data"]["day"].cast(pl.String)) == {"2020-01-01", "2021-01-01"}
