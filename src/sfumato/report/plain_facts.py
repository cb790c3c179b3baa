"""The facts of a report as plain data, for other ways of showing them."""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np


def plain_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts as JSON knows them: numbers, strings, lists and tables; plots are SVG, in which data are escaped.

    >>> from sfumato.adversary.linkage import SizeBin
    >>> plain_facts({"rows": np.int64(4), "sizes": [(SizeBin("1", 2, 2), "x")], "shown_by": object()})
    {'rows': 4, 'sizes': [[{'sizes': '1', 'classes': 2, 'rows': 2}, 'x']], 'shown_by': 'object'}
    """
    return {name: _plain(value) for name, value in facts.items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    return type(value).__name__
