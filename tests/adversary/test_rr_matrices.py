"""What the public matrices of randomized response give away to someone who knows every row but one.

Fitted to the private table they determine people's values. Fitted to noisy counts, or set by hand, they and the release
keep the stated ε: checked by enumeration, with exact arithmetic, over all neighbours of small tables.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engine.draws import Draws
from sfumato.method.rr import noisy_counts
from sfumato.method.rr.optimize import Problem
from sfumato.table.distortion import WORDS, Distortion
from sfumato.table.microdata import Microdata

DOMAINS = {"sex": ["m", "f"], "town": ["A", "B", "C", "D"], "ill": ["flu", "HIV", "cold"]}
SMALL = {"sex": ["m", "f"], "ill": ["flu", "HIV"]}
FALSE_ALARM = 1e-7


def people(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["m", "f"], rows)
    often = np.where(sex == "m", "flu", "cold")
    ill = np.where(rng.random(rows) < 0.5, rng.choice(["flu", "HIV", "cold"], rows, p=[0.6, 0.1, 0.3]), often)
    return pl.DataFrame({"sex": sex, "town": rng.choice(["A", "B", "C"], rows, p=[0.5, 0.3, 0.2]), "ill": ill})


def read(frame: pl.DataFrame) -> Microdata:
    domains = {n: v for n, v in DOMAINS.items() if n in frame.columns}
    return sf.read(frame, quasi=[n for n in frame.columns if n != "ill"], sensitive="ill", domains=domains)


def with_value(frame: pl.DataFrame, row: int, value: str) -> pl.DataFrame:
    ills = frame["ill"].to_list()
    ills[row] = value
    return frame.with_columns(ill=pl.Series(ills))


def pinned_down(frame: pl.DataFrame, victims: int, method: sf.RandomizedResponse, tau: float) -> int:
    """How many victims have one value only for which the optimum is the published one."""
    wanted = sf.Disclosure(tau=tau)
    published = method.response(read(frame), wanted).keep
    found = 0
    for row in range(victims):
        fits = []
        for value in DOMAINS["ill"]:
            try:
                keep = method.response(read(with_value(frame, row, value)), wanted).keep
            except sf.Infeasible:
                continue
            fits += [value] if all(abs(keep[n] - p) < 1e-7 for n, p in published.items()) else []
        found += fits == [frame["ill"][row]]
    return found


@pytest.mark.parametrize(("mode", "least"), [("qi", 15), ("both", 16)])
def test_matrices_fitted_to_the_table_give_people_away_and_the_release_says_so(mode: str, least: int) -> None:
    frame = people(200, 1)
    method = sf.RandomizedResponse(mode=mode, fit="counts", unchanged="allow")  # type: ignore[arg-type]
    assert pinned_down(frame, 60, method, 0.4) >= least
    release = sf.publish(read(frame), require=sf.Disclosure(tau=0.4), method=method)
    assert release.manifest["epsilon"]["guarantee"] == "none"
    assert "It is not a guarantee" in release.manifest["epsilon"]["words"]
    assert any("no local differential privacy is claimed" in w for w in release.warnings)


# --- fitted to noisy counts ---------------------------------------------------------------------------------------


def small(counts: tuple[int, int, int, int]) -> Microdata:
    rows = [pair for pair, n in zip(itertools.product(*SMALL.values()), counts, strict=True) for _ in range(n)]
    frame = pl.DataFrame(rows, schema=list(SMALL), orient="row")
    return sf.read(frame, quasi=["sex"], sensitive="ill", domains=SMALL)


def neighbours(counts: tuple[int, int, int, int]) -> Iterator[tuple[int, int, int, int]]:
    """Every table with one row replaced."""
    for gone, new in itertools.permutations(range(4), 2):
        if counts[gone]:
            other = list(counts)
            other[gone] -= 1
            other[new] += 1
            yield tuple(other)  # type: ignore[misc]


def outcome(
    table: Microdata, noisy: tuple[int, ...], tau: float, monkeypatch: pytest.MonkeyPatch, epsilon: float = 1.0
) -> object:
    """What is published where the noisy counts come out like this: the matrices, or a refusal."""
    problem = Problem.of(table, sf.Disclosure(tau=tau), "both")
    noise = np.array(noisy) - problem.counts()
    monkeypatch.setattr(Draws, "two_sided_geometric", lambda *_: noise)
    method = sf.RandomizedResponse(unchanged="allow", fit_epsilon=epsilon)
    try:
        release = sf.publish(table, require=sf.Disclosure(tau=tau), method=method, rng=np.random.default_rng(0))
    except sf.Infeasible as e:
        return "true table" if "above their limit" in str(e) else "noisy counts"
    manifest = release.manifest
    return repr((manifest["matrices"], manifest["epsilon"], manifest["requirements"], manifest["warnings"]))


def test_all_that_is_public_depends_on_the_noisy_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """For equal noisy counts every neighbour publishes the same, but where its own counts miss the limit."""
    counts = (14, 9, 8, 11)
    tables = [small(c) for c in (counts, *neighbours(counts))]
    seen: dict[object, int] = defaultdict(int)
    for noisy in itertools.product((3, 9, 14), (-1, 10), (8, 22), (12,)):
        found = {outcome(table, noisy, 0.45, monkeypatch) for table in tables}
        assert len(found - {"true table"}) <= 1
        for one in found:
            seen[one] += 1
    assert len(seen) >= 5  # matrices of several kinds, not one refusal for all


def law(epsilon: float) -> Fraction:
    """a of the noise P(k) = a^|k| (1 - a)/(1 + a), as it is drawn."""
    chance = math.nextafter(math.exp(-epsilon), 1.0)
    return Fraction(min(math.ceil(chance * 2**64), 2**64 - 1), 2**64)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 2.0, 40.0])
def test_noisy_counts_keep_epsilon_exactly(epsilon: float) -> None:
    """Σ|y - c| of neighbours differs by 2 at most, and a^-2 is no more than e^ε."""
    getcontext().prec = 60
    a = law(epsilon / 2)
    assert Decimal(a.denominator) ** 2 / Decimal(a.numerator) ** 2 <= Decimal(epsilon).exp()
    counts = (2, 1, 0, 1)
    assert list(Problem.of(small(counts), sf.Disclosure(tau=0.9), "both").counts()) == list(counts)
    for other in neighbours(counts):
        for noisy in itertools.product(range(-2, 5), repeat=4):
            far = [sum(abs(y - c) for y, c in zip(noisy, table, strict=True)) for table in (counts, other)]
            assert abs(far[0] - far[1]) <= 2


def test_the_matrices_keep_epsilon_by_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    """All noisy counts in a box, each with its exact probability, summed by what is published of them."""
    getcontext().prec = 60
    epsilon, tau, counts, other, reach = 2.0, 0.5, (14, 9, 8, 11), (13, 10, 8, 11), 1
    assert other in set(neighbours(counts))
    tables = {counts: small(counts), other: small(other)}
    a = law(epsilon / 2)

    def chance(noisy: tuple[int, ...], true: tuple[int, ...]) -> Fraction:
        return math.prod((a ** abs(y - c) for y, c in zip(noisy, true, strict=True)), start=Fraction(1))

    box = [range(min(c, o) - reach, max(c, o) + reach + 1) for c, o in zip(counts, other, strict=True)]
    masses: dict[tuple[int, ...], dict[object, Fraction]] = {t: defaultdict(Fraction) for t in tables}
    refused = 0
    for noisy in itertools.product(*box):
        found = {t: outcome(table, noisy, tau, monkeypatch, epsilon) for t, table in tables.items()}
        if "true table" in found.values():  # the one fact that is not behind the noise
            refused += 1
            continue
        for true, what in found.items():
            masses[true][what] += chance(noisy, true)
    assert refused < 9
    limit = Fraction(Decimal(epsilon).exp())
    assert masses[counts].keys() == masses[other].keys()
    assert len(masses[counts]) > 20
    ratios = [masses[counts][o] / masses[other][o] for o in masses[counts]]
    assert all(1 / limit <= r <= limit for r in ratios)
    assert max(ratios) > 1 > min(ratios)


def test_every_cell_of_the_domain_gets_noise() -> None:
    """Also the empty ones; a cell without noise would tell that it is empty. Stays 0 or its count by chance only."""
    problem = Problem.of(read(people(200, 1)), sf.Disclosure(tau=0.4), "both")
    runs = [noisy_counts.noisy_counts(problem, 1.0, Draws()) - problem.counts() for _ in range(60)]
    noise = np.array(runs)
    assert noise.shape == (60, 24)
    assert (noise != 0).any(axis=0).all()  # a cell that never moves: 24 · (1 - a)/(1 + a) to the 60th, below 1e-35
    assert (noise < 0).any()
    assert (noise > 0).any()


@pytest.mark.parametrize("seed", [None, 11])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_noise_follows_its_law(epsilon: float, seed: int | None) -> None:
    rows = 400_000
    drawn = Draws(None if seed is None else np.random.default_rng(seed)).two_sided_geometric(rows, epsilon)
    slack = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * rows))
    a = float(law(epsilon))
    for k in range(-6, 7):
        assert abs((drawn == k).mean() - a ** abs(k) * (1 - a) / (1 + a)) <= slack


def test_a_flip_is_heads_below_the_limit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The geometric draws count exact comparisons of 64-bit words."""
    heads = int(law(1.0) * 2**64)
    words = iter([heads - 1, heads, 0, heads - 1, 2**64 - 1])
    monkeypatch.setattr(Draws, "words", lambda self, n: np.array([next(words) for _ in range(n)], np.uint64))
    assert Draws().two_sided_geometric(1, 1.0).tolist() == [1 - 2]


