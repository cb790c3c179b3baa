"""All adversaries by name, and how an ``[[audit]]`` table of a policy becomes one."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sfumato.adversary.base import Adversary
from sfumato.catalogue import Catalogue
from sfumato.errors import PolicyError, nearest

ADVERSARIES: Catalogue[Adversary] = Catalogue(
    "sfumato.adversary",
    {
        "linkage": "linkage_attack.Linkage",
        "inference": "inference_attack.Inference",
        "corruption": "corruption_levels.CorruptionLevels",
        "distribution": "distribution_attack.DistributionAttack",
        "algorithm-aware": "aware_attack.AlgorithmAware",
        "sequential": "sequential_attack.SequentialAttack",
        "membership": "membership_attack.Membership",
    },
)

CLOSED_FORM = ("linkage", "inference", "corruption", "membership")
"""Those that are computed from counts, by name: asking the classes would import all of them."""


def from_table(entry: Mapping[str, Any]) -> Adversary:
    """The adversary that an ``[[audit]]`` table describes."""
    settings = dict(entry)
    name = settings.pop("adversary", None)
    if name is None:
        raise PolicyError(f"an audit needs an adversary; name one of {', '.join(ADVERSARIES)}")
    if not isinstance(name, str) or name not in ADVERSARIES:
        raise PolicyError(f"there is no adversary {name!r}{nearest(str(name), ADVERSARIES)}")
    cls = ADVERSARIES[name]
    known = [f.name for f in fields(cls)]
    for setting in settings:
        if setting not in known:
            raise PolicyError(
                f"the adversary {name} has no setting {setting!r}{nearest(setting, [*known, 'adversary'])}"
            )
    return cls(**settings)
