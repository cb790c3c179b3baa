"""Peers on the same rows, each in its own process with a limit of five minutes."""

import json
import subprocess
import sys

LIMIT = 300

_ANONYPY = """
import json, sys, time
from benchmarks import tables
import anonypy
frame = (tables.million() if int(sys.argv[1]) > 100_000 else tables.adult()).to_pandas()
for c in frame.columns:
    if frame[c].dtype == object or str(frame[c].dtype) in ("string", "str"):
        frame[c] = frame[c].astype("category")
begin = time.perf_counter()
rows = anonypy.Preserver(frame, tables.QUASI, tables.SENSITIVE).anonymize_k_anonymity(k=5)
print(json.dumps({"seconds": time.perf_counter() - begin}))
"""

_ANJANA = """
import json, sys, time
import numpy as np
from benchmarks import tables
from anjana.anonymity import k_anonymity
frame = (tables.million() if int(sys.argv[1]) > 100_000 else tables.adult()).to_pandas()
age = np.sort(frame["age"].unique())
hierarchies = {"age": {0: age, 1: age // 5, 2: age // 10, 3: age // 20, 4: np.array(["*"] * len(age))}}
for c in tables.QUASI[1:]:
    values = np.sort(frame[c].unique())
    hierarchies[c] = {0: values, 1: np.array(["*"] * len(values))}
begin = time.perf_counter()
k_anonymity(frame, [], tables.QUASI, 5, 50, hierarchies)
print(json.dumps({"seconds": time.perf_counter() - begin}))
"""

_SCRIPTS = {"anonypy": _ANONYPY, "anjana": _ANJANA}


def seconds(name: str, rows: int) -> float | None:
    """How long a peer takes for k = 5, or None if it fails or exceeds the limit."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPTS[name], str(rows)], capture_output=True, text=True, timeout=LIMIT, check=True
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as e:
        print(f"{name} on {rows} rows: {type(e).__name__} {(getattr(e, 'stderr', '') or '')[-300:]!s}", file=sys.stderr)
        return None
    return float(json.loads(done.stdout.strip().splitlines()[-1])["seconds"])


def tell(*names: str, rows: int) -> str:
    """The peers' times as text."""
    times = {name: seconds(name, rows) for name in names}
    return ", ".join(f"{n} {t:.1f} s" if t is not None else f"{n} not in {LIMIT} s" for n, t in times.items())
