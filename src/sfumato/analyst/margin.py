"""How far an answer may be off: hard bounds, and a 95% interval that includes the ignorance inside boxes.

Rows that may or may not belong to an answer (greatest - least of them) are not independent of each other: the people
in a label are distributed alike, and differently from what is assumed. So the variance of their number is that of
correlated draws, as in a beta-binomial: Σ w (1 - w) · (1 + (uncertain rows - 1) · correlation), where w is the
probability that a row belongs. The interval is Jeffreys' for the share of the uncertain rows that belong, with as many
independent draws as that variance stands for: with none, it is all that the bounds allow. `benchmarks/calibration.py`
measures how often it holds; the constants below were set on other tables than those that it measures.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.analyst.answer import Answer
from sfumato.kernel.beta import beta_quantiles
from sfumato.requirement.wilson import deviations
from sfumato.table.distortion import Floats

CONFIDENCE = 0.95
INFORMED = 0.15
"""The correlation within labels for which other labels of the release show more detail."""
UNINFORMED = 0.4
"""The correlation within labels about which nothing more is known."""
ENOUGH = 10.0
"""How many rows with narrower labels halve the way between the two."""
BUCKETED = 0.02
"""The correlation of quasi-identifiers and sensitive values inside the groups of a bucketization."""

_Z = deviations(CONFIDENCE)
_MOST_DRAWS = 1e9


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over rows, one entry per answer.

    The variance has three parts: ``independent`` is Σ w (1 - w), where w is the probability that a row belongs;
    ``together`` is what rows add that deviate together (`together`), ``drawn`` what the publisher drew at random.
    """

    estimate: Floats
    least: Floats
    greatest: Floats
    independent: Floats
    together: Floats
    drawn: Floats

    def with_suppressed(self, rows: float, published: float) -> "Totals":
        """For the whole table, of which some rows were left out: nothing is known of these."""
        share = np.clip(self.estimate / max(published, 1.0), 0.0, 1.0)
        spread = rows * share * (1.0 - share)
        more = together(UNINFORMED * spread, np.asarray(rows))
        return Totals(
            self.estimate + rows * share,
            self.least,
            self.greatest + rows,
            self.independent + spread,
            self.together + more,
            self.drawn,
        )

    @property
    def variance(self) -> Floats:
        """Of the estimate around the truth."""
        parts = (self.independent, self.together, self.drawn)
        return np.asarray(sum(np.maximum(part, 0.0) for part in parts), np.float64)

    @property
    def errors(self) -> Floats:
        """The standard errors; 0 where the bounds meet."""
        return np.asarray(np.where(self.greatest > self.least, np.sqrt(self.variance), 0.0))

    def intervals(self) -> tuple[Floats, Floats]:
        """The 95% intervals, within the bounds; ends are whole, since counts are."""
        normal = np.asarray(self.drawn > 0)
        low, high = self._shares()
        half = _Z * self.errors
        low = np.where(normal, self.estimate - half, low)
        high = np.where(normal, self.estimate + half, high)
        return self._inside(np.floor(low + 1e-9)), self._inside(np.ceil(high - 1e-9))

    def _inside(self, x: Floats) -> Floats:
        return np.asarray(np.clip(x, self.least, self.greatest))

    def _shares(self) -> tuple[Floats, Floats]:
        """Jeffreys' interval of the share of the uncertain rows that belong; it reaches the bound where less than one
        independent draw would belong, or not belong."""
        uncertain = np.maximum(self.greatest - self.least, 1.0)
        share = np.clip((self.estimate - self.least) / uncertain, 0.0, 1.0)
        relative = self.variance / uncertain**2
        draws = np.divide(share * (1 - share), relative, out=np.ones(share.shape), where=relative > 0)
        draws = np.clip(draws - 1.0, 0.0, _MOST_DRAWS)
        a, b = (share * draws + 0.5).ravel(), ((1.0 - share) * draws + 0.5).ravel()
        low, high = (beta_quantiles(a, b, p).reshape(share.shape) for p in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
        low = np.where(share * draws < 1.0, 0.0, np.minimum(low, share))
        high = np.where((1.0 - share) * draws < 1.0, 1.0, np.maximum(high, share))
        return self.least + uncertain * low, self.least + uncertain * high

    def answer(self, assumption: str) -> Answer:
        """The only answer."""
        low, high = self.intervals()
        ends = (float(low), float(high)), (float(self.least), float(self.greatest))
        return Answer(float(self.estimate), float(self.errors), *ends, assumption)


def correlation(resolved: Floats) -> Floats:
    """Of the people in a label, given how many rows show narrower labels that tell what is asked.

    >>> correlation(np.array([0.0, ENOUGH, np.inf])).round(3).tolist()
    [0.4, 0.275, 0.15]
    """
    return np.asarray(INFORMED + (UNINFORMED - INFORMED) * ENOUGH / (ENOUGH + resolved), np.float64)


def together(correlated: Floats, uncertain: Floats) -> Floats:
    """The variance that rows add by deviating together: Σ correlation · w (1 - w), for each of the uncertain rows."""
    return np.asarray(np.maximum(correlated, 0.0) * np.maximum(uncertain - 1.0, 0.0), np.float64)
