"""The order of rows along the Hilbert curve."""

import numpy as np

from sfumato.engine.counts import Counted, count
from sfumato.errors import PolicyError
from sfumato.kernel.hilb.curve import MOST_BITS, bits_needed, hilbert_keys
from sfumato.table.microdata import Microdata


def hilbert_ranks(table: Microdata) -> Counted:
    """The position of each row on the Hilbert curve through the quasi-identifiers; equal rows share a position."""
    sizes = [c.size for c in table.quasi]
    bits = bits_needed(sizes) * len(sizes)
    if bits > MOST_BITS:
        raise PolicyError(
            f"the Hilbert curve through {len(sizes)} quasi-identifiers of up to {max(sizes)} values needs {bits} bits, "
            f"but at most {MOST_BITS} fit; use fewer or coarser quasi-identifiers, or the "
            "median cuts of mondrian (mondrian+, mondrian++; for mask, front = 'mondrian')"
        )
    vectors = count([Counted(c.codes, c.size) for c in table.quasi])
    keys = hilbert_keys([c.codes[vectors.first] for c in table.quasi], sizes)
    rank = np.empty(len(keys), np.uint32)
    rank[np.argsort(keys)] = np.arange(len(keys), dtype=np.uint32)
    return Counted(rank[vectors.of_row], len(keys))
