"""The bundled example hangs together, the public tables are found or asked for, the blow-up is Fung's."""

import json
import tomllib
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import datasets
from sfumato.datasets import blow_up, example_folder, hospital
from sfumato.errors import DataError, PolicyError

FRAME = hospital()
ADULT_HEADER = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income split"
)
ADULT = {name: [number, number + 1, number + 2] for number, name in enumerate(ADULT_HEADER.split())}


def leaves(tree: Any) -> list[str]:
    """All leaves of a nested tree of objects and lists, in order."""
    if isinstance(tree, list):
        return tree
    return [leaf for name, below in tree.items() for leaf in (leaves(below) if below else [name])]


def nodes(tree: Any) -> list[str]:
    """All labels of a nested tree."""
    if isinstance(tree, list):
        return tree
    return [label for name, below in tree.items() for label in (name, *nodes(below))]


def share(where: pl.Expr, of: pl.Expr | None = None) -> float:
    """The share of the rows ``of`` (default: all) for which ``where`` holds."""
    rows = FRAME if of is None else FRAME.filter(of)
    return rows.filter(where).height / rows.height


def test_the_bundled_csv_is_what_the_generator_writes() -> None:
    assert FRAME.write_csv().encode() == (example_folder() / "discharges.csv").read_bytes()


def test_another_seed_gives_another_table() -> None:
    assert not hospital(rows=100, seed=1).equals(hospital(rows=100, seed=2))


def test_columns_are_complete_and_in_range() -> None:
    assert FRAME.height == 4000
    assert FRAME.null_count().sum_horizontal().item() == 0
    assert FRAME["record"].is_unique().all()
    assert FRAME["age"].is_between(0, 99).all()
    assert FRAME["stay"].is_between(1, 90).all()
    assert set(FRAME["sex"]) == {"M", "F"}
    assert set(FRAME["readmitted"]) == {"yes", "no"}
    assert FRAME["zip"].str.contains(r"^\d{5}$").all()
    assert FRAME["zip"].str.starts_with("0").any()
    assert FRAME["admitted"].is_between(date(2025, 1, 1), date(2025, 12, 31)).all()
    assert FRAME["admitted"].is_sorted()


@pytest.mark.parametrize("rows", [0, -3])
def test_a_table_without_rows_is_refused(rows: int) -> None:
    with pytest.raises(PolicyError, match="ask for 1 row or more"):
        hospital(rows=rows)


def test_one_row_can_be_drawn() -> None:
    assert hospital(rows=1).height == 1


def test_impossible_combinations_do_not_occur() -> None:
    age, sex, job, diagnosis = pl.col("age"), pl.col("sex"), pl.col("job"), pl.col("diagnosis")
    assert share(job.is_in(["infant", "pupil"]), age < 16) == 1
    assert share(job.is_in(["infant", "pupil", "retired"]), age.is_between(31, 59)) == 0
    assert share((sex == "F") & age.is_between(15, 50), diagnosis == "pregnancy complication") == 1
    assert share(sex == "M", diagnosis == "prostate cancer") == 1
    assert share(sex == "F", diagnosis == "breast cancer") == 1
    assert share(age > 25, diagnosis == "heart failure") == 1


def test_attributes_are_correlated() -> None:
    age, job, diagnosis, again = (
        pl.col("age"),
        pl.col("job"),
        pl.col("diagnosis"),
        pl.col("readmitted") == "yes",
    )
    heart = diagnosis.is_in(["heart attack", "heart failure", "stroke"])
    assert share(job == "retired", age > 70) > 0.9
    assert share(heart, age > 65) > 2 * share(heart, age.is_between(30, 55))
    assert share(again, age > 65) > 2 * share(again, age < 35)
    assert share(again, diagnosis == "heart failure") > share(again, diagnosis == "appendicitis") + 0.3
    assert share(diagnosis == "influenza", pl.col("admitted").dt.month().is_in([12, 1, 2])) > 0.06
    assert share(diagnosis == "influenza", pl.col("admitted").dt.month().is_in([6, 7, 8])) < 0.03
    assert share(job == "fisher", pl.col("zip").str.starts_with("0")) > 2 * share(job == "fisher")
    stays = dict(FRAME.group_by("diagnosis").agg(pl.col("stay").mean()).iter_rows())
    assert stays["depression"] > 3 * stays["concussion"]


