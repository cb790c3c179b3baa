"""`sfumato check`: verify what a release claims."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.command.options import common_options, release_folder
from sfumato.command.printing import print_json, printable
from sfumato.command.progress import compile_note
from sfumato.errors import ReleaseError

if TYPE_CHECKING:
    from sfumato.release.check.finding import Finding


@click.command()
@click.argument("release", type=release_folder)
@common_options
def check(release: Path, as_json: bool) -> None:
    """Verify, from the public part alone, what the manifest of RELEASE claims."""
    from sfumato.release.release import load

    with compile_note():
        found = load(release)
        findings = found.findings()
    broken = [f for f in findings if f.status == "broken"]
    findings += [] if broken else found.stated()
    number = {status: sum(f.status == status for f in findings) for status in ("holds", "broken", "stated")}
    if as_json:
        print_json({"holds": not broken, "summary": number, "claims": [f.as_dict() for f in findings]})
    else:
        _print(findings, number)
    if broken:
        click.echo(
            f"error: {len(broken)} of {len(findings)} claims do not hold; what rests on them was not judged", err=True
        )
        sys.exit(ReleaseError.exit_code)


def _print(findings: "list[Finding]", number: dict[str, int]) -> None:
    for f in findings:
        click.echo(f"{f.status:7} {printable(f'{f.claim} ({f.detail})')}")
    told = f"{number['holds']} claims verified, {number['broken']} broken, {number['stated']} stated"
    click.echo(f"{told} (not verifiable from the public part; take the publisher's word or ask for proof).")
