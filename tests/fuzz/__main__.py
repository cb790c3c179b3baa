"""`make fuzz`: the long run of odd inputs, mutated manifests and mutated frames, with a summary.

python -m tests.fuzz [COUNT] [SEED]
"""

import secrets
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import frames, inputs, manifests
from fuzz.summary import as_table


def main() -> int:
    """Run all kinds; the exit code says whether all ended well."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(1 << 31)
    print(f"{count} inputs of each kind (frames: ten times as many), seed {seed}", flush=True)
    rows = {
        "inputs": inputs.run(count, seed),
        "manifests": manifests.run(count, seed),
        "frames": frames.run(10 * count, seed),
    }
    for name, summary in rows.items():
        for failure in summary.failures:
            print(f"{name}: {failure}")
    print(as_table(rows))
    return 1 if any(summary.defects for summary in rows.values()) else 0


sys.exit(main())
