"""What one publisher knows in the end, for its own report: its own columns in full, the other's labels."""

from dataclasses import replace

import numpy as np

from sfumato.integration.integrate import Prepared
from sfumato.table.encode import Column, Kind, Role
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import Taxonomy


def known_table(held: Prepared) -> Microdata:
    """The own rows of the joint records, with the labels that they show on the other publisher's attributes."""
    columns = {}
    for i, name in enumerate(held.joint.masked):
        columns[name] = _labels(held, i) if held.own.is_mirror(i) else held.table.columns[name]
    rest = {n: c for n, c in held.table.columns.items() if c.role is not Role.QUASI}
    return replace(held.table, columns=columns | rest)


def _labels(held: Prepared, attribute: int) -> Column:
    common = held.common
    there, codes = np.unique(common.of_record[attribute], return_inverse=True)
    texts = [common.labels[attribute][i].label for i in there]
    leaves = sorted(set(texts))
    place = np.array([leaves.index(text) for text in texts], np.int64)
    return Column(common.names[attribute], Role.QUASI, Kind.CATEGORICAL, Taxonomy.flat(leaves), place[codes])
