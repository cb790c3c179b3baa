"""A fixed thousand of mutated releases: none crashes the check, and each that it accepts is still true."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from fuzz import manifests, oracle
from fuzz.releases import releases
from sfumato.release.files.store import fill


def test_every_accepted_mutant_is_true() -> None:
    summary = manifests.run(1100, seed=12)
    assert not summary.defects, "\n".join(summary.failures)
    assert summary.inputs >= 1000
    assert summary.clean > summary.inputs / 2
    assert summary.accepted - summary.unverifiable > 50  # the check does not refuse everything


@pytest.mark.parametrize("name", sorted(releases()))
def test_what_was_not_changed_is_accepted_and_true(name: str, tmp_path: Path) -> None:
    """The oracle and the check agree on the releases themselves."""
    base = releases()[name]
    base.write(tmp_path / "out")
    again = sf.load(tmp_path / "out")
    assert again == base
    assert "broken" not in {f.status for f in again.findings()}
    manifest, tables = oracle.read(tmp_path / "out")
    said = oracle.opinion(manifest, manifest, tables, {n: t.columns for n, t in again.tables.items()})
    assert said in ("true", "unverifiable")


def test_the_same_seed_gives_the_same_mutants(tmp_path: Path) -> None:
    base = releases()["mondrian"]
    found = []
    for _ in range(2):
        (tmp_path / "out").mkdir()
        manifests.make_mutant(base, np.random.default_rng([5, 2]), tmp_path / "out")
        found.append((tmp_path / "out" / "manifest.json").read_bytes())
        shutil.rmtree(tmp_path / "out")
    assert found[0] == found[1]


def test_the_oracle_sees_a_false_claim(tmp_path: Path) -> None:
    """It is worth something only if it says no."""
    base = releases()["mondrian"]
    (tmp_path / "out").mkdir()
    fill(tmp_path / "out", base.description, base.tables)
    before, tables = oracle.read(tmp_path / "out")
    columns = {n: t.columns for n, t in base.tables.items()}
    for change in (
        lambda m: m["requirements"][0]["achieved"].update(k=5),
        lambda m: m["requirements"][0]["required"].update(k=5),
        lambda m: m["requirements"][1].update(words="all is well"),
        lambda m: m["attributes"]["age"]["nodes"].update({next(iter(m["attributes"]["age"]["nodes"])): [0.0, 1.0]}),
        lambda m: m.update(rows=7),
        lambda m: m.update(raw=[1]),
    ):
        after, _ = oracle.read(tmp_path / "out")
        change(after)
        assert oracle.opinion(before, after, tables, columns) == "false"
