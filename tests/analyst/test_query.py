"""The language of queries, and counts from every scheme."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import sfumato as sf
from sfumato.analyst import view
from sfumato.analyst.analyst import Answer
from sfumato.analyst.condition import All, AttributeCondition, Not, Some, comparisons
from sfumato.analyst.query import parse, parse_condition
from sfumato.table.published import counted_rows


def test_grammar() -> None:
    where = "(a = 1 OR b <> 'it''s') AND NOT c IN (1, 'x')"
    q = parse(f'SELECT "marital status", COUNT(*) FROM t WHERE {where} GROUP BY "marital status";')
    assert q.columns == ("marital status",)
    assert not q.cube
    assert q.where == All(
        (
            Some((AttributeCondition("a", "=", (1.0,)), AttributeCondition("b", "!=", ("it's",)))),
            Not(AttributeCondition("c", "=", (1.0, "x"))),
        )
    )
    assert parse("select count(*) cube (a, b)").cube
    assert parse("select count(*), a group by cube a, b") == parse("select count(*) cube a, b")
    assert parse_condition("hours-per-week between 10 and 20 and x not in (-1.5e3)") == All(
        (
            All(
                (
                    AttributeCondition("hours-per-week", ">=", (10.0,)),
                    AttributeCondition("hours-per-week", "<=", (20.0,)),
                )
            ),
            AttributeCondition("x", "!=", (-1500.0,)),
        )
    )
    assert parse_condition("") == All()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the query is empty; write SELECT COUNT"),
        ("   ", "the query is empty"),
        ("select count(*) where age >", "at the end: expected a value"),
        ("select a", "must count rows"),
        ("select count(*), count(*)", "must count rows"),
        ("select count(*) where a", "BETWEEN after 'a'"),
        ("select count(*) where a = b", "single quotes"),
        ("select count(*) where a = 'b", 'syntax error at "\'b"'),
        ("select count(*) where a = 1 b = 2", "syntax error at 'b'"),
        ("select count(*), c group by a", "does not group by it"),
        ("select count(*) group by a, a", "twice"),
        ("select count(*) where a = 1; drop table t", "syntax error at 'drop'"),
        ("select count(*) where " + "(" * 100 + "a = 1" + ")" * 100, "nested deeper"),
        ("select count(*) where a not = 1", "BETWEEN after 'a'"),
        ("select count(*) order by a", "apply to groups, but the query has none"),
        ("select count(*) limit 3", "apply to groups, but the query has none"),
        ("select count(*) group by a limit -1", "LIMIT needs a whole number"),
        (
            "select count(*) group by a order by b",
            "ordered by 'b', which is not in the answer; order by one of a, count",
        ),
    ],
)
def test_what_is_not_understood_is_said(text: str, told: str) -> None:
    with pytest.raises(sf.PolicyError, match=told):
        parse(text)


PIECES = ["a", "b", "=", "<", ">=", "1", "'x'", "(", ")", "and", "or", "not", "in", "between", ",", ";", "count(*)"]


@given(st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    """What is read names only what the text names, and asks the same within a query; all else is a PolicyError."""
    try:
        found = parse_condition(text)
    except sf.PolicyError:
        return
    assert all(c.attribute in text for c in comparisons(found))
    if found != All():
        assert parse(f"select count(*) where {text}").where == found


def people() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, 400),
            "sex": rng.choice(["m", "f"], 400),
            "job": rng.choice(["Nurse", "Cook", "Smith", "Clerk"], 400),
            "ill": rng.choice(["flu", "HIV", "cold", "none"], 400),
        }
    )


TREE = {"Any": {"Care": ["Nurse", "Cook"], "Work": ["Smith", "Clerk"]}}


@pytest.fixture(scope="module")
def generalized() -> sf.Release:
    table = sf.read(people(), quasi=["age", "sex", "job"], sensitive="ill", taxonomies={"job": TREE})
    return sf.publish(table, require=sf.KAnonymity(k=10))


def likely(release: sf.Release, name: str, values: list[object]) -> dict[str, dict[object, float]]:
    """For each label, the shares of its values: expectation maximization in plain loops, a twentieth spread evenly."""
    column = release.tables["data"][name].cast(pl.String).to_list()
    nodes = release.manifest["attributes"][name]["nodes"]
    meaning = {label: nodes[label] or values for label in set(column)}
    covers = {l: [v for v in values if (m[0] <= v < m[1] if name == "age" else v in m)] for l, m in meaning.items()}
    share = dict.fromkeys(values, 1 / len(values))
    for _ in range(2000):
        new = dict.fromkeys(values, 0.0)
        for label in covers:
            total = sum(share[v] for v in covers[label])
            for v in covers[label]:
                new[v] += share[v] / total * column.count(label) / len(column)
        moved, share = sum(abs(new[v] - share[v]) for v in values), new
        if moved < 1e-6:
            break
    return {l: {v: 0.95 * share[v] / sum(share[w] for w in c) + 0.05 / len(c) for v in c} for l, c in covers.items()}


def test_generalization_spreads_labels_as_the_others_tell(generalized: sf.Release) -> None:
    analyst = sf.Analyst(generalized)
    answer = analyst.count("age >= 30 and age < 41 and job = 'Cook' and ill in ('flu', 'HIV')")
    ages = likely(generalized, "age", list(range(20, 60)))
    jobs = likely(generalized, "job", ["Nurse", "Cook", "Smith", "Clerk"])
    total = 0.0
    for row in generalized.tables["data"].iter_rows(named=True):
        age = sum(share for v, share in ages[row["age"]].items() if 30 <= v < 41)  # type: ignore[operator]
        total += age * jobs[row["job"]].get("Cook", 0.0) * (row["ill"] in ("flu", "HIV"))
    assert answer.estimate == pytest.approx(total, rel=5e-3)
    assert answer.standard_error > 0
    truth = people().filter(
        pl.col("age").is_between(30, 40), pl.col("job") == "Cook", pl.col("ill").is_in(["flu", "HIV"])
    )
    assert answer.bounds[0] <= answer.interval[0] <= truth.height <= answer.interval[1] <= answer.bounds[1]
    assert analyst.count("ill = 'flu'") == Answer.exactly(float(people().filter(pl.col("ill") == "flu").height))
    assert analyst.count("age >= 30 or age < 30") == Answer.exactly(400.0)
    by = analyst.group_by(["sex", "ill"])
    assert by["count"].sum() == pytest.approx(400)
    assert analyst.cube(["sex", "ill"]).filter(pl.col("sex").is_null() & pl.col("ill").is_null())["count"][0] == 400


def test_bucketization_spreads_values_over_the_group() -> None:
    frame = people()
    table = sf.read(frame, quasi=["sex", "job"], sensitive="ill")
    release = sf.publish(table, require=sf.LDiversity(l=2), method="anatomy")
    analyst = sf.Analyst(release)
    sensitive, quasi = release.tables["sensitive"], release.tables["quasi"]
    sizes = quasi.group_by("group").len("n")
    share = sensitive.filter(pl.col("ill").cast(pl.String) == "flu").join(sizes, "group")
    share = share.select("group", part=pl.col("count") / pl.col("n"))
    men = quasi.filter(pl.col("sex").cast(pl.String) == "m").join(share, "group", how="left")
    assert analyst.count("sex = 'm' and ill = 'flu'").estimate == pytest.approx(men["part"].fill_null(0).sum())
    truth = frame.filter(pl.col("ill") == "flu").height
    alone = analyst.count("ill = 'flu'")
    assert alone.estimate == pytest.approx(truth)
    assert alone.standard_error == 0
    assert analyst.count("job = 'Cook'") == Answer.exactly(float(frame.filter(pl.col("job") == "Cook").height))
    assert analyst.group_by("ill").filter(pl.col("ill") == "flu")["count"][0] == pytest.approx(truth)


def test_numbers_and_order_in_a_randomized_release() -> None:
    frame = people().with_columns(level=pl.Series(["low", "mid", "high", "mid"] * 100))
    table = sf.read(
        frame,
        quasi=["age", "level"],
        sensitive="ill",
        kinds={"level": "ordinal"},
        domains={"level": ["low", "mid", "high"]},
    )
    release = sf.publish(table, require=sf.Disclosure(tau=1.0), method=sf.RandomizedResponse(keep={"age": 0.9}))
    assert any("age" in w for w in release.warnings)
    release.check()
    analyst = sf.Analyst(release)
    assert analyst.count("level >= 'mid'") == Answer.exactly(300.0)
    parts = [analyst.count(w) for w in ("age < 40", "age = 40", "age > 40")]
    assert sum(p.estimate for p in parts) == pytest.approx(400)
    assert abs(parts[0].estimate - frame.filter(pl.col("age") < 40).height) <= 8 * parts[0].standard_error
    with pytest.raises(sf.PolicyError, match="words without an order"):
        analyst.count("ill > 'flu'")
    with pytest.raises(sf.PolicyError, match="did you mean 'HIV'"):
        analyst.count("ill = 'HlV'")


def test_many_large_domains_are_never_built() -> None:
    """Four attributes of 100 values are 10^8 cells; a condition over all of them needs a handful."""
    rng = np.random.default_rng(1)
    names = ["a", "b", "c", "d"]
    frame = pl.DataFrame({n: rng.integers(0, 100, 5000) for n in names}).with_columns(s=pl.Series(["u", "v"] * 2500))
    domains = {n: [str(v) for v in range(100)] for n in names}
    table = sf.read(frame, quasi=["a"], sensitive="s", insensitive=[], domains={"a": domains["a"]})
    made = sf.publish(table, require=sf.Disclosure(tau=1.0), method=sf.RandomizedResponse(keep={"a": 0.9}))
    manifest = dict(made.manifest)
    entry = manifest["attributes"]["a"]
    manifest["attributes"] = dict.fromkeys(names, entry) | {"s": manifest["attributes"]["s"]}
    manifest["matrices"] = {n: {"keep": 0.9} for n in names}
    release = sf.Release(manifest, {"data": frame.cast(pl.String)})
    analyst = sf.Analyst(release)
    answer = analyst.count("a < 50 and b < 50 or c >= 90 and not d = 7")
    assert np.isfinite(answer.estimate)
    assert answer.standard_error > 0
    with pytest.raises(sf.PolicyError, match=r"100,000,000 cells.*drop an attribute, first 'a'"):
        analyst.group_by(names)
    assert analyst.group_by(["a", "b"], "c < 50 or d < 10").height == 10_000


def test_questions_that_make_no_sense(generalized: sf.Release) -> None:
    analyst = sf.Analyst(generalized)
    with pytest.raises(sf.PolicyError, match="did you mean 'sex'"):
        analyst.count("sx = 'm'")
    with pytest.raises(sf.PolicyError, match="this one is not"):
        analyst.distribution("sex")
    with pytest.raises(sf.PolicyError, match="'fixed'"):
        sf.Analyst(generalized, sampling="both")  # type: ignore[arg-type]
    with pytest.raises(sf.PolicyError, match="name at least one"):
        analyst.group_by([])


def test_groups_are_sorted_and_cut_off(generalized: sf.Release) -> None:
    analyst = sf.Analyst(generalized)
    found = analyst.query("SELECT COUNT(*), ill GROUP BY ill ORDER BY COUNT(*) DESC, ill LIMIT 2")
    everything = analyst.group_by("ill").sort("count", descending=True)
    assert isinstance(found, pl.DataFrame)
    assert found.rows() == everything.head(2).rows()
    by_name = analyst.query("select count(*) group by ill order by ill desc limit 1")
    assert isinstance(by_name, pl.DataFrame)
    assert by_name["ill"].to_list() == ["none"]


def test_the_error_of_drawing_people_is_for_randomized_releases(generalized: sf.Release) -> None:
    with pytest.raises(sf.PolicyError, match="by generalization, which randomizes nothing; leave it out"):
        sf.Analyst(generalized, sampling="iid")


def test_ranges_of_numbers_are_spread_wherever_the_condition_cuts() -> None:
    """Ranges too wide to list, or of decimals: never all or nothing by their middle."""
    rows = 60
    pay = [10_000 + 5_000 * min(max(i, 1), rows - 2) for i in range(rows)]
    frame = pl.DataFrame({"pay": pay, "dose": [1.5, 2.25, 3.0] * 20, "ill": ["a", "b"] * 30})
    table = sf.read(frame, quasi=["pay"], sensitive="ill")
    wide = sf.publish(table, require=sf.KAnonymity(k=rows), method="mondrian")
    low, high = wide.manifest["attributes"]["pay"]["domain"]
    analyst = sf.Analyst(wide)
    assert analyst.count("pay >= 100000").estimate == pytest.approx(rows * (high - 100_000) / (high - low))
    assert analyst.count("pay = 100000").estimate == pytest.approx(rows / (high - low))
    assert analyst.count("pay > 100000.5") == analyst.count("pay > 100000")
    assert analyst.count("pay = 100000.5").estimate == 0
    by = analyst.group_by("pay", "pay >= 100000")
    assert by["count"].sum() == pytest.approx(analyst.count("pay >= 100000").estimate)
    assert by["pay"].n_unique() == by.height
    dose = sf.publish(sf.read(frame, quasi=["dose"], sensitive="ill"), require=sf.KAnonymity(k=20))
    assert sf.Analyst(dose).count("dose = 1.5") == Answer.exactly(20.0)
    assert sf.Analyst(dose).count("dose > 1.5") == Answer.exactly(40.0)


def test_what_is_wholly_suppressed_is_bounded_and_said_to_be() -> None:
    table = sf.read(people(), quasi=["age", "sex"], sensitive="ill")
    analyst = sf.Analyst(sf.publish(table, require=sf.KAnonymity(k=400), method="incognito"))
    for where in ("age >= 40", "age = 40", "sex = 'm'", "not sex = 'm'", "age between 20 and 30 and sex = 'm'"):
        answer = analyst.count(where)
        assert answer.bounds == answer.interval == (0, 400), where
        assert 0 <= answer.estimate <= 400
        assert "shows nothing about" in answer.assumption
    assert analyst.count("sex = 'm'").estimate == 200  # nothing is known: half way
    assert analyst.count("sex = 'm'").standard_error > 100
    assert analyst.count("age >= 40 and age < 30").bounds == (0, 0)
    assert analyst.count("sex = 'm' or not sex = 'm'") == Answer.exactly(400)
    assert analyst.count("sex = 'm' and sex = 'f'").bounds == (0, 0)
    flu = int((people()["ill"] == "flu").sum())
    assert analyst.count("age >= 40 and ill = 'flu'").bounds == (0, flu)
    assert analyst.group_by("age")["count"].to_list() == [400.0]
    with pytest.raises(sf.PolicyError, match="cannot be both grouped by and in a condition"):
        analyst.group_by("age", "age >= 40")
    with pytest.raises(sf.PolicyError, match="without an order"):
        analyst.count("sex >= 'm'")


def shown_or_suppressed() -> sf.Analyst:
    """Three people of each town, one of each village, in groups of three."""
    towns = ["Ulm"] * 30 + ["Bonn"] * 30 + [f"village {i}" for i in range(30)]
    frame = pl.DataFrame({"town": towns, "ill": ["a", "b", "c"] * 30})
    table = sf.read(frame, quasi=["town"], sensitive="ill")
    return sf.Analyst(sf.publish(table, require=sf.KAnonymity(k=3), method="mondrian"))


def test_a_value_that_only_suppressed_cells_may_hide_is_bounded() -> None:
    analyst = shown_or_suppressed()
    village = analyst.count("town = 'village 3'")
    assert village.bounds == (0, 30)
    assert 0 < village.estimate < 15
    assert "no row shows 'village 3' of 'town'" in village.assumption
    assert "no row shows" not in analyst.count("town = 'Ulm'").assumption
    both = analyst.count("town in ('village 3', 'village 4')")
    assert both.bounds == (0, 30)
    assert both.interval == both.bounds  # nothing tells: the interval is no narrower


def test_what_is_suppressed_is_not_all_taken_for_what_is_shown() -> None:
    """Of thirty suppressed cells none is Ulm; whoever knew of Ulm and Bonn alone would give them all to both."""
    analyst = shown_or_suppressed()
    ulm, others = analyst.count("town = 'Ulm'"), analyst.count("not town in ('Ulm', 'Bonn')")
    assert ulm.bounds == (30, 60)
    assert ulm.standard_error > 0
    assert (others.bounds, others.estimate) == ((0, 30), pytest.approx(10))
    by = analyst.group_by("town")
    assert by["town"].to_list() == ["Bonn", "Ulm", "(not listed)"]
    assert by["count"].sum() == pytest.approx(90)
    assert analyst.count("town = '(not listed)'") == others


def test_a_code_is_found_inside_its_mask() -> None:
    zips = [f"471{i}" for i in range(5)] * 6 + [f"48{i}{j}" for i in range(3) for j in range(3)] * 2
    frame = pl.DataFrame({"zip": zips, "ill": ["a", "b", "c"] * 16})
    table = sf.read(frame, quasi=["zip"], sensitive="ill", taxonomies={"zip": {"mask": "right"}})
    analyst = sf.Analyst(sf.publish(table, require=sf.KAnonymity(k=18), method=sf.Incognito()))
    shown = analyst.view.release.tables["data"]["zip"].unique().sort().to_list()
    assert shown == ["47**", "48**"]
    assert analyst.count("zip = '47**'") == Answer.exactly(30)
    code = analyst.count("zip = '4712'")
    assert code.interval == code.bounds == (0, 30)
    assert code.estimate == pytest.approx(0.3)
    assert analyst.count("zip = '4712' and zip = '47**'").bounds == (0, 30)
    assert analyst.count("zip = '4712' and zip = '48**'").bounds == (0, 0)
    assert analyst.count("zip = '4712' or zip = '47**'") == Answer.exactly(30)
    with pytest.raises(sf.PolicyError, match="has no value '471'"):
        analyst.count("zip = '471'")
    with pytest.raises(sf.PolicyError, match="has no value '5712'"):
        analyst.count("zip = '5712'")


def test_a_code_is_found_behind_its_beginning() -> None:
    codes = ["I21", "I21.4", "I22.1", "J10.0", "J11", "J11.8"] * 5
    frame = pl.DataFrame({"code": codes, "ill": ["a", "b", "c"] * 10})
    table = sf.read(frame, quasi=["code"], sensitive="ill", taxonomies={"code": {"prefix": [1]}})
    analyst = sf.Analyst(sf.publish(table, require=sf.KAnonymity(k=15), method=sf.Incognito()))
    assert analyst.view.release.tables["data"]["code"].unique().sort().to_list() == ["I…", "J…"]
    assert analyst.count("code = 'I…'") == Answer.exactly(15)
    assert analyst.count("code = 'I21.4'").bounds == (0, 15)
    assert analyst.count("code = 'I21.4'").interval == (0, 15)
    assert analyst.count("code in ('I21.4', 'J11')").bounds == (0, 30)
    assert analyst.count("code = 'I21.4' and code = 'J…'").bounds == (0, 0)
    with pytest.raises(sf.PolicyError, match="has no value 'K1'"):
        analyst.count("code = 'K1'")


def test_words_are_not_taken_for_numbers_nor_dates_for_days() -> None:
    zips = ["01234"] * 2 + ["1234"] * 3 + ["nan"]
    days = ["2020-01-01"] * 4 + ["2020-02-01"] * 2
    frame = pl.DataFrame({"sex": ["m"] * 6, "ill": ["a", "b"] * 3, "zip": zips, "day": days, "n": range(6)})
    table = sf.read(frame, quasi=["sex"], sensitive="ill", insensitive=["zip", "day", "n"])
    analyst = sf.Analyst(sf.publish(table, require=sf.KAnonymity(k=2)))
    assert [analyst.count(f"zip = '{z}'").estimate for z in ("01234", "1234", "nan")] == [2, 3, 1]
    assert analyst.count("day >= '2020-01-15'").estimate == 2
    with pytest.raises(sf.PolicyError, match="are dates, and this is not one"):
        analyst.count("day >= 3")
    with pytest.raises(sf.PolicyError, match="are numbers, and this is not one"):
        analyst.count("n >= '2020-01-15'")


def test_a_hostile_number_is_refused_at_once() -> None:
    with pytest.raises(sf.PolicyError, match="syntax error at"):
        parse_condition("a = " + "1" * 90_000 + "x")


def test_a_bucketized_value_alone_is_counted_exactly() -> None:
    table = sf.read(people(), quasi=["sex"], sensitive="ill")
    analyst = sf.Analyst(sf.publish(table, require=sf.LDiversity(l=2), method="anatomy"))
    by = analyst.group_by("ill")
    assert by["standard_error"].to_list() == [0.0] * by.height
    assert analyst.group_by(["sex", "ill"])["standard_error"].max() > 0  # type: ignore[operator]


def test_a_damaged_manifest_is_refused(generalized: sf.Release) -> None:
    for part, value in (("domain", None), ("nodes", {"Any": 5})):
        attributes = generalized.manifest["attributes"]
        about = attributes["job"] | {part: value}
        damaged = generalized.manifest | {"attributes": attributes | {"job": about}}
        with pytest.raises(sf.ReleaseError, match="manifest"):
            sf.Analyst(sf.Release(damaged, generalized.tables)).count("job = 'Cook'")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) WHERE age >= 30 AND age < 50",
        "SELECT COUNT(*) WHERE age < 41 AND ill = 'flu' OR sex = 'm'",
        "SELECT COUNT(*), sex WHERE age > 33 GROUP BY sex",
        "SELECT COUNT(*) CUBE sex, ill",
        "SELECT AVG(age) WHERE sex = 'f'",
        "SELECT MEDIAN(age), sex WHERE ill = 'flu' GROUP BY sex",
    ],
)
def test_equal_rows_of_many_are_counted_first(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a question does not ask about is left out, and the answer is the same."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, 400),
            "sex": rng.choice(["m", "f"], 400),
            "zip": rng.integers(100, 140, 400),
            "ill": rng.choice(["flu", "HIV", "gout"], 400, p=[0.6, 0.1, 0.3]),
        }
    )
    table = sf.read(frame, quasi=["age", "sex", "zip"], sensitive="ill")
    release = sf.publish(table, require=sf.KAnonymity(k=8), method="mondrian")
    wanted = sf.Analyst(release).query(text)
    monkeypatch.setattr(view, "_MANY", 0)
    monkeypatch.setattr(view, "counted_rows", lambda frame, most: counted_rows(frame, 10**6))
    analyst = sf.Analyst(release)
    found = analyst.query(text)
    assert any(v.rows < 400 for v in analyst.view._narrow.values())
    if isinstance(wanted, pl.DataFrame):
        assert isinstance(found, pl.DataFrame)
        assert_frame_equal(found, wanted, rel_tol=1e-9)
        return
    assert isinstance(found, Answer)
    assert found.assumption == wanted.assumption
    assert (found.estimate, found.standard_error, *found.interval, *found.bounds) == pytest.approx(
        (wanted.estimate, wanted.standard_error, *wanted.interval, *wanted.bounds)
    )
