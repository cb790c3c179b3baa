"""Files survive: at whatever stage a process ends, the output is the old one or the new one, whole."""

import contextlib
import errno
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.cli import main
from sfumato.errors import OutputError
from sfumato.publisher.publish import publish_policy
from sfumato.release.files import output, stages
from sfumato.release.release import load

POLICY = """[data]
source = "ward.csv"
[attributes]
age = { role = "quasi", kind = "continuous" }
ill = { role = "sensitive" }
[[require]]
model = "k-anonymity"
k = K
"""
OLD, NEW = 5, 3
FIRST = (
    *("draft made", "tables written", "manifest written", "private written"),
    *("file written", "file in place", "draft of sfumato-ledger.json removed", "ledger written", "before exchange"),
)
LEDGER = FIRST[4:7]
"""Where the ledger is written: what goes wrong there does not stop a release, only whoever ends the process does."""
LATE = ("after exchange", "draft of out removed")
SWAPPED, RENAMED = (*FIRST, *LATE), (*FIRST, "old moved aside", *LATE)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    return prepared(tmp_path)


def made(job: Path) -> int | None:
    """The k of the release in OUT, which must be whole and hold; None where there is no OUT."""
    out = job / "out"
    if not out.exists():
        return None
    release = load(out / "release")
    release.check()
    assert {p.name for p in (out / "private").iterdir()} == {
        *("audit.json", "log.txt", "policy.toml", "report.html", "report.md")
    }
    k = int(release.manifest["requirements"][0]["required"]["k"])
    assert json.loads((out / "private" / "audit.json").read_text())["requirements"] == release.manifest["requirements"]
    assert f"k = {k}" in (out / "private" / "policy.toml").read_text()
    return k


def drafts(job: Path) -> list[str]:
    return sorted(p.name for p in job.iterdir() if p.name.endswith(".draft"))


def stop_at(stage: str, stop: Callable[[], None]) -> Callable[[str], None]:
    """Stop when a stage is first reached."""
    seen: list[str] = []

    def reached(now: str) -> None:
        if now == stage and not seen:
            seen.append(now)
            stop()

    return reached


def no_exchange(one: Path, other: Path) -> bool:
    return False


def no_space() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupt() -> None:
    raise KeyboardInterrupt


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(5)  # the handler comes first
    pytest.fail("SIGTERM was not heard")


def hang_up() -> None:
    os.kill(os.getpid(), signal.SIGHUP)
    time.sleep(5)
    pytest.fail("SIGHUP was not heard")


