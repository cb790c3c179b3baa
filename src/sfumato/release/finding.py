"""What a check found about one claim."""

from dataclasses import dataclass

from sfumato.requirement.base import Status


@dataclass(frozen=True)
class Finding:
    """A claim in words, how it stands, and what was found.

    ``status`` is ``holds`` (verified from the public part), ``broken`` (it does not hold) or ``stated`` (nothing
    contradicts it, but it cannot be verified from the public part).
    """

    claim: str
    status: Status
    detail: str

    def as_dict(self) -> dict[str, str]:
        """For machines."""
        return {"claim": self.claim, "status": self.status, "detail": self.detail}


def verdict(claim: str, fault: str | None, detail: str) -> Finding:
    """The claim holds unless a fault was found."""
    return Finding(claim, "holds", detail) if fault is None else Finding(claim, "broken", fault)
