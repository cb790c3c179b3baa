"""Earlier releases as sides of a join: what each row stands for, what labels mean, and what is refused in words."""

from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.earlier import Earlier, as_earlier, of_table, this_table
from sfumato.release.scheme.bucket_columns import COUNT, GROUP
from sfumato.release.taxonomy_agreement import refuse_disagreement
from sfumato.table.taxonomy import Taxonomy

PEOPLE = pl.DataFrame(
    {
        "age": [21, 22, 35, 36, 51, 52],
        "sex": ["M", "F", "M", "F", "M", "F"],
        "ill": ["flu", "HIV", "flu", "cancer", "flu", "HIV"],
    }
)


def table() -> sf.Microdata:
    return sf.read(PEOPLE, quasi=["age", "sex"], sensitive="ill")


def generalized() -> sf.Release:
    return sf.publish(table(), require=sf.KAnonymity(k=2), title="First")


def bucketized() -> sf.Release:
    return sf.publish(table(), require=sf.LDiversity(l=2), method=sf.Anatomy())


def tampered(folder: Path) -> None:
    file = folder / "data.csv"
    file.write_text(file.read_text().replace("flu", "HIV"))


def test_a_generalized_release_has_one_row_per_person() -> None:
    side = as_earlier(generalized(), "T2")
    assert (side.name, side.title, side.rows, side.unit) == ("T2", "First", 6, 1)
    assert side.weights.tolist() == [1] * 6
    shown = generalized().tables["data"]["age"].n_unique()
    assert len(side.columns["age"].labels) == shown
    assert all(m.interval is not None for m in side.columns["age"].meanings)
    assert list(side.digests) == ["data.csv"]


def test_the_digest_in_memory_is_that_of_the_file(tmp_path: Path) -> None:
    release = generalized()
    release.write(tmp_path / "release")
    here, there = as_earlier(release, "T2"), as_earlier(tmp_path / "release", "T2")
    assert here.digests["data.csv"] == there.digests["data.csv"]
    assert there.digests.keys() == {"data.csv", "data.parquet"}


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from("abc"), min_size=4, max_size=9).filter(lambda v: 2 * max(Counter(v).values()) <= len(v))
)
def test_each_person_of_a_bucketized_release_has_the_values_of_the_group_by_their_shares(values: list[str]) -> None:
    frame = pl.DataFrame({"q": ["xyz"[i % 3] for i in range(len(values))], "s": values})
    release = sf.publish(sf.read(frame, quasi=["q"], sensitive="s"), require=sf.LDiversity(l=2), method=sf.Anatomy())
    side = as_earlier(release, "T2")
    found: Counter[tuple[str, str]] = Counter()
    for q, s, weight in zip(side.columns["q"].of_row, side.columns["s"].of_row, side.weights, strict=True):
        found[side.columns["q"].labels[q], side.columns["s"].labels[s]] += Fraction(int(weight), side.unit)  # type: ignore[assignment]
    naive: Counter[tuple[str, str]] = Counter()
    for q, group in release.tables["quasi"].select("q", GROUP).iter_rows():
        held = release.tables["sensitive"].filter(pl.col(GROUP) == group)
        for s, number in held.select("s", COUNT).iter_rows():
            naive[q, s] += Fraction(number, int(held[COUNT].sum()))  # type: ignore[assignment]
    assert found == naive
    assert np.bincount(side.person, side.weights).tolist() == [side.unit] * len(values)


def test_noise_is_not_joined_with() -> None:
    response = sf.publish(
        sf.read(PEOPLE, quasi=["sex"], sensitive="ill", domains={"ill": ["flu", "HIV", "cancer"]}),
        require=sf.Disclosure(tau=1.0),
        method=sf.RandomizedResponse(keep={"ill": 0.5, "sex": 0.6}),
    )
    side = as_earlier(response, "T2")
    assert set(side.randomized) == {"ill", "sex"}
    with pytest.raises(sf.PolicyError, match="'ill' of T2 was randomized: its values are noise"):
        side.column("ill")
    with pytest.raises(sf.PolicyError, match="T2 has no column 'zip'"):
        side.column("zip")