def test_noisy_matrices_do_not_pin_anyone_down() -> None:
    """The same attack finds nothing: what it computes again comes out differently even for the true value."""
    assert pinned_down(people(200, 1), 20, sf.RandomizedResponse(unchanged="allow"), 0.5) == 0


def test_undeclared_domains_void_the_guarantee() -> None:
    frame = people(200, 1)
    for domains, told in [({}, "none"), (DOMAINS, "tables that meet tau")]:
        table = sf.read(frame, quasi=["sex", "town"], sensitive="ill", domains=domains)
        method = sf.RandomizedResponse(mode="qi")
        release = sf.publish(table, require=sf.Disclosure(tau=0.5), method=method, rng=np.random.default_rng(1))
        assert release.manifest["epsilon"]["guarantee"] == told
        assert release.manifest["epsilon"]["fit"] == 1.0
        assert release.manifest["method"] == {"name": "rr", "mode": "qi", "fit": "noisy"}


# --- set by hand --------------------------------------------------------------------------------------------------

BY_HAND = sf.RandomizedResponse(keep={"sex": 0.75}, matrices={"ill": [[0.7, 0.2], [0.3, 0.8]]})


def exact(way: Distortion) -> list[list[Fraction]]:
    return [[Fraction(round(p * WORDS), WORDS) for p in row] for row in way.matrix.tolist()]


