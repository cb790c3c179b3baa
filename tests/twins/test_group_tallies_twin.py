"""Groups and values counted by parts, against dictionaries; and what a release says with and without them."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engine import counts
from sfumato.errors import SfumatoError
from sfumato.kernel import group_parts
from sfumato.kernel import group_tallies as kernel
from sfumato.kernel.code_columns import Coded
from sfumato.kernel.group_parts import MixedKeys, fits, spread
from sfumato.kernel.group_tallies import GroupTallies, group_tallies, rows_by_code
from sfumato.release import release as release_module
from sfumato.release import shown_groups
from sfumato.release.judgement import Judgement
from sfumato.requirement.base import GroupRequirement
from strategies import examples, requirements


@st.composite
def columns(draw: st.DrawFn, rows: int, most: int, largest: int) -> list[Coded]:
    """Up to ``most`` columns of few distinct codes, with the least and the greatest among them."""
    found = []
    for size in draw(st.lists(st.sampled_from((1, 2, 3, 7, 256, 300, largest)), max_size=most)):
        some = [0, size - 1, *draw(st.lists(st.integers(0, size - 1), max_size=3))]
        codes = draw(st.lists(st.sampled_from(some), min_size=rows, max_size=rows))
        found.append(Coded(np.array(codes, np.min_scalar_type(max(size - 1, 1))), size))
    return found


def plain(found: GroupTallies) -> list[tuple[object, ...]]:
    """The figures of each group, in order; then the rows of each value."""
    figures = [zip(v.most.tolist(), v.squares.tolist(), strict=True) for v in found.values]
    groups = zip(found.size.tolist(), *figures, strict=True)
    return [*sorted(groups), *(tuple(v.of_value.tolist()) for v in found.values)]


def twin(by: list[Coded], counted: list[Coded]) -> list[tuple[object, ...]]:
    keys = list(zip(*(c.codes.tolist() for c in by), strict=True))
    groups = []
    for key, size in Counter(keys).items():
        held = [Counter(v for k, v in zip(keys, c.codes.tolist(), strict=True) if k == key) for c in counted]
        groups.append((size, *((max(h.values()), float(sum(n * n for n in h.values()))) for h in held)))
    return [*sorted(groups), *(tuple(np.bincount(c.codes, minlength=c.size).tolist()) for c in counted)]


@given(st.data(), st.integers(1, 60), st.sampled_from([1, 2, 5, 1 << 15]), st.sampled_from([1, 3, 1 << 10]))
@examples(150)
def test_counting_by_parts(data: st.DataObject, rows: int, part: int, tile: int) -> None:
    by, counted = data.draw(columns(rows, 3, 70_000)), data.draw(columns(rows, 2, 8))
    by = by or [Coded(np.zeros(rows, np.uint8), 1)]
    assert fits(by, counted)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(group_parts, "_PART", part)
        patched.setattr(group_parts, "TILE", tile)
        patched.setattr(group_parts, "_BLOCK", data.draw(st.sampled_from([1, 7, 1 << 15])))
        patched.setattr(kernel, "_LEAST_SLOTS", data.draw(st.sampled_from([4, 16, 1 << 10])))  # grows as needed
        found = group_tallies(by, counted)
    assert found is not None
    assert plain(found) == twin(by, counted)
    of_codes = [np.bincount(column.codes, minlength=column.size).tolist() for column in by]
    assert [rows.tolist() for rows in rows_by_code(found, by)] == of_codes


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 16, 17])
def test_all_rows_distinct_and_all_equal(rows: int) -> None:
    values = Coded(np.zeros(rows, np.uint8), 1)
    assert group_tallies([Coded(np.arange(rows), 40)], [values]).size.tolist() == [1] * rows
    assert group_tallies([Coded(np.zeros(rows, np.uint8), 1)], [values]).size.tolist() == [rows] * (rows > 0)


@pytest.mark.parametrize("rows", [(1 << 15) - 1, 1 << 15, (1 << 15) + 1, 1 << 16, 300_001])
def test_blocks_and_parts_as_large_as_they_are(rows: int) -> None:
    rng = np.random.default_rng(rows)
    by = [
        Coded(rng.integers(0, 300, rows).astype(np.uint16), 300),
        Coded(rng.integers(0, 40, rows).astype(np.uint8), 40),
    ]
    value = Coded(rng.integers(0, 5, rows).astype(np.uint8), 5)
    found = group_tallies(by, [value], 1 << 26)
    assert found is not None
    assert found.cells is not None
    keys = by[0].codes.astype(np.int64) * 40 + by[1].codes
    table = np.bincount(keys * 5 + value.codes, minlength=300 * 40 * 5).reshape(-1, 5)
    here = (found.codes >> np.uint64(6)).astype(int) * 40 + (found.codes & np.uint64(63)).astype(int)
    assert np.array_equal(np.sort(here), np.flatnonzero(table.sum(axis=1)))
    assert np.array_equal(found.size, table[here].sum(axis=1))
    assert np.array_equal(np.concatenate([some.of(0, 5) for some in found.cells]), table[here])
    assert np.array_equal(found.values[0].most, table[here].max(axis=1))


def colliding(rows: int, factor: int) -> list[Coded]:
    """Codes of groups that one slot after the other is looked at for, if the hash multiplies them by this factor."""
    wanted = pow(factor, -1, 1 << 64)
    mixed = np.arange(rows, dtype=np.uint64) * np.uint64(wanted)
    assert int(mixed.max()) < 1 << 31, "the products are small: their upper bits are all the same"
    codes = MixedKeys(32, 1, 0).unmixed(mixed)
    return [Coded((codes >> np.uint64(at)).astype(np.uint16), 1 << 16) for at in (16, 0)]


def seconds(by: list[Coded]) -> float:
    """The least processor time of three."""
    took = []
    for _ in range(3):
        begin = time.process_time()
        found = group_tallies(by, [])
        took.append(time.process_time() - begin)
        assert found is not None
        assert found.size.tolist() == [1] * len(by[0].codes)
    return min(took)


def test_a_forger_cannot_choose_groups_that_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who knows the factor of the hash can make counting take quadratic time; each process draws its own."""
    known = pow(3, -1, 1 << 64)
    forged = colliding(30_000, known)
    honest = seconds(forged)
    monkeypatch.setattr(kernel, "SECRET_FACTOR", np.uint64(known))
    assert seconds(forged) > 10 * honest
    draw = [sys.executable, "-c", "from sfumato.kernel.secret_factor import SECRET_FACTOR; print(SECRET_FACTOR)"]
    one, other = (int(subprocess.run(draw, capture_output=True, check=True, timeout=60).stdout) for _ in range(2))
    assert one != other
    assert one % 2 == other % 2 == 1


