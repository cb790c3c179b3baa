"""Requirements: what their constructors refuse, how they bind, what they say, and that merging never breaks them."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.engine.counts import combine, tally, totals
from sfumato.errors import Infeasible, PolicyError
from sfumato.kernel import judge
from sfumato.method.mondrian import Mondrian
from sfumato.release.judgement import TableSchema, bind
from sfumato.release.judgement import judge as judge_groups
from sfumato.requirement.alpha_k import AlphaK
from sfumato.requirement.base import GroupRequirement, Requirement, Tally, as_fraction
from sfumato.requirement.beta_likeness import BetaLikeness
from sfumato.requirement.catalogue import MODELS, from_table
from sfumato.requirement.delta_disclosure import DeltaDisclosure
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.requirement.t_closeness import TCloseness
from sfumato.requirement.templates import Anonymity, Confidentiality
from sfumato.table.microdata import Microdata, read
from strategies import Facts, Row, Sample, examples, leaves, requirements, samples, satisfies

# --- constructors --------------------------------------------------------------------------------------

NO_WHOLE: list[Any] = [0, -1, 2.5, 3.0, True, False, math.nan, math.inf, "5", None, [5], 1j]
NO_SHARE: list[Any] = [-0.1, 1.0001, math.nan, math.inf, True, "0.5", None, [0.5]]
NO_NUMBER: list[Any] = [0.99, 0, -2, math.nan, math.inf, True, "3", None, [2], 1e12]


@pytest.mark.parametrize("wrong", NO_WHOLE, ids=repr)
def test_whole_numbers_refused(wrong: Any) -> None:
    for make in (
        lambda: KAnonymity(k=wrong),
        lambda: AlphaK(alpha=0.5, k=wrong),
        lambda: Anonymity(k=wrong),
        lambda: LDiversity(l=wrong, variant="distinct"),
        lambda: LDiversity(l=wrong, variant="recursive", c=2),
    ):
        with pytest.raises(PolicyError, match="whole number"):
            make()


@pytest.mark.parametrize("wrong", [*NO_SHARE, 0, 0.0], ids=repr)
def test_shares_refused(wrong: Any) -> None:
    for make in (lambda: AlphaK(alpha=wrong, k=2), lambda: Confidentiality(y="ill", k=wrong)):
        with pytest.raises(PolicyError, match=r"must be in \(0, 1\]"):
            make()
    with pytest.raises(PolicyError, match=r"must be in \(0, 1\]"):
        Confidentiality(y="ill", k={"flu": wrong})


@pytest.mark.parametrize("wrong", NO_SHARE, ids=repr)
def test_t_refused(wrong: Any) -> None:
    with pytest.raises(PolicyError, match=r"must be in \[0, 1\]"):
        TCloseness(t=wrong)


@pytest.mark.parametrize("wrong", NO_NUMBER, ids=repr)
@pytest.mark.parametrize("variant", ["entropy", "frequency"])
def test_l_refused(wrong: Any, variant: Any) -> None:
    with pytest.raises(PolicyError, match="l-diversity: l = "):
        LDiversity(l=wrong, variant=variant)


def test_an_l_beyond_all_tables_is_told_the_limit() -> None:
    with pytest.raises(PolicyError, match="up to 1e9"):
        LDiversity(l=10**30)
    with pytest.raises(PolicyError, match="below 1e9"):
        LDiversity(l=2, variant="recursive", c=1e12)


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf, True, "3", [2], 1j], ids=repr)
def test_c_refused(wrong: Any) -> None:
    with pytest.raises(PolicyError, match="l-diversity: c"):
        LDiversity(l=2, variant="recursive", c=wrong)


def test_c_belongs_to_the_recursive_variant() -> None:
    with pytest.raises(PolicyError, match="recursive variant, which requires it"):
        LDiversity(l=2, variant="recursive")
    with pytest.raises(PolicyError, match="recursive"):
        LDiversity(l=2, variant="entropy", c=2)


def test_unknown_words() -> None:
    with pytest.raises(PolicyError, match="did you mean 'entropy'"):
        LDiversity(l=2, variant="entropie")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="did you mean 'hierarchical'"):
        TCloseness(t=0.2, distance="hierarchic")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="variant"):
        LDiversity(l=2, variant=None)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="distance"):
        TCloseness(t=0.2, distance=3)  # type: ignore[arg-type]


NAMES: dict[str, Any] = {
    "l-diversity": lambda wrong: LDiversity(l=2, sensitive=wrong),
    "t-closeness": lambda wrong: TCloseness(t=0.2, sensitive=wrong),
    "beta-likeness": lambda wrong: BetaLikeness(beta=1, sensitive=wrong),
    "delta-disclosure": lambda wrong: DeltaDisclosure(delta=1, sensitive=wrong),
    "alpha-k": lambda wrong: AlphaK(alpha=0.5, k=2, sensitive=wrong),
    "anonymity x": lambda wrong: Anonymity(x=wrong, k=2),
    "anonymity y": lambda wrong: Anonymity(y=wrong, k=2),
    "confidentiality x": lambda wrong: Confidentiality(x=wrong, y="ill", k=0.5),
    "confidentiality y": lambda wrong: Confidentiality(y=wrong, k=0.5),
    "k-anonymity": lambda wrong: KAnonymity(k=2, entity=wrong),
}


@pytest.mark.parametrize("model", NAMES)
def test_names_refused(model: str) -> None:
    """A column is known by a text; anything else is wrong at once, not deep inside a run."""
    for wrong in (5, True, [5]):
        with pytest.raises(PolicyError):
            NAMES[model](wrong)


def test_templates_refused() -> None:
    with pytest.raises(PolicyError, match="'age' is in both x and y"):
        Anonymity(x=["age", "sex"], y="age", k=2)
    with pytest.raises(PolicyError, match="'age' is in both x and y"):
        Confidentiality(x="age", y={"age": ["30"]}, k=0.5)
    for empty in ((), [], {}):
        with pytest.raises(PolicyError, match="y"):
            Confidentiality(y=empty, k=0.5)


def test_a_confidentiality_that_protects_nothing_is_refused() -> None:
    """No value named, or no limit for any value: the claim would hold of every table."""
    with pytest.raises(PolicyError):
        Confidentiality(y={"ill": []}, k=0.5)
    with pytest.raises(PolicyError):
        Confidentiality(y="ill", k={})


def test_a_value_without_a_limit_is_refused() -> None:
    """k is one threshold or a threshold for each value of y: `HIV` must not go without."""
    with pytest.raises(PolicyError, match="HIV"):
        bind([Confidentiality(x="age", y={"ill": ["flu", "HIV"]}, k={"flu": 0.5})], table())


def test_constructors_accept_what_numpy_gives() -> None:
    assert KAnonymity(k=np.int64(5)) == KAnonymity(k=5)  # type: ignore[arg-type]
    assert TCloseness(t=np.float64(0.2)) == TCloseness(t=0.2)
    assert KAnonymity(k=np.int64(5)).parameters() == {"k": 5}  # type: ignore[arg-type]


def test_requirements_do_not_change() -> None:
    with pytest.raises(AttributeError):
        KAnonymity(k=5).k = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        KAnonymity(5)  # type: ignore[misc]


# --- the catalogue ---------------------------------------------------------------------------------------

ALL: list[Requirement] = [
    KAnonymity(k=5),
    KAnonymity(k=2, entity="name"),
    LDiversity(l=3),
    LDiversity(l=2.5, variant="entropy", sensitive="ill"),
    LDiversity(l=2, variant="distinct", sensitive=["ill", "pay"]),
    LDiversity(l=2, variant="recursive", c=1.5),
    TCloseness(t=0.2),
    TCloseness(t=0, distance="hierarchical", sensitive="ill"),
    BetaLikeness(beta=1),
    BetaLikeness(beta=0.5, variant="enhanced", sensitive="ill"),
    DeltaDisclosure(delta=1.5),
    AlphaK(alpha=0.5, k=3),
    AlphaK(alpha=1, k=3, sensitive=["ill"]),
    Anonymity(k=4),
    Anonymity(x=["age", "sex"], y=["ill", "pay"], k=4),
    Anonymity(x="age", k=2),
    Confidentiality(y="ill", k=0.75),
    Confidentiality(x=["age"], y=["ill", "pay"], k=0.75),
    Confidentiality(x="age", y={"ill": ["flu", "HIV"]}, k={"flu": 0.5, "HIV": 0.1}),
]


@pytest.mark.parametrize("requirement", ALL, ids=lambda r: r.words())
def test_parameters_there_and_back(requirement: Requirement) -> None:
    entry = {"model": requirement.model, **requirement.parameters()}
    assert from_table(entry) == requirement
    assert requirement.with_parameters() == requirement
    assert None not in entry.values()


def test_every_model_is_in_the_catalogue() -> None:
    on_groups = {name: cls for name, cls in MODELS.items() if issubclass(cls, GroupRequirement)}
    assert {"k-anonymity", "l-diversity", "t-closeness", "alpha-k", "anonymity", "confidentiality"} <= set(on_groups)
    assert {r.model for r in ALL} <= set(on_groups)
    for cls in on_groups.values():
        assert cls.monotone
        assert cls.summary
    assert {"rho-breach", "growth"} <= set(MODELS) - set(on_groups)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({}, "needs a model"),
        ({"k": 5}, "needs a model"),
        ({"model": "k-anonimity", "k": 5}, "did you mean 'k-anonymity'"),
        ({"model": "l_diversity", "l": 5}, "did you mean 'l-diversity'"),
        ({"model": "zzz"}, "choose from"),
        ({"model": 5}, "no requirement model"),
        ({"model": ["k-anonymity"]}, "no requirement model"),
        ({"model": "k-anonymity"}, "needs the parameter 'k'"),
        ({"model": "k-anonymity", "K": 5}, "no parameter 'K'"),
        ({"model": "l-diversity", "l": 3, "varient": "entropy"}, "did you mean 'variant'"),
        ({"model": "t-closeness", "t": 0.2, "distanz": "equal"}, "did you mean 'distance'"),
        ({"model": "k-anonymity", "k": "5"}, "whole number"),
        ({"model": "l-diversity", "l": 2, "variant": "recursive", "c": "3"}, "c"),
        ({"model": "confidentiality", "k": 0.5}, "needs the parameter 'y'"),
        ({"model": "confidentiality", "y": 5, "k": 0.5}, "must be a string"),
        ({"model": "anonymity", "x": 5, "k": 2}, "must be a string"),
    ],
    ids=str,
)
def test_catalogue_refusals(entry: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        from_table(entry)


def test_as_fraction() -> None:
    assert as_fraction(0.1) == Fraction(1, 10)
    assert as_fraction(1 / 3) == Fraction(1, 3)
    assert as_fraction(2 / 3) == Fraction(2, 3)
    assert as_fraction(5) == 5
    assert as_fraction(Fraction(5, 7)) == Fraction(5, 7)
    assert as_fraction(1e-3) == Fraction(1, 1000)


# --- binding -----------------------------------------------------------------------------------------------


def table(**more: Any) -> Microdata:
    frame = pl.DataFrame(
        {
            "age": [20, 21, 30, 31, 40, 41],
            "sex": ["F", "M", "F", "M", "F", "M"],
            "ill": ["flu", "flu", "flu", "HIV", "HIV", "gout"],
            "pay": ["low", "high", "low", "high", "low", "high"],
            "name": ["Ann", "Ann", "Bob", "Cid", "Cid", "Cid"],
        }
    )
    roles = {"quasi": ["age", "sex"], "sensitive": ["ill", "pay"], "identifiers": ["name"]}
    return read(frame, **(roles | more))


def test_binding_fills_in_what_is_left_open() -> None:
    (l, t, a, x, y) = bind(
        [LDiversity(l=1), TCloseness(t=1), AlphaK(alpha=1, k=1), Anonymity(k=1), Confidentiality(y="ill", k=1)], table()
    )
    assert isinstance(l, LDiversity)
    assert isinstance(t, TCloseness)
    assert isinstance(a, AlphaK)
    assert isinstance(x, Anonymity)
    assert isinstance(y, Confidentiality)
    assert l.sensitive == t.sensitive == a.sensitive == ("ill", "pay")
    assert x.x == y.x == ("age", "sex")


@pytest.mark.parametrize(
    ("requirement", "told"),
    [
        (LDiversity(l=1, sensitive="age"), "'age' is not a sensitive attribute"),
        (LDiversity(l=1, sensitive="nope"), "'nope' is not a sensitive attribute"),
        (TCloseness(t=1, distance="hierarchical"), "needs a taxonomy of 'ill'"),
        (AlphaK(alpha=1, k=1, sensitive="name"), "'name'"),
        (Anonymity(x="ill", k=1), "'ill' in x is not a quasi"),
        (Anonymity(x="aeg", k=1), "did you mean 'age'"),
        (Anonymity(y="nmae", k=1), "did you mean 'name'"),
        (Confidentiality(y="il", k=1), "did you mean 'ill'"),
        (Confidentiality(x="ag", y="ill", k=1), "did you mean 'age'"),
        (Confidentiality(y={"ill": ["HVI"]}, k=1), "did you mean 'HIV'"),
        (Confidentiality(y={"ill": ["HIV"]}, k={"flu": 0.5}), "'flu'"),
        (Confidentiality(y="age", k=1), "'age' is in both x and y"),
        (Confidentiality(y="name", k=1), "'name'"),
        (KAnonymity(k=1, entity="nmae"), "nmae"),
    ],
    ids=str,
)
def test_binding_refusals(requirement: Requirement, told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        bind([requirement], table())


def test_binding_without_a_sensitive_attribute() -> None:
    bare = read(pl.DataFrame({"age": [1, 2]}), quasi=["age"])
    for requirement in (LDiversity(l=1), TCloseness(t=1), AlphaK(alpha=1, k=1)):
        with pytest.raises(PolicyError, match="needs a sensitive attribute"):
            bind([requirement], bare)


def test_words_of_a_fraction() -> None:
    """The constructor takes fractions, so the sentence must too (Python 3.11 cannot format them)."""
    assert "5/2" in LDiversity(l=Fraction(5, 2)).words() or "2.5" in LDiversity(l=Fraction(5, 2)).words()  # type: ignore[arg-type]


def test_words_name_the_number_rightly() -> None:
    words = LDiversity(l=2, c=3, variant="recursive").words()
    assert "2th" not in words
    assert "2nd" in words or "second" in words


# --- what cannot be met ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requirement", "told"),
    [
        (KAnonymity(k=7), ["6 rows", "7-anonymous", "lower k to 6"]),
        (KAnonymity(k=4, entity="name"), ["3 people", "4-anonymous", "lower k to 3"]),
        (LDiversity(l=4, variant="distinct", sensitive="ill"), ["3 distinct values of 'ill'", "lower l to 3"]),
        (LDiversity(l=3, sensitive="ill"), ["'flu'", "50.0%", "l = 2"]),
        (LDiversity(l=3, variant="entropy", sensitive="ill"), ["'ill'", "l = 2.7"]),
        (LDiversity(l=2, variant="recursive", c=0.5, sensitive="ill"), ["'ill'", "1.00", "raise c"]),
        (AlphaK(alpha=0.4, k=2, sensitive="ill"), ["0.5", "alpha"]),
        (AlphaK(alpha=0.9, k=9), ["6 rows", "lower k to 6"]),
        (Anonymity(k=9), ["6 rows", "lower k to 6"]),
        (Anonymity(y="ill", k=4), ["3 distinct values of ill", "lower k to 3"]),
        (Confidentiality(y="ill", k=0.4), ["0.5", "raise k"]),
    ],
    ids=str,
)
def test_remedies(requirement: Requirement, told: list[str]) -> None:
    with pytest.raises(Infeasible) as error:
        Mondrian().publish(table(), [requirement])
    for part in (requirement.model, *told):
        assert part in str(error.value)


def test_a_remedy_names_the_attribute_that_fails() -> None:
    frame = pl.DataFrame({"age": range(8), "a": list("abcdabcd"), "b": list("xxxxxxxy")})
    data = read(frame, quasi=["age"], sensitive=["a", "b"])
    for requirement in (LDiversity(l=2), LDiversity(l=2, variant="entropy"), LDiversity(l=2, c=2, variant="recursive")):
        with pytest.raises(Infeasible, match="'b'") as error:
            bind([requirement], data)
        assert "'x'" in str(error.value)
        assert "25.0%" not in str(error.value)


@pytest.mark.parametrize("ills", ["abcabcd", "aab"])
@pytest.mark.parametrize(
    ("requirement", "parameter"),
    [
        (AlphaK(alpha=0.1, k=1), "alpha"),
        (Confidentiality(y="ill", k=0.1), "k"),
        (LDiversity(l=1), "l"),
        (LDiversity(l=1, variant="entropy"), "l"),
        (LDiversity(l=2, c=0.1, variant="recursive"), "c"),
    ],
    ids=lambda r: r if isinstance(r, str) else r.words(),
)
def test_a_remedy_that_is_followed_helps(requirement: Requirement, parameter: str, ills: str) -> None:
    """The number in the message is one that the table meets: rounded to the safe side, and not an open limit."""
    data = read(pl.DataFrame({"age": range(len(ills)), "ill": list(ills)}), quasi=["age"], sensitive="ill")
    if parameter == "l":
        requirement = requirement.with_parameters(l=len(set(ills)) - 0.1)
    with pytest.raises(Infeasible) as error:
        bind([requirement], data)
    numbers = [float(w.strip(".,;:()")) for w in str(error.value).replace("%", " ").split() if _is_number(w)]
    advised = min(numbers, key=lambda v: abs(v - _best(requirement, data)))
    bind([requirement.with_parameters(**{parameter: advised})], data)


def _is_number(word: str) -> bool:
    try:
        float(word.strip(".,;:()"))
    except ValueError:
        return False
    return True


def _best(requirement: Requirement, data: Microdata) -> float:
    """What the whole table achieves."""
    schema = TableSchema(data)
    everyone = np.zeros(data.rows, np.int64)
    (value, *_) = judge_groups(requirement.bind(schema), schema, schema.counted, everyone, 1).achieved.values()
    return value


# --- people, not rows ------------------------------------------------------------------------------------------


def test_entities_are_people_not_rows() -> None:
    """Six rows of three people: 3-anonymous, never 4-anonymous, and no group of one person's rows."""
    data = table()
    with pytest.raises(Infeasible):
        bind([KAnonymity(k=4, entity="name")], data)
    (whole,) = bind([KAnonymity(k=3, entity="name")], data)
    release = Mondrian().publish(data, [whole])
    assert release.tables["data"].select("age", "sex").unique().height == 1
    assert release.manifest["requirements"][0]["achieved"] == {"k": 3}
    two = Mondrian().publish(data, [KAnonymity(k=2, entity="name")])
    assert two.manifest["requirements"][0]["achieved"]["k"] >= 2


