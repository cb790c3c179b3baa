"""Look-ahead on a line: the fast way, the obvious one, and the partition in any dimension agree."""

from fractions import Fraction

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernel import judge
from sfumato.kernel.axes import Axis, make_space
from sfumato.kernel.hilb.curve import hilbert_keys
from sfumato.kernel.hilb.line_split import halve
from sfumato.kernel.mondrian.partition import partition
from sfumato.method.hilb_safe import HilbSafe
from sfumato.requirement.l_diversity import LDiversity
from sfumato.table.microdata import read
from strategies import examples


def obvious(places: list[int], values: list[int], l: Fraction, least: int, first: int = 0) -> list[int]:
    """Of all ways to part the rows between places the most even one, the first of equals, if it is allowed."""
    n = len(places)
    most = max(values.count(v) for v in values)
    ways = [(min(b, n - b), -b) for b in range(1, n) if places[b - 1] != places[b]]
    if not ways or max(ways)[0] < max(least, l * most):
        return [first]
    b = -max(ways)[1]
    left = obvious(places[:b], values[:b], l, least, first)
    return left + obvious(places[b:], values[b:], l, least, first + b)


@examples(300)
@given(st.data(), st.sampled_from([Fraction(1), Fraction(2), Fraction(5, 2), Fraction(3)]), st.integers(1, 4))
def test_all_three_agree(data: st.DataObject, l: Fraction, least: int) -> None:
    number = data.draw(st.integers(1, 40))
    places = sorted(data.draw(st.lists(st.integers(0, 30), min_size=number, max_size=number)))
    values = data.draw(st.lists(st.integers(0, 5), min_size=number, max_size=number))
    found = halve(np.array(places), np.array(values), 6, p=l.numerator, q=l.denominator, least=least)
    assert found.tolist() == obvious(places, values, l, least)
    line = make_space([Axis(31, position=np.linspace(0.0, 1.0, 31))])
    parts = partition(
        line,
        [np.array(places, np.uint32)],
        counted=[np.array(values, np.uint8)],
        sizes=[6],
        tests=judge.pack([(judge.AHEAD, 0, l.numerator, l.denominator, 0)], [()]),
        least=least,
    )
    assert sorted(parts.starts.tolist()) == found.tolist()


@examples(60)
@given(st.integers(1, 60), st.sampled_from([2, 3]), st.integers(0, 10**6))
def test_hilb_safe_halves_the_curve(number: int, l: int, seed: int) -> None:
    """Whatever the order of the rows: its groups before the draws are the halves on the order of the curve."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"x": rng.integers(0, 8, number), "y": rng.integers(0, 8, number)})
    table = read(frame.with_columns(s=pl.Series(rng.integers(0, 9, number))), quasi=["x", "y"], sensitive="s")
    keys = hilbert_keys([c.codes for c in table.quasi], [c.size for c in table.quasi])
    order = sorted(range(number), key=lambda row: keys[row])
    starts = obvious([int(keys[r]) for r in order], [int(table["s"].codes[r]) for r in order], Fraction(l), 1)
    groups = HilbSafe().before_draws(table, [LDiversity(l=l, sensitive="s")])
    assert groups is not None
    found = [int(groups.of_row[row]) for row in order]
    assert [place for place in range(number) if place == 0 or found[place] != found[place - 1]] == starts
    assert groups.number == len(starts)


def test_between_whole_numbers_l_is_not_rounded_down() -> None:
    """l = 5/2, all values different: two of five rows are too few for a side, three of six are enough."""
    for number, starts in [(5, [0]), (6, [0, 3])]:
        rows = np.arange(number)
        parts = partition(
            make_space([Axis(number, position=np.linspace(0.0, 1.0, number))]),
            [rows.astype(np.uint32)],
            counted=[rows.astype(np.uint8)],
            sizes=[number],
            tests=judge.pack([(judge.AHEAD, 0, 5, 2, 0)], [()]),
            least=1,
        )
        assert sorted(parts.starts.tolist()) == starts
        assert halve(rows, rows, number, p=5, q=2, least=1).tolist() == starts
