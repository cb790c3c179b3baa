"""How well a sensitive value is guessed by whoever knows a person's group and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kernel.group import group_rows
from sfumato.release.bucketization import COUNT, GROUP
from sfumato.table.encode import Role, value_codes

if TYPE_CHECKING:
    from sfumato.release.release import Release

_GROUPED = ("generalization", "bucketization")


@dataclass(frozen=True)
class BestGuess:
    """What groups tell about one sensitive attribute; all counts are in rows.

    ``certain``: rows in groups that show one value only. ``worst`` is the greatest share of a value in a group,
    ``mean`` the share of all rows for which the most frequent value of their group is right. ``linked`` is the weight
    that falls on a row's own value, on average, where the values of each group are spread evenly over its rows;
    ``unlinked`` is what it would be were the whole table one group.
    """

    rows: int
    certain: int
    worst: float
    mean: float
    linked: float
    unlinked: float


def best_guess(group: NDArray[Any], value: NDArray[Any], count: NDArray[Any] | None = None) -> BestGuess:
    """The guesses for values in groups; ``count`` says how many rows each pair stands for, one if left out.

    >>> found = best_guess(np.array([0, 0, 1, 1]), np.array([7, 8, 8, 8]))
    >>> found.certain, found.worst, found.mean, found.linked, found.unlinked
    (2, 1.0, 0.75, 0.75, 0.625)
    """
    pairs = group_rows([group, value], [int(group.max()) + 1, int(value.max()) + 1])
    held = pairs.size if count is None else np.bincount(pairs.of_row, weights=count).astype(np.int64)
    of_pair = group[pairs.first]
    size, squares = np.bincount(of_pair, weights=held), np.bincount(of_pair, weights=held**2.0)
    top = np.zeros(len(size), np.int64)
    np.maximum.at(top, of_pair, held)
    rows, most, squares = (figure[size > 0] for figure in (size, top, squares))
    total = int(rows.sum())
    values = np.bincount(value[pairs.first], weights=held) / total
    return BestGuess(
        rows=total,
        certain=int(rows[most == rows].sum()),
        worst=float((most / rows).max()),
        mean=float(most.sum() / total),
        linked=float((squares / rows).sum() / total),
        unlinked=float((values**2).sum()),
    )


def best_guesses(release: "Release") -> dict[str, BestGuess]:
    """The guesses for each sensitive attribute of a release that shows groups; none where values are random."""
    if release.scheme not in _GROUPED:
        return {}
    names = [n for n, a in release.manifest["attributes"].items() if a.get("role") == Role.SENSITIVE]
    if release.bucketized:
        found = release.tables["sensitive"]
        group, count = np.unique(found[GROUP].to_numpy(), return_inverse=True)[1], found[COUNT].to_numpy()
        return {n: best_guess(group, _codes(found[n]), count) for n in names}
    group, data = release.groups(), release.tables["data"]
    return {n: best_guess(group, _codes(data[n])) for n in names}


def _codes(column: pl.Series) -> NDArray[Any]:
    whole = isinstance(column.dtype, pl.Enum) and not column.null_count()
    return column.to_physical().to_numpy() if whole else value_codes(column)[0]


def certain_values(guesses: Mapping[str, BestGuess], *, perturbed: bool = False) -> list[str]:
    """A warning for each attribute whose value follows for certain from the groups of some people."""
    told = []
    for name, guess in guesses.items():
        if not guess.certain:
            continue
        whose = f"{guess.certain:,} of {guess.rows:,} rows"
        if perturbed:
            told.append(
                f"{whose} are in groups that show a single value of {name}. The method may have changed values; where "
                "it did not, whoever finds a person's group knows the value."
            )
        else:
            told.append(
                f"{name} is published exactly for {whose}: their groups show a single value, so whoever finds a "
                f"person's group knows it for certain. Only a requirement on every value of {name}, e.g. l-diversity, "
                "prevents this."
            )
    return told
