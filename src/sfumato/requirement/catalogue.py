"""All requirement models by name, and how a policy's table becomes one."""

from collections.abc import Mapping
from dataclasses import MISSING
from inspect import isabstract
from typing import Any

from sfumato.catalogue import Catalogue
from sfumato.errors import PolicyError, nearest
from sfumato.requirement.base import Requirement

MODELS: Catalogue[Requirement] = Catalogue(
    "sfumato.requirement",
    {
        "k-anonymity": "k_anonymity.KAnonymity",
        "k-map": "k_map.KMap",
        "l-diversity": "l_diversity.LDiversity",
        "t-closeness": "t_closeness.TCloseness",
        "beta-likeness": "beta_likeness.BetaLikeness",
        "delta-disclosure": "delta_disclosure.DeltaDisclosure",
        "alpha-k": "alpha_k.AlphaK",
        "anonymity": "templates.Anonymity",
        "confidentiality": "templates.Confidentiality",
        "m-confidentiality": "m_confidentiality.MConfidentiality",
        "disclosure": "disclosure.Disclosure",
        "rho-breach": "corruption.RhoBreach",
        "growth": "corruption.Growth",
        "r-robustness": "r_robustness.RRobustness",
    },
)


def from_table(entry: Mapping[str, Any]) -> Requirement:
    """The requirement that a ``[[require]]`` table of a policy, or an entry of a manifest, describes.

    >>> from_table({"model": "k-anonymity", "k": 5})
    KAnonymity(k=5, entity=None)
    """
    parameters = dict(entry)
    if "over" in parameters:
        from sfumato.requirement.join_template import join_template

        return join_template(from_table({n: v for n, v in entry.items() if n != "over"}), parameters["over"])
    model = parameters.pop("model", None)
    if model is None:
        raise PolicyError(f"a requirement needs a model; name one of {', '.join(MODELS)}").about("model")
    if not isinstance(model, str) or model not in MODELS:
        raise PolicyError(f"there is no requirement model {model!r}{nearest(str(model), MODELS)}").about("model")
    cls = MODELS[model]
    known = cls.public_fields()
    for name in parameters:
        if name not in known:
            raise PolicyError(f"{model} has no parameter {name!r}{nearest(name, known)}").about(name)
    for name, f in known.items():
        if name not in parameters and f.default is MISSING:
            raise PolicyError(f"{model} needs the parameter {name!r}").about(name)
    try:
        return cls(**{known[name].name: value for name, value in parameters.items()})
    except TypeError as e:
        if isabstract(cls):  # a model that is not finished: the fault is not in the policy
            raise
        raise PolicyError(f"{model}: a parameter has the wrong type ({e})") from None
