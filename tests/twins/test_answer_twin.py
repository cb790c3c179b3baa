"""Bounds against the private table, and answers by groups against single counts, for every scheme."""

import datetime as dt
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from buckets import in_buckets
from strategies import Row, Sample, examples, samples

Met = Callable[[Row], bool]
OPS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def mondrian(table: sf.Microdata, k: int) -> sf.Release:
    return sf.publish(table, require=sf.KAnonymity(k=k), method="mondrian")


def incognito(table: sf.Microdata, k: int) -> sf.Release:
    return sf.publish(table, require=sf.KAnonymity(k=k), method=sf.Incognito(suppression=0.4))


def topdown(table: sf.Microdata, k: int) -> sf.Release:
    return sf.publish(table, require=sf.KAnonymity(k=k), method=sf.TopDown(score="distortion"))


def sample_of(boxes: str) -> Callable[[sf.Microdata, int], sf.Release]:
    def made(table: sf.Microdata, k: int) -> sf.Release:
        return sf.publish(table, require=sf.KAnonymity(k=k), method=sf.PG(p=0.5, k=k, boxes=boxes))  # type: ignore[arg-type]

    return made


def randomized(table: sf.Microdata, k: int) -> sf.Release:
    keep = {c.name: 0.9 for c in table.sensitive if c.size > 1} | {c.name: 0.8 for c in table.quasi[:1] if c.size > 1}
    method = sf.RandomizedResponse(keep=keep, unchanged="allow")
    return sf.publish(table, require=sf.Disclosure(tau=1.0), method=method)


MADE = [mondrian, incognito, topdown, in_buckets, sample_of("closed"), sample_of("tight"), randomized]


def condition(rng: Random, sample: Sample, depth: int = 2) -> tuple[str, Met]:
    """A random condition as text, and as a test of a row of the private table."""
    if depth and rng.random() < 0.6:
        word = rng.choice(["and", "or", "not"])
        left, met = condition(rng, sample, depth - 1)
        if word == "not":
            return f"not ({left})", lambda row: not met(row)
        right, other = condition(rng, sample, depth - 1)
        if word == "and":
            return f"({left}) and ({right})", lambda row: met(row) and other(row)
        return f"({left}) or ({right})", lambda row: met(row) or other(row)
    return comparison(rng, sample)


def comparison(rng: Random, sample: Sample) -> tuple[str, Met]:
    name = rng.choice([*sample.quasi, "ill"])
    value = rng.choice(sample.facts.rows)[name]
    order = sample.options["domains"].get(name)
    measured = isinstance(value, int | float | dt.date)
    op = rng.choice(list(OPS) if measured or order else ["=", "!="])
    if value is None:
        op = rng.choice(["=", "!="])
    if isinstance(value, int | float) and rng.random() < 0.3:
        value += rng.choice([0.5, -0.25, 1, 7])
    text = "'(missing)'" if value is None else repr(value) if isinstance(value, int | float) else f"'{value}'"

    def met(row: Row) -> bool:
        a, b = (order.index(row[name]), order.index(value)) if order else (row[name], value)
        if (a is None or b is None) and op not in ("=", "!="):
            return False
        return OPS[op](a, b)

    return f"{name} {op} {text}", met


def named(value: object) -> str:
    """A value as an answer names it."""
    return "(missing)" if value is None else str(value)


def falls(value: object, shown: str, listed: pl.Series) -> bool:
    """Whether a value is in a group of an answer: everything is suppressed, or the value is (not) listed."""
    if shown == "(not listed)":
        return named(value) not in listed.to_list()
    return shown in ("*", named(value))


def refused(wrong: sf.SfumatoError) -> bool:
    """What an analyst may be told instead of an answer."""
    known = ("has no value", "without an order", "and this is not one", "both grouped by and in a condition")
    return any(words in str(wrong) for words in known)


