"""What `sfumato init` requires of a table, and what it requires if that is more than the table allows."""

from collections.abc import Sequence

from sfumato.method.choice import WantedOfJob, eligible
from sfumato.publisher.column_roles import Profile, texts
from sfumato.publisher.proposal import Ask, ProposedMethod, ProposedRequirement
from sfumato.requirement.catalogue import from_table as requirement_from_table

K, ROWS_FOR_K = 5, 50
MARGIN = 0.9
"""Of 1/l: how common the most common sensitive value may be."""
BOUNDS = (0.1, 0.2, 0.25, 0.35, 0.5)
"""The confidence limits to propose; each must leave room above the share in the whole table."""
_MOST_BOUNDED = 8


def proposed_k(people: int) -> int:
    """The group size: 5, or less in a small table."""
    return min(K, max(2, people * K // ROWS_FOR_K))


def asks(k: int, people: int, entity: Profile | None, private: Sequence[Profile]) -> list[Ask]:
    """What to require, the most first: each asks for less than the one before."""
    hidden = _anonymity(k, people, entity)
    steps = (
        [[hidden]]
        if entity
        else [[hidden, *(_about(p, step, len(private) == 1) for p in private)] for step in (0, 1, 2)]
    )
    steps.append([hidden])
    found: list[Ask] = []
    for needed in steps:
        if not found or [n.entry for n in needed] != [n.entry for n in found[-1].requirements]:
            found.append(Ask(tuple(needed), _method([n.entry for n in needed], private)))
    return found


def _anonymity(k: int, people: int, entity: Profile | None) -> ProposedRequirement:
    reason = f"Everyone is hidden among at least {k} people"
    if k < K:
        reason += f"; no more than {k}, since the table has only {people}"
    if entity is None:
        return ProposedRequirement(entry={"model": "k-anonymity", "k": k}, reason=reason + ".")
    reason += f"; {entity.name!r} repeats ({entity.rows:,} rows of {people:,} people), so k counts people."
    return ProposedRequirement(entry={"model": "k-anonymity", "k": k, "entity": entity.name}, reason=reason)


def _about(seen: Profile, step: int, alone: bool) -> ProposedRequirement:
    """The requirement on a sensitive attribute: diversity, or a bound on the others if a value is too common."""
    fits = [most for most in (3, 2) if likely(seen) * most <= MARGIN]
    bounds = _bounds(seen)
    if step == 2 or not (fits or bounds):
        return _distinct(seen, alone)
    if not fits:
        return _confidentiality(seen, bounds[min(step, len(bounds) - 1)])
    return _diversity(seen, fits[step:] or fits[-1:], alone)


def _diversity(seen: Profile, fits: Sequence[int], alone: bool) -> ProposedRequirement:
    """As much diversity as the most common value leaves room for; if mondrian+ can serve it, as much as lets it cut."""
    l = next((most for most in fits if alone and _cuts(seen, most)), fits[0])
    reason = f"Of {seen.name!r}, no value makes up more than 1/{l} of a group; {_share(seen)}."
    if l != fits[0]:
        reason += f" With l = {fits[0]}, mondrian+ could not cut, and mondrian would reveal something by its cuts."
    return _of(seen, {"model": "l-diversity", "variant": "frequency", "l": l}, alone, reason)


def _distinct(seen: Profile, alone: bool) -> ProposedRequirement:
    reason = f"Of {seen.name!r}, at least two values per group, which bounds no probability; {_share(seen)}."
    return _of(seen, {"model": "l-diversity", "variant": "distinct", "l": 2}, alone, reason)


def _of(seen: Profile, entry: dict[str, str | int], alone: bool, reason: str) -> ProposedRequirement:
    return ProposedRequirement(entry=entry if alone else {**entry, "sensitive": seen.name}, reason=reason)


def _share(seen: Profile) -> str:
    return f"in the whole table the most common one makes up {likely(seen):.1%}"


def _confidentiality(seen: Profile, bound: float) -> ProposedRequirement:
    """A limit on the confidence in every value but the most common one, which says little about a person."""
    common, others = _apart(seen)
    told = ", ".join(map(repr, others[:3])) + (" …" if len(others) > 3 else "")
    reason = (
        f"{common!r} is too common for diversity of {seen.name!r} ({likely(seen):.1%} of the rows), so the confidence "
        f"in the other values is bounded: nobody may be inferred to have {told} with a confidence above {bound:g} "
        f"({_rarer(seen):.1%} in the whole table)."
    )
    return ProposedRequirement(
        entry={"model": "confidentiality", "y": {seen.name: list(others)}, "k": bound}, reason=reason
    )


def _apart(seen: Profile) -> tuple[str, tuple[str, ...]]:
    """The most common value, and the others."""
    common = seen.values.gather([int(seen.counts.arg_max() or 0)])
    return texts(common)[0], texts(seen.values.filter(~seen.values.is_in(common.implode())))


def _rarer(seen: Profile) -> float:
    """The share of the second most common value."""
    ordered = seen.counts.sort(descending=True)
    return float(ordered[1]) / max(1, seen.rows) if len(ordered) > 1 else 0.0


def _bounds(seen: Profile) -> list[float]:
    """The limits that leave room: twice the share of each rarer value, as far as there are such."""
    if not 2 <= seen.distinct <= _MOST_BOUNDED + 1 or seen.nulls > seen.counts.to_numpy().max():
        return []
    return [b for b in BOUNDS if b >= 2 * _rarer(seen)] or [b for b in BOUNDS[-1:] if b * MARGIN >= _rarer(seen)]


def likely(seen: Profile) -> float:
    """The share of the most common value (empty counts as one): an outsider's best blind guess."""
    return float(seen.counts.to_numpy().max(initial=seen.nulls) / max(1, seen.rows))


def _cuts(seen: Profile, l: float) -> bool:
    """Whether mondrian+ cuts the whole table: only if no value makes up more than 1/(2l) of it."""
    return likely(seen) * 2 * l <= 1


def _method(entries: Sequence[dict[str, object]], private: Sequence[Profile]) -> ProposedMethod:
    """None, so that one is chosen that is not refuted; if only refuted ones can serve, the steward has to agree."""
    needed = [requirement_from_table({"sensitive": private[0].name, **e} if _is_diverse(e) else e) for e in entries]
    if not eligible(WantedOfJob(needed, ())):
        return ProposedMethod(
            "mondrian",
            "mondrian serves this, but where it cuts depends on the protected values, which reveals something about "
            "them to an adversary who knows the algorithm. Methods without that flaw serve frequency l-diversity "
            "and k-anonymity that counts rows. sfumato never chooses a refuted method by itself, so this line is "
            "your decision.",
        )
    if len(needed) == 1:
        why = "no requirement depends on sensitive values, so groups reveal nothing about them"
        return ProposedMethod(None, f"No [method]: sfumato chooses one when it publishes; {why}.")
    why = "one that keeps l-diversity against an adversary who knows the algorithm"
    costs = "If too much is lost, lower l: `sfumato compare` shows what each method and each l costs."
    return ProposedMethod(None, f"No [method]: sfumato chooses {why}. {costs}")


def _is_diverse(entry: dict[str, object]) -> bool:
    return entry["model"] == "l-diversity"
