"""Two real processes over TLS on loopback: `sfumato integrate` on both sides, its files, its errors and exit codes."""

import hashlib
import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from integration.test_integrate import rows_of
from integration.test_refine import JOBS, TEMPLATES, table_7_1
from sfumato.cli import main
from sfumato.integration.certificates import make_certificates
from sfumato.method.topdown.recoding import plain_frame

POLICY = """
title = "Joint"

[data]
source = "{party}.csv"

[attributes]
recid = "identifier"
Class = "class"
{columns}

[[require]]
model = "anonymity"
x = ["Sex", "Job"]
k = 4

[[require]]
model = "anonymity"
x = ["Sex", "Salary"]
k = 11

[integrate]
party = "{letter}"
{key} = "recid"
certificate = "{party}.pem"
key_file = "{party}.key"
authority = "ca.pem"
"""


def write_side(folder: Path, party: str, columns: list[str], *, key: str = "key", rows: slice = slice(None)) -> Path:
    """The table and the policy of one side of Table 7.1, its rows in an order of its own."""
    frame = plain_frame(table_7_1()).with_row_index("recid").with_columns(recid=pl.format("id{}", "recid"))
    order = list(range(frame.height))[rows]
    random.Random(party).shuffle(order)
    frame[order].select("recid", *columns, "Class").write_csv(folder / f"{party}.csv")
    trees = {"Sex": {"ANY_Sex": ["M", "F"]}, "Job": JOBS}
    lines = [f"{c} = {{ role = 'quasi', taxonomy = '{c}.json' }}" if c in trees else f"{c} = 'quasi'" for c in columns]
    for name in set(columns) & set(trees):
        (folder / f"{name}.json").write_text(json.dumps(trees[name]))
    policy = folder / f"{party}.toml"
    told = {"party": party, "letter": party.upper(), "columns": "\n".join(lines), "key": key}
    policy.write_text(POLICY.format(**told))
    return policy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("two")
    make_certificates(where)
    write_side(where, "a", ["Sex"])
    write_side(where, "b", ["Job", "Salary"])
    return where


