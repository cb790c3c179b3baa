"""The entry point of the command line: the group of commands, each in a file of `sfumato.command`, and `main`."""

import atexit
import os
import sys
from contextlib import suppress

import click

from sfumato import __version__
from sfumato.command.audit import audit
from sfumato.command.catalogues import methods, models
from sfumato.command.check import check
from sfumato.command.compare import compare
from sfumato.command.exit_codes import errors_to_exit_codes
from sfumato.command.import_project import import_project
from sfumato.command.init import init
from sfumato.command.integrate import integrate
from sfumato.command.plan import plan
from sfumato.command.publish import demo, publish
from sfumato.command.query import query
from sfumato.command.streams import fill_closed_streams, flush_output, prepare_streams
from sfumato.command.studio import studio
from sfumato.command.taxonomy import taxonomy
from sfumato.publisher.termination import exit_on_termination

START = """Three commands to start with:

  sfumato demo                             publish the bundled example and look at its report
  sfumato init TABLE.csv -o policy.toml    look at your table and propose a policy, with reasons
  sfumato publish policy.toml -o out       make the release and its report

`sfumato --help` lists all commands, `sfumato COMMAND --help` explains one."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="sfumato")
@click.pass_context
def cli(context: click.Context) -> None:
    """Publish microdata that researchers can use and adversaries cannot.

    Start with `sfumato demo`, or with `sfumato init YOUR.csv -o policy.toml` for your own table.
    """
    if context.invoked_subcommand is None:
        click.echo(START)


COMMANDS = (
    *(init, studio, taxonomy, import_project, publish, check, audit, query),
    *(compare, integrate, plan, methods, models, demo),
)
for command in COMMANDS:
    cli.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run a command; every error becomes one paragraph on stderr and an exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more would spin, for nothing, when NumPy is imported
    sys.setswitchinterval(0.0005)  # of 5 ms: threads that hand blocks over would wait as long for each
    exit_on_termination()
    fill_closed_streams()
    prepare_streams()
    with errors_to_exit_codes(debug="--debug" in given):
        code = cli.main(given, prog_name="sfumato", standalone_mode=False)
        flush_output()
    status = code if isinstance(code, int) else 0
    if arguments is None:
        _end_process(status)
    sys.exit(status)


def _end_process(status: int) -> None:
    """End at once. Python would first take apart everything in memory, which takes 50 ms after a million rows."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)
