"""The population: the people among whom an outsider looks for those in a table, with their quasi-identifiers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from sfumato.errors import DataError, PolicyError, SfumatoError
from sfumato.table.address import expanded
from sfumato.table.encode import Attribute, Kind, Role
from sfumato.table.form import PLAIN, Form
from sfumato.table.microdata import Microdata, Missing
from sfumato.table.source import read_frame


@dataclass(frozen=True, eq=False)
class Population:
    """A table with one row per person, read when it is first needed; private to the publisher.

    ``source`` is anything that `sfumato.read` accepts; it is never shown. ``missing`` says how to treat missing values
    and should be the same as for the table.

    ``query`` is a SELECT if the source is a database, ``nulls`` are texts that mean a missing value, ``folder`` is
    where relative paths begin, ``form`` how a file is written.
    """

    source: object = field(repr=False)
    query: str | None = field(default=None, repr=False)
    nulls: tuple[str, ...] = ()
    missing: Missing = "error"
    folder: Path | None = field(default=None, repr=False)
    form: Form = PLAIN

    def __post_init__(self) -> None:
        if self.missing not in ("error", "category", "drop"):
            raise PolicyError(f"the population: missing is {self.missing!r}; it must be 'error', 'category' or 'drop'")

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table, as read."""
        source = expanded(self.source) if isinstance(self.source, str) else self.source
        try:
            return read_frame(source, query=self.query, nulls=self.nulls, folder=self.folder, form=self.form)
        except SfumatoError as e:
            raise type(e)(f"the population: {e}") from None

    def coded(self, kinds: Mapping[str, Kind]) -> Microdata:
        """The quasi-identifiers of these kinds, on their own domains, since the table may lack some values.

        >>> people = Population(pl.DataFrame({"age": [30, 41, 30], "sex": ["F", "M", "F"]}))
        >>> found = people.coded({"age": Kind.CONTINUOUS, "sex": Kind.CATEGORICAL})
        >>> found["age"].domain.words, found["sex"].codes.tolist()
        (('30', '41'), [0, 1, 0])
        """
        if absent := [name for name in kinds if name not in self.frame.columns]:
            raise DataError(
                f"the population has no column {absent[0]!r}; it must have every quasi-identifier of the table, by the "
                "same name"
            )
        ordered = (Kind.CONTINUOUS, Kind.DATE)
        attributes = [
            Attribute(name=name, role=Role.QUASI, kind=kind if kind in ordered else Kind.CATEGORICAL)
            for name, kind in kinds.items()
        ]
        try:
            return Microdata.from_frame(self.frame, attributes, missing=self.missing)
        except (DataError, PolicyError) as e:
            raise type(e)(f"the population: {e}") from None
