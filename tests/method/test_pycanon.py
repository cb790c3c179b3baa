"""An outside checker: pycanon computes the same figures from the released table. It wants pandas 2: `make older`."""

import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.errors import Infeasible
from sfumato.method.mondrian import Mondrian
from sfumato.release.release import Release
from sfumato.requirement.alpha_k import AlphaK
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.requirement.t_closeness import TCloseness
from strategies import Sample, examples, samples

pytest.importorskip("pycanon", reason="pycanon has an environment of its own: make older")
if int(pd.__version__.partition(".")[0]) > 2:
    pytest.skip("pycanon does not work with pandas 3: make older", allow_module_level=True)
from pycanon import anonymity


def as_pandas(release: Release, numeric: bool) -> pd.DataFrame:
    """The released table as pycanon wants it: a fresh index; a number is `ordered` for it, a text `equal`."""
    frame = pd.DataFrame(
        {n: release.tables["data"][n].cast(pl.String).to_list() for n in release.tables["data"].columns}
    )
    if numeric:
        frame["ill"] = frame["ill"].map({v: i for i, v in enumerate(sorted(set(frame["ill"])))}).astype(int)
    return frame.reset_index(drop=True)


@given(samples(most=30, columns=2), st.integers(1, 5), st.booleans())
@examples(40)
def test_pycanon_agrees(sample: Sample, k: int, strict: bool) -> None:
    """The domain is what occurs, as pycanon has no other; then k, l (distinct), α and both t must agree."""
    sample.options["taxonomies"].pop("ill")
    rows = sample.facts.rows
    assume(len({row["ill"] for row in rows}) > 1)
    required = [
        KAnonymity(k=k),
        LDiversity(l=1, variant="distinct"),
        LDiversity(l=1, variant="entropy"),
        AlphaK(alpha=1, k=k),
        TCloseness(t=1),
        TCloseness(t=1, distance="ordered"),
    ]
    try:
        release = Mondrian(strict=strict).publish(sample.read(), required)
    except Infeasible:
        assume(False)
    achieved = [entry["achieved"] for entry in release.manifest["requirements"]]
    text, numbers, quasi = as_pandas(release, False), as_pandas(release, True), sample.quasi
    assert anonymity.k_anonymity(text, quasi) == achieved[0]["k"] == achieved[3]["k"]
    assert anonymity.l_diversity(text, quasi, ["ill"]) == achieved[1]["l"]
    entropy = achieved[2]["l"]
    if abs(entropy - round(entropy)) > 1e-6:  # pycanon rounds 2.9999999999999996 down to 2
        assert anonymity.entropy_l_diversity(text, quasi, ["ill"]) == int(entropy)
    alpha, k_found = anonymity.alpha_k_anonymity(text, quasi, ["ill"])
    assert (alpha, k_found) == (pytest.approx(achieved[3]["alpha"]), achieved[0]["k"])
    assert anonymity.t_closeness(text, quasi, ["ill"]) == pytest.approx(achieved[4]["t"], abs=1e-9)
    assert anonymity.t_closeness(numbers, quasi, ["ill"]) == pytest.approx(achieved[5]["t"], abs=1e-9)
