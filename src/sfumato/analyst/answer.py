"""What an analyst gets: an estimate, the error that it may have, and what is certain."""

from dataclasses import dataclass

from sfumato import notebook

Ends = tuple[float, float]

ADDED = ("count", "standard_error", "low", "high", "least", "greatest")
"""The columns that an answer by groups adds: the count, its standard error, its 95% interval and its bounds."""


@dataclass(frozen=True)
class Answer:
    """An estimate with its standard error, the 95% interval, hard bounds, and the assumption behind all but these.

    ``bounds`` are the least and the greatest value that the release allows: they hold for the private table itself,
    whatever it is. ``interval`` lies within them.
    """

    estimate: float
    standard_error: float
    interval: Ends
    bounds: Ends
    assumption: str

    def _repr_html_(self) -> str:
        ends = [f"{low:,.1f} to {high:,.1f}" for low, high in (self.interval, self.bounds)]
        rows = zip(("95% interval", "always between"), ends, strict=True)
        assumed = notebook.paragraph(f"Assumption: {self.assumption}")
        return notebook.panel(
            f"{self.estimate:,.1f} ± {self.standard_error:,.1f}", notebook.table(["", ""], rows), assumed
        )

    @classmethod
    def exactly(cls, value: float) -> "Answer":
        """What the release shows as it is.

        >>> Answer.exactly(3.0).interval
        (3.0, 3.0)
        """
        return cls(value, 0.0, (value, value), (value, value), EXACT)

    @property
    def exact(self) -> bool:
        """Whether the bounds meet: there is nothing to estimate."""
        return self.bounds[0] == self.bounds[1]


EXACT = "none: the release shows this exactly"
SUPPRESSED_ROWS = "rows that were left out resemble those that are shown"
LABELS = (
    "people are spread within their labels as in the rest of the release where other labels show how, and evenly "
    "elsewhere; the error allows for boxes that deviate together"
)
BUCKETS = (
    "within a group, sensitive values are independent of the quasi-identifiers; the error allows for an association "
    "that is the same in all groups"
)
RANDOMIZED = "values were randomized by the matrices in the manifest, each independently; the estimate is unbiased"
SAMPLED = (
    "each row was drawn at random from the G people of its box and its sensitive value perturbed as the manifest "
    "states; people are spread within their boxes as in the rest of the release"
)
