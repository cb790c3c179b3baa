"""Labels that are ranges of numbers or dates, cut into pieces over which their rows are spread evenly."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

import numpy as np

from sfumato.analyst.condition import PossibleValues
from sfumato.release.label_meaning import Interval
from sfumato.table.distortion import Floats
from sfumato.table.ordered_domain import MISSING, after, common_step, day_text, number_text

_MOST_GRID = 100_000
_MOST_WEIGHTS = 20_000_000


@dataclass(frozen=True, eq=False)
class Ranges:
    """Labels with their half-open ranges; a label without ranges stands for everything, or for missing values.

    >>> ages = Ranges({"[20, 24)": [(20.0, 24.0)], "[24, 30)": [(24.0, 30.0)]}, days=False)
    >>> values, weights = ages.spread(ages.cuts([22.0]))
    >>> values.texts, weights.round(3).tolist()
    (('20', '22', '23'), [[0.5, 0.0], [0.25, 0.0], [0.25, 1.0]])
    """

    spans: Mapping[str, Sequence[Interval]]
    days: bool

    @property
    def known(self) -> list[float]:
        """Where the ranges begin and end."""
        return sorted({x for span in self.spans.values() for interval in span for x in interval})

    def ends(self) -> list[float]:
        """Every integer if all ends are integers and close together, otherwise the ends of the ranges."""
        known = self.known
        span = known[-1] - known[0]
        near = span <= _MOST_GRID and span * len(self.spans) <= _MOST_WEIGHTS
        return list(np.arange(known[0], known[-1])) if near and common_step(np.array(known)) == 1 else known

    def cuts(self, literals: Iterable[float]) -> list[float]:
        """Where each of some numbers begins and ends; for a number between two steps, where the next one begins."""
        known = self.known
        step = common_step(np.array(known))
        found = set()
        for x in literals:
            if not known[0] <= x < known[-1]:
                continue
            if step and common_step(np.array([x])) not in _multiples(step):
                found.add(
                    float((Decimal(x) / Decimal(repr(step))).to_integral_value(ROUND_CEILING) * Decimal(repr(step)))
                )
            else:
                found |= {x, after(x, step)}
        return sorted(found)

    def spread(self, cuts: Iterable[float]) -> tuple[PossibleValues, Floats]:
        """The pieces between cuts, each identified by its start, and the share of each label in each piece."""
        low, high = self.known[0], self.known[-1]
        edges = np.unique([low, high, *(x for x in cuts if low < x < high)])
        left, right = edges[:-1], edges[1:]
        missing = MISSING in self.spans
        weights = np.zeros((len(left) + missing, len(self.spans)))
        for j, (label, span) in enumerate(self.spans.items()):
            if label == MISSING:
                weights[-1, j] = 1.0
                continue
            for a, z in span or [(low, high)]:
                weights[: len(left), j] += np.maximum(np.minimum(right, z) - np.maximum(left, a), 0.0)
            weights[:, j] /= weights[:, j].sum()
        text = day_text if self.days else number_text
        texts = [text(float(x)) for x in left] + [MISSING] * missing
        return PossibleValues(tuple(texts), np.append(left, [math.nan] * missing), days=self.days), weights


def _multiples(step: float) -> list[float]:
    """The powers of ten that are multiples of a step, up to 1."""
    return [10.0**-k for k in range(round(-math.log10(step)) + 1)]
