"""The ``[[audit]]`` tables of a policy: the adversaries whose parameters differ from the default."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.errors import PolicyError

if TYPE_CHECKING:
    from sfumato.adversary.base import Adversary


def parse_audit(entries: object, where: str) -> tuple["Adversary", ...]:
    """The adversaries that a policy describes; several of the same name are several attacks."""
    if entries is None:
        return ()
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise PolicyError(f'audit of {where} must be tables: write [[audit]] and below it adversary = "corruption"')
    from sfumato.adversary.catalogue import from_table

    return tuple(from_table(entry) for entry in entries)


def chosen_by(names: Sequence[str], described: Sequence["Adversary"]) -> list["Adversary"]:
    """The adversaries of these names, or all: as the policy describes them, otherwise with their default parameters."""
    from sfumato.adversary.catalogue import ADVERSARIES, from_table

    chosen = []
    for name in dict.fromkeys(names or ADVERSARIES):
        chosen += [a for a in described if a.name == name] or [from_table({"adversary": name})]
    return chosen
