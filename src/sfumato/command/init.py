"""`sfumato init`: look at a table and propose a policy."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.command.options import common_options, output_path
from sfumato.command.printing import print_json, printable
from sfumato.errors import OutputError

if TYPE_CHECKING:
    from sfumato.publisher.propose import Proposal


@click.command()
@click.argument("data")
@click.option("-o", "--out", type=output_path, help="Write the policy there instead of printing it.")
@click.option("--query", help="The SELECT to read, where DATA is a database URL.")
@click.option("--force", is_flag=True, help="Overwrite an existing policy file.")
@common_options
def init(data: str, out: Path | None, query: str | None, force: bool, as_json: bool) -> None:
    """Look at the table DATA and propose a policy, with reasons."""
    if out is not None and os.path.lexists(out) and not force:
        raise OutputError(f"{out} exists; name another file, or overwrite it with --force")
    proposal = _proposal(data, query, out)
    if out is not None:
        _write_text(out, proposal.to_toml())
    if as_json:
        print_json(proposal.to_dict() | ({"policy": str(out)} if out else {}))
    elif out is None:
        click.echo(proposal.to_toml(), nl=False)
    else:
        for warning in proposal.warnings:
            click.echo(f"note: {printable(warning)}", err=True)
        click.echo(f"Wrote {out}. Read every line, then run: sfumato publish {out}")


def _proposal(data: str, query: str | None, out: Path | None) -> "Proposal":
    """The policy to propose, with a note on passwords that it leaves out."""
    from sfumato.publisher.propose import propose
    from sfumato.table.address import expanded
    from sfumato.table.source import read_frame

    source, variables = _as_seen_from(data, out)
    proposal = propose(read_frame(expanded(data), query=query), source, query=query)
    if not variables:
        return proposal
    note = f"the policy holds no password: set {' and '.join(variables)} in the environment before you publish."
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


def _write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    from sfumato.release.files.output import whole_file

    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")
