"""What the noise of a randomized release guarantees: ε of each attribute and of a whole row, and for which tables."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from sfumato.errors import PolicyError
from sfumato.requirement.manifest_view import ManifestView
from sfumato.table.taxonomy import all_named

INFINITE = "infinite"
"""How a manifest writes an infinite ε; JSON has no number for it."""

EpsilonGuarantee = Literal["whole release", "tables that meet tau", "none"]

GUARANTEES: tuple[EpsilonGuarantee, ...] = ("whole release", "tables that meet tau", "none")

_NOT_COVERED = " The release reveals that the private table meets tau; no ε covers that."
_NO_GUARANTEE = (
    "ε describes the noise added to each row once the matrices are known. It is not a guarantee: the matrices or the "
    "domains depend on the private table and reveal something about it."
)
_UNCHANGED = "Nothing was randomized: every column shows the values of the private table."


def by_attribute(manifest: ManifestView) -> dict[str, float]:
    """ε of every published attribute by the matrices of the manifest; infinite for attributes published unchanged."""
    ways = manifest.distortions()
    return {n: ways[n].epsilon if n in ways else math.inf for n in manifest.attributes}


def statement(manifest: ManifestView, guarantee: EpsilonGuarantee, fit: float | None) -> dict[str, Any]:
    """What the manifest states: ε of each attribute, of fitting the matrices, their sums for a row, and what it means.

    ``randomized`` is ε for rows that differ in columns of finite ε only, ``total`` for any two rows.
    """
    found = by_attribute(manifest)
    is_random = any(way.is_random for way in manifest.distortions().values())
    guarantee = guarantee if is_random else "none"
    finite = sum(e for e in found.values() if math.isfinite(e)) + (fit or 0.0)
    bare = [n for n, e in found.items() if not math.isfinite(e)]
    words = _in_words(guarantee, finite, bare) if is_random else _UNCHANGED
    return {
        "attributes": {n: written(e) for n, e in found.items()},
        **({"fit": fit} if fit is not None else {}),
        "randomized": finite if is_random else INFINITE,
        "total": INFINITE if bare else finite,
        "guarantee": guarantee,
        "words": words,
    }


def _in_words(guarantee: EpsilonGuarantee, epsilon: float, bare: list[str]) -> str:
    """What a guarantee means, for the public."""
    if guarantee == "none":
        return _NO_GUARANTEE
    meets = ", and that both meet the required tau with these matrices" if guarantee == "tables that meet tau" else ""
    where = f", but not in {all_named(bare)}" if bare else ""
    told = (
        f"Take two tables that the policy accepts, after any rows were dropped, and that differ in one row{where}"
        f"{meets}: any release is at most e^{math.ceil(epsilon * 1000) / 1000:.3f} times as likely from one as "
        "from the other."
    )
    told += _NOT_COVERED if meets else " The matrices do not depend on the private table."
    return told + (
        f" For {all_named(bare)} there is no bound: ε is infinite, as it is for a whole row." if bare else ""
    )


def written(epsilon: float) -> float | str:
    """A number, or the word for a number that JSON cannot express."""
    return epsilon if math.isfinite(epsilon) else INFINITE


def refuse_misstated(manifest: ManifestView, *, excludes_tables: bool) -> None:
    """A statement about ε must be the one that the stated matrices give; another version may have worded it otherwise.

    ``excludes_tables``: whether some tables miss the limit, so that a release reveals that the private one meets it.
    """
    told, way = manifest.epsilon, manifest.settings.get("fit")
    if not isinstance(told, Mapping) or told.get("guarantee") not in GUARANTEES:
        raise PolicyError("the manifest's statement about ε has no known guarantee")
    fit = told.get("fit")
    if fit is not None and (isinstance(fit, bool) or not isinstance(fit, int | float) or not 0 < fit < math.inf):
        raise PolicyError(f"the manifest states ε = {fit!r} for fitting the matrices; it must be a positive number")
    if way == "counts" and told["guarantee"] != "none":
        raise PolicyError("the manifest claims a guarantee for matrices that were fitted to the private table")
    if told["guarantee"] == "whole release" and (excludes_tables or way != "by hand"):
        raise PolicyError("the manifest claims a guarantee between any two tables, though not all of them meet tau")
    if (way == "noisy") != (fit is not None):
        raise PolicyError("the manifest must state an ε for fitting the matrices if that was done on noisy counts")
    found = statement(manifest, told["guarantee"], fit)
    if manifest.other_version is not None and isinstance(told.get("words"), str):
        found["words"] = told["words"]
    if not _same(told, found):
        raise PolicyError("the manifest's statement about ε is not the one that its matrices give")


def _same(told: Any, found: Any) -> bool:
    """Whether two statements agree, numbers up to rounding."""
    if isinstance(told, Mapping) and isinstance(found, Mapping):
        return told.keys() == found.keys() and all(_same(told[n], found[n]) for n in found)
    if isinstance(found, float) and isinstance(told, int | float) and not isinstance(told, bool):
        return math.isclose(told, found, rel_tol=1e-9, abs_tol=1e-12)
    return bool(told == found)
