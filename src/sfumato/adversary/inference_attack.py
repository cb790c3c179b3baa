"""The inference adversary of an audit: how surely a sensitive value is guessed from people who look the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sfumato.adversary.base import Adversary, several_rows
from sfumato.adversary.finding import AdversaryFinding
from sfumato.adversary.known_row import PRIOR, SHOWS_THROUGH, known_row
from sfumato.adversary.situation import Situation
from sfumato.adversary.true_belief import true_belief
from sfumato.requirement.guarantee import INDEPENDENT
from sfumato.table.encode import Column

BASELINE = "Without the release, the adversary is assumed to know how frequent each value is in the whole table."
_KNOWS = "knows a person's quasi-identifiers and that the person is in the table"
_ROW = f"{_KNOWS}, and even which row is theirs"
_FACE_VALUE = (
    "The method may have changed sensitive values; this adversary takes them at face value, so the figures are those "
    "of a naive reader, not a bound."
)
_OTHERS = (
    "{:,} people fit the labels of several groups. An adversary who also knows everyone else's quasi-identifiers may "
    "rule out some of these groups and be surer."
)


@dataclass(frozen=True, kw_only=True)
class Inference(Adversary):
    """Knows people's quasi-identifiers and guesses their sensitive values from the release alone."""

    name: ClassVar[str] = "inference"
    summary: ClassVar[str] = "knows people's quasi-identifiers and guesses their sensitive values"

    def refuses(self, situation: Situation) -> str | None:
        if not situation.sensitive:
            return "no sensitive attribute is published, so there is no value to guess"
        return several_rows(situation)

    def findings(self, situation: Situation) -> Iterator[AdversaryFinding]:
        for column in situation.sensitive:
            if situation.randomized_quasi:
                yield known_row(self, situation, column, attack="inference", knowledge=_ROW)
            else:
                yield self._guessed(situation, column)

    def _guessed(self, s: Situation, column: Column) -> AdversaryFinding:
        random = s.release.sampled or s.release.scheme_class.randomizes
        return self.learned(
            s, true_belief(s, column), s.share(column)[column.codes], attack="inference", attribute=column.name,
            variant=column.name if len(s.sensitive) > 1 else "",
            knowledge=_KNOWS + PRIOR * random,
            target=f"of a person's {column.name}", exact=not s.perturbs, notes=tuple(self._notes(s)),
        )  # fmt: skip

    def _notes(self, s: Situation) -> Iterator[str]:
        yield BASELINE
        if s.perturbs:
            yield _FACE_VALUE
        if s.release.sampled or s.release.scheme_class.randomizes:
            yield INDEPENDENT
        if s.release.scheme_class.randomizes:
            yield SHOWS_THROUGH
        several = int(s.people[s.fits.groups > 1].sum())
        if several and s.release.scheme_class.labels_people:
            yield _OTHERS.format(several)
        if lacking := int(s.people[s.fits.groups == 0].sum()):
            yield f"{lacking:,} people do not fit anything published; nothing is learned about them."
