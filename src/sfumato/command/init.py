"""`sfumato init`: look at a table and propose a policy."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.command.options import NamedPath, common_options
from sfumato.command.output_file import refuse_output, write_text
from sfumato.command.printing import print_json, printable
from sfumato.command.progress import progress_bar
from sfumato.command.streams import printing_result
from sfumato.errors import DataError

if TYPE_CHECKING:
    from sfumato.publisher.proposal import Proposal


@click.command()
@click.argument("data")
@click.option("-o", "--out", type=NamedPath(), help="Write the policy to this file instead of printing it.")
@click.option("--query", help="The SELECT statement to run if DATA is a database URL.")
@click.option("--force", is_flag=True, help="Overwrite an existing policy file.")
@click.option("--trial/--no-trial", default=True, help="Try the proposal on the table before proposing it (default).")
@common_options
def init(data: str, out: Path | None, query: str | None, force: bool, trial: bool, as_json: bool) -> None:
    """Inspect the table DATA and propose a policy, with reasons.

    DATA is a file (csv, parquet, Excel, SPSS, Stata, SAS), a folder or a pattern of csv or parquet files, or the URL of
    a database.
    """
    if not data:
        raise DataError("the name of the table is empty; name a file, or a database by its URL")
    if out is not None:
        refuse_output(out, force=force, example="policy.toml")
    proposal = _proposal(data, query, out, trial=trial)
    if out is not None:
        write_text(out, proposal.to_toml())
    with printing_result(f"{out} was written completely" if out else ""):
        _print(proposal, out, as_json)


def _print(proposal: "Proposal", out: Path | None, as_json: bool) -> None:
    if as_json:
        print_json(proposal.to_dict() | ({"policy": str(out)} if out else {}))
    elif out is None:
        click.echo(proposal.to_toml(), nl=False)
    else:
        for warning in proposal.warnings:
            click.echo(f"note: {printable(warning)}", err=True)
        if proposal.trial is not None:
            click.echo(printable(proposal.trial.words()))
        click.echo(f"Wrote {out}. Read every line, then run: sfumato publish {out}")


def _proposal(data: str, query: str | None, out: Path | None, *, trial: bool) -> "Proposal":
    """The proposed policy, tried on the table, with a note on the passwords that it leaves out."""
    from sfumato.command.looking import look_at
    from sfumato.publisher.propose import propose

    source, variables = _as_seen_from(data, out)
    seen = look_at(data, query)
    proposal = propose(seen.frame, source, query=query, form=seen.form, labels=seen.labels)
    if trial:
        from sfumato.publisher.proposal_trial import tried

        with progress_bar() as progress:
            proposal = tried(proposal, seen.frame, progress)
    if not variables:
        return proposal
    note = f"the policy contains no passwords: set {' and '.join(variables)} in the environment before you publish."
    return replace(proposal, warnings=(*proposal.warnings, note))


def _as_seen_from(data: str, policy: Path | None) -> tuple[str, list[str]]:
    """The source as the policy should name it: relative to its folder, or with variables in place of passwords."""
    from sfumato.table.address import Address, begins_with_variable

    folder = policy.parent if policy is not None else Path()
    address = Address.of(data)
    if address is not None:
        public, variables = address.seen_from(folder).without_secrets()
        return str(public), variables
    return data if begins_with_variable(data) else os.path.relpath(data or ".", folder), []
