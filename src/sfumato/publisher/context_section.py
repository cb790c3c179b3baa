"""The ``[context]`` table of a policy: who publishes, for whom and for what, for the signed certificate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.errors import PolicyError, nearest
from sfumato.release.manifest import CONTEXT

_DISCLOSE = "disclose"
_LONGEST = 2000


@dataclass(frozen=True, kw_only=True)
class ContextSection:
    """What the certificate says about the context; only the keys in ``disclose`` are public.

    >>> ContextSection.parse({"operator": "Ward 7", "purpose": "teaching", "disclose": ["purpose"]}, name="p").public()
    {'purpose': 'teaching'}
    """

    told: Mapping[str, str]
    disclose: tuple[str, ...] = ()

    @classmethod
    def parse(cls, table: object, *, name: str) -> "ContextSection":
        """Check the table."""
        where = f"[context] of {name}"
        if not isinstance(table, dict) or not table:
            raise PolicyError(f"{where} must be a table with {', '.join(CONTEXT)}, each of them optional")
        for key in table:
            if key not in (*CONTEXT, _DISCLOSE):
                raise PolicyError(f"{where} has the unknown key {key!r}{nearest(key, (*CONTEXT, _DISCLOSE))}")
        told = {key: _text(table[key], key, where) for key in CONTEXT if key in table}
        return cls(told=told, disclose=_disclosed(table.get(_DISCLOSE, []), told, where))

    def public(self) -> dict[str, str]:
        """What the manifest and README.html may say."""
        return {key: self.told[key] for key in CONTEXT if key in self.disclose}


def _text(value: Any, key: str, where: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST or not value.isprintable():
        raise PolicyError(
            f"{key} in {where} must be a string on one line, of at most {_LONGEST:,} characters; remove it if it is "
            "unknown"
        )
    return value.strip()


def _disclosed(value: Any, told: Mapping[str, str], where: str) -> tuple[str, ...]:
    """The keys that may be public; each must be there."""
    if not isinstance(value, list) or not all(isinstance(key, str) for key in value):
        raise PolicyError(f'disclose in {where} must be a list of keys that recipients may see, e.g. ["operator"]')
    for key in value:
        if key not in told:
            raise PolicyError(
                f"disclose in {where} names {key!r}, which the table does not have{nearest(key, told)}; add it, or "
                "remove it from the list"
            )
    return tuple(dict.fromkeys(value))
