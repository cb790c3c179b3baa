"""The motivating examples of ASAP: what Nash and Sam believe of Tom (Tables 1, 2 and 5)."""

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

from sfumato.adversary.algorithm_aware import Worlds, worlds
from sfumato.adversary.knowledge import Count
from sfumato.method.base import Drawn, Groups
from sfumato.method.mask.mask import Mask
from sfumato.requirement.m_confidentiality import MConfidentiality
from sfumato.table.microdata import Microdata, read

SEX = ["F", "F", "F", "F", "M", "M"]
NAMES = ["Amy", "Eva", "Grace", "Helen", "Jack", "Tom"]


def as_little_as_needed(table: Microdata) -> Groups:
    """The algorithm of Table 1: 2-diverse in AIDS, with as few rows generalized as possible, the first such way."""
    sex, ill = table["Sex"].codes, table["Disease"].codes
    aids = table["Disease"].domain.leaves.index("AIDS")
    best: tuple[int, tuple[int, ...]] | None = None
    for hidden in product((0, 1), repeat=table.rows):
        groups = [2 if h else int(s) for h, s in zip(hidden, sex, strict=True)]
        counts = {g: [ill[i] == aids for i in range(table.rows) if groups[i] == g] for g in groups}
        mixed = len({sex[i] for i in range(table.rows) if hidden[i]}) != 1
        if mixed and all(2 * sum(c) <= len(c) for c in counts.values()) and (best is None or sum(hidden) < best[0]):
            best = (sum(hidden), tuple(groups))
    assert best is not None
    numbers = np.unique(best[1], return_inverse=True)[1]
    return Groups(numbers.astype(np.int64), int(numbers.max()) + 1)


def patients(ills: list[str]) -> Microdata:
    return read(pl.DataFrame({"Sex": SEX, "Disease": ills}), quasi=["Sex"], sensitive="Disease")


def test_table_1_without_external_knowledge() -> None:
    """16 naive worlds, one smart one; P(AIDS | male) goes from 1/2 to 1."""
    table = patients(["gastritis", "heart disease", "cancer", "diabetes", "AIDS", "AIDS"])
    published = as_little_as_needed(table)
    assert sorted(np.bincount(published.of_row).tolist()) == [2, 4]
    result = worlds(table, method=as_little_as_needed, people="unknown")
    assert len(result.naive_worlds) == 16
    assert len(result.smart_worlds) == 1
    assert result.naive_exact[5]["AIDS"] == Fraction(1, 2)
    assert result.smart_exact[5]["AIDS"] == 1
    assert not result.same_marginals
    assert not result.same_worlds


def test_table_5_has_five_worlds() -> None:
    """Nash knows that Amy and Grace have no AIDS and that a male has; the paper counts six tables, there are five."""
    frame = pl.DataFrame({"Name": NAMES, "Sex": SEX, "Disease": ["other"] * 4 + ["AIDS"] * 2})
    table = read(
        frame, quasi=["Name", "Sex"], sensitive="Disease", taxonomies={"Name": {"Any": NAMES}, "Sex": {"*": ["F", "M"]}}
    )
    rest = Groups(np.array([0, 1, 0, 1, 1, 1]), 2)
    facts = [
        Count({"Name": ["Amy", "Grace"], "Disease": "AIDS"}).equals(0),
        Count({"Sex": "M", "Disease": "AIDS"}).at_least(1),
    ]

    def generalizing(data: Microdata) -> Groups:
        """Females without AIDS apart, if the others need hiding; else by sex."""
        aids = data["Disease"].codes == data["Disease"].domain.leaves.index("AIDS")
        return rest if aids[4] and aids[5] else Groups(np.array([0, 0, 0, 0, 1, 1]), 2)

    result = worlds(table, method=generalizing, knowledge=facts, scheme="bucketization")
    assert len(result.naive_worlds) == 5
    assert result.naive_exact[5]["AIDS"] == Fraction(3, 5)
    assert len(result.smart_worlds) == 1
    assert result.smart_exact[5]["AIDS"] == 1


COUNTRY = ["Mexico"] * 4 + ["Japan"] * 4
ILLS = ["cancer", "heart disease", "heart disease", "AIDS", "AIDS", "AIDS", "AIDS", "AIDS"]
MASKED = ["cancer", "heart disease", "heart disease", "AIDS", "cancer", "cancer", "heart disease", "AIDS"]


def table_2(ills: list[str]) -> Microdata:
    return read(pl.DataFrame({"Country": COUNTRY, "Disease": ills}), quasi=["Country"], sensitive="Disease")


def masked_worlds(facts: list) -> Worlds:  # type: ignore[type-arg]
    published = Drawn(table_2(MASKED), Groups(np.array([0] * 4 + [1] * 4), 2))
    return worlds(
        table_2(ILLS),
        method=Mask(k=4),
        require=MConfidentiality(m=2, values=["AIDS"]),
        knowledge=facts,
        published=published,
        scheme="bucketization",
    )


@pytest.mark.parametrize(
    ("fact", "naive"),
    [
        (Count({"Country": "Japan", "Disease": "heart disease"}).share_below(0.05, of=Count()), Fraction(3, 8)),
        (Count({"Disease": "cancer"}).equals(1), Fraction(5, 12)),
    ],
    ids=["Japanese have no heart disease", "one of eight has cancer"],
)
def test_table_2_mask(fact: object, naive: Fraction) -> None:
    """Nash believes 3/8 or 5/12, within 2-confidentiality; Sam at least 3/4."""
    result = masked_worlds([fact])
    assert result.naive_exact[7]["AIDS"] == naive
    assert result.smart_exact[7]["AIDS"] >= Fraction(3, 4)
    assert not result.same_marginals


def test_without_knowledge_nash_believes_what_is_published() -> None:
    assert masked_worlds([]).naive_exact[7]["AIDS"] == Fraction(1, 4)
