"""Nothing is published in silence: each warning is there when it should be, and only then."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.publisher.publish import Published, publish_policy

ROWS = 600
QUASI = 'age = "quasi"\nsex = { role = "quasi", taxonomy = { Any = ["F", "M"] } }\njob = "quasi"\n'
PLUS = 'name = "mondrian+"'
Publish = Callable[..., Published]


def people(**more: list[object]) -> pl.DataFrame:
    """Adults with a job; a diagnosis of seven values, the commonest with three in ten rows."""
    dice = random.Random(3)
    columns: dict[str, list[object]] = {
        "age": [dice.randrange(18, 90) for _ in range(ROWS)],
        "sex": [dice.choice("FM") for _ in range(ROWS)],
        "job": [f"job {dice.randrange(30)}" for _ in range(ROWS)],
        "ill": ["a" if i % 10 < 3 else "bcdefg"[i % 6] for i in range(ROWS)],
    }
    return pl.DataFrame(columns | more)


def model(name: str, **parameters: object) -> str:
    return f'[[require]]\nmodel = "{name}"\n' + "".join(f"{n} = {json.dumps(v)}\n" for n, v in parameters.items())


K5, DIVERSE = model("k-anonymity", k=5), model("l-diversity", l=2)


@pytest.fixture
def publish(tmp_path: Path) -> Publish:
    """Publish a table by a policy of these parts."""

    def run(
        frame: pl.DataFrame, attributes: str, require: str, method: str = 'name = "mondrian"', data: str = ""
    ) -> Published:
        frame.write_csv(tmp_path / "t.csv")
        (tmp_path / "p.toml").write_text(
            f'title = "T"\n[data]\nsource = "t.csv"\n{data}\n[attributes]\n{attributes}\n{require}\n[method]\n{method}'
        )
        return publish_policy(tmp_path / "p.toml", tmp_path / "out", force=True, ledger=False)

    return run


def the_one(published: Published, about: str) -> str:
    """The one warning about something."""
    found = [w for w in published.warnings if about in w]
    assert len(found) == 1, published.warnings
    return found[0]


def none_about(published: Published, *words: str) -> bool:
    return not [w for w in published.warnings if any(word in w for word in words)]


UNCOVERED = "No requirement covers"


def test_a_sensitive_attribute_that_no_requirement_covers(publish: Publish) -> None:
    two = people(pay=[i % 4 for i in range(ROWS)])
    roles = QUASI + 'ill = "sensitive"\npay = "sensitive"'
    told = the_one(publish(two, roles, K5 + model("l-diversity", l=2, sensitive="ill")), UNCOVERED)
    assert "'pay'" in told
    assert "Require l-diversity or t-closeness" in told
    assert none_about(publish(two, roles, K5 + model("l-diversity", l=2)), UNCOVERED)
    assert none_about(publish(people(), QUASI + 'ill = "identifier"', K5), UNCOVERED)


def test_k_anonymity_alone_tells_how_many_share_a_value(publish: Publish) -> None:
    frame = pl.DataFrame({"age": [1] * 6 + [2] * 4, "ill": ["flu"] * 6 + ["flu", "HIV", "HIV", "HIV"]})
    told = the_one(publish(frame, 'age = "quasi"\nill = "sensitive"', model("k-anonymity", k=4)), UNCOVERED)
    assert "6 of 10 rows are in groups with a single value" in told
    assert "right guess for 90% of the rows, and for 100% in the worst group (70% without groups)" in told


def test_what_covers_a_sensitive_attribute(publish: Publish) -> None:
    for covering in (
        model("t-closeness", t=0.5),
        model("alpha-k", alpha=0.9, k=2),
        model("confidentiality", y="ill", k=0.9),
        model("anonymity", y="ill", k=2),
        DIVERSE,
    ):
        assert none_about(publish(people(), QUASI + 'ill = "sensitive"', covering), UNCOVERED), covering


def test_a_class_is_warned_of_only_where_nothing_is_sensitive(publish: Publish) -> None:
    both = people(again=["yes", "no"] * (ROWS // 2))
    roles = QUASI + 'again = "class"\nill = '
    assert none_about(publish(both, roles + '"sensitive"', K5 + DIVERSE), "'again'")
    told = the_one(publish(both, roles + '"identifier"', K5), "the class 'again'")
    assert "No attribute is declared sensitive" in told
    assert told.endswith("If it is private, make it sensitive and require l-diversity or t-closeness for it.")


def test_a_sensitive_attribute_in_buckets_and_in_a_sample(publish: Publish) -> None:
    two = people(pay=[i % 4 for i in range(ROWS)])
    required = model("l-diversity", l=2, sensitive="ill")
    told = the_one(
        publish(two, QUASI + 'ill = "sensitive"\npay = "sensitive"', required, 'name = "anatomy"'), UNCOVERED
    )
    assert "published by group without a bound" in told
    declared = QUASI + 'ill = { role = "sensitive", domain = ["a", "b", "c", "d", "e", "f", "g"] }'
    sampled = 'name = "pg"\np = 0.3'
    assert "only its noise limits what can be inferred about it (values are kept with probability 0.3)" in the_one(
        publish(people(), declared, K5, sampled), UNCOVERED
    )
    promised = K5 + model("growth", **{"delta": 0.4, "lambda": 0.3})
    assert none_about(publish(people(), declared, promised, sampled), UNCOVERED)


OUTCOME: list[object] = ["positive" if i % 9 == 0 else "negative" for i in range(ROWS)]  # 89% negative
UNBOUNDED = "bounds no probability"


def test_two_values_under_distinct_diversity_say_little(publish: Publish) -> None:
    frame, roles = people(outcome=OUTCOME), QUASI + 'ill = "identifier"\noutcome = "sensitive"'
    distinct = publish(frame, roles, K5 + model("l-diversity", l=2, variant="distinct"))
    told = the_one(distinct, UNBOUNDED)
    guess = distinct.summary.guesses["outcome"]
    assert guess.base == pytest.approx(1 - 67 / 600)
    assert guess.worst > guess.mean >= guess.base
    assert told.startswith("Distinct l-diversity bounds no probability: for 'outcome'")
    assert "without groups, 'negative' is right for 88.8%" in told
    assert 'confidentiality with y = { outcome = ["positive"] }' in told
    bounded = model("confidentiality", y={"outcome": ["positive"]}, k=0.5).replace('{"outcome": ', "{ outcome = ")
    assert none_about(publish(frame, roles, K5 + bounded), UNBOUNDED)
    assert none_about(publish(frame, roles, K5 + model("t-closeness", t=0.1)), UNBOUNDED)


def test_diversity_without_a_bound_is_told_only_where_it_shows(publish: Publish) -> None:
    roles = QUASI + 'ill = "sensitive"'
    for loose in (
        model("l-diversity", l=2, variant="distinct"),
        model("l-diversity", l=1.2, variant="entropy"),
        model("l-diversity", l=2, variant="recursive", c=9),
        model("t-closeness", t=0.9),
        model("anonymity", y="ill", k=2),
    ):
        assert 'variant = "frequency"' in the_one(publish(people(), roles, loose), UNBOUNDED), loose
    for tight in (
        DIVERSE,
        model("l-diversity", l=4, variant="distinct") + model("k-anonymity", k=60),
        model("l-diversity", l=5.5, variant="entropy"),
        model("t-closeness", t=0.15),
    ):
        assert none_about(publish(people(), roles, tight), UNBOUNDED), tight


SSN: list[object] = [f"{100 + i:03d}-{10 + i % 80}-{1000 + i}" for i in range(ROWS)]


def test_an_identifier_that_nobody_named_is_refused(publish: Publish) -> None:
    roles, others = QUASI + 'ill = "sensitive"', 'others = "insensitive"'
    with pytest.raises(PolicyError, match=r"'ssn'.*social security numbers.*all 600 rows.*ssn = \"identifier\""):
        publish(people(ssn=SSN), roles, DIVERSE, data=others)
    told = the_one(publish(people(ssn=SSN), roles + '\nssn = "insensitive"', DIVERSE, data=others), "'ssn'")
    assert "looks like an identifier (social security numbers): 600 of 600 rows have a value that no other" in told
    assert none_about(publish(people(ssn=SSN), roles + '\nssn = "identifier"', DIVERSE, data=others), "ssn")
    twice = [*SSN[:-1], SSN[0]]
    assert "looks like an identifier" in the_one(publish(people(ssn=twice), roles, DIVERSE, data=others), "'ssn'")


def test_a_column_of_values_of_their_own_singles_people_out(publish: Publish) -> None:
    roles, others = QUASI + 'ill = "sensitive"', 'others = "insensitive"'
    dice = random.Random(1)
    exact: list[object] = [dice.random() for _ in range(ROWS)]
    told = the_one(publish(people(creatinine=exact), roles, DIVERSE, data=others), "'creatinine'")
    assert "singles people out: 600 of 600 rows have a value that no other row has" in told
    rounded: list[object] = [round(float(v), 1) for v in exact]  # type: ignore[arg-type]
    assert none_about(publish(people(creatinine=rounded), roles, DIVERSE, data=others), "'creatinine'")
    as_class = publish(people(creatinine=exact), roles + '\ncreatinine = "class"', DIVERSE)
    assert "The class column 'creatinine'" in the_one(as_class, "'creatinine'")


def test_columns_that_nobody_named_are_told_if_they_are_known(publish: Publish) -> None:
    roles, others = QUASI + 'ill = "sensitive"', 'others = "insensitive"'
    more = people(zip=[f"{10000 + i % 40}" for i in range(ROWS)], ward=[i % 5 for i in range(ROWS)])
    told = the_one(publish(more, roles, DIVERSE, data=others), "policy does not name")
    assert "does not name, unchanged: 'zip' (a postal code). Columns that outsiders" in told
    assert "ward" not in told
    named = roles + '\nzip = "insensitive"\nward = "insensitive"'
    assert none_about(publish(more, named, DIVERSE, data=others), "zip", "ward")


def test_a_table_that_cannot_be_cut_is_published_with_why_and_what_helps(publish: Publish) -> None:
    published = publish(people(), QUASI + 'ill = "sensitive"', model("l-diversity", l=3), PLUS)
    told = the_one(published, "form one group")
    assert told.startswith(
        "The quasi-identifiers carry no information: all 600 rows form one group with the same labels."
    )
    assert "at most 1/(2l) = 16.7% of it, but in the whole table 'a' makes up 30% of 'ill'" in told
    assert "for a first cut l must be 1.666 or less" in told
    assert "mondrian (but" in told
    assert "anatomy (shows" in told
    assert told.endswith("a lower l.")
    for l, cut in ((1.7, False), (1.5, True)):
        groups = publish(people(), QUASI + 'ill = "sensitive"', model("l-diversity", l=l), PLUS).summary.groups
        assert groups is not None
        assert (groups.number > 1) == cut, "the remedy helps"


def test_one_group_of_buckets(publish: Publish) -> None:
    published = publish(
        people(), QUASI + 'ill = "sensitive"', model("l-diversity", l=3), PLUS + '\nscheme = "bucketization"'
    )
    assert the_one(published, "form one group").startswith("Nothing links quasi-identifiers to sensitive values")


def test_the_requirement_that_binds_is_named(publish: Publish) -> None:
    published = publish(people(), QUASI + 'ill = "sensitive"', model("k-anonymity", k=3) + model("l-diversity", l=3.3))
    told = the_one(published, "What helps")
    assert "Without the requirement that no sensitive value makes up more than 1/3.3 of any group, there" in told
    assert "Without the requirement that every group" not in told
    assert "'a' makes up 30% of 'ill', and a group may have at most 1/l = 30.3%" in told


def test_attributes_without_levels_are_named(publish: Publish) -> None:
    roles = QUASI + 'ill = "identifier"'
    told = the_one(publish(people(), roles, model("k-anonymity", k=40)), "What helps")
    assert told.startswith("Almost nothing is left of 'job' (")
    assert "no levels between the values of 'job' and *" in told
    assert told.endswith("What helps: a lower k.")
    tree = {"Any": {f"field {f}": [f"job {j}" for j in range(f, 30, 3)] for f in range(3)}}
    entry = json.dumps(tree).replace('": ', '" = ')
    helped = publish(
        people(),
        roles.replace('job = "quasi"', f'job = {{ role = "quasi", taxonomy = {entry} }}'),
        model("k-anonymity", k=40),
    )
    assert none_about(helped, "What helps")


def test_incognito_shows_numbers_only_along_levels(publish: Publish) -> None:
    roles = QUASI + 'ill = "identifier"'
    told = the_one(publish(people(), roles, K5, 'name = "incognito"'), "What helps")
    assert "no levels between the values of 'age', 'job' and *" in told
    assert "suppression = 0.05" in told
    assert "mondrian, which gives each group its own labels" in told
    wide = roles.replace('age = "quasi"', 'age = { role = "quasi", taxonomy = { width = 36 } }')
    assert "'age'" not in the_one(publish(people(), wide, model("k-anonymity", k=40), 'name = "incognito"'), "helps")


def test_rows_left_out_are_warned_of_where_they_are_many(publish: Publish) -> None:
    alone: list[object] = [f"rare {i}" if i < 90 else "common" for i in range(ROWS)]
    frame = pl.DataFrame({"job": alone})
    many = publish(frame, 'job = "quasi"', K5, 'name = "incognito"\nsuppression = 0.2')
    assert many.summary.left_out == 90
    assert "90 of 600 rows (15%) are left out by incognito (suppression = 0.2)" in the_one(many, "left out")
    few = frame.with_columns(job=pl.when(pl.int_range(ROWS) < 5).then("job").otherwise(pl.lit("common")))
    some = publish(few, 'job = "quasi"', K5.replace("5", "6"), 'name = "incognito"\nsuppression = 0.2')
    assert some.summary.left_out == 5
    assert none_about(some, "left out")


def test_rows_dropped_for_missing_values(publish: Publish) -> None:
    lacking = people().with_columns(age=pl.when(pl.int_range(ROWS) % 5 > 0).then("age"))
    roles, drop = QUASI + 'ill = "sensitive"', 'missing = "drop"'
    published = publish(lacking, roles, DIVERSE, data=drop)
    assert (published.summary.read, published.summary.dropped, published.summary.published) == (600, 120, 480)
    assert "120 of 600 rows (20%) were dropped for missing values" in the_one(published, "missing values")
    few = people().with_columns(age=pl.when(pl.int_range(ROWS) > 5).then("age"))
    assert none_about(publish(few, roles, DIVERSE, data=drop), "missing values")


def test_a_person_with_several_rows_is_noticed(publish: Publish) -> None:
    several = people(patient=[f"p{i // 2}" for i in range(ROWS)], stay=[i % 20 for i in range(ROWS)])
    roles = QUASI + 'ill = "sensitive"\npatient = "identifier"\nstay = "identifier"'
    told = the_one(publish(several, roles, DIVERSE), "The identifier")
    assert told.startswith("The identifier patient has 300 values in 600 rows.")
    assert 'entity = "patient"' in told
    assert told in (publish(several, roles, DIVERSE).report).read_text().replace("&#34;", '"')
    counted = model("k-anonymity", k=2, entity="patient")
    assert none_about(publish(several, roles, counted), "The identifier")
    once = people(patient=[f"p{i}" for i in range(ROWS)], stay=[1] * ROWS)
    assert none_about(publish(once, roles, DIVERSE), "The identifier")


def test_mostly_noise_is_told(publish: Publish) -> None:
    frame = pl.DataFrame({"job": [f"j{i % 12}" for i in range(600)], "ill": ["ab"[i // 12 % 2] for i in range(600)]})
    roles = 'job = "quasi"\nill = "sensitive"'
    by_hand = 'name = "rr"\nkeep = { job = 0.15 }'
    told = the_one(publish(frame, roles, model("disclosure", tau=1.0), by_hand), "Few values")
    assert "'job' (15%)" in told
    kept = by_hand.replace("0.15", "0.6")
    assert none_about(publish(frame, roles, model("disclosure", tau=1.0), kept), "Few values")


def test_a_fair_release_has_no_warning(publish: Publish) -> None:
    tree = {"Any": {f"field {f}": [f"job {j}" for j in range(f, 30, 3)] for f in range(3)}}
    entry = json.dumps(tree).replace('": ', '" = ')
    roles = QUASI.replace('job = "quasi"', f'job = {{ role = "quasi", taxonomy = {entry} }}') + 'ill = "sensitive"'
    for method in (PLUS, 'name = "mondrian++"', 'name = "anatomy"', 'name = "hilb-safe"'):
        assert publish(people(ill=["abcdefgh"[i % 8] for i in range(ROWS)]), roles, DIVERSE, method).warnings == ()


def test_the_bundled_example_has_no_warning(tmp_path: Path) -> None:
    from sfumato.datasets import example_folder

    published = sf.publish_policy(example_folder() / "policy.toml", tmp_path / "out")
    assert published.warnings == ()


def test_where_looking_ahead_stopped_is_told(publish: Publish) -> None:
    """Four in ten of the young have a, four in ten of the old b: after one cut a value has more than 1/(2l)."""
    dice = random.Random(2)
    frame = pl.DataFrame(
        {
            "age": list(range(ROWS)),
            **{name: [f"{name} {dice.randrange(30)}" for _ in range(ROWS)] for name in ("job", "town", "car")},
            "ill": [("a" if i < ROWS // 2 else "b") if i % 5 < 2 else "cdefgh"[i % 6] for i in range(ROWS)],
        }
    )
    roles = 'age = "quasi"\njob = "quasi"\ntown = "quasi"\ncar = "quasi"\nill = "sensitive"'
    published = publish(frame, roles, DIVERSE, PLUS)
    assert published.summary.groups is not None
    assert published.summary.groups.number == 2
    told = the_one(published, "What helps")
    assert told.startswith("Almost nothing is left: the labels keep 12.5% of the information")
    assert "1/(2l) = 25% of it, and in the groups where it stopped that value makes up 40% on average" in told
    assert "mondrian++ or hilb-safe" in told
    assert "no levels between the values" not in told, "more levels would not help"
