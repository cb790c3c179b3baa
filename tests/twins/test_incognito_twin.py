"""The optimum over the lattice against a twin that enumerates it, on values, in exact numbers."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import Infeasible
from sfumato.method.incognito import compressed as vectors
from sfumato.requirement.base import Requirement
from sfumato.requirement.beta_likeness import BetaLikeness
from sfumato.requirement.delta_disclosure import DeltaDisclosure
from sfumato.requirement.k_map import KMap
from sfumato.requirement.t_closeness import TCloseness
from strategies import (
    Facts,
    LineAxis,
    Row,
    Sample,
    TreeAxis,
    examples,
    leaves,
    path,
    policies,
    requirements,
    samples,
    satisfies,
)

COMPARED = (TCloseness, BetaLikeness, DeltaDisclosure)
LOSSES = ["arx", "precision", "discernibility", "aecs"]
LIMITS = [0.0, 0.1, 0.25, 1 / 3, 0.5, 0.9, 1.0]


@dataclass
class Attribute:
    """A quasi-identifier as the twin knows it: the label of each value on each level, and the values below a label."""

    labels: list[dict[object, str]]
    below: list[dict[str, int]]
    size: int

    @property
    def top(self) -> int:
        return len(self.labels) - 1


def attribute(sample: Sample, name: str) -> Attribute:
    axis = sample.axes[name]
    if not isinstance(axis, TreeAxis):
        values = set(axis.at) if isinstance(sample.options["domains"].get(name), list) else set()
        values = (values - {None}) or {row[name] for row in sample.facts.rows}
        labels = [{v: str(v) for v in values}]
        if len(values) > 1:
            labels.append(dict.fromkeys(values, "*"))
        return _counted(labels, len(values))
    values_of = leaves(axis.tree)
    paths = {v: path(axis.tree, v) or [] for v in values_of}
    if len(values_of) == 1 and name in sample.flat:
        return _counted([{values_of[0]: values_of[0]}], 1)
    deepest = max(len(p) for p in paths.values())
    return _counted(
        [{v: p[min(len(p), deepest - level) - 1] for v, p in paths.items()} for level in range(deepest)], len(values_of)
    )


def _counted(labels: list[dict[object, str]], size: int) -> Attribute:
    below: list[dict[str, int]] = []
    for level in labels:
        counts: dict[str, int] = defaultdict(int)
        for label in level.values():
            counts[label] += 1
        below.append(dict(counts))
    return Attribute(labels, below, size)


def loss_of(
    name: str, levels: Sequence[int], known: Sequence[Attribute], groups: list[tuple[tuple[str, ...], list[Row], bool]]
) -> Fraction:
    """The loss as defined; of ARX's the product under the root."""
    n = sum(len(rows) for _, rows, _ in groups)
    lost = sum(len(rows) for _, rows, good in groups if not good)
    if name == "discernibility":
        return Fraction(sum(len(rows) ** 2 if good else n * len(rows) for _, rows, good in groups))
    if name == "aecs":
        return Fraction(n, sum(good for _, _, good in groups) + (lost > 0))
    if name == "precision":
        parts = [Fraction(l * (n - lost) + a.top * lost, a.top) for l, a in zip(levels, known, strict=True) if a.top]
        return sum(parts, Fraction()) / (n * len(known))
    product = Fraction(1)
    for j, (level, a) in enumerate(zip(levels, known, strict=True)):
        if a.size > 1:
            shares = sum(
                len(rows) * (Fraction(a.below[level][label[j]], a.size) if good else 1) for label, rows, good in groups
            )
            base = Fraction(n, a.size)
            product *= 1 + (shares - base) / (n - base)
    return product


def close_to_itself(r: Requirement, kept: list[list[Row]], facts: Facts, derived: bool) -> bool:
    rows = [row for group in kept for row in group]
    domain = [v for v in facts.domain if not derived or any(row["ill"] == v for row in rows)]
    return all(satisfies(r, group, replace(facts, rows=rows, domain=domain)) for group in kept)


Node = tuple[Fraction, int, tuple[int, ...], int]


