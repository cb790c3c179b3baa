"""The adversary who finds a person's group and guesses the commonest sensitive value in it."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from sfumato.release.bucketization import COUNT, GROUP
from sfumato.release.release import Release


@dataclass(frozen=True)
class Guess:
    """How often guessing the commonest value is right.

    ``base``: the commonest value of the whole release, for everybody. ``mean``: the commonest value of each
    person's group, on average over the rows. ``worst``: in the group where it is right most often.
    ``certain``: how many rows are in groups that share one value.
    """

    base: float
    mean: float
    worst: float
    certain: int
    value: str
    """The commonest value of the whole release."""


def best_guess(release: Release, sensitive: str) -> Guess | None:
    """How sure the values of a group make one who reads them; None where a scheme does not show groups with values.

    >>> import sfumato as sf
    >>> frame = pl.DataFrame({"age": [1, 1, 2, 2, 2], "ill": ["flu", "flu", "flu", "HIV", "HIV"]})
    >>> table = sf.read(frame, quasi=["age"], sensitive="ill")
    >>> best_guess(sf.publish(table, require=sf.KAnonymity(k=2)), "ill")
    Guess(base=0.6, mean=0.8, worst=1.0, certain=2, value='flu')
    """
    shown = held(release, sensitive)
    if shown is None:
        return None
    totals = shown.group_by("value").agg(pl.col("rows").sum()).sort("rows", "value", descending=[True, False])
    groups = shown.group_by("group").agg(most=pl.col("rows").max(), rows=pl.col("rows").sum())
    most, rows = groups["most"].to_numpy(), groups["rows"].to_numpy()
    total = int(rows.sum())
    return Guess(
        base=int(totals["rows"][0]) / total,
        mean=float(most.sum() / total),
        worst=float((most / rows).max()),
        certain=int(rows[most == rows].sum()),
        value=str(totals["value"][0]),
    )


def held(release: Release, sensitive: str) -> pl.DataFrame | None:
    """How many rows of each group have each value, as the release shows it; None where groups do not show it."""
    if release.bucketized and sensitive in release.tables["sensitive"].columns:
        table = release.tables["sensitive"]
        columns = [table[GROUP].alias("group"), table[sensitive].alias("value"), table[COUNT].alias("rows")]
    elif release.scheme == "generalization" and sensitive in release.tables["data"].columns:
        values = release.tables["data"][sensitive]
        ones = pl.Series("rows", np.ones(len(values), np.int64))
        columns = [pl.Series("group", release.groups()), values.alias("value"), ones]
    else:
        return None
    return pl.DataFrame(columns).group_by("group", "value").agg(pl.col("rows").sum().cast(pl.Int64))
