"""How long `sfumato compare` takes: ten methods on Adult, on two cores, from a fresh process to the table.

The bar is absolute: three minutes. Kernels are compiled beforehand, as after the first run on a machine.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import Line
from benchmarks.tables import QUASI, SENSITIVE, adult, taxonomies

ALLOWED = 180.0
METHODS = (
    *("mondrian", "mondrian+", "mondrian++", "mondrian-blur", "hilb", "hilb+", "hilb++", "hilb-safe"),
    *("anatomy", "incognito"),
)
POLICY = """[data]
source = "adult.csv"
[attributes]
{attributes}
[[require]]
model = "l-diversity"
l = 3
"""


def write_job(folder: Path) -> Path:
    """Adult with its taxonomies and a policy, ready for `sfumato compare`."""
    import json

    adult().write_csv(folder / "adult.csv")
    trees = taxonomies()
    for name, tree in trees.items():
        (folder / f"{name}.json").write_text(json.dumps(tree))
    entries = [f'{n} = {{ role = "quasi", taxonomy = "{n}.json" }}' for n in trees]
    entries += [f'{n} = {{ role = "quasi" }}' for n in QUASI if n not in trees]
    policy = folder / "policy.toml"
    policy.write_text(POLICY.format(attributes="\n".join([*entries, f'{SENSITIVE} = {{ role = "sensitive" }}'])))
    return policy


def lines() -> list[Line]:
    """One line: all ten, measured once after a first run has compiled everything."""
    with tempfile.TemporaryDirectory() as name:
        policy = write_job(Path(name))
        arguments = [sys.executable, "-m", "sfumato", "compare", str(policy), "--no-cache", "--workers", "2"]
        arguments += [part for method in METHODS for part in ("--method", method)]
        times = []
        for _ in range(2):
            begin = time.perf_counter()
            subprocess.run(arguments, check=True, capture_output=True)
            times.append(time.perf_counter() - begin)
    work = f"compare, {len(METHODS)} methods"
    return [Line(work, adult().height, times[1], floor_name="three minutes", floor=ALLOWED, target=1.0)]
