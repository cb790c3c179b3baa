"""What is offered for a job: the same methods that can publish, and the same reasons that publishing gives."""

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import Infeasible, SfumatoError
from sfumato.method.catalogue import METHODS
from sfumato.publisher.offers import impossible, offers


@pytest.fixture(scope="module")
def table() -> sf.Microdata:
    rows = pl.DataFrame(
        {"age": [i % 40 for i in range(80)], "sex": ["F", "M"] * 40, "ill": ["flu", "HIV", "cold", "cancer"] * 20}
    )
    return sf.read(rows, quasi=["age", "sex"], sensitive="ill")


def test_every_method_is_offered_or_refused_with_the_reason_that_publishing_gives(table: sf.Microdata) -> None:
    needed = [sf.KAnonymity(k=4), sf.LDiversity(l=2)]
    plan = offers(table, needed)
    served = [p.method.name for p in plan.points]
    assert sorted([*served, *plan.unserved]) == sorted(METHODS)
    for name, why in plan.unserved.items():
        with pytest.raises(SfumatoError) as refused:
            sf.publish(table, require=needed, method=name)
        assert str(refused.value) == why


def test_methods_with_nothing_against_them_come_first(table: sf.Microdata) -> None:
    plan = offers(table, [sf.LDiversity(l=2)])
    refuted = [p.refuted is not None for p in plan.points]
    assert refuted == sorted(refuted)
    assert {"mondrian+", "anatomy"} <= {p.method.name for p in plan.points if p.refuted is None}
    assert "mondrian" in {p.method.name for p in plan.points if p.refuted is not None}


def test_impossible_is_what_publishing_refuses(table: sf.Microdata) -> None:
    needed = [sf.KAnonymity(k=80), sf.LDiversity(l=5), sf.KAnonymity(k=81)]
    found = impossible(table, needed)
    assert set(found) == {1, 2}
    for place, why in found.items():
        with pytest.raises(Infeasible) as refused:
            sf.publish(table, require=needed[place], method="mondrian")
        assert str(refused.value) == why


def test_a_requirement_about_what_the_table_lacks_is_impossible() -> None:
    bare = sf.read(pl.DataFrame({"age": [1, 2, 3]}), quasi=["age"])
    assert "needs a sensitive attribute" in impossible(bare, [sf.LDiversity(l=2)])[0]
