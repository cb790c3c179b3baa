"""What a check found about one claim."""

from dataclasses import dataclass

import polars as pl

from sfumato import notebook
from sfumato.requirement.base import Status


@dataclass(frozen=True)
class Finding:
    """A claim in words, its status, and what was found.

    ``status`` is ``holds`` (verified from the public part), ``broken`` (it does not hold) or ``stated`` (nothing
    contradicts it, but it was not verified: it cannot be from the public part, or the detail says what it takes).
    """

    claim: str
    status: Status
    detail: str

    def as_dict(self) -> dict[str, str]:
        """For machines."""
        return {"claim": self.claim, "status": self.status, "detail": self.detail}


class Findings(list[Finding]):
    """What a check found about each claim, in order: a list that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        broken = sum(f.status == "broken" for f in self)
        title = f"{broken} of {len(self)} claims are broken" if broken else f"{len(self)} claims, none broken"
        return notebook.panel(title, notebook.table(["claim", "status", "found"], [_cells(f) for f in self]))


def _cells(finding: Finding) -> tuple[str, str, str]:
    return finding.claim, finding.status, finding.detail


def verdict(claim: str, fault: str | None, detail: str) -> Finding:
    """The claim holds unless a fault was found."""
    return Finding(claim, "holds", detail) if fault is None else Finding(claim, "broken", fault)


def whole_numbers(column: pl.Series, most: int) -> str | None:
    """Why a column does not hold whole numbers from 1 up to ``most``, or None."""
    if not column.dtype.is_integer() or column.null_count():
        return f"column {column.name!r} must hold whole numbers"
    least, greatest = column.min(), column.max()
    if not isinstance(least, int) or not isinstance(greatest, int) or least < 1 or greatest > most:
        return f"column {column.name!r} must hold numbers from 1 to {most}; it has {least!r} to {greatest!r}"
    return None
