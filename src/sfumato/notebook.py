"""How objects look in a notebook: small panels of escaped HTML, for ``_repr_html_``."""

from collections.abc import Iterable, Sequence
from html import escape

MOST_ROWS = 12
"""How many rows a panel shows of a longer list."""

_CELL = "padding:2px 10px 2px 0;text-align:left;vertical-align:top"
_BAR = "display:inline-block;height:9px;background:#8a5a44"


def panel(title: str, *parts: str) -> str:
    """A title over parts that are HTML already.

    >>> panel("a < b", paragraph("x & y"))
    '<div><strong>a &lt; b</strong><p style="margin:4px 0">x &amp; y</p></div>'
    """
    return f"<div><strong>{escape(title)}</strong>{''.join(parts)}</div>"


def paragraph(text: str) -> str:
    """A sentence below the title."""
    return f'<p style="margin:4px 0">{escape(text)}</p>'


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of text; if it is long, only the first rows and how many more there are.

    >>> table(["name"], [["<b>"]]).count("&lt;b&gt;")
    1
    """
    lines = list(rows)
    head = "".join(f'<th style="{_CELL}">{escape(str(name))}</th>' for name in columns)
    body = "".join(_row(line) for line in lines[:MOST_ROWS])
    more = paragraph(f"and {len(lines) - MOST_ROWS:,} more") if len(lines) > MOST_ROWS else ""
    return f'<table style="border-collapse:collapse;margin:4px 0"><tr>{head}</tr>{body}</table>{more}'


def bars(shares: Iterable[tuple[str, float]]) -> str:
    """A horizontal bar for each share from 0 to 1, with its percentage.

    >>> "62.5%" in bars([("age", 0.625)])
    True
    """
    lines = "".join(
        f'<tr><td style="{_CELL}">{escape(label)}</td><td style="{_CELL}">'
        f'<span style="{_BAR};width:{round(160 * min(max(share, 0.0), 1.0))}px"></span> {share:.1%}</td></tr>'
        for label, share in list(shares)[:MOST_ROWS]
    )
    return f'<table style="border-collapse:collapse;margin:4px 0">{lines}</table>'


def _row(cells: Sequence[object]) -> str:
    return "<tr>" + "".join(f'<td style="{_CELL}">{escape(str(cell))}</td>' for cell in cells) + "</tr>"
