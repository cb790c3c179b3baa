"""Two publishers in two processes over TLS: Adult blown up and split as in Fung's section 7.4, against TDR on the join.

Party A holds nine attributes, party B the other five, both the class and a record id. What is timed is what the thesis
times: the refinement with all communication, without reading and writing. The result must be that of TDR.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.measure import Line, median_time
from benchmarks.topdown import ADULT, blown_up
from sfumato import datasets

ROWS = 200_000
WARM_UP = 2_000
K = 50
KEY = "recid"
HELD = {
    1: [
        "age",
        "native-country",
        "fnlwgt",
        "relationship",
        "race",
        "sex",
        "marital-status",
        "education-num",
        "education",
    ],
    2: ["hours-per-week", "capital-gain", "capital-loss", "workclass", "occupation"],
}
ORDER = [*HELD[1], *HELD[2]]


def table_of(rows: int, held: Sequence[str]) -> sf.Microdata:
    """Some columns of blown-up Adult, with the class and a record id."""
    frame = blown_up(ROWS, tuple(ADULT)).head(rows).with_row_index(KEY).select(KEY, *held, "income")
    trees = {name: tree for name, tree in datasets.adult_taxonomies().items() if name in held}
    return sf.read(frame, quasi=held, class_="income", identifiers=[KEY], taxonomies=trees)


@cache
def measured() -> dict[str, Any]:
    """TDR on the joined table, then both parties; what party A reports."""
    joined = table_of(ROWS, ORDER)
    method = sf.TopDown(templates=[sf.Anonymity(x=ORDER, k=K)])
    tdr = median_time(lambda: method.finish(joined), repeats=3)
    steps = len(list(method.steps(joined)))
    with tempfile.TemporaryDirectory() as name:
        found = _both(Path(name))
        ours = pl.read_parquet(Path(name) / "rows.parquet")
    theirs = method.finish(joined).mask().select(pl.col(c).cast(pl.String) for c in [*ORDER, "income"])
    same = ours.sort(ours.columns).equals(theirs.sort(theirs.columns))
    return found | {"tdr": tdr, "same": same and found["steps"] == steps}


def lines() -> list[Line]:
    """The refinement against its limit, five times TDR and a tenth of a second per round; and bytes on the wire."""
    found = measured()
    rounds, limit = found["rounds"], 5 * found["tdr"] + 0.1 * found["rounds"]
    one = found["compared"] / rounds
    each = found["bytes"] / (ROWS * found["steps"])
    return [
        Line("tdr on the joined table", ROWS, found["tdr"]),
        Line(f"tds2p, refinement ({rounds} rounds)", ROWS, found["refined"], "5 × tdr + 0.1 s × rounds", limit, 1.0),
        Line(
            "tds2p, refinement without the secure maximum",
            ROWS,
            found["refined"] - found["compared"],
            "tdr",
            found["tdr"],
            5.0,
        ),
        Line("one secure maximum, once both sides have their candidate", ROWS, one, "limit", 0.1, 1.0),
        Line("tds2p, from agreement to release", ROWS, found["whole"]),
        Line("bytes on the wire per record and refinement", ROWS, each, "limit", 8.0, 1.0, unit="bytes"),
    ]


def more() -> str:
    """Whether the result is that of TDR."""
    found = measured()
    told = "the same release as" if found["same"] else "ANOTHER RELEASE THAN"
    return (
        f"\nBoth sides made {told} TDR on the joined table, after {found['steps']} refinements. The refinement took "
        f"{found['cpu']:.2f} s of party A's CPU. Load average at the end: {os.getloadavg()[0]:.1f}. The thesis needed "
        "about 340 s for this (section 7.4.2, two PCs of 2.6 GHz).\n"
    )


def _both(folder: Path) -> dict[str, Any]:
    """What party A reports; party B runs in another process."""
    from sfumato.integration.certificates import make_certificates

    make_certificates(folder)
    call = [sys.executable, "-m", "benchmarks.two_publishers", str(folder)]
    listening = subprocess.Popen([*call, "1"], stdout=subprocess.PIPE, text=True)
    assert listening.stdout is not None
    address = listening.stdout.readline().strip()
    subprocess.run([*call, "2", address], check=True, stdout=subprocess.DEVNULL)
    answer: dict[str, Any] = json.loads(listening.stdout.readline())
    listening.wait()
    return answer


def _party(folder: Path, party: int, address: str) -> None:
    """One of the two processes."""
    from sfumato.integration.channel import Channel
    from sfumato.integration.connection import HostPort, connect, listen
    from sfumato.integration.credentials import Credentials

    name = "ab"[party - 1]
    given = Credentials(
        certificate=folder / f"{name}.pem", key_file=folder / f"{name}.key", authority=folder / "ca.pem"
    )
    tables = [table_of(rows, HELD[party]) for rows in (WARM_UP, ROWS)]
    channel: Channel
    if party == 1:
        channel = listen(HostPort("127.0.0.1", 0), given, party=1, listening=lambda a: print(a, flush=True))
    else:
        channel = connect(HostPort.parse(address), given, party=2)
    _integrate(channel, tables[0])
    report, frame = _integrate(channel, tables[1])
    channel.close()
    if party == 1:
        frame.select(pl.col(c).cast(pl.String) for c in [*ORDER, "income"]).write_parquet(folder / "rows.parquet")
    print(json.dumps(report))


def _integrate(channel: Any, table: sf.Microdata) -> tuple[dict[str, float], pl.DataFrame]:
    """One integration, with the times of its parts."""
    from sfumato.integration.agreement import Joint
    from sfumato.integration.contribution import Contribution
    from sfumato.integration.integrate import Integration, compare_securely
    from sfumato.integration.mirror import PartyRefinement
    from sfumato.integration.wire import Message
    from sfumato.method.topdown.two_party import TopDownTwoParty

    times = {"compared": 0.0, "rounds": 0, "refined": 0.0, "cpu": 0.0, "bytes": 0.0}
    stages: dict[str, float] = {}

    def compare(channel: Any, value: int | None) -> int:
        channel.exchange(Message.DIGEST, b"", at_most=0)  # from here on, no side waits for the other's candidate
        begun = time.perf_counter()
        winner = compare_securely(channel, value)
        times["compared"] += time.perf_counter() - begun
        times["rounds"] += 1
        return winner

    def heard(stage: str, done: float) -> None:
        if stage.startswith("step "):
            return
        stages[stage] = time.perf_counter()
        if stage == "steps":
            times["cpu"] -= time.process_time()
            times["bytes"] -= channel.sent + channel.received
        elif stage == "labels":
            times["refined"] += stages["labels"] - stages["steps"]
            times["cpu"] += time.process_time()
            times["bytes"] += channel.sent + channel.received

    class Timed(Integration):
        def _refinement(self, joint: Joint, table: sf.Microdata) -> PartyRefinement:
            begun, worked = time.perf_counter(), time.process_time()
            made = super()._refinement(joint, table)
            times["refined"] += time.perf_counter() - begun
            times["cpu"] += time.process_time() - worked
            return made

    wanted = [sf.Anonymity(x=ORDER, k=K)]
    mine = Contribution(table=table, key=KEY, intersect=False, requirements=wanted, method=TopDownTwoParty())
    work = Timed(channel, mine, heard, compare)
    begun = time.perf_counter()
    release = work.run()
    whole = time.perf_counter() - begun
    report = times | {"whole": whole, "steps": work.prepared().common.steps}
    report |= {f"from {stage}": whole - (at - begun) for stage, at in stages.items()}
    return report, release.tables["data"]


if __name__ == "__main__":
    _party(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
