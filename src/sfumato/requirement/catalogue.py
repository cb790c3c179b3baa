"""All requirement models by name, and how a policy's table becomes one."""

from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any

from sfumato.errors import PolicyError, nearest
from sfumato.requirement.alpha_k import AlphaK
from sfumato.requirement.base import Requirement
from sfumato.requirement.beta_likeness import BetaLikeness
from sfumato.requirement.corruption import Growth, RhoBreach
from sfumato.requirement.delta_disclosure import DeltaDisclosure
from sfumato.requirement.disclosure import Disclosure
from sfumato.requirement.join_template import join_template
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.k_map import KMap
from sfumato.requirement.l_diversity import LDiversity
from sfumato.requirement.m_confidentiality import MConfidentiality
from sfumato.requirement.r_robustness import RRobustness
from sfumato.requirement.t_closeness import TCloseness
from sfumato.requirement.templates import Anonymity, Confidentiality

_CLASSES: tuple[type[Requirement], ...] = (
    KAnonymity,
    KMap,
    LDiversity,
    TCloseness,
    BetaLikeness,
    DeltaDisclosure,
    AlphaK,
    Anonymity,
    Confidentiality,
    MConfidentiality,
    Disclosure,
    RhoBreach,
    Growth,
    RRobustness,
)
MODELS: dict[str, type[Requirement]] = {cls.model: cls for cls in _CLASSES}


def from_table(entry: Mapping[str, Any]) -> Requirement:
    """The requirement that a ``[[require]]`` table of a policy, or an entry of a manifest, describes.

    >>> from_table({"model": "k-anonymity", "k": 5})
    KAnonymity(k=5, entity=None)
    """
    parameters = dict(entry)
    if "over" in parameters:
        return join_template(from_table({n: v for n, v in entry.items() if n != "over"}), parameters["over"])
    model = parameters.pop("model", None)
    if model is None:
        raise PolicyError(f"a requirement needs a model; name one of {', '.join(MODELS)}")
    if not isinstance(model, str) or model not in MODELS:
        raise PolicyError(f"there is no requirement model {model!r}{nearest(str(model), MODELS)}")
    cls = MODELS[model]
    known = cls.public_fields()
    for name in parameters:
        if name not in known:
            raise PolicyError(f"{model} has no parameter {name!r}{nearest(name, known)}")
    for name, f in known.items():
        if name not in parameters and f.default is MISSING:
            raise PolicyError(f"{model} needs the parameter {name!r}")
    try:
        return cls(**{known[name].name: value for name, value in parameters.items()})
    except TypeError as e:
        raise PolicyError(f"{model}: a parameter has the wrong type ({e})") from None
