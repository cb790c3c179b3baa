"""ART: groups grow by the closest people, and nobody is linked above 1/r, by going through all worlds."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError
from sfumato.kernel.art.grow import grow
from sfumato.kernel.art.kd_tree import make_tree
from sfumato.method.base import silent
from sfumato.release.check.claims import judged
from sfumato.release.judgement import bind
from sfumato.table.microdata import Microdata

HAIR = Fraction(1, 10**8)


def distributions(
    rows: Sequence[tuple[str, ...]], values: Sequence[str], smoothing: Fraction, minimum: int
) -> list[list[dict[str, Fraction]]]:
    """By every attribute set, the chances of each row, the obvious way."""
    share = {v: Fraction(c, len(values)) for v, c in Counter(values).items()}
    out = []
    for number in range(1, len(rows[0]) + 1):
        for chosen in combinations(range(len(rows[0])), number):
            signature = [tuple(row[j] for j in chosen) for row in rows]
            size = Counter(signature)
            both = Counter(zip(signature, values, strict=True))
            out.append(
                [
                    {v: (both[s, v] + smoothing * share[v]) / (size[s] + smoothing) for v in share}
                    if size[s] >= minimum
                    else share
                    for s in signature
                ]
            )
    return out


def linked(f: list[list[Fraction]], counts: list[int]) -> list[Fraction]:
    """p(t: first value) by recursion over people, in rationals."""
    states: dict[tuple[int, ...], Fraction] = {tuple(counts): Fraction(1)}

    def total(people: list[list[Fraction]], left: tuple[int, ...]) -> Fraction:
        weights = {left: Fraction(1)}
        for row in people:
            after: dict[tuple[int, ...], Fraction] = {}
            for state, weight in weights.items():
                for v, room in enumerate(state):
                    if room:
                        key = (*state[:v], room - 1, *state[v + 1 :])
                        after[key] = after.get(key, Fraction(0)) + weight * row[v]
            weights = after
        return sum(weights.values(), Fraction(0))

    (start,) = states
    everyone = total(f, start)
    rest = (start[0] - 1, *start[1:])
    return [f[t][0] * total(f[:t] + f[t + 1 :], rest) / everyone for t in range(len(f))]


def worst(table: pl.DataFrame, group: Sequence[int], protected: set[str], minimum: int, *, actual: bool) -> Fraction:
    """The greatest p(t:X), X being the protected set: over the actual values, or over X and its absence."""
    values = [v if actual else "x" if v in protected else "other" for v in table["ill"]]
    sought = protected if actual else {"x"}
    rows = list(zip(*(table[c].to_list() for c in table.columns if c != "ill"), strict=True))
    top = Fraction(0)
    for known in distributions(rows, values, Fraction(1), minimum):
        for g in set(group):
            members = [i for i, h in enumerate(group) if h == g]
            held = Counter(values[i] for i in members)
            total = [Fraction(0)] * len(members)
            for x in sought & set(held):
                order = [x, *(v for v in held if v != x)]
                f = [[known[i][v] for v in order] for i in members]
                p = linked(f, [held[v] for v in order])
                total = [a + b for a, b in zip(total, p, strict=True)]
            top = max(top, *total)
    return top


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    """Six to fourteen people, two quasi-identifiers, one to three of them ill with what is protected."""
    n, ill = draw(st.integers(6, 14)), draw(st.integers(1, 3))
    a = draw(st.lists(st.sampled_from("pq"), min_size=n, max_size=n))
    b = draw(st.lists(st.sampled_from("uvw"), min_size=n, max_size=n))
    rest = draw(st.lists(st.sampled_from(["flu", "cold"]), min_size=n, max_size=n))
    return pl.DataFrame({"a": a, "b": b, "ill": [["hiv", "aids", "hiv"][i] if i < ill else rest[i] for i in range(n)]})


def coded(frame: pl.DataFrame) -> Microdata:
    domains = {"ill": ["aids", "cold", "flu", "hiv"]}
    return sf.read(frame, quasi=["a", "b"], sensitive="ill", domains=domains)


@given(tables(), st.sampled_from([1.5, 2.0, 3.0]), st.sampled_from(["two-valued", "values"]), st.integers(1, 4))
@settings(max_examples=120, deadline=None)
def test_nobody_is_linked_above_1_over_r(frame: pl.DataFrame, r: float, worlds: str, minimum: int) -> None:
    table = coded(frame)
    wanted = sf.RRobustness(r=r, values=["hiv", "aids"], worlds=worlds, minimum=minimum)
    try:
        group = sf.partition(table, require=wanted, method="art").tolist()
    except Infeasible as e:
        assert "'hiv, aids'" in str(e)  # noqa: PT017
        return
    found = worst(frame, group, {"hiv", "aids"}, minimum, actual=worlds == "values")
    assert found <= 1 / Fraction(r) + HAIR
    assert found > 0


@given(tables(), st.sampled_from([1.5, 2.0, 3.0]))
@settings(max_examples=60, deadline=None)
def test_the_published_condition_holds_in_two_valued_worlds(frame: pl.DataFrame, r: float) -> None:
    table = coded(frame)
    wanted = sf.RRobustness(r=r, values=["hiv", "aids"], minimum=1, worlds="two-valued")
    try:
        group = sf.partition(table, require=wanted, method=sf.Art(condition="published"))
    except Infeasible:
        return
    assert worst(frame, group.tolist(), {"hiv", "aids"}, 1, actual=False) <= 1 / Fraction(r) + HAIR
    ill = frame["ill"].is_in(["hiv", "aids"]).to_numpy()
    assert np.bincount(group[ill]).max() == 1


@given(tables(), st.sampled_from([1.5, 2.0]))
@settings(max_examples=40, deadline=None)
def test_with_labels_the_groups_that_are_seen_hold(frame: pl.DataFrame, r: float) -> None:
    table = coded(frame)
    wanted = sf.RRobustness(r=r, values=["hiv", "aids"], minimum=2)
    try:
        release = sf.publish(table, require=wanted, method=sf.Art(scheme="generalization"))
    except Infeasible:
        return
    (claim,) = release.manifest["requirements"]
    assert claim["achieved"]["r"] >= r
    assert [f.status for f in release.findings()].count("broken") == 0
    seen = release.groups()
    ill = release.tables["data"]["ill"].cast(pl.String).is_in(["hiv", "aids"]).to_numpy()
    held = np.bincount(seen, weights=ill) / np.bincount(seen)
    assert held.max() <= 1 / r + 1e-9


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(10, 80))
@settings(max_examples=60, deadline=None)
def test_whoever_is_taken_in_is_closest(seed: int, dims: int, cells: int) -> None:
    """Replay the steps against a scan of all cells (Definition 6)."""
    rng = np.random.default_rng(seed)
    points = np.round(rng.uniform(0.01, 0.6, (cells, dims)), 2)
    value = np.where(rng.random(cells) < 0.2, 0, -1)
    left = rng.integers(1, 4, cells)
    tree, seeds = make_tree(points), np.flatnonzero(value == 0)
    alive = np.array([left[tree.order[a:b]].sum() for a, b in zip(tree.first, tree.last, strict=True)])
    out, failed = np.empty((int(left.sum()) + cells, 3), np.int64), np.zeros(len(seeds), np.bool_)
    one, there = np.ones(len(seeds), np.int64), left.copy()
    steps = grow(
        points, points / (1 - points), np.zeros(dims, np.int64), 1, value, left.copy(), alive, tree,
        np.arange(len(seeds) + 1), seeds, one, True, True, 3.0, one, out, failed,
    )  # fmt: skip
    low = high = points[0]
    for at, (group, cell, rows) in enumerate(out[:steps]):
        if at == 0 or out[at - 1, 0] != group:
            low = high = points[cell]
        else:
            away = (np.maximum(points - high, 0) + np.maximum(low - points, 0)).sum(axis=1)
            free = (there > 0) & (value < 0)
            assert away[cell] <= away[free].min() + 1e-12
            assert value[cell] < 0
            low, high = np.minimum(low, points[cell]), np.maximum(high, points[cell])
        there[cell] -= rows
        assert there[cell] >= 0


def hospital(n: int = 120) -> Microdata:
    rng = np.random.default_rng(5)
    sick = ["HIV" if i % 12 == 0 else ["flu", "cold", "gout"][i % 3] for i in range(n)]
    frame = pl.DataFrame({"age": rng.integers(20, 60, n), "sex": rng.choice(["F", "M"], n), "ill": sick})
    return sf.read(frame, quasi=["age", "sex"], sensitive="ill")


def test_r_above_what_the_data_allow_names_the_value() -> None:
    with pytest.raises(Infeasible, match=r"10 of 120 rows hold 'HIV'.*lower r to 12 or less"):
        sf.publish(hospital(), require=sf.RRobustness(r=13, values=["HIV"]), method="art")


@pytest.mark.parametrize("n", [200, 5000])
def test_groups_are_joined_where_one_holder_each_would_need_more_people(n: int) -> None:
    """r = 4.5: one holder needs five people, 22 holders 99: a group of all has 0.22, and groups of five run out."""
    ills = ["HIV"] * (n * 22 // 100)
    frame = pl.DataFrame({"sex": ["F"] * n, "ill": ills + ["flu"] * (n - len(ills))})
    table = sf.read(frame, quasi=["sex"], sensitive="ill")
    group = sf.partition(table, require=sf.RRobustness(r=4.5, values=["HIV"], minimum=1), method="art")
    held = np.bincount(group, weights=(frame["ill"] == "HIV").to_numpy())
    assert (held * 4.5 <= np.bincount(group)).all()
    assert group.max() > 0


def test_a_constant_sensitive_attribute_is_not_offered_a_lower_r() -> None:
    table = sf.read(pl.DataFrame({"sex": ["F", "M"], "ill": ["flu"] * 2}), quasi=["sex"], sensitive="ill")
    with pytest.raises(Infeasible, match="at least 1; protect fewer values"):
        sf.publish(table, require=sf.RRobustness(r=1.1), method="art")


def test_other_requirements_and_settings_are_refused() -> None:
    with pytest.raises(PolicyError, match="exactly one r-robustness"):
        sf.publish(hospital(), require=sf.KAnonymity(k=2), method="art")
    with pytest.raises(PolicyError, match="cannot serve"):
        sf.publish(hospital(), require=[sf.RRobustness(r=2), sf.KAnonymity(k=2)], method="art")
    with pytest.raises(PolicyError, match="'exact' or 'published'"):
        sf.Art(condition="hopeful")
    with pytest.raises(PolicyError, match="makes groups"):
        sf.publish(hospital(), require=sf.RRobustness(r=2), method="mondrian")


def test_a_group_beyond_the_limit_is_bounded_and_says_so() -> None:
    wanted = sf.RRobustness(r=3, values=["HIV"], minimum=30, limit=1)
    release = sf.publish(hospital(), require=wanted, method="art")
    assert any("certified by an upper bound" in w for w in release.warnings)
    assert release.manifest["requirements"][0]["achieved"]["r"] >= 3
    exact = sf.distribution_risk(release, hospital(), sf.RRobustness(r=3, values=["HIV"], minimum=30))
    assert exact.problematic == 0
    assert 1 / exact.worst >= release.manifest["requirements"][0]["achieved"]["r"] - 1e-9


def test_the_published_forms_warn_and_the_defaults_are_not_refuted() -> None:
    published = sf.RRobustness(r=2, values=["HIV"], minimum=60, worlds="two-valued")
    release = sf.publish(hospital(), require=published, method=sf.Art(condition="published"))
    assert any("361/561" in w and "worlds = 'values'" in w for w in release.warnings)
    assert any("Theorem 1" in w for w in release.warnings)
    (entry,) = release.manifest["requirements"]
    assert entry["required"]["worlds"] == "two-valued"
    assert "two-valued worlds, as published in ART" in published.words()
    default = sf.publish(hospital(), require=sf.RRobustness(r=2, values=["HIV"], minimum=60), method="art")
    assert not any("361/561" in w or "Theorem 1" in w for w in default.warnings)
    assert default.manifest["requirements"][0]["required"]["worlds"] == "values"
    assert "two-valued" not in sf.RRobustness(r=2).words()


ACTUAL = [
    *(({"who": w}, v, p) for w, row in zip("ABB", ((10, 5.2631, 5.2631), (5.2631, 10, 10)), strict=False)
      for v, p in zip("xyz", (c / 100 for c in row), strict=True)),
]  # fmt: skip


def test_two_valued_worlds_publish_what_the_default_refuses() -> None:
    """The counterexample of the listing: 1/2 with two values, 0.6435 with the actual ones."""
    frame = pl.DataFrame({"who": ["A", "B", "B"], "ill": ["x", "y", "z"]})
    table = sf.read(frame, quasi=["who"], sensitive="ill", domains={"ill": list("xyzw")})
    wanted = sf.RRobustness(r=1.999, values=["x"], distributions=ACTUAL)
    with pytest.raises(Infeasible, match=r"a probability of up to 0\.6435"):
        sf.publish(table, require=wanted, method="art")
    release = sf.publish(table, require=wanted.with_parameters(worlds="two-valued"), method="art")
    assert sf.distribution_risk(release, table, wanted).worst == pytest.approx(361 / 561, abs=1e-4)
    assert [f.status for f in release.check()][-1] == "holds"  # as published, and its words say so
    claim = release.description.requirements[0]
    false = replace(claim, required={**claim.required, "worlds": "values"})
    finding = judged(release, false)
    assert finding.status == "broken"


def test_a_set_is_protected_in_worlds_over_its_actual_values() -> None:
    """{hiv, aids} is as likely for A as for B; hiv, which one of them has, is not: 8/9, and 1/2 as one value."""
    known = [({"who": w}, v, p) for w, row in (("A", (0.08, 0.01)), ("B", (0.01, 0.08)))
             for v, p in zip(("hiv", "aids"), row, strict=True)]  # fmt: skip
    frame = pl.DataFrame({"who": ["A", "B"], "ill": ["hiv", "flu"]})
    table = sf.read(frame, quasi=["who"], sensitive="ill", domains={"ill": ["hiv", "aids", "flu"]})
    wanted = sf.RRobustness(r=2, values=["hiv", "aids"], distributions=known)
    with pytest.raises(Infeasible, match=r"0\.8889"):
        sf.publish(table, require=wanted, method="art")
    release = sf.publish(table, require=wanted.with_parameters(worlds="two-valued"), method="art")
    assert sf.distribution_risk(release, table, wanted).worst == pytest.approx(8 / 9)


def test_an_adversary_who_knows_the_algorithm_is_not_bounded() -> None:
    """The counterexample of the warning, by all tables in which one of the three has the value."""
    chances = [({"who": w}, "a", p) for w, p in (("1", 0.1), ("2", 0.095), ("3", 0.092))]
    wanted = sf.RRobustness(r=1.5, values=["a"], distributions=chances)
    seen: dict[frozenset[int], set[int]] = {}
    for holder in range(3):
        ills = ["a" if i == holder else "b" for i in range(3)]
        frame = pl.DataFrame({"who": ["1", "2", "3"], "ill": ills})
        table = sf.read(frame, quasi=["who"], sensitive="ill", domains={"ill": ["a", "b"]})
        group = sf.partition(table, require=wanted, method="art")
        seen.setdefault(frozenset(np.flatnonzero(group == group[holder]).tolist()), set()).add(holder)
    assert seen == {frozenset({0, 1}): {0}, frozenset({1, 2}): {1, 2}}
    assert any("0.1, 0.095 and 0.092" in w for w in sf.Art().warnings([wanted]))


def test_all_values_protected_leaves_nobody_alone() -> None:
    table = hospital()
    group = sf.partition(table, require=sf.RRobustness(r=2, minimum=40), method="art")
    assert np.bincount(group).min() >= 2


def test_no_draw_shows_in_the_groups_but_who_is_alike() -> None:
    table = hospital()
    bound = bind([sf.RRobustness(r=3, values=["HIV"], minimum=30)], table)
    sizes = {
        tuple(
            sorted(
                np.bincount(
                    sf.Art().groups(table, bound, draws=Draws(np.random.default_rng(s)), progress=silent).of_row
                )
            )
        )
        for s in range(3)
    }
    assert len(sizes) == 1


POLICY = """title = "ART"
[data]
source = "people.csv"
[attributes]
age = {{ role = "quasi", kind = "continuous" }}
sex = {{ role = "quasi" }}
ill = {{ role = "sensitive" }}
[[require]]
{require}
[method]
name = "{method}"
scheme = "{scheme}"
"""


@pytest.mark.parametrize("scheme", ["bucketization", "generalization"])
@pytest.mark.parametrize("method", ["art", "injector"])
def test_a_policy_from_end_to_end(tmp_path: Path, method: str, scheme: str) -> None:
    table = hospital()
    frame = pl.DataFrame({c.name: [c.domain.leaves[i] for i in c.codes] for c in table.columns.values()})
    frame.write_csv(tmp_path / "people.csv")
    art = 'model = "r-robustness"\nr = 3\nvalues = ["HIV"]\ndistributions = "known.csv"'
    (tmp_path / "known.csv").write_text("sex, ill, probability\nF, HIV, 0.08\nM, HIV, 0.1\n")
    require = art if method == "art" else 'model = "l-diversity"\nl = 2'
    (tmp_path / "policy.toml").write_text(POLICY.format(require=require, method=method, scheme=scheme))
    done = sf.publish_policy(tmp_path / "policy.toml", tmp_path / "out")
    assert done.report.stat().st_size > 10_000
    again = sf.load(tmp_path / "out" / "release")
    again.check()
    status = judged(again, again.description.requirements[0]).status
    assert status == ("stated" if method == "art" and scheme == "generalization" else "holds")
    assert "known.csv" not in (tmp_path / "out" / "release" / "manifest.json").read_text()
