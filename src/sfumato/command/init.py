"""`sfumato init`: look at a table and propose a policy."""

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
    from sfumato.publisher.inspection import inspect

    with progress_bar() as progress:
        folder = out.parent if out is not None else None
        proposal = inspect(data, query=query, seen_from=folder, trial=trial, progress=progress).proposal
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
