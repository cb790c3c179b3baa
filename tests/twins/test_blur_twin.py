"""mondrian-blur: the kernel and the obvious way make the same groups from the same random words."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.kernel.mondrian.blur import replayed
from sfumato.kernel.mondrian.refusal import ONE, PER_AXIS, Rules
from sfumato.method.blur.budget import UNIT, WORDS, levels, refusal_limits, units_within
from sfumato.method.cutting import numbered
from sfumato.method.diversity import Diversities
from strategies import examples

NEVER = 1 << 40


@dataclass
class Refusal:
    """A cut below a place on an axis that was refused, and its price."""

    axis: int
    below: int
    price: int


@dataclass
class Obvious:
    """People with codes and numbers on lines and values of counted columns, cut by the rules."""

    places: list[tuple[int, ...]]
    numbers: list[tuple[int, ...]]
    values: list[tuple[int, ...]]
    rules: Rules
    words: list[int]

    def groups(self) -> list[tuple[list[int], int]]:
        """The groups with what each bears."""
        done, waiting = [], [(list(range(len(self.places))), [])]
        while waiting:
            group, refused = waiting.pop()
            parts, refused = self.cut(group, refused)
            if parts is None:
                done.append((group, self.borne(self.ends(group), refused)))
            else:
                waiting += [(part, refused) for part in parts]
        return sorted(done)

    def counts(self, group: list[int], c: int) -> dict[int, int]:
        values = [self.values[i][c] for i in group]
        return {v: values.count(v) for v in values}

    def level(self, c: int, units: int) -> Fraction:
        return Fraction(int(self.rules.levels[c, units]), ONE)

    def columns(self) -> range:
        return range(len(self.values[0]))

    def ends(self, group: list[int]) -> list[tuple[int, int]]:
        return [(min(p), max(p)) for p in zip(*(self.places[i] for i in group), strict=True)]

    def borne(self, ends: list[tuple[int, int]], refused: list[Refusal]) -> int:
        """The prices of refused cuts with people on both sides, and of the order of attributes that differ."""
        parting = [r.price for r in refused if ends[r.axis][0] < r.below <= ends[r.axis][1]]
        return sum(parting) + int(self.rules.numbers[3]) * sum(low < high for low, high in ends)

    def by_side(self, group: list[int], j: int, parts: list[list[int]], refused: list[Refusal]) -> list[int]:
        """What each side bears, if it were as wide as the group on all other axes."""
        ends, below = self.ends(group), max(self.places[i][j] for i in parts[0]) + 1
        sides = [(ends[j][0], below - 1), (below, ends[j][1])]
        order = int(self.rules.numbers[3]) * sum(low < high for low, high in ends)
        out = []
        for side in sides:
            there = [*ends[:j], side, *ends[j + 1 :]]
            parting = [r.price for r in refused if there[r.axis][0] < r.below <= there[r.axis][1]]
            out.append(order + sum(parting))
        return out

    def price(self, group: list[int], parts: list[list[int]], units: list[int]) -> int:
        most = [max(self.counts(group, c).values()) for c in self.columns()]
        both = [(c, len(part), u) for c in self.columns() for part, u in zip(parts, units, strict=True)]
        if all(most[c] <= math.floor(n / self.level(c, u)) for c, n, u in both):
            return 0
        room = min(n * (ONE / self.rules.levels[c, u] - most[c] / len(group)) for c, n, u in both)
        return max(math.ceil(self.rules.numbers[2] / room), 1) if room > 0 else NEVER

    def cut(self, group: list[int], refused: list[Refusal]) -> tuple[list[list[int]] | None, list[Refusal]]:
        least, dearest, _, _, risks = self.rules.numbers.tolist()
        spent = self.borne(self.ends(group), refused)
        budget = max((e for e in range(self.rules.levels.shape[1]) if self.holds(group, e)), default=-1)
        waits: list[tuple[float, int, list[list[int]]]] = []
        for j in self.by_width(group):
            parts = self.balanced(group, j, least)
            if spent > budget or parts is None:
                continue
            units = self.by_side(group, j, parts, refused)
            price = self.price(group, parts, units)
            if 2 * price > budget - spent or price > dearest:
                waits.append((min(map(len, parts)) * self.width(group, j), j, parts))
                continue
            if not self.refused(group, parts, units, price):
                return parts, refused
            refused, spent = self.with_refusal(refused, j, parts, price), spent + price
        for _, j, parts in sorted(waits, key=lambda w: (-w[0], w[1])) if risks else ():
            price = min(budget - spent, dearest)
            if price > 0:
                if not self.refused(group, parts, self.by_side(group, j, parts, refused), price):
                    return parts, refused
                refused, spent = self.with_refusal(refused, j, parts, price), spent + price
        return None, refused

    def with_refusal(self, refused: list[Refusal], j: int, parts: list[list[int]], price: int) -> list[Refusal]:
        return [*refused, Refusal(j, max(self.places[i][j] for i in parts[0]) + 1, price)]

    def holds(self, group: list[int], units: int) -> bool:
        return all(
            m * self.level(c, units) <= len(group) for c in self.columns() for m in self.counts(group, c).values()
        )

    def width(self, group: list[int], j: int) -> float:
        """As a difference of positions between 0 and 1, so that ties are the same in floating point."""
        low, high = min(p[j] for p in self.numbers), max(p[j] for p in self.numbers)
        here = [(self.numbers[i][j] - low) / max(high - low, 1) for i in group]
        return max(here) - min(here)

    def by_width(self, group: list[int]) -> list[int]:
        wide = [j for j in range(len(self.places[0])) if self.width(group, j) > 0]
        return sorted(wide, key=lambda j: -self.width(group, j))

    def balanced(self, group: list[int], j: int, least: int) -> list[list[int]] | None:
        here = sorted({self.places[i][j] for i in group})[1:]
        cuts = [[[i for i in group if (self.places[i][j] >= x) == upper] for upper in (False, True)] for x in here]
        cuts = [c for c in cuts if min(map(len, c)) >= least]
        return max(cuts, key=lambda c: min(map(len, c)), default=None)

    def refused(self, group: list[int], parts: list[list[int]], units: list[int], price: int) -> bool:
        """By the least number of exchanges between the parts after which one fails."""
        needed = [
            math.floor(len(part) / self.level(c, u)) + 1 - self.counts(part, c).get(v, 0)
            for part, u in zip(parts, units, strict=True)
            for c in self.columns()
            for v, whole in self.counts(group, c).items()
            if whole > math.floor(len(part) / self.level(c, u))
        ]
        if min(needed, default=NEVER) == NEVER:
            return False
        if min(needed) <= 0:
            return True
        limit = int(self.rules.refusals[min(price * min(needed), len(self.rules.refusals) - 1)])
        return self.words.pop(0) < limit


@examples(150)
@example(19, 3, 1, 2, 1, "1.2", (1.0, 1), False, 0, 3)  # two cuts that wait are equally good: the first axis goes first
@given(
    st.integers(1, 40), st.integers(1, 3), st.integers(1, 2), st.integers(2, 6), st.integers(1, 4),
    st.sampled_from(["1.2", "1.5", "2", "2.5"]), st.sampled_from([(1.0, 1), (0.2, 3), (5.0, 1), (0.001, 1)]),
    st.booleans(), st.sampled_from([0, 0, 5, 40]), st.integers(0, 10**6),
)  # fmt: skip
def test_same_groups_from_the_same_words(
    people: int, axes: int, columns: int, values: int, k: int, l: str, blur: tuple[float, int], pickup: bool,
    per_axis: int, seed: int,
) -> None:  # fmt: skip
    """``per_axis``: what a drawn order costs per attribute, which tables of this size cannot afford by themselves."""
    rng = np.random.default_rng(seed)
    frame = {f"q{j}": rng.integers(0, 6, people) for j in range(axes)}
    frame |= {f"s{c}": rng.integers(0, values, people) for c in range(columns)}
    names = [f"s{c}" for c in range(columns)]
    table = sf.read(pl.DataFrame(frame), quasi=[f"q{j}" for j in range(axes)], sensitive=names)
    method = sf.MondrianBlur(blur=blur[0], refusals=blur[1], pickup=pickup)
    wanted = Diversities(tuple(names), (Fraction(l),) * columns, k)
    engine = LocalEngine(table)
    counts = engine.count(names)
    rules = method.rules(counts, wanted, Draws(rng))
    if per_axis * axes < rules.levels.shape[1]:
        rules.numbers[PER_AXIS] = per_axis
    words = rng.integers(0, 2**64, 200 * axes, dtype=np.uint64)
    (parts, borne), _ = replayed(method.arrays(counts, wanted), rules, words)
    found = numbered(parts.order, parts.starts)[engine.vectors(counts)]
    places = list(zip(*(table[f"q{j}"].codes.tolist() for j in range(axes)), strict=True))
    codes = list(zip(*(table[n].codes.tolist() for n in names), strict=True))
    numbers = list(zip(*(frame[f"q{j}"].tolist() for j in range(axes)), strict=True))
    obvious = Obvious(places, numbers, codes, rules, words.tolist()).groups()
    assert sorted((np.flatnonzero(found == g).tolist(), int(borne[g])) for g in range(len(borne))) == obvious


def test_levels_are_never_below_what_the_proof_needs() -> None:
    for l in (Fraction(1), Fraction(3), Fraction(10, 3)):
        table = levels((l,), 700)[0].tolist()
        for units in range(0, 701, 7):
            exact = 1 + UNIT**units * (l - 1)
            assert exact <= Fraction(table[units], ONE) <= exact + Fraction(4, ONE)
    assert table == sorted(table)


def test_one_exchange_changes_a_refusal_by_its_price_at_most() -> None:
    """Exactly, at every distance: also from a cut that fails, which is always refused, and where the table ends."""
    limits = [WORDS, *refusal_limits().tolist()[1:]]
    assert all(a <= b * UNIT for a, b in pairwise(limits))
    assert all(a >= b for a, b in pairwise(limits))
    assert limits[-1] > 0


def test_units_stay_within_a_factor() -> None:
    for factor in (Fraction(1), Fraction(6, 5), Fraction(2), Fraction(1001, 1000) ** 17, Fraction(1000)):
        units = units_within(factor)
        assert UNIT**units <= factor < UNIT ** (units + 1)
