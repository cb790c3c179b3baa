"""The algorithm-aware adversary of an audit: exact where all tables behind the release can be listed, else sampled."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any, ClassVar

import numpy as np

from sfumato.adversary.algorithm_aware import Case, Worlds, make_case, worlds
from sfumato.adversary.base import Adversary, Floats, Integers, several_rows
from sfumato.adversary.finding import CONFIDENCE, AdversaryFinding, percent_up
from sfumato.adversary.inference_attack import BASELINE
from sfumato.adversary.sampled_worlds import MOST_DRAWN, SampledWorlds, sampled_worlds
from sfumato.adversary.situation import Situation
from sfumato.errors import PolicyError
from sfumato.method.base import Drawn, Groups, PartitionMethod
from sfumato.method.catalogue import from_manifest
from sfumato.release.check.claims import claimed
from sfumato.requirement.base import whole_number
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata

_LEAST_DRAWS = 100
_MOST_DRAWS = 20_000
_FEW = 5
_KNOWS = "knows everyone's quasi-identifiers and group, the requirement and the algorithm"


@dataclass(frozen=True, kw_only=True)
class AlgorithmAware(Adversary):
    """Knows the algorithm and asks which tables it would have published exactly this release from.

    All tables behind the release are enumerated if there are at most ``limit`` of them and of the method's outcomes on
    them, and if time allows; otherwise up to ``draws`` of them are drawn.
    """

    name: ClassVar[str] = "algorithm-aware"
    summary: ClassVar[str] = "knows the algorithm and asks from which tables it would have published this"
    closed_form: ClassVar[bool] = False

    limit: int = 200_000
    draws: int = _MOST_DRAWS

    def __post_init__(self) -> None:
        for field in ("limit", "draws"):
            whole_number("the adversary algorithm-aware", field, getattr(self, field), 1)

    def refuses(self, situation: Situation) -> str | None:
        if (
            not situation.release.scheme_class.shows_groups
            or situation.left_out
            or len(situation.sensitive) != 1
            or not situation.quasi
        ):
            return "it needs groups that show everyone, a quasi-identifier and exactly one sensitive attribute"
        if (situation.fits.groups != 1).any():
            return "some people fit several groups or none, so the release does not show who is in which group"
        return several_rows(situation)

    def findings(self, situation: Situation) -> Iterator[AdversaryFinding]:
        truth = situation.truth
        if not isinstance(truth, Microdata):
            raise PolicyError("the adversary algorithm-aware needs the rows of the private table")
        method = from_manifest(situation.release.description)
        if not isinstance(method, PartitionMethod):
            raise PolicyError(f"{method.name} cannot be run again on other tables as a partition of rows")
        requirements = [claimed(c) for c in situation.release.description.requirements]
        only = _only(truth, situation)
        case = make_case(only, method, requirements, situation.release.scheme)  # type: ignore[arg-type]
        drawn = _as_drawn(situation, only)
        case.draw(only, situation.draws)  # so that everything is compiled
        begun = monotonic()
        case.draw(only, situation.draws)
        # listing an outcome and comparing it with the release takes a few times as long as drawing one
        limit = int(min(self.limit, situation.clock.left / 8 / max(monotonic() - begun, 1e-5)))
        try:
            found = worlds(
                only, method=method, require=requirements, scheme=case.scheme, published=drawn, limit=max(limit, 1)
            )
        except PolicyError as refusal:
            yield self._sampled(situation, case, drawn, str(refusal))
            return
        yield self._exact(situation, found)

    def _exact(self, s: Situation, found: Worlds) -> AdversaryFinding:
        (column,) = s.sensitive
        naive = found.naive[np.arange(len(column.codes)), column.codes]
        return self._told(s, column, found.smart[np.arange(len(column.codes)), column.codes], naive,
                          f"All {len(found.naive_worlds):,} tables behind the release were enumerated.")  # fmt: skip

    def _sampled(self, s: Situation, case: Case, drawn: Drawn, why: str) -> AdversaryFinding:
        (column,) = s.sensitive
        rows = s.truth.rows
        rng = np.random.default_rng(s.draws.words(4))

        def sampled(draws: int) -> SampledWorlds:
            return sampled_worlds(
                case.table, method=case.method, require=case.requirements, published=drawn, draws=draws, rng=rng,
                confidence=1 - (1 - CONFIDENCE) / rows,
            )  # fmt: skip

        begun, few = monotonic(), min(_FEW, self.draws)
        sampled(few)
        seconds = (monotonic() - begun) / few
        draws = int(min(self.draws, 0.5 * s.clock.left / seconds, MOST_DRAWN // rows))
        if draws < min(_LEAST_DRAWS, self.draws):
            raise PolicyError(
                f"{why}. Drawing tables instead takes about {seconds:.2g} s each, which the time budget does not allow"
            )
        found = sampled(draws)
        if not found.accepted:
            raise PolicyError(
                f"{why}. Of {draws:,} tables drawn instead, none is certain to lead to this release, so the belief of "
                "this adversary is not known"
            )
        return self._estimated(s, column, found)

    def _estimated(self, s: Situation, column: Column, found: SampledWorlds) -> AdversaryFinding:
        mine = (np.arange(len(column.codes)), column.codes)
        low, high, before = found.low[mine], found.high[mine], s.share(column)[column.codes]
        return self._told(
            s, column, found.smart[mine], found.naive[mine],
            f"{found.draws:,} of the tables behind the release were drawn; {found.accepted:,} of them lead to it. The "
            "intervals hold for everyone together.",
            exact=False, worst_interval=(float(low.max()), float(high.max())),
            interval=_shares(before, low, high, s.margin),
        )  # fmt: skip

    def _told(
        self, s: Situation, column: Column, belief: Floats, naive: Floats, how: str, **more: Any
    ) -> AdversaryFinding:
        return self.learned(
            s, belief, s.share(column)[column.codes], attack="algorithm-aware", attribute=column.name,
            knowledge=_KNOWS, target=f"of a person's {column.name}",
            notes=(BASELINE, how, f"Without knowing the algorithm, at most {percent_up(float(naive.max()))}."), **more,
        )  # fmt: skip


def _shares(before: Floats, low: Floats, high: Floats, margin: float) -> tuple[float, float]:
    """The least and the greatest share of people who are learned about, given intervals of all beliefs."""
    return float((low - before > margin).mean()), float((high - before > margin).mean())


def _only(truth: Microdata, s: Situation) -> Microdata:
    """The table with the columns that the release shows."""
    kept = {n: c for n, c in truth.columns.items() if n in s.release.description.attributes}
    return Microdata(kept, truth.plain, truth.hidden, truth.rows, truth.dropped)


def _as_drawn(s: Situation, table: Microdata) -> Drawn:
    """What was published, as groups of the table's rows; where values were changed, in any order inside a group."""
    group: Integers = np.unique(s.fits.group[s.kinds.of_row], return_inverse=True)[1]
    groups = Groups(group, int(group.max()) + 1)
    if not s.perturbs:
        return Drawn(table, groups)
    raise PolicyError(
        "the method changes sensitive values; attack it with sf.worlds, which runs the method itself on a small table"
    )
