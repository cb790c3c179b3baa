"""A negative rule against MASK: who is accused, and whether the truth agrees."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import PolicyError
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
        result = sf.break_rule(release, RULE, truth=table, m=2, values=["none"])
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
    assert sf.break_rule(release, RULE, truth=students(), m=2, values=["none"]).groups == 0


def test_a_false_accusation_is_counted_as_one() -> None:
    """A group that truly has a young PhD is accused, and the truth says that it violated nothing."""
    frame = pl.DataFrame({"age": [20, 20, 21, 21], "education": ["PhD", "BSc", "BSc", "BSc"]})
    table = read(frame, quasi=["age"], sensitive="education", domains={"education": ["BSc", "PhD", "none"]})
    release = sf.publish(table, require=sf.KAnonymity(k=4))
    result = sf.break_rule(release, RULE, truth=table, m=2, values=["none"])
    assert (result.groups, result.violating, result.precision) == (1, 0, 0.0)


def test_wrong_rules() -> None:
    with pytest.raises(PolicyError, match="where"):
        sf.NegativeRule(where={}, value="PhD", share=0.1)
    with pytest.raises(PolicyError, match="share"):
        sf.NegativeRule(where={"age": (0, 25)}, value="PhD", share=1.5)
    release = sf.publish(students(), require=sf.KAnonymity(k=4))
    rule = sf.NegativeRule(where={"age": ["99"]}, value="PhD", share=0.1)
    with pytest.raises(PolicyError, match="99"):
        sf.break_rule(release, rule, truth=students(), m=2, values=["none"])
