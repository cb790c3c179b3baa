"""`sfumato check`: verify what a release claims."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.command.options import NamedPath, common_options
from sfumato.command.printing import print_json, printable
from sfumato.command.progress import compile_note
from sfumato.command.streams import printing_result
from sfumato.errors import ReleaseError

if TYPE_CHECKING:
    from sfumato.release.check.finding import Finding


@click.command()
@click.argument("release", type=NamedPath())
@click.option(
    "--after",
    type=NamedPath(),
    multiple=True,
    help="An earlier release that RELEASE was published after, to verify claims about their join; repeat for each.",
)
@click.option(
    "--digests",
    is_flag=True,
    help="Also compute the SHA-256 of csv files above 256 MiB. Without it every byte of them is compared with the "
    "parquet file instead, and the SHA-256 is reported as stated.",
)
@common_options
def check(release: Path, after: tuple[Path, ...], digests: bool, as_json: bool) -> None:
    """Verify what RELEASE claims, from the public part alone.

    RELEASE is the folder OUT/release; its manifest states the claims.
    """
    from sfumato.release.release import load

    with compile_note():
        found = load(release)
        findings = found.findings(after, digests=digests)
    broken = [f for f in findings if f.status == "broken"]
    findings += [] if broken else found.stated()
    number = {status: sum(f.status == status for f in findings) for status in ("holds", "broken", "stated")}
    with printing_result():
        if as_json:
            print_json({"holds": not broken, "summary": number, "claims": [f.as_dict() for f in findings]})
        else:
            _print(findings, number, joined=bool(found.description.after) and not after)
    if broken:
        do, them = ("does", "it") if len(broken) == 1 else ("do", "them")
        raise ReleaseError(
            f"{len(broken)} of {len(findings)} claims {do} not hold, and claims that could depend on {them} were not "
            "checked; do not rely on this release: ask its publisher for an intact copy, or publish again"
        )


def _print(findings: "list[Finding]", number: dict[str, int], *, joined: bool) -> None:
    from sfumato.release.check.digests import needs_digests

    for f in findings:
        click.echo(f"{f.status:7} {printable(f'{f.claim} ({f.detail})')}")
    told = f"Claims: {number['holds']} verified, {number['broken']} broken, {number['stated']} stated"
    needs = ["about a join need --after"] * joined + ["about a SHA-256 need --digests"] * needs_digests(findings)
    trust = "; stated ones cannot be verified from the public part: trust the publisher, or ask for proof"
    if needs:
        trust = f"; stated ones {', those '.join(needs)}; for the others trust the publisher, or ask for proof"
    click.echo(f"{told}{trust if number['stated'] else ''}.")