def test_a_sampled_row_stands_for_its_group() -> None:
    frame = pl.concat([PEOPLE] * 4)
    release = sf.publish(
        sf.read(frame, quasi=["age", "sex"], sensitive="ill", domains={"ill": ["flu", "HIV", "cancer"]}),
        require=sf.KAnonymity(k=2),
        method=sf.PG(k=2, p=0.5),
    )
    side = as_earlier(release, "T2")
    assert side.rows == 24 == int(side.weights.sum())
    assert side.sampled
    assert side.randomized == ("ill",)


def test_a_folder_that_was_changed_is_refused(tmp_path: Path) -> None:
    generalized().write(tmp_path / "release")
    tampered(tmp_path / "release")
    with pytest.raises(
        sf.ReleaseError, match=r"the earlier release T2 \(.*\) cannot be used: data.csv is not the file"
    ):
        as_earlier(tmp_path / "release", "T2")


@pytest.mark.parametrize("place", ["nowhere", "empty", "out"])
def test_a_folder_that_is_no_release_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    generalized().write(tmp_path / "out" / "release")
    with pytest.raises(sf.SfumatoError, match="the earlier release T2"):
        as_earlier(tmp_path / place, "T2")


def test_tables_that_were_changed_in_memory_are_refused(tmp_path: Path) -> None:
    generalized().write(tmp_path / "release")
    release = sf.load(tmp_path / "release")
    other = release.tables["data"].with_columns(pl.lit("flu").cast(release.tables["data"]["ill"].dtype).alias("ill"))
    with pytest.raises(sf.ReleaseError, match="not those that its manifest describes"):
        as_earlier(sf.Release(release.manifest, {"data": other}), "T2")


def test_a_release_with_a_broken_structure_is_refused() -> None:
    release = generalized()
    with pytest.raises(sf.ReleaseError, match="the earlier release T2 is broken: the release has 7 rows"):
        as_earlier(release.stating(rows=7), "T2")


def test_the_private_table_is_a_side_of_exact_values() -> None:
    side = of_table(table())
    assert side.columns["age"].labels == ("21", "22", "35", "36", "51", "52")
    assert [m.interval[0] for m in side.columns["age"].meanings if m.interval] == [21, 22, 35, 36, 51, 52]
    assert [side.columns["ill"].labels[i] for i in side.columns["ill"].of_row] == PEOPLE["ill"].to_list()


def test_this_table_is_the_release_without_digests() -> None:
    assert this_table(generalized()).digests == {}


# Plain files.

TREE = {"Any": {"Europe": ["UK", "FR"], "US": {}}}


def old(**columns: list[str]) -> Earlier:
    frame = pl.DataFrame(columns)
    return sf.earlier(frame, quasi=list(columns), taxonomies={"country": TREE} if "country" in columns else None)


def test_cells_of_a_plain_file_are_values_nodes_intervals_or_stars() -> None:
    side = old(
        country=["UK", "Europe", "*", "US"], age=["[20, 40)", "41", "*", ">= 65"], day=["2024-01-31", "*", "*", "*"]
    )
    country = dict(zip(side.columns["country"].labels, side.columns["country"].meanings, strict=True))
    assert country["Europe"].names == ("UK", "FR")
    assert country["UK"].names == ("UK",)
    assert not country["*"].listed
    age = dict(zip(side.columns["age"].labels, side.columns["age"].meanings, strict=True))
    assert age["[20, 40)"].interval == (20, 40)
    assert age["41"].interval == (41, np.nextafter(41, 99))
    assert age[">= 65"].interval == (65, np.inf)
    assert str(side.columns["day"].kind) == "date"


def test_codes_are_not_numbers() -> None:
    assert str(old(zip=["02138", "10115"]).columns["zip"].kind) == "categorical"


