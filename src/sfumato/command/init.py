"""`sfumato init`: look at a table and propose a policy."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.command.options import NamedPath, common_options
from sfumato.command.printing import print_json, printable
from sfumato.command.streams import printing_result
from sfumato.errors import DataError, OutputError

if TYPE_CHECKING:
    from sfumato.publisher.propose import Proposal


@click.command()
@click.argument("data")
@click.option("-o", "--out", type=NamedPath(), help="Write the policy to this file instead of printing it.")
@click.option("--query", help="The SELECT statement to run if DATA is a database URL.")
@click.option("--force", is_flag=True, help="Overwrite an existing policy file.")
@common_options
def init(data: str, out: Path | None, query: str | None, force: bool, as_json: bool) -> None:
    """Inspect the table DATA and propose a policy, with reasons.

    DATA is a csv, parquet or Excel file, or the URL of a database.
    """
    if not data:
        raise DataError("the name of the table is empty; name a file, or a database by its URL")
    if out is not None:
        _refuse_output(out, force)
    from sfumato.publisher.inspection import inspect

    proposal = inspect(data, query=query, seen_from=out.parent if out is not None else None).proposal
    if out is not None:
        _write_text(out, proposal.to_toml())
    with printing_result(f"{out} was written completely" if out else ""):
        _print(proposal, out, as_json)


def _refuse_output(out: Path, force: bool) -> None:
    """Refuse a policy file that exists, is a folder, or would be handed over with a release."""
    from sfumato.release.files.recognize import public_part_around

    if out.is_dir():
        raise OutputError(f"{out} is a folder; name a file, such as {out / 'policy.toml'}")
    if os.path.lexists(out) and not force:
        raise OutputError(f"{out} already exists; choose another file, or overwrite it with --force")
    if (public := public_part_around(out)) is not None:
        raise OutputError(
            f"{out} is inside the public part of a release ({public}), so its recipients would receive the policy too; "
            "choose a file outside it"
        )


def _print(proposal: "Proposal", out: Path | None, as_json: bool) -> None:
    if as_json:
        print_json(proposal.to_dict() | ({"policy": str(out)} if out else {}))
    elif out is None:
        click.echo(proposal.to_toml(), nl=False)
    else:
        for warning in proposal.warnings:
            click.echo(f"note: {printable(warning)}", err=True)
        click.echo(f"Wrote {out}. Read every line, then run: sfumato publish {out}")


def _write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    from sfumato.release.files.output import whole_file

    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")
