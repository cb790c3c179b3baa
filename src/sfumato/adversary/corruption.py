"""The adversary who has corrupted people and knows the sensitive values of some, or of everyone but the victim."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sfumato.adversary.attack import Attacked, CorruptionAttack, rows_of, sensitive_domain
from sfumato.adversary.base import Adversary, several_rows
from sfumato.adversary.finding import AdversaryFinding
from sfumato.adversary.posterior import Attacks, as_attacks, as_prior, pg_posterior
from sfumato.errors import DataError, PolicyError
from sfumato.release.release import Release
from sfumato.requirement.base import is_number
from sfumato.requirement.pg_bounds import size_of
from sfumato.table.microdata import Microdata

if TYPE_CHECKING:
    from sfumato.adversary.situation import Situation

_MOST_CELLS = 50_000_000
_SURE = 1 - 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Corruption(Adversary):
    """An adversary with an external database, corrupted people and a prior.

    ``people`` is the external database E, a table of everyone who may be in the microdata (by default, the truth);
    ``extraneous`` are its rows that are not; ``corrupted`` are those whose value, or absence, is known: rows,
    ``everyone`` (but the victim) or ``nobody``. ``prior`` is ``uniform``, ``data`` (how frequent values are),
    ``skewed`` (``skew`` for the value seen in the victim's row or, where rows are not linked, for the victim's own; the
    rest is spread evenly), or a vector or mapping over the domain. ``others`` is the prior of those not corrupted (by
    default the victim's, or uniform with ``skewed``). ``predicate`` lists the values asked about; without it, the
    predicate whose confidence grows most is used for each victim.

    >>> a = Corruption().posterior(p=0.25, domain=7, observed=2, size=2, candidates=2, corrupted=2, present=1)
    >>> round(float(a.ownership), 6)
    0.571429
    """

    name: ClassVar[str] = "corruption"
    summary: ClassVar[str] = "has an external database and a prior, and knows the values of corrupted people"
    closed_form: ClassVar[bool] = False

    prior: str | ArrayLike | Mapping[str, float] = "uniform"
    skew: float | None = None
    others: ArrayLike | None = None
    corrupted: Literal["everyone", "nobody"] | Sequence[int] = "everyone"
    extraneous: Sequence[int] = ()
    people: Microdata | None = None
    predicate: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.prior, str) and self.prior not in ("uniform", "skewed", "data"):
            raise PolicyError(f"prior = {self.prior!r}; it must be 'uniform', 'skewed', 'data' or probabilities")
        if (
            isinstance(self.prior, str)
            and self.prior == "skewed"
            and (not is_number(self.skew) or not 0 < (self.skew or 0) <= 1)
        ):
            raise PolicyError(f"skew = {self.skew!r}; a skewed prior needs a skew in (0, 1]")
        if isinstance(self.corrupted, str) and self.corrupted not in ("everyone", "nobody"):
            raise PolicyError(
                f"corrupted = {self.corrupted!r}; it must be 'everyone', 'nobody' or rows of the database"
            )

    def posterior(
        self,
        *,
        p: float,
        domain: int | Sequence[str],
        observed: ArrayLike,
        size: ArrayLike,
        candidates: ArrayLike,
        corrupted: ArrayLike = 0,
        present: ArrayLike = 0,
        matching: ArrayLike = 0,
    ) -> Attacks:
        """The belief in one attack on a PG release, or in many at once; see `pg_posterior`."""
        n = size_of("an attack", domain)
        (seen,) = as_attacks(observed)
        if seen.size and not 0 <= seen.min() <= seen.max() < n:
            raise DataError(f"observed must be a code of the domain, from 0 to {n - 1}")
        prior, others = self._priors([str(v) for v in range(n)], seen, None)
        return pg_posterior(
            p=p, observed=seen, size=size, prior=prior, candidates=candidates, corrupted=corrupted, present=present,
            matching=matching, others=others,
        )  # fmt: skip

    def attack(
        self,
        release: Release,
        truth: Microdata | None = None,
        *,
        victims: Sequence[int] | None = None,
    ) -> Attacked:
        """Attack people of the external database (without ``victims``, all who are in the table)."""
        people = self.people if self.people is not None else truth
        if people is None:
            raise PolicyError("an attack needs an external database; give people or the truth")
        attack = CorruptionAttack(release, people, self.corrupted, self.extraneous, self._priors)
        chosen = np.flatnonzero(attack.present) if victims is None else rows_of(victims, people.rows)
        if not attack.present[chosen].all():
            raise PolicyError("a victim is extraneous; victims must be people in the table")
        if len(chosen) * len(attack.domain) > _MOST_CELLS:
            raise PolicyError(
                f"{len(chosen)} victims times {len(attack.domain)} values are too many; give fewer victims"
            )
        return attack.attacked(chosen)

    def audit(self, release: Release, truth: Microdata, *, victims: Sequence[int] | None = None) -> dict[str, Any]:
        """What this adversary learns about the people in the truth: confidence before and after, and for how many."""
        found = self.attack(release, truth, victims=victims)
        attacks = found.attacks
        if self.predicate is None:
            before, after = _likeliest(attacks)
        else:
            before, after = attacks.confidence(_mask(sensitive_domain(release)[1], self.predicate))
        grown = after - before if self.predicate is not None else attacks.growth()
        number = len(found.victims)
        return {
            "scheme": release.scheme,
            "method": release.description.method.name,
            "victims": number,
            "left out": found.left_out,
            "prior": float(before.mean()) if number else None,
            "posterior": float(after.mean()) if number else None,
            "greatest posterior": float(after.max()) if number else None,
            "greatest growth": float(grown.max()) if number else None,
            "sure": int((after >= _SURE).sum()),
        }

    def refuses(self, situation: "Situation") -> str | None:
        if situation.perturbs:
            return "the method may have changed sensitive values, so the known ones cannot be struck out"
        return several_rows(situation)

    def variants(self, situation: "Situation") -> int:
        return 1

    def findings(self, situation: "Situation") -> Iterator[AdversaryFinding]:
        """The belief in the true value of everyone in the table, or of a sample."""
        truth = situation.truth
        if not isinstance(truth, Microdata) or (self.people is not None and self.people is not truth):
            raise PolicyError("an audit attacks the people in the truth; give its rows, and no other database")
        present = np.setdiff1d(np.arange(truth.rows), rows_of(self.extraneous, truth.rows))
        number = min(len(present), situation.sample or len(present))
        victims = present if number == len(present) else np.sort(present[situation.draws.order(len(present))[:number]])
        found = self.attack(situation.release, truth, victims=victims)  # type: ignore[arg-type]
        name, domain = sensitive_domain(situation.release)
        at = np.array([domain.index(v) for v in truth[name].domain.leaves])[truth[name].codes[found.victims]]
        mine = (np.arange(len(at)), at)
        known = "everyone else" if self.corrupted == "everyone" else "nobody else"
        yield self.learned(
            situation, found.attacks.beliefs[mine], found.attacks.prior[mine], attack="corruption", attribute=name,
            entries=found.victims, of=len(present), drawn=not found.left_out, target=f"of a person's {name}",
            variant="as given", notes=(f"{found.left_out:,} victims were left out.",) * bool(found.left_out),
            knowledge="has the prior that was given and knows the values of "
            + (known if isinstance(self.corrupted, str) else f"{len(self.corrupted):,} people"),
        )  # fmt: skip

    def side_by_side(
        self, releases: Mapping[str, Release], truth: Microdata, *, victims: Sequence[int] | None = None
    ) -> pl.DataFrame:
        """The audit of several releases of the same table, one row per release."""
        rows = [{"release": name} | self.audit(r, truth, victims=victims) for name, r in releases.items()]
        return pl.DataFrame(rows)

    def _priors(
        self, domain: list[str], favourite: NDArray[Any], counts: NDArray[Any] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """The victim's prior, one for all attacks or one per attack, and that of the others."""
        n = len(domain)
        even = np.full(n, 1 / n)
        others = None if self.others is None else as_prior(self.others, n)
        if isinstance(self.prior, Mapping):
            if unknown := [v for v in self.prior if v not in domain]:
                raise PolicyError(f"the prior names {unknown[0]!r}, which is not in the domain")
            return as_prior([self.prior.get(v, 0.0) for v in domain], n), others
        if not isinstance(self.prior, str):
            return as_prior(self.prior, n), others
        if self.prior == "uniform":
            return even, others
        if self.prior == "data":
            if counts is None:
                raise PolicyError("a prior from data needs a table; attack a release with the truth")
            return counts / counts.sum(), others
        skew = float(self.skew or 0)
        if skew < 1 / n - 1e-12:
            raise PolicyError(
                f"skew = {skew} is below 1/{n}, the least that the likeliest of {n} values can have; raise it"
            )
        prior = np.full((*favourite.shape, n), (1 - skew) / max(n - 1, 1))
        np.put_along_axis(prior, favourite[..., None], skew, axis=-1)
        return prior, even if others is None else others


def _likeliest(attacks: Attacks) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The adversary's confidence in the value that is likeliest in the end."""
    best = attacks.beliefs.argmax(axis=-1)[..., None]
    return (
        np.take_along_axis(attacks.prior, best, axis=-1)[..., 0],
        np.take_along_axis(attacks.beliefs, best, axis=-1)[..., 0],
    )


def _mask(domain: list[str], predicate: Sequence[str]) -> NDArray[np.bool_]:
    if unknown := [v for v in predicate if v not in domain]:
        raise PolicyError(f"the predicate names {unknown[0]!r}, which is not in the domain")
    return np.array([v in set(predicate) for v in domain])
