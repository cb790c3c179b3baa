"""Check README.html: it must be the page that the manifest produces, byte for byte."""

from typing import TYPE_CHECKING

from sfumato.errors import SfumatoError
from sfumato.release.check.finding import Finding, verdict
from sfumato.release.readme.page import README, readme

if TYPE_CHECKING:
    from sfumato.release.release import Release


def explained_to_readers(release: "Release") -> list[Finding]:
    """Whether README.html says what the manifest says, for a release that has one and is otherwise in order."""
    if release.page is None:
        return []
    claim, by = f"{README} says what the manifest says, and nothing else", release.description.other_version
    if by is not None:
        return [
            Finding(
                claim,
                "stated",
                f"the page was written by sfumato {by}, and this version cannot reproduce it; not verified",
            )
        ]
    return [verdict(claim, _difference(release), "it is the page that the manifest produces")]


def _difference(release: "Release") -> str | None:
    try:
        same = readme(release.description) == release.page
    except (SfumatoError, ArithmeticError, LookupError, TypeError, ValueError) as e:
        return f"the manifest does not produce a page: {e}"
    return None if same else "it was changed, or belongs to another release: remove it, or ask for an intact copy"