def test_codes_that_fill_the_key() -> None:
    """63 bits, and keys that differ only in the highest or the lowest of them."""
    wide = Coded(np.array([0, 2**40 - 1, 2**39, 0]), 2**40)
    other = Coded(np.array([0, 0, 0, 1]), 2**15)
    value = Coded(np.array([255, 0, 255, 1], np.uint8), 256)
    assert fits([wide, other], [value])
    assert not fits([wide, other], [value, Coded(value.codes, 2)])
    assert plain(group_tallies([wide, other], [value])) == twin([wide, other], [value])


def test_keys_with_the_same_lower_half() -> None:
    """A slot has only the lower half of what is kept of a key; groups that differ in the upper half are told apart."""
    keys = group_parts.MixedKeys(60, 1, 0)
    mixed = np.array([5, 5 | 1 << 40, 5, 5 | 1 << 58, 6, 5 | 1 << 40], np.uint64)
    codes = keys.unmixed(mixed)
    by = [Coded(codes >> np.uint64(30), 1 << 30), Coded(codes & np.uint64((1 << 30) - 1), 1 << 30)]
    found = spread(by, [])
    assert found.keys == keys
    assert sorted(found.kept.tolist()) == sorted(mixed.tolist())
    assert plain(group_tallies(by, [])) == [(1,), (1,), (2,), (2,)]


WORDS = list("abcd")
TREE = {"Any": {"ab": ["a", "b"], "cd": ["c", "d"]}}
REQUIREMENTS = requirements().filter(lambda r: "person" not in r.reads())


