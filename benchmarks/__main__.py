"""``make bench``: print one table and keep it in benchmarks/results/."""

import os
import platform
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run every benchmark; without the data say so loudly and do nothing."""
    if not os.environ.get("SFUMATO_DATA"):
        sys.exit(
            "SKIPPED: the benchmarks need Adult; set SFUMATO_DATA to the folder with adult.csv "
            "(sfumato.datasets says where to get it)"
        )
    from benchmarks import aware, foundation, quality
    from benchmarks.measure import as_markdown

    with_peers = "--no-peers" not in sys.argv
    table = as_markdown([*foundation.lines(with_peers=with_peers), *aware.lines()])
    losses = quality.table(with_peers=with_peers)
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.machine()}"
    text = f"# Benchmarks\n\n{machine}. Ratios are taken in one run; see docs/benchmarks.md.\n\n{table}\n{losses}"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "foundation.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
