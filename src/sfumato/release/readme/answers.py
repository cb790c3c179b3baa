"""What questions a release answers, and how well, according to its manifest."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sfumato.release.manifest import Manifest
from sfumato.release.readme.texts import several
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.requirement.guarantee import figure, percent
from sfumato.table.distortion import Distortion
from sfumato.table.encode import Role


class Accuracy(NamedTuple):
    """How well one column answers: a figure under each heading."""

    name: str
    figures: Sequence[str]


class Answers(NamedTuple):
    """What can be asked, in sentences, and a table of figures; no table if ``lines`` is empty."""

    sentences: Sequence[str]
    caption: str = ""
    headings: Sequence[str] = ()
    lines: Sequence[Accuracy] = ()


def answers(manifest: Manifest, *, perturbed: bool) -> Answers:
    """What the release answers how well; ``perturbed``: the method may have changed sensitive values."""
    scheme = SCHEMES[manifest.scheme]
    if scheme.separates:
        return _by_buckets(manifest, perturbed)
    if scheme.rows_are_groups:
        return _by_sample(manifest)
    return _by_noise(manifest) if scheme.randomizes else _by_labels(manifest, perturbed)


def _by_labels(manifest: Manifest, perturbed: bool) -> Answers:
    exact = [
        n for n, a in manifest.attributes.items() if n not in manifest.labelled and not _changed(a.role, perturbed)
    ]
    told = []
    if exact:
        told.append(
            f"Counts over {_names(exact)} are exact for {_rows(manifest)}: every row shows its own values there."
        )
    if perturbed:
        told.append(_replaced(manifest))
    told += [
        "A condition on labels is answered exactly if every label lies entirely inside or entirely outside it, for "
        "instance if its limits are ends of labels.",
        "Otherwise the rows with a label that lies partly inside may or may not count: without them you get the "
        "least possible count, with all of them the greatest. An estimate in between spreads each label evenly over "
        "what it covers, which is an assumption.",
        "Columns can be combined row by row: everything in a row is about the same record.",
        *_left_out(manifest),
    ]
    return Answers(told, *_detail(manifest))


def _detail(manifest: Manifest) -> tuple[str, tuple[str, ...], list[Accuracy]]:
    lines = [
        Accuracy(name, (f"{len(entry.nodes):,}", percent(1 - entry.loss))) for name, entry in manifest.labelled.items()
    ]
    caption = (
        "The detail that labels keep: 100% if rows show single values, 0% if every label covers everything; on average "
        "over the rows, as a share of the column’s values or range."
    )
    return caption, ("Labels", "Detail kept"), lines


def _changed(role: Role, perturbed: bool) -> bool:
    return perturbed and role is Role.SENSITIVE


def _replaced(manifest: Manifest) -> str:
    names = _names(manifest.with_role(Role.SENSITIVE))
    return f"Some values of {names} were replaced on purpose, so counts over them are approximate."


def _by_buckets(manifest: Manifest, perturbed: bool) -> Answers:
    private = manifest.with_role(Role.SENSITIVE)
    others = [n for n in manifest.attributes if n not in private]
    alone = (
        _replaced(manifest)
        if perturbed
        else f"Counts over {_names(private)} alone are exact: the table “sensitive” counts every value."
    )
    return Answers(
        [
            f"Counts over {_names(others)} are exact for {_rows(manifest)}: the table “quasi” shows everyone’s own "
            "values.",
            alone,
            "Questions that combine the two are answered by group only. An estimate spreads the values of each group "
            "evenly over its people; it is exact where a condition includes or excludes whole groups.",
        ]
    )


def _by_sample(manifest: Manifest) -> Answers:
    settings, private = manifest.settings, _names(manifest.with_role(Role.SENSITIVE))
    told = [
        f"Each row stands for G people: the sum of G over the rows with a label is the number of people behind it, out "
        f"of {several(manifest.sampled_from, 'person', 'people')}. Conditions that cut through labels are answered "
        "approximately, by spreading each label evenly.",
    ]
    if p := settings.get("p"):
        told.append(
            f"A value of {private} is that of one person of the group, kept with probability {figure(p)} and "
            "otherwise drawn from the whole domain. Counts must be reconstructed (see below) and are estimates: the "
            "more rows a question covers, the better. A single row may show noise; at best it shows the value of one "
            "of its G people."
        )
    else:
        told.append(f"Values of {private} are pure noise: they carry no information about people.")
    return Answers(told, *_detail(manifest))


def _by_noise(manifest: Manifest) -> Answers:
    ways = {n: w for n, w in manifest.distortions().items() if n in manifest.matrices}
    exact = [name for name in manifest.attributes if name not in ways]
    told = [f"Counts over {_names(exact)} are exact for {_rows(manifest)}: they were not changed."] if exact else []
    if not ways:
        return Answers(told)
    told += [
        "A single randomized cell may be wrong: do not treat a row as a person’s record.",
        "Counts over randomized columns must be reconstructed from the published probabilities (see below). They are "
        "then right on average, with the error below; conditions on several randomized columns have a larger error.",
    ]
    lines = [Accuracy(name, (percent(way.keep), _error(way, manifest.rows))) for name, way in ways.items()]
    caption = (
        f"The least probability that a value was kept, and the greatest standard error that the noise alone gives the "
        f"reconstructed count of one value among {several(manifest.rows, 'row')}."
    )
    return Answers(told, caption, ("Kept", "Standard error, at most"), lines)


def _error(way: Distortion, rows: int) -> str:
    error = rows**0.5 * greatest_deviation(way)
    return f"{figure(float(f'{error:.3g}'))} rows ({percent(error / rows)})"


def greatest_deviation(way: Distortion) -> float:
    """The greatest standard deviation that one row's noise adds to the reconstructed count of any value.

    A row with true value t adds inverse[v, u] to the count of v if it shows u, which happens with probability
    matrix[u, t]; on average it adds 1 if v = t, else 0.

    >>> round(greatest_deviation(Distortion.keeping(0.75, 2, what="sex")), 4)
    0.866
    """
    if way.size == 1:
        return 0.0
    spread = way.inverse**2 @ way.matrix - np.eye(way.size)
    return float(np.sqrt(max(spread.max(), 0.0)))


def _rows(manifest: Manifest) -> str:
    return f"the {several(manifest.rows, 'published row')}"


def _left_out(manifest: Manifest) -> list[str]:
    """How many rows the answers cannot know of, if the manifest says so."""
    number = manifest.settings.get("suppressed")
    if not isinstance(number, int) or not number:
        return []
    return [
        f"{several(number, 'row')} of the table {'was' if number == 1 else 'were'} left out and not counted in any "
        "answer."
    ]


def _names(names: Sequence[str]) -> str:
    """Some names as a list in a sentence.

    >>> _names(["a"]), _names(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"
