"""Classes by name, each imported when it is first asked for: a job needs one method of twenty and its kernels."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Catalogue(Mapping[str, type[T]]):
    """The classes of a package by the name that policies and manifests use for them.

    >>> from sfumato.catalogue import Catalogue
    >>> errors: Catalogue[Exception] = Catalogue("sfumato", {"infeasible": "errors.Infeasible"})
    >>> list(errors), errors["infeasible"].__name__
    (['infeasible'], 'Infeasible')
    """

    def __init__(self, package: str, homes: Mapping[str, str]) -> None:
        self._package = package
        self._homes = homes
        self._found: dict[str, type[T]] = {}

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._found:
            module, _, there = self._homes[name].rpartition(".")
            found: Any = getattr(import_module(f"{self._package}.{module}"), there)
            self._found[name] = cast(type[T], found)
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)