def start(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    call = [sys.executable, "-m", "sfumato", "integrate", *arguments]
    return subprocess.Popen(call, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def address_of(process: subprocess.Popen[str]) -> str:
    """Where a side listens; it says so before anything else."""
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("listening on "), line
    return line.split()[-1]


def both(folder: Path, a: list[str], b: list[str]) -> Iterator[tuple[int, str, str]]:
    """Run A, who listens, and B, who connects; exit code, output and errors of each."""
    listening = start(*a, "--listen", "127.0.0.1:0", folder=folder)
    try:
        connecting = start(*b, "--connect", address_of(listening), folder=folder)
        ends = [(p, *p.communicate(timeout=300)) for p in (listening, connecting)]
    finally:
        listening.kill()
    for process, out, err in ends:
        yield process.returncode, out, err


def digests(release: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(release.iterdir())}


def test_both_write_the_same_release_and_a_report_of_their_own(folder: Path) -> None:
    ends = list(both(folder, ["a.toml", "-o", "outA", "--json"], ["b.toml", "-o", "outB"]))
    assert [code for code, _, _ in ends] == [0, 0], ends
    assert digests(folder / "outA" / "release") == digests(folder / "outB" / "release")
    release = sf.load(folder / "outA" / "release")
    assert rows_of(release) == rows_of(sf.publish(table_7_1(), require=TEMPLATES, method="tdr"))
    release.check()
    assert json.loads(ends[0][1])["rows"] == 34
    assert "34 rows published by tds2p" in ends[1][1]
    reports = [(folder / out / "private" / "report.html").read_text() for out in ("outA", "outB")]
    assert "Party B holds" in reports[0]
    assert "Party A holds" in reports[1]
    for value in ("Janitor", "Mover"):
        assert value not in reports[0]  # what the release hides, the other side's report does not show
    for out in ("outA", "outB"):
        assert (folder / out / "private").stat().st_mode & 0o777 == 0o700
        public = "".join(f.read_text() for f in (folder / out / "release").glob("*[nv]"))
        assert "id1" not in public


def test_people_of_one_side_only_stay_unknown(folder: Path, tmp_path: Path) -> None:
    for name in ("ca.pem", "a.pem", "a.key", "b.pem", "b.key"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
        (tmp_path / name).chmod(0o600)
    write_side(tmp_path, "a", ["Sex"], key="psi", rows=slice(0, 32))
    write_side(tmp_path, "b", ["Job", "Salary"], key="psi", rows=slice(2, None))
    ends = list(both(tmp_path, ["a.toml", "-o", "outA"], ["b.toml", "-o", "outB"]))
    assert [code for code, _, _ in ends] == [0, 0], ends
    assert digests(tmp_path / "outA" / "release") == digests(tmp_path / "outB" / "release")
    assert sf.load(tmp_path / "outA" / "release").manifest["rows"] == 30


def test_different_policies_are_explained(folder: Path) -> None:
    other = (folder / "b.toml").read_text().replace("k = 11", "k = 12").replace("Joint", "Common")
    (folder / "other.toml").write_text(other)
    ends = list(both(folder, ["a.toml", "-o", "x"], ["other.toml", "-o", "y"]))
    assert [code for code, _, _ in ends] == [2, 2]
    for _, _, err in ends:
        assert "do not agree on title" in err
        assert "[[require]]" in err
    assert not (folder / "x").exists()
    assert not (folder / "y").exists()


def test_a_wrong_certificate_is_turned_away(folder: Path, tmp_path: Path) -> None:
    """Another authority signed it: the stranger gets an error, the listener goes on waiting and then gives up."""
    make_certificates(tmp_path)
    text = (folder / "b.toml").read_text()
    for name in ("b.pem", "b.key", "ca.pem"):
        text = text.replace(f'"{name}"', f'"{tmp_path / name}"')
    (folder / "stranger.toml").write_text(text)
    for wait in ("4", "120"):  # the second on a machine so busy that the stranger did not start within the first
        ends = list(both(folder, ["a.toml", "-o", "x", "--wait", wait], ["stranger.toml", "-o", "y", "--wait", wait]))
        if "nobody connected" not in ends[0][2]:
            break
    assert [code for code, _, _ in ends] == [2, 2]
    assert "rejected a connection" in ends[0][2]
    assert "certificate" in ends[1][2]
    assert not (folder / "x").exists()


ENDING_ITSELF = """
import os, signal, sys
from sfumato.cli import main
from sfumato.command import integrate
from sfumato.integration.refine import JointRefinement

apply = JointRefinement._apply
def ending(self, told, records):
    numbers = apply(self, told, records)
    if self.common.steps == 3:
        os.kill(os.getpid(), int(sys.argv[1]))
    return numbers
JointRefinement._apply = ending
main(["integrate", *sys.argv[2:]])
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_peer_that_ends_in_the_middle(folder: Path, number: signal.Signals) -> None:
    """It is killed, or stopped by Ctrl-C, after the third refinement: whoever wants to keep a table has a valid one."""
    mine, theirs = folder / f"mine{number}", folder / f"theirs{number}"
    kept = "keep" if number == signal.SIGKILL else "discard"
    options = ("-o", str(mine), "--listen", "127.0.0.1:0", "--silence", "60", "--on-abort", kept)
    listening = start("a.toml", *options, folder=folder)
    call = [sys.executable, "-c", ENDING_ITSELF, str(int(number)), "b.toml", "-o", str(theirs), "--connect"]
    ended = subprocess.run([*call, address_of(listening)], cwd=folder, text=True, capture_output=True, timeout=300)
    _, err = listening.communicate(timeout=300)
    assert listening.returncode == 2, err
    assert ("satisfies every requirement; it was written to" in err) == (kept == "keep")
    if number == signal.SIGKILL:
        assert ended.returncode == -number
        assert not theirs.exists()
    else:
        assert ended.returncode == 130, ended.stderr
        assert "cancelled there" in err
        assert not mine.exists()
    release = sf.load((mine if kept == "keep" else theirs) / "release")
    release.check()
    assert any("refinement was stopped after" in w for w in release.warnings)
    assert any("the greatest that the labels allow" in w for w in release.warnings)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a.toml"], "Give one of --listen HOST:PORT and --connect HOST:PORT"),
        ([], "Missing argument 'POLICY'"),
        (["a.toml", "--listen", "nowhere"], "write HOST:PORT"),
        (["a.toml", "--listen", "127.0.0.1:0", "--connect", "127.0.0.1:1"], "Give one of"),
        (["a.toml", "--listen", "127.0.0.1:0", "--wait", "1"], "did not arrive within 1 seconds"),
        (["alone.toml", "--listen", "127.0.0.1:0"], "the policy has no [integrate] table"),
        (["other-method.toml", "--listen", "127.0.0.1:0"], "which needs the method tds2p, but its method is tdr"),
        (["both-keys.toml", "--listen", "127.0.0.1:0"], "must have either key"),
        (["party.toml", "--listen", "127.0.0.1:0"], 'it must be "A" or "B"'),
        (["nokey.toml", "--listen", "127.0.0.1:0"], "key_file in [integrate] of nokey.toml is None"),
    ],
)
def test_usage(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(folder)
    text = (folder / "a.toml").read_text()
    (folder / "alone.toml").write_text(text.partition("[integrate]")[0])
    (folder / "other-method.toml").write_text(text + "[method]\nname = 'tdr'\n")
    (folder / "both-keys.toml").write_text(text.replace('key = "recid"', 'key = "recid"\npsi = "recid"'))
    (folder / "party.toml").write_text(text.replace('party = "A"', 'party = "C"'))
    (folder / "nokey.toml").write_text(text.replace('key_file = "a.key"', ""))
    with pytest.raises(SystemExit) as ended:
        main(["integrate", *arguments])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_publish_says_what_to_use(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as ended:
        main(["publish", "a.toml", "-o", "alone"])
    assert ended.value.code == 2
    assert "run `sfumato integrate POLICY --listen HOST:PORT` on one side" in capsys.readouterr().err


def test_certificates_for_a_first_try(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["integrate", "--make-certificates", str(tmp_path / "new")])
    assert ended.value.code == 0
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["a.key", "a.pem", "b.key", "b.pem", "ca.pem"]
    assert "Party A needs a.pem" in capsys.readouterr().out
