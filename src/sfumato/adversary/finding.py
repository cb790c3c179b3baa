"""What an adversary finds out: how many people, how surely, and what could be guessed without the release."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.requirement.wilson import wilson_interval

MARGIN = 0.1
"""By how much a belief in the truth must exceed the baseline for a person to count as learned about."""
CONFIDENCE = 0.95
LISTED = 1000
"""The most people that the private part lists for one finding, those learned about most surely first."""

_SURE = 1 - 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Concerned:
    """The people attacked: their rows in the private table, and the belief in the truth with and without the release.

    Private: it is written to the private part only and shows nothing but its length.
    """

    rows: NDArray[np.int64]
    belief: Floats
    before: Floats

    def __repr__(self) -> str:
        return f"<{len(self.rows):,} people, not shown>"

    def most(self, margin: float, number: int = LISTED) -> list[dict[str, float]]:
        """The people learned about beyond the margin, the surest first, at most ``number`` of them."""
        beyond = np.flatnonzero(self.belief - self.before > margin)
        order = beyond[np.lexsort((self.rows[beyond], -self.belief[beyond]))][:number]
        return [
            {"row": int(self.rows[i]), "belief": float(self.belief[i]), "baseline": float(self.before[i])}
            for i in order
        ]


@dataclass(frozen=True, kw_only=True, eq=False)
class AdversaryFinding:
    """What one adversary learns from a release.

    ``adversary`` is its name in the catalogue, ``variant`` which of its kinds, ``knowledge`` completes "an adversary
    who …", ``target`` completes "sure …" ("of a person's diagnosis"). ``attacked`` of ``of`` people were attacked.
    Everyone's figure is the belief in what is true about them: ``worst`` is the greatest, ``worst_baseline`` the belief
    about that same person without the release, ``baseline`` the greatest without the release about anyone, ``mean``
    and ``mean_baseline`` the averages, ``gain`` their difference. ``people`` are learned about: their belief exceeds
    the baseline by more than ``margin``; ``certain`` people are known for certain.

    ``interval`` is the 95% interval of the share of all people who are learned about, where they were sampled;
    ``worst_interval`` that of the worst belief, where beliefs are estimated from draws. ``exact``: beliefs are exact.
    ``bound``: beliefs are not exact but never too low. ``expected``: what they were averaged over ("which of them are
    known"), if they were. ``people`` and the averages are None where only the worst case is computed. ``without`` says
    what the baseline is; ``broken`` are the claims of the manifest that this refutes, ``notes`` what else to know.
    """

    adversary: str
    variant: str = ""
    knowledge: str
    target: str
    attacked: int
    of: int
    people: int | None
    certain: int
    margin: float
    worst: float
    worst_baseline: float
    baseline: float
    mean: float | None
    mean_baseline: float | None
    interval: tuple[float, float] | None = None
    worst_interval: tuple[float, float] | None = None
    expected: str = ""
    exact: bool = True
    bound: bool = False
    without: str = "without the release"
    notes: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    concerned: Concerned | None = field(default=None, repr=False)

    @property
    def gain(self) -> float | None:
        """By how much the belief in the truth grows on average; None where only the worst case is computed."""
        return None if self.mean is None or self.mean_baseline is None else self.mean - self.mean_baseline

    @property
    def sampled(self) -> bool:
        """Whether only some of the people were attacked."""
        return self.attacked < self.of

    @property
    def title(self) -> str:
        """The adversary and its variant."""
        return f"{self.adversary} ({self.variant})" if self.variant else self.adversary

    def sentence(self) -> str:
        """What was found, in one sentence; "cannot" only where it was computed for everyone.

        >>> found = finding("inference", "knows a person's group", "of a person's illness", [0.3, 0.375], [0.1, 0.1])
        >>> found.sentence()
        "An adversary who knows a person's group cannot be more than 37.5% sure of a person's illness; without the \
release 10%."
        """
        who, before = f"An adversary who {self.knowledge}", f"{self.without} {percent_down(self.worst_baseline)}"
        among = f"{self.attacked:,} of {self.of:,} people attacked" if self.sampled else f"{self.of:,} people"
        if self.certain:
            certain = f"may be certain {self.target} for up to" if self.bound else f"is certain {self.target} for"
            return f"{who} {certain} {self.certain:,} of the {among}; {before}."
        if self.expected:
            sure = f"is at most {percent_up(self.worst)} sure {self.target}, averaged over {self.expected}"
            return f"{who} {sure}; {before}."
        if self.sampled or not (self.exact or self.bound):
            return f"{who} was at most {self._estimated()} sure {self.target}, among the {among}; {before}."
        return f"{who} cannot be more than {percent_up(self.worst)} sure {self.target}; {before}."

    def _estimated(self) -> str:
        if self.worst_interval is None:
            return percent_up(self.worst)
        low, high = self.worst_interval
        return f"{percent_up(self.worst)} (estimated; 95% interval {percent_down(low)} to {percent_up(high)})"

    def as_dict(self) -> dict[str, Any]:
        """Everything but the people concerned, for machines."""
        plain = ("adversary", "variant", "knowledge", "target", "attacked", "of", "people", "certain", "margin", "gain")
        more = ("worst", "worst_baseline", "baseline", "mean", "mean_baseline", "without", "expected", "exact", "bound")
        lists = ("interval", "worst_interval", "notes", "broken")
        told = {name: getattr(self, name) for name in (*plain, *more)}
        told |= {n: None if (v := getattr(self, n)) is None else list(v) for n in lists}
        return told | {"sentence": self.sentence()}

    def private_dict(self) -> dict[str, Any]:
        """The same with the people learned about, at most `LISTED` of them. Never hand it over."""
        if self.concerned is None:
            return self.as_dict()
        return self.as_dict() | {"listed": self.concerned.most(self.margin)}


def finding(
    adversary: str,
    knowledge: str,
    target: str,
    belief: Any,
    before: Any,
    *,
    rows: NDArray[np.int64] | None = None,
    weights: NDArray[np.int64] | None = None,
    of: int | None = None,
    drawn: bool = True,
    margin: float = MARGIN,
    **more: Any,
) -> AdversaryFinding:
    """The finding of beliefs in the truth, one per person attacked or, with ``weights``, per that many people.

    ``rows`` are the people's rows in the private table; ``of`` is how many people there are if these are only some of
    them, ``drawn`` whether they were drawn at random.
    """
    after, prior = np.broadcast_arrays(np.asarray(belief, np.float64), np.asarray(before, np.float64))
    counts = np.ones(len(after), np.int64) if weights is None else np.asarray(weights, np.int64)
    attacked, worst = int(counts.sum()), _worst(after, prior)
    learned = int(counts[after - prior > margin].sum())
    everyone = attacked if of is None else of
    return AdversaryFinding(
        adversary=adversary,
        knowledge=knowledge,
        target=target,
        attacked=attacked,
        of=everyone,
        people=learned,
        certain=int(counts[after >= _SURE].sum()),
        margin=margin,
        worst=float(after[worst]),
        worst_baseline=float(prior[worst]),
        baseline=float(prior.max()),
        mean=float(counts @ after / attacked),
        mean_baseline=float(counts @ prior / attacked),
        concerned=None if rows is None else Concerned(rows, after, prior),
        **({"interval": share_interval(learned, attacked) if drawn and attacked < everyone else None} | more),
    )


def _worst(after: Floats, prior: Floats) -> int:
    """The surest belief; among equals the one with the lowest baseline."""
    surest = np.flatnonzero(after == after.max())
    return int(surest[prior[surest].argmin()])


def share_interval(learned: int, attacked: int) -> tuple[float, float]:
    """The 95% interval of the share of all people who are learned about, from a sample drawn without replacement.

    Wilson's interval for independent draws; drawing without replacement makes the share vary less, so it is on the
    safe side.
    """
    low, high = wilson_interval(learned / attacked, attacked, CONFIDENCE)
    return float(low), float(high)


def percent_up(share: float) -> str:
    """A share in percent with three digits, never rounded down.

    >>> percent_up(1 / 3), percent_up(0.375), percent_up(1.0), percent_up(0.0)
    ('33.4%', '37.5%', '100%', '0%')
    """
    return _percent(share, math.ceil)


def percent_down(share: float) -> str:
    """A share in percent with three digits, never rounded up.

    >>> percent_down(1 / 3), percent_down(0.1), percent_down(0.00012345)
    ('33.3%', '10%', '0.0123%')
    """
    return _percent(share, math.floor)


def _percent(share: float, rounded: Callable[[float], int]) -> str:
    if share <= 0:
        return "0%"
    digits = max(2 - math.floor(math.log10(share * 100)), 0)
    value = share * 100 * 10**digits
    near = round(value)  # 0.1 is 10%, although 0.1 in binary is slightly more
    whole = near if abs(value - near) < 1e-7 * max(value, 1.0) else rounded(value)
    told = f"{min(whole / 10**digits, 100.0):.{digits}f}"
    return (told.rstrip("0").rstrip(".") if digits else told) + "%"
