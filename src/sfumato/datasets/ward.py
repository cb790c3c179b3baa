"""A small table for examples and pictures: one ward of the invented hospital, with few diagnoses."""

import polars as pl

from sfumato.datasets.hospital import hospital
from sfumato.errors import PolicyError

DIAGNOSES = ("asthma", "concussion", "depression", "diabetes", "hip fracture", "influenza")

_PATIENTS = 400
_MOST = 120


def ward(rows: int = _MOST) -> pl.DataFrame:
    """The first patients with one of six diagnoses; columns as in `hospital`.

    Args:
        rows: how many, 120 at most.

    >>> ward().height, sorted(ward()["diagnosis"].unique())[:2]
    (120, ['asthma', 'concussion'])
    """
    if not 1 <= rows <= _MOST:
        raise PolicyError(f"rows = {rows}; the ward has {_MOST} patients: ask for 1 to {_MOST}, or use hospital(rows)")
    return hospital(rows=_PATIENTS).filter(pl.col("diagnosis").is_in(DIAGNOSES)).head(rows)
