"""What the noise of a randomized release is worth: ε of each attribute, of a whole row, and whom that holds against."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from sfumato.errors import PolicyError
from sfumato.table.distortion import Distortion, stated
from sfumato.table.taxonomy import named

INFINITE = "infinite"
"""How a manifest writes an infinite ε; JSON has no number for it."""

Guarantee = Literal["whole release", "tables that meet tau", "none"]

WORDS: dict[Guarantee, str] = {
    "whole release": (
        "The matrices do not depend on the private table. Take two tables that the policy accepts and that differ in "
        "one row: any release is at most e^ε times as likely from one as from the other, where ε is the total."
    ),
    "tables that meet tau": (
        "Take two tables that the policy accepts, that differ in one row, and that both meet the required tau with "
        "these matrices: any release is at most e^ε times as likely from one as from the other, where ε is the total. "
        "That the private table meets tau is a fact that the release gives away, and no ε covers it."
    ),
    "none": (
        "ε describes the noise added to each row once the matrices are known. It is not a guarantee: the matrices or "
        "the domains depend on the private table, and give away something about it."
    ),
}
"""What each guarantee means, in words for the public."""

UNCHANGED = "Nothing was randomized: every column shows the values of the private table."


def by_attribute(manifest: Mapping[str, Any]) -> dict[str, float]:
    """ε of every published attribute by the matrices of the manifest; infinite for what is published as it is."""
    ways: Mapping[str, Distortion] = stated(manifest)
    return {n: ways[n].epsilon if n in ways else math.inf for n in manifest["attributes"]}


def statement(manifest: Mapping[str, Any], guarantee: Guarantee, fit: float | None) -> dict[str, Any]:
    """What the manifest states: ε of each attribute, of fitting the matrices, their total for a row, and what it is."""
    found = by_attribute(manifest)
    is_random = any(way.is_random for way in stated(manifest).values())
    guarantee = guarantee if is_random else "none"
    words = WORDS[guarantee] if is_random else UNCHANGED
    if bare := [n for n, e in found.items() if not math.isfinite(e)]:
        words += f" The noise gives no bound for {named(bare)} (ε is infinite), and so none for a whole row."
    return {
        "attributes": {n: written(e) for n, e in found.items()},
        **({"fit": fit} if fit is not None else {}),
        "total": written(sum(found.values()) + (fit or 0.0)),
        "guarantee": guarantee,
        "words": words,
    }


def written(epsilon: float) -> float | str:
    """A number, or the word for what is no number in JSON."""
    return epsilon if math.isfinite(epsilon) else INFINITE


def refuse_misstated(manifest: Mapping[str, Any]) -> None:
    """A statement about ε must be the one that the stated matrices give; releases without one state nothing."""
    told = manifest.get("epsilon")
    if told is None:
        return
    if not isinstance(told, Mapping) or told.get("guarantee") not in WORDS:
        raise PolicyError("the manifest's statement about ε has no known guarantee")
    fit = told.get("fit")
    if fit is not None and (isinstance(fit, bool) or not isinstance(fit, int | float) or not 0 < fit < math.inf):
        raise PolicyError(f"the manifest states ε = {fit!r} for fitting the matrices; it must be a positive number")
    if manifest["method"].get("fit") == "counts" and told["guarantee"] != "none":
        raise PolicyError("the manifest claims a guarantee for matrices that were fitted to the private table")
    if (manifest["method"].get("fit") == "noisy") != (fit is not None):
        raise PolicyError("the manifest must state an ε for fitting the matrices if that was done on noisy counts")
    if not _same(told, statement(manifest, told["guarantee"], fit)):
        raise PolicyError("the manifest's statement about ε is not the one that its matrices give")


def _same(told: Any, found: Any) -> bool:
    """Whether two statements agree, numbers up to rounding."""
    if isinstance(told, Mapping) and isinstance(found, Mapping):
        return told.keys() == found.keys() and all(_same(told[n], found[n]) for n in found)
    if isinstance(found, float) and isinstance(told, int | float) and not isinstance(told, bool):
        return math.isclose(told, found, rel_tol=1e-9, abs_tol=1e-12)
    return bool(told == found)