def fit(r: KMap, label: tuple[str, ...], levels: Sequence[int], known: Sequence[Attribute]) -> int:
    """How many people of the population show this label; a value that the table lacks is covered by ``*`` alone."""
    people = r.people_of().frame.to_dicts()
    shown = [
        tuple(
            a.labels[level].get(person[f"q{j}"], "*" if set(a.labels[level].values()) == {"*"} else None)
            for j, (a, level) in enumerate(zip(known, levels, strict=True))
        )
        for person in people
    ]
    return sum(s == label for s in shown)


def lattice(sample: Sample, required: Sequence[Requirement], limit: float, name: str, derived: bool) -> Iterator[Node]:
    """Every node that will do: its loss, how many steps it takes, its levels, and the rows it suppresses."""
    known = [attribute(sample, q) for q in sample.quasi]
    rows = sample.facts.rows
    allowed = Fraction(str(limit)).limit_denominator(10**9) * len(rows)
    for levels in itertools.product(*(range(a.top + 1) for a in known)):
        members: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in rows:
            shown = zip(sample.quasi, known, levels, strict=True)
            members[tuple(a.labels[level][row[q]] for q, a, level in shown)].append(row)
        counted = [r for r in required if not isinstance(r, KMap)]
        groups = [
            (
                label,
                group,
                all(satisfies(r, group, sample.facts) for r in counted)
                and all(fit(r, label, levels, known) >= r.k for r in required if isinstance(r, KMap)),
            )
            for label, group in members.items()
        ]
        kept = [group for _, group, good in groups if good]
        lost = len(rows) - sum(len(group) for group in kept)
        measured = [r for r in required if isinstance(r, COMPARED)]
        if lost > allowed or not kept:
            continue
        if lost and not all(close_to_itself(r, kept, sample.facts, derived) for r in measured):
            continue
        yield loss_of(name, levels, known, groups), sum(levels), levels, lost


def told(name: str, loss: Fraction, attributes: int) -> float:
    return float(loss) ** (1 / attributes) - 1 if name == "arx" else float(loss)


def agree(sample: Sample, required: Sequence[Requirement], limit: float, name: str, *, derived: bool = False) -> None:
    expected = sorted(lattice(sample, required, limit, name, derived))
    table = sample.read()
    if not expected:
        event("infeasible")
        with pytest.raises(Infeasible):
            sf.incognito(table, require=required, suppression=limit, loss=name)
        return
    best, _, levels, lost = expected[0]
    ties = [node[2] for node in expected[1:] if node[0] == best]
    event(f"ties: {min(len(ties), 2)}")
    event("suppresses" if lost else "keeps all")
    found = sf.incognito(table, require=required, suppression=limit, loss=name)
    assert tuple(found.levels.values()) == levels
    assert [tuple(t.values()) for t in found.ties] == ties
    assert found.suppressed == lost
    assert found.loss == pytest.approx(told(name, best, len(sample.quasi)), abs=1e-12)
    published(sample, required, limit, name, levels, lost)


def published(
    sample: Sample, required: Sequence[Requirement], limit: float, name: str, levels: tuple[int, ...], lost: int
) -> None:
    """The release shows each kept row on these levels, and every claim holds."""
    release = sf.publish(
        sample.read(),
        require=required,
        method=sf.Incognito(suppression=limit, loss=name),
        rng=np.random.default_rng(1),
    )
    assert all(f.status in ("holds", "stated") for f in release.check())
    data = release.tables["data"]
    assert data.height == release.manifest["rows"] == len(sample.facts.rows) - lost
    assert release.manifest["method"]["suppressed"] == lost
    rows = {row["row"]: row for row in sample.facts.rows}
    for place, q in enumerate(sample.quasi):
        a = attribute(sample, q)
        labels: dict[str, set[str]] = defaultdict(set)
        for row, label in zip(data["row"], data[q].cast(str), strict=True):
            labels[label].add(a.labels[levels[place]][rows[row][q]])
        assert all(len(shown) == 1 for shown in labels.values())
        assert len(labels) == len({next(iter(shown)) for shown in labels.values()})
        assert set(release.manifest["attributes"][q]["nodes"]) == set(labels)


