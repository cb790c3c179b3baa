"""Limits on a value's share as fractions that a group can attain, so that integers decide what logarithms define.

A group of a table with n rows has shares c/m with m of at most n. For those, "at most x" is the same as "at most the
greatest fraction below x whose denominator is at most n", even where x is irrational: p (1 - ln p), or p e^δ.
"""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple


class Neighbours(NamedTuple):
    """The fractions next to a number, below and above it."""

    below: Fraction
    above: Fraction


def neighbours(number: Fraction, rows: int) -> Neighbours:
    """The fractions next to a number with denominators of at most ``rows``; both equal the number if it is one itself.

    They are its neighbours in the Farey sequence: the last two approximations of its continued fraction, as in
    `Fraction.limit_denominator`, which takes the nearer of them.

    >>> neighbours(Fraction(3, 10), 4)
    Neighbours(below=Fraction(1, 4), above=Fraction(1, 3))
    """
    if number.denominator <= rows:
        return Neighbours(number, number)
    p0, q0, p1, q1 = 0, 1, 1, 0
    n, d = number.numerator, number.denominator
    while q0 + n // d * q1 <= rows:
        a = n // d
        p0, q0, p1, q1 = p1, q1, p0 + a * p1, q0 + a * q1
        n, d = d, n - a * d
    k = (rows - q0) // q1
    ends = Fraction(p0 + k * p1, q0 + k * q1), Fraction(p1, q1)
    return Neighbours(min(ends), max(ends))


def neighbours_of_irrational(number: Callable[[], Decimal], rows: int) -> Neighbours:
    """The same for an irrational number, computed with as many digits as it takes.

    >>> neighbours_of_irrational(lambda: Decimal(2).ln(), 10)
    Neighbours(below=Fraction(2, 3), above=Fraction(7, 10))
    """
    digits = 40
    while True:
        with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            near = Fraction(number())
        hair = abs(near) / 10 ** (digits - 5)
        found = neighbours(near - hair, rows)
        if found.below < found.above and found == neighbours(near + hair, rows):
            return found
        digits *= 2


def decimal(number: Fraction) -> Decimal:
    """A fraction in the current precision."""
    return Decimal(number.numerator) / number.denominator
