"""sfumato publishes microdata: a release that researchers can use and adversaries cannot.

>>> import polars as pl, sfumato as sf
>>> frame = pl.DataFrame({"age": [21, 22, 35, 36], "ill": ["flu", "HIV", "flu", "cancer"]})
>>> table = sf.read(frame, quasi=["age"], sensitive="ill")
>>> release = sf.publish(table, require=sf.KAnonymity(k=2))
>>> sorted(release.tables["data"]["age"].unique())
['< 30', '>= 30']
>>> {finding.status for finding in release.check()}
{'holds'}
"""

from typing import Any

__version__ = "0.1.0"

_homes: dict[str, tuple[str, str]] = {}
"""Of each public name the module and the name there, read from ``__init__.pyi`` when one is first used."""


def _public() -> dict[str, tuple[str, str]]:
    if not _homes:
        import ast
        from pathlib import Path

        stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
        for line in stub.body:
            if isinstance(line, ast.ImportFrom):
                _homes.update({name.name: (line.module or "", name.name) for name in line.names})
            elif isinstance(line, ast.Assign):  # a former name
                _homes[ast.unparse(line.targets[0])] = _homes[ast.unparse(line.value)]
    return _homes


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that the command line starts at once."""
    if name == "__all__":
        return sorted(_public())
    if name.startswith("_") or name not in _public():
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    from importlib import import_module

    module, there = _public()[name]
    value = getattr(import_module(module), there)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_public()})
