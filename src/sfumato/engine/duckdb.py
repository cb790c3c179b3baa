"""Rows in files or in DuckDB, on one machine, within bounded memory: what does not fit is spilled to disk.

DuckDB reads, finds distinct values, counts and streams; Python codes the distinct values (`table.encode`), decides on
counts and draws. Every coded column becomes a dictionary (value, code); joined with these, the codes of a row are
packed into one 64-bit key (several if they do not fit), by which rows are counted.
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from sfumato.engine import counted
from sfumato.engine.base import Attributes
from sfumato.engine.counted import CountedEngine, Limits, rowless
from sfumato.engine.counts import Counts, Integers
from sfumato.engine.output_column import plain_name
from sfumato.engine.packing import Packing
from sfumato.engine.pieces import PIECES, Pieces, TooManyVectors
from sfumato.engine.progress import Progress, silent, watched, with_rows
from sfumato.engine.settings import EngineSettings
from sfumato.engine.shuffle import Spill
from sfumato.engine.values import (
    Declared,
    coded_by_values,
    most_vectors,
    readable,
    refuse_many_values,
    refuse_many_vectors,
    refuse_missing,
)
from sfumato.errors import DataError, PolicyError
from sfumato.table.encode import Attribute, Column, Role
from sfumato.table.file_set import FileSet, file_set
from sfumato.table.form import PLAIN, Form
from sfumato.table.microdata import CODED_ROLES, Missing, check_columns, typed
from sfumato.table.source import read_frame, simplified

_BATCH = 1 << 19
_SCHEME = "duckdb://"


class DuckDBEngine(CountedEngine):
    """A table that DuckDB reads where it lies."""

    @classmethod
    def read(
        cls,
        source: object,
        attributes: Attributes,
        *,
        query: str | None = None,
        nulls: Sequence[str] = (),
        missing: Missing = "error",
        folder: Path | None = None,
        form: Form = PLAIN,
        settings: EngineSettings | None = None,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Find the distinct values of a source's columns, code them, and count the rows by their codes."""
        chosen = settings or EngineSettings(name="duckdb")
        spill = Spill(chosen.spill)
        with speaking():
            stored = _Connection.open(spill, chosen.memory_bytes, progress or silent)
            names = stored.load(source, query, nulls, folder, form)
            wanted = readable(attributes(names), form)
            check_columns(names, stored.rows, wanted)
            dropped = stored.keep(wanted, missing)
            stored.progress = with_rows(stored.progress, stored.rows)
            rows = DuckDBRows.coded(stored, wanted, Declared(missing == "category", folder, form), dropped)
            stored.progress("compress", 0.0)
            finest = rows.finest()
        plain, hidden = (rows.empty(wanted, role) for role in (Role.INSENSITIVE, Role.IDENTIFIER))
        table = rowless(dict(rows.columns), plain, hidden, stored.rows - dropped, dropped)
        return cls(table, rows, finest, spill, limits=limits, progress=progress)


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


