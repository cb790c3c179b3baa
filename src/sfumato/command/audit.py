"""`sfumato audit`: attack a release, given the truth."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.command.options import NamedPath, WholeNumber, common_options
from sfumato.command.printing import print_json, printable
from sfumato.command.progress import progress_bar
from sfumato.command.streams import printing_result

if TYPE_CHECKING:
    from sfumato.publisher.audit_output import Audited


@click.command()
@click.argument("out", metavar="OUT", type=NamedPath())
@click.option("--adversary", "adversaries", multiple=True, help="Only this adversary; repeat for several.")
@click.option("--after", type=NamedPath(), multiple=True, help="A release that was published before; repeat for each.")
@click.option("--policy", type=NamedPath(), help="The policy, if not the one that OUT/private keeps.")
@click.option("--budget", type=float, default=60.0, show_default=True, help="How many seconds it may take.")
@click.option("--sample", type=WholeNumber(min=1), help="How many people to attack where they are attacked one by one.")
@click.option(
    "--margin",
    type=float,
    default=0.1,
    show_default=True,
    help="By how much the adversary must be surer than before to count as having learned something.",
)
@click.option("--out", "kept", type=NamedPath(), help="Where to write the findings; default: OUT/private/audit.json.")
@click.option("--seed", type=WholeNumber(min=0), help="Make samples repeatable; for experiments.")
@common_options
def audit(
    out: Path, adversaries: tuple[str, ...], after: tuple[Path, ...], policy: Path | None, budget: float,
    sample: int | None, margin: float, kept: Path | None, seed: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Attack a release, given the private table.

    It shows who learns what, about how many people. OUT is the folder that `sfumato publish` wrote. Exit code 4: a
    claim of the release does not hold.
    """
    from sfumato.publisher.audit_output import audit_output, refuse_broken

    with progress_bar() as progress:
        found = audit_output(
            out, policy=policy, adversaries=adversaries, after=after, budget=budget, sample=sample, margin=margin,
            seed=seed, out=kept, progress=progress,
        )  # fmt: skip
    with printing_result(f"the findings are in {found.kept}"):
        if as_json:
            print_json({**found.audit.as_dict(), "notes": list(found.notes), "kept": str(found.kept)})
        else:
            _print(found)
    refuse_broken(found.audit)


def _print(found: "Audited") -> None:
    audit = found.audit
    for line in (*audit.lines(), *found.notes):
        click.echo(printable(line))
    holds = sum(claim.status == "holds" for claim in audit.claims)
    stated = sum(claim.status == "stated" for claim in audit.claims)
    found_by = "1 finding" if len(audit.findings) == 1 else f"{len(audit.findings)} findings"
    click.echo(
        f"{found_by} in {audit.seconds:.1f} s; claims: {holds} verified, {len(audit.broken)} broken, {stated} stated. "
        f"Private, with the people concerned: {printable(str(found.kept))}"
    )
