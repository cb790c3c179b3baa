"""The cryptography of two publishers, in two processes over TLS on this machine: secure maximum and intersection."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import Line

BITS = 63
PAIRS = 10_000
KEYS = 200_000
_ROUNDS = 100
_SHARED = KEYS * 3 // 4
"""How many of the keys both sides have."""


def lines() -> list[Line]:
    """A bar in seconds is shown as a floor that must not be exceeded."""
    with tempfile.TemporaryDirectory() as name:
        compared = _both("compare", _ROUNDS, Path(name))
        aligned = _both("intersect", KEYS, Path(name))
    each = f"{compared['bytes'] // _ROUNDS:,} bytes, processors of both {compared['cpu'] / _ROUNDS:.3f} s"
    words = f"{aligned['common']:,} in common, {aligned['bytes'] / KEYS:.0f} bytes per key"
    return [
        Line(f"secure maximum, {BITS} bits ({each})", 1, compared["seconds"] / _ROUNDS, "limit", 0.1, 1.0),
        Line(f"intersection of keys ({words}, processors of both {aligned['cpu']:.0f} s)", KEYS, aligned["seconds"]),
    ]


def more() -> str:
    """The secure maximum against plain comparison, on the curve."""
    with tempfile.TemporaryDirectory() as name:
        found = _both("compare", PAIRS, Path(name))
    return (
        f"{PAIRS:,} pairs of {BITS} bits, with ties, neighbours and exhausted sides: {found['wrong']} differ from "
        f"plain comparison ({found['seconds']:.0f} s, processors of both {found['cpu']:.0f} s). Load average at the "
        f"end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n"
    )


def _both(work: str, number: int, folder: Path) -> dict[str, Any]:
    """What party A reports, with the processor time of both; party B runs in another process."""
    from sfumato.integration.certificates import make_certificates

    if not (folder / "ca.pem").exists():
        make_certificates(folder)
    call = [sys.executable, "-m", "benchmarks.secure_maximum", work, str(number), str(folder)]
    listening = subprocess.Popen([*call, "1"], stdout=subprocess.PIPE, text=True)
    assert listening.stdout is not None
    address = listening.stdout.readline().strip()
    connecting = subprocess.run([*call, "2", address], check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(listening.stdout.readline())
    listening.wait()
    return answer | {"cpu": answer["cpu"] + json.loads(connecting.stdout)["cpu"]}


def pairs(number: int) -> list[tuple[int | None, int | None]]:
    """Independent, equal, neighbouring, exhausted."""
    rng = random.Random(7)
    top = 2**BITS - 1
    found: list[tuple[int | None, int | None]] = []
    for _ in range(number):
        x = rng.choice([rng.randint(1, top), rng.randint(1, 9), top - rng.randrange(9)])
        y = rng.choice([rng.randint(1, top), x, min(x + 1, top), max(x - 1, 1), max(x ^ 1 << rng.randrange(BITS), 1)])
        found.append(rng.choice([(x, y)] * 8 + [(None, y), (x, None), (None, None)]))
    return found


def _party() -> None:
    """One of the two processes."""
    from sfumato.integration.channel import Channel
    from sfumato.integration.connection import HostPort, connect, listen
    from sfumato.integration.credentials import Credentials

    work, number, folder, party = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    name = "ab"[party - 1]
    given = Credentials(
        certificate=folder / f"{name}.pem", key_file=folder / f"{name}.key", authority=folder / "ca.pem"
    )
    channel: Channel
    if party == 1:
        channel = listen(HostPort("127.0.0.1", 0), given, party=1, listening=lambda a: print(a, flush=True))
    else:
        channel = connect(HostPort.parse(sys.argv[5]), given, party=2)
    begin, worked = time.perf_counter(), time.process_time()
    report: dict[str, Any] = (_compare if work == "compare" else _intersect)(channel, number, party)
    report |= {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - worked}
    report |= {"bytes": channel.sent + channel.received}
    channel.close()
    print(json.dumps(report))


def _compare(channel: Any, number: int, party: int) -> dict[str, int]:
    from sfumato.integration.secure_comparison import greater

    values = pairs(number)
    found = [greater(channel, pair[party - 1], bits=BITS) for pair in values]
    due = [2 if (y or 0) > (x or 0) else 1 for x, y in values]
    return {"wrong": sum(a != b for a, b in zip(found, due, strict=True))}


def _intersect(channel: Any, number: int, party: int) -> dict[str, int]:
    from sfumato.integration.alignment import by_intersection

    first = (party - 1) * (number - _SHARED)
    rows = by_intersection(channel, [f"{i:09}" for i in range(first, first + number)])
    return {"common": len(rows)}


if __name__ == "__main__":
    _party()
