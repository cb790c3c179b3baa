"""``make bench``: print one table per part and keep it in benchmarks/results/.

``python -m benchmarks`` runs all parts; ``python -m benchmarks aware --no-peers`` runs only those named.
"""

import os
import platform
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

RESULTS = Path(__file__).parent / "results"

PARTS = (
    "foundation",
    "whole_job",
    "aware",
    "audit",
    "count_query",
    "topdown",
    "classification",
    "pg",
    "rr",
    "incognito",
    "local_recoding",
    "art",
    "sequential",
    "compare",
    "start",
    "studio",
    "growth",
    "two_publishers",
    "secure_maximum",
    "scale",
)
"""Modules with ``lines()`` (the ratios) and optionally ``more()`` (further tables); foundation takes ``with_peers``."""


def main() -> None:
    """Run the benchmarks named, or all; exit with a message if the data are missing."""
    if not os.environ.get("SFUMATO_DATA"):
        sys.exit(
            "SKIPPED: the benchmarks need Adult; set SFUMATO_DATA to the folder with adult.csv "
            "(sfumato.datasets says where to get it)"
        )
    asked = [a for a in sys.argv[1:] if not a.startswith("--")]
    if unknown := [a for a in asked if a not in PARTS]:
        sys.exit(f"no benchmark is called {unknown[0]!r}; choose from {', '.join(PARTS)}")
    for part in asked or PARTS:
        _run(part, with_peers="--no-peers" not in sys.argv)


def _run(part: str, *, with_peers: bool) -> None:
    from benchmarks.measure import as_markdown

    module = import_module(f"benchmarks.{part}")
    peers = {"with_peers": with_peers} if part == "foundation" else {}
    more: Callable[..., str] = getattr(module, "more", lambda **_: "")
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.machine()}"
    head = f"# Benchmarks: {part}\n\n{machine}. Ratios are measured in one run; see docs/benchmarks.md.\n\n"
    text = f"{head}{as_markdown(module.lines(**peers))}\n{more(**peers)}"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"speed-{part}.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
