"""Machine code that was kept runs without Numba, and only where it fits."""

import hashlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sfumato.kernel import native

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Numba is always imported")

PUBLISHED = """
import hashlib, sys
import polars as pl
import sfumato as sf
from sfumato.datasets import example_folder
from sfumato.publisher.publish import publish_policy
made = publish_policy(example_folder() / "policy.toml", sys.argv[1], seed=3, ledger=False)
table = sf.read(pl.DataFrame({"age": range(60), "ill": list("abc") * 20}), quasi=["age"], sensitive="ill")
small = sf.publish(table, require=[sf.KAnonymity(k=5), sf.LDiversity(l=2)], method="mondrian")
text = made.release.tables["data"].write_csv() + small.tables["data"].sort("age", "ill").write_csv()
print(hashlib.sha256(text.encode()).hexdigest(), "numba" in sys.modules)
"""
MODULE = """
from typing import NamedTuple
import numpy as np
from sfumato.kernel.jit import inner, kernel

class Pair(NamedTuple):
    left: object
    right: object

class Other(NamedTuple):
    left: object
    right: object

@inner
def added(x, y):
    return x + y

@kernel
def total(x):
    out = 0
    for i in range(len(x)):
        out += x[i]
    return out

@kernel
def turned(pair, times, none):
    return pair[1], pair[0] * times, none is None

@kernel
def made(size):
    return np.zeros(size, np.uint16), added(size, 1)

@kernel
def divided(a, b):
    return a // b

@kernel
def twice_total(x):
    return 2 * total(x)
"""
CALLS = """
import sys
import threading
sys.path.insert(0, sys.argv[1])
from sfumato.kernel import native
native._OURS = "own_kernels"
import numpy as np
import own_kernels as k

def tried(work, *args):
    try:
        return work(*args)
    except ZeroDivisionError as error:
        return repr(error)

whole = np.arange(6)
fixed = whole.copy()
fixed.flags.writeable = False
print([k.total(x).item() if hasattr(k.total(x), "item") else k.total(x) for x in (
    whole, whole[::2], fixed, np.arange(6) / 4, np.arange(6, dtype=np.uint8), np.asfortranarray(whole),
)])
print(k.turned(k.Pair(1.5, 2), 2, None), k.turned(k.Other(1, True), 2.5, 3), k.turned((1, 2), 3, None))
print([str(part) for part in k.made(3)], k.made(2)[0].dtype, tried(k.divided, 1, 0), k.divided(np.int64(7), 2))
print(k.twice_total(whole), k.total(np.ones(2, complex)), k.divided(-7, 2), k.divided(7.0, 2))
found = []
threads = [threading.Thread(target=lambda: found.append(k.total(np.arange(10.0)))) for _ in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
print(set(found))
print("numba" in sys.modules)
from numba import njit
print(njit(lambda n: np.ones(n).sum())(4), k.total(whole), k.total(np.arange(3, dtype=np.int8)))
"""


def _run(folder: Path, code: str, *arguments: str, **changed: str) -> list[str]:
    folder.mkdir(mode=0o700, exist_ok=True)
    own = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **changed}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=own, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.kernel"))


