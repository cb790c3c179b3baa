"""An adversary who reads sensitive values off the records that share a description (Fung, Definition 5.1.1)."""

import numpy as np
import polars as pl

from sfumato.engine.counts import Counted, count
from sfumato.errors import PolicyError
from sfumato.release.judgement import TableSchema
from sfumato.requirement.base import names
from sfumato.requirement.templates import Confidentiality
from sfumato.table.microdata import Microdata


def inferences(table: Microdata, template: Confidentiality) -> pl.DataFrame:
    """All inferences x → y of a template that the unmasked table allows, the surest first.

    ``attribute`` = ``value`` follows with ``confidence`` = ``held`` / ``support`` for the records of a group;
    groups are numbered from 0, and ``row`` is one record of the group.

    >>> from sfumato.table.microdata import read
    >>> frame = pl.DataFrame({"job": ["a", "a", "b"], "ill": ["flu", "HIV", "HIV"]})
    >>> found = inferences(read(frame, quasi=["job"], sensitive="ill"), Confidentiality(x="job", y="ill", k=1))
    >>> found.select("row", "value", "support", "confidence").rows()
    [(2, 'HIV', 1, 1.0), (0, 'HIV', 2, 0.5), (0, 'flu', 2, 0.5)]
    """
    if not isinstance(table, Microdata) or not isinstance(template, Confidentiality):
        raise PolicyError(
            "inferences needs microdata (sf.read) and a Confidentiality, "
            f"not {type(table).__name__} and {type(template).__name__}"
        )
    schema = TableSchema(table)
    bound = template.bind(schema)
    groups = count([Counted(table[n].codes, table[n].size) for n in names(bound.x)])
    parts = []
    for attribute, value in bound.limits(schema):
        code = schema.domain(attribute).leaves.index(value)
        held = np.bincount(groups.of_row[schema.counted(attribute).codes == code], minlength=len(groups.size))
        there = np.flatnonzero(held)
        part = {"group": there, "row": groups.first[there], "support": groups.size[there], "held": held[there]}
        parts.append(pl.DataFrame(part).with_columns(attribute=pl.lit(attribute), value=pl.lit(value)))
    found = pl.concat(parts).with_columns(confidence=pl.col("held") / pl.col("support"))
    return found.sort(["confidence", "group", "attribute", "value"], descending=[True, False, False, False])
