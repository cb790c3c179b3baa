"""Domains without the values that no row has: what a release may say about a domain that was found in the data."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.table.encode import Column, Domain, smallest
from sfumato.table.names import MISSING


def occurring(column: Column, weights: NDArray[np.int64] | None = None) -> Column:
    """The column with a domain that depends on no value outside its rows; declared domains stay unchanged.

    With ``weights``, an entry represents that many rows.

    >>> import numpy as np
    >>> from sfumato.table.encode import Kind, Role
    >>> from sfumato.table.ordered_domain import OrderedDomain
    >>> ages = OrderedDomain.of_numbers([20.0, 37.5, 90.0])
    >>> found = occurring(Column("age", Role.QUASI, Kind.CONTINUOUS, ages, np.array([2, 0])))
    >>> found.domain.words, found.domain.step, found.codes.tolist()
    (('20', '90'), 1.0, [1, 0])
    """
    seen = np.zeros(column.size, np.bool_)
    seen[column.codes] = True
    domain, kept = narrowed(column.domain, seen)
    codes = (np.cumsum(kept) - 1)[column.codes]
    if domain.ordered and domain.measured:  # which values have a single row depends on the rows that are left
        rows = np.bincount(codes, weights=weights, minlength=domain.size)
        domain = domain.sparing(rows.astype(np.int64, copy=False))
    return replace(column, domain=domain, codes=smallest(codes, domain.size))


def narrowed(domain: Domain, seen: NDArray[np.bool_]) -> tuple[Domain, NDArray[np.bool_]]:
    """The domain of a table in which these values occur, and which values are still in it."""
    kept = seen | lasting(domain)
    return domain.observed(kept), kept


def lasting(domain: Domain) -> NDArray[np.bool_]:
    """Which values of a domain are public even if no row has them: declared ones, but never a missing value.

    >>> from sfumato.table.ordered_domain import OrderedDomain
    >>> lasting(OrderedDomain.of_words(["low", "high"], missing=True)).tolist()
    [True, True, False]
    """
    return np.array([leaf != MISSING and not domain.derived for leaf in domain.leaves], np.bool_)
