"""What a newcomer gets wrong: one error of ours, with the fact, the limit and the remedy."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.base import Drawn, Groups

FRAME = pl.DataFrame({"age": [20, 30, 40, 50], "sex": list("MFMF"), "ill": ["flu", "HIV", "flu", "HIV"]})
TABLE = sf.read(FRAME, quasi=["age", "sex"], sensitive="ill")
L2 = sf.LDiversity(l=2)
RULE = {"age": (0, 40)}


def released() -> sf.Release:
    return sf.publish(TABLE, require=L2, method=sf.Hilb(scheme="bucketization"))


def broken(release: object = None, rule: object = None, truth: object = TABLE, values: object = ("HIV",)) -> object:
    rule = sf.NegativeRule(where=RULE, value="flu", share=0.1) if rule is None else rule
    return sf.negative_rule_attack(release or released(), rule, truth=truth, m=2, values=values)  # type: ignore[arg-type]


def worlds(**changed: object) -> object:
    return sf.worlds(**{"table": TABLE, "method": "anatomy", "require": L2} | changed)  # type: ignore[arg-type]


def where(**chosen: object) -> object:
    return broken(rule=sf.NegativeRule(where=chosen, value="flu", share=0.1))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: worlds(table=FRAME), "sf.read"),
        (lambda: sf.sampled_worlds(FRAME, method="anatomy", require=L2), "sf.read"),  # type: ignore[arg-type]
        (lambda: sf.stratified_pickup(FRAME, np.zeros(4, int), l=2), "sf.read"),  # type: ignore[arg-type]
        (lambda: sf.relative_errors(released(), FRAME, sf.Workload(dimension=1)), "sf.read"),  # type: ignore[arg-type]
        (lambda: sf.hilb_attack(released(), l=2).right(FRAME), "sf.read"),  # type: ignore[arg-type]
        (lambda: broken(truth=FRAME), "sf.read"),
        (lambda: sf.hilb_attack(TABLE, l=2), "sf.load"),  # type: ignore[arg-type]
        (lambda: sf.relative_errors(TABLE, TABLE, sf.Workload(dimension=1)), "sf.load"),  # type: ignore[arg-type]
        (lambda: broken(release=TABLE), "sf.load"),
        (lambda: sf.relative_errors(released(), TABLE, None), "Workload"),  # type: ignore[arg-type]
        (lambda: sf.partition(TABLE, require="l-diversity", method="anatomy"), "is not a requirement"),  # type: ignore[arg-type]
        (lambda: worlds(require=["l-diversity"]), "is not a requirement"),
        (lambda: worlds(require=None), "is not a requirement"),
        (lambda: sf.publish(TABLE, require=None, method="anatomy"), "is not a requirement"),  # type: ignore[arg-type]
        (lambda: sf.publish(TABLE, require=L2, method=["anatomy"]), "no method"),  # type: ignore[arg-type]
        (lambda: sf.publish(TABLE, require=L2, method="anatomy", rng=3), "default_rng"),  # type: ignore[arg-type]
        (lambda: sf.partition(TABLE, require=L2, method="anatomy", rng=3), "default_rng"),  # type: ignore[arg-type]
        (lambda: worlds(published=np.zeros(4)), "4 rows"),
        (lambda: worlds(published=released()), "4 rows"),
        (lambda: worlds(published=Drawn(TABLE, Groups(np.zeros(3, int), 1))), "4 rows"),
        (lambda: worlds(knowledge=3), "list of facts"),
        (lambda: sf.Count(["ill"]), "attribute: value"),  # type: ignore[arg-type]
        (lambda: sf.Fact(3, "=", sf.Count()), "swap the two sides"),  # type: ignore[arg-type]
        (lambda: sf.stratified_pickup(TABLE, np.zeros((4, 1), int), l=2), "group of each row"),
        (lambda: sf.stratified_pickup(TABLE, np.full(4, np.nan), l=2), "whole number"),  # type: ignore[arg-type]
        (lambda: sf.stratified_pickup(TABLE, None, l=2), "group of each row"),  # type: ignore[arg-type]
        (lambda: broken(rule="PhD-25"), "NegativeRule"),
        (lambda: broken(values=[]), "at least one"),
        (lambda: broken(values="HIV"), "in a list"),
        (lambda: broken(rule=sf.NegativeRule(where=RULE, value=3, share=0.1)), "no value 3"),  # type: ignore[arg-type]
        (lambda: where(age=(40,)), "least, greatest"),
        (lambda: where(age=()), "least, greatest"),
        (lambda: where(age=(40, 20)), "least, greatest"),
        (lambda: where(age=(float("nan"), 20)), "least, greatest"),
        (lambda: where(sex=(0, 3)), "over a numeric attribute"),
        (lambda: where(sex="M"), "as a list"),
        (lambda: where(sex=[]), "as a list"),
        (lambda: where(age=30), "as a list"),
    ],
)
def test_wrong_input_is_refused_with_the_way_out(ask: Callable[[], object], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        ask()


@pytest.mark.parametrize("method", ["mondrian+", "mondrian++", "hilb", "hilb+", "hilb++", "hilb-safe", "anatomy"])
@pytest.mark.parametrize("l", [2, 3, 9])
def test_a_table_that_is_not_eligible_names_the_value_its_share_and_the_largest_l(method: str, l: int) -> None:
    """Also where l is above the number of distinct values; pick-up needs the whole number."""
    frame = pl.DataFrame({"q": range(10), "s": ["flu"] * 7 + ["HIV"] * 3})
    table = sf.read(frame, quasi=["q"], sensitive="s")
    with pytest.raises(Infeasible, match=r"'flu' alone makes up 70.0%; .* l = 1.428 \(as a whole number 1\)"):
        sf.partition(table, require=sf.LDiversity(l=l), method=method)
    assert len(sf.partition(table, require=sf.LDiversity(l=1), method=method)) == 10


def test_l_that_is_not_whole_names_the_next_that_is() -> None:
    with pytest.raises(PolicyError, match=r"not 1\.5; set l = 2"):
        sf.partition(TABLE, require=sf.LDiversity(l=1.5), method="anatomy")
