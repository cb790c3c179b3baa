"""The analyst who predicts a class: errors, what is trained on what, held-out rows shown as a release shows its own."""

import datetime as dt
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.analyst.c45 import C45
from sfumato.analyst.features import examples
from sfumato.analyst.held_out import as_released
from sfumato.analyst.learners import EntropyTree, NaiveBayes

_LEARNERS = ["c45", "tree", "naive-bayes"]


def people(n: int, seed: int, noise: float = 0.1) -> pl.DataFrame:
    """Rich are those above 40 with a degree, and a few others; job follows degree, town means nothing."""
    rng = np.random.default_rng(seed)
    age, degree = rng.integers(20, 70, n), rng.integers(0, 2, n)
    rich = ((age > 40) & (degree == 1)) ^ (rng.random(n) < noise)
    return pl.DataFrame(
        {
            "age": age,
            "degree": np.where(degree == 1, "yes", "no"),
            "job": np.where(degree ^ (rng.random(n) < 0.2), "Lawyer", "Cook"),
            "town": rng.choice(["A", "B", "C"], n),
            "rich": np.where(rich, "rich", "poor"),
        }
    )


def by_decade(frame: pl.DataFrame) -> pl.DataFrame:
    """Age in intervals that keep what matters, the degree hidden."""
    age = pl.when(pl.col("age") < 41).then(pl.lit("[20, 41)")).otherwise(pl.lit("[41, 70)"))
    return frame.select(age=age, degree=pl.lit("*"))


@pytest.mark.parametrize("learner", _LEARNERS)
def test_errors_are_those_of_their_definitions(learner: str) -> None:
    train, test = people(2000, 1), people(1000, 2)
    errors = sf.classification_errors(
        train, test, masked=by_decade, class_="rich", x=["age", "degree"], y=["job"], learner=learner
    )

    def error(one: pl.DataFrame, other: pl.DataFrame) -> float:
        return sf.classification_error(one, other, class_="rich", learner=learner)

    assert errors.baseline == error(train, test)
    assert errors.masked == error(train.with_columns(by_decade(train)), test.with_columns(by_decade(test)))
    assert errors.upper == error(train.drop("age", "degree"), test)
    assert errors.removal == error(train.drop("job"), test)
    assert errors.majority == (test["rich"] != "poor").mean()
    assert (errors.trained, errors.tested) == (2000, 1000)
    assert errors.baseline < errors.masked < errors.upper
    assert errors.loss == errors.masked - errors.baseline
    assert errors.benefit == errors.upper - errors.masked


def test_a_table_masked_already_gives_the_same_as_its_mask() -> None:
    train, test = people(800, 3), people(400, 4)
    pair = (train.with_columns(by_decade(train)), test.with_columns(by_decade(test)))
    assert sf.classification_errors(train, test, masked=pair, class_="rich") == sf.classification_errors(
        train, test, masked=by_decade, class_="rich"
    )


def test_masking_nothing_loses_nothing() -> None:
    train, test = people(500, 5), people(300, 6)
    errors = sf.classification_errors(train, test, masked=lambda frame: frame, class_="rich")
    assert errors.baseline == errors.masked == errors.upper
    assert errors.removal is None
    assert "without the sensitive" not in errors.words()


@pytest.mark.parametrize("learner", _LEARNERS)
def test_separable_rows_are_learnt_without_error(learner: str) -> None:
    train, test = (people(600, s, noise=0.0).filter(pl.col("degree") == "yes") for s in (7, 8))
    train = train.with_columns(pl.when(pl.col("age") > 40).then(pl.lit("old")).otherwise(pl.lit("young")).alias("how"))
    test = test.with_columns(pl.when(pl.col("age") > 40).then(pl.lit("old")).otherwise(pl.lit("young")).alias("how"))
    assert sf.classification_error(train.select("how", "rich"), test, class_="rich", learner=learner) == 0


def test_agrees_with_scikit_learn_where_one_cut_separates() -> None:
    train, test = people(600, 9, noise=0.0), people(600, 10, noise=0.0)
    coded = examples(train.select("age", "degree", "rich"), test, "rich")
    assert C45().predict(coded).tolist() == EntropyTree(leaf=1).predict(coded).tolist()


