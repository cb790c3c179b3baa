"""mondrian-blur against an adversary who knows the algorithm and sees labels, not who is in which group.

Some values are given to people in every way, and published in every way in which the draws can fall, with labels, in
exact rationals. No belief exceeds 1/l, as the proof in docs/aware.md says of whoever sees less than the groups. The
factor for other beliefs is about the groups: an exchange may change the likelihood of labels by more.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.adversary.algorithm_aware import with_codes
from sfumato.method.base import Drawn
from sfumato.method.blur import mondrian_blur
from sfumato.method.blur.budget import UNIT
from sfumato.method.enumeration import arrangements
from sfumato.release.judgement import bind
from sfumato.release.scheme.group_labels import show
from sfumato.requirement.base import Requirement
from sfumato.table.microdata import Microdata, read

Value = tuple[int, ...]
World = tuple[Value, ...]
Labels = tuple[str, ...]
Labelled = tuple[tuple[Labels, Value], ...]
Places = Mapping[str, Sequence[object]]

TREE = {"Any": {"A": ["a1", "a2"], "B": ["b1", "b2"], "C": ["c1", "c2"]}}
PLANE: Places = {"x": [0, 1, 0, 3, 2, 3, 1, 2], "y": [3, 1, 2, 0, 2, 3, 0, 1]}
SIX: Places = {name: codes[:6] for name, codes in PLANE.items()}
LEAVES: Places = {"x": ["a1", "a2", "b1", "b2", "c1", "c2"], "y": [0, 2, 1, 0, 2, 1]}
PAIRS: Places = {"x": [1, 1, 2, 2]}


def people(places: Places, columns: int) -> Microdata:
    frame = pl.DataFrame(places)
    names = [f"s{c}" for c in range(columns)]
    domains = {n: [str(v) for v in range(6)] for n in names}
    trees = {name: TREE for name, kind in frame.schema.items() if kind == pl.String}
    frame = frame.with_columns(**{n: pl.lit("0") for n in names})
    return read(frame, quasi=list(places), sensitive=names, domains=domains, taxonomies=trees)


def labels_of(drawn: Drawn, method: sf.MondrianBlur) -> list[Labels]:
    """What a generalized release shows of each person."""
    groups = drawn.groups
    shown = show(drawn.table, groups.of_row, groups.number, sets=method.shows_sets())
    return [tuple(str(s.labels[s.of_group[g]]) for s in shown) for g in groups.of_row]


def publications(
    table: Microdata, values: list[Value], method: sf.MondrianBlur, l: float, k: int
) -> dict[Labelled, dict[World, Fraction]]:
    """The probability that each way to give people the values publishes each thing."""
    seen: dict[Labelled, dict[World, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    require: list[Requirement] = [sf.LDiversity(l=l), sf.KAnonymity(k=k)]
    distinct, labels = sorted(set(values)), dict[bytes, list[Labels]]()
    for order in arrangements([distinct.index(v) for v in values]):
        world = tuple(distinct[i] for i in order)
        data = with_codes(table, {f"s{c}": np.array([v[c] for v in world]) for c in range(len(values[0]))})
        for drawn, chance in method.outcomes(data, bind(require, data)):
            groups = drawn.groups.of_row.tobytes()  # they alone decide the labels
            labels[groups] = labels.get(groups) or labels_of(drawn, method)
            seen[tuple(sorted(zip(labels[groups], world, strict=True)))][world] += chance
    return seen


def greatest_belief(by: dict[World, Fraction]) -> Fraction:
    beliefs: dict[tuple[int, int, int], Fraction] = defaultdict(Fraction)
    for world, chance in by.items():
        for person, value in enumerate(world):
            for c, x in enumerate(value):
                beliefs[person, c, x] += chance
    return max(beliefs.values()) / sum(by.values())


ONES: list[Value] = [(v,) for v in (0, 0, 1, 1, 2, 2)]
FOURS: list[Value] = [(v,) for v in (0, 0, 1, 1, 2, 2, 3, 3)]
TWOS: list[Value] = [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)]
CASES: dict[str, tuple[Places, list[Value], dict[str, object], float, int]] = {
    "l = 2": (SIX, ONES, {}, 2, 1),
    "l = 2, k = 3": (SIX, ONES, {"blur": 0.3, "refusals": 3}, 2, 3),
    "l = 2, not dealt": (SIX, ONES, {"pickup": False}, 2, 1),
    "l = 3, not dealt": (PLANE, FOURS, {"pickup": False}, 3, 1),
    "two attributes": (SIX, TWOS, {}, 2, 2),
    "below nodes": (LEAVES, ONES, {}, 2, 1),
    "one node per label": (LEAVES, ONES, {"labels": "nodes"}, 1.5, 1),
    "one node per label, not dealt": (LEAVES, ONES, {"labels": "nodes", "pickup": False}, 1.5, 1),
}


@pytest.mark.parametrize(("places", "values", "settings", "l", "k"), CASES.values(), ids=CASES)
def test_whoever_sees_labels_is_no_surer_than_one_in_l(
    monkeypatch: pytest.MonkeyPatch,
    places: Places,
    values: list[Value],
    settings: dict[str, object],
    l: float,
    k: int,
) -> None:
    monkeypatch.setattr(mondrian_blur, "_ENOUGH", 1)
    monkeypatch.setattr(mondrian_blur, "_ENOUGH_UNDEALT", 20)
    method = sf.MondrianBlur(**settings)  # type: ignore[arg-type]
    seen = publications(people(places, len(values[0])), values, method, l, k)
    assert max(map(greatest_belief, seen.values())) <= 1 / Fraction(str(l))
    assert any(len(set(by.values())) > 1 for by in seen.values()), "every table is equally likely"


def test_the_factor_for_other_beliefs_is_about_groups_and_not_about_labels() -> None:
    """The smallest table: each pair has one a and one b, but whether it is of one place depends on who has which."""
    method = sf.MondrianBlur(blur=0.001)
    seen = publications(people(PAIRS, 1), [(0,), (0,), (1,), (1,)], method, 2, 1)
    (by,) = [by for result, by in seen.items() if len({labels for labels, _ in result}) == 1]
    before, after = by[(0,), (0,), (1,), (1,)], by[(1,), (0,), (0,), (1,)]
    assert (before, after) == (Fraction(1), Fraction(1, 2))
    assert before / after > UNIT**method.cap
    assert greatest_belief(by) == Fraction(1, 2)
