"""What randomization did: the matrices, the risk in both readings, and the reconstructed distributions."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.engine.counts import Counts
from sfumato.release.release import Release
from sfumato.requirement.local_privacy import by_attribute
from sfumato.table.distortion import Distortion
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata

Facts = dict[str, Any]


def response(release: Release, table: Microdata | Counts) -> Facts | None:
    """Matrices and risk of a randomized release; None for any other."""
    if not release.scheme_class.randomizes or len(table.sensitive) != 1 or not table.quasi:
        return None
    from sfumato.method.rr.optimize import greatest_risk, people_of  # the optimizer's kernels: only for these releases

    people, _ = people_of(table.drawn_from(Role.QUASI, Role.SENSITIVE))
    manifest, ways = release.description, release.description.distortions()
    distortions = [ways[c.name] for c in (*table.quasi, *table.sensitive)]
    success = people.attack_success()
    return {
        "matrices": [_matrix(name, way) for name, way in ways.items() if name in manifest.matrices],
        "epsilons": {n: _number(e) for n, e in by_attribute(manifest).items()},
        "epsilon": _total(release),
        "guarantee": manifest.epsilon.get("words", ""),
        "before": float(people.shares.max()),  # who is not randomized is traced back with certainty
        "after": greatest_risk(people, distortions),
        "attack": float(success.max()),
        "attack_mean": float(success @ people.weight),
        "sensitive": table.sensitive[0].name,
        "homogeneous": int((people.shares.max(axis=1) == 1.0).sum()),
        "combinations": len(people.cell),
    }


def _matrix(name: str, way: Distortion) -> Facts:
    return {
        "name": name,
        "size": way.size,
        "keep": way.keep,
        "kind": "keep probability" if way.share is not None else "matrix, least diagonal entry",
        "epsilon": _number(way.epsilon),
        "noise": f"{way.noise / way.size:.3g}",
    }


def _total(release: Release) -> str:
    """ε of a whole row, including that of fitting the matrices."""
    fit = release.description.epsilon.get("fit", 0.0)
    return _number(sum(by_attribute(release.description).values()) + fit)


def _number(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "∞"


def reconstructed(release: Release, name: str, shown: Mapping[str, int] | None) -> Mapping[str, Any] | None:
    """The reconstructed number of rows with each value, never below 0; the shown number if nothing was changed."""
    if shown is None or not release.scheme_class.randomizes or name not in release.description.matrices:
        return shown
    domain = release.description.domain(name)
    counts = np.array([shown.get(v, 0) for v in domain], np.float64)
    estimate = np.maximum(release.description.distortions()[name].inverse @ counts, 0.0)
    return dict(zip(domain, (estimate * counts.sum() / estimate.sum()).tolist(), strict=True))