def test_a_label_outside_the_taxonomy_is_named() -> None:
    with pytest.raises(sf.DataError, match=r"column 'country' of T2 has 1 labels .* not in its taxonomy: 'Mars'"):
        old(country=["UK", "Mars"])


def test_columns_that_are_absent_are_named() -> None:
    with pytest.raises(sf.DataError, match="T2 has no column 'job'"):
        sf.earlier(PEOPLE, quasi=["job"])


# Two publishers and one name.


def disagreement(there: Earlier, here: object, name: str = "country") -> str:
    with pytest.raises(sf.PolicyError) as caught:
        refuse_disagreement(there.columns[name], here, "T2")  # type: ignore[arg-type]
    return str(caught.value)


def test_the_same_taxonomy_agrees() -> None:
    refuse_disagreement(old(country=["Europe", "US"]).columns["country"], Taxonomy.from_tree(TREE), "T2")


def test_a_tree_with_further_values_agrees() -> None:
    wider = Taxonomy.from_tree({"Any": {"Europe": ["UK", "FR", "DE"], "US": {}}})
    refuse_disagreement(old(country=["Europe", "US"]).columns["country"], wider, "T2")


def test_a_value_under_another_node_is_named() -> None:
    here = Taxonomy.from_tree({"Any": {"Europe": ["FR"], "Islands": ["UK"], "US": {}}})
    told = disagreement(old(country=["Europe", "US"]), here)
    assert "disagree on 'UK': it is below 'Europe' in T2, but not in this table" in told
    told = disagreement(old(country=["FR", "US"]), Taxonomy.from_tree({"Any": {"Europe": ["UK", "FR", "US"]}}))
    assert "'US': it is below 'Europe' in this table, but not in T2" in told


def test_numbers_and_words_do_not_match() -> None:
    words = Taxonomy.flat(["young", "old"])
    assert "a number or a day in T2, but not in this table" in disagreement(old(age=["20", "41"]), words, "age")
    told = disagreement(old(age=["young", "old"]), table()["age"].domain, "age")
    assert "a number or a day in this table, but not in T2" in told


def test_a_label_that_nobody_explains_is_refused() -> None:
    frame = pl.DataFrame({"zip": ["47677", "47602", "47678", "47905"], "s": ["a", "b", "a", "b"]})
    masked = sf.publish(
        sf.read(frame, quasi=["zip"], sensitive="s", taxonomies={"zip": {"mask": "right"}}),
        require=sf.KAnonymity(k=2),
        method=sf.Incognito(),
    )
    column = as_earlier(masked, "T2").columns["zip"]
    refuse_disagreement(column, Taxonomy.flat(["47677", "47905", "90210"]), "T2")
    if any(not m.listed and label != "*" for label, m in zip(column.labels, column.meanings, strict=True)):
        with pytest.raises(sf.PolicyError, match="does not say which values that covers"):
            refuse_disagreement(column, Taxonomy.flat(["90210", "10115"]), "T2")


def test_rules_need_two_sides_and_values() -> None:
    with pytest.raises(sf.PolicyError, match="about two releases"):
        sf.Inconsistent(sides={"T1": {"sex": "M"}})
    with pytest.raises(sf.PolicyError, match="has nothing about T2"):
        sf.Inconsistent(sides={"T1": {"sex": "M"}, "T2": {}})
    with pytest.raises(sf.PolicyError, match="none of its values"):
        sf.Inconsistent(sides={"T1": {"sex": []}, "T2": {"ill": "flu"}})
    rule = sf.Inconsistent(sides={"T1": {"sex": "M"}, "T2": {"country": ["Europe"]}})
    inside = old(country=["UK", "Europe", "*", "US"]).columns["country"]
    known = dict(zip(inside.labels, inside.inside(rule.values("T2")["country"]), strict=True))
    assert known == {"UK": True, "Europe": True, "*": False, "US": False}
