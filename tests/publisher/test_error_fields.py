"""Errors of a policy name the part that is wrong, so that a form can show them where they belong."""

from pathlib import Path

import pytest

from sfumato.errors import SfumatoError
from sfumato.publisher.policy import parse_policy

GOOD = """
title = "Ward"
[data]
source = "ward.csv"
[attributes]
age = { role = "quasi" }
"zip code" = { role = "quasi" }
ill = { role = "sensitive" }
[[require]]
model = "k-anonymity"
k = 5
[[require]]
model = "t-closeness"
t = 0.3
[method]
name = "mondrian"
[output]
spreadsheet = "plain"
"""


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('source = "ward.csv"', "source = 5", "data.source"),
        ('source = "ward.csv"', 'sorce = "ward.csv"', "data.sorce"),
        ('source = "ward.csv"', 'source = "a"\nmissing = "none"', "data.missing"),
        ('source = "ward.csv"', 'source = "a"\nothers = 3', "data.others"),
        ('age = { role = "quasi" }', 'age = { role = "qu" }', "attributes.age.role"),
        ('age = { role = "quasi" }', "age = 5", "attributes.age"),
        ('age = { role = "quasi" }', 'age = { role = "quasi", kind = "odd" }', "attributes.age.kind"),
        (
            '"zip code" = { role = "quasi" }',
            '"zip code" = { role = "quasi", taxonomy = 3 }',
            "attributes.zip code.taxonomy",
        ),
        ("k = 5", "k = 0", "require.1.k"),
        ("k = 5", "", "require.1.k"),
        ("k = 5", "k = 5\nl = 3", "require.1.l"),
        ("t = 0.3", "t = 7", "require.2.t"),
        ('model = "t-closeness"', 'model = "closeness"', "require.2.model"),
        ('name = "mondrian"', 'name = "mondrain"', "method.name"),
        ('name = "mondrian"', 'name = "mondrian"\nstrct = true', "method.strct"),
        ('spreadsheet = "plain"', 'spreadsheet = "no"', "output.spreadsheet"),
        ('title = "Ward"', 'titel = "Ward"', "titel"),
    ],
)
def test_an_error_names_its_field(old: str, new: str, field: str) -> None:
    assert parse_policy(GOOD, folder=Path()).title == "Ward"
    with pytest.raises(SfumatoError) as told:
        parse_policy(GOOD.replace(old, new), folder=Path())
    assert told.value.field == field
