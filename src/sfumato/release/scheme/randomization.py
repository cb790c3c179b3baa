"""The randomization scheme: values are drawn by public matrices, independently for each row and attribute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.engine.base import AsIs, Engine, Output, Randomized
from sfumato.engine.counts import Counts
from sfumato.engine.draws import Draws
from sfumato.release.check.noise import matrices_plausible, one_sensitive
from sfumato.release.describe import attribute_entries
from sfumato.release.manifest import Manifest, SchemeName
from sfumato.release.scheme.base import Decision, Look, Made, Progress, Scheme
from sfumato.requirement.base import Requirement
from sfumato.requirement.local_privacy import EpsilonGuarantee, statement
from sfumato.table.distortion import Distortion


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Matrices(Decision):
    """How each column is distorted, what is stated about it, and which adversary the noise protects against.

    ``fit_epsilon`` is what fitting the matrices to noisy counts costs, None if that was not done.
    """

    ways: Mapping[str, Distortion]
    matrices: Mapping[str, Any]
    guarantee: EpsilonGuarantee
    fit_epsilon: float | None

    def facts(self) -> list[tuple[str, str]]:
        kept = {name: float(way.matrix.diagonal().min()) for name, way in self.ways.items()}
        return [(f"{name} kept", f"{least:.3f} or more") for name, least in kept.items()] + super().facts()


class Randomization(Scheme):
    """Randomized columns, all others unchanged."""

    name: ClassVar[SchemeName] = "randomization"
    words: ClassVar[str] = "values are changed at random, with probabilities that are public"
    randomizes: ClassVar[bool] = True
    looks: ClassVar[tuple[Look, ...]] = (matrices_plausible,)

    def lacks(self, quasi: int, sensitive: int, attributes: int) -> str | None:
        return one_sensitive(self.name, sensitive)

    def publish(
        self,
        engine: Engine,
        counts: Counts,
        decision: Matrices,
        bound: Sequence[Requirement],
        draws: Draws,
        progress: Progress,
    ) -> Made:
        progress("order", 0.0)
        table, ways = engine.table, decision.ways
        outputs: list[Output] = [Randomized(n, ways[n]) if n in ways else AsIs(n) for n in table.columns]
        data = engine.publish([*outputs, *(AsIs(name) for name in table.plain.columns)], draws)
        attributes = attribute_entries(table)
        told = Manifest(scheme=self.name, attributes=attributes, matrices=decision.matrices)
        epsilon = statement(told, decision.guarantee, decision.fit_epsilon)
        facts: dict[str, Any] = {"matrices": decision.matrices, "epsilon": epsilon}
        return Made({"data": data}, decision.judgements, attributes, data.height, facts)
