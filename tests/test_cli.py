"""The commands as a newcomer types them, with right and with wrong input."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli import main
from sfumato.command.exit_codes import errors_to_exit_codes
from sfumato.datasets import example_folder

GOOD = """title = "Ward"
[data]
source = "ward.csv"
[attributes]
name = { role = "identifier" }
age = { role = "quasi", kind = "continuous" }
sex = { role = "quasi", taxonomy = { Any = ["M", "F"] } }
ill = { role = "sensitive" }
[[require]]
model = "k-anonymity"
k = 3
[method]
name = "mondrian"
"""


def ward(rows: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": [f"Patient Nr{i}" for i in range(rows)],
            "age": [20 + (i * 7) % 50 for i in range(rows)],
            "sex": ["MF"[i % 2] for i in range(rows)],
            "ill": [("flu", "HIV", "cancer", "gout")[(i * i) % 4] for i in range(rows)],
        }
    )


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ward().write_csv("ward.csv")
    Path("policy.toml").write_text(GOOD)
    return tmp_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


def test_publish_then_check(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("publish", "policy.toml", "-o", "out") == 0
    told = capsys.readouterr()
    assert "60 rows published" in told.out
    assert "Rows              60 read, 60 published" in told.out
    assert "Groups " in told.out
    assert "Information kept  " in told.out
    assert "Suppressed        nothing" in told.out
    assert "No requirement covers the sensitive attribute 'ill'" in told.err
    assert "ill is published exactly for 60 of 60 rows" in told.err
    assert told.err.count("warning: ") == 2
    public = {p.name for p in (job / "out" / "release").iterdir()}
    assert public == {"README.html", "manifest.json", "data.csv", "data.parquet"}
    private = {p.name for p in (job / "out" / "private").iterdir()}
    assert private == {"report.html", "report.md", "audit.json", "policy.toml", "log.txt"}
    assert run("check", "out/release") == 0
    assert "holds" in capsys.readouterr().out
    data = pl.read_csv(job / "out" / "release" / "data.csv")
    assert data.columns == ["age", "sex", "ill"]
    assert data.group_by("age", "sex").len()["len"].min() >= 3


def test_json_everywhere(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("publish", "policy.toml", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == 60
    assert told["summary"]["rows"] == {"read": 60, "dropped": 0, "left_out": 0, "published": 60}
    assert told["summary"]["groups"]["smallest"] >= 3
    assert 0 < told["summary"]["information_kept"] < 1
    exact, uncovered = told["warnings"]
    assert exact.startswith("ill is published exactly")
    assert "'ill'" in uncovered
    assert told["requirements"][0]["achieved"]["k"] >= 3
    assert not told["seeded"]
    for command in (["check", "out/release"], ["methods"], ["models"], ["init", "ward.csv"]):
        assert run(*command, "--json") == 0
        assert json.loads(capsys.readouterr().out)


def test_the_summary_is_in_the_log_and_the_audit(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("publish", "policy.toml", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert json.loads((job / "out" / "private" / "audit.json").read_text())["summary"] == told["summary"]
    log = (job / "out" / "private" / "log.txt").read_text().splitlines()
    assert "Rows              60 read, 60 published" in log
    assert f"warning: {told['warnings'][0]}" in log
    released = b"".join(p.read_bytes() for p in (job / "out" / "release").iterdir())
    assert b"No requirement covers" not in released


def test_a_table_masked_to_nothing_ends_well_and_says_so_loudly(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alike = GOOD.replace("k = 3", "k = 40") + "\n"
    Path("policy.toml").write_text(alike)
    assert run("publish", "policy.toml") == 0
    told = capsys.readouterr()
    assert "Groups            1, with the same labels for all 60 rows" in told.out
    assert "Information kept  0% on average" in told.out
    first = told.err.splitlines()[0]
    assert first.startswith("warning: The quasi-identifiers carry no information: all 60 rows form one group")
    assert first.endswith("What helps: a lower k.")


def test_the_demo_has_a_summary_and_no_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("demo", "-o", str(tmp_path / "demo")) == 0
    told = capsys.readouterr()
    assert "4,000 rows published by mondrian+." in told.out
    assert "Rows                    4,000 read, 4,000 published" in told.out
    assert told.err == ""


def test_nothing_secret_leaves_the_house(job: Path) -> None:
    assert run("publish", "policy.toml", "--seed", "4711", "-o", "out") == 0
    for file in (job / "out" / "release").iterdir():
        content = file.read_bytes()
        for secret in (b"Patient", b"4711", str(job).encode(), b"ward.csv", b"policy"):
            assert secret not in content, (file.name, secret)
    assert json.loads((job / "out" / "private" / "audit.json").read_text())["seed"] == 4711


def test_same_seed_same_release_and_without_a_seed_another_order(job: Path) -> None:
    for out, *seed in (("a", "--seed", "1"), ("b", "--seed", "1"), ("c",), ("d",)):
        assert run("publish", "policy.toml", "-o", out, *seed) == 0
    a, b, c, d = ((job / out / "release" / "data.csv").read_bytes() for out in "abcd")
    assert a == b
    assert c != d  # 60! orders: equal by chance with less than 1e-6


def test_existing_output_is_refused_and_kept(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (job / "out").mkdir()
    (job / "out" / "mine.txt").write_text("keep")
    assert run("publish", "policy.toml") == 2
    assert "out already exists" in capsys.readouterr().err
    assert run("publish", "policy.toml", "--force") == 2
    assert "not written entirely by sfumato" in capsys.readouterr().err
    assert [p.name for p in (job / "out").iterdir()] == ["mine.txt"]
    assert run("publish", "policy.toml", "-o", "other") == 0
    assert run("publish", "policy.toml", "-o", "other", "--force") == 0


def test_a_broken_claim_is_found(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("publish", "policy.toml") == 0
    manifest = job / "out" / "release" / "manifest.json"
    claims = json.loads(manifest.read_text())
    claims["requirements"][0]["required"]["k"] = 50
    manifest.write_text(json.dumps(claims))
    assert run("check", "out/release") == 4
    told = capsys.readouterr()
    assert "broken" in told.out
    assert "claims does not hold" in told.err
    assert "ask its publisher for an intact copy" in told.err
    with (job / "out" / "release" / "data.csv").open("a") as f:
        f.write("x\n")
    assert run("check", "out/release") == 4
    assert "SHA-256 differs); the release is damaged: ask its publisher" in capsys.readouterr().err
    assert run("check", "nowhere") == 2


def test_init_gives_a_policy_that_works(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("init", "ward.csv", "-o", "mine.toml") == 0
    assert "sfumato publish mine.toml" in capsys.readouterr().out
    policy = tomllib.loads(Path("mine.toml").read_text())
    assert policy["attributes"]["name"]["role"] == "identifier"
    assert run("publish", "mine.toml", "-o", "mine") == 0
    assert run("init", "ward.csv", "-o", "mine.toml") == 2
    assert run("init", "ward.csv", "-o", "mine.toml", "--force") == 0


def test_init_names_the_source_as_the_policy_sees_it(job: Path) -> None:
    (job / "deep").mkdir()
    assert run("init", "ward.csv", "-o", "deep/mine.toml") == 0
    assert tomllib.loads(Path("deep/mine.toml").read_text())["data"]["source"] == "../ward.csv"
    assert run("publish", "deep/mine.toml", "-o", "mine") == 0


def test_init_works_on_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", str(example_folder() / "discharges.csv"), "-o", "p.toml") == 0
    roles = {n: a["role"] for n, a in tomllib.loads(Path("p.toml").read_text())["attributes"].items()}
    assert roles["patient"] == roles["record"] == "identifier"
    assert roles["diagnosis"] == "sensitive"
    assert roles["age"] == roles["zip"] == "quasi"
    assert run("publish", "p.toml") == 0


def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("demo", "-o", "d") == 0
    assert "report.html" in capsys.readouterr().out
    assert run("check", "d/release") == 0
    assert (tmp_path / "d" / "private" / "report.html").stat().st_size > 10_000


def _write(name: str, content: str | bytes) -> Callable[[], None]:
    return lambda: Path(name).write_bytes(content.encode() if isinstance(content, str) else content) and None


def _policy(old: str, new: str) -> Callable[[], None]:
    assert old in GOOD
    return _write("policy.toml", GOOD.replace(old, new))


BAD: dict[str, tuple[Callable[[], None], int, list[str]]] = {
    "missing column": (_policy("age =", "agee ="), 2, ["agee"]),
    "undeclared column": (_policy('name = { role = "identifier" }\n', ""), 2, ["name", "others"]),
    "unknown policy key": (_policy("source =", "sorce ="), 2, ["sorce", "did you mean 'source'"]),
    "unknown attribute key": (_policy("kind =", "kidn ="), 2, ["kidn", "did you mean 'kind'"]),
    "unknown parameter": (_policy("k = 3", "kk = 3"), 2, ["kk"]),
    "unknown model": (_policy("k-anonymity", "k-anonimity"), 2, ["did you mean 'k-anonymity'"]),
    "unknown method": (_policy("mondrian", "mondrain"), 2, ["did you mean 'mondrian'"]),
    "unknown role": (_policy('"sensitive"', '"sensitve"'), 2, ["did you mean"]),
    "not TOML": (_write("policy.toml", "title = "), 2, ["not TOML"]),
    "no requirement": (_policy("[[require]]\nmodel", "[other]\nmodel"), 2, ["other"]),
    "value outside its taxonomy": (_policy('["M", "F"]', '["M"]'), 2, ["'F'", "taxonomy"]),
    "repeated leaf": (_policy('["M", "F"]', '["M", "F", "M"]'), 2, ["'M'", "twice"]),
    "cycle": (_policy('{ Any = ["M", "F"] }', '{ Any = { M = { Any = {} }, F = {} } }'), 2, ["cycle"]),
    "missing taxonomy file": (_policy('{ Any = ["M", "F"] }', '"sex.csv"'), 2, ["sex.csv"]),
    "nulls": (lambda: ward().with_columns(age=pl.lit(None)).write_csv("ward.csv"), 2, ["missing", "age"]),
    "text in a continuous column": (
        lambda: ward().with_columns(age=pl.lit("old")).write_csv("ward.csv"), 2, ["'old'", "not numbers"],
    ),
    "NaN": (lambda: ward().with_columns(age=pl.lit("NaN")).write_csv("ward.csv"), 2, ["nan", "finite"]),
    "infinity": (lambda: ward().with_columns(age=pl.lit("inf")).write_csv("ward.csv"), 2, ["inf", "finite"]),
    "duplicate column names": (_write("ward.csv", "name,age,age,sex,ill\na,1,2,M,flu\n"), 2, ["age"]),
    "empty file": (_write("ward.csv", ""), 2, ["empty"]),
    "header only": (_write("ward.csv", "name,age,sex,ill\n"), 2, ["row"]),
    "one row": (lambda: ward(1).write_csv("ward.csv"), 3, ["1 row cannot be 3-anonymous", "lower k"]),
    "constant column": (lambda: ward().with_columns(age=pl.lit(5)).write_csv("ward.csv"), 2, ["age", "the same value"]),
    "not UTF-8": (_write("ward.csv", b"name,age,sex,ill\n\xff\xfe,1,M,flu\n"), 2, ["UTF-8"]),
    "k larger than the rows": (_policy("k = 3", "k = 61"), 3, ["60 rows cannot be 61-anonymous", "lower k to 60"]),
    "k larger than the people": (_policy("k = 3", 'k = 61\nentity = "name"'), 3, ["60 people"]),
    "k is no number": (_policy("k = 3", 'k = "many"'), 2, ["whole number"]),
    "l larger than the values": (
        _policy('model = "k-anonymity"\nk = 3', 'model = "l-diversity"\nvariant = "distinct"\nl = 9'), 3,
        ["9-diverse", "lower l"],
    ),
    "a table that cannot meet the requirement": (
        lambda: (
            ward().with_columns(ill=pl.lit("flu")).write_csv("ward.csv"),
            _policy('model = "k-anonymity"\nk = 3', 'model = "alpha-k"\nalpha = 0.5\nk = 3')(),
        )[1], 3, ["makes up 100.00%", "raise alpha"],
    ),
    "source not found": (lambda: Path("ward.csv").unlink(), 2, ["ward.csv"]),
    "source is a folder": (lambda: (Path("ward.csv").unlink(), Path("ward.csv").mkdir())[1], 2, ["folder"]),
    "policy not found": (lambda: Path("policy.toml").unlink(), 2, ["policy.toml", "sfumato init"]),
}  # fmt: skip


def test_a_panic_of_polars_is_one_paragraph(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not an `Exception`; so is an interrupt, which passes."""
    with pytest.raises(SystemExit) as done, errors_to_exit_codes(debug=False):
        raise pl.exceptions.PanicException("no such day")
    assert done.value.code == 1
    assert capsys.readouterr().err.startswith("error: unexpected PanicException: no such day. This is a bug")
    with pytest.raises(KeyboardInterrupt), errors_to_exit_codes(debug=False):
        raise KeyboardInterrupt


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str, job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil, code, words = BAD[case]
    spoil()
    before = sorted(p.name for p in job.iterdir())
    assert run("publish", "policy.toml", "-o", "out") == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert "Traceback" not in told.err
    assert len(told.err.strip().splitlines()) == 1
    for word in words:
        assert word in told.err
    assert sorted(p.name for p in job.iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every file")
def test_unreadable_source(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("ward.csv").chmod(0)
    assert run("publish", "policy.toml") == 2
    assert "ward.csv" in capsys.readouterr().err


def test_wrong_usage() -> None:
    assert run("publish") == 2
    assert run("publsh") == 2
    assert run("publish", "policy.toml", "--seed", "-1") == 2
    assert run("--help") == 0
    assert run("--version") == 0


WRONG: dict[str, tuple[list[str], str]] = {
    "output through a file": (["publish", "policy.toml", "-o", "ward.csv/out"], "ward.csv is a file, not a folder"),
    "output is a file": (["publish", "policy.toml", "-o", "ward.csv"], "so --force does not replace it"),
    "output without a name": (["publish", "policy.toml", "-o", ""], "the name is empty"),
    "policy without a name": (["publish", ""], "the name is empty"),
    "release without a name": (["check", ""], "the name is empty"),
    "table without a name": (["init", ""], "the name of the table is empty"),
    "seed in words": (["publish", "policy.toml", "--seed", "x"], "'x' is not a valid integer"),
    "proposal into a folder": (["init", "ward.csv", "-o", ".", "--force"], "name a file, such as policy.toml"),
    "proposal through a file": (["init", "ward.csv", "-o", "ward.csv/p.toml"], "ward.csv is a file, not a folder"),
    "option before the command": (["--json", "methods"], "--json must follow the command"),
    "no plan": (["plan", "--domain", "5"], "add --lambda, or name a policy"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_explained(case: str, job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, words = WRONG[case]
    before = sorted(p.name for p in job.iterdir())
    assert run(*arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert words in told.err
    assert "Traceback" not in told.err
    assert sorted(p.name for p in job.iterdir()) == before


def test_a_policy_is_not_written_into_what_is_handed_over(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("publish", "policy.toml") == 0
    assert run("init", "ward.csv", "-o", "out/release/mine.toml") == 2
    assert "would receive it too" in capsys.readouterr().err
    assert run("check", "out/release") == 0


def test_without_a_command_three_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    told = capsys.readouterr().out
    assert told.startswith("Three commands to start with")
    assert all(f"sfumato {command} " in told for command in ("demo", "init", "publish"))


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    told = capsys.readouterr().out
    assert told.startswith("Usage: sfumato [OPTIONS] [COMMAND]")
    for command in ("init", "publish", "check", "query", "plan", "methods", "models", "demo"):
        assert any(line.startswith(f"  {command} ") for line in told.splitlines())
    assert "..." not in told.partition("Commands:")[2]


def test_help_starts_fast_and_imports_nothing_heavy() -> None:
    code = (
        "import sys, sfumato.cli\n"
        "heavy = {'numba', 'polars', 'numpy', 'jinja2', 'rich', 'pandas', 'pyarrow', 'duckdb', 'pyspark'}\n"
        "heavy &= set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_debug_shows_the_traceback(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("policy.toml").unlink()
    assert run("publish", "policy.toml", "--debug") == 2
    assert "Traceback" in capsys.readouterr().err


def test_the_studio_refuses_a_file_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, as the other commands do; it would print an address and show the error on a page."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ward.csv").write_text("age\n1\n")
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "studio", "--no-browser", "wrad.csv"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: wrad.csv does not exist.")
    assert "ward.csv" in done.stderr