@given(samples(most=30), st.integers(1, 4))
@examples(40)
def test_every_group_has_k_people(sample: Sample, k: int) -> None:
    rows = sample.facts.rows
    assume(len({row["person"] for row in rows}) >= k)
    release = Mondrian().publish(sample.read(), [KAnonymity(k=k, entity="person")])
    groups = release.tables["data"].with_columns(pl.col(sample.quasi).cast(pl.String)).group_by(sample.quasi).agg("row")
    people = [len({rows[i]["person"] for i in members}) for members in groups["row"]]
    assert min(people) >= k
    assert release.manifest["requirements"][0]["achieved"]["k"] == min(people)


def test_missing_entities_are_one_person() -> None:
    """Rows without an entity could all be one person's."""
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "who": [None, None, None, "Ann"]})
    data = read(frame, quasi=["age"], identifiers=["who"])
    bind([KAnonymity(k=2, entity="who")], data)
    with pytest.raises(Infeasible, match="2 people"):
        bind([KAnonymity(k=3, entity="who")], data)


# --- merging ---------------------------------------------------------------------------------------------------


def holds(requirement: Requirement, data: Microdata, of_row: list[int]) -> list[bool]:
    """How each group stands to a requirement, by the requirement itself."""
    schema = TableSchema(data)
    bound = requirement.bind(schema)
    counted = {key: schema.counted(key[0]) for key in bound.columns()}
    distinct = {key: combine([schema.counted(n) for n in key]) for key in bound.distinct_columns()}
    (block,) = tally(np.array(of_row), max(of_row) + 1, counted, distinct)
    whole = {key: totals(c) for key, c in counted.items()}
    return list(bound.holds(schema, Tally(block.sizes, block.counts, block.distinct, whole)))


