"""Methods that requirements on sensitive values steer: the counterexamples of their listings, by all small tables."""

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible
from sfumato.method.base import Method
from sfumato.method.catalogue import METHODS
from sfumato.release.judgement import bind
from sfumato.requirement.base import Requirement

RARE = sf.Confidentiality(y={"s": ["a"]}, k=0.5)


def line(values: str, domain: str) -> sf.Microdata:
    frame = pl.DataFrame({"q": list(range(1, len(values) + 1)), "s": list(values)})
    return sf.read(frame, quasi=["q"], sensitive="s", domains={"s": list(domain)})


@pytest.mark.parametrize(
    ("values", "domain", "wanted", "person", "certain", "naive"),
    [
        ("abb", "ab", RARE, 0, "a", Fraction(1, 2)),
        ("abccd", "abcd", sf.LDiversity(l=2), 2, "c", Fraction(1, 3)),
        ("aabab", "ab", sf.LDiversity(l=2, variant="distinct"), 2, "b", Fraction(1, 3)),
        ("aabab", "ab", sf.Anonymity(y="s", k=2), 2, "b", Fraction(1, 3)),
        ("aabcc", "abc", sf.TCloseness(t=0.4), 2, "b", Fraction(1, 5)),
    ],
    ids=["a share", "l-diversity", "distinct", "anonymity of y", "t-closeness"],
)
@pytest.mark.parametrize("scheme", ["generalization", "bucketization"])
def test_mondrian_pins_people_down(
    values: str, domain: str, wanted: Requirement, person: int, certain: str, naive: Fraction, scheme: str
) -> None:
    """Whoever knows the algorithm is certain of one person's value, whichever requirement read it."""
    table = line(values, domain)
    found = sf.worlds(table, method="mondrian", require=wanted, scheme=scheme)  # type: ignore[arg-type]
    assert found.smart_exact[person][certain] == 1
    assert found.naive_exact[person][certain] == naive
    assert any("cuts depend on the values of 's'" in w for w in sf.Mondrian().warnings(bind([wanted], table)))


def test_no_smaller_table_pins_anybody_down_by_mondrian() -> None:
    """Two people: both beliefs agree, for the requirement whose smallest counterexample has three."""
    for values in itertools.product("ab", repeat=2):
        table = line("".join(values), "ab")
        try:
            assert sf.worlds(table, method="mondrian", require=RARE).same_worlds
        except Infeasible:
            assert values == ("a", "a")


Seen = dict[tuple[tuple[str, str], ...], set[tuple[str, ...]]]


def shown_by(method: Method, wanted: Requirement) -> Seen:
    """All tables of one person in town A and two in town B, by what is shown of them."""
    seen: Seen = defaultdict(set)
    for values in itertools.product("ab", repeat=3):
        frame = pl.DataFrame({"town": ["A", "B", "B"], "s": list(values)})
        table = sf.read(frame, quasi=["town"], sensitive="s", domains={"s": ["a", "b"]})
        try:
            data = sf.publish(table, require=wanted, method=method).tables["data"]
        except Infeasible:
            continue
        rows = zip(data["town"].cast(pl.String), data["s"].cast(pl.String), strict=True)
        seen[tuple(sorted(rows))].add(values)
    return seen


@pytest.mark.parametrize(
    "method",
    [sf.Incognito(), sf.TopDown(score="distortion"), sf.TopDownDisclosure(score="distortion"), sf.Mondrian()],
    ids=lambda m: m.name,
)
def test_what_was_not_shown_pins_the_one_of_town_a_down(method: Method) -> None:
    """All three shown as * with one a among them: town A has it, else the towns would have been shown."""
    seen = shown_by(method, RARE)
    hidden = [rows for rows in seen if {town for town, _ in rows} == {"*"} and sum(s == "a" for _, s in rows) == 1]
    assert [seen[rows] for rows in hidden] == [{("a", "b", "b")}]
    assert method.warnings([RARE.with_parameters(x=["town"])])


def test_injector_tells_by_whom_it_puts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counterexample of its listing, over the tables behind the groups and all orders of rows of equal value."""
    shown = {frozenset({0, 2}), frozenset({1, 4}), frozenset({3, 5})}
    chance: dict[str, Fraction] = {}
    for one, two, three in itertools.product(("ac", "ca"), ("ab", "ba"), ("bc", "cb")):
        values = "".join((one[0], two[0], one[1], three[0], two[1], three[1]))
        table = sf.read(pl.DataFrame({"q": list("AAABBB"), "s": list(values)}), quasi=["q"], sensitive="s")
        met = 0
        for turned in itertools.product((1, -1), repeat=3):
            order = [i for v, way in zip("abc", turned, strict=True) for i in range(6)[::way] if values[i] == v]
            monkeypatch.setattr(Draws, "order", lambda self, n, order=order: np.array(order))
            group = sf.partition(table, require=sf.LDiversity(l=2), method="injector")
            met += {frozenset(np.flatnonzero(group == g).tolist()) for g in range(3)} == shown
        chance[values] = Fraction(met, 8)
    assert sum(p for values, p in chance.items() if values[1] == "a") / sum(chance.values()) == Fraction(2, 3)


READING = [
    sf.LDiversity(l=2, sensitive="s"),
    sf.TCloseness(t=0.4, sensitive="s"),
    sf.AlphaK(alpha=0.5, k=2, sensitive="s"),
    sf.Confidentiality(x=["q"], y="s", k=0.5),
    sf.Anonymity(x=["q"], y="s", k=2),
    sf.KAnonymity(k=2, entity="person"),
]


@pytest.mark.parametrize("name", ["mondrian", "incognito", "tdr", "tdd"])
@pytest.mark.parametrize("wanted", READING, ids=lambda r: r.model)
def test_every_requirement_that_reads_values_brings_the_warning(name: str, wanted: Requirement) -> None:
    (told,) = METHODS[name]().warnings([sf.KAnonymity(k=2), wanted])
    assert repr(wanted.reads()[0]) in told
    assert "certainly has" in told


@pytest.mark.parametrize("name", ["mondrian", "incognito", "tdr", "tdd"])
@pytest.mark.parametrize("wanted", [sf.KAnonymity(k=2), sf.Anonymity(x=["q"], k=2)], ids=lambda r: r.model)
def test_sizes_alone_bring_none(name: str, wanted: Requirement) -> None:
    assert wanted.reads() == ()
    assert METHODS[name]().warnings([wanted]) == []


def test_anonymity_of_a_sensitive_attribute_warns_in_the_manifest() -> None:
    release = sf.publish(line("aabab", "ab"), require=sf.Anonymity(y="s", k=2), method="mondrian")
    assert any("'s'" in w and "mondrian+" in w for w in release.warnings)


def test_every_method_that_is_not_safe_says_so() -> None:
    """What survives an aware adversary is enumerated in test_worlds and test_blur_worlds; the others are refuted, or do
    not look."""
    safe = {"mondrian+", "mondrian++", "hilb-safe", "anatomy", "mondrian-blur"}
    without_looking = {"pg", "rr"}
    for name, method in METHODS.items():
        if name not in safe | without_looking:
            assert method.refuted, name
