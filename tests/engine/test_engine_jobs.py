"""Whole jobs on another engine: policy and command, sources in several files, choice, refusals, and what is written."""

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli import cli
from sfumato.engine.choice import choose_engine
from sfumato.engine.duckdb.engine import DuckDBEngine
from sfumato.engine.settings import EngineSettings
from sfumato.engine.stored_rows import Limits
from sfumato.publisher.audit_output import audit_output
from sfumato.table.encode import Attribute, Role

POLICY = """
title = "T"
[data]
source = "{source}"
{data}
[attributes]
age = "quasi"
sex = "quasi"
ill = "sensitive"
note = "insensitive"
who = "identifier"
[[require]]
model = "k-anonymity"
k = 3
[method]
name = "{method}"
"""


def table(rows: int = 300, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 50, rows),
            "sex": rng.choice(["m", "f"], rows),
            "ill": rng.choice(["a", "b", "c"], rows),
            "note": rng.choice(["1.5", "2"], rows),
            "who": [f"p{i}" for i in range(rows)],
        }
    )


def policy(folder: Path, source: str, *, method: str = "mondrian", data: str = "", more: str = "") -> Path:
    file = folder / "policy.toml"
    file.write_text(POLICY.format(source=source, method=method, data=data) + more)
    return file


def published(file: Path, out: Path, **settings: Any) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
    sf.publish_policy(file, out, ledger=False, **settings)
    release = sf.load(out / "release")
    release.check()
    told = {k: v for k, v in release.manifest.items() if k != "tables"}
    return told, sorted(release.tables["data"].rows(), key=str)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("several", ["parts", "parts/*.{kind}"])
def test_a_folder_of_files_is_published_as_one_table(tmp_path: Path, kind: str, several: str) -> None:
    (tmp_path / "parts").mkdir()
    whole = table()
    for i, piece in enumerate((whole.head(100), whole.slice(100, 150), whole.tail(50))):
        getattr(piece, f"write_{kind}")(tmp_path / "parts" / f"{i}.{kind}")
    getattr(whole, f"write_{kind}")(tmp_path / f"whole.{kind}")
    one = published(policy(tmp_path, f"whole.{kind}"), tmp_path / "one", engine="local")
    for name, engine in (("two", None), ("four", "duckdb")):
        assert published(policy(tmp_path, several.format(kind=kind)), tmp_path / name, engine=engine) == one
    assert "engine: local, since the table is small" in (tmp_path / "two/private/log.txt").read_text()
    assert "engine: duckdb" in (tmp_path / "four/private/log.txt").read_text()
    assert published(policy(tmp_path, f"whole.{kind}"), tmp_path / "three", engine="duckdb") == one


def test_a_query_on_a_duckdb_database_is_published(tmp_path: Path) -> None:
    import duckdb

    whole = table().to_arrow()
    with duckdb.connect(str(tmp_path / "people.duckdb")) as con:
        con.register("given", whole)
        con.execute("create table people as select * from given").fetchall()
    table().write_parquet(tmp_path / "whole.parquet")
    one = published(policy(tmp_path, "whole.parquet"), tmp_path / "one")
    file = policy(tmp_path, "duckdb:///people.duckdb", data='query = "select * from people"')
    assert published(file, tmp_path / "two") == one
    with pytest.raises(sf.PolicyError, match="needs a query"):
        sf.publish_policy(policy(tmp_path, "duckdb:///people.duckdb"), tmp_path / "no")


def test_a_large_release_is_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table().write_parquet(tmp_path / "whole.parquet")
    file = policy(tmp_path, "whole.parquet", more='[engine]\nname = "duckdb"\nmemory = "512MB"\n')
    one = published(file, tmp_path / "one", engine="local")
    monkeypatch.setattr("sfumato.engine.counted.Limits", lambda: Limits(in_memory=100, part_rows=60))
    assert published(file, tmp_path / "two") == one
    monkeypatch.setattr("sfumato.release.part_tables.MOST_ROWS", 200)
    sf.publish_policy(file, tmp_path / "two", force=True, ledger=False)
    ran = CliRunner().invoke(cli, ["check", str(tmp_path / "two" / "release"), "--json"])
    assert ran.exit_code == 0
    assert json.loads(ran.output)["holds"]
    assert "data/*.parquet" in (tmp_path / "two/release/README.html").read_text()
    assert not list(tmp_path.glob("sfumato-*"))


