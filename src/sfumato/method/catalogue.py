"""All methods by name, and how a policy's ``[method]`` table becomes one."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sfumato.errors import PolicyError, nearest
from sfumato.method.anatomy import Anatomy
from sfumato.method.art.art import Art
from sfumato.method.base import Method
from sfumato.method.hilb import Hilb, HilbPlus, HilbPlusPlus
from sfumato.method.hilb_safe import HilbSafe
from sfumato.method.incognito.incognito import Incognito
from sfumato.method.injector import Injector
from sfumato.method.mask.mask import Mask, MaskPlus, MaskPlusPlus
from sfumato.method.mondrian import Mondrian
from sfumato.method.mondrian_plus import MondrianPlus, MondrianPlusPlus
from sfumato.method.pg import PG
from sfumato.method.rr.rr import RandomizedResponse
from sfumato.method.topdown.topdown import TopDown, TopDownDisclosure
from sfumato.method.topdown.two_party import TopDownTwoParty

METHODS: dict[str, type[Method]] = {
    cls.name: cls
    for cls in (
        Mondrian,
        MondrianPlus,
        MondrianPlusPlus,
        Hilb,
        HilbPlus,
        HilbPlusPlus,
        HilbSafe,
        Anatomy,
        Mask,
        MaskPlus,
        MaskPlusPlus,
    )
}
METHODS[RandomizedResponse.name] = RandomizedResponse
METHODS[PG.name] = PG

METHODS[Incognito.name] = Incognito
METHODS |= {cls.name: cls for cls in (TopDown, TopDownDisclosure, TopDownTwoParty)}
METHODS |= {cls.name: cls for cls in (Art, Injector)}


def from_table(entry: Mapping[str, Any]) -> Method:
    """The method that a ``[method]`` table describes.

    >>> from_table({"name": "mondrian", "strict": False})
    Mondrian(scheme='generalization', strict=False, labels='siblings')
    """
    settings = dict(entry)
    name = settings.pop("name", None)
    if not isinstance(name, str) or name not in METHODS:
        raise PolicyError(f"there is no method {name!r}{nearest(str(name), METHODS)}")
    cls = METHODS[name]
    known = [f.name for f in fields(cls)]
    for setting in settings:
        if setting not in known:
            raise PolicyError(f"{name} has no setting {setting!r}{nearest(setting, [*known, 'name'])}")
    return cls(**settings)


def from_manifest(manifest: Mapping[str, Any]) -> Method:
    """The method that a manifest says made its release."""
    name = manifest["method"].get("name")
    if not isinstance(name, str) or name not in METHODS:
        raise PolicyError(f"there is no method {name!r}{nearest(str(name), METHODS)}")
    return METHODS[name].from_manifest(manifest)
