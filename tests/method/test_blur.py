"""mondrian-blur: settings, what it serves, the order of attributes, what is published, and how its draws fall."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.adversary.algorithm_aware import with_codes
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.errors import PolicyError, SfumatoError
from sfumato.method.blur.association import _by_chance, _moved, _pairs, preferences, units_per_attribute
from sfumato.method.blur.budget import UNIT
from sfumato.method.catalogue import from_table
from sfumato.release.judgement import bind
from sfumato.table.microdata import Microdata, read
from strategies import examples


def people(rows: int = 600, values: int = 6, seed: int = 0) -> Microdata:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "x": rng.integers(0, 40, rows),
            "y": rng.choice(list("abcde"), rows),
            "s": rng.integers(0, values, rows).astype(str),
            "t": rng.integers(0, 4, rows).astype(str),
        }
    )
    tree = {"all": {"left": ["a", "b"], "right": ["c", "d", "e"]}}
    return read(frame, quasi=["x", "y"], sensitive=["s", "t"], taxonomies={"y": tree})


@pytest.mark.parametrize("scheme", ["generalization", "bucketization"])
def test_what_is_published_keeps_the_requirements(scheme: str) -> None:
    table, require = people(), [sf.LDiversity(l=2, sensitive="s"), sf.LDiversity(l=1.5, sensitive="t")]
    kept = [sf.KAnonymity(k=7)] if scheme == "generalization" else []
    release = sf.publish(table, require=[*require, *kept], method=sf.MondrianBlur(scheme=scheme))  # type: ignore[arg-type]
    release.check()
    groups = sf.partition(table, require=[*require, *kept], method="mondrian-blur")
    assert len(np.unique(groups)) > 5
    for g in np.unique(groups):
        inside = groups == g
        assert inside.sum() >= (7 if kept else 1)
        assert np.bincount(table["s"].codes[inside]).max() * 2 <= inside.sum()
        assert np.bincount(table["t"].codes[inside]).max() * 1.5 <= inside.sum()


def test_an_attribute_without_a_requirement_is_not_said_to_be_diverse() -> None:
    """Here a group may show one value of t, and the release warns of it; the guarantee must not deny it."""
    frame = pl.DataFrame({"x": range(8), "s": list("abababab"), "t": ["u"] * 8})
    table = read(frame, quasi=["x"], sensitive=["s", "t"])
    release = sf.publish(table, require=sf.LDiversity(l=2, sensitive="s"), method="mondrian-blur")
    assert any("t is published exactly" in warning for warning in release.manifest["warnings"])
    assert "each sensitive attribute for which it is required" in sf.MondrianBlur.guarantees


def test_the_manifest_states_the_settings_and_a_forged_one_is_refused() -> None:
    method = sf.MondrianBlur(blur=0.2, refusals=2, order=["y", "x"])
    release = sf.publish(people(), require=sf.LDiversity(l=2, sensitive="s"), method=method)
    stated = release.manifest["method"]
    assert (stated["name"], stated["blur"], stated["refusals"]) == ("mondrian-blur", 0.2, 2)
    assert list(stated["order"]) == ["y", "x"]
    release.check()
    for other in ({"blur": 0}, {"refusals": 0}, {"order": ["s"]}, {"pickup": "no"}, {"secret": 1}):
        forged = release.manifest | {"method": {**stated, **other}}
        with pytest.raises(SfumatoError):
            sf.Release(forged, release.tables).check()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"blur": 0}, "blur = 0"),
        ({"blur": 0.0005}, "from 0.001"),
        ({"blur": float("nan")}, "blur"),
        ({"blur": True}, "blur"),
        ({"refusals": 0}, "refusals = 0"),
        ({"refusals": 1.5}, "refusals"),
        ({"blur": 1.0, "refusals": 50}, "factor above 1000"),
        ({"order": "x"}, "must be a list"),
        ({"order": []}, "at least one"),
        ({"order": ["x", "x"]}, "only once"),
        ({"labels": "both"}, "labels"),
        ({"pickup": "yes"}, "pickup = 'yes'"),
        ({"scheme": "sampling"}, "scheme"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        from_table({"name": "mondrian-blur", **settings})


def test_what_is_not_served_is_refused() -> None:
    table = people()
    with pytest.raises(PolicyError, match="not a quasi-identifier"):
        sf.publish(table, require=sf.LDiversity(l=2), method=sf.MondrianBlur(order=["z"]))
    with pytest.raises(PolicyError, match="cannot serve"):
        sf.publish(table, require=sf.LDiversity(l=2, variant="distinct"), method="mondrian-blur")
    with pytest.raises(PolicyError, match="none is required"):
        sf.publish(table, require=sf.KAnonymity(k=2), method="mondrian-blur")


def test_a_table_at_its_limit_is_not_cut() -> None:
    """Nothing can be spent, and nothing is: shares of the group are what an adversary believes. It can be dealt."""
    frame = pl.DataFrame({"x": range(8), "s": list("aabbccdd")})
    table = read(frame, quasi=["x"], sensitive="s")
    require = sf.LDiversity(l=4)
    assert (sf.partition(table, require=require, method=sf.MondrianBlur(pickup=False)) == 0).all()
    dealt = {tuple(sf.partition(table, require=require, method="mondrian-blur").tolist()) for _ in range(60)}
    assert len(dealt) > 8  # of 16 equally likely ones; fewer than 9 of 60 draws would be a chance below 1e-9
    for groups in dealt:
        assert sorted(s for s, g in zip("aabbccdd", groups, strict=True) if g == 0) == list("abcd")


def test_cuts_that_cannot_fail_are_always_made() -> None:
    """All values differ: each half is diverse however they are dealt out, as mondrian+ sees it too."""
    frame = pl.DataFrame({"x": range(16), "s": [f"v{i}" for i in range(16)]})
    table = read(frame, quasi=["x"], sensitive="s")
    groups = sf.partition(table, require=sf.LDiversity(l=4), method="mondrian-blur")
    assert np.bincount(groups).tolist() == [4] * 4


def test_a_seed_repeats_the_release_and_secret_draws_do_not() -> None:
    table, require = people(3000), sf.LDiversity(l=3, sensitive="s")
    made = [sf.partition(table, require=require, method="mondrian-blur", rng=np.random.default_rng(3)) for _ in "ab"]
    assert (made[0] == made[1]).all()
    numbers = {len(np.unique(sf.partition(table, require=require, method="mondrian-blur"))) for _ in range(8)}
    assert len(numbers) > 1


@examples(60)
@given(st.integers(2, 30), st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6))
def test_one_exchange_changes_the_association_by_two_at_most(rows: int, codes: int, values: int, seed: int) -> None:
    """And not at all for an attribute in which the two people agree; what chance explains never changes."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"q": rng.integers(0, codes, rows), "s": rng.integers(0, values, rows)})
    table = read(frame, quasi=["q"], sensitive="s")
    before = LocalEngine(table).count(["s"])
    t, u = rng.integers(0, rows, 2)
    exchanged = table["s"].codes.copy()
    exchanged[[t, u]] = exchanged[[u, t]]
    after = LocalEngine(with_codes(table, {"s": exchanged})).count(["s"])
    moved = abs(_moved(_pairs(before, "q", "s")) - _moved(_pairs(after, "q", "s")))
    assert moved <= (2 if table["q"].codes[t] != table["q"].codes[u] else 0)
    assert _by_chance(_pairs(before, "q", "s")) == pytest.approx(_by_chance(_pairs(after, "q", "s")))


