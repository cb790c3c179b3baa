"""`sfumato integrate`: one of two publishers who make one release."""

from pathlib import Path

import click

from sfumato.command.options import NamedPath, common_options
from sfumato.command.printing import print_json, printable
from sfumato.command.progress import progress_bar
from sfumato.command.publish import as_dict, print_published
from sfumato.command.streams import printing_result


@click.command()
@click.argument("policy", type=NamedPath(), required=False)
@click.option("--listen", metavar="HOST:PORT", help="Wait for the other publisher at this address.")
@click.option("--connect", metavar="HOST:PORT", help="Connect to the other publisher, who listens at this address.")
@click.option("-o", "--out", type=NamedPath(), default=Path("out"), show_default=True, help="Folder to write.")
@click.option("--force", is_flag=True, help="Replace an OUT that sfumato wrote earlier.")
@click.option(
    "--on-abort",
    type=click.Choice(["keep", "discard"]),
    default="keep",
    show_default=True,
    help="If the other side fails or Ctrl-C is pressed: keep the table of the last common refinement, or discard it.",
)
@click.option(
    "--silence", type=click.FloatRange(1, 86400), default=60.0, show_default=True, help="Seconds to wait for an answer."
)
@click.option(
    "--wait",
    type=click.FloatRange(1, 86400),
    default=600.0,
    show_default=True,
    help="Seconds to wait for the other side to appear.",
)
@click.option(
    "--make-certificates",
    type=NamedPath(),
    metavar="DIR",
    help="Make a small certificate authority and two certificates in DIR for a first try, and do nothing else.",
)
@common_options
def integrate(
    policy: Path | None,
    listen: str | None,
    connect: str | None,
    out: Path,
    force: bool,
    on_abort: str,
    silence: float,
    wait: float,
    make_certificates: Path | None,
    as_json: bool,
) -> None:
    """Make one release of two publishers' tables.

    POLICY is this side's own policy, with an [integrate] table. One side listens and the other connects; both end up
    with the same release and their own report.
    """
    if make_certificates is not None:
        _make_certificates(make_certificates, as_json)
        return
    if policy is None:
        raise click.UsageError("Missing argument 'POLICY'; or make certificates with --make-certificates DIR.")
    if (listen is None) == (connect is None):
        raise click.UsageError(
            "Give one of --listen HOST:PORT and --connect HOST:PORT; the other side gives the other."
        )
    _integrate(policy, listen, connect, out, force, on_abort == "keep", (silence, wait), as_json)


def _integrate(
    policy: Path,
    listens: str | None,
    connects: str | None,
    out: Path,
    force: bool,
    keep: bool,
    times: tuple[float, float],
    as_json: bool,
) -> None:
    from sfumato.integration.channel import TimeLimits
    from sfumato.integration.connection import HostPort
    from sfumato.publisher.integrate import Meeting, integrate_policy

    meeting = Meeting(
        address=HostPort.parse(listens or connects or ""),
        listens=listens is not None,
        limits=TimeLimits(silence=times[0], waiting=times[1]),
        told=lambda words: click.echo(printable(words), err=True),
    )
    try:
        with progress_bar() as progress:
            result = integrate_policy(policy, out, meeting=meeting, force=force, keep=keep, progress=progress)
    except KeyboardInterrupt as stopped:
        raise click.exceptions.Abort(f"stopped. {stopped}" if str(stopped) else "") from None
    folder = result.folder
    with printing_result(f"{folder} was written completely: hand over {folder / 'release'}, keep {folder / 'private'}"):
        if as_json:
            print_json({**as_dict(result), "seeded": False})
        else:
            print_published(result)


def _make_certificates(folder: Path, as_json: bool) -> None:
    from sfumato.integration.certificates import make_certificates

    made = make_certificates(folder)
    with printing_result(f"the certificates in {folder} were written completely"):
        if as_json:
            print_json({"files": [str(file) for file in made]})
            return
        for file in made:
            click.echo(str(file))
        click.echo("Party A needs a.pem, a.key and ca.pem; party B needs b.pem, b.key and ca.pem.")
