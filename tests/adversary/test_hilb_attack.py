"""Algorithm 7 against Hilb: what it infers is true, and the example of Figure 8."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.table.microdata import Microdata, read
from strategies import examples


def line(ills: list[str], places: list[int] | None = None) -> Microdata:
    return read(pl.DataFrame({"q": places or list(range(len(ills), 0, -1)), "s": ills}), quasi=["q"], sensitive="s")


def attacked(table: Microdata, l: int) -> sf.hilb_attack:  # type: ignore[valid-type]
    release = sf.publish(table, require=sf.LDiversity(l=l), method=sf.Hilb(scheme="bucketization"))
    return sf.hilb_attack(release, l=l)


def test_figure_8_compromises_four_of_eight() -> None:
    table = line(["gastritis", "gastritis", "heart disease", "diabetes", "cancer", "cancer", "flu", "mumps"])
    found = attacked(table, 2)
    assert found.determined.sum() == 4
    assert found.right(table) == 4
    people = found.release.tables["quasi"]["q"].to_list()
    told = {q: set(c) for q, c, d in zip(people, found.candidates, found.determined, strict=True) if d}
    assert told == {8: {"gastritis"}, 7: {"gastritis"}, 6: {"heart disease"}, 5: {"diabetes"}}
    assert found.vulnerable.sum() == 2


@examples(150)
@given(st.data(), st.integers(2, 3))
def test_what_is_inferred_is_true(data: st.DataObject, l: int) -> None:
    """Also with people at one place, whose order nobody can know."""
    number = data.draw(st.integers(2 * l, 24))
    ills = data.draw(st.lists(st.sampled_from("abcde"), min_size=number, max_size=number))
    places = data.draw(st.lists(st.integers(0, 15), min_size=number, max_size=number))
    if max(ills.count(v) for v in ills) * l > number:
        return
    table = line(ills, places)
    found = attacked(table, l)
    assert found.right(table) == found.determined.sum()
    rows = found.release.tables["quasi"]
    for place in set(places):
        here = [c for q, c in zip(rows["q"].to_list(), found.candidates, strict=True) if q == place]
        true = [v for v, q in zip(ills, places, strict=True) if q == place]
        assert all(any(v in c for c in here) for v in true)
        if len(here) == 1:
            assert true[0] in here[0]


def test_a_safe_method_gives_nothing_away_that_is_true_by_reason() -> None:
    """Against hilb-safe the same reasoning is no reasoning: what it infers is often wrong."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"q": rng.permutation(2000), "s": rng.integers(0, 8, 2000)})
    table = read(frame, quasi=["q"], sensitive="s")
    safe = sf.publish(table, require=sf.LDiversity(l=3), method=sf.HilbSafe(scheme="bucketization"), rng=rng)
    fooled = sf.hilb_attack(safe, l=3)
    broken = attacked(table, 3)
    assert broken.determined.sum() > 100
    assert broken.right(table) == broken.determined.sum()
    assert fooled.right(table) < 0.9 * max(fooled.determined.sum(), 1)


def test_it_needs_a_bucketized_release() -> None:
    release = sf.publish(line(list("abcd")), require=sf.LDiversity(l=2), method=sf.Hilb())
    with pytest.raises(PolicyError, match="bucketization"):
        sf.hilb_attack(release, l=2)


def test_of_two_sensitive_attributes_the_one_that_is_diverse_is_attacked() -> None:
    """Values that repeat within a group beside the diverse ones count once."""
    ills = ["gastritis", "gastritis", "heart disease", "diabetes", "cancer", "cancer", "flu", "mumps"]
    frame = pl.DataFrame({"q": list(range(8, 0, -1)), "ward": list("abababab"), "s": ills})
    table = read(frame, quasi=["q"], sensitive=["ward", "s"])
    wanted = sf.LDiversity(l=2, sensitive="s")
    found = sf.hilb_attack(sf.publish(table, require=wanted, method=sf.Hilb(scheme="bucketization")), l=2)
    assert found.sensitive == "s"
    assert found.determined.sum() == found.right(table) == 4
    same = read(frame.with_columns(s=pl.lit("x"), ward=pl.Series(ills)), quasi=["q"], sensitive=["ward", "s"])
    wanted = sf.LDiversity(l=2, sensitive="ward")
    found = sf.hilb_attack(sf.publish(same, require=wanted, method=sf.Hilb(scheme="bucketization")), l=2)
    assert found.determined.sum() == found.right(same) == 4


def test_l_is_a_whole_number() -> None:
    release = sf.publish(line(list("abcd")), require=sf.LDiversity(l=2), method=sf.Hilb(scheme="bucketization"))
    with pytest.raises(PolicyError, match="whole number"):
        sf.hilb_attack(release, l="2")  # type: ignore[arg-type]
