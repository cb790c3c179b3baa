"""TDS2P in the catalogue: what the method of two publishers states about its releases. `sfumato integrate` runs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from sfumato.errors import PolicyError
from sfumato.method.topdown.topdown import Run, TopDown
from sfumato.requirement.base import Requirement
from sfumato.table.microdata import Microdata


@dataclass(frozen=True, kw_only=True)
class TopDownTwoParty(TopDown):
    """Two publishers with different columns about the same people make the release that TDR makes of the joined table.

    Fung, Algorithm 5. One table alone cannot be published by it: both sides run `sfumato integrate`.
    """

    name: ClassVar[str] = "tds2p"
    summary: ClassVar[str] = "tdr on the joined table of two publishers who do not show each other their details"
    guarantees: ClassVar[str] = (
        "anonymity and confidentiality templates and k-anonymity, at every step, against an adversary who does not "
        "exploit how the algorithm chose its refinements; the class guides them and is not protected. Not against the "
        "two publishers: each knows its own values and the other's labels record by record"
    )

    def redrawn(self) -> str | None:
        return (
            "A release of two publishers also depends on the other publisher's table: if that has changed, an "
            "adversary who has both releases can combine them, and no requirement is checked on the two together."
        )

    def bind(self, table: Microdata, requirements: Sequence[Requirement]) -> list[Requirement]:
        _refuse()

    def steps(self, table: Microdata) -> Run:
        _refuse()


def _refuse() -> NoReturn:
    raise PolicyError(
        "tds2p joins the tables of two publishers; run `sfumato integrate POLICY --listen HOST:PORT` on one side and "
        "`sfumato integrate POLICY --connect HOST:PORT` on the other. To publish one table alone, use tdr"
    )
