"""`sfumato import`: an ARX project as a policy with its hierarchies and data."""

from pathlib import Path

import click

from sfumato.command.options import NamedPath, common_options
from sfumato.command.printing import print_json, printable
from sfumato.command.streams import printing_result


@click.command("import")
@click.argument("project", type=NamedPath())
@click.option("-o", "--out", type=NamedPath(), required=True, help="The folder to write.")
@common_options
def import_project(project: Path, out: Path, as_json: bool) -> None:
    """Turn an ARX project (.deid) into a policy and its files.

    Settings without a counterpart are listed, here and in the policy. Serialized Java objects are never read.
    """
    from sfumato.publisher.arx.project import POLICY
    from sfumato.publisher.arx.project import import_project as imported

    found = imported(project, out)
    with printing_result(f"{out} was written completely"):
        if as_json:
            print_json({"folder": str(out), "policy": found.content, "unmapped": found.unmapped})
            return
        for note in found.unmapped:
            click.echo(f"not mapped: {printable(note)}", err=True)
        click.echo(f"Wrote {out}: the policy, the table and {len(found.files) - 1} hierarchies.")
        click.echo(f"Read {out / POLICY}, then run: sfumato publish {out / POLICY}")