@given(samples(kinds=("number",), columns=1, least=3), requirements(), st.data())
@examples(250)
def test_merging_satisfying_groups_satisfies(sample: Sample, requirement: Requirement, data: st.DataObject) -> None:
    """Every model says that it is monotone: then two groups that satisfy it do so together. And the judgement of
    each group is what the definition says."""
    assert requirement.monotone
    rows = sample.facts.rows
    number = data.draw(st.integers(2, min(4, len(rows))))
    of_row = [*range(number), *(data.draw(st.integers(0, number - 1)) for _ in range(len(rows) - number))]
    table = sample.read()
    good = holds(requirement, table, of_row)
    members = [[row for row, g in zip(rows, of_row, strict=True) if g == group] for group in range(number)]
    assert good == [satisfies(requirement, group, sample.facts) for group in members]
    if good[0] and good[1]:
        assert holds(requirement, table, [max(g - 1, 0) for g in of_row])[0]


def _facts(tree: dict[str, Any], rows: list[Row]) -> Facts:
    return Facts(rows, "ill", leaves(tree), tree)


COUNTS = st.lists(st.integers(0, 6), min_size=5, max_size=5).filter(any)


@given(COUNTS, COUNTS, COUNTS, st.data())
@examples(300)
def test_merging_counts(one: list[int], two: list[int], rest: list[int], data: st.DataObject) -> None:
    """The same for any two vectors of counts, with limits that the worse of the two just meets."""
    tree = {"Any": {"x": {"a": {}, "b": {}}, "y": {"z": {"c": {}, "d": {}}, "e": {}}}}
    rows = [{"ill": v} for counts in (one, two, rest) for v, c in zip("abcde", counts, strict=True) for _ in range(c)]
    facts, (n, m) = _facts(tree, rows), (sum(one), sum(two))
    requirement = data.draw(requirements().filter(lambda r: not isinstance(r, Anonymity)))
    assume(getattr(requirement, "entity", None) is None)
    first, second = rows[:n], rows[n : n + m]
    if satisfies(requirement, first, facts) and satisfies(requirement, second, facts):
        assert satisfies(requirement, first + second, facts)


def test_every_comparison_has_its_own_number() -> None:
    ops = (judge.SIZE, judge.DISTINCT, judge.SHARE, judge.ENTROPY, judge.TAIL, judge.EQUAL, judge.ORDERED, judge.TREE)
    ops += (judge.AHEAD, judge.SHARE_AT_LEAST)
    assert len(set(ops)) == len(ops)
