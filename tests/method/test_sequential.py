"""Sequential anonymization: what is bound, stopped, refused and published; beside the twin and the worked examples."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.base import Enough
from sfumato.method.topdown.sequential import SequentialRun
from sfumato.release.earlier import Earlier, of_table

TREES: dict[str, Any] = {
    "job": {"Any": {"Office": ["clerk", "lawyer"], "Craft": ["cook", "driver"]}},
    "born": {"World": {"Europe": ["UK", "FR"], "US": {}}},
}


def people(rows: int = 120, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": np.repeat(np.arange(rows // 2), 2),
            "row": np.arange(rows),
            "job": rng.choice(["clerk", "lawyer", "cook", "driver"], rows),
            "born": rng.choice(["UK", "FR", "US"], rows),
            "age": rng.integers(20, 60, rows),
            "zip": rng.choice(["Z1", "Z2"], rows),
            "ill": rng.choice(["flu", "HIV", "cold"], rows),
            "buys": rng.choice(["yes", "no"], rows),
        }
    )


def table(frame: pl.DataFrame | None = None, **roles: Any) -> sf.Microdata:
    told = {
        "quasi": ["job", "born", "age"],
        "sensitive": "ill",
        "class_": "buys",
        "identifiers": ["pid", "row"],
    } | roles
    trees = {n: t for n, t in TREES.items() if n in told["quasi"]}
    return sf.read(people() if frame is None else frame, taxonomies=trees, **told)


def before(*columns: str, frame: pl.DataFrame | None = None, name: str = "T2") -> Earlier:
    trees = {n: t for n, t in TREES.items() if n in columns}
    return of_table(sf.read(people() if frame is None else frame, quasi=list(columns), taxonomies=trees), name)


def earlier_release(*columns: str) -> sf.Release:
    trees = {n: t for n, t in TREES.items() if n in columns}
    source = sf.read(people(), quasi=list(columns), taxonomies=trees)
    return sf.publish(source, method=sf.Mondrian(), require=[sf.KAnonymity(k=4)])


def test_stopped_early_it_publishes_the_last_valid_table() -> None:
    after = [earlier_release("born", "zip")]
    require = [sf.Anonymity(x=["job", "T1.born", "T2.born", "zip"], k=3)]
    whole = sf.publish(table(), method=sf.TopDownSequential(after=after), require=require)
    told: list[str] = []

    def stop(stage: str, done: float) -> None:
        told.append(stage)
        if stage.startswith("step ") and sum(s.startswith("step ") for s in told) == 2:
            raise Enough

    early = sf.publish(table(), method=sf.TopDownSequential(after=after), require=require, progress=stop)
    assert "stopped after 2 steps" in " ".join(early.warnings)
    for release in (whole, early):
        assert not [f for f in release.check() if f.status == "broken"]
        found = sf.sequential_join([release, *after], x=["job", "born", "zip"], y="T1")
        assert found.anonymity is not None
        assert found.anonymity >= 3
        assert release.manifest["requirements"][0]["achieved"] == {"k": found.anonymity}


@pytest.mark.parametrize("join_in_x", [True, False])
@pytest.mark.parametrize(
    "template",
    [
        sf.Anonymity(x=["job", "T2.born", "zip"], y=["T1", "T2"], k=30),
        sf.Anonymity(x=["job", "age", "zip"], y="T2", k=2),
        sf.Anonymity(x=["age", "zip"], y=["T1.ill", "T2"], k=6),
        sf.Anonymity(x=["job", "zip"], y="pid", k=4),
        sf.Confidentiality(x=["job", "T1.born", "zip", "age"], y={"ill": ["HIV"]}, k=0.6),
    ],
    ids=["rows", "records of T2", "values and records", "people with several rows", "confidence"],
)
def test_counts_and_rows_lead_to_the_same_table(template: Any, join_in_x: bool) -> None:
    """Deciding on counts, as a publisher does, and on rows, as `steps` does."""
    after = [before("born", "zip")]
    method = sf.TopDownSequential(after=after, templates=[template], join_in_x=join_in_x)
    last = method.finish(table())
    release = last.release(rng=np.random.default_rng(0))
    same = method.publish(table(), [], rng=np.random.default_rng(0))
    names = ["job", "born", "age"]
    assert release.tables["data"].select(names).sort(names).equals(same.tables["data"].select(names).sort(names))
    assert release.manifest["requirements"] == same.manifest["requirements"]


def test_a_key_counts_the_records_of_this_table() -> None:
    template = sf.Anonymity(x=["job", "T2.born"], y="row", k=3)
    run = sf.TopDownSequential(after=[before("born")], templates=[template]).steps(table())
    assert isinstance(run, SequentialRun)
    assert run.joined[0].y == ("T1",)
    assert not run.searched
    several = sf.TopDownSequential(after=[before("born")], templates=[sf.Anonymity(x=["T2.born"], y="pid", k=3)])
    other = several.steps(table())
    assert isinstance(other, SequentialRun)
    assert other.joined[0].y == ("T1.pid",)
    assert [t.y for t in other.templates] == [("pid",)]


def test_y_of_an_earlier_release_is_decided_at_the_start() -> None:
    after = [before("born", "zip")]
    run = sf.TopDownSequential(after=after, templates=[sf.Anonymity(x=["job", "born", "zip"], y="T2", k=5)]).steps(
        table()
    )
    assert isinstance(run, SequentialRun)
    assert not run.searched
    assert run.finish().labels()["job"] == ["clerk", "lawyer", "cook", "driver"]
    with pytest.raises(Infeasible, match=r"no masking satisfies .*anonymity in the join is \d+; lower k"):
        sf.TopDownSequential(after=after, templates=[sf.Anonymity(x=["job", "born", "zip"], y="T2", k=60)]).steps(
            table()
        )


def test_templates_of_the_table_alone_and_of_the_join_together() -> None:
    after = [earlier_release("born", "zip")]
    require = [sf.KAnonymity(k=6), sf.Confidentiality(x=["job", "zip"], y={"ill": ["HIV"]}, k=0.7)]
    release = sf.publish(table(), method=sf.TopDownSequential(after=after), require=require)
    claims = {c["model"]: c for c in release.manifest["requirements"]}
    assert "over" not in claims["k-anonymity"]["required"]
    assert claims["confidentiality"]["required"]["over"] == ["T1", "T2"]
    assert min(release.tables["data"].group_by("job", "born", "age").len()["len"]) >= 6


@pytest.mark.parametrize(
    "template",
    [
        sf.Anonymity(x=["job", "zip"], y="T1", k=4),
        sf.Confidentiality(x=["job", "zip"], y={"ill": ["HIV"]}, k=0.9),
    ],
)
def test_rows_of_the_join_are_not_taken_for_people(template: Any) -> None:
    method = sf.TopDownSequential(after=[earlier_release("born", "zip")])
    with pytest.raises(sf.PolicyError, match=f"60 of 60 people .*several rows, but {template.model} counts rows"):
        sf.publish(table(), method=method, require=[sf.KAnonymity(k=3, entity="pid"), template])
    by_row = sf.KAnonymity(k=3, entity="row")  # one row per person
    assert sf.publish(table(), method=method, require=[by_row, template]).manifest["rows"] == 120


def test_a_template_of_the_join_may_count_people() -> None:
    method = sf.TopDownSequential(after=[earlier_release("born", "zip")])
    require = [sf.KAnonymity(k=3, entity="pid"), sf.Anonymity(x=["job", "zip"], y="pid", k=4)]
    release = sf.publish(table(), method=method, require=require)
    assert all(claim["achieved"]["k"] >= 3 for claim in release.manifest["requirements"])


def test_four_earlier_releases() -> None:
    after = [
        before("born", name="A"),
        before("age", name="B"),
        before("born", "zip", name="C"),
        before("job", name="D"),
    ]
    template = sf.Anonymity(x=["job", "born", "age"], y="T1", k=5)
    run = sf.TopDownSequential(after=after, templates=[template]).steps(table())
    assert run.joined[0].over == ("T1", "A", "B", "C", "D")  # type: ignore[attr-defined]
    last = run.finish()
    assert last.anonymity[0] >= 5
    rows = sf.Anonymity(x=["job", "born", "age"], y=["T1", "C"], k=5)
    searched = sf.TopDownSequential(after=after, templates=[rows], join_in_x=False).finish(table())
    assert searched.anonymity[0] >= 5


def test_a_common_attribute_that_is_published_as_it_is() -> None:
    """It is in X by default, as it is; the template then holds within each of its values."""
    earlier = before("ill", "zip")
    release = sf.TopDownSequential(after=[earlier], templates=[sf.Anonymity(x=["job", "zip"], k=4)]).publish(
        table(), []
    )
    assert "T1.ill" in release.manifest["requirements"][0]["required"]["x"]
    assert min(release.tables["data"].group_by("job", "ill").len()["len"]) >= 4
    assert "'ill' of this table is matched, and is in x as it is published, unmasked" in release.warnings
    strict = sf.TopDownSequential(after=[earlier], templates=[sf.Anonymity(x=["job", "zip"], k=60)])
    with pytest.raises(
        Infeasible, match=r"no masking .*lower k to \d+ or less\. 'ill' is in an earlier release too, .*join_in_x"
    ):
        strict.steps(table())


MASKED_Y = [sf.Confidentiality(x=["zip"], y={"T1.born": ["UK"]}, k=0.5), sf.KAnonymity(k=2)]
UNKNOWN = sf.Inconsistent(sides={"T1": {"job": "cook"}, "T9": {"zip": "Z1"}})
ON_AGE = sf.Inconsistent(sides={"T1": {"age": "30"}, "T2": {"zip": "Z1"}})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"after": []}, "none is given"),
        ({"after": [1]}, "T2 is a int"),
        ({"after": [before("born", name=f"R{i}") for i in range(5)]}, "5 earlier releases are given; at most 4"),
        ({"join_in_x": 1}, "must be true or false"),
        ({"inconsistent": ["x"]}, "is not a rule"),
        ({"templates": [sf.Anonymity(x=["job"], k=2)]}, "no template is about the join"),
        ({"templates": [sf.Anonymity(x=["job", "T2.zap"], k=2)]}, "no release of the join has an attribute 'T2.zap'"),
        ({"templates": [sf.Anonymity(x=["zip"], y="born", k=2)]}, r"write T1\.born or T2\.born in y"),
        ({"templates": MASKED_Y}, "is in y, but it is generalized"),
        ({"templates": [sf.LDiversity(l=2)]}, "tdssa serves the templates"),
        ({"inconsistent": [UNKNOWN]}, "names 'T9'"),
        ({"inconsistent": [ON_AGE]}, "generalized to intervals"),
    ],
)
def test_refusals_in_words(settings: dict[str, Any], message: str) -> None:
    told = {"after": [before("born", "zip")], "templates": [sf.Anonymity(x=["job", "age", "zip"], y=["T1", "T2"], k=2)]}
    with pytest.raises(PolicyError, match=message):
        sf.TopDownSequential(**(told | settings)).steps(table())


def test_a_rule_excludes_what_cannot_be() -> None:
    """With a rule, a cook of Z1 matches nobody of Z1; without it, everyone of the same place of birth."""
    rule = sf.Inconsistent(sides={"T1": {"job": "cook"}, "T2": {"zip": "Z1"}})
    after = [before("born", "zip")]
    cooks = of_table(table(people().filter(pl.col("job") == "cook")))
    free = sf.sequential_join([cooks, *after], x=["job", "zip"])
    ruled = sf.sequential_join([cooks, *after], x=["job", "zip"], inconsistent=[rule])
    assert (free.groups, ruled.groups) == (2, 1)
    template = sf.Anonymity(x=["job", "zip"], y=["T1", "T2"], k=2)
    run = sf.TopDownSequential(after=after, inconsistent=[rule], templates=[template], join_in_x=False).finish(table())
    assert run.anonymity[0] >= 2
    assert not [c for c in run.release().manifest["requirements"] if c["achieved"]["k"] < 2]
