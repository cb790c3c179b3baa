"""The walk of a job is short: rows are grouped once to count them, and once more as the release shows them."""

import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.kernel.group import group_rows

ROWS = 4001
POLICY = """
[data]
source = "t.csv"
[attributes]
age = { role = "quasi", kind = "continuous" }
sex = "quasi"
ill = "sensitive"
[[require]]
model = "k-anonymity"
k = 5
[[require]]
model = "l-diversity"
variant = "frequency"
l = 2
[method]
name = "METHOD"
"""


def grouped_by(job: Any) -> Counter[int]:
    """How often a job groups arrays of each length."""
    found: Counter[int] = Counter()

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is group_rows.__code__:
            found[len(frame.f_locals["columns"][0])] += 1

    before = sys.getprofile()
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        job()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return found


@pytest.mark.parametrize("method", ["mondrian", "mondrian+", "incognito"])
def test_rows_are_grouped_twice(method: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    columns = {
        "age": rng.integers(20, 40, ROWS),
        "sex": rng.choice(["m", "f"], ROWS),
        "ill": rng.choice(list("abcd"), ROWS),
    }
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.replace("METHOD", method))
    found = grouped_by(lambda: sf.publish_policy(policy, tmp_path / "out", ledger=False))
    assert found[ROWS] == 2
    assert max(n for n in found if n != ROWS) < ROWS / 10
