"""The adversary who has corrupted people: he knows the sensitive values of some, or of everyone but the victim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from sfumato.adversary.attack import Attacked, Scene, rows_of, sensitive_domain
from sfumato.adversary.posterior import Attacks, as_attacks, as_prior, pg_posterior
from sfumato.errors import DataError, PolicyError
from sfumato.release.release import Release
from sfumato.requirement.base import is_number
from sfumato.requirement.pg_bounds import size_of
from sfumato.table.microdata import Microdata

_MOST_CELLS = 50_000_000
_SURE = 1 - 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Corruption:
    """An adversary with an external database, corrupted people and a prior.

    ``people`` is the external database E, a table of everyone who may be in the microdata (without it, the truth);
    ``extraneous`` are the rows of it that are not; ``corrupted`` those whose value, or absence, is known: rows,
    ``everyone`` (but the victim) or ``nobody``. ``prior`` is ``uniform``, ``data`` (how frequent values are),
    ``skewed`` (``skew`` for the value seen in the victim's row or, where rows are not linked, for his own; the rest
    even), or a vector or mapping over the domain. ``others`` is the prior of those not corrupted (else the
    victim's, and uniform beside ``skewed``). ``predicate`` lists the values that are asked for; without it the
    predicate whose confidence grows most is taken for each victim.

    >>> a = Corruption().posterior(p=0.25, domain=7, observed=2, size=2, candidates=2, corrupted=2, present=1)
    >>> round(float(a.ownership), 6)
    0.571429
    """

    prior: str | ArrayLike | Mapping[str, float] = "uniform"
    skew: float | None = None
    others: ArrayLike | None = None
    corrupted: Literal["everyone", "nobody"] | Sequence[int] = "everyone"
    extraneous: Sequence[int] = ()
    people: Microdata | None = None
    predicate: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.prior, str) and self.prior not in ("uniform", "skewed", "data"):
            raise PolicyError(f"the prior is {self.prior!r}; it is 'uniform', 'skewed', 'data' or probabilities")
        if (
            isinstance(self.prior, str)
            and self.prior == "skewed"
            and (not is_number(self.skew) or not 0 < (self.skew or 0) <= 1)
        ):
            raise PolicyError(f"a skewed prior has a skew above 0 up to 1, not {self.skew!r}")
        if isinstance(self.corrupted, str) and self.corrupted not in ("everyone", "nobody"):
            raise PolicyError(f"corrupted is {self.corrupted!r}; it is 'everyone', 'nobody' or rows of the database")

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
            raise DataError(f"the value seen is a code from 0 to {n - 1}, a place in the domain; correct observed")
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
            raise PolicyError("an attack needs an external database; give people, or the truth")
        scene = Scene(release, people, self.corrupted, self.extraneous, self._priors)
        chosen = np.flatnonzero(scene.present) if victims is None else rows_of(victims, people.rows)
        if not scene.present[chosen].all():
            raise PolicyError("a victim is extraneous; the adversary attacks people who are in the table")
        if len(chosen) * len(scene.domain) > _MOST_CELLS:
            raise PolicyError(f"{len(chosen)} victims times {len(scene.domain)} values are too many; name fewer")
        return scene.attacked(chosen)

    def audit(self, release: Release, truth: Microdata, *, victims: Sequence[int] | None = None) -> dict[str, Any]:
        """What this adversary learns about people of the truth, in figures: how sure before and after, on how many."""
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

    def side_by_side(
        self, releases: Mapping[str, Release], truth: Microdata, *, victims: Sequence[int] | None = None
    ) -> pl.DataFrame:
        """The audit of several releases of the same table, a row each."""
        rows = [{"release": name} | self.audit(r, truth, victims=victims) for name, r in releases.items()]
        return pl.DataFrame(rows)

    def _priors(
        self, domain: list[str], favourite: NDArray[Any], counts: NDArray[Any] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """The victim's prior, one or one an attack, and that of the others."""
        n = len(domain)
        even = np.full(n, 1 / n)
        others = None if self.others is None else as_prior(self.others, n)
        if isinstance(self.prior, Mapping):
            if unknown := [v for v in self.prior if v not in domain]:
                raise PolicyError(f"the prior names {unknown[0]!r}, which the domain lacks")
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
            raise PolicyError(f"skew = {skew} is below 1/{n}, what the likeliest of {n} values has at least")
        prior = np.full((*favourite.shape, n), (1 - skew) / max(n - 1, 1))
        np.put_along_axis(prior, favourite[..., None], skew, axis=-1)
        return prior, even if others is None else others


def _likeliest(attacks: Attacks) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How sure the adversary is of the value that he ends up holding for the likeliest."""
    best = attacks.beliefs.argmax(axis=-1)[..., None]
    return (
        np.take_along_axis(attacks.prior, best, axis=-1)[..., 0],
        np.take_along_axis(attacks.beliefs, best, axis=-1)[..., 0],
    )


def _mask(domain: list[str], predicate: Sequence[str]) -> NDArray[np.bool_]:
    if unknown := [v for v in predicate if v not in domain]:
        raise PolicyError(f"the predicate names {unknown[0]!r}, which the domain lacks")
    return np.array([v in set(predicate) for v in domain])
