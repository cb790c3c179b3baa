"""What each requirement promises and what it does not, in plain words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.method.catalogue import METHODS
from sfumato.report.plots import percent
from sfumato.requirement.base import rounded_up
from sfumato.requirement.catalogue import MODELS, from_table

Entry = Mapping[str, Any]

_AT_LEAST = {
    "k": ("k-anonymity", "anonymity", "alpha-k"),
    "l": ("l-diversity",),
    "m": ("m-confidentiality",),
    "r": ("r-robustness",),
}
_AT_MOST = {"k": ("confidentiality",), "alpha": ("alpha-k",), "t": ("t-closeness",), "c": ("l-diversity",)}
_AT_MOST |= {"rho2": ("rho-breach",), "delta": ("growth",)}
_AT_MOST["tau"] = ("disclosure",)


@dataclass(frozen=True)
class Guarantee:
    """A requirement's promise, and its limits."""

    name: str
    promise: str
    limits: tuple[str, ...]


def figure(value: object) -> str:
    """A parameter as a person writes it.

    >>> figure(5), figure(3.0), figure(0.59783), figure(["age", "sex"]), figure({"HIV": 0.5})
    ('5', '3', '0.5978', 'age, sex', 'HIV: 0.5')
    """
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {figure(v)}" for name, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(figure(v) for v in value)
    return str(value)


def in_words(entry: Entry) -> str:
    """A requirement of a manifest as a sentence: derived from what is required, whatever the manifest says."""
    if entry["model"] not in MODELS:
        return str(entry.get("words") or entry["model"])
    return from_table({"model": entry["model"], **entry["required"]}).words()


def is_met(entry: Entry) -> bool:
    """Whether what was achieved is no worse than what was required, as far as numbers can be compared."""
    required, model = entry["required"], entry["model"]
    for name, achieved in entry["achieved"].items():
        limit = required["k"].get(name) if isinstance(required.get("k"), Mapping) else required.get(name)
        if not isinstance(limit, int | float):
            continue
        slack = 1e-9 * max(1.0, abs(limit))
        if model in _AT_LEAST.get(name, ()) and achieved < limit - slack:
            return False
        if (model in _AT_MOST.get(name, ()) or model == "confidentiality") and achieved > limit + slack:
            return False
    return True


_RULED_OUT = (
    "Who knows more than the quasi-identifiers, and can rule out some people or values of a group, is left with "
    "fewer and may conclude more."
)
_SIMILAR = (
    "Values that differ but mean nearly the same are counted as different, so a group may still tell what kind of "
    "value its people have."
)
_SHARED = (
    "It does not look at sensitive values: where all rows of a group share one, everyone in the group is known to "
    "have it (homogeneity)."
)
_ONE_ROW = "It counts rows and assumes that each person has one; people with several are protected less."
_MANY_ROWS = (
    "Whoever knows that one of these people has more rows than the others ascribes a row to that person with a higher "
    "probability."
)


def _k_anonymity(required: Entry, achieved: Entry) -> Guarantee:
    k, who = achieved.get("k", required.get("k")), "people" if required.get("entity") else "rows"
    return Guarantee(
        "k-anonymity",
        f"Whoever knows a person's quasi-identifiers finds at least {figure(k)} {who} that fit equally well, and picks "
        f"the right one with a probability of at most {percent(1 / k)}.",
        (_SHARED, _RULED_OUT, _MANY_ROWS if required.get("entity") else _ONE_ROW),
    )


def _l_diversity(required: Entry, achieved: Entry) -> Guarantee:
    l = figure(required.get("l"))
    variant = required.get("variant", "frequency")
    promise, limit = {
        "distinct": (
            f"Every group holds at least {l} different sensitive values.",
            "It bounds no probability: one value may be far more frequent in a group than all others.",
        ),
        "entropy": (
            f"The sensitive values of every group are spread at least as evenly as {l} equally frequent ones "
            "(their entropy is at least the logarithm).",
            f"Entropy is an average: a single value may still be more likely than 1/{l}.",
        ),
        "recursive": (
            f"The most frequent sensitive value of a group is bounded by the rarer ones, the {l}th most frequent and "
            "those after it, so that it does not outweigh them even after some values have been ruled out.",
            "The bound is relative to the rarer values; it is not a limit on the probability of a value.",
        ),
        "frequency": (
            f"Whoever finds a person's group can ascribe no sensitive value to the person with more confidence than "
            f"1/{l}.",
            "Rare values are treated as frequent ones: a group may make a rare value much more likely than it is "
            "in the whole table.",
        ),
    }[variant]
    return Guarantee(f"{variant.capitalize()} l-diversity", promise, (limit, _SIMILAR, _ONE_ROW))


