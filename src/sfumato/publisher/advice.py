"""What a steward should know about a release that must not stand in its public part."""

from sfumato.publisher.lone_ends import lone_ends
from sfumato.release.release import Release
from sfumato.table.microdata import Microdata


def advice(table: Microdata, release: Release) -> list[str]:
    """Warnings for the steward alone: they may tell about the private table."""
    return lone_ends(table, release)
