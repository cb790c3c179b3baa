"""What engines share that store rows outside this process: the counted table is in memory, the rows are not.

All coded columns are counted once. Every other count, and every decision, is about these vectors. A published table
without insensitive columns is made of them alone: rows that agree in all coded columns are interchangeable, so no
row is read again. Insensitive columns are streamed from where the rows are, each row with the vector it belongs to.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl

from sfumato.engine.base import AsIs, Output, Randomized, Table
from sfumato.engine.counts import Counted, Counts, Integers, count
from sfumato.engine.dealing import Dealer
from sfumato.engine.decision import Grouping
from sfumato.engine.draws import Draws
from sfumato.engine.local import write_parquet
from sfumato.engine.output_column import ENTRY, VECTOR, OutputColumn
from sfumato.engine.parts import Compressing, Parts, write_parts
from sfumato.engine.pieces import Pieces
from sfumato.engine.progress import Progress, Share, silent
from sfumato.engine.shuffle import Spill, in_buckets
from sfumato.engine.stored_rows import Limits, StoredRows, elsewhere
from sfumato.engine.vector_rows import KnownVectors, compressed, expanded
from sfumato.errors import PolicyError, SfumatoError
from sfumato.table.microdata import Microdata
from sfumato.table.occurring import occurring
from sfumato.table.rowless import Rowless
from sfumato.table.taxonomy import named


class CountedEngine:
    """A table of which the counts of all coded columns are in memory and the rows are stored elsewhere."""

    def __init__(
        self,
        table: Rowless,
        rows: StoredRows,
        finest: Counts | Pieces,
        spill: Spill,
        *,
        place: Integers | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._table = replace(table, count_people=self.people)
        self._rows, self._counted, self._spill = rows, finest, spill
        self._place = place
        """Of engines without some rows: the vector here of each vector that rows were counted by, -1 if left out."""
        self._limits, self._progress = limits or Limits(), progress or silent
        self._known: dict[tuple[str, ...], KnownVectors] = {}

    @property
    def table(self) -> Microdata:
        """The columns, their roles and domains; their codes are elsewhere."""
        return self._table

    @property
    def pieces(self) -> Pieces | None:
        """The counted table where it is, if it is too large for this process."""
        return self._counted if isinstance(self._counted, Pieces) else None

    @property
    def _finest(self) -> Counts:
        if isinstance(self._counted, Pieces):
            raise self._counted.refuse("this needs all of it at once")
        return self._counted

    def of(self, counts: Counts) -> Self:
        """The same rows, to be published from these counts of them."""
        if plain := self._table.plain.columns:
            assert self.pieces is not None
            raise self.pieces.refuse(
                f"the insensitive column {plain[0]!r} must be joined with every row; leave it out (role identifier)"
            )
        other = self._like(self._table, counts)
        other._known[counts.names] = KnownVectors.itself(counts)
        return other

    def digest(self) -> str:
        """A digest of all cells, whatever the order of rows."""
        return self._rows.digest()

    def prepared(self, change: Callable[[Microdata], Microdata]) -> Self:
        """The same rows with other domains."""
        table = change(self._table)
        if table is self._table:
            return self
        if self.pieces is not None:
            return self._like(replace(self._table, columns=table.columns), self.pieces.like(table))
        columns = {n: replace(c, codes=self._finest[n].codes) for n, c in table.columns.items()}
        return self._like(replace(self._table, columns=table.columns), replace(self._finest, columns=columns))

    def count(self, names: Sequence[str]) -> Counts:
        """The distinct vectors of the quasi-identifiers and other columns, with multiplicities."""
        wanted = {c.name for c in self._table.quasi} | set(names)
        columns = tuple(name for name in self._table.columns if name in wanted)
        others = tuple(dict.fromkeys(name for name in names if name not in columns))
        finest = self._reaching(others)
        if finest.names == (*columns, *others):
            self._known[finest.names] = KnownVectors.itself(finest)
            return finest
        coded = [Counted(*finest.counted(name)) for name in (*columns, *others)]
        vectors = count(coded)
        self._known[(*columns, *others)] = KnownVectors(finest, vectors.of_row)
        return Counts(
            {name: replace(finest[name], codes=finest[name].codes[vectors.first]) for name in columns},
            pl.DataFrame([finest.others[name] for name in others])[vectors.first] if others else pl.DataFrame(),
            np.bincount(vectors.of_row, weights=finest.weights).astype(np.int64),
            finest.dropped,
        )

    def _reaching(self, others: tuple[str, ...]) -> Counts:
        """The finest vectors, counted again if they lack some uncoded columns."""
        there = tuple(self._finest.others.columns)
        if lacking := tuple(name for name in others if name not in there):
            if unknown := [name for name in lacking if name not in self._table.names]:
                raise PolicyError(
                    f"there is no column {unknown[0]!r} to count by; choose from {named(self.table.names)}"
                )
            self._refuse_narrowed()
            counted = self._rows.counted((*there, *lacking))
            columns = {n: replace(c, codes=counted[n].codes) for n, c in self._table.columns.items()}
            self._counted = replace(counted, columns=columns)
        return self._finest

    def _refuse_narrowed(self) -> None:
        if self._place is not None:
            raise SfumatoError("rows were left out before this column was counted; please report this")

    def tally(self, name: str) -> pl.DataFrame | None:
        """How many rows have each value of a column, by value; None if there are too many values for memory."""
        if name in self._table.columns:
            column, rows = self._table.columns[name], self._rows_of_codes(name)
            found = pl.DataFrame({"value": pl.Series(column.domain.leaves, dtype=pl.String), "rows": rows})
            return found.filter(pl.col("rows") > 0)
        if name not in self._table.names:
            raise PolicyError(f"there is no column {name!r}; choose from {named(self._table.names)}")
        self._refuse_narrowed()
        return self._rows.tally(name)

    def _rows_of_codes(self, name: str) -> Integers:
        """How many rows have each code of a column."""
        if self.pieces is not None:
            return self.pieces.tally(name)
        column = self._finest[name]
        return np.bincount(column.codes, weights=self._finest.weights, minlength=column.size).astype(np.int64)

    def people(self, entity: Sequence[str]) -> tuple[int, int]:
        """How many people there are, by the columns that tell them apart, and how many of them have several rows."""
        if self._place is None and not any(name in self._table.columns for name in entity):
            return self._rows.people(entity)
        finest = self._reaching(tuple(name for name in entity if name not in self._table.columns))
        found = count([Counted(*finest.counted(name)) for name in entity])
        rows = np.bincount(found.of_row, weights=finest.weights)
        return len(rows), int((rows > 1).sum())

    def without(self, counts: Counts, grouping: Grouping) -> Self:
        """The kept rows, without a trace of the others: a domain found in the data is that of the kept rows."""
        finest, of_finest = self._applied(counts)
        kept = np.zeros(len(counts), np.bool_)
        kept[grouping.vector] = True
        vectors = np.flatnonzero(kept[of_finest])
        weights = finest.weights[vectors]
        columns = {n: occurring(replace(c, codes=c.codes[vectors]), weights) for n, c in finest.columns.items()}
        place = np.full(len(finest) + 1, -1, np.int64)  # the last is for vectors that were left out before
        place[vectors] = np.arange(len(vectors))
        others = finest.others[vectors] if finest.others.width else finest.others
        table = replace(self._table, columns=elsewhere(columns), rows=int(weights.sum()))
        fewer = Counts(columns, others, weights, finest.dropped)
        return self._like(table, fewer, place[:-1] if self._place is None else place[self._place])

    def _like(self, table: Rowless, finest: Counts | Pieces, place: Integers | None = None) -> Self:
        kept = self._place if place is None else place
        return type(self)(
            table, self._rows, finest, self._spill, place=kept, limits=self._limits, progress=self._progress
        )

    def _applied(self, counts: Counts | None) -> KnownVectors:
        if counts is None:
            return KnownVectors.itself(self._finest)
        if counts.names not in self._known:
            raise SfumatoError("a decision can be applied only by the engine that counted; please report this")
        return self._known[counts.names]

    def publish(
        self, outputs: Sequence[Output], draws: Draws, grouping: Grouping | None = None, counts: Counts | None = None
    ) -> Table:
        """The rows in a secret order, each with its outputs; in parts if there are too many for memory."""
        known = self._applied(counts)
        grouped = grouping is not None and counts is not None
        dealer = Dealer(counts, grouping, draws) if grouped else None  # type: ignore[arg-type]
        rows, whole = self._table.rows, self._table.rows <= self._limits.in_memory
        batches = self._dealt(known, dealer, [o.name for o in outputs if self._is_plain(o)], draws)
        buckets = in_buckets(batches, rows, rows if whole else self._limits.part_rows, draws, self._spill)
        makers = [OutputColumn(o, known.finest, grouping, draws, one=whole) for o in outputs]
        frames = (pl.DataFrame([make(bucket) for make in makers]) for bucket in self._heard(buckets, rows))
        if whole:
            return next(frames)
        coded = [make for make in makers if not self._is_plain(make.output)]
        return self._parts(frames, coded, known, dealer, grouping)

    def _is_plain(self, output: Output) -> bool:
        return isinstance(output, AsIs) and output.name not in self._table.columns

    def _heard(self, buckets: Iterator[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
        """The same buckets; reports how many rows are done."""
        done = 0
        for bucket in buckets:
            yield bucket
            done += bucket.height
            self._progress("parts", Share.of_rows(done, rows))

    def _dealt(
        self, known: KnownVectors, dealer: Dealer | None, plain: list[str], draws: Draws
    ) -> Iterator[pl.DataFrame]:
        """The finest vector and the entry of each row, with its insensitive values, a batch at a time."""
        others = tuple(known.finest.others.columns)
        batches = (
            self._placed(self._rows.batches(others, plain, ordered=not draws.secret))
            if plain
            else expanded(known.finest.weights)
        )
        done = 0
        for batch in batches:
            done += batch.height
            self._progress("order", Share.of_rows(done, self._table.rows))
            if dealer is None:
                yield batch
            else:
                entries = dealer.take(known.of_finest[batch[VECTOR].to_numpy()])
                yield batch.with_columns(pl.Series(ENTRY, entries.astype(np.uint32)))

    def _placed(self, batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The batches by the vectors of this engine, without the rows that were left out."""
        for batch in batches:
            if self._place is None:
                yield batch
            else:
                vector = self._place[batch[VECTOR].to_numpy()]
                yield batch.with_columns(pl.Series(VECTOR, vector)).filter(pl.Series(vector >= 0))

    def _parts(
        self,
        frames: Iterator[pl.DataFrame],
        coded: "list[OutputColumn]",
        known: KnownVectors,
        dealer: Dealer | None,
        grouping: Grouping | None,
    ) -> Parts:
        """Write the rows in parts; count what they show, from the vectors if these decide it."""
        compressing = Compressing()
        decided = not any(isinstance(make.output, Randomized) for make in coded) and (dealer is None or dealer.whole)
        names = [make.output.name for make in coded]
        schema, height = pl.Schema(), 0

        def noted() -> Iterator[pl.DataFrame]:
            nonlocal schema, height
            for frame in frames:
                schema, height = frame.schema, height + frame.height
                if not decided:
                    compressing.add(frame.select(names))
                yield frame

        files = write_parts(noted(), self._spill.place(f"parts-{len(list(self._spill.path.iterdir()))}"))
        counted, weights = compressed(coded, known, dealer, grouping) if decided else compressing.result()
        return Parts(files, schema, height, counted, weights, self._spill)

    def write(self, table: pl.DataFrame, file: Path) -> None:
        """Write a published table as parquet."""
        write_parquet(table, file)
