"""The method by itself: which methods may be chosen for requirements that name none, and the reason in words.

Nothing here looks at data. A method may be chosen if it serves the requirements and nothing is known against it when
it does: never one that is refuted for them. Where several may be, they are tried on a table with the same
quasi-identifiers and the same sensitive values, dealt out at random, and the one that loses least is chosen
(`sfumato.publisher.choose`). Whoever knows the quasi-identifiers and sees the release knows these values anyway, so
the choice adds nothing to what the release gives away.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.errors import PolicyError, SfumatoError
from sfumato.method.base import Method
from sfumato.method.catalogue import METHODS, from_table
from sfumato.release.manifest import ChosenEntry, Manifest
from sfumato.requirement.base import GroupRequirement, Requirement
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.table.encode import Role
from sfumato.table.names import all_named, named

SAFE = tuple(name for name in ("mondrian+", "mondrian-blur", "mondrian++", "hilb-safe") if name in METHODS)
"""Methods that keep frequency l-diversity against an adversary who knows the algorithm, all by generalization. In order
of preference among equals: those that draw at random come last, since two of their releases can be combined."""
SIZES = ("mondrian", "local-recoding")
"""Methods for requirements that count people, among which a trial decides."""
COUNTING = (*SIZES, "incognito")
"""The same, and the one that serves some of these requirements alone, in order of preference."""
TEMPLATES = ("mondrian", "tdr")
"""Methods for such requirements if some are about groups by a few of the quasi-identifiers."""
LEAST_GROUP = 5
"""The smallest group size of pg if no requirement sets one."""


@dataclass(frozen=True)
class WantedOfJob:
    """What is known of a job before its data are looked at; the requirements are bound."""

    requirements: Sequence[Requirement]
    quasi: Sequence[str]
    after: bool = False
    """Whether earlier releases are named."""

    @property
    def partial(self) -> bool:
        """Whether a requirement is about groups by a few of the quasi-identifiers."""
        group = [r.groups_by() for r in self.requirements if isinstance(r, GroupRequirement)]
        return any(x is not None and set(x) != set(self.quasi) for x in group)

    @property
    def asked(self) -> list[Method]:
        """The methods that are asked, in order of preference."""
        others = (*SAFE, *(TEMPLATES if self.partial else COUNTING), "pg")
        return [ready(name, self.requirements) for name in (("tdssa",) if self.after else others)]


def ready(name: str, requirements: Sequence[Requirement]) -> Method:
    """A method with the settings it needs if none are given: tdr without a class, pg with a size, quick recoding."""
    sized = any(isinstance(r, KAnonymity) for r in requirements)
    told: dict[str, dict[str, object]] = {
        "tdr": {"score": "distortion"},
        "pg": {} if sized else {"k": LEAST_GROUP},
        "local-recoding": {"rounds": 0},  # ten times as fast, for a thousandth of the information
    }
    return from_table({"name": name, **told.get(name, {})})


def caveat(method: Method, requirements: Sequence[Requirement]) -> str | None:
    """What a release by a refuted method would warn of under these requirements, which must be bound; None: nothing."""
    if method.refuted is None:
        return None
    return next(iter(method.warnings(requirements)), None)


def eligible(wanted: WantedOfJob) -> list[Method]:
    """The methods that may be chosen, in order of preference: they serve, and nothing is known against them."""
    return [m for m in wanted.asked if _serves(m, wanted.requirements) and caveat(m, wanted.requirements) is None]


def _serves(method: Method, bound: Sequence[Requirement]) -> bool:
    try:
        method.refuse_unserved(bound)
    except SfumatoError:
        return False
    return True


def contenders(able: Sequence[Method], *, partial: bool, many: bool = False) -> list[Method]:
    """The methods among which the table decides, out of those that may be chosen; often just the first.

    ``many``: there are too many rows for local recoding, which takes at least ten times as long as mondrian.
    """
    tried = tried_together(able[0].name, partial=partial) if able else ()
    found = [m for m in able if m.name in tried] or list(able[:1])
    return found[:1] if many and found[0].name in SIZES and not partial else found


def tried_together(first: str, *, partial: bool) -> tuple[str, ...]:
    """The methods that are tried in addition to the first that can serve."""
    return SAFE if first in SAFE else TEMPLATES if partial else SIZES


_ALONE = {
    "tdssa": "it publishes with regard to the earlier releases, and nothing is known against it for these requirements",
    "mondrian": "no requirement depends on sensitive values, so its groups reveal nothing about them",
    "local-recoding": "no requirement depends on sensitive values, so its boxes reveal nothing about them",
    "incognito": "no requirement depends on sensitive values, so its levels reveal nothing about them",
    "tdr": "no requirement depends on sensitive values, so its refinements reveal nothing about them",
    "pg": "it bounds what an adversary who knows the values of all others can learn",
}
_KEEP = (
    "l-diversity against an adversary who knows the algorithm and considers all tables behind the groups equally likely"
)


def reason(name: str, among: Sequence[str]) -> str:
    """Why a method was chosen among those that could have been.

    >>> reason("pg", ["pg"])
    'No method was named. Chosen: pg, since it bounds what an adversary who knows the values of all others can learn.'
    """
    start = f"No method was named. Chosen: {name}"
    if len(among) == 1:
        alone = f"it is the only method here that serves the requirements and keeps {_KEEP}"
        return f"{start}, since {_ALONE.get(name, alone)}."
    lost = "it lost least on a table with the same quasi-identifiers"
    if name not in SAFE:
        return f"{start}, since of {all_named(among)}, which decide by quasi-identifiers alone, {lost}."
    return (
        f"{start}, since of {all_named(among)}, which keep {_KEEP}, {lost} and the same sensitive values dealt out at "
        "random. So the choice reveals nothing about whose they are."
    )


def entry(name: str, among: Sequence[str]) -> ChosenEntry:
    """What the manifest says about the choice."""
    return ChosenEntry(among=tuple(among), reason=reason(name, among))


def contradiction(manifest: Manifest, bound: Sequence[Requirement]) -> str | None:
    """Why a stated choice is not one that the rule allows for these requirements, or None."""
    chosen, name = manifest.method.chosen, manifest.method.name
    if chosen is None:
        return None
    wanted = WantedOfJob(bound, manifest.with_role(Role.QUASI), manifest.after is not None)
    able, among = [m.name for m in eligible(wanted)], list(chosen.among)
    if name not in among or among != [n for n in able if n in among]:
        return f"{name!r} may not be chosen among {all_named(among)} for these requirements"
    if len(among) > 1 and not set(among) <= set(tried_together(among[0], partial=wanted.partial)):
        return f"{all_named(among)} are not tried together"
    if manifest.other_version is None and chosen.reason != reason(name, among):
        return "the reason for the choice of the method is not the one that the rule gives"
    return None


def cannot_choose(
    models: Sequence[str], refuted: Sequence[str], each: dict[str, list[str]], *, about_values: bool, of_people: bool
) -> PolicyError:
    """The error if no method may be chosen: which ones serve but are refuted, or what each requirement is served by."""
    what = all_named(dict.fromkeys(models))
    if refuted:
        first = refuted[0]
        are = "They are" if len(refuted) > 1 else "It is"
        return PolicyError(
            f"no method is named, and {what} can only be served by {named(refuted)} here. {are} refuted for this (see "
            "`sfumato methods`), and sfumato does not choose a refuted method by itself. If you accept "
            f'that, write name = "{first}" under [method] (in Python, method="{first}"); `sfumato compare` shows what '
            f"each costs.{_instead(about_values=about_values, of_people=of_people)}"
        )
    parts = "; ".join(f"{model}: {all_named(names) if names else 'none'}" for model, names in each.items())
    return PolicyError(
        f"no method serves {what} together on this table. Each alone is served by: {parts}. Require less, or name a "
        "method to see why it refuses"
    )


def _instead(*, about_values: bool, of_people: bool) -> str:
    """What could be required so that a method may be chosen; ``of_people``: k-anonymity counts people by an entity."""
    diverse = 'l-diversity with variant = "frequency", optionally with k-anonymity'
    if of_people:
        served = f"{diverse} of rows" if about_values else "k-anonymity of rows"
        return f" Or give each person one row and leave out entity: others serve {served}"
    return f" Or require {diverse}, which others serve" if about_values else ""