def _t_closeness(required: Entry, achieved: Entry) -> Guarantee:
    return Guarantee(
        "t-closeness",
        "The sensitive values of a group are distributed nearly as in the whole table, at a distance of at most "
        f"{figure(required.get('t'))}, so that finding a person's group tells little that the whole table does not.",
        (
            "What the whole table tells about everybody in it is not hidden.",
            "It bounds a distance between distributions, not the confidence in a value: with the equal distance a "
            "value's share in a group may exceed its share in the table by t, with the other distances by more.",
            _ONE_ROW,
        ),
    )


def _alpha_k(required: Entry, achieved: Entry) -> Guarantee:
    k, alpha = figure(required.get("k")), figure(required.get("alpha"))
    return Guarantee(
        "(α, k)-anonymity",
        f"Whoever knows a person's quasi-identifiers finds at least {k} rows that fit equally well, and can ascribe no "
        f"sensitive value to the person with a confidence above {alpha}.",
        (_SIMILAR, _ONE_ROW),
    )


def _anonymity(required: Entry, achieved: Entry) -> Guarantee:
    x, y = figure(required.get("x", "the quasi-identifiers")), figure(required.get("y", "rows"))
    return Guarantee(
        "⟨X, Y⟩-anonymity",
        f"Whoever knows a person's {x} is left with at least {figure(required.get('k'))} different {y}.",
        (
            f"It speaks of {x} only; who knows further attributes may be left with fewer.",
            *(() if required.get("y") else (_SHARED, _ONE_ROW)),
        ),
    )


def _confidentiality(required: Entry, achieved: Entry) -> Guarantee:
    x, y = figure(required.get("x", "the quasi-identifiers")), required.get("y", "")
    named = figure(list(y)) if isinstance(y, Mapping) else figure(y)
    return Guarantee(
        "⟨X, Y⟩-confidentiality",
        f"From a person's {x} no protected value of {named} follows with a confidence above its limit "
        f"({figure(required.get('k'))}).",
        (
            f"It speaks of {x} only; from further attributes more may follow.",
            "It does not keep people from being found: a group may be small, even one row.",
            _ONE_ROW,
        ),
    )


_INDEPENDENT = (
    "It takes the victim’s value for independent of the values of others. Where people share a value for a common "
    "reason (a family, an outbreak), what is known of others tells of the victim, and the row of another may tell as "
    "much as his own."
)


def _rho_breach(required: Entry, achieved: Entry) -> Guarantee:
    return Guarantee(
        "No ρ1-to-ρ2 breach under corruption",
        f"Take anyone who gives no value of the victim more than {figure(required.get('lambda'))}, and a statement "
        f"about it that he holds for at most {figure(required.get('rho1'))} likely. Even if he knows the values of all "
        f"others, after the release he holds it for at most {_up(achieved.get('rho2'))} likely (the worst attack; by "
        f"theorem {_up(achieved.get('rho2_by_theorem'))}). Required is {figure(required.get('rho2'))}.",
        (_INDEPENDENT, _ONE_ROW, "Who is surer than that before is not bound by it."),
    )


def _growth(required: Entry, achieved: Entry) -> Guarantee:
    return Guarantee(
        "No Δ-growth breach under corruption",
        f"The confidence of anyone who gives no value of the victim more than {figure(required.get('lambda'))} in any "
        f"statement about it grows by at most {_up(achieved.get('delta'))} (the worst attack; by theorem "
        f"{_up(achieved.get('delta_by_theorem'))}), even if he knows the values of all others. Required is "
        f"{figure(required.get('delta'))}.",
        (_INDEPENDENT, _ONE_ROW),
    )


def _up(value: object) -> str:
    """A probability, rounded up."""
    return figure(rounded_up(value)) if isinstance(value, int | float) else "unknown"


