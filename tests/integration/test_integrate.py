"""Two publishers in two threads: both end with the release that TDR makes of the joined table, and with nothing else."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl
import pytest
from hypothesis import given

import sfumato as sf
from integration.joint import compare_plainly
from integration.parties import converse, together
from integration.test_refine import JOBS, TEMPLATES, jobs, table_7_1
from sfumato.errors import DataError, Infeasible, PeerError, PolicyError
from sfumato.integration.channel import Channel
from sfumato.integration.contribution import Contribution
from sfumato.integration.integrate import Integration
from sfumato.integration.memory import in_memory_pair
from sfumato.method.topdown.recoding import plain_frame
from sfumato.method.topdown.two_party import TopDownTwoParty
from sfumato.release.release import Release
from sfumato.requirement.base import Requirement
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata
from strategies import examples

KEY = "recid"


def side(table: Microdata, held: Sequence[str], **settings: Any) -> Contribution:
    """What one publisher brings of a joined table: its columns, the class and a key, in an order of its own."""
    columns = {n: c for n, c in table.columns.items() if n in held or c.role is Role.CLASS}
    hidden = pl.DataFrame({KEY: [f"r{i}" for i in range(table.rows)]})
    chosen = replace(table, columns=columns, hidden=hidden)
    return Contribution(table=chosen, key=KEY, **{"intersect": False, "title": "Joint", **settings})


def integrated(mine: Contribution, channel: Channel) -> tuple[Integration, Release]:
    work = Integration(channel, mine, compare=compare_plainly)
    return work, work.run()


def both(a: Contribution, b: Contribution) -> tuple[Release, Release]:
    """The releases of two sides."""
    (_, first), (_, second), _, _ = converse(partial(integrated, a), partial(integrated, b))
    return first, second


def rows_of(release: Release) -> Counter[tuple[Any, ...]]:
    frame = release.tables["data"]
    return Counter(frame.select(pl.col(c).cast(pl.String) for c in sorted(frame.columns)).rows())


def assert_same_as_tdr(
    table: Microdata, held: Sequence[str], wanted: Sequence[Requirement], method: sf.TopDown
) -> None:
    names = [c.name for c in table.quasi]
    masked = [n for n in names if any(n in (r.x or names) for r in wanted)]  # type: ignore[attr-defined]
    table = replace(table, columns={n: c for n, c in table.columns.items() if n in masked or c.role is Role.CLASS})
    two = TopDownTwoParty(score=method.score, categorical=method.categorical)
    parts = [[n for n in masked if n in held], [n for n in masked if n not in held]]
    a, b = both(*(side(table, part, requirements=wanted, method=two) for part in parts))
    assert a == b
    a.check()
    joined = replace(table, columns={n: table.columns[n] for n in [*parts[0], *parts[1], "class"]})
    tdr = sf.publish(joined, require=wanted, method=method, title="Joint")
    assert rows_of(a) == rows_of(tdr)
    named = ("attributes", "requirements", "rows", "warnings", "title", "scheme", "sfumato")
    assert {k: a.manifest.get(k) for k in named} == {k: tdr.manifest.get(k) for k in named}
    assert a.manifest["method"] == {**tdr.manifest["method"], "name": "tds2p"}


@examples(60)
@given(jobs())
def test_the_release_is_that_of_tdr(job: tuple[Microdata, list[str], list[Requirement], sf.TopDown]) -> None:
    try:
        assert_same_as_tdr(*job)
    except Infeasible:
        return
