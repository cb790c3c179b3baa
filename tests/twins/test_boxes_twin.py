"""Boxes against the obvious: enough rows each, disjoint, cut only where that is allowed; and which boxes meet."""

import datetime as dt
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversary.placement import place
from sfumato.kernel.pg.box_overlap import meet
from sfumato.method.pg import GroupBoxes, make_groups
from sfumato.release.manifest import Manifest
from sfumato.release.scheme.sampling import overlapping
from sfumato.table.ordered_domain import MISSING
from strategies import Tree, examples, leaves, trees

WHOLE = (-np.inf, np.inf)


@st.composite
def tables(draw: st.DrawFn) -> tuple[sf.Microdata, int]:
    tree: Tree = draw(trees(most=7, least=2))
    rows = draw(st.integers(1, 40))

    def column(values: st.SearchStrategy) -> list:
        return draw(st.lists(values, min_size=rows, max_size=rows))

    frame = pl.DataFrame(
        {
            "age": pl.Series(column(st.one_of(st.none(), st.integers(0, 12))), dtype=pl.Int64),
            "job": column(st.sampled_from(leaves(tree))),
            "sex": column(st.sampled_from(["f", "m", "x"])),
            "zip": column(st.sampled_from(["471", "472", "480", "500"])),
            "ill": column(st.sampled_from(["a", "b"])),
        }
    )
    quasi = draw(st.lists(st.sampled_from(["age", "job", "sex", "zip"]), min_size=1, unique=True))
    table = sf.read(
        frame,
        quasi=quasi,
        sensitive="ill",
        taxonomies={n: t for n, t in (("job", tree), ("zip", {"mask": "right"})) if n in quasi},
        domains={"ill": ["a", "b", "c"]},
        missing="category",
    )
    return table, draw(st.integers(1, max(1, rows // 2)))


@examples(150)
@given(drawn=tables())
def test_groups_have_k_rows_and_their_boxes_hold_them_alone(drawn: tuple[sf.Microdata, int]) -> None:
    table, k = drawn
    closed, tight = make_groups(table, k), make_groups(table, k, tight=True)
    assert (closed.of_row == tight.of_row).all()
    assert ((closed.lo <= tight.lo) & (tight.hi <= closed.hi)).all()
    for groups in (closed, tight):
        _apart_and_complete(table, k, groups)


def _apart_and_complete(table: sf.Microdata, k: int, groups: GroupBoxes) -> None:
    assert groups.size.min() >= k
    assert groups.size.sum() == table.rows
    codes = np.stack([c.codes for c in table.quasi], axis=1)
    inside = ((codes[:, None] >= groups.lo) & (codes[:, None] < groups.hi)).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()
    assert (inside.argmax(axis=1) == groups.of_row).all()
    for a, b in product(range(len(groups.size)), repeat=2):
        meets = ((groups.lo[a] < groups.hi[b]) & (groups.lo[b] < groups.hi[a])).all()
        assert meets == (a == b)
    for j, column in enumerate(table.quasi):
        if column.name == "sex":
            assert {(int(lo), int(hi)) for lo, hi in zip(groups.lo[:, j], groups.hi[:, j], strict=True)} <= {
                (0, column.size),
                *((c, c + 1) for c in range(column.size)),
            }


@examples(100)
@given(drawn=tables(), boxes=st.sampled_from(["closed", "tight"]))
def test_a_release_is_checked_and_everyone_finds_the_own_row(drawn: tuple[sf.Microdata, int], boxes: Any) -> None:
    table, k = drawn
    method = sf.PG(p=1.0, k=k, boxes=boxes)
    release = sf.publish(table, require=sf.KAnonymity(k=k), method=method, rng=np.random.default_rng(1))
    assert [f.status for f in release.check()][:8] == ["holds"] * 8
    groups = make_groups(table, k)
    placed = place(release, table)
    assert not placed.shared.any()
    # people share a row exactly if they share a group, and the row knows how many they are
    assert len(set(zip(groups.of_row.tolist(), placed.of_person.tolist(), strict=True))) == len(groups.size)
    sizes = release.tables["data"]["G"].to_numpy()
    assert (sizes[placed.of_person] == groups.size[groups.of_row]).all()


@examples(100)
@given(drawn=tables())
def test_labels_cover_the_values_of_their_people(drawn: tuple[sf.Microdata, int]) -> None:
    table, k = drawn
    release = sf.publish(table, require=sf.KAnonymity(k=k), method=sf.PG(p=1.0), rng=np.random.default_rng(1))
    data, rows = release.tables["data"], place(release, table).of_person
    for column in table.quasi:
        nodes = release.manifest["attributes"][column.name]["nodes"]
        for code, row in zip(column.codes, rows, strict=True):
            label, value = data[column.name][int(row)], column.domain.leaves[code]
            meaning = nodes[label]
            if column.name == "age" and value != MISSING and meaning is not None:
                low, high = (without if end is None else end for end, without in zip(meaning, WHOLE, strict=True))
                assert low <= float(value) < high
            elif column.name in ("job", "sex") and meaning is not None:
                assert value in meaning
            elif column.name == "zip":
                parts = meaning or [label]
                masks = [part for part in parts if all(c in ("*", v) for c, v in zip(part, value, strict=False))]
                assert masks


@examples(100)
@given(
    st.lists(st.tuples(*[st.integers(0, 6)] * 4), min_size=1, max_size=60),
    st.lists(st.tuples(*[st.integers(0, 6)] * 4), min_size=1, max_size=60),
)
def test_meet_finds_what_meets(first: list[tuple[int, ...]], others: list[tuple[int, ...]]) -> None:
    a, b = (np.array(boxes * 20) for boxes in (first, others))  # many, so that space is divided
    lo, hi, low, high = a[:, :2], a[:, :2] + a[:, 2:] + 1, b[:, :2], b[:, :2] + b[:, 2:] + 1
    found = meet(lo, hi, low, high)
    touching = ((lo[:, None] < high) & (low < hi[:, None])).all(axis=2)
    for k in range(len(b)):
        wanted = set(np.flatnonzero(touching[:, k]).tolist())
        got = {int(i) for i in (found.hit[k], found.second[k]) if i >= 0}
        assert got <= wanted
        assert len(got) == min(len(wanted), 2)
    shared = touching[:, touching.sum(axis=0) > 1].any(axis=1)
    assert (found.shared.astype(bool) == shared).all()


def test_overlapping_boxes_are_found() -> None:
    frame = pl.DataFrame({"age": list(range(40)), "ill": ["a", "b"] * 20})
    table = sf.read(frame, quasi=["age"], sensitive="ill", domains={"ill": ["a", "b"]})
    release = sf.publish(table, require=sf.KAnonymity(k=5), method=sf.PG(p=0.5))
    entry = release.manifest["attributes"]["age"]
    labels = list(entry["nodes"])
    entry["nodes"][labels[0]] = entry["nodes"][labels[1]]
    with pytest.raises(sf.ReleaseError, match="does not mean what"):
        release.check()
    with pytest.raises(sf.ReleaseError, match="share a value"):
        overlapping(Manifest.from_plain(release.manifest), release.tables["data"], ["age"])


@pytest.mark.parametrize("boxes", ["closed", "tight"])
@pytest.mark.parametrize("k", [2, 5, 20])
def test_every_kind_of_attribute_finds_its_row(boxes: Any, k: int) -> None:
    rng = np.random.default_rng(k)
    rows = 200
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 300, rows)]
    frame = pl.DataFrame(
        {
            "born": pl.Series([None if i % 11 == 0 else d for i, d in enumerate(days)]),
            "height": [None if i % 13 == 0 else float(h) for i, h in enumerate(rng.integers(150, 200, rows) / 4)],
            "wage": [None if i % 17 == 0 else int(w) for i, w in enumerate(rng.integers(0, 90, rows))],
            "school": rng.choice(["low", "middle", "high"], rows),
            "ill": rng.choice(["a", "b"], rows),
        }
    )
    table = sf.read(
        frame,
        quasi=["born", "height", "wage", "school"],
        sensitive="ill",
        taxonomies={"wage": {"width": 5}},
        domains={"school": ["low", "middle", "high"], "ill": ["a", "b", "c"]},
        kinds={"school": "ordinal"},
        missing="category",
    )
    release = sf.publish(table, require=sf.KAnonymity(k=k), method=sf.PG(p=0.5, boxes=boxes))
    release.check()
    groups, placed = make_groups(table, k), place(release, table)
    sizes = release.tables["data"]["G"].to_numpy()
    assert not placed.shared.any()
    assert (placed.of_person >= 0).all()
    assert (sizes[placed.of_person] == groups.size[groups.of_row]).all()
    assert len(set(zip(groups.of_row.tolist(), placed.of_person.tolist(), strict=True))) == len(groups.size)
    sf.Corruption().attack(release, table)
    sf.DecisionTree.from_release(release).predict(table)