@given(samples(most=24), policies(2), st.sampled_from(LIMITS), st.sampled_from(LOSSES))
@examples(250)
def test_the_optimum_is_that_of_the_enumeration(
    sample: Sample, required: list[Requirement], limit: float, name: str
) -> None:
    agree(sample, required, limit, name)


@st.composite
def crowded(draw: st.DrawFn) -> Sample:
    """A table whose rows have few values, some of them rare, so that some groups are good and some are not."""
    sample = draw(samples(most=30, least=6, kinds=("tree", "ordinal")))
    rng = draw(st.randoms(use_true_random=True))
    pools = {q: rng.sample(sorted({row[q] for row in sample.facts.rows}), 1) for q in sample.quasi}
    for q, axis in sample.axes.items():
        values = leaves(axis.tree) if isinstance(axis, TreeAxis) else [v for v in axis.at if v is not None]
        pools[q] = [
            *pools[q] * rng.choice([1, 3]),
            *rng.sample(sorted(values), min(len(values), rng.choice([1, 2, 3]))),
        ]
    ills = sample.facts.domain[: rng.choice([2, 3, 4])]
    weights = [rng.choice([1, 2, 4]) for _ in ills]
    rows = [
        row | {q: rng.choice(pool) for q, pool in pools.items()} | {"ill": rng.choices(ills, weights)[0]}
        for row in sample.facts.rows
    ]
    return Sample(replace(sample.facts, rows=rows), sample.axes, sample.options, sample.flat)


@given(crowded(), policies(2), st.sampled_from(LIMITS[1:]), st.sampled_from(LOSSES))
@examples(300)
def test_the_same_where_groups_are_crowded(
    sample: Sample, required: list[Requirement], limit: float, name: str
) -> None:
    agree(sample, required, limit, name)


@given(samples(most=24, kinds=("tree", "flat")), requirements(), st.sampled_from(LIMITS), st.sampled_from(LOSSES))
@examples(150)
def test_the_same_where_vectors_are_hashed_and_counted_in_blocks(
    sample: Sample, required: Requirement, limit: float, name: str
) -> None:
    with (
        patch.object(vectors, "_FEW_CELLS", 1),
        patch.object(vectors, "_CELLS_A_VECTOR", 0),
        patch.object(vectors, "_BLOCK_CELLS", 9),
        patch.object(vectors, "_CHUNK", 3),
        patch.object(vectors, "_WORD", 3),
    ):
        agree(sample, [required], limit, name)


@given(samples(most=24), requirements(), st.sampled_from(LIMITS[1:]), st.sampled_from(LOSSES))
@examples(100)
def test_sensitive_values_that_are_not_declared(sample: Sample, required: Requirement, limit: float, name: str) -> None:
    """Then the manifest lists only those that are published, and t-closeness in their order is judged on these."""
    assume(getattr(required, "distance", "") != "hierarchical" and required.model != "confidentiality")
    domain = sorted({row["ill"] for row in sample.facts.rows})
    taxonomies = {n: t for n, t in sample.options["taxonomies"].items() if n != "ill"}
    flat = Sample(
        Facts(sample.facts.rows, "ill", domain), sample.axes, sample.options | {"taxonomies": taxonomies}, sample.flat
    )
    agree(flat, [required], limit, name, derived=True)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abcd")), min_size=6, max_size=14),
    st.one_of(
        st.builds(
            TCloseness,
            t=st.sampled_from([0.1, 0.2, 0.25, 0.3, 1 / 3, 0.4, 0.5]),
            distance=st.sampled_from(["equal", "ordered"]),
        ),
        st.builds(
            BetaLikeness,
            beta=st.sampled_from([0.25, 1 / 3, 0.5, 0.75, 1, 1.5]),
            variant=st.sampled_from(["basic", "enhanced"]),
        ),
        st.builds(DeltaDisclosure, delta=st.sampled_from([0.2, 0.5, 0.7, 1, 1.5, 2])),
    ),
    st.sampled_from([0.25, 0.5, 0.75]),
    st.booleans(),
)
@examples(800)
def test_models_that_compare_with_the_table_where_rows_are_suppressed(
    people: list[tuple[int, str]], required: Requirement, limit: float, derived: bool
) -> None:
    """What is kept must be close to its own distribution too; an undeclared domain lists only what is kept."""
    rows: list[Row] = [{"q": f"z{q}", "ill": ill, "row": i} for i, (q, ill) in enumerate(people)]
    domain = sorted({row["ill"] for row in rows}) if derived else list("abcd")
    tree = {"*": {v: {} for v in sorted({row["q"] for row in rows})}}
    options = {"quasi": ["q"], "sensitive": "ill", "insensitive": ["row"], "domains": {}}
    if not derived:
        options["taxonomies"] = {"ill": {"Any": domain}}
    sample = Sample(Facts(rows, "ill", domain), {"q": TreeAxis(tree, sets=False)}, options, ["q"])
    agree(sample, [required], limit, "arx", derived=derived)


