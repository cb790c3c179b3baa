"""No password of a database gets out: not into a file, a message, a traceback or a proposed policy."""

import json
import sqlite3
import sys
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.cli import main
from sfumato.errors import PolicyError
from sfumato.publisher.policy import parse_policy
from sfumato.publisher.publish import publish_policy
from sfumato.publisher.toml import document, toml
from sfumato.table.address import Address, expanded, masked
from strategies import examples

CANARY = "kanarienvogel7"
PLACE = "127.0.0.1:1"

PASSWORDS = {
    "plain": CANARY,
    "encoded": "".join(f"%{b:02X}" for b in CANARY.encode()),
    "specials": quote(f"{CANARY}@/?#:%&=", safe=""),
    "raw at": f"x@{CANARY}",
    "raw slash": f"{CANARY}/x",
    "raw question": f"{CANARY}?x=1",
    "raw hash": f"x#{CANARY}",
    "raw colon": f"x:{CANARY}",
    "raw blank": f"{CANARY} x",
    "raw percent": f"{CANARY}%zz",
    "dollar": f"$${CANARY}$",
    "quotes": f"\\\"{CANARY}'",
    "umlaut": f"ü{CANARY}",
}
SHAPES = [
    f"postgresql://ann:§@{PLACE}/db",
    f"POSTGRESQL://ann:§@{PLACE}/db",
    f"postgres://ann:§@{PLACE}",
    "postgresql://ann:§@/db?host=/nowhere",
    f"postgresql://:§@{PLACE}/db",
    f"postgresql://ann:§@{PLACE},127.0.0.2:1/db",
    f"postgresql://{PLACE}/db?user=ann&password=§",
    f"postgresql://{PLACE}/db?PASSWORD=§",
    f"postgresql://{PLACE}/db?pass%77ord=§",
    f"postgresql://ann@{PLACE}/db?connect_timeout=1&sslpassword=§&sslmode=disable",
    f"postgresql://ann@{PLACE}/db?§",
    f"postgresql://{PLACE}/db?user=ann;password=§",
    "postgresql://%2Fnowhere/db?password=§",
    "postgresql:///db?host=/nowhere&password=§",
    f"postgresql://ann:§{PLACE}/db",
    f"postgresql://ann%3A§@{PLACE}/db",
    f"postgresql://ann;§@{PLACE}/db",
    f"postgresql://ann §@{PLACE}/db",
    f"postgresql:/ann:§@{PLACE}/db",
    f"postgresql:ann:§@{PLACE}/db",
    f"postgresql//ann:§@{PLACE}/db",
    f"postgresq://ann:§@{PLACE}/db",
    f" postgresql://ann:§@{PLACE}/db",
    f"postgresql ://ann:§@{PLACE}/db",
    f"://ann:§@{PLACE}/db",
    f"ann:§@{PLACE}/db",
    f"jdbc:postgresql://{PLACE}/db?user=ann&password=§",
    "host=127.0.0.1 user=ann password=§",
    "HOST=127.0.0.1 PWD=§",
    f"postgresql+psycopg://ann:§@{PLACE}/db",
    f"mysql://ann:§@{PLACE}/db",
    f"https://ann:§@{PLACE}/t.csv?token=§",
    "sqlite:///clinic.db?password=§",
    "sqlite://ann:§@/clinic.db",
    "sqlite:///ann:§@host/clinic.db",
]
UNTOLD = ("postgresql://ann:x@", f"postgresql://ann:§{PLACE}/db")
"""``ann:x@canary127.0.0.1`` is a good address of another host: nobody can tell what was meant."""
URLS = {
    f"{shape} {kind}": shape.replace("§", password)
    for shape in SHAPES
    for kind, password in PASSWORDS.items()
    if not (kind == "raw at" and shape == UNTOLD[1])
}

POLICY = """[data]
source = {source}
query = "select * from ward"
[attributes]
age = {{ role = "quasi", kind = "continuous" }}
ill = {{ role = "sensitive" }}
[[require]]
model = "k-anonymity"
k = 3
"""


def shows(text: str) -> bool:
    """Whether a text holds the canary: as it is, percent-encoded in any way, in any case, or escaped for JSON."""
    found = text
    for _ in range(3):
        if CANARY in found.lower() or PASSWORDS["encoded"].lower() in found.lower():
            return True
        found = unquote(found)
    return False


def ward() -> pl.DataFrame:
    return pl.DataFrame({"age": [20 + (7 * i) % 50 for i in range(30)], "ill": ["flu", "HIV", "gout"] * 10})


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_harness_sees_the_canary() -> None:
    for url in URLS.values():
        assert shows(url), url


