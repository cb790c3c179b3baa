"""The privacy models of an ARX project, as ARX writes them, in the words of a policy."""

import re
from collections.abc import Callable
from typing import Any

RequirementEntry = dict[str, Any]
_NUMBER = r"([0-9.eE+-]+)"
_FOR = r" for attribute '(.*)'"


def _whole(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


_MODELS: tuple[tuple[str, Callable[..., RequirementEntry]], ...] = (
    (rf"\(?{_NUMBER}\)?-anonymity", lambda k: {"model": "k-anonymity", "k": _whole(k)}),
    (
        rf"distinct-{_NUMBER}-diversity{_FOR}",
        lambda l, a: {"model": "l-diversity", "variant": "distinct", "l": _whole(l), "sensitive": a},
    ),
    (
        rf"(?:shannon-)?entropy-{_NUMBER}-diversity{_FOR}",
        lambda l, a: {"model": "l-diversity", "variant": "entropy", "l": _whole(l), "sensitive": a},
    ),
    (
        rf"recursive-\({_NUMBER}, ?{_NUMBER}\)-diversity{_FOR}",
        lambda c, l, a: {
            **{"model": "l-diversity", "variant": "recursive", "c": _whole(c), "l": _whole(l), "sensitive": a}
        },
    ),
    (
        rf"{_NUMBER}-closeness with (equal|hierarchical|ordered) distance{_FOR}",
        lambda t, how, a: {"model": "t-closeness", "t": _whole(t), "distance": how, "sensitive": a},
    ),
    (
        rf"(basic|enhanced)-{_NUMBER}-likeness{_FOR}",
        lambda kind, b, a: {
            **{"model": "beta-likeness", "beta": _whole(b), "enhanced": kind == "enhanced", "sensitive": a}
        },
    ),
    (
        rf"{_NUMBER}-disclosure privacy{_FOR}",
        lambda d, a: {"model": "delta-disclosure", "delta": _whole(d), "sensitive": a},
    ),
)


def requirement_of(text: str) -> RequirementEntry | None:
    """The requirement that a model of ARX means; None if there is none.

    >>> requirement_of("distinct-3-diversity for attribute 'disease'")
    {'model': 'l-diversity', 'variant': 'distinct', 'l': 3, 'sensitive': 'disease'}
    >>> requirement_of("(1.0E-6,1.0E-5)-differential privacy") is None
    True
    """
    for pattern, entry in _MODELS:
        if match := re.fullmatch(pattern, text.strip(), re.DOTALL):
            try:
                return entry(*match.groups())
            except ValueError:
                return None
    return None


_LOSSES = {
    "loss": "arx",
    "precision": "precision",
    "discernability": "discernibility",
    "discernibility": "discernibility",
    "average equivalence class size": "aecs",
}


def loss_of(metric: str) -> str | None:
    """The loss of full-domain search that a quality model of ARX means; None if there is none.

    >>> loss_of("Average equivalence class size (gs-factor=0.5)"), loss_of("Non-uniform entropy")
    ('aecs', None)
    """
    bare = re.sub(r"[^a-z ].*", "", metric.strip().casefold()).strip()
    return _LOSSES.get(bare)
