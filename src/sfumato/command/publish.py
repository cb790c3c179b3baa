"""`sfumato publish` and `sfumato demo`: make a release."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.command.options import NamedPath, WholeNumber, common_options
from sfumato.command.output_file import refuse_output, write_text
from sfumato.command.printing import figure, print_json, printable
from sfumato.command.progress import progress_bar
from sfumato.command.signals import interrupts
from sfumato.command.streams import printing_result

if TYPE_CHECKING:
    from sfumato.publisher.publish import Published


@click.command()
@click.argument("policy", type=NamedPath())
@click.option("-o", "--out", type=NamedPath(), default=Path("out"), show_default=True, help="Folder to write.")
@click.option("--seed", type=WholeNumber(min=0), help="Make the randomness repeatable; for experiments only.")
@click.option(
    "--force",
    is_flag=True,
    help="Replace an OUT that sfumato wrote earlier; without --seed, random choices are redrawn.",
)
@click.option(
    "--on-interrupt",
    type=click.Choice(["ask", "publish", "discard"]),
    default="ask",
    show_default=True,
    help="What Ctrl-C does while tdr, tdd or tdssa refines: publish the last valid table, or discard it. "
    "Without a terminal, ask means discard.",
)
@click.option(
    "--after",
    type=NamedPath(),
    multiple=True,
    help="An earlier sfumato release, in addition to those in the policy (tdssa); repeat for each.",
)
@click.option(
    "--pdf", is_flag=True, help="Also print the report to private/report.pdf; needs Chromium, Chrome or Edge."
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "local", "duckdb", "spark"]),
    help="Where rows are stored and counted; takes precedence over the policy's [engine].",
)
@common_options
def publish(
    policy: Path,
    out: Path,
    seed: int | None,
    force: bool,
    on_interrupt: str,
    after: tuple[Path, ...],
    pdf: bool,
    engine: str | None,
    as_json: bool,
) -> None:
    """Make the release that the file POLICY describes.

    OUT/release is to hand over, OUT/private to keep.
    """
    if seed is not None:
        click.echo("warning: --seed makes the randomness repeatable; this release is for experiments only", err=True)
    _publish(policy, out, as_json, on_interrupt, seed=seed, force=force, after=after, pdf=pdf, engine=engine)


@click.command()
@click.option("-o", "--out", type=NamedPath(), default=Path("sfumato-demo"), show_default=True, help="Folder to write.")
@click.option("--force", is_flag=True, help="Replace an OUT that sfumato wrote earlier.")
@click.option(
    "--table", type=NamedPath(), help="Publish nothing; write the bundled table to this file, to try init with."
)
@common_options
def demo(out: Path, force: bool, table: Path | None, as_json: bool) -> None:
    """Publish the bundled example, a synthetic hospital table."""
    from sfumato.datasets import example_folder

    if table is not None:
        _copy_table(example_folder() / "discharges.csv", table, force, as_json)
        return
    policy = example_folder() / "policy.toml"
    if not as_json:
        with printing_result():
            click.echo(f"The policy of the example: {policy}")
    _publish(policy, out, as_json, force=force, ledger=False)


def _copy_table(bundled: Path, table: Path, force: bool, as_json: bool) -> None:
    """Write the bundled table to a file."""
    refuse_output(table, force=force, example="patients.csv")
    write_text(table, bundled.read_text(encoding="utf-8"))
    with printing_result(f"{table} was written completely"):
        if as_json:
            print_json({"table": str(table)})
        else:
            click.echo(f"Wrote {table}. Look at it with: sfumato init {table} -o policy.toml")


def _publish(
    policy: Path,
    out: Path,
    as_json: bool,
    on_interrupt: str = "discard",
    *,
    seed: int | None = None,
    force: bool,
    ledger: bool = True,
    after: tuple[Path, ...] = (),
    pdf: bool = False,
    engine: str | None = None,
) -> None:
    with interrupts() as pressed:
        with _without_collection():
            from sfumato.command.memory import reuse_freed_memory
            from sfumato.publisher.reading_ahead import read_ahead

            reuse_freed_memory()
            ahead = read_ahead(policy) if engine in (None, "local") else None
            from sfumato.publisher.publish import publish_policy

        with progress_bar() as progress:
            result = publish_policy(
                policy,
                out,
                seed=seed,
                force=force,
                ledger=ledger,
                after=after,
                pdf=pdf,
                progress=pressed.heeded(on_interrupt, progress),
                ahead=ahead,
                engine=engine,
            )
    folder = result.folder
    with printing_result(f"{folder} was written completely: hand over {folder / 'release'}, keep {folder / 'private'}"):
        if as_json:
            print_json({**as_dict(result), "seeded": seed is not None})
        else:
            print_published(result)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Import without collecting garbage: everything that modules create stays, and this saves a sixth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def as_dict(result: "Published") -> dict[str, Any]:
    """What was published, for machines."""
    manifest = result.release.description
    return {
        "out": str(result.folder),
        "release": str(result.folder / "release"),
        "report": str(result.report),
        "rows": manifest.rows,
        "method": manifest.method.plain(),
        "summary": result.summary.as_dict(),
        "requirements": [claim.plain() for claim in manifest.requirements],
        "loss": {n: a.loss for n, a in manifest.labelled.items()},
        "warnings": list(result.warnings),
        "notes": list(result.notes),
    }


def print_published(result: "Published") -> None:
    """What was published, for people; warnings and notes go to stderr."""
    manifest = result.release.description
    click.echo(f"{manifest.rows:,} rows published by {manifest.method.name}.")
    if manifest.method.chosen is not None:
        click.echo(f"  {printable(manifest.method.chosen.reason)}")
    for line in result.summary.lines():
        click.echo(f"  {printable(line)}")
    for claim in manifest.requirements:
        achieved = ", ".join(f"{n} = {figure(v)}" for n, v in claim.achieved.items())
        words = printable(claim.words)
        click.echo(f"  {claim.model}: {words}{f'; achieved {achieved}' if achieved else ''}")
    click.echo(f"To hand over:  {result.folder / 'release'}")
    click.echo(f"To keep:       {result.folder / 'private'}")
    click.echo(f"Your report:   {result.report}")
    for warning in result.warnings:
        click.echo(click.style("warning: ", fg="yellow", bold=True) + printable(warning), err=True)
    for note in result.notes:
        click.echo(f"note: {printable(note)}", err=True)