@pytest.mark.parametrize("sheet", ["plain", "safe"])
def test_a_release_in_parts_has_a_csv_file_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sheet: str
) -> None:
    table().with_columns(note=pl.Series(["=1+1", "x", "-2"] * 100)).write_parquet(tmp_path / "whole.parquet")
    asked = f'[output]\ncsv = "always"\nspreadsheet = "{sheet}"\n[engine]\nname = "duckdb"\n'
    file, release = policy(tmp_path, "whole.parquet", more=asked), tmp_path / "out" / "release"
    monkeypatch.setattr("sfumato.engine.counted.Limits", lambda: Limits(in_memory=100, part_rows=60))
    sf.publish_policy(file, tmp_path / "out", ledger=False)
    parts = pl.concat([pl.read_parquet(f) for f in sorted((release / "data").iterdir())])
    shown = pl.read_csv(release / "data.csv", schema=parts.schema)
    assert shown.with_columns(pl.col("note").str.replace("^'", "")).equals(parts)
    assert ("'=1+1" in shown["note"].to_list()) == (sheet == "safe")
    page = (release / "README.html").read_text()
    assert "The csv files hold" in page
    assert "is stored in parts" in page
    monkeypatch.setattr("sfumato.release.part_tables.MOST_ROWS", 200)  # nobody may need all rows at once
    sf.load(release).check()
    sf.load(release).write(tmp_path / "copy")
    assert (tmp_path / "copy" / "data.csv").read_bytes() == (release / "data.csv").read_bytes()
    refuse_other_csv(release, (release / "data.csv").read_text())


def refuse_other_csv(release: Path, text: str) -> None:
    """A csv file with a row more or less, or another cell, is refused though the manifest has its digest."""
    manifest = json.loads((release / "manifest.json").read_text())
    entry = next(e for e in manifest["tables"] if e["file"] == "data.csv")
    (release / "README.html").unlink()  # shows the digests too
    lines = text.splitlines(keepends=True)
    for wrong in (lines + lines[-1:], lines[:-1], [*lines[:-1], lines[1]], [*lines[:150], *lines[:149:-1]]):
        (release / "data.csv").write_text("".join(wrong))
        entry["sha256"] = sha256((release / "data.csv").read_bytes()).hexdigest()
        (release / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(sf.ReleaseError, match=r"data\.csv differs in content from the parts in data/"):
            sf.load(release).check()
    (release / "data.csv").write_text(text.replace("\n", "\r\n"))  # the same cells, written otherwise
    entry["sha256"] = sha256((release / "data.csv").read_bytes()).hexdigest()
    (release / "manifest.json").write_text(json.dumps(manifest))
    sf.load(release).check()


def test_the_engine_is_chosen_by_size_and_said(tmp_path: Path) -> None:
    table(20_000).write_csv(tmp_path / "t.csv")
    assert choose_engine(EngineSettings(), "t.csv", None, tmp_path).name == "local"
    chosen = choose_engine(EngineSettings(), "t.csv", None, tmp_path, lambda: 1_000_000)
    assert chosen.name == "duckdb"
    assert "this machine has 0.0 GB" in str(chosen)
    assert choose_engine(EngineSettings(name="local"), "t.csv", None, tmp_path, lambda: 1).name == "local"
    with pytest.raises(sf.PolicyError, match="did you mean 'duckdb'"):
        EngineSettings(name="duckdbb")  # type: ignore[arg-type]
    for wrong in ("4 bananas", "1MB"):
        with pytest.raises(sf.PolicyError, match="memory"):
            EngineSettings(memory=wrong)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('[engine]\nname = "dukdb"', "did you mean 'duckdb'"),
        ('[engine]\nmemmory = "4GB"', "did you mean 'memory'"),
        ("[engine]\nname = 3", "must be a string"),
        ('[output]\ncsv = "alway"', "did you mean 'always'"),
        ('[engine]\nspill = "nowhere"', "not a folder"),
    ],
)
def test_a_wrong_section_is_refused(tmp_path: Path, more: str, words: str) -> None:
    with pytest.raises(sf.PolicyError, match=words):
        sf.publish_policy(policy(tmp_path, "t.csv", more=more), tmp_path / "out")


def test_what_an_engine_cannot_do_is_refused_in_words(tmp_path: Path) -> None:
    table().write_csv(tmp_path / "t.csv")
    file = policy(tmp_path, "t.csv", data='decimal = ","')
    with pytest.raises(sf.PolicyError, match="insensitive column 'note'"):
        sf.publish_policy(file, tmp_path / "out", engine="duckdb")
    with pytest.raises(sf.PolicyError, match="as UTF-8"):
        sf.publish_policy(policy(tmp_path, "t.csv", data='encoding = "cp1252"'), tmp_path / "out", engine="duckdb")
    assert not (tmp_path / "out").exists()


def read(source: object, folder: Path, **settings: Any) -> DuckDBEngine:
    def attributes(columns: Any) -> list[Attribute]:
        return [Attribute(name=n, role=Role.QUASI) for n in columns]

    return DuckDBEngine.read(source, attributes, folder=folder, **settings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n3\n", "DuckDB cannot read"),
        ("a,b\n1,2\n3,4,5\n", "DuckDB cannot read"),
        ('a,b\n1,"2\n', "DuckDB cannot read"),
        ("a,a\n1,2\n", "more than one column"),
        ("a,b\n", "no rows"),
        ("a,b\n1,\n", "missing values"),
    ],
)
def test_damaged_text_is_refused_without_its_values(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(sf.DataError, match=words):
        read("t.csv", tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        'a,b\n"x ""y""","1\n2"\n\nz,2\n',
        "a;b\n1,5;x\n2,5;y\n",
        "a\tb\n 1\tx\n2 \ty\n",
        'a,b\n"",1\nx,2\n',
        "\ufeffa,b\r\n1,x\r\n2,y\r\n",
        "a,b\n1,'x\n2,y'\n",
    ],
)
def test_text_is_read_as_in_memory(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode())
    there = read("t.csv", tmp_path, missing="category")
    here = sf.read(tmp_path / "t.csv", quasi=list(there.table.columns), missing="category")
    for name, column in here.columns.items():
        assert there.table[name].domain.leaves == column.domain.leaves
        rows = np.bincount(column.codes, minlength=column.size)
        assert dict(there.tally(name).iter_rows()) == dict(zip(column.domain.leaves, rows.tolist(), strict=True))


