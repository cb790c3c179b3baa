"""Attribute sets: those with a large enough sample, none beyond, and a refusal before memory is taken."""

import resource
import time
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.requirement.attribute_sets import large_sets, number_of_sets
from sfumato.requirement.distribution import kinds_of
from sfumato.table.microdata import Microdata


def flags(attributes: int, rows: int, share: float = 0.02) -> Microdata:
    """So many rare flags, as in a table of diagnoses: nearly everybody agrees on nearly all of them."""
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({f"q{j:02}": (rng.random(rows) < share).astype(str) for j in range(attributes)})
    ill = rng.choice(["flu", "cold", "gout", "HIV"], rows)
    return sf.read(frame.with_columns(ill=pl.Series(ill)), quasi=frame.columns, sensitive="ill")


def obvious(table: Microdata, least: float, size: int | None) -> list[tuple[str, ...]]:
    """All sets, one after the other."""
    names, out = [c.name for c in table.quasi], []
    for number in range(1, (size or len(names)) + 1):
        for chosen in combinations(names, number):
            frame = pl.DataFrame({n: table[n].codes for n in chosen})
            if int(frame.group_by(chosen).len()["len"].max()) >= least:  # type: ignore[arg-type]
                out.append(chosen)
    return out


@given(st.integers(1, 5), st.integers(1, 12), st.sampled_from([None, 1, 2, 3]), st.sampled_from([0.05, 0.3, 0.5]))
@settings(max_examples=30, deadline=None)
def test_the_sets_are_those_with_a_large_signature(attributes: int, least: int, size: int | None, share: float) -> None:
    table = flags(attributes, 20, share)
    kinds = kinds_of(table.quasi)
    people = np.bincount(kinds.of_row, minlength=kinds.number)
    found = large_sets("r-robustness", kinds, people, least=least, size=size, numbers=3)
    assert found == obvious(table, least, min(size, attributes) if size else None)


def test_small_samples_are_not_extended() -> None:
    """Thirty columns with all values apart: no signature has two people, so no pair is ever looked at."""
    frame = pl.DataFrame({f"q{j}": [str(i) for i in range(40)] for j in range(30)} | {"ill": ["flu", "HIV"] * 20})
    table = sf.read(frame, quasi=[f"q{j}" for j in range(30)], sensitive="ill")
    release = sf.publish(table, require=sf.RRobustness(r=2, values=["HIV"], minimum=2), method="art")
    assert release.manifest["requirements"][0]["achieved"] == {"r": 2.0}


@pytest.mark.parametrize("attributes", [20, 40])
@pytest.mark.parametrize("method", ["art", "injector"])
def test_twenty_and_forty_quasi_identifiers_are_refused_before_memory_is_taken(method: str, attributes: int) -> None:
    table = flags(attributes, 4000)
    wanted = sf.RRobustness(r=2, values=["HIV"]) if method == "art" else sf.LDiversity(l=2)
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(PolicyError, match=rf"{attributes} of them make .* the limit here is .* Set size = \d"):
        sf.publish(table, require=wanted, method=method)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB
    assert time.process_time() - begin < 60  # seconds of the processor, compilation included


@pytest.mark.parametrize("method", ["art", "injector"])
def test_the_remedy_that_is_told_works(method: str) -> None:
    table = flags(20, 300)
    wanted = sf.RRobustness(r=2, values=["HIV"], size=2) if method == "art" else sf.LDiversity(l=2)
    chosen = sf.Art() if method == "art" else sf.Injector(size=2)
    assert sf.publish(table, require=wanted, method=chosen).manifest["rows"] == 300


def test_how_many_sets_there_are() -> None:
    assert number_of_sets(40, None) == 2**40 - 1
    assert number_of_sets(3, 9) == 7