@st.composite
def releases(draw: st.DrawFn) -> sf.Release:
    """A release with one sensitive attribute, whose column lists its words in any order, some of which nobody has."""
    rows = draw(st.integers(1, 40))
    ill = draw(st.lists(st.sampled_from(WORDS), min_size=rows, max_size=rows))
    ages = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    taxonomies = {"ill": TREE} if draw(st.booleans()) else {}
    table = sf.read(
        pl.DataFrame({"age": ages, "sex": [age % 2 for age in ages[::-1]], "ill": ill, "job": ill[::-1]}),
        quasi=["age", "sex"],
        sensitive=["ill"] if draw(st.booleans()) else ["job", "ill"],
        taxonomies=taxonomies,
    )
    found = sf.publish(table, require=sf.KAnonymity(k=1), method="mondrian")
    listed = [*WORDS, "nobody's"]
    words = pl.Enum(listed if draw(st.booleans()) else draw(st.permutations(listed)))
    job = draw(st.sampled_from([words, pl.String()]))  # a column that lists no words is not counted
    types = {"ill": words, "job": job}
    data = found.tables["data"]
    data = data.with_columns(pl.col(n).cast(pl.String).cast(t) for n, t in types.items() if n in data.columns)
    attributes = found.manifest["attributes"]
    if draw(st.integers(0, 9)) == 0:  # a forger's manifest lacks a value; a tree that is not over its domain is refused
        ill = {key: stated for key, stated in attributes["ill"].items() if key != "taxonomy"}
        attributes |= {"ill": ill | {"domain": ill["domain"][1:]}}
    return sf.Release(found.manifest | {"attributes": attributes}, {"data": data})


def judged(release: sf.Release, requirement: GroupRequirement) -> object:
    """The judgement, or why there is none."""
    try:
        return release.judge(requirement)
    except SfumatoError as e:
        return str(e)


SIZES = st.builds(sf.AlphaK, alpha=st.just(1), k=st.integers(1, 9))
RARE = st.builds(
    sf.MConfidentiality, m=st.just(2), sensitive=st.just("ill"), values=st.sampled_from([None, "a", ["b", "c"]])
)
TEMPLATES = st.one_of(
    st.builds(sf.Anonymity, y=st.sampled_from([None, "ill"]), k=st.integers(1, 4)),
    st.builds(sf.Confidentiality, y=st.just({"ill": ["a", "c"]}), k=st.sampled_from([0.25, 0.5])),
)
BY_AGE = st.builds(sf.Anonymity, x=st.just("age"), y=st.just("ill"), k=st.integers(1, 4))


