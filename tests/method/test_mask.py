"""MASK, MASK+ and MASK++: the golden example, limits, a slow twin, and wrong input."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engine.counts import Counted
from sfumato.engine.draws import Draws
from sfumato.errors import Infeasible, PolicyError
from sfumato.method.base import Groups
from sfumato.method.mask.perturb import Levelling
from sfumato.release.judgement import bind
from sfumato.table.microdata import Microdata, read
from strategies import examples


def table_of(values: list[str], places: list[int] | None = None, domain: list[str] | None = None) -> Microdata:
    frame = pl.DataFrame({"q": places or list(range(len(values))), "s": values})
    return read(frame, quasi=["q"], sensitive="s", domains={"s": domain} if domain else None)


def levelled(counts: list[int], m: int) -> list[int]:
    """Algorithm 3 with its loop mended and the perturbation of section 6.3, line by line."""
    size, number = sum(counts), len(counts)
    cap = size // m
    order = sorted(range(number), key=lambda v: (counts[v], v))
    f = [counts[v] for v in order]
    i = 2
    while i < number and Fraction(size - sum(f[: i - 1]) - f[i - 2], number - i) <= cap:
        i += 1
    if i == number:
        return counts
    new = f[: i - 1] + [f[i - 2]] * (number - i + 1)
    for j in range(number - 1, i - 2, -1):
        if size - sum(new) <= 0:
            break
        new[j] = min(cap, size - sum(new) + f[i - 2])
    out = [0] * number
    for v, c in zip(order, new, strict=True):
        out[v] = c
    return out


@examples(300)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=7), st.integers(1, 4))
def test_levelling_is_the_algorithm_line_by_line(counts: list[int], m: int) -> None:
    size, number = sum(counts), len(counts)
    values = np.repeat(np.arange(number), counts)
    if not size:
        return
    way = Levelling(Counted(values, number), np.arange(number), Groups(np.zeros(size, np.int64), 1), m)
    if (size // m) * (number - 1) < size:
        with pytest.raises(Infeasible, match="too few"):
            way.target()
        return
    target = way.target()[0].tolist()
    assert target == levelled(counts, m)
    assert sum(target) == size
    assert max(target) <= size // m
    drawn = way.draw(Draws(np.random.default_rng(0)))
    assert np.bincount(drawn, minlength=number).tolist() == target
    assert (drawn != values).sum() == np.maximum(np.array(counts) - target, 0).sum()


def test_as_printed_the_loop_would_publish_this_untouched() -> None:
    """(0, 0, 4) with m = 2."""
    assert levelled([0, 0, 4], 2) == [0, 2, 2]


def test_figure_4_mask_plus() -> None:
    """m = 3 on {t4, t5, t7, t8}: cancer and gastritis twice each become counts 0, 0, 1, 1, 1, 1."""
    ills = ["cancer", "cancer", "gastritis", "gastritis"]
    domain = ["AIDS", "diabetes", "heart disease", "mumps", "cancer", "gastritis"]
    drawn = sf.MaskPlus(k=4).draw(
        table_of(ills, domain=domain), bind([sf.MConfidentiality(m=3)], table_of(ills, domain=domain))
    )
    assert np.bincount(drawn.table["s"].codes, minlength=6).tolist() == [0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("method", ["mask", "mask+", "mask++"])
@pytest.mark.parametrize("scheme", ["generalization", "bucketization"])
@pytest.mark.parametrize("front", ["mondrian", "hilb"])
def test_published_values_are_m_confidential(method: str, scheme: str, front: str) -> None:
    rng = np.random.default_rng(1)
    ills = rng.choice(["flu", "HIV", "AIDS", "cough", "cold", "mumps"], 600, p=[0.3, 0.1, 0.1, 0.2, 0.2, 0.1])
    frame = pl.DataFrame({"x": rng.integers(0, 60, 600), "y": rng.integers(0, 8, 600), "s": ills})
    table = read(frame, quasi=["x", "y"], sensitive="s")
    made = {"mask": sf.Mask, "mask+": sf.MaskPlus, "mask++": sf.MaskPlusPlus}[method]
    wanted = sf.MConfidentiality(m=3, values=["HIV", "AIDS"])
    release = sf.publish(table, require=wanted, method=made(k=20, front=front, scheme=scheme), rng=rng)
    assert all(f.status == "holds" for f in release.check())
    assert release.manifest["requirements"][0]["achieved"]["m"] >= 3
    assert release.warnings
    sizes = np.bincount(release.groups())
    if scheme == "bucketization":
        assert sizes.min() >= (3 if method == "mask++" else 20)
        assert sizes.max() < (6 if method == "mask++" else 600)


def test_nothing_changes_where_nothing_is_violated() -> None:
    """m = 1 bounds nothing, and a group in which every value is rare enough is read to the end."""
    table = table_of(list("abcabcabc"))
    for method in (sf.MaskPlus(k=9), sf.Mask(k=3)):
        wanted = sf.MConfidentiality(m=1, values=["a"])
        drawn = method.draw(table, bind([wanted], table))
        assert np.array_equal(drawn.table["s"].codes, table["s"].codes)
    even = table_of(list("abcdefgh"))
    drawn = sf.MaskPlus(k=8).draw(even, bind([sf.MConfidentiality(m=4)], even))
    assert np.array_equal(drawn.table["s"].codes, even["s"].codes)


def test_mask_takes_over_the_share_of_a_good_group() -> None:
    """Table 2: four AIDS of four become one of four, since the other group has one of four."""
    table = table_of(["c", "h", "h", "A", "A", "A", "A", "A"], places=[0, 0, 0, 0, 9, 9, 9, 9])
    bound = bind([sf.MConfidentiality(m=2, values=["A"])], table)
    for seed in range(20):
        drawn = sf.Mask(k=4).draw(table, bound, draws=Draws(np.random.default_rng(seed)))
        after = drawn.table["s"].codes
        assert (after[:4] == table["s"].codes[:4]).all()
        assert (after[4:] == 0).sum() == 1


def test_the_hilbert_front_makes_groups_of_k_neighbours() -> None:
    table = table_of(list("abcdefghij"))
    drawn = sf.MaskPlus(k=4, front="hilb").draw(table, bind([sf.MConfidentiality(m=2)], table))
    assert sorted(np.bincount(drawn.groups.of_row).tolist()) == [4, 6]
    assert (np.diff(drawn.groups.of_row) != 0).sum() == 1


def test_a_policy_with_mask(tmp_path: Path) -> None:
    folder = tmp_path
    rng = np.random.default_rng(0)
    pl.DataFrame({"age": rng.integers(20, 70, 200), "ill": rng.choice(["HIV", "flu", "cold", "cough"], 200)}).write_csv(
        folder / "d.csv"
    )
    (folder / "p.toml").write_text(
        '[data]\nsource = "d.csv"\n[attributes]\nage = { role = "quasi" }\nill = { role = "sensitive" }\n'
        '[[require]]\nmodel = "m-confidentiality"\nm = 4\nvalues = ["HIV"]\n'
        '[method]\nname = "mask"\nk = 10\nfront = "hilb"\n'
    )
    done = sf.publish_policy(folder / "p.toml", folder / "out")
    assert "refuted" in done.report.read_text() or "Smallest counterexample" in done.report.read_text()
    assert all(f.status == "holds" for f in sf.load(folder / "out" / "release").check())


@pytest.mark.parametrize(
    ("method", "require", "told"),
    [
        (sf.Mask(), [sf.MConfidentiality(m=2)], "all values of 's' are sensitive"),
        (sf.MaskPlus(), [sf.KAnonymity(k=2)], "exactly one m-confidentiality"),
        (sf.MaskPlus(), [sf.MConfidentiality(m=2), sf.LDiversity(l=2)], "exactly one m-confidentiality"),
        (sf.MaskPlusPlus(k=6), [sf.MConfidentiality(m=2), sf.KAnonymity(k=4)], "must be at most m = 2"),
        (sf.MaskPlus(k=2), [sf.MConfidentiality(m=4)], "cannot hide 1 in m = 4"),
        (sf.Mondrian(), [sf.MConfidentiality(m=2)], "l-diversity"),
        (sf.MaskPlus(), [sf.MConfidentiality(m=2, values=["z"])], "no value 'z'"),
        (sf.MaskPlus(), [sf.MConfidentiality(m=2, values=list("abc"))], "leave `values` out"),
    ],
)
def test_what_cannot_be_served(method: sf.Mask, require: list[sf.KAnonymity], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        sf.publish(table_of(list("abcabcab")), require=require, method=method)


def test_too_small_a_domain_and_no_good_group() -> None:
    with pytest.raises(Infeasible, match="3 different values are too few for m = 3"):
        sf.publish(table_of(list("abcabcabc")), require=sf.MConfidentiality(m=3), method=sf.MaskPlus(k=9))
    with pytest.raises(Infeasible, match="no group has a share that the others could adopt"):
        sf.publish(table_of(list("aaab")), require=sf.MConfidentiality(m=2, values=["a"]), method=sf.Mask(k=4))
    with pytest.raises(Infeasible, match="cannot be 99-anonymous"):
        sf.publish(table_of(list("abca")), require=sf.MConfidentiality(m=2), method=sf.MaskPlus(k=99))


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.MConfidentiality(m=2, values=[]),
        lambda: sf.MConfidentiality(m=0),
        lambda: sf.MConfidentiality(m=2.5),
        lambda: sf.Mask(k=0),
        lambda: sf.Mask(k=True),
        lambda: sf.Mask(front="peano"),
    ],
)
def test_wrong_parameters(make: object) -> None:
    with pytest.raises(PolicyError):
        make()  # type: ignore[operator]


def test_groups_of_m_rows_need_so_many_rows() -> None:
    with pytest.raises(Infeasible, match="lower m = 5, and k with it, to 4 or less"):
        sf.publish(table_of(list("abcd")), require=sf.MConfidentiality(m=5), method="mask+")


@pytest.mark.parametrize("values", [[1], 1, {"a"}])
def test_sensitive_values_are_texts(values: object) -> None:
    with pytest.raises(PolicyError, match="name them as strings"):
        sf.MConfidentiality(m=2, values=values)  # type: ignore[arg-type]


def test_a_partition_needs_quasi_identifiers() -> None:
    table = read(pl.DataFrame({"s": ["a", "b"]}), sensitive="s")
    for method in ("hilb", "mask+", "mondrian+"):
        with pytest.raises(PolicyError, match="needs a quasi-identifier, but none is declared"):
            sf.partition(table, require=sf.LDiversity(l=2), method=method)


def test_the_m_that_is_advised_fits_all_groups() -> None:
    """Groups of 6 and 7 rows, four values: 6 rows allow m = 3, 7 rows only 2."""
    table = table_of([*"abcdab", *"abcdabc"], [0] * 6 + [1] * 7)
    with pytest.raises(Infeasible, match="lower m to 2 or less"):
        sf.publish(table, require=sf.MConfidentiality(m=4), method=sf.MaskPlus(k=6))
    sf.publish(table, require=sf.MConfidentiality(m=2), method=sf.MaskPlus(k=6)).check()