def test_by_hand_the_release_keeps_the_total_epsilon_exactly() -> None:
    """Every release of two rows in random order, from all tables: no ratio of neighbours exceeds e^ε."""
    release = sf.publish(small((1, 1, 0, 0)), require=sf.Disclosure(tau=1.0), method=BY_HAND)
    stated = release.manifest["epsilon"]
    assert stated["guarantee"] == "whole release"
    ways = BY_HAND.response(small((1, 1, 0, 0)), sf.Disclosure(tau=1.0)).distortions
    assert stated["attributes"] == pytest.approx({n: w.epsilon for n, w in ways.items()})
    assert stated["total"] == pytest.approx(sum(w.epsilon for w in ways.values()))
    sex, ill = exact(ways["sex"]), exact(ways["ill"])
    cells = list(itertools.product(range(2), range(2)))
    row = {(shown, true): sex[shown[0]][true[0]] * ill[shown[1]][true[1]] for shown in cells for true in cells}

    def chance(shown: tuple[tuple[int, int], ...], true: tuple[tuple[int, int], ...]) -> Fraction:
        return sum((row[shown[0], t[0]] * row[shown[1], t[1]] for t in itertools.permutations(true)), Fraction(0)) / 2

    worst = Fraction(0)
    for kept, one, other in itertools.product(cells, repeat=3):
        for shown in itertools.product(cells, repeat=2):
            worst = max(worst, chance(shown, (one, kept)) / chance(shown, (other, kept)))
    ratios = [max(max(r) / min(r) for r in m) for m in (sex, ill)]
    assert worst <= ratios[0] * ratios[1]
    assert math.log(ratios[0] * ratios[1]) == pytest.approx(stated["total"])
    assert math.log(max(row[s, t] / row[s, u] for s in cells for t in cells for u in cells)) == pytest.approx(
        stated["total"]
    )


@pytest.mark.parametrize("tau", [1.0, 0.9])
def test_by_hand_the_manifest_is_the_same_for_all_neighbours(tau: float) -> None:
    """The risk of the true table is not in it: whoever knows all others could tell a victim's value from it."""
    counts = (3, 2, 2, 3)
    publish = partial(sf.publish, require=sf.Disclosure(tau=tau), method=BY_HAND)
    manifests = [publish(small(c)).manifest for c in (counts, *neighbours(counts))]
    assert all(m == manifests[0] for m in manifests)
    assert manifests[0]["requirements"][0]["achieved"] == {}
    assert manifests[0]["epsilon"]["guarantee"] == ("whole release" if tau == 1 else "tables that meet tau")


def test_a_column_left_out_by_hand_voids_the_total() -> None:
    method = sf.RandomizedResponse(keep={"sex": 0.75})
    stated = sf.publish(small((3, 2, 2, 3)), require=sf.Disclosure(tau=1.0), method=method).manifest["epsilon"]
    assert stated["attributes"]["ill"] == stated["total"] == "infinite"
    assert "For 'ill' there is no bound" in stated["words"]
    assert stated["randomized"] == stated["attributes"]["sex"] == pytest.approx(math.log(3), abs=1e-8)
    assert "but not in 'ill': any release is at most e^1.099 times as likely" in stated["words"]
