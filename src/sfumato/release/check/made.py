"""Checks on how a release says it was made: the method with its settings, and the warnings they call for."""

import json
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.release.best_guess import best_guesses, certain_values
from sfumato.release.check.claims import promised
from sfumato.release.check.finding import Finding, verdict
from sfumato.release.manifest import Manifest
from sfumato.table.taxonomy import named

if TYPE_CHECKING:
    from sfumato.release.release import Release

_FIGURE = re.compile(r"[0-9][0-9,]*")


def warned(release: "Release") -> Finding:
    """Whether the release warns about the sensitive values that its groups give away."""
    claim, by = "it warns of every sensitive value that a group gives away", release.description.other_version
    due = certain_values(best_guesses(release), perturbed=_method(release).perturbs)
    missing = [w for w in due if w not in release.warnings]
    if wrong := [w for w in release.warnings if w not in due and any(_same_but_figures(w, d) for d in due)]:
        return Finding(claim, "broken", f"the figures of the warning {wrong[0]!r} are not those of the tables")
    if missing and by is not None:
        told = "; ".join(missing)
        return Finding(claim, "stated", f"sfumato {by} may have worded it differently; this version warns: {told}")
    return verdict(claim, _lacking(missing), f"{len(due)} due")


def _same_but_figures(text: str, other: str) -> bool:
    return _FIGURE.sub("", text) == _FIGURE.sub("", other)


def missing_warnings(release: "Release") -> list[str]:
    """The warnings required by the method and the requirements that a release lacks."""
    return [w for w in _due(release) if w not in release.warnings]


def _due(release: "Release") -> list[str]:
    method, manifest = _method(release), release.description
    return [*method.warnings_of(manifest), *method.warnings(promised(manifest))]


def _method(release: "Release") -> Any:
    # methods import this layer, so they cannot be imported at the top of this module
    return import_module("sfumato.method.catalogue").from_manifest(release.description)


def may_change_values(manifest: Manifest) -> bool:
    """Whether the method publishes groups with sensitive values that it may have changed."""
    return bool(getattr(import_module("sfumato.method.catalogue").METHODS.get(manifest.method.name), "perturbs", False))


def _choices() -> Any:
    return import_module("sfumato.method.choice")


def _lacking(missing: list[str]) -> str | None:
    return f"the manifest lacks the warning {missing[0]!r}" if missing else None


def examined(release: "Release") -> Finding:
    """Whether the method exists, has these settings, supports this scheme, and its warnings are there.

    The warnings of a release by another version may be worded differently; see `wording`.
    """
    manifest = release.description
    able = f"{manifest.method.name!r} can make a release by {manifest.scheme}"
    claim = f"{able}, and every required warning is there"
    try:
        method = _method(release)
        contradiction = method.contradiction(manifest)
        if contradiction is not None:
            return Finding(claim, "broken", contradiction)
        method.refuse_unserved(promised(manifest))
        due = _due(release)
        if (odd := _choices().contradiction(manifest, promised(manifest))) is not None:
            return Finding(claim, "broken", odd)
    except (SfumatoError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
        return Finding(claim, "broken", str(e))
    missing = [w for w in due if w not in release.warnings]
    if missing and manifest.other_version is not None:
        return Finding(able, "holds", f"{len(missing)} of its warnings are missing or worded differently: see below")
    return verdict(claim, _lacking(missing), f"{len(due)} required by the method and the requirements")


def told(manifest: Manifest) -> list[Finding]:
    """What a manifest states that cannot be verified from the public part: the publisher's word."""
    by_role: dict[str, list[str]] = {}
    for name, entry in manifest.attributes.items():
        by_role.setdefault(str(entry.role), []).append(name)
    roles = "; ".join(f"{role}: {named(found)}" for role, found in by_role.items())
    settings, chosen = manifest.method.settings, manifest.method.chosen
    return [
        *([Finding("its method was not named but chosen", "stated", chosen.reason)] if chosen else []),
        Finding("the roles, kinds and domains of the columns are right", "stated", roles),
        Finding(
            f"the release was made by {manifest.method.name} of sfumato {manifest.sfumato}",
            "stated",
            json.dumps(settings, ensure_ascii=False) if settings else "no settings",
        ),
    ]
