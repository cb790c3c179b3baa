"""Worked values of randomized response (Guo, Ying, Wu 2011): the gender x disease example, and Table 3 on Adult."""

import os
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import datasets
from sfumato.method.rr.optimize import people_of
from sfumato.requirement.disclosure import JointShares, paper_risk
from sfumato.table.distortion import Distortion
from sfumato.table.microdata import Microdata

adult_data = pytest.mark.skipif(not os.environ.get("SFUMATO_DATA"), reason="SFUMATO_DATA is not set")


def gender_by_disease() -> Microdata:
    """100 people, 28 of them women, 12 of these with cancer: π_10 = .12 and π_1+ = .28, as the paper's example says."""
    counts = {"Male": (16, 30, 26), "Female": (12, 9, 7)}
    rows = [
        (g, d)
        for g, of in counts.items()
        for d, n in zip(("Cancer", "Diabetes", "Flu"), of, strict=True)
        for _ in range(n)
    ]
    frame = pl.DataFrame(rows, schema=["gender", "disease"], orient="row")
    return sf.read(frame, quasi=["gender"], sensitive="disease")


def risk_of_female_cancer(people: JointShares, gender: float, disease: float) -> float:
    ways = [Distortion.keeping(gender, 2, what="gender"), Distortion.keeping(disease, 3, what="disease")]
    (women,) = paper_risk(people, ways[:1], ways[1])[people.cell == 0]  # women come first in text order
    return float(women[0])


def test_property_1_on_gender_by_disease() -> None:
    people, _ = people_of(gender_by_disease())
    least = 1e-6
    assert risk_of_female_cancer(people, 1, 1) == pytest.approx(0.12 / 0.28)  # .43
    assert risk_of_female_cancer(people, 1, 1 / 3 + least) == pytest.approx((0.12 / 0.28) ** 2, abs=1e-5)  # .18
    assert risk_of_female_cancer(people, 0.5 + least, 1) == pytest.approx(0.12, abs=1e-5)
    both = risk_of_female_cancer(people, 0.5 + least, 1 / 3 + least)
    assert both == pytest.approx(0.12**2 / 0.28, abs=1e-5)  # .05: π²/π_QI, not π/π_QI as Property 1 prints


def test_equation_6_is_not_the_success_rate_of_its_attacker() -> None:
    """Two people of one group with a and b, sensitive value wholly random: Equation 6 says 1/4, he is right 1/2."""
    people = JointShares((1,), np.array([1.0]), np.array([0]), np.array([[0.5, 0.5]]))
    kept, random = Distortion.keeping(1.0, 1, what=""), Distortion.keeping(0.5 + 1e-9, 2, what="")
    assert paper_risk(people, [kept], random).max() == pytest.approx(0.25, abs=1e-8)
    p = Fraction(
        1, 2
    )  # keep probability; whatever it is, the guess by Equation 3 meets the target's value half the time
    for p in (Fraction(1, 2), Fraction(2, 3), Fraction(9, 10)):
        shown = {v: sum((p if u == v else 1 - p) * Fraction(1, 2) for u in (0, 1)) for v in (0, 1)}
        belief = {v: {u: (p if u == v else 1 - p) * Fraction(1, 2) / shown[v] for u in (0, 1)} for v in (0, 1)}
        guesses_a = sum(shown[v] * belief[v][0] for v in (0, 1))
        assert guesses_a == Fraction(1, 2)
    assert people.attack_success().tolist() == [0.5]


def test_keep_probabilities_of_the_example() -> None:
    best = sf.optimal_response(gender_by_disease(), tau=0.35, mode="qi")
    assert best.risk == pytest.approx(0.35, abs=1e-8)
    assert best.risk <= 0.35
    assert best.attack_success == pytest.approx(12 / 28)
    assert best.keep["disease"] == 1
    free = sf.optimal_response(gender_by_disease(), tau=0.5)
    assert free.keep == {"gender": 1.0, "disease": 1.0}
    assert free.objective == 6  # |I|² of a 2 x 2 times a 3 x 3 identity


@pytest.fixture(scope="module")
def emgrw() -> Microdata:
    frame = datasets.adult().filter(pl.col("split") == "train")
    assert frame.height == 30_162
    return sf.read(frame, quasi=["education", "marital-status", "sex", "race"], sensitive="workclass")


def short(best: "sf.method.response.OptimalResponse") -> list[float]:
    return [best.keep[n] for n in ("education", "marital-status", "sex", "race", "workclass")]


@adult_data
@pytest.mark.parametrize(
    ("l", "printed"),
    [
        (2, (0.824, 0.872, 0.920, 0.941)),
        (4, (0.382, 0.736, 0.918, 0.961)),
        (5, (0.314, 0.615, 0.873, 0.938)),
    ],
)
def test_table_3_quasi_identifiers(emgrw: Microdata, l: int, printed: tuple[float, ...]) -> None:
    best = sf.optimal_response(emgrw, tau=1 / l, mode="qi")
    assert short(best)[:4] == pytest.approx(printed, abs=1.1e-3)
    assert best.risk <= 1 / l
    assert best.agreeing == best.starts
    if l == 2:
        assert short(best)[:4] == pytest.approx((0.8243, 0.8717, 0.9199, 0.9413), abs=6e-5)
        assert best.objective == pytest.approx(21124.4, abs=0.05)


@adult_data
@pytest.mark.parametrize(
    ("l", "printed"),
    [
        (2, (0.824, 0.872, 0.920, 0.941, 1.0)),
        (3, (0.573, 0.821, 0.913, 0.973, 0.955)),
        (4, (0.428, 0.780, 0.926, 0.953, 0.871)),
        (5, (0.353, 0.688, 0.902, 0.953, 0.813)),
    ],
)
def test_table_3_both(emgrw: Microdata, l: int, printed: tuple[float, ...]) -> None:
    best = sf.optimal_response(emgrw, tau=1 / l, mode="both")
    assert short(best) == pytest.approx(printed, abs=2.5e-3)
    assert best.risk <= 1 / l


@adult_data
def test_table_3_at_l_3_is_not_optimal(emgrw: Microdata) -> None:
    best = sf.optimal_response(emgrw, tau=1 / 3, mode="qi")
    sizes = {c.name: c.size for c in emgrw.columns.values()}
    names = ("education", "marital-status", "sex", "race")
    printed = dict(zip(names, (0.548, 0.812, 0.898, 0.985), strict=True))
    ways = [Distortion.keeping(printed[n], sizes[n], what=n) for n in (c.name for c in emgrw.quasi)]
    theirs = float(np.prod([w.noise for w in ways])) * sizes["workclass"]
    assert best.objective < 0.998 * theirs
    assert best.objective == pytest.approx(55744.54, abs=0.1)


@adult_data
@pytest.mark.parametrize("l", [2, 3, 4, 5])
def test_the_sensitive_attribute_alone_cannot_do_it(emgrw: Microdata, l: int) -> None:
    """As soon as a group has one sensitive value; the groups are named."""
    with pytest.raises(sf.Infeasible, match=r"groups prevent it, e\.g\. \(education = .*least risk 1"):
        sf.optimal_response(emgrw, tau=1 / l, mode="sensitive")
