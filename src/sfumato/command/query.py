"""`sfumato query`: estimate counts from a release."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.command.options import NamedPath, common_options
from sfumato.command.printing import print_json, printable
from sfumato.command.progress import compile_note
from sfumato.command.streams import printing_result

if TYPE_CHECKING:
    import polars as pl

    from sfumato.analyst.answer import Answer


@click.command()
@click.argument("release", type=NamedPath())
@click.argument("question")
@click.option(
    "--iid", is_flag=True, help="Include the error of sampling people from a population (randomized releases only)."
)
@common_options
def query(release: Path, question: str, iid: bool, as_json: bool) -> None:
    """Estimate counts from RELEASE, with intervals and bounds.

    RELEASE is the folder OUT/release. QUESTION is SELECT COUNT(*) [, columns] [WHERE condition]
    [GROUP BY columns | CUBE columns] [ORDER BY columns [DESC]] [LIMIT number], for instance
    "SELECT COUNT(*) WHERE age >= 30 AND job = 'Sales'" or "SELECT COUNT(*), sex GROUP BY sex". In place of
    COUNT(*) also AVG(column), SUM, MIN, MAX, MEDIAN or QUANTILE(column, share).
    """
    from sfumato.analyst.analyst import Analyst
    from sfumato.analyst.answer import Answer
    from sfumato.release.release import load

    with compile_note():
        answer = Analyst(load(release), sampling="iid" if iid else "fixed").query(question)
    with printing_result():
        if isinstance(answer, Answer):
            _print_count(answer, as_json)
        elif as_json:
            print_json({"groups": [_plain(row) for row in answer.iter_rows(named=True)]})
        else:
            _print_groups(answer)


def _print_count(answer: "Answer", as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "estimate": answer.estimate,
                "standard_error": answer.standard_error,
                "interval": _finite(answer.interval),
                "bounds": _finite(answer.bounds),
                "assumption": answer.assumption,
            }
        )
        return
    click.echo(f"{answer.estimate:.6g} ± {answer.standard_error:.3g} (one standard error)")
    click.echo(f"95% interval: {_ends(answer.interval)}")
    click.echo(f"certain: {_ends(answer.bounds)}")
    click.echo(f"assumption: {answer.assumption}")


def _plain(row: "dict[str, object]") -> "dict[str, object]":
    """One group; a figure that is not bounded or not known is null."""
    return {n: None if isinstance(x, float) and not math.isfinite(x) else x for n, x in row.items()}


def _finite(ends: "tuple[float, float]") -> list[float | None]:
    """An end that is not bounded is null."""
    return [x if math.isfinite(x) else None for x in ends]


def _ends(ends: "tuple[float, float]") -> str:
    low, high = (f"{x:.6g}" if math.isfinite(x) else "any" for x in ends)
    return low if low == high else f"{low} to {high}"


def _print_groups(answer: "pl.DataFrame") -> None:
    """One line per group, with tabs between the columns."""
    click.echo("\t".join(map(printable, answer.columns)))
    for row in answer.iter_rows():
        click.echo("\t".join(_cell(x) for x in row))


def _cell(x: object) -> str:
    if x is None:
        return "(all)"
    if isinstance(x, float):
        return f"{x:.6g}" if math.isfinite(x) else "none" if math.isnan(x) else "any"
    return printable(str(x))
