"""`sfumato query`: estimate counts from a release."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.command.options import NamedPath, common_options
from sfumato.command.printing import print_json, printable
from sfumato.command.progress import compile_note
from sfumato.command.streams import printing_result

if TYPE_CHECKING:
    import polars as pl

    from sfumato.analyst.analyst import Answer


@click.command()
@click.argument("release", type=NamedPath())
@click.argument("question")
@click.option(
    "--iid", is_flag=True, help="Include the error of sampling people from a population (randomized releases only)."
)
@common_options
def query(release: Path, question: str, iid: bool, as_json: bool) -> None:
    """Estimate counts from RELEASE, with standard errors.

    RELEASE is the folder OUT/release. QUESTION is SELECT COUNT(*) [, columns] [WHERE condition]
    [GROUP BY columns | CUBE columns], for instance "SELECT COUNT(*) WHERE age >= 30 AND job = 'Sales'" or
    "SELECT COUNT(*), sex GROUP BY sex".
    """
    from sfumato.analyst.analyst import Analyst, Answer
    from sfumato.release.release import load

    with compile_note():
        answer = Analyst(load(release), sampling="iid" if iid else "fixed").query(question)
    with printing_result():
        if isinstance(answer, Answer):
            _print_count(answer, as_json)
        elif as_json:
            print_json({"groups": answer.to_dicts()})
        else:
            _print_groups(answer)


def _print_count(answer: "Answer", as_json: bool) -> None:
    if as_json:
        print_json({"estimate": answer.estimate, "standard_error": answer.standard_error})
    else:
        click.echo(f"{answer.estimate:.6g} ± {answer.standard_error:.3g} (one standard error)")


def _print_groups(answer: "pl.DataFrame") -> None:
    """One line per group, with tabs between the columns."""
    click.echo("\t".join(map(printable, answer.columns)))
    for *names, count, error in answer.iter_rows():
        shown = ("(all)" if n is None else printable(n) for n in names)
        click.echo("\t".join([*shown, f"{count:.6g}", f"{error:.3g}"]))
