"""What every adversary of an audit is: what it knows, whether it applies, and what it finds."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.finding import AdversaryFinding, finding
from sfumato.errors import SfumatoError
from sfumato.release.check.claims import claimed

if TYPE_CHECKING:
    from sfumato.adversary.situation import Situation

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Adversary(ABC):
    """An adversary with its parameters. A wrong value never survives its constructor."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """What it knows and wants, in one sentence."""
    closed_form: ClassVar[bool] = True
    """Whether it is computed from counts alone, so that `publish` can run it on any table."""

    def refuses(self, situation: "Situation") -> str | None:
        """Why it does not apply to this release and this truth, or None."""
        return None

    def variants(self, situation: "Situation") -> int:
        """How many findings there are if there is time for all."""
        return len(situation.sensitive)

    @abstractmethod
    def findings(self, situation: "Situation") -> Iterator[AdversaryFinding]:
        """What it finds, one variant at a time; a caller may stop after any of them."""

    def learned(
        self,
        situation: "Situation",
        belief: Floats,
        before: Floats | float,
        *,
        attack: str,
        attribute: str = "",
        entries: Integers | None = None,
        **more: Any,
    ) -> AdversaryFinding:
        """A finding about entries of the truth (all of them, or some), and the claims that it refutes."""
        weights, rows = situation.weights, situation.rows
        if entries is not None:
            weights, rows = weights[entries], None if rows is None else rows[entries]
        given = {"weights": weights, "rows": rows, "margin": situation.margin} | more
        found = finding(self.name, belief=belief, before=before, **given)
        if not (found.exact or found.bound) or found.expected:
            return found
        return replace(found, broken=tuple(refuted(situation, attack, attribute, belief, before)))


def refuted(
    situation: "Situation", attack: str, attribute: str, belief: Floats, before: Floats | float
) -> Iterator[str]:
    """The claims of the manifest that beliefs in the truth refute; claims that cannot be read are left to the check."""
    prior = np.broadcast_to(np.asarray(before, np.float64), belief.shape)
    for claim in situation.release.description.requirements:
        with contextlib.suppress(SfumatoError, TypeError, ValueError):
            if claimed(claim).exceeded(attack, attribute, belief, prior):
                what = f" about {attribute}" if attribute else ""
                yield f"{claim.model}: {claim.words}, but a {attack} attack{what} is right with {belief.max():.4g}"


def several_rows(situation: "Situation") -> str | None:
    """Why beliefs about rows would not be beliefs about people, or None."""
    if situation.several_rows is None:
        return None
    return (
        f"people have several rows ({situation.several_rows}), and what a person's rows give away together is not "
        "computed; aggregate them to one row per person"
    )