def test_the_requirement_of_the_policy_is_within_reach() -> None:
    """No diagnosis comes near a third of any decade of age by sex; the class is neither rare nor common."""
    decade = FRAME.group_by(pl.col("age") // 10, "sex").agg(pl.col("diagnosis").unique_counts().max() / pl.len())
    assert (decade["diagnosis"] < 0.3).all()
    assert 0.2 < share(pl.col("readmitted") == "yes") < 0.4


def test_the_policy_names_the_columns_and_files_that_there_are() -> None:
    policy = tomllib.loads((example_folder() / "policy.toml").read_text(encoding="utf-8"))
    attributes = policy["attributes"]
    assert list(attributes) == FRAME.columns
    roles = Counter(attribute["role"] for attribute in attributes.values())
    assert roles == {"identifier": 2, "quasi": 5, "sensitive": 1, "insensitive": 1, "class": 1}
    files = [policy["data"]["source"], *(a["taxonomy"] for a in attributes.values() if "taxonomy" in a)]
    assert all((example_folder() / name).is_file() for name in files if isinstance(name, str))
    assert leaves(attributes["sex"]["taxonomy"]) == ["M", "F"]
    assert policy["require"] == [
        {"model": "k-anonymity", "k": 5},
        {"model": "l-diversity", "variant": "frequency", "l": 3},
    ]
    assert policy["method"] == {"name": "mondrian+"}


@pytest.mark.parametrize("column", ["job", "diagnosis"])
def test_every_value_is_a_leaf_of_its_tree_and_labels_are_unique(column: str) -> None:
    tree = json.loads((example_folder() / f"{column}.json").read_text(encoding="utf-8"))
    assert len(tree) == 1
    assert len(nodes(tree)) == len(set(nodes(tree)))
    assert set(leaves(tree)) == set(FRAME[column])


def test_the_zip_hierarchy_is_a_tree_over_all_codes() -> None:
    lines = (example_folder() / "zip.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split(";") for line in lines]
    assert {len(row) for row in rows} == {4}
    assert {row[-1] for row in rows} == {"*"}
    assert len({row[0] for row in rows}) == len(rows) == 60
    assert {row[0] for row in rows} == set(FRAME["zip"])
    for level in range(3):
        parents = {(row[level], row[level + 1]) for row in rows}
        assert len(parents) == len({child for child, _ in parents})


@pytest.mark.parametrize(
    ("reader", "file", "title"),
    [
        (datasets.adult, "adult.csv", "Adult"),
        (datasets.german, "german.csv", "German Credit"),
        (datasets.crx, "crx.csv", "Japanese Credit"),
        (datasets.census_income, "census_income.parquet", "Census-Income"),
        (datasets.adult_million, "adult.csv", "Adult"),
    ],
)
def test_without_the_variable_the_remedy_is_named(
    reader: Callable[[], pl.DataFrame], file: str, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SFUMATO_DATA", raising=False)
    with pytest.raises(DataError) as caught:
        reader()
    for part in (file, title, "UCI Machine Learning Repository", "rows", "columns", "export SFUMATO_DATA="):
        assert part in str(caught.value)


def test_a_missing_file_is_named_with_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    (tmp_path / "other.csv").touch()
    with pytest.raises(DataError, match=r"has no german\.csv, only other\.csv"):
        datasets.german()
    with pytest.raises(DataError, match="is not a folder"):
        datasets.arx_hierarchy("age")
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="nowhere, the value of SFUMATO_DATA, is not a folder"):
        datasets.adult_taxonomies()


def test_files_of_the_wrong_shape_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    (tmp_path / "adult.csv").write_text("age,workclass\n39,State-gov\n")
    with pytest.raises(DataError, match="has no columns fnlwgt, education"):
        datasets.adult()
    (tmp_path / "census_income.parquet").write_text("no parquet")
    with pytest.raises(DataError, match="cannot be read"):
        datasets.census_income()
    (tmp_path / "adult_taxonomies.json").write_text("{")
    with pytest.raises(DataError, match="is not JSON"):
        datasets.adult_taxonomies()
    (tmp_path / "adult_taxonomies.json").write_text("[]")
    with pytest.raises(DataError, match="does not contain an object of trees"):
        datasets.adult_taxonomies()


def test_a_folder_with_the_files_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    frame = pl.DataFrame(ADULT)
    frame.write_csv(tmp_path / "adult.csv")
    (tmp_path / "adult_taxonomies.json").write_text('{"sex": {"ANY": {"Male": {}, "Female": {}}}}')
    (tmp_path / "arx").mkdir()
    (tmp_path / "arx" / "adult_hierarchy_sex.csv").write_text("Male;*\nFemale;*\n")
    assert datasets.adult().equals(frame)
    assert leaves(datasets.adult_taxonomies()["sex"]) == ["Male", "Female"]
    assert datasets.arx_hierarchy("sex").read_text().startswith("Male;*")
    with pytest.raises(DataError, match=r"adult_hierarchy_race\.csv, only adult_hierarchy_sex\.csv"):
        datasets.arx_hierarchy("race")


def test_adult_million_has_the_rows_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    frame = pl.DataFrame(ADULT)
    frame.write_csv(tmp_path / "adult.csv")
    blown = datasets.adult_million(rows=10, seed=1)
    assert blown.height == 10
    assert blown.head(3).equals(frame)
    assert blown.equals(datasets.adult_million(rows=10, seed=1))
    assert set(blown["occupation"]) == set(frame["occupation"])
    assert datasets.adult_million(rows=3).equals(frame)
    with pytest.raises(PolicyError, match="rows = 2; Adult alone has 3 records"):
        datasets.adult_million(rows=2)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 30), st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**32))
