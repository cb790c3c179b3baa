"""What the two ways to solve Problem 1 share: the pairs whose risk is limited, and progress reports."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.table.distortion import Floats

Ints = NDArray[np.int64]
Watch = Callable[[float], None]


class LimitedPairs(NamedTuple):
    """Quasi-identifiers and sensitive value whose risk is limited: combination, value, log share less log limit."""

    row: Ints
    value: Ints
    offset: Floats

    def some(self, chosen: Ints) -> "LimitedPairs":
        """Those of them."""
        return LimitedPairs(self.row[chosen], self.value[chosen], self.offset[chosen])
