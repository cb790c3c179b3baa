"""Injector: rules as a plain scan finds them, l-diversity always, and rows that fit where there are any."""

from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.injector import excluded
from sfumato.requirement.distribution import kinds_of


@given(st.integers(0, 10**6), st.integers(4, 40), st.sampled_from([0.5, 0.9, 2.0]), st.sampled_from([1, 2, None]))
@settings(max_examples=80, deadline=None)
def test_rules_are_those_of_a_plain_scan(seed: int, n: int, min_exp: float, size: int | None) -> None:
    rng = np.random.default_rng(seed)
    rows = [(str(a), str(b)) for a, b in zip(rng.integers(0, 3, n), rng.integers(0, 3, n), strict=True)]
    ills = [str(v) for v in rng.integers(0, 4, n)]
    frame = pl.DataFrame({"a": [r[0] for r in rows], "b": [r[1] for r in rows], "ill": ills})
    table = sf.read(frame, quasi=["a", "b"], sensitive="ill", kinds={"a": "categorical", "b": "categorical"})
    kinds = kinds_of(table.quasi)
    found = excluded(kinds, table["ill"], min_exp=min_exp, size=size)[kinds.of_row]
    share = Counter(ills)
    for i in range(n):
        for v, value in enumerate(table["ill"].domain.leaves):
            rule = False
            for number in range(1, (size or 2) + 1):
                for at in combinations((0, 1), number):
                    like = [j for j in range(n) if all(rows[j][k] == rows[i][k] for k in at)]
                    never = all(ills[j] != value for j in like)
                    rule |= never and len(like) * (share[value] / n) >= min_exp
            assert found[i, v] == rule


@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(2, 5))
@settings(max_examples=150, deadline=None)
def test_every_eligible_table_becomes_l_diverse(seed: int, n: int, l: int) -> None:
    rng = np.random.default_rng(seed)
    ills = [str(v) for v in rng.integers(0, rng.integers(1, 9), n)]
    table = sf.read(pl.DataFrame({"a": rng.integers(0, 4, n), "ill": ills}), quasi=["a"], sensitive="ill")
    try:
        group = sf.partition(table, require=sf.LDiversity(l=l), method="injector", rng=rng)
    except Infeasible:
        assert max(Counter(ills).values()) * l > n
        return
    for g in range(group.max() + 1):
        inside = Counter(v for v, h in zip(ills, group, strict=True) if h == g)
        assert max(inside.values()) == 1
        assert l <= sum(inside.values())


def test_men_are_not_put_with_what_only_women_have() -> None:
    """Forty men, forty women; ovarian cancer among women only: men are barred from its groups, and enough women are."""
    sex = ["M"] * 40 + ["F"] * 40
    ills = (["flu", "cold"] * 20) + (["ovarian cancer", "flu", "cold", "gout"] * 10)
    table = sf.read(pl.DataFrame({"sex": sex, "ill": ills}), quasi=["sex"], sensitive="ill")
    group = sf.partition(table, require=sf.LDiversity(l=2), method="injector", rng=np.random.default_rng(1))
    with_cancer = {g for g, v in zip(group, ills, strict=True) if v == "ovarian cancer"}
    assert {s for s, g in zip(sex, group, strict=True) if g in with_cancer} == {"F"}


def test_settings_are_checked() -> None:
    with pytest.raises(PolicyError, match="min_exp"):
        sf.Injector(min_exp=0)
    with pytest.raises(PolicyError, match="size"):
        sf.Injector(size=0)
