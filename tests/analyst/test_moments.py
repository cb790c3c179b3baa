"""Means, sums and quantiles: bounds that always hold, and what is exact is exact."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.analyst.moments import sides
from sfumato.analyst.query import parse_condition
from sfumato.errors import DataError, PolicyError

ROWS = 240
K, L = sf.KAnonymity(k=4), sf.LDiversity(l=2)


def people(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS) * (1 if seed % 2 else 0.5),
            "height": np.round(rng.normal(170, 12, ROWS), 1),
            "sex": rng.choice(["f", "m"], ROWS),
            "ill": rng.choice(list("abcdefgh"), ROWS),
            "costs": rng.choice([0, 100, 250, 900], ROWS),
        }
    )


def analyst(frame: pl.DataFrame, method: object, require: list[object], **more: object) -> sf.Analyst:
    roles: dict[str, object] = {"quasi": ["age", "height", "sex"], "sensitive": "ill", "insensitive": ["costs"], **more}
    roles["taxonomies"] = {"sex": {"Any": ["f", "m"]}}
    table = sf.read(frame, **roles)  # type: ignore[arg-type]
    release = sf.publish(table, require=require, method=method, rng=np.random.default_rng(3))  # type: ignore[arg-type]
    return sf.Analyst(release)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("method", "require"),
    [
        ("mondrian", [K]),
        ("mondrian+", [K, L]),
        (sf.Mondrian(scheme="bucketization"), [L]),
        ("anatomy", [L]),
        (sf.PG(k=4, p=0.5, domain="occurring"), [sf.RhoBreach(rho1=0.3, rho2=0.99, skew=0.5)]),
    ],
    ids=["mondrian", "mondrian+", "buckets", "anatomy", "pg"],
)
def test_the_truth_is_within_the_bounds(seed: int, method: object, require: list[object]) -> None:
    frame = people(seed)
    sampled = isinstance(method, sf.PG)
    found = analyst(frame, method, require, **({"insensitive": []} if sampled else {}))
    for column in ("age", "height") if sampled else ("age", "height", "costs"):
        for where, kept in (("", frame), ("sex = 'f'", frame.filter(pl.col("sex") == "f"))):
            numbers = np.sort(kept[column].to_numpy())
            counted = sides(found.view[column], parse_condition(where), found._count)
            for answer, truth in (
                (counted.mean(), numbers.mean()),
                (counted.total(), numbers.sum()),
                *((counted.quantile(max(q, 1e-12)), _quantile(numbers, q)) for q in (0.0, 0.1, 0.5, 0.9, 1.0)),
            ):
                assert answer.bounds[0] - 1e-6 <= truth <= answer.bounds[1] + 1e-6
                assert answer.bounds[0] <= answer.interval[0] <= answer.interval[1] <= answer.bounds[1]


def _quantile(numbers: "np.ndarray[tuple[int], np.dtype[np.float64]]", q: float) -> float:
    return float(numbers[max(int(np.ceil(q * len(numbers) - 1e-9)) - 1, 0)])


def test_what_is_shown_exactly_is_exact() -> None:
    frame = people(1)
    found = analyst(frame, "mondrian", [K])
    assert found.mean("costs").bounds == pytest.approx((frame["costs"].mean(),) * 2)
    assert found.sum("costs").estimate == pytest.approx(frame["costs"].sum())
    assert found.quantile("costs", 0.5).bounds == (_quantile(np.sort(frame["costs"].to_numpy()), 0.5),) * 2
    assert found.quantile("costs", 0).estimate == 0
    assert found.quantile("costs", 1).estimate == 900


def test_questions_in_sql() -> None:
    found = analyst(people(1), "mondrian", [K])
    for text, same in (
        ("SELECT AVG(costs) WHERE sex = 'f'", found.mean("costs", "sex = 'f'")),
        ("select sum(costs);", found.sum("costs")),
        ("SELECT MEDIAN(age) FROM t", found.quantile("age")),
        ("SELECT QUANTILE(age, 0.9) WHERE height > 170", found.quantile("age", 0.9, "height > 170")),
        ("SELECT MIN(age)", found.quantile("age", 0)),
        ("SELECT MAX(age)", found.quantile("age", 1)),
    ):
        assert found.query(text) == same


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SELECT AVG(sex)", "no numbers"),
        ("SELECT AVG(costs) GROUP BY age", "'age' is shown by ranges"),
        ("SELECT AVG(costs) GROUP BY CUBE(sex, ill)", "CUBE is for counts"),
        ("SELECT AVG(age), COUNT(*) GROUP BY sex", "exactly once"),
        ("SELECT AVG(age), sex GROUP BY sex ORDER BY count", "order by one of sex, avg, standard_error"),
        ("SELECT QUANTILE(age, 2)", "from 0 to 1"),
        ("SELECT QUANTILE(age)", "expected ,"),
        ("SELECT QUANTILE(age, 'x')", r"QUANTILE\(age, 0.9\)"),
        ("SELECT AVG(aeg)", "age"),
        ("SELECT AVG(age), sex GROUP BY ill", "does not group by it"),
    ],
)
def test_wrong_questions_say_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        analyst(people(1), "mondrian", [K]).query(text)


@pytest.mark.parametrize("method", ["mondrian", sf.Mondrian(scheme="bucketization")], ids=["labels", "buckets"])
def test_figures_by_groups_are_those_of_each_group(method: object) -> None:
    frame = people(1)
    found = analyst(frame, method, [L])
    by = found.query("SELECT sex, ill, AVG(age) WHERE costs > 0 GROUP BY sex, ill ORDER BY avg DESC")
    assert isinstance(by, pl.DataFrame)
    assert by["avg"].to_list() == sorted(by["avg"].to_list(), reverse=True)
    truth = frame.filter(pl.col("costs") > 0).group_by("sex", "ill").agg(pl.col("age").mean())
    assert by.height == truth.height
    for row in by.join(truth, on=["sex", "ill"]).iter_rows(named=True):
        alone = found.mean("age", f"costs > 0 and sex = '{row['sex']}' and ill = '{row['ill']}'")
        assert (row["avg"], row["low"], row["greatest"]) == (alone.estimate, alone.interval[0], alone.bounds[1])
        assert row["least"] - 1e-9 <= row["age"] <= row["greatest"] + 1e-9


def test_nobody_has_no_mean() -> None:
    with pytest.raises(DataError, match="widen the"):
        analyst(people(1), "mondrian", [K]).mean("age", "costs > 1000")
