"""`sfumato studio`: see, decide and publish in a browser, on this machine."""

import click

from sfumato.command.options import common_options
from sfumato.command.printing import print_json
from sfumato.command.streams import flush_output


@click.command()
@click.argument("data", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to listen on. Default: any free port.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser; open the printed address yourself.")
@common_options
def studio(data: str | None, port: int, no_browser: bool, as_json: bool) -> None:
    """Open a local web page to make a release step by step.

    DATA is a table or a policy to begin with: a file, or the URL of a database. The page is reachable from this machine
    only, by the printed address, which contains a token. End it with Ctrl-C.
    """
    from sfumato.studio.server import serve

    def ready(url: str) -> None:
        if as_json:
            print_json({"url": url})
        else:
            click.echo(url)
        flush_output()

    serve(data, port=port, browser=not no_browser, ready=ready)
