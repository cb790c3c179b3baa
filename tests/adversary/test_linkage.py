"""Linkage risk against naive counting, and examples that can be checked by hand."""

from collections import Counter, defaultdict
from itertools import combinations
from statistics import median

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.adversary import linkage
from sfumato.adversary.linkage import linkage_risk, quasi_groups, riskiest
from sfumato.errors import DataError, PolicyError
from sfumato.table.microdata import Microdata, read

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8), st.integers(0, 3)), min_size=1, max_size=60)


def table_of(rows: list[tuple[int, ...]]) -> Microdata:
    """A table of text columns a, b, c ..., all of them quasi-identifiers."""
    names = "abcdefgh"[: len(rows[0])]
    frame = pl.DataFrame({n: [f"{n}{row[i]}" for row in rows] for i, n in enumerate(names)})
    return read(frame, quasi=list(names))


def test_by_hand() -> None:
    """Classes of 1, 2 and 5 rows."""
    risk = linkage_risk(np.array([1, 2, 2, 0, 2, 1, 2, 2]))
    assert (risk.rows, risk.classes, risk.smallest, risk.largest) == (8, 3, 1, 5)
    assert (risk.uniques, risk.unique_share) == (1, 1 / 8)
    assert (risk.mean, risk.median) == (8 / 3, 2)
    assert (risk.prosecutor, risk.journalist) == (1, 1)
    assert risk.prosecutor_mean == pytest.approx(3 / 8)
    assert risk.marketer == pytest.approx(3 / 8)
    assert risk.above_threshold == 3 / 8
    assert [(b.sizes, b.classes, b.rows) for b in risk.histogram if b.classes] == [
        ("1", 1, 1),
        ("2", 1, 2),
        ("5–9", 1, 5),
    ]
    assert "assumed to be the whole population" in risk.assumption


@pytest.mark.parametrize("k", [2, 3, 5, 7, 10])
def test_a_risk_of_exactly_the_threshold_is_not_above_it(k: int) -> None:
    groups = np.repeat([0, 1], k)
    assert linkage_risk(groups, threshold=1 / k).above_threshold == 0
    assert linkage_risk(groups, threshold=1 / (k + 1)).above_threshold == 1


def test_the_population_lowers_journalist_and_marketer_only() -> None:
    risk = linkage_risk(np.array([0, 1, 1]), population=np.array([4, 10]))
    assert risk.prosecutor == 1
    assert risk.journalist == 1 / 4
    assert risk.marketer == pytest.approx((1 / 4 + 2 / 10) / 3)
    assert risk.population_known
    assert "were given" in risk.assumption


def test_several_rows_of_one_person_do_not_hide_the_person() -> None:
    groups, people = np.array([0, 0, 0, 1, 1]), np.array([4, 4, 4, 4, 2])
    risk = linkage_risk(groups, people=people)
    assert (risk.smallest, risk.largest, risk.uniques, risk.prosecutor) == (1, 2, 3, 1)
    assert risk.prosecutor_mean == pytest.approx((3 * 1 + 2 * 1 / 2) / 5)
    assert risk.counts_people


def test_numbers_that_no_row_has_are_no_classes() -> None:
    risk = linkage_risk(np.array([7, 7, 3]))
    assert (risk.classes, risk.smallest) == (2, 1)


def test_wrong_arguments_are_refused() -> None:
    groups = np.array([0, 0, 1])
    with pytest.raises(DataError, match="no rows"):
        linkage_risk(np.array([], np.int64))
    with pytest.raises(PolicyError, match=r"must be in \[0, 1\]"):
        linkage_risk(groups, threshold=1.5)
    with pytest.raises(PolicyError, match="larger in the table"):
        linkage_risk(groups, population=np.array([1, 5]))
    with pytest.raises(PolicyError, match="1 classes, the table 2"):
        linkage_risk(groups, population=np.array([9]))
    with pytest.raises(PolicyError, match="give one per row"):
        linkage_risk(groups, people=np.array([0, 1]))