@pytest.mark.parametrize("learner", _LEARNERS)
def test_order_of_rows_does_not_matter(learner: str) -> None:
    train, test = people(500, 11), people(300, 12)
    expected = sf.classification_errors(train, test, masked=by_decade, class_="rich", learner=learner)
    shuffled = sf.classification_errors(
        train.sample(fraction=1.0, shuffle=True, seed=1),
        test.sample(fraction=1.0, shuffle=True, seed=2),
        masked=by_decade,
        class_="rich",
        learner=learner,
    )
    assert shuffled == expected


def test_rank_is_the_top_of_the_tree_again_and_again() -> None:
    train = people(3000, 13, noise=0.02)
    ranked = sf.rank_attributes(train, class_="rich")
    assert set(ranked[:2]) == {"age", "degree"}
    assert "town" not in ranked
    for i, name in enumerate(ranked):
        left = train.drop(ranked[:i])
        assert C45().fit(examples(left, left, "rich")).root == name
    left = train.drop(ranked)
    assert C45().fit(examples(left, left, "rich")).root is None
    assert sf.rank_attributes(train, class_="rich", top=1) == ranked[:1]


# --- a release -------------------------------------------------------------------------------------


def released(train: pl.DataFrame, k: int) -> tuple[sf.Microdata, sf.Release]:
    tree = {"Any": {"Desk": ["Lawyer"], "Kitchen": ["Cook"]}}
    table = sf.read(train, quasi=["age", "degree", "job"], sensitive="town", class_="rich", taxonomies={"job": tree})
    return table, sf.publish(table, require=sf.KAnonymity(k=k), method=sf.Mondrian())


@pytest.mark.parametrize("learner", _LEARNERS)
def test_a_release_with_the_raw_held_out_rows(learner: str) -> None:
    table, release = released(people(1500, 14), 5)
    test = people(700, 15)
    errors = sf.classification_errors(table, test, masked=release, learner=learner)
    assert abs(errors.loss) < 0.1 < errors.benefit
    assert errors.removal == pytest.approx(errors.baseline, abs=0.03)  # the town means nothing
    assert errors.upper == sf.classification_error(
        people(1500, 14).select("town", "rich"), test, class_="rich", learner=learner
    )


def test_a_release_that_hides_all_is_the_upper_error() -> None:
    table, release = released(people(300, 16), 300)
    errors = sf.classification_errors(table, people(200, 17), masked=release)
    assert errors.masked == errors.upper


@pytest.mark.parametrize("categorical", ["generalize", "suppress"])
def test_labels_from_the_manifest_are_those_of_the_mask(categorical: str) -> None:
    """A release with one cut for the whole table says of every held-out row what its method would have said."""
    train, test = people(600, 29), people(500, 30)
    tree = {"Any": {"Desk": ["Lawyer"], "Kitchen": ["Cook"]}}
    table = sf.read(train, quasi=["age", "job", "town"], class_="rich", taxonomies={"job": tree})
    end = sf.TopDown(templates=[sf.Anonymity(x=["age", "job", "town"], k=20)], categorical=categorical).finish(table)
    shown, masked = as_released(end.release(), test), end.mask(test)
    for name in ("age", "job", "town"):
        assert shown[name].to_list() == masked[name].cast(pl.String).to_list()
    assert shown["age"].n_unique() > 1
    by_release, by_mask = (
        sf.classification_errors(table, test, masked=m, class_="rich", x=["age", "job", "town"])
        for m in (end.release(), end.mask)
    )
    assert by_release == by_mask


