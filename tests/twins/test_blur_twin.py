"""mondrian-blur: the kernel and the obvious way make the same groups from the same random words."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engine.draws import Draws
from sfumato.engine.local import LocalEngine
from sfumato.kernel.mondrian.blur import ONE, Rules, replayed
from sfumato.method.blur.budget import UNIT, WORDS, levels, refusal_limits, units_within
from sfumato.method.cutting import numbered
from sfumato.method.diversity import Diversities
from strategies import examples

NEVER = 1 << 40


@dataclass
class Obvious:
    """People with places on lines and values of counted columns, cut by the rules."""

    places: list[tuple[int, ...]]
    values: list[tuple[int, ...]]
    rules: Rules
    words: list[int]

    def groups(self) -> list[list[int]]:
        done, waiting = [], [(list(range(len(self.places))), 0)]
        while waiting:
            group, spent = waiting.pop()
            parts, spent = self.cut(group, spent)
            if parts is None:
                done.append(group)
            else:
                waiting += [(part, spent) for part in parts]
        return sorted(done)

    def counts(self, group: list[int], c: int) -> dict[int, int]:
        values = [self.values[i][c] for i in group]
        return {v: values.count(v) for v in values}

    def level(self, c: int, units: int) -> Fraction:
        return Fraction(int(self.rules.levels[c, units]), ONE)

    def columns(self) -> range:
        return range(len(self.values[0]))

    def cut(self, group: list[int], spent: int) -> tuple[list[list[int]] | None, int]:
        least, dearest, enough, _ = self.rules.numbers.tolist()
        most = [max(self.counts(group, c).values()) for c in self.columns()]
        fits = [e for e in range(self.rules.levels.shape[1]) if self.holds(group, e)]
        budget = max(fits, default=-1)
        waits: list[tuple[float, list[list[int]]]] = []
        for j in self.by_width(group):
            parts = self.balanced(group, j, least)
            if spent > budget or parts is None:
                continue
            lighter = min(map(len, parts))
            if any(most[c] > math.floor(lighter / self.level(c, spent)) for c in self.columns()):
                room = min(lighter * (ONE / self.rules.levels[c, spent] - most[c] / len(group)) for c in self.columns())
                price = max(math.ceil(enough / room), 1) if room > 0 else NEVER
                if 2 * price > budget - spent or price > dearest:
                    waits.append((lighter * self.width(group, j), parts))
                    continue
            else:
                price = 0
            if not self.refused(group, parts, spent, price):
                return parts, spent
            spent += price
        for _, parts in sorted(waits, key=lambda w: -w[0]):
            price = min(budget - spent, dearest)
            if price > 0:
                if not self.refused(group, parts, spent, price):
                    return parts, spent
                spent += price
        return None, spent

    def holds(self, group: list[int], units: int) -> bool:
        return all(
            m * self.level(c, units) <= len(group) for c in self.columns() for m in self.counts(group, c).values()
        )

    def width(self, group: list[int], j: int) -> float:
        """As a difference of positions between 0 and 1, so that ties are the same in floating point."""
        low, high = min(p[j] for p in self.places), max(p[j] for p in self.places)
        here = [(self.places[i][j] - low) / max(high - low, 1) for i in group]
        return max(here) - min(here)

    def by_width(self, group: list[int]) -> list[int]:
        wide = [j for j in range(len(self.places[0])) if self.width(group, j) > 0]
        return sorted(wide, key=lambda j: -self.width(group, j))

    def balanced(self, group: list[int], j: int, least: int) -> list[list[int]] | None:
        here = sorted({self.places[i][j] for i in group})[1:]
        cuts = [[[i for i in group if (self.places[i][j] >= x) == upper] for upper in (False, True)] for x in here]
        cuts = [c for c in cuts if min(map(len, c)) >= least]
        return max(cuts, key=lambda c: min(map(len, c)), default=None)

    def refused(self, group: list[int], parts: list[list[int]], spent: int, price: int) -> bool:
        """By the least number of exchanges between the parts after which one fails."""
        needed = [
            math.floor(len(part) / self.level(c, spent)) + 1 - self.counts(part, c).get(v, 0)
            for part in parts
            for c in self.columns()
            for v, whole in self.counts(group, c).items()
            if whole > math.floor(len(part) / self.level(c, spent))
        ]
        if min(needed, default=NEVER) == NEVER:
            return False
        if min(needed) <= 0:
            return True
        limit = int(self.rules.refusals[min(price * min(needed), len(self.rules.refusals) - 1)])
        return self.words.pop(0) < limit


@examples(150)
@given(
    st.integers(1, 40), st.integers(1, 3), st.integers(1, 2), st.integers(2, 6), st.integers(1, 4),
    st.sampled_from(["1.2", "1.5", "2", "2.5"]), st.sampled_from([(1.0, 1), (0.2, 3), (5.0, 1), (0.001, 1)]),
    st.integers(0, 10**6),
)  # fmt: skip
def test_same_groups_from_the_same_words(
    people: int, axes: int, columns: int, values: int, k: int, l: str, blur: tuple[float, int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    frame = {f"q{j}": rng.integers(0, 6, people) for j in range(axes)}
    frame |= {f"s{c}": rng.integers(0, values, people) for c in range(columns)}
    names = [f"s{c}" for c in range(columns)]
    table = sf.read(pl.DataFrame(frame), quasi=[f"q{j}" for j in range(axes)], sensitive=names)
    method = sf.MondrianBlur(blur=blur[0], refusals=blur[1])
    wanted = Diversities(tuple(names), (Fraction(l),) * columns, k)
    engine = LocalEngine(table)
    counts = engine.count(names)
    rules = method.rules(counts, wanted, Draws(rng))
    words = rng.integers(0, 2**64, 200 * axes, dtype=np.uint64)
    parts, _ = replayed(method.arrays(counts, wanted), rules, words)
    found = numbered(parts.order, parts.starts)[engine.vectors(counts)]
    places = list(zip(*(frame[f"q{j}"].tolist() for j in range(axes)), strict=True))
    codes = list(zip(*(table[n].codes.tolist() for n in names), strict=True))
    obvious = Obvious(places, codes, rules, words.tolist()).groups()
    assert sorted(np.flatnonzero(found == g).tolist() for g in range(len(parts.starts))) == obvious


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
