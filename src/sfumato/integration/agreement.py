"""What two publishers must agree on before anything else: compared by digest, explained in words if it differs.

Joint terms (title, requirements, method, class, versions) are in both policies; only their digests travel. The columns
that each side brings are told to the other by name, and the requirements, which name columns of both, are checked
against them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import PeerError, PolicyError, SfumatoError, nearest
from sfumato.integration.channel import Channel
from sfumato.integration.wire import Message, Reason, letter
from sfumato.requirement.base import Requirement, names
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.table.taxonomy import named

PROTOCOL = 1
"""The version of how the two sides process their messages."""
_MOST_BYTES = 1 << 22
_MOST_COLUMNS = 10_000
_MOST_TERMS = 100
_LONGEST_NAME = 10_000


@dataclass(frozen=True)
class Offer:
    """The columns that a publisher brings: those that templates mask, and those that are published unchanged."""

    masked: tuple[str, ...]
    unchanged: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are published."""
        return (*self.masked, *self.unchanged)


@dataclass(frozen=True)
class Joint:
    """The columns of both sides in the joint order: those of party A, then those of party B."""

    offers: Mapping[int, Offer]
    class_name: str | None

    @property
    def masked(self) -> list[str]:
        """The attributes that templates mask."""
        return [name for party in sorted(self.offers) for name in self.offers[party].masked]

    @property
    def holder(self) -> int | None:
        """The party that brings columns that are published unchanged; None if there are no such columns."""
        return next((party for party in sorted(self.offers) if self.offers[party].unchanged), None)


def agree(
    channel: Channel,
    terms: Mapping[str, Any],
    offer: Offer,
    requirements: Sequence[Requirement],
    class_name: str | None,
) -> Joint:
    """Compare the joint terms and exchange the names of columns; raise on both sides if they do not fit."""
    mine = {"terms": {key: digest(value) for key, value in terms.items()}, "columns": [offer.masked, offer.unchanged]}
    received = channel.exchange(Message.AGREEMENT, json.dumps(mine).encode(), at_most=_MOST_BYTES)
    try:
        theirs, digests = _parsed(received)
    except PeerError as error:
        raise channel.fail(Reason.BAD_MESSAGE, str(error)) from None
    try:
        _refuse_other_terms(terms, digests, channel.peer)
        joint = Joint({channel.party: offer, channel.peer: theirs}, class_name)
        refuse_unfit(joint, requirements)
    except SfumatoError:
        channel.abort(Reason.POLICY_DIFFERS)
        raise
    return joint


def digest(value: object) -> str:
    """A digest of something that both policies state."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _parsed(received: bytes) -> tuple[Offer, dict[str, str]]:
    try:
        told = json.loads(received.decode())
        masked, unchanged = told["columns"]
        digests = told["terms"]
        columns = [*masked, *unchanged]
    except (ValueError, RecursionError, TypeError, KeyError):
        raise PeerError("the other publisher's terms cannot be read; check that both run the same version") from None
    known = isinstance(digests, dict) and len(digests) <= _MOST_TERMS
    texts = [*columns, *digests, *digests.values()] if known else []
    long = any(not isinstance(text, str) or len(text) > _LONGEST_NAME for text in texts)
    if not known or long or len(columns) > _MOST_COLUMNS:
        raise PeerError("the other publisher's terms cannot be read; check that both run the same version")
    return Offer(tuple(masked), tuple(unchanged)), digests


def _refuse_other_terms(terms: Mapping[str, Any], digests: Mapping[str, str], peer: int) -> None:
    """Refuse terms that differ, naming each with what this side states."""
    told = [f"{key} (here: {_short(value)})" for key, value in terms.items() if digests.get(key) != digest(value)]
    told += [f"{key} (stated only there)" for key in digests if key not in terms]
    if told:
        raise PolicyError(
            f"the two sides do not agree on {'; '.join(told)}; party {letter(peer)} states something else. What both "
            "policies share must be the same in both: correct one of them and start both again"
        )


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return repr(text) if len(text) <= 300 else f"{text[:300]!r}…"


def refuse_unfit(joint: Joint, requirements: Sequence[Requirement]) -> None:
    """Refuse columns and requirements that two publishers cannot serve, in the same words on both sides."""
    columns = [name for party in sorted(joint.offers) for name in joint.offers[party].names]
    columns += [joint.class_name] if joint.class_name is not None else []
    if twice := sorted({n for n in columns if columns.count(n) > 1}):
        raise PolicyError(
            f"both publishers have a column {named(twice)}; only the class and the key may be in both tables: let "
            'one side leave it out (role "identifier"), or rename it'
        )
    if all(offer.unchanged for offer in joint.offers.values()):
        both = [f"{letter(party)}: {named(joint.offers[party].unchanged)}" for party in sorted(joint.offers)]
        raise PolicyError(
            f"both publishers have columns that are published unchanged ({'; '.join(both)}); only one side may, since "
            'rows are assembled where these columns are: let one side leave them out (role "identifier")'
        )
    for requirement in requirements:
        _refuse_unserved(joint, requirement)


def linked(requirement: Requirement) -> tuple[str, ...]:
    """The attributes whose values a requirement counts."""
    return names(list(getattr(requirement, "y", None) or ()))


def _refuse_unserved(joint: Joint, requirement: Requirement) -> None:
    """Refuse a requirement that names unknown columns, or counts values that only one of its holders knows."""
    if isinstance(requirement, KAnonymity) and requirement.entity is not None:
        raise PolicyError(
            f"k-anonymity with entity = {requirement.entity!r}: two publishers join one record per person, so leave "
            "entity out"
        )
    x = names(getattr(requirement, "x", None)) or tuple(joint.masked)
    for name in x:
        if name not in joint.masked:
            raise PolicyError(
                f"{requirement.model}: neither publisher has the quasi-identifier {name!r}{nearest(name, joint.masked)}"
            )
    for name in linked(requirement):
        if name == joint.class_name:
            continue
        holder = next((o for o in joint.offers.values() if name in o.unchanged), None)
        if holder is None:
            raise PolicyError(
                f"{requirement.model}: y names {name!r}, which neither publisher publishes unchanged; name the class "
                "or a sensitive attribute, or leave y out to count records"
            )
        if not set(x) <= set(holder.masked):
            raise PolicyError(
                f"{requirement.model}: y names {name!r}, which only one publisher knows, so x must name only "
                f"attributes of that publisher ({named(holder.masked)}); the other could not check its own refinements"
            )