def test_the_order_prefers_attributes_that_have_little_to_do_with_the_values() -> None:
    rng = np.random.default_rng(1)
    s = rng.integers(0, 5, 40_000)
    told = np.where(rng.random(40_000) < 0.5, s, rng.integers(0, 5, 40_000))
    frame = pl.DataFrame({"tells": told, "other": rng.integers(0, 5, 40_000), "s": s})
    table = read(frame, quasi=["tells", "other"], sensitive="s")
    counts = LocalEngine(table).count(["s"])
    units = units_per_attribute(counts.rows, 2, 693)
    assert units > 0
    drawn = [preferences(counts, ["s"], units, Draws()) for _ in range(20)]
    assert sum(other > 3 * tells for tells, other in drawn) >= 12  # one in ten falls short: false alarms below 1e-6


class Asked(Draws):
    """No noise; keeps the epsilon that was asked for."""

    def two_sided_geometric(self, number: int, epsilon: float) -> np.ndarray:
        self.epsilon = epsilon
        return np.zeros(number, np.int64)


@pytest.mark.parametrize("units", [2, 5, 69])
def test_the_noise_of_the_order_is_worth_its_price(units: int) -> None:
    """A count that one exchange changes by 2 is as likely as before, up to a factor of UNIT^units."""
    draws = Asked()
    preferences(LocalEngine(people()).count(["s", "t"]), ["s", "t"], units, draws)
    assert np.exp(2 * draws.epsilon) == pytest.approx(float(UNIT**units), rel=1e-12)