@st.composite
def mapped(draw: st.DrawFn) -> tuple[Sample, KMap]:
    """A table with up to three quasi-identifiers, and a population with values that the table may lack."""
    rng = draw(st.randoms(use_true_random=True))
    tree = {"Any": {"A": {"a": {}, "b": {}}, "B": {"c": {}, "d": {}, "e": {}}}}
    pools: list[tuple[list[Any], TreeAxis | LineAxis, list[Any]]] = [
        (list("abcde"), TreeAxis(tree, sets=False), ["x", "y"]),
        ([1, 2, 3, 7], LineAxis({v: float(v) for v in (1, 2, 3, 7)}), [10, 11]),
        (list("rgb"), LineAxis({v: float(i) for i, v in enumerate("rgb")}), ["z"]),
    ]
    chosen = [rng.choice(pools) for _ in range(rng.choice([1, 2, 3]))]
    few = [rng.sample(values, rng.randint(1, len(values))) for values, _, _ in chosen]
    rows = [
        {f"q{j}": rng.choice(values) for j, values in enumerate(few)} | {"ill": rng.choice("ab"), "row": i}
        for i in range(rng.randint(1, 12))
    ]
    people = [
        {f"q{j}": rng.choice(values if rng.random() < 0.8 else more) for j, (values, _, more) in enumerate(chosen)}
        for _ in range(rng.randint(0, 25))
    ] + [{f"q{j}": row[f"q{j}"] for j in range(len(chosen))} for row in rows]
    axes: dict[str, Any] = {f"q{j}": axis for j, (_, axis, _) in enumerate(chosen)}
    options = {
        "quasi": list(axes),
        "sensitive": "ill",
        "insensitive": ["row"],
        "domains": {},
        "taxonomies": {q: tree for q, axis in axes.items() if isinstance(axis, TreeAxis)},
    }
    sample = Sample(Facts(rows, "ill", ["a", "b"]), axes, options)
    return sample, KMap(k=rng.randint(1, 8), population=pl.DataFrame(people))


@given(mapped(), st.sampled_from([[], [sf.KAnonymity(k=2)], [TCloseness(t=0.3)]]), st.sampled_from(LIMITS), st.data())
@examples(400)
def test_k_map_is_that_of_the_enumeration(
    given_: tuple[Sample, KMap], others: list[Requirement], limit: float, data: st.DataObject
) -> None:
    sample, required = given_
    agree(sample, [*others, required], limit, data.draw(st.sampled_from(LOSSES)), derived=True)


def test_chunks_do_not_change_the_groups() -> None:
    """A grid, and hashing, with look-ups of several attributes at once or of one: the same groups."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({f"q{j}": rng.integers(0, 9, 500).astype(str) for j in range(5)})
    table = sf.read(frame, quasi=frame.columns)
    seen = set()
    for chunk, few, word in itertools.product((1, 50, 10**6), (1, 1 << 20), (2, 1 << 31)):
        with (
            patch.object(vectors, "_CHUNK", chunk),
            patch.object(vectors, "_FEW_CELLS", few),
            patch.object(vectors, "_CELLS_A_VECTOR", 0),
            patch.object(vectors, "_WORD", word),
        ):
            best = sf.incognito(table, require=sf.KAnonymity(k=3), suppression=0.05)
            seen.add((tuple(best.levels.values()), best.loss, best.suppressed))
    assert len(seen) == 1
    assert math.isfinite(seen.pop()[1])