@pytest.fixture
def signals() -> Iterator[None]:
    """A hang-up is heard even if the test session ignores it (nohup); the session's handlers come back."""
    before = {s: signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


WAYS = [
    *((stage, False, True) for stage in SWAPPED),
    *((stage, True, True) for stage in SWAPPED),
    *((stage, True, False) for stage in RENAMED),
]
"""A stage, whether an old release is replaced, and whether the system can exchange folders."""


def old_release(job: Path, force: bool) -> None:
    if force:
        publish_policy(job / f"{OLD}.toml", job / "out", ledger=False)


@pytest.mark.parametrize(("stage", "force", "swaps"), WAYS)
@pytest.mark.parametrize(
    ("stop", "code"),
    [(no_space, 2), (interrupt, 130), (terminate, 143), (hang_up, 129)],
    ids=["ENOSPC", "SIGINT", "SIGTERM", "SIGHUP"],
)
@pytest.mark.usefixtures("signals")
def test_ended_at_a_stage(
    stop: Callable[[], None],
    code: int,
    stage: str,
    force: bool,
    swaps: bool,
    job: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The old or the new release, whole, and no draft; success is claimed where the new one is in its place."""
    old_release(job, force)
    monkeypatch.setattr(stages, "reached", stop_at(stage, stop))
    if not swaps:
        monkeypatch.setattr(output, "exchange", no_exchange)
    ended = run("publish", str(job / f"{NEW}.toml"), "-o", str(job / "out"), *(["--force"] if force else []))
    late = stage in LATE
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert drafts(job) == []
    if late or (stop is no_space and stage in LEDGER):
        assert ended == 0
        assert made(job) == NEW
        assert "nothing was written" not in told.err
    else:
        assert ended == code
        assert made(job) == (OLD if force else None)
    if stop is no_space and ended:
        assert "no space left on the device" in told.err


KILLER = """
import json, os, signal, sys
from pathlib import Path
from sfumato.publisher.publish import publish_policy
from sfumato.release.files import output, stages

for job, stage, force, swaps in json.load(sys.stdin):
    child = os.fork()  # nothing has run yet, so there are no threads to lose
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    stages.reached = lambda now: now != stage or os.kill(os.getpid(), signal.SIGKILL)
    if not swaps:
        output.exchange = lambda one, other: False
    publish_policy(Path(job) / "3.toml", Path(job) / "out", force=force)
    os._exit(0)
"""


def prepared(folder: Path) -> Path:
    """A table and two policies."""
    ages = [20 + (7 * i) % 50 for i in range(60)]
    pl.DataFrame({"age": ages, "ill": ["flu", "HIV", "gout"] * 20}).write_csv(folder / "ward.csv")
    for k in (OLD, NEW):
        (folder / f"{k}.toml").write_text(POLICY.replace("K", str(k)))
    return folder


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool, bool], Path]:
    """The folders of processes that were killed, one for each stage and way."""
    found = {way: prepared(tmp_path_factory.mktemp("killed")) for way in WAYS}
    for (_, force, _), job in found.items():
        old_release(job, force)
    cases = json.dumps([(str(job), *way) for way, job in found.items()])
    done = subprocess.run(
        [sys.executable, "-c", KILLER],
        input=cases,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},  # each would load the compiled kernels, which takes longer
    )
    assert done.stdout.split() == [str(-signal.SIGKILL)] * len(WAYS), done.stderr
    return found


@pytest.mark.parametrize(("stage", "force", "swaps"), WAYS)
def test_killed_at_a_stage(stage: str, force: bool, swaps: bool, killed: dict[Any, Path]) -> None:
    """kill -9: the next run puts right what was left, and finds the old or the new release, whole."""
    job = killed[stage, force, swaps]
    late = stage in LATE
    expected = NEW if late else OLD if force else None
    if stage == "old moved aside":
        assert made(job) is None
    else:
        assert made(job) == expected
    for draft in drafts(job):
        assert stat.S_IMODE((job / draft).stat().st_mode) == 0o700
    assert drafts(job) or stage == "draft of out removed"
    publish_policy(job / f"{NEW}.toml", job / "other")  # any output in the same folder will do
    assert drafts(job) == []
    assert made(job) == expected
    publish_policy(job / f"{NEW}.toml", job / "out", force=expected is not None)
    assert made(job) == NEW


def test_a_real_process_ends_in_order_on_sigterm(job: Path) -> None:
    """From outside, as a job scheduler does it, while the draft is written."""
    code = (
        "import sys, time\n"
        "from sfumato.cli import main\n"
        "from sfumato.release.files import stages\n"
        "stages.reached = lambda stage: stage != 'private written' or print('here', flush=True) or time.sleep(600)\n"
        "main(sys.argv[1:])\n"
    )
    arguments = ["publish", str(job / f"{NEW}.toml"), "-o", str(job / "out")]
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    assert drafts(job)
    publish_policy(job / f"{NEW}.toml", job / "other", ledger=False)
    assert len(drafts(job)) == 1, "the draft of a process that lives is not swept"
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 128 + signal.SIGTERM
    assert drafts(job) == []
    assert made(job) is None


def test_nohup_stays_nohup(monkeypatch: pytest.MonkeyPatch, job: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run("publish", str(job / f"{NEW}.toml"), "-o", str(job / "out")) == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


# --- what is not ours -------------------------------------------------------------------------------------

STRANGERS: dict[str, Callable[[Path], Any]] = {
    "private/thesis.docx": lambda out: (out / "private" / "thesis.docx").write_text("years"),
    "release/raw.csv": lambda out: (out / "release" / "raw.csv").write_text("years"),
    "notes": lambda out: (out / "notes").mkdir(),
    "release/quasi.csv": lambda out: (out / "release" / "quasi.csv").write_text("years"),
    "release/sub": lambda out: (out / "release" / "sub").mkdir(),
    "valid manifest.json": lambda out: (out / "release" / "manifest.json").write_text("{}"),
    "valid manifest.json, none": lambda out: (out / "release" / "manifest.json").unlink(),
    "private/log.txt": lambda out: (
        (out / "private" / "log.txt").unlink(),
        (out / "private" / "log.txt").symlink_to(out / "private" / "audit.json"),
    ),
}


@pytest.mark.parametrize("stranger", STRANGERS)
def test_force_replaces_only_what_sfumato_wrote(stranger: str, job: Path) -> None:
    publish_policy(job / f"{OLD}.toml", job / "out", ledger=False)
    STRANGERS[stranger](job / "out")
    before = {p: p.read_bytes() for p in (job / "out").rglob("*") if p.is_file()}
    with pytest.raises(OutputError, match="not written entirely by sfumato") as error:
        publish_policy(job / f"{NEW}.toml", job / "out", force=True)
    assert stranger.split(",")[0] in str(error.value)
    assert {p: p.read_bytes() for p in (job / "out").rglob("*") if p.is_file()} == before
    assert drafts(job) == []


@pytest.mark.parametrize("place", ["out/release", "out/release/new", "link", "link/a/b"])
@pytest.mark.parametrize("force", [False, True])
def test_nothing_private_comes_into_the_public_part(place: str, force: bool, job: Path) -> None:
    publish_policy(job / f"{OLD}.toml", job / "out", ledger=False)
    (job / "link").symlink_to(job / "out" / "release")
    with pytest.raises(OutputError, match="inside the public part"):
        publish_policy(job / f"{NEW}.toml", job / place, force=force)
    assert made(job) == OLD
    assert drafts(job) == []


def test_the_manifest_of_another_program_is_no_public_part(job: Path) -> None:
    (job / "manifest.json").write_text('{"manifest_version": 3}')
    publish_policy(job / f"{NEW}.toml", job / "out")
    assert made(job) == NEW


def test_a_link_to_itself_is_refused(job: Path) -> None:
    (job / "loop").symlink_to("loop")
    for place in ("loop", "loop/out"):
        with pytest.raises(OutputError, match="loop"):
            publish_policy(job / f"{NEW}.toml", job / place, force=True)


def test_the_thesis_beside_a_release_folder_survives(job: Path) -> None:
    (job / "mine" / "private").mkdir(parents=True)
    (job / "mine" / "release").mkdir()
    (job / "mine" / "private" / "thesis.docx").write_text("years")
    with pytest.raises(OutputError, match=r"private/thesis\.docx"):
        publish_policy(job / f"{NEW}.toml", job / "mine", force=True)
    assert (job / "mine" / "private" / "thesis.docx").read_text() == "years"


@pytest.mark.parametrize("swaps", [True, False])
def test_what_comes_into_the_old_folder_in_the_last_moment_survives(
    swaps: bool, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_policy(job / f"{OLD}.toml", job / "out", ledger=False)
    late = job / "out" / "private" / "thesis.docx"
    monkeypatch.setattr(stages, "reached", stop_at("before exchange", lambda: late.write_text("years") and None))
    if not swaps:
        monkeypatch.setattr(output, "exchange", no_exchange)
    with pytest.raises(OutputError, match=r"thesis\.docx"):
        publish_policy(job / f"{NEW}.toml", job / "out", force=True)
    assert late.read_text() == "years"
    late.unlink()
    assert made(job) == OLD
    assert drafts(job) == []


def test_of_two_that_write_to_one_place_the_second_fails(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's folder in the target's place is not taken for our own."""

    def other() -> None:
        monkeypatch.setattr(stages, "reached", lambda stage: None)
        publish_policy(job / f"{OLD}.toml", job / "out", ledger=False)

    monkeypatch.setattr(stages, "reached", stop_at("before exchange", other))
    monkeypatch.setattr(
        output.os.path, "lexists", lambda path, real=os.path.lexists: job / "out" != path and real(path)
    )
    with pytest.raises(OutputError, match="not empty"):
        publish_policy(job / f"{NEW}.toml", job / "out", ledger=False)
    assert made(job) == OLD
    assert drafts(job) == []


def test_the_old_release_survives_whatever_interrupts_the_clearing(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new one cannot be moved, and putting the old one back is interrupted, too."""
    publish_policy(job / f"{OLD}.toml", job / "out", ledger=False)
    rename, calls = Path.rename, []

    def fail(self: Path, target: Any) -> Any:
        calls.append(self)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        if len(calls) == 3:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(output, "exchange", no_exchange)
    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(KeyboardInterrupt):
        publish_policy(job / f"{NEW}.toml", job / "out", force=True, ledger=False)
    assert made(job) == OLD
    assert drafts(job) == []


def test_an_old_release_that_cannot_be_put_back_is_kept(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_policy(job / f"{OLD}.toml", job / "out", ledger=False)
    rename, calls = Path.rename, []

    def fail(self: Path, target: Any) -> Any:
        calls.append(self)
        if len(calls) > 1:
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(output, "exchange", no_exchange)
        patch.setattr(Path, "rename", fail)
        with pytest.raises(OutputError):
            publish_policy(job / f"{NEW}.toml", job / "out", force=True, ledger=False)
    assert made(job) is None
    assert len(drafts(job)) == 1
    with pytest.raises(OutputError, match="exists"):
        publish_policy(job / f"{NEW}.toml", job / "out", ledger=False)
    assert made(job) == OLD
    assert drafts(job) == []


def test_an_empty_folder_may_be_replaced(job: Path) -> None:
    (job / "out").mkdir()
    with pytest.raises(OutputError, match="exists"):
        publish_policy(job / f"{NEW}.toml", job / "out")
    publish_policy(job / f"{NEW}.toml", job / "out", force=True)
    assert made(job) == NEW


NOT_DRAFTS: dict[str, Callable[[Path], Any]] = {
    "no lock": lambda d: (d / "new").mkdir(),
    "another lock": lambda d: (d / "sfumato.lock").write_text("mine"),
    "something else in it": lambda d: (
        (d / "sfumato.lock").write_bytes(b"a draft of sfumato\n"),
        (d / "thesis.docx").write_text("years"),
    ),
    "something else in new": lambda d: (
        (d / "sfumato.lock").write_bytes(b"a draft of sfumato\n"),
        (d / "new").mkdir(),
        (d / "new" / "thesis.docx").write_text("years"),
    ),
    "a link": lambda d: (
        (d / "sfumato.lock").write_bytes(b"a draft of sfumato\n"),
        (d / "new").symlink_to(d.parent),
    ),
}


@pytest.mark.parametrize("kind", NOT_DRAFTS)
def test_what_only_looks_like_a_draft_is_left_alone(kind: str, job: Path) -> None:
    draft = job / ".out.abcd1234.draft"
    draft.mkdir()
    NOT_DRAFTS[kind](draft)
    before = sorted(draft.rglob("*"))
    publish_policy(job / f"{NEW}.toml", job / "out")
    assert sorted(draft.rglob("*")) == before


# --- who may read what ------------------------------------------------------------------------------------


def modes(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): stat.S_IMODE(p.stat().st_mode) for p in [folder, *folder.rglob("*")]}


@contextlib.contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("force", [False, True])
def test_the_private_part_is_the_owners_alone(mask: int, force: bool, job: Path) -> None:
    old_release(job, force)
    with umask(mask):
        publish_policy(job / f"{NEW}.toml", job / "out", force=force)
    found = modes(job / "out")
    private = {name: mode for name, mode in found.items() if name.startswith("private")}
    assert private.pop("private") == 0o700
    assert set(private.values()) == {0o600}
    assert len(private) == 5
    assert found["."] == 0o755 & ~mask
    assert found["release"] == 0o777 & ~mask
    assert {mode for name, mode in found.items() if name.startswith("release/")} == {0o666 & ~mask}
    assert stat.S_IMODE((job / "sfumato-ledger.json").stat().st_mode) == 0o600


def test_no_draft_is_readable_by_others(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a umask of 0, at every stage, for outputs and for the policy that init writes."""
    seen: list[dict[str, int]] = []

    def look(stage: str) -> None:
        seen.extend(modes(job / name) for name in drafts(job))

    monkeypatch.setattr(stages, "reached", look)
    with umask(0):
        publish_policy(job / f"{NEW}.toml", job / "out")
        assert run("init", str(job / "ward.csv"), "-o", str(job / "mine.toml")) == 0
        load(job / "out" / "release").write(job / "copy")
    assert len(seen) > 10
    assert {found["."] for found in seen} == {0o700}
    assert drafts(job) == []
