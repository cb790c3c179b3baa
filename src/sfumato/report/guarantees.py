"""Guarantees and limits as the report prints them: each requirement words its own, methods and releases add theirs."""

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.method.catalogue import METHODS, from_manifest
from sfumato.release.manifest import Manifest
from sfumato.release.scheme.base import Scheme
from sfumato.requirement.base import Requirement
from sfumato.requirement.catalogue import MODELS, from_table
from sfumato.requirement.guarantee import RULED_OUT, Guarantee

ClaimEntry = Mapping[str, Any]


def _required(entry: ClaimEntry) -> Requirement | None:
    """The requirement of an entry of a manifest; None for a model that this version does not know."""
    return from_table({"model": entry["model"], **entry["required"]}) if entry["model"] in MODELS else None


def in_words(entry: ClaimEntry) -> str:
    """A requirement of a manifest as a sentence: derived from what is required, not copied from the manifest."""
    required = _required(entry)
    return required.words() if required else str(entry.get("words") or entry["model"])


def met(entry: ClaimEntry) -> bool:
    """Whether what was achieved is no worse than what was required; False for an unknown model."""
    required = _required(entry)
    return required is not None and required.met_by(entry["achieved"])


def guarantee(entry: ClaimEntry) -> Guarantee:
    """What a requirement of a manifest promises, and what it does not."""
    if required := _required(entry):
        return required.guarantee(entry["achieved"])
    sentence = in_words(entry)
    return Guarantee(str(entry["model"]), sentence[:1].upper() + sentence[1:] + ".", ())


def method_limits(name: str) -> list[str]:
    """What to know about a method: what it guarantees, and against which adversary."""
    known = METHODS.get(name)
    told = [f"The method {name} guarantees: {known.guarantees}."] if known else []
    if name in ("mondrian", "hilb", "mask"):
        told.append(
            "The method is public, and its choices depend on the data: an adversary who knows how the algorithm chose "
            "its cuts may learn more about a group than the group shows."
        )
    return told


def drawn_again(manifest: Manifest) -> list[str]:
    """What a second release of the same table gives away, if the method draws."""
    try:
        told = from_manifest(manifest).redrawn()
    except SfumatoError:  # a method of another version
        return []
    return [] if told is None else [told]


def shown_limits(scheme: Scheme) -> list[str]:
    """What follows from how people are shown."""
    found = [
        "What the policy declares is public: the manifest lists every value of a declared domain or tree, including "
        "values that only one person has, or nobody."
    ]
    if scheme.separates:
        found.insert(
            0,
            "Nobody is hidden: quasi-identifiers are exact, and anyone who knows them finds a person’s row. All "
            "that is hidden is which of the group’s sensitive values belongs to that person.",
        )
    return found


def general_limits(plain: Sequence[str], classes: Sequence[str], after: Sequence[str] = ()) -> list[str]:
    """What no requirement covers: on a single release, or on its join with those it was published after."""
    knows = " and ".join(["the quasi-identifiers", *after])
    alone = "It holds for this release alone. Several releases about the same people are not covered"
    beyond = (
        f"The requirements over the join hold for this release together with {', '.join(after)}, all others for this "
        "release alone. Any further release about the same people is not covered"
    )
    told = [
        f"All of the above holds against an adversary who knows {knows} and nothing else. {RULED_OUT}",
        f"{beyond if after else alone}: their groups can be intersected.",
        "Only the declared quasi-identifiers are protected. Any other published column that outsiders can know "
        "can single people out.",
        "It does not hide who is in the table, or what is true of everyone in a group.",
    ]
    if plain:
        told.append(
            f"The insensitive columns ({', '.join(plain)}) are published unchanged, row by row next to the labels. If "
            "outsiders can know their values, they are quasi-identifiers and should be declared as such."
        )
    if classes:
        told.append(
            f"The class attribute ({', '.join(classes)}) is published unchanged, and requirements on sensitive values "
            "do not cover it unless they name it."
        )
    return told
