"""Checks on how a release says it was made: the method with its settings, and the warnings they call for."""

import json
from importlib import import_module
from typing import TYPE_CHECKING

from sfumato.errors import SfumatoError
from sfumato.release.best_guess import best_guesses, certain_values
from sfumato.release.check.claims import promised
from sfumato.release.check.finding import Finding, verdict
from sfumato.release.manifest import Manifest
from sfumato.table.taxonomy import named

if TYPE_CHECKING:
    from sfumato.release.release import Release


def warned(release: "Release") -> Finding:
    """Whether the release warns about the sensitive values that its groups give away."""
    method = import_module("sfumato.method.catalogue").from_manifest(release.description)
    due = certain_values(best_guesses(release), perturbed=getattr(method, "perturbs", False))
    missing = [w for w in due if w not in release.warnings]
    fault = f"the manifest lacks the warning {missing[0]!r}" if missing else None
    return verdict("it warns about every sensitive value that a group gives away", fault, f"{len(due)} due")


def examined(release: "Release") -> Finding:
    """Whether the method exists, has these settings, supports this scheme, and its warnings are there."""
    manifest = release.description
    claim = f"{manifest.method.name!r} can make a release by {manifest.scheme}, and every warning due is there"
    # methods import this layer, so they cannot be imported at the top of this module
    catalogue = import_module("sfumato.method.catalogue")
    try:
        method = catalogue.from_manifest(manifest)
        contradiction = method.contradiction(manifest)
        if contradiction is not None:
            return Finding(claim, "broken", contradiction)
        claims = promised(manifest)
        method.refuse_unserved(claims)
        due = [*method.warnings_of(manifest), *method.warnings(claims)]
    except (SfumatoError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
        return Finding(claim, "broken", str(e))
    missing = [w for w in due if w not in release.warnings]
    fault = f"the manifest lacks the warning {missing[0]!r}" if missing else None
    return verdict(claim, fault, f"{len(due)} due by method and requirements")


def told(manifest: Manifest) -> list[Finding]:
    """What a manifest states that cannot be verified from the public part: the publisher's word."""
    by_role: dict[str, list[str]] = {}
    for name, entry in manifest.attributes.items():
        by_role.setdefault(str(entry.role), []).append(name)
    roles = "; ".join(f"{role}: {named(found)}" for role, found in by_role.items())
    settings = manifest.method.settings
    return [
        Finding("the roles, kinds and domains of the columns are right", "stated", roles),
        Finding(
            f"the release was made by {manifest.method.name} of sfumato {manifest.sfumato}",
            "stated",
            json.dumps(settings, ensure_ascii=False) if settings else "no settings",
        ),
    ]
