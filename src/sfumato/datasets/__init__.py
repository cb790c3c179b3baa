"""Tables to try sfumato on: a bundled hospital, and public tables read from the folder ``SFUMATO_DATA``."""

from importlib.resources import files
from pathlib import Path

from sfumato.datasets.blowup import adult_million, blow_up
from sfumato.datasets.hospital import hospital
from sfumato.datasets.public import adult, adult_taxonomies, arx_hierarchy, census_income, crx, german
from sfumato.datasets.ward import ward

__all__ = [
    "adult",
    "adult_million",
    "adult_taxonomies",
    "arx_hierarchy",
    "blow_up",
    "census_income",
    "crx",
    "example_folder",
    "german",
    "hospital",
    "ward",
]


def example_folder() -> Path:
    """The folder of the bundled example: ``policy.toml``, ``discharges.csv`` and the taxonomies they name.

    >>> sorted(path.name for path in example_folder().iterdir())
    ['diagnosis.json', 'discharges.csv', 'job.json', 'policy.toml', 'zip.csv']
    """
    return Path(str(files("sfumato.datasets") / "example"))
