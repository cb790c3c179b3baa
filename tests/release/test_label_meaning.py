"""What labels mean: all who read a release take it from one place, and enumeration agrees."""

import datetime as dt
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.adversary.negative_rule import NegativeRule
from sfumato.adversary.placement import place
from sfumato.analyst.features import examples
from sfumato.analyst.held_out import as_released
from sfumato.release.label_meaning import LabelMeaning, covered, fits, masks_of, parse_label, read, shown_ends, spans
from sfumato.release.labels import Meanings, read_labels
from sfumato.release.manifest import LabelAttribute
from sfumato.table.encode import Kind
from sfumato.table.ordered_domain import OrderedDomain

TREES = {"zip": {"mask": "right"}}


def release_of(frame: pl.DataFrame, k: int, **settings: Any) -> tuple[sf.Microdata, sf.Release]:
    table = sf.read(frame.with_columns(ill=pl.lit("flu")), quasi=frame.columns, sensitive="ill", **settings)
    return table, sf.publish(table, require=sf.KAnonymity(k=k))


def counts(release: sf.Release, name: str) -> dict[str, float]:
    """What an analyst counts of each value, those of no rows left out."""
    found = sf.Analyst(release).group_by(name)
    return {v: n for v, n in zip(found[name], found["count"], strict=True) if n}


@pytest.mark.parametrize(
    ("label", "meaning", "expected"),
    [
        ("[20, 40)", [20.0, 40.0], LabelMeaning((20.0, 40.0))),
        ("7", [7, 8], LabelMeaning((7.0, 8.0))),
        ("[1970-01-02, 10000-01-01)", ["1970-01-02", "10000-01-01"], LabelMeaning((1.0, 2932897.0))),
        ("1970-01-02", ["1970-01-02", "1970-01-03"], LabelMeaning((1.0, 2.0))),
        ("1970", ["1970-01-02", "1970-01-03"], LabelMeaning(None, ("1970-01-02", "1970-01-03"))),
        ("[1, 2]", ["1", "2"], LabelMeaning(None, ("1", "2"))),
        ("{A, B}", ["a", "b", "c"], LabelMeaning(None, ("a", "b", "c"))),
        ("(missing)", ["(missing)"], LabelMeaning(None, ("(missing)",))),
        ("* (2)", ["*"], LabelMeaning(None, ("*",))),
        ("*", None, LabelMeaning(None, ("*",), False)),
        ("47*", None, LabelMeaning(None, ("47*",), False)),
        ("[40, 20)", [40.0, 20.0], LabelMeaning(None, ("40.0", "20.0"))),
        ("[0, inf)", [0.0, float("inf")], LabelMeaning(None, ("0.0", "inf"))),
    ],
)
def test_each_kind_of_label(label: str, meaning: Any, expected: LabelMeaning) -> None:
    assert parse_label(label, meaning) == expected


def test_a_label_that_lists_nothing_is_damage() -> None:
    for nothing in (5, []):
        with pytest.raises(sf.ReleaseError, match="does not list what the label 'a' means"):
            parse_label("a", nothing)
    with pytest.raises(sf.ReleaseError, match="lists 'x' among intervals"):
        spans([0, 9], {"{x, 1}": parse_label("{x, 1}", ["x", "1"])})


def test_a_mask_fits_by_its_characters() -> None:
    assert [fits(v, "4*1") for v in ("401", "4*1", "421", "41", "4211", "321", "4\n1")] == [
        True, True, True, False, False, False, True,
    ]  # fmt: skip
    assert fits("anything", "*")
    assert not fits("4a1", "4.1")


def test_listed_masks_are_told_from_values() -> None:
    entry = {"domain": ["471", "{48*, 49*}"], "nodes": {"471": ["471"], "{48*, 49*}": ["48*", "49*"], "4**": None}}
    assert masks_of(entry["domain"], read(entry["nodes"])) == {"48*", "49*"}


def test_ends_are_read_from_the_text_of_a_label() -> None:
    assert shown_ends("[-1.5, 2e+16)") == (-1.5, 2e16)
    assert shown_ends("[1, 3]") == (1.0, 3.0)
    assert [shown_ends(t) for t in ("[1.2.3, 4)", "[2001-02-30, 2001-03-01)", "[1, 2", "{[1, 2)}")] == [None] * 4


