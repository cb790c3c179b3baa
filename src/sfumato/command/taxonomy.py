"""`sfumato taxonomy`: write a taxonomy for a column, to look at and to edit."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.command.options import NamedPath, WholeNumber, common_options
from sfumato.command.output_file import refuse_output, write_text
from sfumato.command.printing import print_json, printable
from sfumato.command.streams import printing_result
from sfumato.errors import DataError, nearest

if TYPE_CHECKING:
    from sfumato.table.written_tree import How, WrittenTree

_WAYS = ("auto", "code", "mask", "round", "quantiles", "calendar", "rare")


@click.command()
@click.argument("data")
@click.argument("column")
@click.option("-o", "--out", type=NamedPath(), help="Write the csv to this file instead of printing it.")
@click.option(
    "--by",
    type=click.Choice(_WAYS),
    default="auto",
    help="How to group values: by the structure of codes, by masks, in round intervals, in intervals with about the "
    "same number of rows, by months and years, or rare values in one group. Default: the first of these that suits "
    "the values.",
)
@click.option("--width", type=float, help="The width of the narrowest round intervals.")
@click.option("--groups", type=WholeNumber(min=2), default=8, help="Number of intervals for quantiles (default 8).")
@click.option(
    "--least", type=WholeNumber(min=2), default=5, help="Values in fewer rows than this are rare (default 5)."
)
@click.option("--query", help="The SELECT statement to run if DATA is a database URL.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@common_options
def taxonomy(
    data: str,
    column: str,
    out: Path | None,
    by: "How",
    width: float | None,
    groups: int,
    least: int,
    query: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write a taxonomy for COLUMN of the table DATA, as csv.

    It is a hierarchy in ARX's format: one row per value, with the value first, then one column per level, the root
    last. Edit it, and name it in the policy: taxonomy = "zip.csv".
    """
    if out is not None:
        refuse_output(out, force=force, example="zip.csv")
    found = _written(data, column, query, by=by, width=width, groups=groups, least=least)
    text = _csv(found)
    if out is not None:
        write_text(out, text)
    with printing_result(f"{out} was written completely" if out else ""):
        _print(found, column, text, out, as_json)


def _written(
    data: str, column: str, query: str | None, *, by: "How", width: float | None, groups: int, least: int
) -> "WrittenTree":
    """The taxonomy of a column of a table, read as `sfumato init` reads it."""
    from sfumato.publisher.inspection import look_at
    from sfumato.publisher.own_taxonomies import column_of
    from sfumato.publisher.propose import missing_texts, without_markers
    from sfumato.table.written_tree import written_tree

    if not data:
        raise DataError("the name of the table is empty; name a file, or a database by its URL")
    seen = look_at(data, query)
    if column not in seen.frame.columns:
        raise DataError(f"the table has no column {column!r}{nearest(column, seen.frame.columns)}")
    values = seen.frame.select(column)
    values = without_markers(values, list(missing_texts(values)), seen.form.form)
    return written_tree(column_of(values[column]), by, width=width, groups=groups, least=least)


def _csv(found: "WrittenTree") -> str:
    from sfumato.table.hierarchy import to_arx_csv

    return to_arx_csv(found.tree)


def _print(found: "WrittenTree", column: str, text: str, out: Path | None, as_json: bool) -> None:
    from sfumato.publisher.toml import toml
    from sfumato.table.written_tree import labels_by_level

    levels = labels_by_level(found.tree)
    rule = None if found.how == "rare" else found.spec
    if as_json:
        facts = {"column": column, "by": found.how, "reason": found.reason, "rule": rule, "pad": found.pad}
        print_json(facts | {"labels": levels, "tree": found.tree.to_tree()} | ({"file": str(out)} if out else {}))
        return
    if out is None:
        click.echo(text, nl=False)
    counted = " > ".join(f"{n:,}" for n in levels)
    click.echo(f"{printable(column)}: {printable(found.reason)}. Labels per level: {counted}.", err=out is None)
    if rule is not None:
        click.echo(f"The same as a rule, which lists no values: taxonomy = {printable(toml(rule))}", err=True)
    if found.pad is not None:
        click.echo(f"note: codes lost their leading zeros; add pad = {found.pad} to the column's line.", err=True)
    click.echo("note: a taxonomy that a policy names is public, with all its values, rare ones included.", err=True)
    if out is not None:
        click.echo(f"Wrote {out}. Edit it, then name it in the policy: taxonomy = {toml(out.name)}")