def test_draws_fall_as_computed() -> None:
    """2,000 draws against the exact chances of all outcomes; false alarms: at most 1e-6 over all outcomes together."""
    table = read(pl.DataFrame({"x": [0, 1, 2, 3, 4, 5, 6], "s": list("aababab")}), quasi=["x"], sensitive="s")
    bound = bind([sf.LDiversity(l=1.3)], table)
    method, draws = sf.MondrianBlur(), 2000
    exact: Counter[tuple[int, ...]] = Counter()
    for drawn, chance in method.outcomes(table, bound):
        exact[_shape(drawn.groups.of_row)] += chance  # type: ignore[assignment]
    assert sum(exact.values()) == 1
    assert len(exact) > 2
    found = Counter(_shape(method.draw(table, bound).groups.of_row) for _ in range(draws))
    assert set(found) <= set(exact)
    for shape, chance in exact.items():
        assert abs(found[shape] - draws * float(chance)) <= 5.5 * (draws * float(chance * (1 - chance))) ** 0.5 + 5.5


def _shape(groups: np.ndarray) -> tuple[int, ...]:
    _, first, of_row = np.unique(groups, return_index=True, return_inverse=True)
    return tuple(first[of_row].tolist())


def test_the_adversary_can_ask() -> None:
    """Exact worlds, and sampled ones on a larger table, which must agree with 1/l."""
    table = read(pl.DataFrame({"x": range(7), "s": list("aababab")}), quasi=["x"], sensitive="s")
    for seed in range(3):
        rng = np.random.default_rng(seed)
        beliefs = sf.worlds(table, method="mondrian-blur", require=sf.LDiversity(l=1.3), rng=rng)
        assert max(itertools.chain(*(p.values() for p in beliefs.smart_exact))) <= Fraction(10, 13)
    larger = read(_sixty(), quasi=["x"], sensitive="s")
    sampled = sf.sampled_worlds(
        larger,
        method=sf.MondrianBlur(pickup=False),
        require=sf.LDiversity(l=2),
        draws=400,
        rng=np.random.default_rng(1),
    )
    assert sampled.accepted > 0
    assert sampled.undecided == 0
    assert (sampled.low <= 0.5).all()


def _sixty() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    return pl.DataFrame({"x": rng.integers(0, 6, 60), "s": rng.integers(0, 3, 60)})


def test_a_large_table_says_that_its_outcomes_cannot_be_listed() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.integers(0, 9, 20_000), "s": rng.integers(0, 9, 20_000)})
    table = read(frame, quasi=["x"], sensitive="s")
    bound = bind([sf.LDiversity(l=2)], table)
    with pytest.raises(PolicyError, match="declare an order, or use sampled_worlds"):
        next(sf.MondrianBlur().outcomes(table, bound))