@given(rows=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=80), by_people=st.booleans())
@settings(deadline=None)
def test_twin_of_linkage_risk(rows: list[tuple[int, int]], by_people: bool) -> None:
    """Naive dictionaries give the same figures."""
    members: dict[int, list[int]] = defaultdict(list)
    for i, (group, person) in enumerate(rows):
        members[group].append(person if by_people else i)
    size = {g: len(set(m)) for g, m in members.items()}
    of_row = [size[g] for g, _ in rows]
    people = np.array([p for _, p in rows]) if by_people else None
    risk = linkage_risk(np.array([g for g, _ in rows]), people=people, threshold=0.3)
    assert risk.classes == len(size)
    assert (risk.smallest, risk.largest) == (min(size.values()), max(size.values()))
    assert risk.median == median(size.values())
    assert risk.uniques == of_row.count(1)
    assert risk.prosecutor == risk.journalist == 1 / min(of_row)
    assert risk.prosecutor_mean == pytest.approx(sum(1 / s for s in of_row) / len(rows))
    assert risk.above_threshold == pytest.approx(sum(1 / s > 0.3 for s in of_row) / len(rows))
    assert sum(b.rows for b in risk.histogram) == len(rows)
    assert sum(b.classes for b in risk.histogram) == len(size)
    assert risk.histogram[2].classes == sum(3 <= s <= 4 for s in size.values())


@given(rows=ROWS)
@settings(deadline=None)
def test_twin_of_riskiest(rows: list[tuple[int, ...]]) -> None:
    """Every combination, counted by dictionaries; hashing and numbering by code agree."""
    table = table_of(rows)
    found = riskiest(table, top=99)
    best = [0] * len(rows)
    for number in (1, 2, 3):
        for chosen in combinations(range(3), number):
            counts = Counter(tuple(row[i] for i in chosen) for row in rows)
            names = {"abc"[i] for i in chosen}
            (entry,) = [c for c in found.combinations if set(c.attributes) == names]
            assert (entry.classes, entry.uniques) == (len(counts), list(counts.values()).count(1))
            for r, row in enumerate(rows):
                if counts[tuple(row[i] for i in chosen)] == 1 and not best[r]:
                    best[r] = number
    assert found.singled_out == tuple(best.count(n) for n in (1, 2, 3))
    text = [dict(zip("abc", (f"a{r[0]}", f"b{r[1]}", f"c{r[2]}"), strict=True)) for r in rows]
    for example in found.examples:
        assert sum(all(t[n] == v for n, v in example) for t in text) == 1
    assert len(found.examples) <= sum(b > 0 for b in best)


def test_combinations_are_ranked_within_their_number() -> None:
    found = riskiest(table_of([(i % 2, i, i // 2) for i in range(6)]), top=2)
    assert [c.attributes for c in found.combinations[:2]] == [("b",), ("c",)]
    assert [len(c.attributes) for c in found.combinations] == [1, 1, 2, 2, 3]
    assert found.combinations[0].unique_share == 1
    assert found.singled_out == (6, 0, 0)
    assert len(found.examples) == 2
    assert found.examples[0][0][0] == "b"


def test_unique_people_are_found_through_their_several_rows() -> None:
    table = table_of([(0, 0), (0, 0), (1, 1), (1, 1)])
    assert riskiest(table).combinations[0].uniques == 0
    by_people = riskiest(table, people=np.array([0, 0, 1, 2]))
    assert by_people.combinations[0].uniques == 2


def test_a_large_table_is_examined_in_part_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(i % 2, i, i % 3, i % 5) for i in range(10)]
    monkeypatch.setitem(linkage._ROW_VISITS, 2, 30)
    monkeypatch.setitem(linkage._ROW_VISITS, 3, 10)
    found = riskiest(table_of(rows))
    assert "the 3 pairs of the 3 attributes that identify best alone" in found.looked_at
    assert [len(c.attributes) for c in found.combinations].count(2) == 3
    assert {"b"} <= set(found.combinations[4].attributes)


def test_a_wide_table_of_few_rows_is_examined_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkage, "_COMBINATIONS", 3)
    found = riskiest(table_of([(i % 2, i, i % 3, i % 5) for i in range(10)]))
    assert "the 3 pairs of the 3 attributes that identify best alone" in found.looked_at
    assert "the 1 triples of the 3 attributes that identify best alone" in found.looked_at


def test_many_values_are_hashed() -> None:
    """The product of the domains is far beyond the rows, so that codes cannot number the classes."""
    n = 600
    frame = pl.DataFrame({"x": [f"x{i // 2}" for i in range(n)], "y": [f"y{i}" for i in range(n)]})
    found = riskiest(read(frame, quasi=["x", "y"]))
    assert {c.attributes: c.uniques for c in found.combinations} == {("y",): n, ("x",): 0, ("y", "x"): n}


def test_quasi_groups() -> None:
    table = table_of([(0, 1), (0, 1), (1, 1)])
    assert quasi_groups(table).tolist() == [0, 0, 1]
    no_quasi = read(pl.DataFrame({"ill": ["flu", "HIV"]}), sensitive="ill")
    assert quasi_groups(no_quasi).tolist() == [0, 0]
