"""People with several rows: what counts them, and what is refused."""

import polars as pl
import pytest

import sfumato as sf
from sfumato.engine.overview import overview_of
from sfumato.publisher.advice import _several_rows
from sfumato.publisher.publish import publish_policy

HIV = pl.DataFrame({"who": list("aaabbbccc"), "age": [40] * 9, "ill": ["HIV", "flu", "none"] * 3})
"""Three people with the same three values each: by rows 3-diverse, and everybody has HIV."""

ENTITIES = [sf.KAnonymity(k=3, entity="who"), sf.Anonymity(y="who", k=3)]


def read(frame: pl.DataFrame = HIV) -> sf.Microdata:
    return sf.read(frame, quasi=["age"], sensitive="ill", identifiers=["who"])


@pytest.mark.parametrize(
    "other",
    [
        sf.LDiversity(l=3),
        sf.LDiversity(l=3, variant="distinct"),
        sf.TCloseness(t=0.5),
        sf.AlphaK(alpha=0.5, k=2),
        sf.Confidentiality(y={"ill": ["HIV"]}, k=0.5),
        sf.Anonymity(y="ill", k=3),
        sf.MConfidentiality(m=3),
        sf.RRobustness(r=2),
        sf.Disclosure(tau=0.5),
    ],
    ids=lambda r: r.model,
)
@pytest.mark.parametrize(
    "entity", [sf.KAnonymity(k=3, entity="who"), sf.Anonymity(y="who", k=3)], ids=lambda r: r.model
)
def test_what_counts_rows_is_refused_beside_an_entity(entity: sf.KAnonymity, other: sf.LDiversity) -> None:
    methods = ["mondrian", "mondrian+", "hilb-safe", "mask+", "incognito", "art", "rr"]
    methods = ["incognito", "tdr"] if other.model == "confidentiality" else methods
    refusals = 0
    for method in methods:
        for policy in ([entity, other], [other, entity]):
            with pytest.raises(sf.PolicyError) as refused:
                sf.publish(read(), require=policy, method=sf.TopDown(score="gain") if method == "tdr" else method)
            told = str(refused.value)
            if "serves" in told or "is not a requirement on groups" in told:
                continue  # the method cannot take such a requirement at all
            assert told.startswith(f"3 of 3 people ('who') have several rows, but {other.model} counts rows"), method
            refusals += 1
            assert told.endswith(f"give each person one row (e.g. aggregate the rows first), or drop {other.model}")
    assert refusals >= 4


def test_a_k_that_counts_rows_is_told_to_count_people() -> None:
    with pytest.raises(sf.PolicyError, match="For k-anonymity, count people with entity = 'who', give each person"):
        sf.publish(read(), require=[sf.KAnonymity(k=3, entity="who"), sf.KAnonymity(k=5)])
    with pytest.raises(sf.PolicyError, match="For anonymity, count people with y = 'who', give each person"):
        sf.publish(read(), require=[sf.KAnonymity(k=3, entity="who"), sf.Anonymity(k=5)])


def test_people_alone_are_counted() -> None:
    for method in ("mondrian", "incognito", sf.TopDown(score="distortion")):
        release = sf.publish(read(), require=sf.KAnonymity(k=3, entity="who"), method=method)
        (entry,) = release.manifest["requirements"]
        assert (entry["achieved"], entry["words"]) == ({"k": 3}, "every group has at least 3 people (who)")
        (claim,) = [f for f in release.findings() if f.claim == entry["words"]]
        assert claim.status == "stated"
    with pytest.raises(sf.Infeasible, match="3 people"):
        sf.publish(read(), require=sf.KAnonymity(k=4, entity="who"), method="mondrian")


def test_one_row_each_is_no_reason_to_refuse() -> None:
    frame = HIV.with_columns(who=pl.Series(list("abcdefghi")))
    release = sf.publish(read(frame), require=[sf.KAnonymity(k=3, entity="who"), sf.LDiversity(l=3)], method="mondrian")
    assert [r["achieved"] for r in release.manifest["requirements"]] == [{"k": 9}, {"l": 3.0}]


def test_whoever_counts_people_is_not_told_to() -> None:
    for requirement in ENTITIES:
        assert list(_several_rows([requirement], overview_of(read()), None)) == []
    assert len(list(_several_rows([sf.Confidentiality(y={"ill": ["HIV"]}, k=0.5)], overview_of(read()), None))) == 1


def test_two_kinds_of_people_are_each_counted() -> None:
    frame = HIV.with_columns(home=pl.Series(list("xxxyyyyyy")))
    table = sf.read(frame, quasi=["age"], sensitive="ill", identifiers=["who", "home"])
    policy = [sf.KAnonymity(k=3, entity="who"), sf.KAnonymity(k=2, entity="home")]
    release = sf.publish(table, require=policy, method="mondrian")
    assert [r["achieved"]["k"] for r in release.manifest["requirements"]] == [3, 2]


def test_a_repeated_identifier_without_an_entity_is_a_warning_to_the_steward(tmp_path) -> None:  # type: ignore[no-untyped-def]
    pl.DataFrame({"who": list("aabbcd") * 5, "age": range(30), "ill": ["x", "y", "z"] * 10}).write_csv(
        tmp_path / "d.csv"
    )
    policy = tmp_path / "p.toml"
    policy.write_text(
        '[data]\nsource = "d.csv"\n[attributes]\nwho = { role = "identifier" }\nage = { role = "quasi" }\n'
        'ill = { role = "sensitive" }\n[[require]]\nmodel = "l-diversity"\nl = 2\n[method]\nname = "mondrian+"\n'
    )
    result = publish_policy(policy, tmp_path / "out")
    (told,) = [w for w in result.warnings if "identifier who" in w]
    assert told.startswith(
        "The identifier who has 4 values in 30 rows. If each value is a person, some people have several rows"
    )
    assert told not in result.release.warnings
    assert result.report.read_text().count("The identifier who has 4 values in 30 rows") == 1
