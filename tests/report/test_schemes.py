"""What the report says of each scheme: risk and loss by what is really shown."""

import polars as pl

from report_page import Page
from sfumato.method.anatomy import Anatomy
from sfumato.method.mondrian import Mondrian
from sfumato.method.pg import PG
from sfumato.release.release import Release
from sfumato.report.report import render_report
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.table.microdata import read


def test_a_bucketized_release_is_reported_by_what_it_shows() -> None:
    """Quasi-identifiers as they are, sensitive values apart, joined by group."""
    frame = pl.DataFrame({"n": [1, 2, 3, 4, 5, 5], "ill": ["a", "b", "a", "c", "a", "d"]})
    table = read(frame, quasi=["n"], sensitive="ill")
    release = Release(
        Anatomy().publish(table, [LDiversity(l=2)]).manifest,
        {
            "quasi": pl.DataFrame({"n": [4, 1, 3, 2, 5, 5], "group": [9, 5, 9, 5, 9, 5]}),
            "sensitive": pl.DataFrame({"group": [5, 5, 9, 9], "ill": ["a", "b", "a", "c"], "count": [2, 1, 1, 2]}),
        },
    )
    page = Page(render_report(release=release, table=table))
    assert "formed 2 groups; the smallest has 3 rows" in page.words
    assert "still finds the row (4 of 6 rows are unique, as before)" in page.words
    assert "Unique rows no other row has the same quasi-identifiers 4 (66.7%) 4 (66.7%)" in page.words
    assert "Classes distinct combinations of quasi-identifiers 5 5" in page.words
    assert "ill given away rows whose class or group shows a single value 4 (66.7%) 0 (0%)" in page.words
    assert "ill guessed, greatest share of the most frequent value of a class or group 100% 66.7%" in page.words
    assert "ill guessed, average rows for which the most frequent value is right 83.3% 66.7%" in page.words
    assert "Generalizing hides detail" not in page.words
    assert "a label hides" not in page.words
    assert "Quasi-identifiers are shown exactly, so nothing about them is lost." in page.words
    assert "ill 55.6% 38.9%" in page.words  # (4 + 1) / 3 rows of each group; (9 + 1 + 4) / 36 of the table as shown
    assert "n quasi, continuous unchanged" in page.words


def test_the_distribution_of_bucketized_values_counts_people() -> None:
    frame = pl.DataFrame({"n": range(60), "ill": ["a"] * 30 + ["b"] * 20 + ["c"] * 10})
    table = read(frame, quasi=["n"], sensitive="ill")
    release = Mondrian(scheme="bucketization").publish(table, [LDiversity(l=1.5)])
    assert release.tables["sensitive"]["count"].max() > 1
    assert "ill sensitive, categorical unchanged" in Page(render_report(release=release, table=table)).words


def test_a_sample_is_reported_by_the_people_behind_it() -> None:
    frame = pl.DataFrame({"n": range(40), "ill": ["a", "b"] * 20})
    table = read(frame, quasi=["n"], sensitive="ill", domains={"ill": ["a", "b"]})
    page = Page(render_report(release=PG(p=0.5, k=4).publish(table, [KAnonymity(k=4)]), table=table))
    assert "counts the people behind the groups, not the 8 published rows" in page.words
    assert "Unique rows no other row has the same quasi-identifiers 40 (100%) 0 (0%)" in page.words
    assert (
        "Prosecutor risk, greatest the adversary knows that a person is in the table; the worst row 100% 20%"
        in page.words
    )
    assert "ill given away" not in page.words  # values are perturbed: nothing is certain