def test_blow_up_varies_only_what_it_may(rows: int, scale: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"c{number}" for number in range(4)]
    frame = pl.DataFrame({name: rng.integers(0, 9, rows).astype(str) for name in names}).with_row_index("id")
    varied = names[:width]
    blown = blow_up(frame, varied, scale, rng)
    assert blown.schema == frame.schema
    assert blown.height == rows * scale
    assert blown.head(rows).equals(frame)
    inherited = [name for name in frame.columns if name not in varied]
    assert blown.select(inherited).equals(pl.concat([frame.select(inherited)] * scale))
    assert all(set(blown[name]) == set(frame[name]) for name in varied)


def test_blow_up_selects_sizes_and_columns_uniformly() -> None:
    """With a domain of 50,000 values a selected cell nearly always differs, so that q can be counted.

    150,000 variations of 5 columns: each size q and, by symmetry, each column's rate q/5 -> 3/5. A count of a
    Bernoulli(p) variable is off by more than 6 standard deviations with probability below 1e-8; with 10 such
    checks the false-alarm rate is below 1e-7.
    """
    domain = np.arange(50_000)
    frame = pl.DataFrame({f"c{number}": domain for number in range(5)})
    blown = blow_up(frame, frame.columns, 4, np.random.default_rng(7)).to_numpy()[50_000:]
    changed = blown != np.tile(domain, 3)[:, None]
    assert changed.any(axis=1).mean() > 0.99
    sizes = np.bincount(changed.sum(axis=1), minlength=6)[1:]
    assert np.all(np.abs(sizes / len(blown) - 1 / 5) < 6 * np.sqrt(0.2 * 0.8 / len(blown)) + 5 / 50_000)
    assert np.all(np.abs(changed.mean(axis=0) - 3 / 5) < 6 * np.sqrt(0.24 / len(blown)) + 5 / 50_000)


def test_blow_up_never_draws_a_null() -> None:
    frame = pl.DataFrame({"a": [1, None, 3], "b": pl.Series([None] * 3, dtype=pl.String)})
    blown = blow_up(frame, ["a", "b"], 200, np.random.default_rng(3))
    nulls = blown.with_row_index().filter(pl.col("a").is_null())["index"].to_numpy()
    assert set(nulls % 3) == {1}
    assert len(nulls) < 200
    assert blown["b"].null_count() == 600


@pytest.mark.parametrize(
    ("columns", "scale", "fact"),
    [
        (["a"], 0, "blown up 0 times"),
        (["z"], 2, "no columns z"),
        ([], 2, "at least one"),
        (["a", "a"], 2, "each only once"),
    ],
)
def test_blow_up_refuses_what_makes_no_sense(columns: list[str], scale: int, fact: str) -> None:
    with pytest.raises(PolicyError, match=fact):
        blow_up(pl.DataFrame({"a": [1]}), columns, scale, np.random.default_rng(0))