def _disclosure(required: Entry, achieved: Entry) -> Guarantee:
    tau = required.get("tau")
    limit = "the limit of the value or the person" if isinstance(tau, dict) or tau is None else figure(tau)
    return Guarantee(
        "Bounded disclosure (randomized response)",
        "Whoever picks a row, traces its quasi-identifiers and its sensitive value back by the public matrices, and "
        "takes it for a certain person’s, finds that person’s value in this way with a probability of at most "
        f"{limit} (Equation 6 of Guo, Ying and Wu).",
        (
            "It is not how often the best attacker is right. Who reconstructs the distribution and takes the most "
            "frequent value among people of the same quasi-identifiers is right as often as it is frequent, whatever "
            "was randomized; this report states that rate beside the risk.",
            "The release tells that the private table meets this limit with the public matrices.",
            _ONE_ROW,
        ),
    )


def _m_confidentiality(required: Entry, achieved: Entry) -> Guarantee:
    return Guarantee(
        "m-confidentiality",
        "By the published values nobody has a sensitive value with a confidence above "
        f"1/{figure(required.get('m'))}; at best 1 in {figure(achieved.get('m'))} of a group has one.",
        (
            "Values were changed to reach this, and only where it was needed. Who knows the method can tell more: see "
            "the warning.",
            _ONE_ROW,
        ),
    )


def _r_robustness(required: Entry, achieved: Entry) -> Guarantee:
    told = f" No probability is above 1/{figure(achieved['r'])}." if "r" in achieved else ""
    worlds = (
        "It weighs a protected value against its absence only, as published in ART. That is refuted: an adversary who "
        "knows the distributions of the other values as well can exceed it (0.6435 where 1/2 was promised)."
        if required.get("worlds") == "two-valued"
        else "It weighs the actual sensitive values against each other. An adversary who knows the algorithm can be "
        "surer."
    )
    where = "that were given" if required.get("distributions") else "estimated from the table"
    return Guarantee(
        "r-robustness",
        f"Take anyone who knows who is in which group and how likely people of given quasi-identifiers are to have a "
        f"value, by the distributions {where}. He links nobody to a protected value with a probability above "
        f"1/{figure(required.get('r'))}.{told}",
        (
            worlds,
            "Whoever knows better distributions, or the values of some people, can be surer.",
            _ONE_ROW,
        ),
    )


_KNOWN: dict[str, Callable[[Entry, Entry], Guarantee]] = {
    "k-anonymity": _k_anonymity,
    "l-diversity": _l_diversity,
    "t-closeness": _t_closeness,
    "alpha-k": _alpha_k,
    "anonymity": _anonymity,
    "confidentiality": _confidentiality,
    "rho-breach": _rho_breach,
    "growth": _growth,
    "disclosure": _disclosure,
    "m-confidentiality": _m_confidentiality,
    "r-robustness": _r_robustness,
}


def guarantee(entry: Entry) -> Guarantee:
    """What a requirement of a manifest promises, and what it does not."""
    model = str(entry["model"])
    if model in _KNOWN:
        return _KNOWN[model](entry["required"], entry["achieved"])
    sentence = in_words(entry)
    return Guarantee(model, sentence[:1].upper() + sentence[1:] + ".", ())


def method_limits(name: str) -> list[str]:
    """What is to be known of a method: against whom it guarantees what."""
    known = METHODS.get(name)
    told = [f"The method {name} guarantees: {known.guarantees}."] if known else []
    if name in ("mondrian", "hilb", "mask"):
        told.append(
            "The method is public, and its choices depend on the data: an adversary who knows how the algorithm chose "
            "its cuts may learn more about a group than the group shows."
        )
    return told


def general_limits(plain: Sequence[str], classes: Sequence[str]) -> list[str]:
    """What no requirement on a single release covers."""
    told = [
        "All of the above holds against someone who knows the quasi-identifiers and nothing else. " + _RULED_OUT,
        "It holds for this release alone. Several releases about the same people are not covered: laid side by side, "
        "their groups can be intersected.",
        "Only the declared quasi-identifiers are protected. Whatever else outsiders can know about people, and is "
        "published, can single them out.",
        "It does not hide who is in the table, nor what is true of everyone in a group.",
    ]
    if plain:
        told.append(
            f"The insensitive columns ({', '.join(plain)}) are published as they are, row by row beside the labels. If "
            "an outsider can know their values, they are quasi-identifiers and should be declared so."
        )
    if classes:
        told.append(
            f"The class attribute ({', '.join(classes)}) is published as it is, and no requirement on sensitive values "
            "covers it unless it names it."
        )
    return told