def test_words_in_the_shape_of_a_date_or_number_are_categories() -> None:
    """2001-02-30 is no day, 1.2.3 is no number: a learner takes them as words."""
    frame = pl.DataFrame({"x": ["2001-02-30", "[1.2.3, 4)"] * 2, "y": ["a", "b"] * 2})
    (feature,) = examples(frame, frame, "y").features
    assert feature.categories == ("2001-02-30", "[1.2.3, 4)")


def test_masks_are_spread_over_what_fits_them() -> None:
    """Neither over values that a mask excludes, nor over the labels of other groups."""
    frame = pl.DataFrame({"zip": ["471", "472", "473", "481", "482", "491"] * 2})
    _, release = release_of(frame, 4, taxonomies=TREES)
    assert set(release.manifest["attributes"]["zip"]["nodes"]) == {"47*", "{48*, 49*}"}
    assert counts(release, "zip") == {"47*": 6.0, "48*": 3.0, "49*": 3.0}
    assert sf.Analyst(release).count("zip = '47*'").estimate == 6.0


def test_a_mask_stands_for_the_values_that_are_shown_elsewhere() -> None:
    nodes = {"471": ["471"], "481": ["481"], "47*": None, "4**": None, "5**": None, "*": None}
    about = {"role": "quasi", "kind": "categorical", "domain": ["471", "481"], "nodes": nodes}
    data = pl.DataFrame({"zip": [*nodes, *nodes]})
    manifest = {"scheme": "generalization", "rows": 12, "attributes": {"zip": about}}
    found = counts(sf.Release(manifest, {"data": data}), "zip")
    assert found["471"] > found["481"] > found["5**"]
    assert sum(found.values()) == pytest.approx(12)


def test_held_out_codes_get_the_mask_that_they_fit() -> None:
    frame = pl.DataFrame({"zip": ["471", "472", "473", "481", "482", "491"] * 2})
    table, release = release_of(frame, 4, taxonomies=TREES)
    shown = as_released(release, pl.DataFrame({"zip": ["471", "479", "480", "491", "500"]}))
    assert shown["zip"].to_list() == ["47*", "47*", "{48*, 49*}", "{48*, 49*}", "500"]
    assert table["zip"].domain.leaves == ("471", "472", "473", "481", "482", "491")


def test_outsiders_without_the_taxonomy_find_their_group() -> None:
    """Who knows codes finds the set of masks that they fit, as with the taxonomy."""
    frame = pl.DataFrame({"zip": ["471", "472", "473", "481", "482", "491"] * 2})
    table, release = release_of(frame, 4, taxonomies=TREES)
    plain = sf.read(frame, quasi=["zip"], kinds={"zip": "categorical"})
    assert isinstance(plain["zip"].domain, sf.Taxonomy)
    assert place(release, plain).of_person.tolist() == place(release, table).of_person.tolist()
    assert (place(release, plain).of_person >= 0).all()
    column = release.tables["data"]["zip"]
    by_codes = [
        read_labels(column, release.manifest["attributes"]["zip"]["nodes"], t["zip"].domain) for t in (plain, table)
    ]
    assert by_codes[0].leaves.tolist() == by_codes[1].leaves.tolist()


@pytest.mark.parametrize("kind", ["date", "continuous"])
def test_two_values_below_a_node_are_no_interval(kind: str) -> None:
    """A tree of days or numbers lists the values of its nodes; two of them are not the ends of an interval."""
    values = ["2000-01-01", "2000-06-01", "2001-01-01", "2001-06-01"] if kind == "date" else ["20", "30", "40", "50"]
    frame = pl.DataFrame({"x": values * 3})
    tree = {"Any": {"low": values[:2], "high": values[2:]}}
    _, release = release_of(frame, 6, kinds={"x": kind}, taxonomies={"x": tree})
    assert release.manifest["attributes"]["x"]["nodes"]["low"] == values[:2]
    assert counts(release, "x") == dict.fromkeys(values, 3.0)
    assert as_released(release, pl.DataFrame({"x": values}))["x"].to_list() == ["low", "low", "high", "high"]


