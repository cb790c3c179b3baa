"""`make fuzz`: the long run of odd inputs and mutated manifests, with a summary.

python -m tests.fuzz [COUNT] [SEED]
"""

import importlib
import secrets
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.summary import Summary, as_table


def main() -> int:
    """Run every kind that is there; the exit code says whether all ended well."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(1 << 31)
    print(f"{count} inputs of each kind, seed {seed}", flush=True)
    kinds = [name for name in ("inputs", "manifests") if Path(__file__).with_name(f"{name}.py").exists()]
    rows: dict[str, Summary] = {name: importlib.import_module(f"fuzz.{name}").run(count, seed) for name in kinds}
    for name, summary in rows.items():
        for failure in getattr(summary, "failures", ()):
            print(f"{name}: {failure}")
    print(as_table(rows))
    bad = sum(s.tracebacks + s.hangs + getattr(s, "wrong", 0) for s in rows.values())
    return 1 if bad else 0


sys.exit(main())
