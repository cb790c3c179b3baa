"""Every way in which the draws of mondrian-blur can fall on a small table."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from sfumato.kernel.mondrian.blur import Arrays, Blurred, replayed
from sfumato.kernel.mondrian.refusal import Rules
from sfumato.method.blur.budget import WORDS

_ACCEPT, _REFUSE = WORDS - 1, 0
"""Words that are above and below every limit."""


def every_partition(arrays: Arrays, rules: Rules) -> Iterator[tuple[Blurred, Fraction]]:
    """Each sequence of acceptances and refusals once, with the partition that it leads to and its probability."""
    most = 2 * len(arrays.weights) * len(arrays.codes)  # each group tries each axis at most once
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        script = scripts.pop()
        words = np.full(most, _ACCEPT, np.uint64)
        words[: len(script)] = script
        blurred, limits = replayed(arrays, rules, words)
        yield blurred, _chance(words[: len(limits)].tolist(), limits.tolist())
        for at in range(len(script), len(limits)):
            scripts.append((*script, *[_ACCEPT] * (at - len(script)), _REFUSE))


def _chance(words: list[int], limits: list[int]) -> Fraction:
    return math.prod(
        (
            Fraction(limit if word == _REFUSE else WORDS - limit, WORDS)
            for word, limit in zip(words, limits, strict=True)
        ),
        start=Fraction(1),
    )
