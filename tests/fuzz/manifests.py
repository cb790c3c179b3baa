"""Mutants of releases: every one that the check accepts must still be true, and none may crash it.

A mutant is a release whose manifest, tables or folder was changed; digests are made to agree again, as a careful
forger would. The same seed gives the same mutants.
"""

import copy
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from fuzz import oracle
from fuzz.edits import MANIFEST, Rng, Skip
from fuzz.harness import TooLong, limited
from fuzz.releases import releases
from fuzz.spoiled import FOLDER, TABLES
from fuzz.summary import Summary
from sfumato.release.files.store import fill
from sfumato.release.manifest import Manifest

LONGEST = 20
"""Seconds that a check may take."""


def make_mutant(base: sf.Release, rng: Rng, folder: Path) -> str:
    """Write a mutant of a release into a folder; what was done."""
    manifest, tables, done = copy.deepcopy(base.manifest), dict(base.tables), []
    where = rng.random()
    if 0.55 < where <= 0.93:
        change = TABLES[int(rng.integers(len(TABLES)))]
        change(rng, manifest, tables)
        done.append(change.__name__)
    fill(folder, Manifest.from_plain(manifest), tables)
    if where <= 0.93:
        (folder / "README.html").unlink()  # else it would tell that the manifest is another one
    if where <= 0.6:
        written = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        for _ in range(1 + int(rng.random() < 0.2)):
            edit = MANIFEST[int(rng.integers(len(MANIFEST)))]
            try:
                edit(rng, written)
            except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
                continue  # the first change took away what the second would change
            done.append(edit.__name__)
        (folder / "manifest.json").write_text(json.dumps(written), encoding="utf-8")
    if where > 0.93:
        spoil = FOLDER[int(rng.integers(len(FOLDER)))]
        spoil(rng, folder)
        done.append(spoil.__name__)
    return " + ".join(done)


def check_mutant(base: sf.Release, before: dict[str, Any], name: str, folder: Path, summary: Summary) -> None:
    """Check a mutant and hold the result against the oracle."""
    try:
        with limited(LONGEST):
            release = sf.load(folder)
            findings = release.findings()
    except sf.SfumatoError:
        summary.clean += 1
        return
    except TooLong:
        summary.hangs += 1
        summary.failures.append(f"{name}: more than {LONGEST} s")
        return
    except Exception as e:
        summary.tracebacks += 1
        summary.failures.append(f"{name}: {type(e).__name__}: {e}")
        return
    if any(f.status == "broken" for f in findings):
        summary.clean += 1
        return
    after, tables = oracle.read(folder)
    said = oracle.opinion(before, after, tables, {n: t.columns for n, t in release.tables.items()})
    if said == "unverifiable" and not any(f.status == "stated" for f in [*findings, *release.stated()]):
        said = "false"
    stated = "\n".join(f"{f.claim} {f.detail}" for f in findings if f.status == "stated")
    if said != "false" and oracle.unsaid(before, after, stated) is not None:
        said = "false"
    if said == "false":
        summary.wrong += 1
        summary.failures.append(f"{name}: accepted, and false: {sorted(oracle.changed(before, after))[:4]}")
    summary.accepted += 1
    summary.unverifiable += said == "unverifiable"


def run(count: int, seed: int) -> Summary:
    """Make so many mutants and check each."""
    summary, bases = Summary(), releases()
    names = sorted(bases)
    with tempfile.TemporaryDirectory() as place:
        originals = {}
        for name in names:
            (Path(place) / name).mkdir()
            fill(Path(place) / name, bases[name].description, bases[name].tables)
            originals[name] = json.loads((Path(place) / name / "manifest.json").read_text(encoding="utf-8"))
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            base, folder = names[number % len(names)], Path(place) / "mutant"
            folder.mkdir()
            try:
                done = make_mutant(bases[base], rng, folder)
            except (Skip, pl.exceptions.PolarsError):
                done = ""
            if done:
                summary.inputs += 1
                check_mutant(bases[base], originals[base], f"[{seed}, {number}] {base}: {done}", folder, summary)
            shutil.rmtree(folder)
            (Path(place) / "elsewhere").unlink(missing_ok=True)
    return summary
