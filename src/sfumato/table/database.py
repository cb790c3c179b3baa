"""Tables from a database: one query, read through ADBC, that cannot write.

The query must be one SELECT, WITH, VALUES or TABLE statement; comments are removed. PostgreSQL runs it
in a transaction that is read-only and never committed, SQLite on a file that is opened read-only. A
password in the URL is never shown: not in a message and not in the chain of causes.
"""

import importlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from sfumato.errors import DataError, PolicyError, SfumatoError
from sfumato.table.address import Address, masked
from sfumato.table.batches import Told, unheard
from sfumato.table.checks import check_names
from sfumato.table.regular_file import check_file, located

_QUOTED_OR_COMMENT = re.compile(
    r"""(?P<comment> --[^\n]* | /\*.*?\*/ )
      | (?<!\w)[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*"
      | (?<![\w$])\$(?P<tag>\w*)\$.*?\$(?P=tag)\$""",
    re.VERBOSE | re.DOTALL,
)
_READ_ONLY = (
    "SET TRANSACTION READ ONLY",
    # A first query seals the transaction: from here on PostgreSQL refuses to make it read-write again.
    "SELECT current_setting('transaction_read_only')",
)
_COPIED = "adbc.postgresql.use_copy"
# SQLite has no column types, so ADBC infers them from the first batch of rows: make that all rows.
_ONE_BATCH = {"adbc.sqlite.query.batch_rows": str(1 << 30)}


def read_database(url: str, query: str | None, folder: Path | None = None, told: Told = unheard) -> pl.DataFrame:
    """The rows of a query on ``postgresql://user:password@host:port/name`` or ``sqlite:///path``.

    PostgreSQL estimates their number, so ``told`` can be called with how much has been read; SQLite returns them at
    once.
    """
    address = Address.of(url)
    if address is None or address.scheme not in ("postgresql", "postgres", "sqlite"):
        raise PolicyError(
            f"{masked(url)} is neither a file nor a known database; write "
            "postgresql://user@host:port/name or sqlite:///path. Copy remote files to this machine first; export "
            "other databases to csv or parquet."
        )
    if query is None:
        raise PolicyError(
            f"{masked(url)} is a database, so a query must say which table to read. Add one, such as "
            'query = "select * from discharges" in a policy, or --query on the command line.'
        )
    statement = checked(query)
    if address.scheme == "sqlite":
        return _read_sqlite(url, url.partition("://")[2], statement, folder)
    return _read_postgresql(address, statement, told)


def checked(query: str) -> str:
    """The query without comments and final semicolon, if it is a single statement that only reads.

    >>> checked("select ';' as x -- a comment")
    "select ';' as x"
    """
    text = _QUOTED_OR_COMMENT.sub(lambda part: " " if part["comment"] else part[0], query).strip("; \t\r\n")
    bare = _QUOTED_OR_COMMENT.sub("''", text)
    word = re.match(r"[\s(]*(\w*)", bare)
    verb = word[1].upper() if word else ""
    if ";" in bare:
        raise PolicyError("The query contains more than one statement (it has a ; in it). Give a single SELECT.")
    if verb not in ("SELECT", "WITH", "VALUES", "TABLE"):
        raise PolicyError(
            f"The query begins with {verb or 'no word'!r}; a source is read-only, so it must be one SELECT, "
            "WITH, VALUES or TABLE statement. Run other statements with the database's own client."
        )
    if not _is_balanced(bare):
        raise PolicyError("The query has unbalanced parentheses. Correct the query.")
    return text


def _is_balanced(bare: str) -> bool:
    """Whether every parenthesis is opened before it is closed, and closed at the end."""
    depth = 0
    for character in bare:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0


def _read_sqlite(url: str, rest: str, statement: str, folder: Path | None) -> pl.DataFrame:
    """Run the statement on an existing SQLite file, opened read-only."""
    name = rest.removeprefix("/")
    if not rest.startswith("/") or name in ("", ":memory:"):
        raise PolicyError(
            f"{masked(url)} does not name a file; write sqlite:///name.db, or sqlite:////folder/name.db from the root."
        )
    path = located(name, folder)
    if not path.exists():
        path = path.parent / unquote(path.name)
    if not path.exists() and masked(url) != url:
        raise PolicyError(
            f"{masked(url)} does not name a file; SQLite takes no user, password or options. Write sqlite:///name.db."
        )
    check_file(path, f"The SQLite file {name}")
    driver = _driver("sqlite")
    uri = f"{path.resolve().as_uri()}?mode=ro"
    return _plain_frame(_fetch(driver, uri, url, ["PRAGMA query_only = ON"], statement, _ONE_BATCH))


def _read_postgresql(address: Address, statement: str, told: Told) -> pl.DataFrame:
    """Run the statement on PostgreSQL in a read-only transaction; connecting takes at most ten seconds."""
    if not address.is_plain():
        raise PolicyError(
            f"{address.masked()} cannot be read as postgresql://user:password@host:port/name?options. Characters of "
            "a user or password that are special in a URL must be percent-encoded: %40 for @, %2F for /, %3F for ?, "
            "%23 for #, %25 for %, %20 for a space; or name an environment variable: ${PGPASSWORD}."
        )
    driver = _driver("postgresql")
    url = str(address)
    timeout = "" if "connect_timeout=" in url else f"{'&' if '?' in url else '?'}connect_timeout=10"
    return _plain_frame(_fetch(driver, url + timeout, url, _READ_ONLY, statement, {}, told))


