"""A negative rule against MASK: who is accused, and whether the truth agrees."""

from datetime import date

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import DataError, PolicyError
from sfumato.table.microdata import Microdata, read

RULE = sf.NegativeRule(where={"age": (0, 25)}, value="PhD", share=0.1)


def students() -> Microdata:
    """Four young without school, and four old, three with a degree."""
    frame = pl.DataFrame(
        {
            "age": [18, 18, 19, 19, 60, 60, 61, 61],
            "education": ["none"] * 4 + ["PhD", "BSc", "BSc", "none"],
        }
    )
    return read(frame, quasi=["age"], sensitive="education", domains={"education": ["BSc", "PhD", "none"]})


@pytest.mark.parametrize("scheme", ["generalization", "bucketization"])
def test_a_masked_group_that_shows_what_cannot_be_is_accused(scheme: str) -> None:
    """The four without school become one without and three others; if one of these is a PhD, they are found."""
    table, wanted = students(), sf.MConfidentiality(m=2, values=["none"])
    found = set()
    for seed in range(30):
        release = sf.publish(table, require=wanted, method=sf.Mask(k=4, scheme=scheme), rng=np.random.default_rng(seed))
        result = sf.negative_rule_attack(release, RULE, truth=table, m=2, values=["none"])
        masked = _published(release, scheme)
        assert result.groups == (1 if "PhD" in masked else 0)
        assert result.precision == 1.0
        if result.groups:
            assert (result.people, result.violating, result.sensitive) == (4, 1, 4)
        found.add(result.groups)
    assert found == {0, 1}


def _published(release: sf.Release, scheme: str) -> set[str]:
    """The values shown for the youngest."""
    if scheme == "generalization":
        data = release.tables["data"]
        return set(data.filter(data["age"].cast(str) == "[18, 20)")["education"].cast(str))
    quasi, values = release.tables["quasi"], release.tables["sensitive"]
    group = quasi.filter(pl.col("age") == 18)["group"][0]
    return set(values.filter(pl.col("group") == group)["education"].cast(str))


def test_the_old_may_have_a_doctorate() -> None:
    """A rule about the young accuses no group with others in it."""
    release = sf.publish(students(), require=sf.KAnonymity(k=8))
    assert sf.negative_rule_attack(release, RULE, truth=students(), m=2, values=["none"]).groups == 0


def test_a_false_accusation_is_counted_as_one() -> None:
    """A group that truly has a young PhD is accused, and the truth says that it violated nothing."""
    frame = pl.DataFrame({"age": [20, 20, 21, 21], "education": ["PhD", "BSc", "BSc", "BSc"]})
    table = read(frame, quasi=["age"], sensitive="education", domains={"education": ["BSc", "PhD", "none"]})
    release = sf.publish(table, require=sf.KAnonymity(k=4))
    result = sf.negative_rule_attack(release, RULE, truth=table, m=2, values=["none"])
    assert (result.groups, result.violating, result.precision) == (1, 0, 0.0)


def test_wrong_rules() -> None:
    with pytest.raises(PolicyError, match="where"):
        sf.NegativeRule(where={}, value="PhD", share=0.1)
    with pytest.raises(PolicyError, match="share"):
        sf.NegativeRule(where={"age": (0, 25)}, value="PhD", share=1.5)
    release = sf.publish(students(), require=sf.KAnonymity(k=4))
    rule = sf.NegativeRule(where={"age": ["99"]}, value="PhD", share=0.1)
    with pytest.raises(PolicyError, match="99"):
        sf.negative_rule_attack(release, rule, truth=students(), m=2, values=["none"])


@pytest.mark.parametrize("scheme", ["generalization", "bucketization"])
def test_missing_values_days_and_parts_of_a_whole_are_found(scheme: str) -> None:
    """Four young people without school and four old ones, told apart by a day and by a number that may be missing."""
    frame = pl.DataFrame(
        {
            "born": [date(2005, 1, 1)] * 4 + [date(1960, 1, 1)] * 4,
            "hours": [None, *[1.5] * 7],
            "education": ["PhD", "none", "none", "none", "PhD", "BSc", "BSc", "none"],
        }
    )
    table = read(frame, quasi=["born", "hours"], sensitive="education", missing="category")
    method = sf.Mondrian(scheme=scheme)
    release = sf.publish(table, require=sf.LDiversity(l=4 / 3), method=method)
    rule = sf.NegativeRule(where={"born": ["2005-01-01"]}, value="PhD", share=0.1)
    result = sf.negative_rule_attack(release, rule, truth=table, m=2, values=["none"])
    assert (result.groups, result.people, result.violating, result.sensitive) == (1, 4, 1, 3)


@pytest.mark.parametrize("scheme", ["generalization", "bucketization"])
@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (sf.NegativeRule(where={"agee": (0, 25)}, value="PhD", share=0.1), "not a quasi-identifier; there are 'age'"),
        (
            sf.NegativeRule(where={"education": ["PhD"]}, value="PhD", share=0.1),
            "not a quasi-identifier; there are 'age'",
        ),
        (sf.NegativeRule(where={"age": (0, 25)}, value="PhDs", share=0.1), "did you mean 'PhD'"),
    ],
)
def test_rules_about_what_is_not_there(scheme: str, rule: sf.NegativeRule, told: str) -> None:
    release = sf.publish(students(), require=sf.LDiversity(l=1), method=sf.Mondrian(scheme=scheme))
    with pytest.raises(PolicyError, match=told):
        sf.negative_rule_attack(release, rule, truth=students(), m=2, values=["none"])


def test_the_truth_must_be_the_table_of_the_release() -> None:
    release = sf.publish(students(), require=sf.KAnonymity(k=4))
    other = read(pl.DataFrame({"years": [1], "education": ["PhD"]}), quasi=["years"], sensitive="education")
    with pytest.raises(DataError, match="give the table"):
        sf.negative_rule_attack(release, RULE, truth=other, m=2, values=["PhD"])