@contextmanager
def speaking() -> Iterator[None]:
    """Turn an error of DuckDB into one of ours, without the values that its message may quote."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException:
        raise DataError(
            "DuckDB ran out of memory, or of space to spill rows to; raise memory under [engine], or set spill to a "
            "folder on a larger disk"
        ) from None
    except duckdb.Error as e:
        line = re.search(r"Line:? (\d+)", str(e))
        where = f" near line {line[1]}" if line else ""
        if "No space left" in str(e):
            where = ": no space is left to spill rows to; set spill under [engine] to a folder on a larger disk"
        raise DataError(f"DuckDB cannot read or count the table ({type(e).__name__}){where}") from None


@dataclass
class _Connection:
    """A private database in a spill folder, with the table of a job as ``source`` and as ``kept``."""

    con: Any
    spill: Spill
    memory: int
    progress: Progress = silent
    names: tuple[str, ...] = ()
    rows: int = 0

    @classmethod
    def open(cls, spill: Spill, memory: int, progress: Progress = silent) -> "_Connection":
        """Half of the memory is DuckDB's; the other half is for the counted table and the method."""
        duckdb = imported()
        place = spill.place("duckdb")
        config = {
            "memory_limit": f"{max(memory // 2, 1 << 26)}B",
            "temp_directory": str(place),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        made = cls(duckdb.connect(str(place / "rows.duckdb"), config=config), spill, memory, progress)
        made.sql("SET enable_progress_bar = true")  # it is asked for its share, and prints nothing
        made.sql("SET enable_progress_bar_print = false")
        return made

    def sql(self, statement: str) -> None:
        """Run a statement."""
        self.con.execute(statement).fetchall()

    def long(self, statement: str, stage: str) -> None:
        """Run a statement that takes long; the listener is told how much of it is done."""
        watched(
            lambda: self.sql(statement),
            lambda: self.con.query_progress() / 100,
            lambda share: self.progress(stage, share),
            self.con.interrupt,
        )

    def frame(self, question: str) -> pl.DataFrame:
        """The answer to a question, in memory."""
        found = pl.from_arrow(self.con.sql(question).to_arrow_table())
        assert isinstance(found, pl.DataFrame)
        return found

    def table_from(self, name: str, frame: pl.DataFrame) -> None:
        """A frame as a table."""
        self.con.register("given", frame.to_arrow())
        self.sql(f"CREATE TEMP TABLE {name} AS SELECT * FROM given")
        self.con.unregister("given")

    def load(
        self, source: object, query: str | None, nulls: Sequence[str], folder: Path | None, form: Form
    ) -> list[str]:
        """Make the source a table or view named ``source`` with columns c0, c1, … and return their names."""
        files = None if query is not None else file_set(source, folder, form)
        if files is not None:
            self.names = files.columns
            self._load_files(files)
        elif isinstance(source, str) and source.startswith(_SCHEME):
            self._load_database(source, query, folder)
        else:
            frame = read_frame(
                source, query=query, folder=folder, form=replace(form, dates=(), decimal=None, thousands=None)
            )
            self.names = tuple(frame.columns)
            self.table_from("held", frame.rename({n: f"c{i}" for i, n in enumerate(frame.columns)}))
            self.sql("CREATE TEMP VIEW source AS SELECT * FROM held")
        self._set_nulls(nulls)
        self.rows = int(self.con.sql("SELECT count(*) FROM source").fetchall()[0][0])
        return list(self.names)

    def _load_files(self, files: FileSet) -> None:
        listed = ", ".join(text(str(file)) for file in files.files)
        columns = ", ".join(f"c{i}" for i in range(len(files.columns)))
        if files.kind == "parquet":
            read = f"read_parquet([{listed}], hive_partitioning=false, union_by_name=false)"
            self.sql(f"CREATE TEMP VIEW source AS SELECT * FROM {read} AS t({columns})")
            return
        types = "{" + ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(files.columns))) + "}"
        read = (
            f"read_csv([{listed}], columns={types}, header=true, delim={text(files.separator)}, quote='\"', "
            "escape='\"', nullstr='', auto_detect=false, strict_mode=true)"
        )
        self.long(f"CREATE TABLE held AS SELECT * FROM {read}", "read")  # parsed once
        self.sql("CREATE TEMP VIEW source AS SELECT * FROM held")

    def _load_database(self, source: str, query: str | None, folder: Path | None) -> None:
        """The result of a query on a DuckDB file, which is opened for reading only."""
        if query is None:
            raise PolicyError('a DuckDB database needs a query: query = "select * from my_table" under [data]')
        path = Path(source.removeprefix(_SCHEME).removeprefix("/") if source.count("/") == 3 else source[9:])
        path = path if folder is None else folder / path
        if not path.is_file():
            raise DataError(f"{path} does not exist; a DuckDB database is given as duckdb:///path")
        import duckdb

        with duckdb.connect(str(path), read_only=True) as other:
            answer = other.sql(query)
            self.names = tuple(answer.columns)
            self.con.register("given", answer.to_arrow_reader(_BATCH))
            columns = ", ".join(f"c{i}" for i in range(len(self.names)))
            self.sql(f"CREATE TABLE held AS SELECT * FROM given AS t({columns})")
            self.con.unregister("given")
        self.sql("CREATE TEMP VIEW source AS SELECT * FROM held")

    def _set_nulls(self, nulls: Sequence[str]) -> None:
        """Make some strings of text columns missing values."""
        self.types = {str(n): str(t) for n, t, *_ in self.con.sql("DESCRIBE SELECT * FROM source").fetchall()}
        listed = ", ".join(text(null) for null in nulls)
        cells = [f"CASE WHEN {c} IN ({listed}) THEN NULL ELSE {c} END AS {c}" for c in self.types] if nulls else []
        shown = [cell if self.types[c] == "VARCHAR" else c for c, cell in zip(self.types, cells, strict=False)]
        self.sql(f"CREATE TEMP VIEW cells AS SELECT {', '.join(shown) or '*'} FROM source")

    def at(self, name: str) -> str:
        """What a column is called here."""
        return f"c{self.names.index(name)}"

    def keep(self, wanted: Sequence[Attribute], missing: Missing) -> int:
        """Apply the rule for missing values to coded columns; the rows that stay are ``kept``."""
        coded = [a.name for a in wanted if a.role in CODED_ROLES]
        filled = ", ".join(f"count({self.at(name)})" for name in coded) or "0"
        found = self.con.sql(f"SELECT {filled} FROM cells").fetchall()[0]
        self.nulls = {n: self.rows - int(filled) for n, filled in zip(coded, found, strict=False)}
        lacking = {n: number for n, number in self.nulls.items() if number}
        refuse_missing(lacking, missing)
        rule = " AND ".join(f"{self.at(n)} IS NOT NULL" for n in lacking) if missing == "drop" and lacking else "true"
        self.sql(f"CREATE TEMP VIEW kept AS SELECT * FROM cells WHERE {rule}")
        if rule == "true":
            return 0
        self.nulls = dict.fromkeys(coded, 0)
        left = int(self.con.sql("SELECT count(*) FROM kept").fetchall()[0][0])
        refuse_missing(lacking, missing, left=left)
        return self.rows - left


