"""All methods by name, and how a policy's ``[method]`` table becomes one."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sfumato.catalogue import Catalogue
from sfumato.errors import PolicyError, nearest
from sfumato.method.base import Method
from sfumato.release.manifest import Manifest

METHODS: Catalogue[Method] = Catalogue(
    "sfumato.method",
    {
        "mondrian": "mondrian.Mondrian",
        "mondrian+": "mondrian_plus.MondrianPlus",
        "mondrian++": "mondrian_plus.MondrianPlusPlus",
        "mondrian-blur": "blur.mondrian_blur.MondrianBlur",
        "hilb": "hilb.Hilb",
        "hilb+": "hilb.HilbPlus",
        "hilb++": "hilb.HilbPlusPlus",
        "hilb-safe": "hilb_safe.HilbSafe",
        "anatomy": "anatomy.Anatomy",
        "mask": "mask.mask.Mask",
        "mask+": "mask.mask.MaskPlus",
        "mask++": "mask.mask.MaskPlusPlus",
        "rr": "rr.rr.RandomizedResponse",
        "pg": "pg.PG",
        "incognito": "incognito.incognito.Incognito",
        "local-recoding": "local_recoding.local_recoding.LocalRecoding",
        "tdr": "topdown.topdown.TopDown",
        "tdd": "topdown.topdown.TopDownDisclosure",
        "tds2p": "topdown.two_party.TopDownTwoParty",
        "tdssa": "topdown.sequential.TopDownSequential",
        "art": "art.art.Art",
        "injector": "injector.Injector",
    },
)


def from_table(entry: Mapping[str, Any]) -> Method:
    """The method that a ``[method]`` table describes.

    >>> from_table({"name": "mondrian", "strict": False})
    Mondrian(scheme='generalization', strict=False, labels='siblings', cuts='median')
    """
    settings = dict(entry)
    name = settings.pop("name", None)
    if not isinstance(name, str) or name not in METHODS:
        raise PolicyError(f"there is no method {name!r}{nearest(str(name), METHODS)}").about("name")
    cls = METHODS[name]
    known = [f.name for f in fields(cls)]
    for setting in settings:
        if setting not in known:
            raise PolicyError(f"{name} has no setting {setting!r}{nearest(setting, [*known, 'name'])}").about(setting)
    return cls(**settings)


def from_manifest(manifest: Manifest) -> Method:
    """The method that a manifest says made its release."""
    name = manifest.method.name
    if name not in METHODS:
        raise PolicyError(f"there is no method {name!r}{nearest(name, METHODS)}")
    return METHODS[name].from_manifest(manifest)
