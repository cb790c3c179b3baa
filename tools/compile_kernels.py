"""``python -m tools.compile_kernels FOLDER``: run jobs on the bundled example and keep their kernels, for a wheel.

The kernels are compiled for the level of processors that `sfumato.kernel.shipped` names, not for this one. Kernels that
these jobs do not use, or with other types, are compiled where they are first needed.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sfumato.kernel.shipped import level

_INSIDE = "--inside"
_METHODS = (
    'name = "mondrian+"',
    'name = "mondrian++"',
    'name = "mondrian"',
    'name = "mondrian"\nstrict = false',
    'name = "hilb-safe"',
    'name = "incognito"\nsuppression = 0.05',
    'name = "local-recoding"',
    'name = "mondrian-blur"',
)


_WIDE = """
[data]
source = "wide.csv"
[attributes]
age = { role = "quasi" }
code = { role = "quasi" }
illness = { role = "sensitive" }
"""
"""A column with more than 65,536 values, whose codes need wider rows."""


def _wide_table(file: Path) -> None:
    count = 70_000
    rows = (f"{20 + number % 60},c{number},i{number % 7}\n" for number in range(count))
    file.write_text("age,code,illness\n" + "".join(rows), encoding="utf-8")


def _policies() -> Iterator[str]:
    """The example by several methods, and by some with k-anonymity alone; then the wide table."""
    from sfumato.datasets import example_folder

    text = (example_folder() / "policy.toml").read_text(encoding="utf-8")
    head, _, _ = text.partition("[method]")
    for method in _METHODS:
        yield f"{head}[method]\n{method}\n"
    k, l = '[[require]]\nmodel = "k-anonymity"\nk = 5\n', '[[require]]\nmodel = "l-diversity"\nl = 3\n'
    alone = head.partition("[[require]]")[0] + k
    yield from (alone, f'{alone}[method]\nname = "tdr"\n', f'{alone}[method]\nname = "mondrian"\ncuts = "saving"\n')
    yield f"{_WIDE}{k}"
    yield from (f"{_WIDE}{k}{l}[method]\n{method}\n" for method in _METHODS[:3])


def _compile_inside(target: Path) -> None:
    """In a process that compiles for the level: run the jobs, check each release, pack the kernels."""
    import shutil

    from sfumato.cli import main
    from sfumato.datasets import example_folder
    from sfumato.kernel.compiled import pack_kernels
    from sfumato.kernel.jit import stamp
    from sfumato.table.plain_text import load_kernel

    load_kernel()  # the jobs below read small files, for which it is not used
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "job"
        shutil.copytree(example_folder(), folder)
        _wide_table(folder / "wide.csv")
        for number, text in enumerate(_policies()):
            policy, out = folder / "policy.toml", str(Path(name) / str(number))
            policy.write_text(text, encoding="utf-8")
            for arguments in (["publish", str(policy), "-o", out], ["check", f"{out}/release"]):
                _run(main, arguments)
    print(pack_kernels(stamp(), target))


def _run(main: object, arguments: list[str]) -> None:
    try:
        main(arguments)  # type: ignore[operator]
    except SystemExit as ended:
        if ended.code:
            sys.exit(f"{' '.join(arguments)} ended with {ended.code}")


def main() -> None:
    """Compile in a process of its own, which knows no processor but the level's and no kernel from before."""
    if sys.argv[1] == _INSIDE:
        _compile_inside(Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as cache:
        own = {**os.environ, "NUMBA_CPU_NAME": level().cpu, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": cache}
        subprocess.run([sys.executable, "-m", "tools.compile_kernels", _INSIDE, sys.argv[1]], env=own, check=True)


if __name__ == "__main__":
    main()
