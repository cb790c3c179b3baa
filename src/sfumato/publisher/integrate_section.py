"""The ``[integrate]`` table of a policy: which of the two publishers this is, and how it proves that."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import PolicyError, nearest

PARTIES = {"A": 1, "B": 2}
_FILES = ("certificate", "key_file", "authority")
_KEYS = ("party", "key", "psi", *_FILES)


@dataclass(frozen=True, kw_only=True)
class IntegrateSection:
    """One side of an integration: its party number, the column that aligns records, and the files of its identity.

    ``intersect``: only records that both sides have are published, and the others stay unknown to the other side.
    """

    party: int
    key: str
    intersect: bool
    certificate: Path
    key_file: Path
    authority: Path

    @classmethod
    def parse(cls, table: object, *, name: str, folder: Path) -> "IntegrateSection":
        """Check the table; file names in it are relative to ``folder``."""
        where = f"[integrate] of {name}"
        if not isinstance(table, dict):
            raise PolicyError(f"{where} must be a table with party, key or psi, certificate, key_file and authority")
        for key in table:
            if key not in _KEYS:
                raise PolicyError(f"{where} has the unknown key {key!r}{nearest(key, _KEYS)}")
        if table.get("party") not in PARTIES:
            raise PolicyError(f'party in {where} is {table.get("party")!r}; it must be "A" or "B", one on each side')
        if ("key" in table) == ("psi" in table):
            raise PolicyError(
                f"{where} must have either key (both sides have the same records) or psi (only records that both sides "
                "have are published)"
            )
        column = _text(table, "key" if "key" in table else "psi", where)
        files = {file: folder / _text(table, file, where) for file in _FILES}
        return cls(party=PARTIES[table["party"]], key=column, intersect="psi" in table, **files)


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value or "\0" in value:
        hint = "; `sfumato integrate --make-certificates DIR` makes such files" if key in _FILES else ""
        raise PolicyError(f"{key} in {where} is {value!r}; it must be a string{hint}")
    return value
