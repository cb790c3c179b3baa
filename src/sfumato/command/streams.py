"""Standard streams that are closed, full or cannot show a character, and the library's warnings on stderr."""

import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from sfumato.command.printing import one_paragraph
from sfumato.errors import OutputError, os_words


def fill_closed_streams() -> None:
    """Open /dev/null for each stream that was closed before we started, or a file we write would take its number."""
    with suppress(OSError):
        while (file := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(file, True)
        os.close(file)


def prepare_streams() -> None:
    """Print characters that the encoding lacks as escapes, and the library's warnings like our own."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    log = logging.getLogger("sfumato")
    if not log.handlers:
        log.addHandler(_WarningHandler())


class _WarningHandler(logging.Handler):
    """Prints the library's warnings to what is stderr at that time."""

    def emit(self, record: logging.LogRecord) -> None:
        print_error(f"warning: {one_paragraph(record.getMessage())}")


def print_error(text: str) -> None:
    """Print to stderr, or not at all if it cannot be written to."""
    with suppress(OSError):
        click.echo(text, err=True)


@contextmanager
def printing_result(written: str = "") -> Iterator[None]:
    """Print the result of a command; if that fails, the error says what was ``written`` to files before."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as e:
        discard_output()
        raise OutputError(f"cannot print the result: {os_words(e)}{written and f'. {written}'}") from e
    except KeyboardInterrupt:
        raise click.exceptions.Abort(f"stopped while printing. {written}" if written else "") from None


def flush_output() -> None:
    """Write out what was printed while an error can still be reported."""
    if sys.stdout is not None:
        sys.stdout.flush()


def discard_output() -> None:
    """Send what is still to be printed to /dev/null, or Python would fail on it again as it exits."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
