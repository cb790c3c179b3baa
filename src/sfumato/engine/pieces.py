"""A counted table that is too large for this process: it stays where the rows are, and is looked at in pieces.

A region is a part of the table, given by ranges of codes. What can be asked about regions: their margins (how many rows
have each code of one column, by the values of a few others), and the vectors of one that is small enough.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.engine.counts import Counts, Integers
from sfumato.errors import DataError
from sfumato.table.encode import Column
from sfumato.table.microdata import Microdata

PIECES = 4
"""A piece has at most one part in this many of the vectors that memory can hold."""


class TooManyVectors(DataError):  # noqa: N818 - names what there is, like the other errors
    """The counted table does not fit into memory."""


class Range(NamedTuple):
    """The rows whose code of a column is in one of some ranges ``[lo, hi)``, or in none."""

    name: str
    codes: tuple[tuple[int, int], ...]
    inside: bool


CodeRegion = tuple[Range, ...]
"""The rows in all of these ranges."""


CodeArrays = list[NDArray[Any]]
PieceWork = Callable[[CodeArrays, Integers], CodeArrays]
"""Processes the vectors of a region: their codes, one column each, and how many rows each represents."""
Tell = Callable[[float], None]
"""Called with how much of something is done, from 0 to 1."""
Apart = Callable[[str, int, Sequence[int], PieceWork, Tell], list[CodeArrays]]
"""Does some work for each region where the vectors are: given the question for them, how many regions there are, and
the sizes of the columns."""


class Margins(NamedTuple):
    """What is known of a region: how many vectors it has, and for each axis the counts of its codes."""

    vectors: int
    by_axis: list[Counts]


@dataclass(frozen=True, eq=False)
class Pieces:
    """The counted table as a relation with a column of codes q0, q1, … per coded column, and n, the number of rows.

    ``ask`` runs a query on it. ``most`` is how many vectors a piece may have, ``refusal`` says why there are pieces.
    ``apart`` does work on pieces where they are; without it they come to this process. ``rest`` gives memory back that
    only the next question needs.
    """

    ask: Callable[[str], pl.DataFrame]
    relation: str
    columns: Mapping[str, Column]
    rows: int
    dropped: int
    most: int
    refusal: str
    apart: Apart | None = None
    rest: Callable[[], None] = lambda: None

    def like(self, table: Microdata) -> "Pieces":
        """The same counts with the domains of another table."""
        return replace(self, columns=table.columns)

    def refuse(self, why: str) -> TooManyVectors:
        """What is said if something needs the whole counted table."""
        return TooManyVectors(
            f"{self.refusal}. mondrian (strict) and mondrian+ with generalization decide on larger tables piece by "
            f"piece, but {why}"
        )

    def whole(self, names: Sequence[str], region: CodeRegion = ()) -> Counts:
        """The distinct vectors of some columns, of all rows or of those of a region."""
        codes = [self._at(name) for name in names]
        by = f" GROUP BY {', '.join(codes)}" if codes else ""
        shown = ", ".join([*codes, "CAST(sum(n) AS BIGINT) AS n"])
        found = self.ask(f"SELECT {shown} FROM {self.relation} WHERE {self._where(region)}{by}")
        return self._counts(found, names)

    def margins(self, regions: Sequence[CodeRegion], axes: Sequence[str], beside: Sequence[str]) -> list[Margins]:
        """For each region and axis, the distinct combinations of the axis's code and some other columns, in one pass.

        Axes are not among the other columns.
        """
        others = "".join(f", {self._at(name)}" for name in beside)
        sets = ", ".join(f"(region, {self._at(axis)}{others})" for axis in axes)
        codes = ", ".join(self._at(axis) for axis in axes)
        numbered = f"SELECT {self._numbered(regions)} AS region, {codes}{others}, n FROM {self.relation}"
        found = self.ask(
            f"SELECT region, {codes}{others}, CAST(sum(n) AS BIGINT) AS n, count(*) AS v FROM ({numbered}) AS numbered "
            f"WHERE region >= 0 GROUP BY GROUPING SETS ({sets})"
        )
        return [self._of_region(found.filter(pl.col("region") == i), axes, beside) for i in range(len(regions))]

    def _of_region(self, found: pl.DataFrame, axes: Sequence[str], beside: Sequence[str]) -> Margins:
        """The margins of one region: a row counts for the axis of which it has a code."""
        by_axis = [found.filter(pl.col(self._at(axis)).is_not_null()) for axis in axes]
        counts = [self._counts(frame, [axis, *beside]) for frame, axis in zip(by_axis, axes, strict=True)]
        return Margins(int(by_axis[0]["v"].sum()), counts)

    def piece(self, regions: Sequence[CodeRegion]) -> list[Counts]:
        """The vectors of each of some regions, in the order of their codes."""
        found = self.ask(self._vectors_of(regions))
        return [self._counts(found.filter(pl.col("region") == i), list(self.columns)) for i in range(len(regions))]

    def each(self, regions: Sequence[CodeRegion], work: PieceWork, tell: Tell = lambda share: None) -> list[CodeArrays]:
        """What some work makes of the vectors of each of some regions."""
        if self.apart is not None:
            sizes = [column.size for column in self.columns.values()]
            return self.apart(self._vectors_of(regions), len(regions), sizes, work, tell)
        pieces = self.piece(regions)
        return [work([c.codes for c in piece.columns.values()], piece.weights) for piece in pieces]

    def _vectors_of(self, regions: Sequence[CodeRegion]) -> str:
        codes = ", ".join(self._at(name) for name in self.columns)
        numbered = f"SELECT {self._numbered(regions)} AS region, {codes}, n FROM {self.relation}"
        return f"SELECT region, {codes}, n FROM ({numbered}) AS numbered WHERE region >= 0"

    def _numbered(self, regions: Sequence[CodeRegion]) -> str:
        """The number of a vector's region, -1 if it is in none."""
        cases = " ".join(f"WHEN {self._where(region)} THEN {i}" for i, region in enumerate(regions))
        return f"CASE {cases} ELSE -1 END"

    def tally(self, name: str) -> Integers:
        """How many rows have each code of a column."""
        counts = self.whole([name])
        column = counts[name]
        return np.bincount(column.codes, weights=counts.weights, minlength=column.size).astype(np.int64)

    def class_sizes(self, names: Sequence[str]) -> Integers:
        """How many rows each combination of some columns has, in no order."""
        codes = ", ".join(self._at(name) for name in names)
        classes = f"SELECT sum(n) AS size FROM {self.relation} GROUP BY {codes}"
        found = self.ask(
            f"SELECT CAST(size AS BIGINT) AS size, count(*) AS classes FROM ({classes}) AS sized GROUP BY size"
        )
        return np.repeat(found["size"].to_numpy(), found["classes"].to_numpy())

    def _at(self, name: str) -> str:
        return f"q{list(self.columns).index(name)}"

    def _where(self, region: CodeRegion) -> str:
        tests = []
        for name, codes, inside in region:
            at = self._at(name)
            some = " OR ".join(f"({at} >= {lo} AND {at} < {hi})" for lo, hi in codes)
            tests.append(f"{'' if inside else 'NOT '}({some})")
        return " AND ".join(tests) or "1 = 1"

    def _counts(self, found: pl.DataFrame, names: Sequence[str]) -> Counts:
        found = found.sort([self._at(name) for name in names]) if names else found
        columns = {n: self.columns[n] for n in self.columns if n in names}
        codes = typed_codes([found[self._at(n)].to_numpy() for n in columns], [c.size for c in columns.values()])
        coded = {n: replace(c, codes=code) for (n, c), code in zip(columns.items(), codes, strict=True)}
        return Counts(coded, pl.DataFrame(), found["n"].to_numpy().astype(np.int64), self.dropped)


def typed_codes(codes: CodeArrays, sizes: Sequence[int]) -> CodeArrays:
    """Codes in the smallest unsigned integers that hold those of their column."""
    return [code.astype(np.min_scalar_type(max(size - 1, 0))) for code, size in zip(codes, sizes, strict=True)]


def packed(arrays: CodeArrays) -> bytes:
    """Arrays as bytes, to be sent to another process.

    >>> [a.tolist() for a in unpacked(packed([np.array([1, 2]), np.zeros(0)]))]
    [[1, 2], []]
    """
    stream = io.BytesIO()
    np.savez(stream, *arrays)
    return stream.getvalue()


def unpacked(data: bytes) -> CodeArrays:
    """The arrays in such bytes."""
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        return [found[f"arr_{i}"] for i in range(len(found.files))]
