"""What a check says about the digests of csv files that it did not compute."""

from collections.abc import Iterable

from sfumato.release.check.finding import Finding

_CLAIM = " has the SHA-256 that the manifest states"
_WHY = (
    "not computed: the file is larger than 256 MiB, and every byte of it was compared with the parquet table "
    "instead; to compute it too, check with --digests (from Python: digests=True)"
)


def not_summed(files: Iterable[str]) -> list[Finding]:
    """A finding for each csv file of which the bytes were compared and the SHA-256 was not computed."""
    return [Finding(file + _CLAIM, "stated", _WHY) for file in files]


def needs_digests(findings: Iterable[Finding]) -> bool:
    """Whether the SHA-256 of a file was not computed."""
    return any(finding.claim.endswith(_CLAIM) and finding.status == "stated" for finding in findings)