class DuckDBRows:
    """The rows of a table and a dictionary for each of its coded columns."""

    def __init__(self, stored: _Connection, columns: dict[str, Column], plain: dict[str, pl.DataType], dropped: int):
        self._stored, self.columns, self._plain, self._dropped = stored, columns, plain, dropped
        self._packing = Packing([column.size for column in columns.values()])
        self._vectors: dict[tuple[str, ...], pl.DataFrame] = {}

    @classmethod
    def coded(cls, stored: _Connection, wanted: Sequence[Attribute], declared: Declared, dropped: int) -> "DuckDBRows":
        """Code the distinct values of each column; each dictionary becomes a table."""
        columns: dict[str, Column] = {}
        coded = [a for a in wanted if a.role in CODED_ROLES]
        for place, attribute in enumerate(coded):
            stored.progress("code", place / len(coded))
            columns[attribute.name] = _dictionary(stored, attribute, declared, place)
        plain = {a.name: _plain_type(stored, a.name) for a in wanted if a.role is Role.INSENSITIVE}
        return cls(stored, columns, plain, dropped)

    def empty(self, wanted: Sequence[Attribute], role: Role) -> pl.DataFrame:
        """The uncoded columns of a role, without rows."""
        names = [a.name for a in wanted if a.role is role]
        return pl.DataFrame(schema={n: self._plain.get(n, pl.String()) for n in names})

    def _joined(self) -> str:
        """The rows, each with its dictionary entries."""
        joins = [
            f"JOIN code_{place} ON {self._same(f'kept.{self._stored.at(name)}', f'code_{place}.value', name)}"
            for place, name in enumerate(self.columns)
        ]
        return " ".join(["kept", *joins])

    def _same(self, one: str, other: str, name: str) -> str:
        missing = self._stored.nulls.get(name, 1)
        return f"{one} IS NOT DISTINCT FROM {other}" if missing else f"{one} = {other}"

    def _keys(self) -> list[str]:
        return self._packing.expressions([f"code_{place}.code" for place in range(len(self.columns))])

    def finest(self) -> Counts | Pieces:
        """The distinct vectors of all coded columns; where they are, if they are too many for this process."""
        try:
            return self.counted(())
        except TooManyVectors as e:
            return self._pieces(str(e))

    def _pieces(self, refusal: str) -> Pieces:
        """The vectors, which are counted already, with a column per code."""
        codes = zip(self._packing.codes("//"), self.columns.values(), strict=True)
        small = [f"CAST({code} AS {_sql_type(column.size)}) AS q{j}" for j, (code, column) in enumerate(codes)]
        self._stored.sql(f"CREATE TEMP TABLE pieces AS SELECT {', '.join(small)}, n FROM counted")
        self._stored.sql("DROP TABLE counted")

        def ask(question: str) -> pl.DataFrame:
            with speaking():
                return self._stored.frame(question)

        rows = self._stored.rows - self._dropped
        most = most_vectors(len(self.columns), self._stored.memory) // PIECES
        return Pieces(ask, "pieces", dict(self.columns), rows, self._dropped, most, refusal)

    def counted(self, others: tuple[str, ...]) -> Counts:
        """The distinct vectors of all coded columns and some uncoded ones, in the order of their codes."""
        with speaking():
            keys = [f"{key} AS k{j}" for j, key in enumerate(self._keys())]
            beside = [f"kept.{self._stored.at(name)} AS o{j}" for j, name in enumerate(others)]
            self._stored.sql("DROP TABLE IF EXISTS counted")
            self._stored.long(
                f"CREATE TEMP TABLE counted AS SELECT {', '.join([*keys, *beside])}, count(*) AS n "
                f"FROM {self._joined()} GROUP BY ALL",
                "compress",
            )
            number = int(self._stored.con.sql("SELECT count(*) FROM counted").fetchall()[0][0])
            refuse_many_vectors(number, len(self.columns) + len(others), self._stored.memory)
            found = self._stored.frame("SELECT * FROM counted")
            self._stored.sql("DROP TABLE counted")
        return self._vectors_of(found, others)

    def _vectors_of(self, found: pl.DataFrame, others: tuple[str, ...]) -> Counts:
        names = [*(f"k{j}" for j in range(self._packing.words)), *(f"o{j}" for j in range(len(others)))]
        found = found.sort(names) if not any(found[n].dtype.is_nested() for n in names) else found
        self._vectors[others] = found.select(names) if self._plain else found.head(0)
        codes = self._packing.unpacked([found[f"k{j}"].to_numpy() for j in range(self._packing.words)])
        columns = {n: replace(c, codes=codes[j].astype(c.codes.dtype)) for j, (n, c) in enumerate(self.columns.items())}
        beside = pl.DataFrame([simplified(found[f"o{j}"].alias(name)) for j, name in enumerate(others)])
        return Counts(columns, beside, found["n"].to_numpy().astype(np.int64), self._dropped)

    def batches(self, others: tuple[str, ...], plain: Sequence[str], *, ordered: bool) -> Iterator[pl.DataFrame]:
        """All rows: the vector of each and its insensitive values."""
        stored, vectors = self._stored, self._vectors[others]
        with speaking():
            stored.sql("DROP TABLE IF EXISTS vectors")
            stored.table_from("vectors", vectors.with_columns(vector=pl.int_range(pl.len(), dtype=pl.UInt32)))
            same = [f"{key} = vectors.k{j}" for j, key in enumerate(self._keys())]
            same += [f"kept.{stored.at(name)} IS NOT DISTINCT FROM vectors.o{j}" for j, name in enumerate(others)]
            shown = [f"kept.{stored.at(name)} AS {quoted(plain_name(name))}" for name in plain]
            order = " ORDER BY ALL" if ordered else ""
            question = (
                f"SELECT vectors.vector AS vector, {', '.join(shown)} FROM {self._joined()} "
                f"JOIN vectors ON {' AND '.join(same) or 'true'}{order}"
            )
            for batch in stored.con.sql(question).to_arrow_reader(_BATCH):
                yield self._shown(pl.DataFrame(pl.from_arrow(batch)), plain)

    def _shown(self, batch: pl.DataFrame, plain: Sequence[str]) -> pl.DataFrame:
        """A batch with the types that insensitive columns are published by."""
        cells = [simplified(batch[plain_name(name)]).cast(self._plain[name]) for name in plain]
        return batch.with_columns(cells)

    def tally(self, name: str) -> pl.DataFrame | None:
        """How many rows have each value of an uncoded column; None if it has too many."""
        with speaking():
            here = self._stored.at(name)
            some = f"SELECT DISTINCT {here} FROM kept LIMIT {counted.MOST_TALLIED + 1}"
            if self._stored.con.sql(f"SELECT count(*) FROM ({some})").fetchall()[0][0] > counted.MOST_TALLIED:
                return None
            found = self._stored.frame(f"SELECT {here} AS value, count(*) AS rows FROM kept GROUP BY {here}")
        value = simplified(found["value"])
        return pl.DataFrame([value.cast(self._plain.get(name, value.dtype)), found["rows"].cast(pl.Int64)])

    def people(self, entity: Sequence[str]) -> tuple[int, int]:
        """How many people some uncoded columns tell apart, and how many of them have several rows."""
        with speaking():
            by = ", ".join(self._stored.at(name) for name in entity)
            rows = f"SELECT count(*) AS n FROM kept GROUP BY {by}"
            found = self._stored.con.sql(f"SELECT count(*), count(*) FILTER (n > 1) FROM ({rows})").fetchall()
        return int(found[0][0]), int(found[0][1])

    def digest(self) -> str:
        """A digest of all cells, whatever the order of rows: sums of hashes, good against accidents only."""
        import duckdb

        with speaking():
            cells = ", ".join(f"CAST({self._stored.at(name)} AS VARCHAR)" for name in sorted(self._stored.names))
            sums = ", ".join(f"sum(hash('{salt}', {cells})::HUGEINT)" for salt in "ab")
            found = self._stored.con.sql(f"SELECT {sums} FROM source").fetchall()[0]
        return f"duckdb {duckdb.__version__}: {self._stored.rows} {found[0]:x} {found[1]:x}"


