"""Queries on PostgreSQL and SQLite: what arrives, that nothing is written, and that no password shows."""

import datetime
import importlib
import socket
import sqlite3
import traceback
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.errors import DataError, PolicyError, SfumatoError
from sfumato.table.address import masked
from sfumato.table.database import checked
from sfumato.table.source import read_frame

PEOPLE = """
    CREATE TABLE people
        (name text, age integer, score numeric(8, 2), born date, mood mood, id uuid, member boolean);
    INSERT INTO people VALUES
        ('Ann; -- "x"', 30, 12.50, '1990-02-03', 'good', '00000000-0000-0000-0000-00000000000a', true),
        (NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        ('Zoë', -1, 'NaN', '2020-12-31', 'bad', 'ffffffff-ffff-4fff-8fff-ffffffffffff', false);
"""


def failure(source: str, query: str | None, kind: type[SfumatoError] = DataError, folder: Path | None = None) -> str:
    with pytest.raises(kind) as caught:
        read_frame(source, query=query, folder=folder, told=lambda share: None)
    message = str(caught.value)
    assert "\n" not in message
    return message


def run(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements as the owner of the database, in earnest; the rows of the last."""
    driver = importlib.import_module("adbc_driver_postgresql.dbapi")
    with driver.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


@pytest.fixture
def people(postgresql: str) -> str:
    run(
        postgresql,
        "DROP TABLE IF EXISTS people, loot",
        "DROP TYPE IF EXISTS mood",
        "CREATE TYPE mood AS ENUM ('bad', 'good')",
        *(statement for statement in PEOPLE.split(";\n") if statement.strip()),
    )
    return postgresql


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    path = tmp_path / "the clinic.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (name text, age integer, score numeric, born date, late text)")
    rows = [("Ann", 30, 12.5, "1990-02-03", None), (None, None, None, None, None)]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return path


def test_postgresql_types(people: str) -> None:
    frame = read_frame(people, query="SELECT * FROM people", nulls=["bad"])
    assert frame.columns == ["name", "age", "score", "born", "mood", "id", "member"]
    assert frame.dtypes == [pl.String, pl.Int32, pl.Float64, pl.Date, pl.String, pl.String, pl.Boolean]
    born, key = datetime.date(1990, 2, 3), "00000000-0000-0000-0000-00000000000a"
    assert frame.row(0) == ('Ann; -- "x"', 30, 12.5, born, "good", key, True)
    assert frame.row(1) == (None,) * 7
    assert frame["score"].is_nan().to_list() == [False, None, True]
    assert frame["mood"].to_list() == ["good", None, None]


def test_postgresql_tells_how_much_has_been_read(postgresql: str) -> None:
    many = "SELECT i AS n, repeat('x', 100) AS words FROM generate_series(1, 300000) AS i"
    shares: list[float] = []
    assert read_frame(postgresql, query=many, told=shares.append)["n"].to_list() == list(range(1, 300_001))
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert shares[0] < 0.9
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    "query",
    [
        "select name from people -- a comment",
        "/* all */ TABLE people;",
        "VALUES (1, 'a;b')",
        "WITH x AS (SELECT 1 AS a) SELECT * FROM x ; ",
        "(SELECT 1 AS a) UNION (SELECT 2)",
        "SELECT $tag$;)$tag$ AS a",
    ],
)
def test_postgresql_statements_that_read(people: str, query: str) -> None:
    assert read_frame(people.replace("postgresql://", "postgres://"), query=query, told=lambda share: None).height > 0


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM people",
        "SELECT 1; DELETE FROM people",
        "WITH x AS (DELETE FROM people RETURNING *) SELECT * FROM x",
        "WITH x AS (INSERT INTO people (name) VALUES ('Eve') RETURNING *) SELECT * FROM x",
        "SELECT * INTO loot FROM people",
        "SELECT nextval('counter')",
        "EXPLAIN ANALYZE DELETE FROM people",
        "COPY people TO STDOUT",
        "SELECT * FROM people FOR UPDATE",
    ],
)
def test_postgresql_never_writes(people: str, query: str) -> None:
    run(people, "CREATE SEQUENCE IF NOT EXISTS counter")
    failure(people, query, PolicyError)
    assert run(people, "SELECT count(*) FROM people") == [(3,)]
    assert run(people, "SELECT count(*) FROM pg_class WHERE relname = 'loot'") == [(0,)]


def test_postgresql_cannot_be_made_read_write_again(people: str) -> None:
    for setting in ("transaction_read_only", "default_transaction_read_only"):
        query = f"""WITH a AS (SELECT set_config('{setting}', 'off', false)),
            b AS (DELETE FROM people RETURNING *) SELECT * FROM a, b"""
        failure(people, query, PolicyError)
    assert "read-write" in failure(people, "SELECT set_config('transaction_read_only', 'off', false)")
    assert run(people, "SELECT count(*) FROM people") == [(3,)]


def test_postgresql_bad_queries(people: str) -> None:
    assert 'relation "persons" does not exist' in failure(people, "SELECT * FROM persons")
    assert 'column "nam" does not exist' in failure(people, "SELECT nam FROM people")
    assert "syntax error" in failure(people, "SELECT FROM WHERE")
    assert "division by zero" in failure(people, "SELECT 1 / (age - 30) FROM people")
    assert "no rows" in failure(people, "SELECT * FROM people WHERE false")
    assert "'a'" in failure(people, "SELECT 1 AS a, 2 AS a")
    message = failure(people, "SELECT age::text::money AS fee, interval '1 day' AS stay, '::1'::inet AS ip FROM people")
    for fact in ("'fee' of type money", "'stay' of type interval", "'ip' of type inet", "::text"):
        assert fact in message


@pytest.mark.parametrize("query", ["SELECT * FROM nowhere", "SELECT 1; SELECT 2", None])
def test_no_message_shows_the_password(people: str, query: str | None) -> None:
    password = people.split(":")[2].split("@")[0]
    with pytest.raises(SfumatoError) as caught:
        read_frame(people, query=query)
    assert password not in "".join(traceback.format_exception(caught.value, limit=0))


def test_connection_errors(postgresql: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = postgresql.rpartition("@")[2]
    wrong = f"postgresql://steward:wrong%20one@{place}"
    message = failure(wrong, "SELECT 1")
    assert "authentication failed" in message
    assert f"steward:***@{place}" in message
    for url, fact in (
        (f"postgresql://steward:hunter2x@127.0.0.1:{port}/postgres", "refused"),
        (postgresql.replace("/postgres", "/nowhere"), 'database "nowhere" does not exist'),
        (f"postgresql://{place}?user=steward&password=hunter2x", "authentication failed"),
    ):
        message = failure(url, "SELECT 1")
        assert fact in message
        assert "hunter2x" not in message


@pytest.mark.parametrize("password", ["hunter@2", "hunter/2", "hunter?2", "hunter%zz", "hunter 2", "hunter#2"])
def test_passwords_that_must_be_encoded(password: str) -> None:
    message = failure(f"postgresql://ann:{password}@127.0.0.1:1/db", "SELECT 1", PolicyError)
    assert "percent-encoded" in message
    assert "hunter" not in message


def test_driver_not_installed(monkeypatch: pytest.MonkeyPatch, clinic: Path) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    for url in ("postgresql://ann:hunter2@127.0.0.1:1/db", f"sqlite:///{clinic}"):
        assert 'pip install "sfumato[databases]"' in failure(url, "SELECT 1", PolicyError)


def test_sqlite_types(clinic: Path) -> None:
    expected = [("Ann", 30, 12.5, "1990-02-03", None), (None,) * 5]
    for name in (str(clinic), clinic.name, "the%20clinic.db"):
        frame = read_frame(f"sqlite:///{name}", query="SELECT * FROM people", folder=clinic.parent)
        assert frame.rows() == expected


def test_sqlite_types_do_not_depend_on_the_first_rows(clinic: Path) -> None:
    with sqlite3.connect(clinic) as connection:
        connection.executemany("INSERT INTO people (late) VALUES (?)", [(None,)] * 5000 + [("late",)])
    connection.close()
    frame = read_frame(f"sqlite:///{clinic}", query="SELECT late FROM people")
    assert frame["late"].to_list()[-2:] == [None, "late"]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM people",
        "SELECT 1; DELETE FROM people",
        "WITH x AS (SELECT 1) DELETE FROM people",
        "WITH x AS (SELECT 1) INSERT INTO people (name) SELECT 'Eve' FROM x",
        "ATTACH 'new.db' AS new",
        "PRAGMA query_only = OFF",
    ],
)
def test_sqlite_never_writes(clinic: Path, query: str) -> None:
    before = clinic.read_bytes()
    failure(f"sqlite:///{clinic}", query, PolicyError)
    assert clinic.read_bytes() == before
    assert [entry.name for entry in clinic.parent.iterdir()] == [clinic.name]


def test_sqlite_bad_queries(clinic: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{clinic}"
    assert "no such table: persons" in failure(url, "SELECT * FROM persons")
    assert "no such column: nam" in failure(url, "SELECT nam FROM people")
    assert "no rows" in failure(url, "SELECT * FROM people WHERE 0")
    assert "'a'" in failure(url, "SELECT 1 AS a, 2 AS a")
    (tmp_path / "junk.db").write_text("not a database " * 100)
    assert "not a database" in failure(f"sqlite:///{tmp_path / 'junk.db'}", "SELECT * FROM people")


def test_a_missing_sqlite_file_is_not_created(clinic: Path) -> None:
    message = failure("sqlite:///the clinc.db", "SELECT 1", folder=clinic.parent)
    assert "does not exist" in message
    assert "Did you mean the clinic.db?" in message
    assert [entry.name for entry in clinic.parent.iterdir()] == [clinic.name]
    assert "is a folder" in failure(f"sqlite:///{clinic.parent}", "SELECT 1")
    for url in ("sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite://x.db"):
        assert "does not name a file" in failure(url, "SELECT 1", PolicyError)


def test_wrong_use() -> None:
    assert "query" in failure("postgresql://ann:hunter2@host/db", None, PolicyError)
    for url in (
        "mysql://ann:hunter2@host/db",
        "https://ann:hunter2@host/t.csv",
        "postgresql+psycopg://a:hunter2@host/db",
    ):
        message = failure(url, "SELECT 1", PolicyError)
        assert "write postgresql://" in message
        assert "hunter2" not in message


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("select 1 ;\n", "select 1"),
        ("-- first\nselect 'a--b' /* ; */", "select 'a--b'"),
        (
            "select e'it\\'s;', \"a;b\", $$;$$, $x$ $$;( $x$",
            "select e'it\\'s;', \"a;b\", $$;$$, $x$ $$;( $x$",
        ),
    ],
)
def test_checked_query(query: str, sent: str) -> None:
    assert checked(query) == sent


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("", "no word"),
        ("-- select 1", "no word"),
        ("update t set a = 1", "UPDATE"),
        ("selection", "SELECTION"),
        ("select 1; select 2", "more than one"),
        ("select 'a\\'; delete from t; --'", "more than one"),
        ("select a$$;delete from t;$$ from t", "more than one"),
        ("select 1) to program 'x' --", "parentheses"),
        ("select (1", "parentheses"),
    ],
)
def test_refused_query(query: str, fact: str) -> None:
    with pytest.raises(PolicyError, match=fact):
        checked(query)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:a:b@c/d@host:1/db", "postgresql://ann:***@host:1/db"),
        ("postgresql://ann@host/db?sslpassword=x&a=b", "postgresql://ann@host/db?sslpassword=***&a=***"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
    ],
)
def test_masked_url(url: str, shown: str) -> None:
    assert masked(url) == shown