def test_missing_values_and_dates_get_the_labels_of_the_mask() -> None:
    """Numbers, dates, orders and sets with gaps, dates also as text or with a time of day."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        drawn = rng.integers(5, size=(30, 4)).tolist()
        days = [None if d == 4 else dt.date(2020, d + 1, 1) for _, d, _, _ in drawn]
        frame = pl.DataFrame(
            {
                "pay": [None if p == 4 else p / 2 for p, _, _, _ in drawn],
                "day": pl.Series(days, dtype=pl.Date),
                "town": [[*"uvwx", None][t] for _, _, t, _ in drawn],
                "pain": [["low", "mid", "mid", "high", None][p] for _, _, _, p in drawn],
                "rich": rng.choice(["yes", "no"], 30),
            }
        )
        order = {"pain": ["low", "mid", "high"]}
        quasi = frame.columns[:-1]
        table = sf.read(frame, quasi=quasi, class_="rich", kinds={"pain": "ordinal"}, domains=order, missing="category")
        templates = [sf.Anonymity(x=name, k=int(k)) for name, k in zip(quasi, rng.integers(1, 12, 4), strict=True)]
        end = sf.TopDown(templates=templates, score="distortion").finish(table)
        release, masked = end.release(), end.mask(frame).select(quasi).cast(pl.String)
        for dtype in (pl.Date, pl.Datetime("ms"), pl.String):
            held_out = frame.with_columns(pl.col("day").cast(dtype))
            assert as_released(release, held_out).select(quasi).equals(masked)
            raw, plain = (sf.classification_error(table, rows, class_="rich") for rows in (held_out, frame))
            assert raw == plain


def test_what_hides_everything_contains_a_number_between_intervals() -> None:
    nodes = {"[0, 5)": [0, 5], "[9, 10)": [9, 10], "*": None}
    release = release_of({"age": {"role": "quasi", "kind": "continuous", "nodes": nodes}})
    shown = as_released(release, pl.DataFrame({"age": [7, 4, 12, -1, None]}))
    assert shown["age"].to_list() == ["*", "[0, 5)", "*", "[0, 5)", "*"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"masked": None}, "masked is of type NoneType; it must be a release"),
        ({"masked": pl.DataFrame()}, "masked is of type DataFrame; it must be a release"),
        ({"masked": (1, 2, 3)}, "masked is 3 tables; it must be a release"),
        ({"masked": lambda rows: 5}, "mask returned an object of type int"),
        ({"class_": 5}, "class_ = 5; it must be the name of a column"),
        ({"learner": 5}, "5 is not a learner.*'c45'"),
        ({"x": "agee"}, "x names 'agee'.*did you mean 'age'"),
    ],
)
def test_what_cannot_be_measured_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(sf.SfumatoError, match=words):
        sf.classification_errors(people(40, 1), people(40, 2), **({"masked": by_decade, "class_": "rich"} | settings))
    for wrong in ("x", 1.5, 0):
        with pytest.raises(sf.PolicyError, match="whole number, 1 or more"):
            sf.rank_attributes(people(40, 1), class_="rich", top=wrong)
        with pytest.raises(sf.PolicyError, match=r"must be in \(0, 1\]"):
            C45(confidence=wrong)


def test_one_attribute_may_be_named_alone() -> None:
    train, test = people(300, 3), people(200, 4)
    one, several = (
        sf.classification_errors(train, test, masked=by_decade, class_="rich", x=x) for x in ("age", ["age"])
    )
    assert one == several


def release_of(attributes: dict[str, dict[str, object]]) -> sf.Release:
    manifest = {"scheme": "generalization", "attributes": attributes}
    return sf.Release(manifest, {"data": pl.DataFrame()})


def test_a_number_gets_the_narrowest_interval_or_the_nearest() -> None:
    nodes = {"[0, 50)": [0, 50], "[10, 20)": [10, 20], "[60, 70)": [60, 70]}
    release = release_of({"age": {"role": "quasi", "kind": "continuous", "nodes": nodes}})
    shown = as_released(release, pl.DataFrame({"age": [15, 9, 20, 51, 58, 99, -3]}))
    assert shown["age"].to_list() == [
        "[10, 20)", "[0, 50)", "[0, 50)", "[0, 50)", "[60, 70)", "[60, 70)", "[0, 50)",
    ]  # fmt: skip


def test_a_date_gets_its_interval() -> None:
    nodes = {"[2020-01-01, 2020-07-01)": ["2020-01-01", "2020-07-01"], "2021-05-05": ["2021-05-05", "2021-05-06"]}
    release = release_of({"day": {"role": "quasi", "kind": "date", "nodes": nodes}})
    shown = as_released(release, pl.DataFrame({"day": [dt.date(2020, 3, 1), dt.date(2021, 5, 5)]}))
    assert shown["day"].to_list() == list(nodes)


def test_a_category_gets_the_label_of_fewest_values() -> None:
    nodes = {"Any": ["Cook", "Lawyer", "Judge"], "Desk": ["Lawyer", "Judge"], "Judge": ["Judge"]}
    release = release_of({"job": {"role": "quasi", "kind": "categorical", "nodes": nodes}})
    shown = as_released(release, pl.DataFrame({"job": ["Cook", "Lawyer", "Judge", "Pilot"]}))
    assert shown["job"].to_list() == ["Any", "Desk", "Judge", "Pilot"]


def test_a_category_without_label_is_what_hides_everything() -> None:
    nodes = {"*": None, "Cook": ["Cook"]}
    release = release_of({"job": {"role": "quasi", "kind": "categorical", "nodes": nodes}})
    assert as_released(release, pl.DataFrame({"job": ["Cook", "Pilot"]}))["job"].to_list() == ["Cook", "*"]


# --- how columns are taken --------------------------------------------------------------------------


def test_intervals_are_ordered_and_meet_numbers() -> None:
    train = pl.DataFrame({"age": ["[20, 30)", "[30, 50)", "55"], "c": ["a", "b", "b"]})
    (feature,) = examples(train, pl.DataFrame({"age": [10, 25, 26, 99], "c": ["a"] * 4}), "c").features
    assert feature.labelled
    assert np.asarray(feature.numbers).tolist() == [25, 40, 55]
    assert feature.held_out.tolist() == [0, 0, 1, 3]


def test_codes_with_leading_zeros_and_named_ones_are_categories() -> None:
    frame = pl.DataFrame({"zip": ["02138", "10115"], "code": [3, 5], "c": ["a", "b"]})
    first, second = examples(frame, frame, "c", categorical=["code"]).features
    assert first.categories == ("02138", "10115")
    assert second.categories == ("3", "5")


def test_microdata_keep_their_kinds() -> None:
    frame = people(200, 18).with_columns(zip=pl.Series([str(10000 + i % 7) for i in range(200)]))
    table = sf.read(frame, quasi=["age", "zip"], class_="rich", kinds={"zip": "categorical"})
    assert sf.rank_attributes(table, top=1) == ["age"]
    assert sf.classification_error(table, table) < 0.3


def test_missing_values_are_values() -> None:
    frame = pl.DataFrame(
        {"age": [None, None, None, 30, 31, 32], "job": ["a", None, "a", "a", None, "a"], "c": [*"xxxyyy"]}
    )
    for learner in _LEARNERS[:1] + _LEARNERS[2:]:
        assert sf.classification_error(frame, frame, class_="c", learner=learner) == 0
    assert examples(frame, frame, "c").features[1].categories == ("(missing)", "a")


@pytest.mark.parametrize("learner", _LEARNERS)
def test_values_and_classes_never_seen(learner: str) -> None:
    """An unseen value is no error by itself; an unseen class can only be one."""
    train = people(400, 19, noise=0.0)
    test = train.with_columns(town=pl.lit("Nowhere"), job=pl.lit("Pilot"))
    assert sf.classification_error(train, test, class_="rich", learner=learner) < 0.5
    nobody = train.with_columns(rich=pl.lit("unheard of"))
    assert sf.classification_error(train, nobody, class_="rich", learner=learner) == 1


def test_an_unseen_value_gets_the_majority_of_the_node_that_asks() -> None:
    train = pl.DataFrame({"job": [*"aaaaabbbb"], "c": [*"xxxxxyyyy"]})
    coded = examples(train, pl.DataFrame({"job": [*"abz"], "c": [*"xyx"]}), "c")
    assert C45().predict(coded).tolist() == [0, 1, 0]


def test_no_attribute_left_means_the_majority() -> None:
    train, test = people(100, 20), people(80, 21)
    for learner in _LEARNERS:
        errors = sf.classification_errors(
            train.select("town", "rich"), test, masked=lambda f: f, class_="rich", x=["town"], learner=learner
        )
        assert errors.upper == errors.majority


# --- bad input -------------------------------------------------------------------------------------


def test_class_column_missing() -> None:
    train = people(50, 22)
    with pytest.raises(sf.PolicyError, match=r"training rows have no class column 'rihc'; did you mean 'rich'"):
        sf.classification_error(train, train, class_="rihc")
    with pytest.raises(sf.PolicyError, match="held-out rows have no class column"):
        sf.classification_error(train, train.drop("rich"), class_="rich")
    with pytest.raises(sf.PolicyError, match="no class column is given"):
        sf.classification_error(train, train)
    pair = (train.drop("rich"), train)
    with pytest.raises(sf.PolicyError, match="masked rows have no class column"):
        sf.classification_errors(train, train, masked=pair, class_="rich", x=["age"])


def test_nothing_to_learn_from() -> None:
    train = people(50, 23)
    with pytest.raises(sf.DataError, match="all training rows have the class 'poor'"):
        sf.classification_error(train.with_columns(rich=pl.lit("poor")), train, class_="rich")
    with pytest.raises(sf.DataError, match="has no rows"):
        sf.classification_error(train, train.clear(), class_="rich")
    with pytest.raises(sf.DataError, match="have no column 'town'"):
        sf.classification_error(train, train.drop("town"), class_="rich")
    gap = train.with_columns(rich=pl.when(pl.int_range(pl.len()) == 0).then(None).otherwise(pl.col("rich")))
    with pytest.raises(sf.DataError, match="1 training rows have no class"):
        sf.classification_error(gap, train, class_="rich")


def test_wrong_settings() -> None:
    train = people(50, 24)
    with pytest.raises(sf.PolicyError, match="no learner 'c54'; did you mean 'c45'"):
        sf.classification_error(train, train, class_="rich", learner="c54")
    with pytest.raises(sf.PolicyError, match="x names 'rich', which is not an attribute"):
        sf.classification_errors(train, train, masked=by_decade, class_="rich", x=["rich"])
    with pytest.raises(sf.PolicyError, match="y names 'wages', which is not an attribute"):
        sf.classification_errors(train, train, masked=by_decade, class_="rich", y=["wages"])
    with pytest.raises(sf.PolicyError, match="confidence = 0"):
        C45(confidence=0)
    with pytest.raises(sf.PolicyError, match="leaf = 0"):
        EntropyTree(leaf=0)
    with pytest.raises(sf.PolicyError, match="top = 0"):
        sf.rank_attributes(train, class_="rich", top=0)
    with pytest.raises(sf.DataError, match="masking 50 rows returned 1"):
        sf.classification_errors(train, train, masked=lambda f: f.head(1), class_="rich")
    with pytest.raises(sf.PolicyError, match="name them in `x`"):
        sf.classification_errors(train, train, masked=(train.head(40), train), class_="rich")


def test_releases_that_cannot_be_learnt_from() -> None:
    table, release = released(people(200, 25), 5)
    with pytest.raises(sf.PolicyError, match="not a release; give the release as `masked`"):
        sf.classification_error(release, people(10, 26), class_="rich")
    with pytest.raises(sf.PolicyError, match="have no column 'age', which the release shows"):
        sf.classification_errors(table, people(50, 26).drop("age"), masked=release)
    buckets = sf.publish(
        table, require=sf.LDiversity(l=2, variant="frequency"), method=sf.MondrianPlus(scheme="bucketization")
    )
    with pytest.raises(sf.PolicyError, match="bucketiz"):
        sf.classification_errors(table, people(50, 26), masked=buckets)


@pytest.mark.parametrize("learner", ["tree", "naive-bayes"])
def test_scikit_learn_is_an_extra(learner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [m for m in sys.modules if m == "sklearn" or m.startswith("sklearn.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    train = people(50, 27)
    with pytest.raises(sf.PolicyError, match=r"install it with the extra sfumato\[analysis\]"):
        sf.classification_error(train, train, class_="rich", learner=learner)
    assert sf.classification_error(train, train, class_="rich") < 0.5


def test_a_learner_of_ones_own() -> None:
    class Poor:
        def predict(self, coded):
            return np.zeros(len(coded.held_out), np.int64)

    class Lazy:
        def predict(self, coded):
            return np.zeros(1, np.int64)

    train = people(90, 28)
    errors = sf.classification_errors(train, train, masked=by_decade, class_="rich", learner=Poor())
    assert errors.learner == "Poor"
    assert errors.masked == errors.majority
    with pytest.raises(sf.DataError, match="returned 1 classes for 90 rows"):
        sf.classification_error(train, train, class_="rich", learner=Lazy())
    assert NaiveBayes() == NaiveBayes()