@given(
    releases(),
    st.tuples(SIZES, BY_AGE, RARE, TEMPLATES, REQUIREMENTS, REQUIREMENTS).map(list),
    st.sampled_from([1, 9, 1 << 20]),
)
@examples(200)
def test_groups_are_judged_by_their_cells(release: sf.Release, required: list[GroupRequirement], block: int) -> None:
    """Every model, met or not, is judged as by numbering the rows."""
    expected = [judged(release, requirement) for requirement in required]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(counts, "_BLOCK_CELLS", block)
        assert [replaced(judged(release, requirement)) for requirement in required] == [*map(replaced, expected)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(shown_groups, "MANY", 1)
        patched.setattr(group_parts, "_PART", 3)
        patched.setattr(shown_groups.KAnonymity, "model", "another")  # so that the cells are kept
        again = sf.Release(release.manifest, release.tables)
        groups = again.shown_groups()
        assert groups is not None
        assert groups.cells is not None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(shown_groups, "_BLOCK", block)
        found = [judged(again, requirement) for requirement in required]
    assert [*map(replaced, found)] == [*map(replaced, expected)]


def replaced(judgement: object) -> object:
    """Figures that are computed in another order of groups agree up to rounding."""
    if not isinstance(judgement, Judgement):
        return judgement
    return judgement.groups, judgement.failing, {n: pytest.approx(v, rel=1e-12) for n, v in judgement.achieved.items()}


def in_rows(words: list[str], stated: list[str], rows: int, *, tree: bool) -> sf.Release:
    """A release of groups of two, whose column lists some words, and whose manifest states a domain."""
    frame = pl.DataFrame({"age": [row // 2 for row in range(rows)], "ill": ["a", "b"] * (rows // 2)})
    table = sf.read(frame, quasi=["age"], sensitive=["ill"], taxonomies={"ill": {"Any": ["a", "b"]}})
    release = sf.publish(table, require=sf.LDiversity(l=2), method="mondrian")
    attributes = release.manifest["attributes"]
    ill = attributes["ill"] | {"domain": stated}
    if not tree:
        del ill["taxonomy"]
    data = release.tables["data"].with_columns(pl.col("ill").cast(pl.String).cast(pl.Enum(words)))
    return sf.Release(release.manifest | {"attributes": attributes | {"ill": ill}}, {"data": data})


def test_a_domain_that_is_much_larger_than_a_column_needs_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many counts at a time as are judged; a forger may state any domain."""
    monkeypatch.setattr(shown_groups, "MANY", 1)
    monkeypatch.setattr(shown_groups, "_BLOCK", 1000)
    largest: list[int] = []
    rows = shown_groups._Places.rows

    def counted(self: shown_groups._Places, counts: np.ndarray) -> np.ndarray:
        found = rows(self, counts)
        largest.append(found.size)
        return found

    monkeypatch.setattr(shown_groups._Places, "rows", counted)
    release = in_rows(["a", "b"], ["a", "b", *(f"n{i}" for i in range(298))], 80, tree=False)
    judgement = release.judge(sf.LDiversity(l=2, variant="entropy"))
    assert (judgement.groups, judgement.failing) == (40, 0)
    assert max(largest) <= 1000


@pytest.mark.parametrize("stated", [["x", "b", "a"], ["b", "a"]])
def test_a_tree_that_is_not_over_the_domain_is_refused(stated: list[str]) -> None:
    """The codes of a column are places in the domain: a test with a limit per leaf would read beyond its limits."""
    release = in_rows(stated, stated, 8, tree=True)
    with pytest.raises(sf.ReleaseError, match="not over its domain"):
        release.judge(sf.LDiversity(l=2))


def test_a_wide_column_beside_a_narrow_one_needs_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cells of all attributes are looked at together, even if one is judged."""
    monkeypatch.setattr(shown_groups, "MANY", 1)
    monkeypatch.setattr(shown_groups, "_BLOCK", 1000)
    ages = [row // 2 for row in range(80)]
    frame = pl.DataFrame({"age": ages, "ill": ["a", "b"] * 40, "job": [f"j{row}" for row in range(80)]})
    table = sf.read(frame, quasi=["age"], sensitive=["ill", "job"])
    release = sf.publish(table, require=sf.LDiversity(l=2), method="mondrian")
    words = {name: pl.Enum(release.tables["data"][name].unique().sort().to_list()) for name in ("ill", "job")}
    data = release.tables["data"].with_columns(pl.col(n).cast(pl.String).cast(words[n]) for n in words)
    again = sf.Release(release.manifest, {"data": data})
    lines: list[int] = []
    rows = shown_groups._Places.rows
    monkeypatch.setattr(
        shown_groups._Places, "rows", lambda self, counts: (lines.append(len(counts)), rows(self, counts))[1]
    )
    assert again.judge(sf.LDiversity(l=2, sensitive="ill", variant="entropy")).failing == 0
    assert max(lines) <= 1000 // (2 + 80)


def test_only_some_attributes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_groups, "MANY", 1)
    names = [f"s{n}" for n in range(40)]
    frame = pl.DataFrame({"age": [1, 1, 2, 2]} | {name: ["a", "b"] * 2 for name in names})
    release = sf.publish(sf.read(frame, quasi=["age"], sensitive=names), require=sf.LDiversity(l=2), method="mondrian")
    words = pl.Enum(["a", "b"])
    data = release.tables["data"].with_columns(pl.col(names).cast(pl.String).cast(words))
    groups = sf.Release(release.manifest, {"data": data}).shown_groups()
    assert groups is not None
    assert len(groups.values) == 32


def test_more_rows_than_a_cell_can_count_are_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_MOST_ROWS", 3)
    assert group_tallies([Coded(np.zeros(4, np.uint8), 1)], []) is None
    assert group_tallies([Coded(np.zeros(3, np.uint8), 1)], []) is not None


def some_people() -> sf.Microdata:
    rng = np.random.default_rng(4)
    sex, ill = rng.choice(["F", "M"], 200), rng.choice(["a", "b", "c", "d"], 200)
    frame = pl.DataFrame({"age": rng.integers(20, 30, 200), "sex": sex, "ill": ill})
    return sf.read(frame, quasi=["age", "sex"], sensitive=["ill"], domains={"ill": ["a", "b", "c", "d"]})


PUBLISHED: dict[str, Callable[[], sf.Release]] = {
    "generalized": lambda: sf.publish(some_people(), require=sf.LDiversity(l=2), method="mondrian"),
    "bucketized": lambda: sf.publish(some_people(), require=sf.LDiversity(l=2), method="anatomy"),
    "sampled": lambda: sf.publish(some_people(), require=sf.KAnonymity(k=4), method=sf.PG(p=0.6, k=4)),
    "randomized": lambda: sf.publish(
        some_people(),
        require=sf.Disclosure(tau=1.0),
        method=sf.RandomizedResponse(keep={"sex": 0.8, "ill": 0.5}),
    ),
}


@pytest.mark.parametrize("scheme", PUBLISHED)
def test_classes_and_their_sizes(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release = PUBLISHED[scheme]()
    expected = np.sort(np.bincount(release.classes())).tolist()
    for many in (1, 1 << 30):
        monkeypatch.setattr(shown_groups, "MANY", many)
        assert np.sort(sf.Release(release.manifest, release.tables).class_sizes()).tolist() == expected


@pytest.mark.parametrize("scheme", [scheme for scheme in PUBLISHED if scheme != "generalized"])
def test_only_groups_that_are_used_are_counted(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release = PUBLISHED[scheme]()
    monkeypatch.setattr(release_module, "shown_groups", lambda release: 1 // 0)
    assert {finding.status for finding in release.check()} <= {"holds", "stated"}


@pytest.mark.parametrize("most", [0, 5, 1 << 20])
def test_cells_are_kept_as_long_as_there_is_room(most: int) -> None:
    by, counted = [Coded(np.arange(40) % 9, 9)], [Coded(np.arange(40) % 4, 4), Coded(np.arange(40) % 3, 3)]
    found = group_tallies(by, counted, most)
    assert found is not None
    if most < 9 * 8:
        assert found.cells is None
        return
    assert found.cells is not None
    for column, size in ((0, 4), (1, 3)):
        counts = np.concatenate([cells.of(column, size) for cells in found.cells])
        assert counts.sum(axis=1).tolist() == found.size.tolist()
        assert counts.max(axis=1).tolist() == found.values[column].most.tolist()
        assert counts.sum(axis=0).tolist() == found.values[column].of_value.tolist()


def test_too_many_cells_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of groups in one part, each with hundreds of values: the rows are numbered then."""
    monkeypatch.setattr(kernel, "_MOST_CELLS", 2000)
    monkeypatch.setattr(kernel, "_LEAST_SLOTS", 4)
    assert group_tallies([Coded(np.arange(300), 300)], [Coded(np.arange(300) % 100, 100)]) is None
    assert group_tallies([Coded(np.arange(300), 300)], [Coded(np.arange(300) % 2, 2)]) is not None
    monkeypatch.setattr(shown_groups, "MANY", 1)
    monkeypatch.setattr(kernel, "_MOST_CELLS", 1)
    assert published().shown_groups() is None


def published(rows: int = 400) -> sf.Release:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["F", "M"], rows),
            "ill": rng.choice(["flu", "HIV", "cold"], rows, p=[0.8, 0.1, 0.1]),
            "pay": rng.integers(0, 5, rows),
        }
    )
    table = sf.read(frame, quasi=["age", "sex"], sensitive=["ill", "pay"])
    return sf.publish(table, require=sf.KAnonymity(k=2), method="mondrian")


def test_a_large_release_is_checked_as_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published().write(tmp_path / "release")
    expected = sf.load(tmp_path / "release").check()
    monkeypatch.setattr(shown_groups, "MANY", 1)
    release = sf.load(tmp_path / "release")
    assert release.check() == expected
    groups = release.shown_groups()
    assert groups is not None
    assert sorted(groups.size) == sorted(release.group_sizes())
    assert not sf.load(tmp_path / "release").numbered(release.quasi())
    assert release.shown_groups() is groups


def test_a_group_that_is_too_small_is_found_in_a_large_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_groups, "MANY", 1)
    release = published()
    claim = release.manifest["requirements"][0] | {"required": {"k": 99}, "words": "every group has at least 99 rows"}
    with pytest.raises(sf.ReleaseError, match="groups fail"):
        release.stating(requirements=[claim]).check()


def test_rows_that_are_numbered_already_are_not_grouped_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_groups, "MANY", 1)
    release = published()
    fresh = sf.Release(release.manifest, release.tables)
    assert fresh.shown_groups() is not None
    fresh = sf.Release(release.manifest, release.tables)
    fresh.counted_labels(())
    assert fresh.shown_groups() is None


@pytest.mark.parametrize("why", ["text", "missing"])
def test_labels_without_codes_are_numbered(monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    monkeypatch.setattr(shown_groups, "MANY", 1)
    release = published()
    sex = release.tables["data"]["sex"]
    other = sex.cast(pl.String) if why == "text" else sex.scatter(0, None)
    data = release.tables["data"].with_columns(other.alias("sex"))
    assert sf.Release(release.manifest, {"data": data}).shown_groups() is None
