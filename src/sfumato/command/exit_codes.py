"""How a command that fails ends: one paragraph on stderr, and an exit code.

0 done; 1 unexpected (a bug); 2 bad usage, policy or data; 3 the requirement cannot be met on this data; 4 a check found
a broken claim; 130 interrupted; 141 the reader of our output is gone.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from sfumato.command.options import EVERYWHERE
from sfumato.command.printing import one_paragraph
from sfumato.command.streams import discard_output, print_error
from sfumato.errors import SfumatoError, os_words

BUG, USAGE, INTERRUPTED = 1, 2, 130
CLOSED_PIPE = 128 + 13
"""What a shell reports for a program that wrote to a closed pipe."""


_PANIC = "PanicException"
"""What Polars raises at values that it cannot work with; it is not an `Exception`."""


@contextmanager
def errors_to_exit_codes(*, debug: bool) -> Iterator[None]:
    """Turn every error into one paragraph on stderr and an exit code."""
    try:
        yield
    except click.exceptions.Abort as e:
        print_error(one_paragraph(str(e)) or "stopped; nothing was written")
        _forget_interrupt()
        sys.exit(INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as e:
        print_error(e.format_message())
        sys.exit(USAGE)
    except click.ClickException as e:
        _show_usage(e)
        sys.exit(USAGE)
    except SystemExit as e:  # click exits with 1 when a pipe is closed, but our 1 means a bug
        sys.exit(CLOSED_PIPE if e.code == BUG else e.code)
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        discard_output()
        sys.exit(CLOSED_PIPE)
    except BaseException as e:
        if not isinstance(e, Exception) and type(e).__name__ != _PANIC:
            raise
        code, words = _explained(e)
        _report(e, words, debug)
        sys.exit(code)


def _forget_interrupt() -> None:
    """Let Python end with our exit code.

    It remembers that an interrupt came out of an executed string, as those that dataclasses are made of, and would end
    by the signal instead; the next executed string makes it forget.
    """
    exec("")


def _explained(error: BaseException) -> tuple[int, str]:
    """The exit code of an error, and what to say."""
    if isinstance(error, SfumatoError):
        return error.exit_code, str(error)
    if isinstance(error, MemoryError):
        return USAGE, "the machine ran out of memory; publish fewer columns, or a sample of the rows"
    if isinstance(error, OSError):
        discard_output()
        return USAGE, f"{error.filename}: {os_words(error)}" if error.filename else os_words(error)
    what = f"unexpected {type(error).__name__}: {error}"
    return BUG, f"{what}. This is a bug: please report it with the traceback that --debug shows"


def _report(error: BaseException, words: str, debug: bool) -> None:
    if debug:
        import traceback

        print_error("".join(traceback.format_exception(error)))
    print_error(f"error: {one_paragraph(words)}")


def _show_usage(error: click.ClickException) -> None:
    """How the command is used, and what was wrong, as click says it."""
    context = getattr(error, "ctx", None)
    usage = f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n\n" if context else ""
    print_error(f"{usage}Error: {one_paragraph(_usage_words(error))}")


def _usage_words(error: click.ClickException) -> str:
    """What click says; if a command's option precedes the command, where it belongs."""
    if isinstance(error, click.NoSuchOption) and error.option_name in EVERYWHERE and not _has_command(error):
        return f"{error.option_name} must follow the command, as in: sfumato methods {error.option_name}"
    return error.format_message()


def _has_command(error: click.UsageError) -> bool:
    """Whether the command was known when the error occurred."""
    return error.ctx is not None and error.ctx.parent is not None