def test_files_of_a_table_must_agree(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("a,b\n1,2\n")
    (tmp_path / "1.csv").write_text("b,a\n1,2\n")
    with pytest.raises(sf.DataError, match="in the same order"):
        read(str(tmp_path / "*.csv"), tmp_path)
    with pytest.raises(sf.DataError, match="does not match any file"):
        read("*.parquet", tmp_path)


def test_a_full_disk_and_too_little_memory_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table(2000).write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr("sfumato.engine.values.BYTES_PER_VECTOR", 10**6)
    there = read("t.parquet", tmp_path, settings=EngineSettings(memory="256MB"))
    with pytest.raises(sf.DataError, match=r"different combinations.*mondrian \(strict\)"):
        there.count([])
    monkeypatch.undo()
    monkeypatch.setattr("sfumato.engine.values.MOST_VALUES", 10)
    with pytest.raises(sf.DataError, match="distinct values"):
        read("t.parquet", tmp_path)
    (tmp_path / "spill").mkdir()
    monkeypatch.undo()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    there = read("t.parquet", tmp_path, settings=EngineSettings(spill=tmp_path / "spill"), limits=Limits(10, 500))
    monkeypatch.setattr(pl.DataFrame, "write_ipc", full)
    from sfumato.engine.base import AsIs
    from sfumato.engine.draws import Draws

    with pytest.raises(sf.OutputError, match="no space left"):
        there.publish([AsIs("age")], Draws())
    del there
    assert not list((tmp_path / "spill").rglob("*.ipc"))


def test_columns_with_too_many_values_to_look_at_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table().write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr("sfumato.engine.stored_rows.MOST_TALLIED", 100)
    done = sf.publish_policy(policy(tmp_path, "t.parquet"), tmp_path / "out", engine="duckdb", ledger=False)
    assert any("'who' has too many different values" in warning for warning in done.warnings)
    file = policy(tmp_path, "t.parquet", data='others = "insensitive"')
    file.write_text(file.read_text().replace('who = "identifier"\n', ""))
    with pytest.raises(sf.PolicyError, match="too many different values to be examined"):
        sf.publish_policy(file, tmp_path / "no", engine="duckdb", ledger=False)


def test_an_audit_works_from_the_counts_of_files_and_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same findings as in memory, without a row of the table or of the release in this process."""
    (tmp_path / "parts").mkdir()
    whole = table(240)
    whole.write_csv(tmp_path / "whole.csv")
    for i in range(2):
        whole.slice(120 * i, 120).write_csv(tmp_path / "parts" / f"{i}.csv")
    sf.publish_policy(policy(tmp_path, "whole.csv"), tmp_path / "one", engine="local", ledger=False)
    monkeypatch.setattr("sfumato.engine.counted.Limits", lambda: Limits(in_memory=100, part_rows=60))
    sf.publish_policy(policy(tmp_path, "parts"), tmp_path / "two", ledger=False)
    monkeypatch.setattr("sfumato.release.part_tables.MOST_ROWS", 100)
    names = ["linkage", "inference", "membership"]
    one, two = (audit_output(tmp_path / out, adversaries=names) for out in ("one", "two"))
    assert not two.audit.broken
    assert not two.notes
    told = [[(f.adversary, f.variant, f.worst, f.mean, f.people) for f in a.audit.findings] for a in (one, two)]
    assert told[1] == [
        (name, variant, pytest.approx(worst), pytest.approx(mean), people)
        for name, variant, worst, mean, people in told[0]
    ]
    with (tmp_path / "parts" / "1.csv").open("a") as file:
        file.write("20,m,a,2,new\n")
    with pytest.raises(sf.DataError, match="has changed since the release was made"):
        audit_output(tmp_path / "two")


@pytest.mark.parametrize(("engine", "package"), [("duckdb", "DuckDB"), ("spark", "PySpark")])
def test_an_engine_that_is_not_installed_says_what_to_install(
    engine: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package.lower(), None)
    table().write_csv(tmp_path / "t.csv")
    job = policy(tmp_path, "t.csv")
    with pytest.raises(sf.PolicyError, match=f"needs {package}, which is not installed: pip install 'sfumato"):
        sf.publish_policy(job, tmp_path / "out", engine=engine)
    assert not (tmp_path / "out").exists()
