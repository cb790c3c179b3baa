"""What goes to the terminal: JSON, and text that cannot steer it."""

import json

import click

_HALF = 800
"""How much of either end of a very long message is shown."""


def print_json(value: object) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=1))


def printable(text: str) -> str:
    r"""The text on one line; what could steer a terminal, as a column's name may, is shown as an escape.

    >>> printable("age\x1b[31m")
    'age\\x1b[31m'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_paragraph(text: str) -> str:
    """The text on one line, with the middle left out if it is very long."""
    line = printable(text)
    return line if len(line) <= 2 * _HALF else f"{line[:_HALF]} … {line[-_HALF:]}"


def figure(value: float) -> str:
    """A whole number as it is, any other with four digits.

    >>> figure(5.0), figure(1 / 3)
    ('5', '0.3333')
    """
    return str(int(value)) if float(value).is_integer() else f"{value:.4g}"
