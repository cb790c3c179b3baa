"""Sentences of a manifest that another version of sfumato wrote: what this version would say instead.

Figures and structure are verified whichever version wrote them. Sentences can only be compared with those of this
version, so where another one's differ they are neither verified nor broken: they are `stated`, together with ours. A
forger can name another version, too; what such a manifest leaves out is therefore said here.
"""

from typing import TYPE_CHECKING

from sfumato.release.check.claims import claimed
from sfumato.release.check.finding import Finding
from sfumato.release.check.made import missing_warnings
from sfumato.requirement.local_privacy import statement

if TYPE_CHECKING:
    from sfumato.release.release import Release


def reworded(release: "Release") -> list[Finding]:
    """One finding for each sentence that differs from ours, and for each warning of ours that is missing.

    For a release of which everything else was found to be in order; nothing for one that this version wrote.
    """
    by = release.description.other_version
    if by is None:
        return []
    found = [_sentence(words, ours, by) for words, ours in _sentences(release) if words != ours]
    return found + [_warning(text, by) for text in missing_warnings(release)]


def _sentences(release: "Release") -> list[tuple[str, str]]:
    """The sentences of the manifest that follow from figures, each with that of this version."""
    manifest = release.description
    found = [(claim.words, claimed(claim).words()) for claim in manifest.requirements]
    if manifest.randomized:
        told = manifest.epsilon
        ours = statement(manifest, told["guarantee"], told.get("fit"))  # type: ignore[arg-type]
        found.append((told["words"], ours["words"]))
    return found


def _sentence(words: str, ours: str, by: str) -> Finding:
    return Finding(
        f"the manifest says {words!r}",
        "stated",
        f"this is the wording of sfumato {by} and was not verified; for the same figures this version says {ours!r}",
    )


def _warning(text: str, by: str) -> Finding:
    return Finding(
        "a warning that this version gives is missing or worded differently",
        "stated",
        f"the release was written by sfumato {by}; the warning: {text}",
    )
