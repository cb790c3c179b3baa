"""A private database of DuckDB: what it is asked, how long it takes, and the source of a job as a table in it."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.engine.progress import Progress, silent, watched
from sfumato.engine.shuffle import Spill
from sfumato.engine.values import (
    in_utc,
    refuse_missing,
)
from sfumato.errors import DataError, PolicyError
from sfumato.table.encode import Attribute
from sfumato.table.file_set import FileSet, file_set
from sfumato.table.form import Form
from sfumato.table.microdata import CODED_ROLES, Missing
from sfumato.table.source import read_frame

_BATCH = 1 << 19

_SCHEME = "duckdb://"


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


@contextmanager
def speaking() -> Iterator[None]:
    """Turn an error of DuckDB into one of ours, without the values that its message may quote."""
    duckdb = imported()
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


@dataclass
class Connection:
    """A private database in a spill folder, with the table of a job as ``source`` and as ``kept``."""

    con: Any
    spill: Spill
    memory: int
    progress: Progress = silent
    names: tuple[str, ...] = ()
    rows: int = 0

    @classmethod
    def open(cls, spill: Spill, memory: int, progress: Progress = silent) -> "Connection":
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
        """Run a statement that takes long; reports to the listener how much of it is done."""
        watched(
            lambda: self.sql(statement),
            lambda: self.con.query_progress() / 100,
            lambda share: self.progress(stage, share),
            self.con.interrupt,
        )

    def allow(self, memory: int) -> None:
        """Let DuckDB hold so many bytes; what is more goes to disk."""
        self.sql(f"SET memory_limit = '{max(memory, 1 << 26)}B'")

    def rest(self) -> None:
        """Let DuckDB hold as little as it can: it refuses a limit below what it cannot move to disk at once."""
        import duckdb

        limit = 1 << 26
        while limit < self.memory // 2:
            try:
                self.allow(limit)
            except duckdb.OutOfMemoryException:
                limit *= 2
            else:
                return

    def frame(self, question: str) -> pl.DataFrame:
        """The answer to a question, in memory."""
        found = pl.from_arrow(self.con.sql(question).to_arrow_table())
        assert isinstance(found, pl.DataFrame)
        return in_utc(found)

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
