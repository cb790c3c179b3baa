"""Judge every requirement of a manifest again, from the public part alone; nothing in it is taken on trust."""

import contextlib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sfumato.errors import SfumatoError
from sfumato.release.check.finding import Finding
from sfumato.release.check.joined import on_join
from sfumato.release.check.public import PublicSchema
from sfumato.release.manifest import Claim, Manifest
from sfumato.release.part_tables import sample_of
from sfumato.release.population_match import unseen
from sfumato.requirement.base import GroupRequirement, Promise, Requirement, Status, Verdict, names
from sfumato.requirement.catalogue import from_table
from sfumato.requirement.join_template import JoinTemplate
from sfumato.requirement.k_map import KMap
from sfumato.table.checks import POLARS_FAILURES

if TYPE_CHECKING:
    from sfumato.release.earlier import Earlier
    from sfumato.release.release import Release

_FAULTS = (SfumatoError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, *POLARS_FAILURES)


def claimed(claim: Claim) -> Requirement:
    """The requirement that a claim of a manifest states."""
    if isinstance(claim.required.get("distributions"), str):
        raise SfumatoError("it names a file; a release must state its distributions itself")
    return from_table({"model": claim.model, **claim.required})


def judged(release: "Release", claim: Claim, given: "Mapping[str, Earlier] | None" = None) -> Finding:
    """The status of one claim, given earlier releases if it is about a join. A claim that makes no sense is broken."""
    try:
        requirement = claimed(claim)
        view = PublicSchema(release.description.attributes, release.tables)
        if isinstance(requirement, Promise):
            found = requirement.verify(release.description, sample_of(release.tables))
        elif isinstance(requirement, KMap):
            found = unseen(release)
        elif isinstance(requirement, JoinTemplate):
            found = on_join(release, requirement, given or {}, claim.achieved)
        elif isinstance(requirement, GroupRequirement):
            requirement, found = _on_groups(release, requirement, view, claim.achieved)
        else:
            raise SfumatoError("this version cannot judge it")
        return _as_stated(requirement, claim, found, ours=release.description.other_version is None)
    except _FAULTS as e:
        return Finding(f"the claim {claim.model!r}", "broken", f"it cannot be judged: {e}")


def _on_groups(
    release: "Release", requirement: GroupRequirement, view: PublicSchema, achieved: Mapping[str, float]
) -> tuple[GroupRequirement, Verdict]:
    if release.bucketized and requirement.by_labels:
        return requirement, Verdict("broken", {}, release.exact_quasi())
    if hidden := view.hidden(requirement):
        return requirement, _in_part(release, requirement, hidden, achieved)
    bound = requirement.bind(view)
    judgement = release.judge(bound)
    detail = ", ".join(f"{n} = {v:.6g}" for n, v in judgement.achieved.items())
    if not judgement.holds:
        return bound, Verdict("broken", {}, f"{judgement.failing} of {judgement.groups} groups fail; {detail}")
    if release.sampled:
        return bound, Verdict("stated", judgement.achieved, f"{detail}, by the stated sizes of the groups")
    return bound, Verdict("holds", judgement.achieved, detail)


def _in_part(release: "Release", requirement: GroupRequirement, hidden: str, achieved: Mapping[str, float]) -> Verdict:
    """What can be said if the requirement counts a column that is not published."""
    least, k = int(release.group_sizes(names(requirement.groups_by())).min()), requirement.parameters().get("k", 1)
    if isinstance(k, int) and least < max(k, achieved.get("k", k)):
        return Verdict("broken", {}, f"a group has only {least} rows")
    why = f"{hidden!r} is not published in the form it was counted in; every group has at least {least} rows"
    return Verdict("stated", {}, why)


def _as_stated(requirement: Requirement, claim: Claim, found: Verdict, *, ours: bool) -> Finding:
    """What was found, unless the figures of the claim contradict it or, if this version wrote them, its words."""
    words, achieved = requirement.words(), claim.achieved
    status: Status = found.status
    detail = found.detail
    if status == "broken":
        pass
    elif ours and claim.words != words:
        status, detail = "broken", f"the manifest says {claim.words!r}; this version words it differently"
    elif found.achieved or status == "holds":
        if not _same(achieved, found.achieved):
            status, detail = "broken", f"the manifest claims {_told(achieved)}, found {detail}"
    elif not requirement.met_by(achieved):
        status, detail = "broken", f"the manifest claims {_told(achieved)}, which does not meet what is required"
    else:
        detail = f"{detail}; stated as achieved: {_told(achieved)}"
    return Finding(words, status, detail)


def _same(achieved: Mapping[str, float], found: Mapping[str, float]) -> bool:
    return achieved.keys() == found.keys() and all(
        math.isclose(achieved[n], v, rel_tol=1e-9, abs_tol=1e-12) for n, v in found.items()
    )


def _told(achieved: Mapping[str, float]) -> str:
    return ", ".join(f"{n} = {v:.6g}" for n, v in achieved.items()) or "nothing as achieved"


def promised(manifest: Manifest) -> list[Requirement]:
    """The requirements of a manifest with everything they leave open filled in, as far as they can be read."""
    found = []
    for claim in manifest.requirements:
        with contextlib.suppress(*_FAULTS):
            found.append(claimed(claim))
            found[-1] = found[-1].bind(PublicSchema(manifest.attributes, {}))
    return found
