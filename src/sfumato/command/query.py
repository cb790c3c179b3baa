"""`sfumato query`: estimate counts from a release."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.command.options import common_options, release_folder
from sfumato.command.printing import print_json, printable
from sfumato.command.progress import compile_note

if TYPE_CHECKING:
    import polars as pl


@click.command()
@click.argument("release", type=release_folder)
@click.argument("question")
@click.option("--iid", is_flag=True, help="Errors for a sample of people, not for this very table.")
@common_options
def query(release: Path, question: str, iid: bool, as_json: bool) -> None:
    """Estimate counts from RELEASE, with standard errors.

    QUESTION is SELECT COUNT(*) [, columns] [WHERE condition] [GROUP BY columns | CUBE columns], for instance
    "SELECT COUNT(*) WHERE age >= 30 AND job = 'Sales'" or "SELECT COUNT(*), sex GROUP BY sex".
    """
    from sfumato.analyst.analyst import Analyst, Answer
    from sfumato.release.release import load

    with compile_note():
        answer = Analyst(load(release), sampling="iid" if iid else "fixed").query(question)
    if isinstance(answer, Answer):
        if as_json:
            print_json({"estimate": answer.estimate, "standard_error": answer.standard_error})
        else:
            click.echo(f"{answer.estimate:.6g} ± {answer.standard_error:.3g} (one standard error)")
    elif as_json:
        print_json({"groups": answer.to_dicts()})
    else:
        _print_groups(answer)


def _print_groups(answer: "pl.DataFrame") -> None:
    """One line per group, with tabs between the columns."""
    click.echo("\t".join(map(printable, answer.columns)))
    for *names, count, error in answer.iter_rows():
        shown = ("(all)" if n is None else printable(n) for n in names)
        click.echo("\t".join([*shown, f"{count:.6g}", f"{error:.3g}"]))