def _driver(name: str) -> Any:
    """The ADBC driver's module, or how to install it."""
    try:
        importlib.import_module("pyarrow")
        return importlib.import_module(f"adbc_driver_{name}.dbapi")
    except ImportError:
        raise PolicyError(
            f"Reading from a {name} database needs a driver that is not installed. Install it with "
            '`pip install "sfumato[databases]"`.'
        ) from None


def _fetch(
    driver: Any,
    uri: str,
    url: str,
    before: Sequence[str],
    statement: str,
    options: Mapping[str, str],
    told: Told = unheard,
) -> Any:
    """Connect, run the preparatory statements, then the query; the transaction is never committed."""
    try:
        connection = driver.connect(uri)
    except (driver.Error, OSError, TypeError, ValueError) as error:
        raise DataError(
            f"The database {masked(url)} cannot be opened: {_words(error, url)}. Check host, port, database "
            "name, user and password, and that the server is running."
        ) from None
    with connection, connection.cursor() as cursor:
        try:
            for command in before:
                cursor.execute(command)
                cursor.fetchall()
            cursor.adbc_statement.set_options(**options)
            expected = 0 if told is unheard else _expected_rows(cursor, statement)
            cursor.execute(statement)
            return _all_rows(cursor.fetch_record_batch(), expected, told)
        except (
            driver.Error,
            OSError,
            ValueError,
        ) as error:  # Arrow's own errors are ValueErrors and OSErrors
            raise _query_error(_words(error, url), url) from None


def _expected_rows(cursor: Any, statement: str) -> int:
    """How many rows PostgreSQL expects a query to return; the query is only planned, not run."""
    cursor.adbc_statement.set_options(**{_COPIED: "false"})  # a plan cannot be copied
    cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}")
    ((plan,),) = cursor.fetchall()
    cursor.adbc_statement.set_options(**{_COPIED: "true"})
    return int(json.loads(plan)[0]["Plan"]["Plan Rows"])


def _all_rows(reader: Any, expected: int, told: Told) -> Any:
    """All batches of a query's result as an Arrow table."""
    import pyarrow

    batches, rows = [], 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        if expected:
            told(min(1.0, rows / expected))
    return pyarrow.Table.from_batches(batches, reader.schema)


def _query_error(words: str, url: str) -> SfumatoError:
    """What went wrong with the query: it tried to write, or the database could not answer it."""
    if "read-only transaction" in words or "readonly database" in words:
        return PolicyError(
            f"The query on {masked(url)} tries to write ({words}); a source is read-only, and nothing was "
            "changed. Remove the part of the query that writes."
        )
    return DataError(
        f"The query on {masked(url)} failed: {words}. Correct the query, or ask for read permission on the table."
    )


def _words(error: BaseException, url: str) -> str:
    """A driver's message in one line, without its prefixes, the repeated query and the password."""
    text = re.split(r"\n+(?:Query was|query):|\. SQLSTATE:", str(error))[0]
    text = re.sub(r"^[A-Z_]+: |\[(?:libpq|SQLite)\] ", "", text.rpartition("ERROR:")[2].strip())
    lines = [line.strip() for line in text.splitlines()]
    text = " ".join(line for line in lines if line.strip("^ ") and not line.startswith("LINE "))
    address = Address.of(url)
    for secret in address.secrets() if address else ():
        text = text.replace(secret, "***")
    return text.rstrip(".? ")


def _plain_frame(table: Any) -> pl.DataFrame:
    """A Polars frame of an Arrow table, with PostgreSQL's own types turned into plain ones."""
    check_names(table.column_names, "The query's result")
    fields = [table.schema.field(place) for place in range(table.num_columns)]
    odd = ", ".join(f"column {field.name!r} of type {kind}" for field in fields if (kind := _odd_type(field)))
    if odd:
        raise DataError(
            f"The query returns {odd}, which cannot be read. Convert it in the query, e.g. to text with "
            "`column::text` or to a number with `column::numeric`."
        )
    columns = [_plain_column(table.column(place), field) for place, field in enumerate(fields)]
    return pl.DataFrame(columns)


def _type_name(field: Any) -> str:
    """PostgreSQL's name of a column's type, empty if the driver gives none."""
    metadata = field.metadata or {}
    name: bytes = metadata.get(b"ADBC:postgresql:typname") or metadata.get(b"POSTGRESQL:type") or b""
    return name.decode()


def _odd_type(field: Any) -> str:
    """The type's name if it has no plain counterpart: money (bare cents), intervals, raw binary formats."""
    import pyarrow

    storage = getattr(field.type, "storage_type", field.type)
    name = _type_name(field)
    raw = b"ADBC:postgresql:typname" in (field.metadata or {}) and pyarrow.types.is_binary(storage)
    return (name or str(storage)) if raw or name == "money" or pyarrow.types.is_interval(storage) else ""


def _plain_column(column: Any, field: Any) -> pl.Series:
    """Numeric as Float64, uuid as text, other extension types as their storage type."""
    storage = getattr(field.type, "storage_type", None)
    values = pl.Series(field.name, column.cast(storage) if storage is not None else column)
    if _type_name(field) == "numeric":
        return values.cast(pl.Float64)
    if _type_name(field) == "uuid" and values.dtype == pl.Binary:
        groups = "^(.{8})(.{4})(.{4})(.{4})(.{12})$"
        return values.bin.encode("hex").str.replace(groups, "$1-$2-$3-$4-$5")
    return values