def test_a_set_of_numbers_with_a_gap_holds_what_it_names() -> None:
    """No longer made of values found in the data, but read: releases that were made before name them."""
    frame = pl.DataFrame({"n": [1, 3, 4, 4]})
    table, release = release_of(frame, 2, taxonomies={"n": {"width": 5}})
    assert release.manifest["attributes"]["n"]["nodes"] == {"4": [4.0, 5.0], "[0, 5)": [0.0, 5.0]}
    older = release.manifest["attributes"]["n"] | {"nodes": {"4": [4.0, 5.0], "{1, 3}": ["1", "3"]}}
    shown = release.tables["data"].with_columns(pl.col("n").cast(pl.String).replace("[0, 5)", "{1, 3}"))
    release = sf.Release(release.manifest | {"attributes": {"n": older}}, {"data": shown})
    assert counts(release, "n") == {"1": 1.0, "3": 1.0, "4": 2.0}
    assert sf.Analyst(release).count("n = 2").estimate == 0
    assert as_released(release, frame)["n"].to_list() == ["{1, 3}", "{1, 3}", "4", "4"]
    assert (place(release, table).of_person >= 0).all()


def test_a_set_of_intervals_with_a_gap_holds_what_it_names() -> None:
    label, parts = "{[0, 10), [20, 30)}", ["[0, 10)", "[20, 30)"]
    entry = {"role": "quasi", "kind": "continuous", "domain": [0.0, 40.0], "nodes": {label: parts, "*": None}}
    assert spans(entry["domain"], read(entry["nodes"])) == {label: [(0.0, 10.0), (20.0, 30.0)], "*": [(0.0, 40.0)]}
    manifest = {"scheme": "generalization", "rows": 8, "attributes": {"n": entry}}
    release = sf.Release(manifest, {"data": pl.DataFrame({"n": [label] * 4 + ["*"] * 4})})
    analyst = sf.Analyst(release)
    found = [analyst.count(f"n >= {low} and n < {low + 10}").estimate for low in (0, 10, 20, 30)]
    assert found == pytest.approx([3.95, 0.05, 3.95, 0.05], abs=1e-3)  # as the other label tells, 5% evenly
    assert as_released(release, pl.DataFrame({"n": [5, 15, 25]}))["n"].to_list() == [label, "*", label]


def test_all_hidden_numbers_are_spread_over_their_domain() -> None:
    """Not over the two ends of the domain, as if these were the values."""
    frame = pl.DataFrame({"n": [1, 3, 4, None]})
    _, release = release_of(frame, 4, taxonomies={"n": {"intervals": [0, 10]}}, missing="category")
    assert release.manifest["attributes"]["n"]["nodes"] == {"*": None}
    assert sf.Analyst(release).count("n < 2").estimate == pytest.approx(0.8)


def test_the_last_day_is_open_ended() -> None:
    line = OrderedDomain.of_days([2932896.0])
    assert line.leaves == ("9999-12-31",)
    known = parse_label(line.label(0, 1), line.meaning(0, 1))
    assert known.interval == (2932896.0, 2932897.0)
    assert Meanings(line).codes(known).tolist() == [0]
    days = pl.DataFrame({"d": [dt.date(9999, 12, 31)] * 2})
    _, release = release_of(days, 2)
    assert counts(release, "d") == {"9999-12-31": 2.0}


def test_a_rule_about_numbers_means_numbers_that_have_an_order_too() -> None:
    """(1, 2) are the values 1 and 2 of an ordinal attribute, not its second and third."""
    frame = pl.DataFrame({"level": ["1", "2", "3"], "ill": ["flu"] * 3})
    table = sf.read(
        frame, quasi=["level"], sensitive="ill", kinds={"level": "ordinal"}, domains={"level": ["1", "2", "3"]}
    )
    rule = NegativeRule(where={"level": (1, 2)}, value="flu", share=0.1)
    assert rule.codes(table["level"]).tolist() == [True, True, False]


def test_an_interval_without_width_is_no_interval() -> None:
    entry = LabelAttribute(kind=Kind.CONTINUOUS, domain=[0, 9], nodes={"[5, 5)": [5, 5]})
    with pytest.raises(sf.PolicyError, match="is an interval, but"):
        covered(entry, "[5, 5)", (1, 6))