@pytest.mark.parametrize("made", MADE, ids=lambda f: getattr(f, "__qualname__", "").split(".")[0])
@given(samples(most=40), st.integers(1, 12), st.randoms(use_true_random=True))
@examples(25)
def test_the_truth_is_within_the_bounds(made: Any, sample: Sample, k: int, rng: Random) -> None:
    table = sample.read()
    try:
        release = made(table, min(k, table.rows))
    except (sf.PolicyError, sf.Infeasible):
        return
    analyst = sf.Analyst(release)
    assert analyst.count().bounds == (table.rows, table.rows)
    for _ in range(6):
        where, met = condition(rng, sample)
        try:
            answer = analyst.count(where)
        except sf.PolicyError as wrong:
            if not refused(wrong):
                raise
            continue
        truth = sum(met(row) for row in sample.facts.rows)
        least, greatest = answer.bounds
        assert least <= truth <= greatest, where
        assert least <= answer.interval[0] <= answer.interval[1] <= greatest
        assert least < greatest or (answer.standard_error == 0 and answer.estimate == pytest.approx(truth))
        assert least < greatest or answer.interval == answer.bounds
        assert answer.standard_error >= 0
        assert answer.assumption


@pytest.mark.parametrize("made", MADE, ids=lambda f: getattr(f, "__qualname__", "").split(".")[0])
@given(
    samples(most=30, kinds=["tree", "flat", "ordinal", "number"], columns=2),
    st.integers(1, 6),
    st.randoms(use_true_random=True),
)
@examples(12)
def test_groups_answer_as_single_counts_do(made: Any, sample: Sample, k: int, rng: Random) -> None:
    table = sample.read()
    try:
        release = made(table, min(k, table.rows))
    except (sf.PolicyError, sf.Infeasible):
        return
    analyst = sf.Analyst(release)
    where, met = condition(rng, sample, depth=1)
    by = rng.sample([*sample.quasi, "ill"], 2)
    try:
        found = analyst.group_by(by, where)
    except sf.PolicyError as wrong:
        if not refused(wrong) and "cells" not in str(wrong):
            raise
        return
    chosen = found.sample(min(found.height, 5), seed=1)
    for row in chosen.iter_rows(named=True):
        if any("." in row[n] or "-" in row[n] or row[n].lstrip("-").isdigit() for n in by):
            continue  # a range of numbers, named by its start
        parts = [f"{n} = '{row[n]}'" for n in by]
        try:
            alone = analyst.count(" and ".join([*parts, f"({where})"]))
        except sf.PolicyError as wrong:  # everything is suppressed: the label is all there is to group by
            if not refused(wrong):
                raise
            continue
        assert row["count"] == pytest.approx(alone.estimate, abs=1e-6)
        assert (row["least"], row["greatest"]) == alone.bounds
        truth = sum(met(r) and all(falls(r[n], row[n], found[n]) for n in by) for r in sample.facts.rows)
        assert row["least"] <= truth <= row["greatest"]
        assert row["least"] <= row["low"] <= row["high"] <= row["greatest"]


def test_two_sensitive_columns_are_read_together() -> None:
    """A group lists combinations: what is certain of a pair is not lost in the two columns apart."""
    frame = pl.DataFrame({"q": ["a"] * 4, "s": ["x", "x", "y", "y"], "t": ["u", "u", "v", "v"]})
    table = sf.read(frame, quasi=["q"], sensitive=["s", "t"])
    analyst = sf.Analyst(in_buckets(table, 4))
    assert analyst.count("s = 'x' and t = 'v'").bounds == (0, 0)
    assert analyst.count("s = 'x' and t = 'u'").bounds == (2, 2)
    assert analyst.group_by(["s", "t"])["count"].to_list() == [2, 0, 0, 2]


def test_a_box_that_reaches_beyond_its_label_is_allowed_for() -> None:
    """Open ends: nobody says how far they reach, so any number beyond is possible and none is certain."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": rng.integers(18, 80, 90), "ill": rng.choice(["a", "b"], 90)})
    table = sf.read(frame, quasi=["age"], sensitive="ill", domains={"ill": ["a", "b"]})
    analyst = sf.Analyst(sf.publish(table, require=sf.KAnonymity(k=20), method=sf.PG(k=20, p=0.5)))
    far = analyst.count("age >= 500")
    assert far.bounds[0] == 0
    assert far.bounds[1] >= 20
    assert far.estimate == 0