def test_a_second_job_does_not_import_numba_and_makes_the_same_release(tmp_path: Path) -> None:
    (first,) = _run(tmp_path / "c", PUBLISHED, str(tmp_path / "1"))
    (second,) = _run(tmp_path / "c", PUBLISHED, str(tmp_path / "2"))
    assert first.split()[1] == "True"
    assert second.split() == [first.split()[0], "False"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with machine code, and what the calls print that made it."""
    folder = tmp_path_factory.mktemp("native")
    (folder / "own_kernels.py").write_text(MODULE)
    told = _run(folder / "cache", CALLS, str(folder))
    assert told[-2] == "True"
    assert _run(folder / "cache", CALLS, str(folder)) == told  # keeps what is the same to Numba, but not to us
    return folder, told


def _told_again(folder: Path, cache: Path, **changed: str) -> tuple[list[str], bool]:
    """What the calls print, and whether Numba was imported for them."""
    *told, imported, after = _run(cache, CALLS, str(folder), **changed)
    return [*told, after], imported == "True"


def test_every_kind_of_argument_gets_its_own_machine_code(kept: tuple[Path, list[str]]) -> None:
    folder, (*told, _, after) = kept
    assert told[0] == "[15, 6, 15, 3.75, 15, 15]"
    assert told[2].startswith("['[0 0 0]', '4'] uint16 ZeroDivisionError('")
    assert told[3] == "30 (2+0j) -4 3.0"
    assert after == "4.0 15 3"
    again, imported = _told_again(folder, folder / "cache")
    assert again == [*told, after]
    assert imported  # arrays of complex numbers are left to Numba


def test_calls_whose_machine_code_was_kept_do_not_import_numba(kept: tuple[Path, list[str]]) -> None:
    folder, (*told, _, after) = kept
    code = CALLS.replace("k.total(np.ones(2, complex))", "(2+0j)")
    code = code.replace("tried(k.divided, 1, 0)", "ZeroDivisionError('integer division by zero')")  # errors are Numba's
    code = code.replace("ZeroDivisionError('", "repr(ZeroDivisionError('").replace("zero')", "zero'))")
    *again, imported, last = _run(folder / "cache", code, str(folder))
    assert ([*again, last], imported) == ([*told, after], "False")


def _resealed(data: bytes, **changed: object) -> bytes:
    """A file whose head says something else, with the right digest."""
    (length,) = struct.unpack_from("<q", data, 32)
    head = json.dumps({**json.loads(data[40 : 40 + length]), **changed}).encode()
    body = struct.pack("<q", len(head)) + head + data[40 + length :]
    return hashlib.sha256(body).digest() + body


HARM = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "a bit": lambda data: data[:-50] + bytes([data[-50] ^ 1]) + data[-49:],
    "unknown function": lambda data: _resealed(data, calls=["no_such_function_anywhere"]),
    "unknown entry": lambda data: _resealed(data, entry=3),
    "no head": lambda data: _resealed(data)[:32] + bytes(8),
}


@pytest.mark.parametrize("harm", HARM)
def test_what_is_damaged_is_left_to_numba(kept: tuple[Path, list[str]], tmp_path: Path, harm: str) -> None:
    folder, (*told, _, after) = kept
    cache = tmp_path / "cache"
    subprocess.run(["cp", "-r", str(folder / "cache"), str(cache)], check=True)
    cache.chmod(0o700)
    assert _kept(cache)
    for file in _kept(cache):
        file.write_bytes(HARM[harm](file.read_bytes()))
    assert _told_again(folder, cache) == ([*told, after], True)


@pytest.mark.parametrize("changed", [{"NUMBA_OPT": "1"}, {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}])
def test_machine_code_for_something_else_is_not_run(kept: tuple[Path, list[str]], changed: dict[str, str]) -> None:
    folder, (*told, _, after) = kept
    before = set(_kept(folder / "cache"))
    assert _told_again(folder, folder / "cache", **changed) == ([*told, after], True)
    assert {file.parent for file in _kept(folder / "cache") if file not in before} != {file.parent for file in before}


def test_a_folder_that_others_can_write_is_not_used(kept: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, (*told, _, after) = kept
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    assert _told_again(folder, cache) == ([*told, after], True)
    assert not _kept(cache)


def test_symbols_of_an_object_file_only() -> None:
    with pytest.raises(ValueError, match="ELF"):
        native.undefined_symbols(b"MZ" + bytes(100))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True), (1, 1.0), (1, np.int64(1)), (np.int32(1), np.int64(1)), (None, 0), ((1, 2), (1, (2,))),
        (np.zeros(2), np.zeros(2, np.float32)), (np.zeros(2), np.zeros((2, 1))), (np.zeros(2), np.zeros(4)[::2]),
        (np.zeros((2, 3)), np.zeros((3, 2)).T), (np.zeros(2), np.frombuffer(bytes(16))),
    ],
)  # fmt: skip
def test_kinds_that_numba_tells_apart_are_told_apart(one: object, other: object) -> None:
    kinds = [native.kind_of([value]) for value in (one, other)]
    assert None not in kinds
    assert kinds[0] != kinds[1]
    assert native._words([one]) != native._words([other])


@pytest.mark.parametrize("value", ["a", [1], {1}, 2**63, -(2**63) - 1, object(), np.ma.zeros(2), (1, "a")])
def test_what_is_not_known_is_left_to_numba(value: object) -> None:
    assert native.kind_of([value]) is None


@pytest.mark.parametrize("array", [np.zeros(2, "i4,f8"), np.zeros(2, "S3"), np.zeros(2, ">i4"), np.zeros(2, complex)])
def test_arrays_of_anything_but_plain_numbers_are_left_to_numba(array: np.ndarray) -> None:
    assert native._words([array]) is None
