"""Limits on shares as the nearest fractions, against a search through all of them."""

import math
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sfumato.requirement.share_limits import decimal, neighbours, neighbours_of_irrational
from strategies import examples


def all_shares(rows: int, up_to: int = 3) -> list[Fraction]:
    return sorted({Fraction(c, m) for m in range(1, rows + 1) for c in range(up_to * m + 1)})


@given(st.fractions(0, 2, max_denominator=10**6), st.integers(1, 25))
@examples(300)
def test_neighbours_are_those_of_the_whole_list(number: Fraction, rows: int) -> None:
    found, known = neighbours(number, rows), all_shares(rows)
    assert found.below == max(f for f in known if f <= number)
    assert found.above == min(f for f in known if f >= number)


@given(st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50), st.integers(1, 25))
@examples(200)
def test_neighbours_of_a_logarithm(p: Fraction, rows: int) -> None:
    found, known = neighbours_of_irrational(lambda: -decimal(p).ln(), rows), all_shares(rows, 5)
    exact = -math.log(p)
    assert found.below == max(f for f in known if f < exact)
    assert found.above == min(f for f in known if f > exact)


def test_a_number_that_many_digits_hardly_tell_from_a_fraction() -> None:
    """10^-200 above one half: 40 digits do not tell, and the answer is right all the same."""
    for sign in (1, -1):
        found = neighbours_of_irrational(lambda s=sign: Decimal("0.5") + s * Decimal(2).ln() * Decimal("1e-200"), 10)
        assert Fraction(1, 2) in found
        assert (found.below == Fraction(1, 2)) == (sign > 0)
