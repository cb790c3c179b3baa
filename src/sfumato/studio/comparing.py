"""A comparison of methods for a job: it runs in the background, can be stopped, and a point of it can be taken.

Plain Python; the figures are those of `sfumato compare`, on a sample if the table is large.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.errors import PolicyError, SfumatoError
from sfumato.publisher.after import published_after
from sfumato.publisher.compare.compare import compare
from sfumato.publisher.compare.comparison import Comparison
from sfumato.publisher.compare.points import Point
from sfumato.publisher.compare.written import policy_text
from sfumato.publisher.preview import sampled
from sfumato.publisher.toml import document
from sfumato.requirement.dial import Dial
from sfumato.studio.job import Job
from sfumato.studio.trial import REQUIRE, entries
from sfumato.table.microdata import Microdata

ROWS = 10_000
"""Up to this many rows are compared; for a larger table, a sample."""


class _Cancelled(Exception):  # noqa: N818 - not an error but an answer
    """The comparison is no longer wanted."""


@dataclass
class Comparing:
    """One comparison. ``version`` is that of the job when it was started."""

    job: Job
    methods: Sequence[str]
    sweep: Mapping[str, Sequence[float]]
    version: int = -1
    rows: int = 0
    done: float = 0.0
    result: Comparison | None = None
    error: BaseException | None = None
    over: bool = False
    _cancelled: bool = field(default=False, repr=False)

    def go(self) -> None:
        """Measure all points; afterwards there is a result, an error, or neither if it was cancelled."""
        try:
            self.version = self.job.version
            self.result = self._compared()
        except _Cancelled:
            pass
        except Exception as error:
            self.error = error
        finally:
            self.over = True

    def cancel(self) -> None:
        """End it after the point that is being measured."""
        self._cancelled = True

    def _compared(self) -> Comparison:
        if self.job.frame is None:
            raise PolicyError("no table is open; open one first")
        policy = published_after(self.job.policy())
        sample = sampled(self.job.frame, ROWS)
        self.rows = sample.height
        attributes = policy.covering(sample.columns)
        table = Microdata.from_frame(sample, attributes, missing=policy.missing, folder=policy.folder)
        own = policy.named
        methods = [own if own is not None and own.name == name else name for name in self.methods]
        return compare(table, require=policy.requirements, methods=methods, sweep=self.sweep, progress=self._heard)

    def _heard(self, stage: str, share: float) -> None:
        if self._cancelled:
            raise _Cancelled
        self.done = share


def swept(job: Job) -> dict[str, Dial]:
    """The parameters of the requirements that can be varied, with their dials."""
    found: dict[str, Dial] = {}
    for needed in job.policy().requirements:
        for word, dial in type(needed).dials.items():
            if isinstance(needed.parameters().get(word), int | float):
                found.setdefault(word, dial)
    return found


def numbers(told: str) -> list[float]:
    """The numbers in a list that somebody typed.

    >>> numbers("2, 5;10  0.5")
    [2, 5, 10, 0.5]
    """
    try:
        found = [float(part) for part in told.replace(",", " ").replace(";", " ").split()]
    except ValueError:
        raise PolicyError(f"{told!r} is not a list of numbers; write for example 2, 5, 10") from None
    return [int(n) if n.is_integer() else n for n in found]


def point_of(comparison: Comparison, number: int) -> Point:
    """A point by its number."""
    return comparison.points[number - 1]


def sections_of(job: Job, point: Point) -> dict[str, Any]:
    """The requirements and the method of a point, as the policy would say them."""
    content = tomllib.loads(policy_text(job.policy(), point))
    return {name: content[name] for name in (REQUIRE, "method")}


def shown_sections(job: Job, point: Point) -> str:
    """The same as a part of a policy file."""
    return document(sections_of(job, point)).strip()


def take(job: Job, point: Point) -> None:
    """Make a point's requirements and method those of the job."""
    told = sections_of(job, point)
    if len(told[REQUIRE]) != len(entries(job)):
        raise SfumatoError("the policy has changed since then; compare again")
    for name, section in told.items():
        job.set_section(name, section)