@pytest.mark.parametrize("url", [*URLS.values()][::3], ids=[*URLS][::3])
def test_no_message_shows_it(url: str, house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server that is not there, a mistyped address: publish and init, with the traceback and as JSON."""
    Path("policy.toml").write_text(POLICY.format(source=toml(url)))
    assert run("publish", "policy.toml", "-o", "out", "--debug") == 2
    assert run("publish", "policy.toml", "-o", "out", "--json") == 2
    assert run("init", url, "--query", "select 1", "-o", "mine.toml", "--debug") == 2
    assert run("init", url, "--json") == 2
    assert run("publish", url) == 2
    assert run("plan", url) == 2
    told = capsys.readouterr()
    assert not shows(told.out + told.err), told.err
    assert "Traceback" in told.err
    assert sorted(p.name for p in house.iterdir()) == ["policy.toml"]


@pytest.mark.parametrize("url", [u for u in URLS.values() if Address.of(u)][::4])
def test_no_file_shows_it(
    url: str, house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A database that answers, whatever the spelling: all that publish and init write and print."""
    monkeypatch.setattr("sfumato.table.database.read_database", lambda url, query, folder, told: ward())
    text = POLICY.format(source=toml(url)) + f"# formerly {toml(url)}\n"
    source = Path("policy.toml")
    source.write_text(text)
    assert run("publish", "policy.toml", "-o", "out", "--json") == 0
    assert run("publish", "policy.toml", "-o", "again") == 0
    if Address.of(url).is_plain():  # type: ignore[union-attr]
        assert run("init", url, "--query", "select 1", "-o", "mine.toml") == 0
        assert run("init", url, "--query", "select 1", "--json") == 0
        assert run("init", url, "--query", "select 1") == 0
    told = capsys.readouterr()
    assert not shows(told.out + told.err), told.err
    files = [p for p in house.rglob("*") if p.is_file() and p != source.resolve()]
    assert len(files) >= 14
    for file in files:
        assert not shows(file.read_bytes().decode("latin-1")), file


@given(
    st.sampled_from([s for s in SHAPES if s not in UNTOLD]),
    st.text(st.characters(codec="utf-8"), max_size=6),
    st.text(st.characters(codec="utf-8"), max_size=6),
    st.booleans(),
)
@examples(400)
def test_masked_never_shows_it(shape: str, before: str, after: str, encoded: bool) -> None:
    password = before + CANARY + after
    url = shape.replace("§", quote(password, safe="") if encoded else password)
    assert not shows(masked(url)), url


@pytest.mark.parametrize("url", ["sqlite:///ann:{}\n@host/clinic.db", "ann:{}\n@host/clinic"])
def test_a_password_with_a_line_end_is_masked(url: str) -> None:
    assert not shows(masked(url.format(CANARY)))


def test_a_driver_that_repeats_everything(monkeypatch: pytest.MonkeyPatch, house: Path) -> None:
    """Whatever the driver's error says of the address."""

    class Error(Exception):
        pass

    class Driver:
        def __init__(self) -> None:
            self.Error = Error

        def connect(self, uri: str) -> Any:
            raise Error(f"IO: [libpq] cannot connect to {uri} ({unquote(uri)})")

    monkeypatch.setattr("sfumato.table.database._driver", lambda name: Driver())
    for kind in ("plain", "encoded", "specials", "umlaut"):
        url = f"postgresql://ann:{PASSWORDS[kind]}@{PLACE}/db?sslpassword={PASSWORDS[kind]}"
        Path("policy.toml").write_text(POLICY.format(source=toml(url)))
        with pytest.raises(Exception, match="cannot be opened") as error:
            publish_policy("policy.toml", "out")
        assert not shows(str(error.value)), str(error.value)


@pytest.mark.parametrize("value", [[f"postgresql://ann:{CANARY}@h/db"], {"url": f"postgresql://ann:{CANARY}@h/db"}])
def test_a_source_of_the_wrong_kind_is_not_shown(value: object) -> None:
    with pytest.raises(PolicyError, match="source under") as error:
        parse_policy(POLICY.format(source=toml(value)), folder=Path())
    assert not shows(str(error.value))


# --- variables ----------------------------------------------------------------------------------------------


def test_the_copy_keeps_variables_as_they_are_written(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(
        "sfumato.table.database.read_database", lambda url, query, folder, told: [seen.append(url), ward()][1]
    )
    monkeypatch.setenv("PGPASSWORD", f"{CANARY}@/?#%")
    written = f"postgresql://ann:${{PGPASSWORD}}@{PLACE}/db?sslmode=require"
    Path("policy.toml").write_text("# a comment\n" + POLICY.format(source=toml(written)))
    publish_policy("policy.toml", "out")
    assert seen == [f"postgresql://ann:{CANARY}%40%2F%3F%23%25@{PLACE}/db?sslmode=require"]
    copy = tomllib.loads(Path("out/private/policy.toml").read_text())
    assert copy == tomllib.loads(Path("policy.toml").read_text())
    for file in Path("out").rglob("*"):
        assert file.is_dir() or not shows(file.read_bytes().decode("latin-1")), file


def test_an_unset_variable_is_named(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_SECRET", raising=False)
    Path("policy.toml").write_text(POLICY.format(source=toml(f"postgresql://ann:${{NO_SUCH_SECRET}}@{PLACE}/db")))
    with pytest.raises(PolicyError, match="NO_SUCH_SECRET, which is not set"):
        publish_policy("policy.toml", "out")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("${ALL}", "postgresql://ann:x@h/db"),
        ("postgresql://${WHO}:${PASS}@${PLACE}/db", "postgresql://a%20b:p%40ss@h:5432/db"),
        ("postgresql://h/db?password=${PASS}", "postgresql://h/db?password=p%40ss"),
        ("${FOLDER}/a.csv", "my folder/a.csv"),
        ("$${PASS}.csv", "${PASS}.csv"),
        ("a$b$$c.csv", "a$b$$c.csv"),
    ],
)
def test_expanded(source: str, value: str) -> None:
    variables = {
        **{"ALL": "postgresql://ann:x@h/db", "WHO": "a b", "PASS": "p@ss"},
        **{"PLACE": "h:5432", "FOLDER": "my folder"},
    }
    assert expanded(source, variables) == value


@pytest.mark.parametrize("source", ["${", "${}", "${1x}", "${a b}", "a${PASS"])
def test_a_variable_without_a_name_is_refused(source: str) -> None:
    with pytest.raises(PolicyError, match=r"\$\$\{ for \$\{"):
        expanded(source, {})


def test_init_writes_variables_and_names_them(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sfumato.table.database.read_database", lambda url, query, folder, told: ward())
    url = f"postgresql://ann:{CANARY}@{PLACE}/db?sslpassword={CANARY}&sslmode=require"
    assert run("init", url, "--query", "select 1", "-o", "mine.toml") == 0
    told = capsys.readouterr()
    assert "set PGPASSWORD and PGSSLPASSWORD in the environment" in told.err
    policy = tomllib.loads(Path("mine.toml").read_text())
    expected = f"postgresql://ann:${{PGPASSWORD}}@{PLACE}/db?sslpassword=${{PGSSLPASSWORD}}&sslmode=require"
    assert policy["data"]["source"] == expected
    monkeypatch.setenv("PGPASSWORD", CANARY)
    monkeypatch.setenv("PGSSLPASSWORD", CANARY)
    assert expanded(expected) == url
    assert run("publish", "mine.toml", "-o", "out") == 0


def test_init_keeps_a_variable(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sfumato.table.database.read_database", lambda url, query, folder, told: ward())
    monkeypatch.setenv("WARD", CANARY)
    url = f"postgresql://ann:${{WARD}}@{PLACE}/db"
    assert run("init", url, "--query", "select 1", "-o", "mine.toml") == 0
    assert tomllib.loads(Path("mine.toml").read_text())["data"]["source"] == url
    told = capsys.readouterr()
    assert not shows(Path("mine.toml").read_text() + told.out + told.err)


def test_a_real_database_is_published_without_its_address_being_changed(house: Path) -> None:
    with sqlite3.connect("clinic.db") as clinic:
        clinic.execute("create table ward (age integer, ill text)")
        clinic.executemany("insert into ward values (?, ?)", ward().rows())
    clinic.close()
    Path("policy.toml").write_text(POLICY.format(source='"sqlite:///clinic.db"'))
    publish_policy("policy.toml", "out")
    copy = tomllib.loads(Path("out/private/policy.toml").read_text())
    assert copy["data"]["source"] == "sqlite:///clinic.db"
    assert Path("sfumato-ledger.json").is_file()


# --- the copy ------------------------------------------------------------------------------------------------

scalars = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.floats(allow_nan=False),
    st.dates(),
    st.datetimes(),
    st.times(),
)
keys = st.text(st.characters(codec="utf-8"), max_size=6)
values = st.recursive(scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(keys, v, max_size=3), max_leaves=8)


@given(st.dictionaries(keys, values, max_size=5))
@examples(300)
def test_toml_says_what_was_parsed(content: dict[str, Any]) -> None:
    assert tomllib.loads(document(content)) == content


def test_json_has_no_other_way_out(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"postgresql://ann:{CANARY}@{PLACE}/db"
    assert run("init", url, "--query", "select 1", "--json") == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert not shows(json.dumps(told.err) + repr(sys.exc_info()))


@pytest.mark.parametrize("data", ["sqlite:///clinic.db", "${CLINIC}"])
def test_init_writes_a_source_that_is_found_from_the_folder_of_the_policy(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLINIC", f"sqlite:///{tmp_path / 'clinic.db'}")
    with sqlite3.connect("clinic.db") as clinic:
        clinic.execute("create table ward (age integer, sex text)")
        clinic.executemany("insert into ward values (?, ?)", [(20 + i % 9, "MF"[i % 2]) for i in range(60)])
    query = ("--query", "select * from ward")
    with pytest.raises(SystemExit, match="0"):
        main(["init", data, *query, "-o", "policies/p.toml"])
    publish_policy("policies/p.toml", "out")
    assert (tmp_path / "out" / "release" / "manifest.json").is_file()
