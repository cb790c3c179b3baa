"""Every method says what it is doing, can be cancelled at every point, and says whether it serves."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.method.catalogue import METHODS, from_table
from sfumato.publisher.publish import publish_policy
from sfumato.publisher.stage_words import STAGES

REQUIRED = {
    "rr": '[[require]]\nmodel = "disclosure"\ntau = 0.3\n',
    "pg": '[[require]]\nmodel = "k-anonymity"\nk = 2\n'
    '[[require]]\nmodel = "rho-breach"\nrho1 = 0.3\nrho2 = 0.6\nlambda = 0.3\n',
    "art": '[[require]]\nmodel = "r-robustness"\nr = 2.0\n',
    **dict.fromkeys(("mask", "mask+", "mask++"), '[[require]]\nmodel = "m-confidentiality"\nm = 2\nvalues = ["hiv"]\n'),
    **dict.fromkeys(("mondrian", "incognito", "tdr", "local-recoding"), '[[require]]\nmodel = "k-anonymity"\nk = 3\n'),
    "tdssa": '[[after]]\nrelease = "before"\n'
    '[[require]]\nmodel = "anonymity"\nx = ["T1.age", "T2.age", "zip"]\ny = "T1"\nk = 3\n',
    "tdd": '[[require]]\nmodel = "confidentiality"\nx = ["age", "zip"]\ny = { ill = "hiv" }\nk = 0.9\n',
}
DIVERSE = '[[require]]\nmodel = "l-diversity"\nvariant = "frequency"\nl = 2\n'
TOGETHER = ("tds2p",)
"""Methods that need another publisher: tests/integration/test_cancel.py."""


class CancelledError(Exception):
    """What a listener raises to end a job."""


def written(folder: Path, method: str) -> Path:
    rows = [
        f"{20 + 3 * i % 60},{10000 + 7 * i % 40},{('flu', 'hiv', 'gout', 'asthma')[i % 4]},{'ny'[i % 2]}"
        for i in range(96)
    ]
    (folder / "ward.csv").write_text("\n".join(["age,zip,ill,again", *rows]) + "\n")
    (folder / "policy.toml").write_text(
        '[data]\nsource = "ward.csv"\n[attributes]\nage = "quasi"\n'
        'zip = { role = "quasi", kind = "categorical", taxonomy = { mask = "right" } }\n'
        'ill = { role = "sensitive", domain = ["flu", "hiv", "gout", "asthma"] }\n'
        f'again = "{"drop" if method == "pg" else "class"}"\n{REQUIRED.get(method, DIVERSE)}'
        f'[method]\nname = "{method}"\n' + 'unchanged = "allow"\n' * (method == "rr")
    )
    if method == "tdssa":
        before = sf.read(folder / "ward.csv", quasi=["age"], sensitive="ill")
        sf.publish(before, require=sf.KAnonymity(k=3), method="mondrian").write(folder / "before")
    return folder / "policy.toml"


def stages(policy: Path, out: Path, heard: Callable[[str, float], None]) -> None:
    publish_policy(policy, out, ledger=False, progress=heard)


@pytest.mark.parametrize("method", [m for m in METHODS if m not in TOGETHER])
def test_a_method_tells_its_stages_and_stops_at_each(method: str, tmp_path: Path) -> None:
    policy = written(tmp_path, method)
    given = {p.name for p in tmp_path.iterdir()}
    told: list[str] = []
    stages(policy, tmp_path / "out", lambda stage, done: told.append(stage))
    order = list(dict.fromkeys(told))
    assert told.count("code") >= 3  # each column is told
    assert order[:3] == ["read", "code", "compress"]
    own = from_table({"name": method}).stage
    assert order[3] == own
    assert "audit" in order
    assert "write" in order
    assert all(stage in STAGES or stage.startswith("step ") for stage in order)
    begun, ended = told.index(own), told.index("write")
    for last in range(ended + 1) if method == "mondrian" else (begun, (begun + ended) // 2, ended):
        events = itertools.count()

        def heard(stage: str, done: float, events: Iterator[int] = events, last: int = last) -> None:
            if next(events) == last or stage == "write":  # another draw may have fewer events
                raise CancelledError

        with pytest.raises(CancelledError):
            stages(policy, tmp_path / "cancelled", heard)
        assert {p.name for p in tmp_path.iterdir()} == {*given, "out"}, told[last]


def test_a_method_says_why_it_does_not_serve(tmp_path: Path) -> None:
    written(tmp_path, "mondrian")
    table = sf.read(tmp_path / "ward.csv", quasi=["age", "zip"], sensitive="ill")
    assert sf.Mondrian().serves([sf.KAnonymity(k=3)], table) is None
    assert "l-diversity" in (sf.MondrianPlus().serves([sf.KAnonymity(k=3)], table) or "")
    alone = sf.read(tmp_path / "ward.csv", sensitive="ill")
    assert "quasi-identifier" in (sf.Mondrian().serves([sf.KAnonymity(k=3)], alone) or "")


def test_a_sample_has_no_trace_of_the_other_rows(tmp_path: Path) -> None:
    written(tmp_path, "mondrian")
    table = sf.read(tmp_path / "ward.csv", quasi=["age"], sensitive="ill", identifiers=["zip"])
    drawn = table.sample(5)
    assert drawn.rows == len(drawn["age"].codes) == drawn.hidden.height == 5
    assert drawn["age"].size == len(set(drawn["age"].codes.tolist()))
    assert table.rows == 96
    with pytest.raises(PolicyError, match="at least one"):
        table.sample(0)


def test_samples_are_drawn_evenly() -> None:
    """Each of 6 rows is drawn with probability 1/2; 4,000 draws deviate by 6 sigma less often than 1e-8."""
    import polars as pl

    table = sf.read(pl.DataFrame({"n": ["0", "1", "2", "3", "4", "5"]}), identifiers=["n"], quasi=[])
    often = dict.fromkeys("012345", 0)
    for _ in range(4000):
        for value in table.sample(3).hidden["n"]:
            often[value] += 1
    assert all(abs(n - 2000) < 6 * 31.7 for n in often.values())
