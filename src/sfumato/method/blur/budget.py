"""What refusals cost, in whole units: the odds that an adversary may gain, and the diversity that pays for them.

One unit is a factor of 1001/1000 in the odds. All tables are rounded so that the bounds hold exactly.
"""

import math
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfumato.kernel.mondrian.refusal import ONE

UNIT = Fraction(1001, 1000)
LOG_UNIT = math.log1p(1 / 1000)
WORDS = 1 << 64
_FINE = 1 << 60


def units_within(factor: Fraction) -> int:
    """The most units whose odds stay within a factor.

    >>> units_within(Fraction(2)), units_within(Fraction(1001, 1000)), units_within(Fraction(1))
    (693, 1, 0)
    """
    units = int(math.log(factor) / LOG_UNIT)
    while UNIT**units > factor:
        units -= 1
    while UNIT ** (units + 1) <= factor:
        units += 1
    return units


MOST_UNITS = units_within(Fraction(1000))
"""More than this cannot be set: the odds would grow a thousandfold."""


@cache
def levels(limits: tuple[Fraction, ...], budget: int) -> NDArray[np.int64]:
    """For each l and each number of units spent: 1 + odds (l - 1), times ONE, rounded up.

    A group in which no value makes up more than one part in so many keeps every belief within 1/l, although the
    adversary's odds are greater than the group's by that many units.

    >>> (levels((Fraction(3),), 693)[0, [0, 693]] / ONE).round(3)
    array([3.   , 4.998])
    """
    out = np.zeros((len(limits), budget + 1), np.int64)
    odds = _FINE
    for units in range(budget + 1):
        for c, l in enumerate(limits):
            out[c, units] = ONE + math.ceil((l - 1) * odds * ONE / Fraction(_FINE))
        odds = -(-odds * UNIT.numerator // UNIT.denominator)
    out.setflags(write=False)
    return out


@cache
def refusal_limits() -> NDArray[np.uint64]:
    """A random 64-bit word below entry i refuses a cut at price times distance i.

    From one entry to the next the probability falls by a factor of at most UNIT, starting at 1 for a cut that fails
    (entry 0 is never looked up). It never reaches 0.
    """
    limits = [WORDS]
    while not limits[1:] or limits[-1] < limits[-2]:
        limits.append(-(-limits[-1] * UNIT.denominator // UNIT.numerator))
    out = np.array([WORDS - 1, *limits[1:]], dtype=np.uint64)
    out.setflags(write=False)
    return out