def _dictionary(stored: _Connection, attribute: Attribute, declared: Declared, place: int) -> Column:
    """Find the distinct values of a column, code them, and keep value and code as a table."""
    here = stored.at(attribute.name)
    stored.sql(f"CREATE TEMP TABLE value_{place} AS SELECT {here} AS value, count(*) AS n FROM kept GROUP BY {here}")
    number = int(stored.con.sql(f"SELECT count(*) FROM value_{place}").fetchall()[0][0])
    refuse_many_values(number, attribute.name)
    found = stored.frame(f"SELECT rowid AS place, value, n FROM value_{place}")
    values = simplified(found["value"].alias(attribute.name))
    column = coded_by_values(values, found["n"].to_numpy(), attribute, declared)
    stored.table_from(f"coded_{place}", pl.DataFrame({"place": found["place"], "code": _as_integers(column.codes)}))
    stored.sql(
        f"CREATE TEMP TABLE code_{place} AS SELECT v.value AS value, c.code::UBIGINT AS code "
        f"FROM value_{place} v JOIN coded_{place} c ON v.rowid = c.place"
    )
    stored.sql(f"DROP TABLE value_{place}")
    stored.sql(f"DROP TABLE coded_{place}")
    return column


def _sql_type(size: int) -> str:
    """The smallest type that holds so many codes."""
    return "UTINYINT" if size <= 1 << 8 else "USMALLINT" if size <= 1 << 16 else "UINTEGER"


def _as_integers(codes: Any) -> Integers:
    return np.asarray(codes, np.int64)


def _plain_type(stored: _Connection, name: str) -> pl.DataType:
    """The type by which an insensitive column is published: numbers if its text is the same again, as in memory."""
    here = stored.at(name)
    values = stored.frame(f"SELECT DISTINCT {here} AS value FROM kept LIMIT {MOST_TYPED + 1}")["value"]
    if len(values) > MOST_TYPED:
        return simplified(values).dtype
    return typed(simplified(values.alias(name))).dtype


MOST_TYPED = 1_000_000
"""A text column with more distinct values stays text."""


def imported() -> Any:
    """DuckDB, if it is installed."""
    try:
        import duckdb
    except ImportError:
        raise PolicyError(
            "the engine duckdb needs DuckDB, which is not installed: pip install 'sfumato[outofcore]', "
            'or set name = "local" under [engine]'
        ) from None
    warnings.filterwarnings("ignore", category=UserWarning, module="duckdb")
    return duckdb
