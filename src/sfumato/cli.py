"""The commands. Each imports what it needs when it runs, so that help is there at once."""

import contextlib
import gc
import io
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from sfumato import __version__
from sfumato.errors import OutputError, SfumatoError, os_words

if TYPE_CHECKING:
    from sfumato.publisher.publish import Published

_STAGES = {
    "read": "Reading the data",
    "response": "Finding the best probabilities",
    "code": "Coding the columns",
    "cuts": "Cutting into groups",
    "compress": "Counting equal rows",
    "lattice": "Searching the lattice",
    "rules": "Finding negative rules",
    "perturb": "Perturbing sensitive values",
    "steps": "Refining (Ctrl-C stops)",
    "labels": "Labelling the groups",
    "judgement": "Judging the groups",
    "order": "Shuffling the rows",
    "write": "Writing release and report",
    "done": "Done",
}

_CLOSED_PIPE = 128 + 13
"""What a shell reports of a program that wrote to a pipe that nobody reads."""

_HALF = 800
"""How much of either end of a very long message is shown."""

_PAUSE = "pause"
"""The stage in which nothing moves on the terminal, so that a question can be asked."""


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every command has."""
    command = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, for machines.")(command)
    return click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")(command)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sfumato")
def cli() -> None:
    """Publish microdata that researchers can use and adversaries cannot.

    Start with `sfumato demo`, or with `sfumato init YOUR.csv -o policy.toml` for your own table.
    """


@cli.command()
@click.argument("data")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the policy there instead of printing it.")
@click.option("--query", help="The SELECT to read, where DATA is a database URL.")
@click.option("--force", is_flag=True, help="Overwrite an existing policy file.")
@_common
def init(data: str, out: Path | None, query: str | None, force: bool, as_json: bool) -> None:
    """Look at the table DATA and propose a policy, with reasons."""
    from sfumato.publisher.propose import propose
    from sfumato.table.address import expanded
    from sfumato.table.source import read_frame

    if out is not None and os.path.lexists(out) and not force:
        raise OutputError(f"{out} exists; name another file, or overwrite it with --force")
    source, variables = _as_seen_from(data, out)
    proposal = propose(read_frame(expanded(data), query=query), source, query=query)
    if variables:
        note = f"the policy holds no password: set {' and '.join(variables)} in the environment before you publish."
        proposal = replace(proposal, warnings=(*proposal.warnings, note))
    if out is not None:
        _write_text(out, proposal.to_toml())
    if as_json:
        _print_json(proposal.to_dict() | ({"policy": str(out)} if out else {}))
    elif out is None:
        click.echo(proposal.to_toml(), nl=False)
    else:
        for warning in proposal.warnings:
            click.echo(f"note: {_printable(warning)}", err=True)
        click.echo(f"Wrote {out}. Read every line, then run: sfumato publish {out}")


@cli.command()
@click.argument("policy", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("out"), show_default=True)
@click.option("--seed", type=click.IntRange(min=0), help="Repeatable randomness. For experiments only.")
@click.option("--force", is_flag=True, help="Replace an OUT that sfumato wrote before; the method draws anew.")
@click.option(
    "--on-interrupt",
    type=click.Choice(["ask", "publish", "discard"]),
    default="ask",
    show_default=True,
    help="What Ctrl-C does while tdr or tdd refine: publish the last valid table or nothing. A pipe is not asked.",
)
@_common
def publish(policy: Path, out: Path, seed: int | None, force: bool, on_interrupt: str, as_json: bool) -> None:
    """Make the release that POLICY describes: OUT/release to hand over, OUT/private to keep."""
    if seed is not None:
        click.echo("warning: --seed makes the randomness repeatable: this release is for experiments only", err=True)
    _publish(policy, out, seed, force, as_json, on_interrupt)


@cli.command()
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("sfumato-demo"), show_default=True)
@click.option("--force", is_flag=True, help="Replace an OUT that sfumato wrote before.")
@_common
def demo(out: Path, force: bool, as_json: bool) -> None:
    """Publish the bundled example, a synthetic hospital table."""
    from sfumato.datasets import example_folder

    policy = example_folder() / "policy.toml"
    if not as_json:
        click.echo(f"The policy of the example: {policy}")
    _publish(policy, out, None, force, as_json, ledger=False)


def _publish(
    policy: Path,
    out: Path,
    seed: int | None,
    force: bool,
    as_json: bool,
    on_interrupt: str = "discard",
    ledger: bool = True,
) -> None:
    with _without_collection():
        from sfumato.publisher.publish import publish_policy

    with _progress() as progress, _interrupts(on_interrupt, progress) as heard:
        result = publish_policy(policy, out, seed=seed, force=force, ledger=ledger, progress=heard)
    if as_json:
        _print_json({**_published(result), "seeded": seed is not None})
        return
    _print_published(result)
    for warning in result.warnings:
        click.echo(click.style("warning: ", fg="yellow", bold=True) + _printable(warning), err=True)
    for note in result.notes:
        click.echo(f"note: {_printable(note)}", err=True)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Import without looking for garbage, since all that modules make stays; that saves a sixth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _published(result: "Published") -> dict[str, Any]:
    """What was published, for machines."""
    manifest = result.release.description
    return {
        "out": str(result.folder),
        "release": str(result.folder / "release"),
        "report": str(result.report),
        "rows": manifest.rows,
        "summary": result.summary.as_dict(),
        "requirements": [claim.plain() for claim in manifest.requirements],
        "loss": {n: a.loss for n, a in manifest.labelled.items()},
        "warnings": list(result.warnings),
        "notes": list(result.notes),
    }


def _print_published(result: "Published") -> None:
    manifest = result.release.description
    click.echo(f"{manifest.rows:,} rows published by {manifest.method.name}.")
    for line in result.summary.lines():
        click.echo(f"  {_printable(line)}")
    for claim in manifest.requirements:
        achieved = ", ".join(f"{n} = {_figure(v)}" for n, v in claim.achieved.items())
        words = _printable(claim.words)
        click.echo(f"  {claim.model}: {words}{f'; achieved {achieved}' if achieved else ''}")
    click.echo(f"To hand over:  {result.folder / 'release'}")
    click.echo(f"To keep:       {result.folder / 'private'}")
    click.echo(f"Your report:   {result.report}")


def _figure(value: float) -> str:
    """A whole number as it is, any other with four digits."""
    return str(int(value)) if float(value).is_integer() else f"{value:.4g}"


@cli.command()
@click.argument("release", type=click.Path(path_type=Path))
@_common
def check(release: Path, as_json: bool) -> None:
    """Verify, from the public part alone, what the manifest of RELEASE claims."""
    from sfumato.release.release import load

    with _compile_note():
        found = load(release)
        findings = found.findings()
    broken = [f for f in findings if f.status == "broken"]
    findings += [] if broken else found.stated()
    number = {status: sum(f.status == status for f in findings) for status in ("holds", "broken", "stated")}
    if as_json:
        _print_json({"holds": not broken, "summary": number, "claims": [f.as_dict() for f in findings]})
    else:
        for f in findings:
            click.echo(f"{f.status:7} {_printable(f'{f.claim} ({f.detail})')}")
        told = f"{number['holds']} claims verified, {number['broken']} broken, {number['stated']} stated"
        click.echo(f"{told} (not verifiable from the public part; take the publisher's word or ask for proof).")
    if broken:
        click.echo(
            f"error: {len(broken)} of {len(findings)} claims do not hold; what rests on them was not judged", err=True
        )
        sys.exit(4)


@cli.command()
@click.argument("release", type=click.Path(path_type=Path))
@click.argument("question")
@click.option("--iid", is_flag=True, help="Errors for a sample of people, not for this very table.")
@_common
def query(release: Path, question: str, iid: bool, as_json: bool) -> None:
    """Estimate counts from RELEASE, with standard errors.

    QUESTION is SELECT COUNT(*) [, columns] [WHERE condition] [GROUP BY columns | CUBE columns], for instance
    "SELECT COUNT(*) WHERE age >= 30 AND job = 'Sales'" or "SELECT COUNT(*), sex GROUP BY sex".
    """
    from sfumato.analyst.analyst import Analyst, Answer
    from sfumato.release.release import load

    with _compile_note():
        answer = Analyst(load(release), sampling="iid" if iid else "fixed").query(question)
    if isinstance(answer, Answer):
        if as_json:
            _print_json({"estimate": answer.estimate, "standard_error": answer.standard_error})
        else:
            click.echo(f"{answer.estimate:.6g} ± {answer.standard_error:.3g} (one standard error)")
    elif as_json:
        _print_json({"groups": answer.to_dicts()})
    else:
        click.echo("\t".join(map(_printable, answer.columns)))
        for *names, count, error in answer.iter_rows():
            shown = ("(all)" if n is None else _printable(n) for n in names)
            click.echo("\t".join([*shown, f"{count:.6g}", f"{error:.3g}"]))


@cli.command()
@_common
def methods(as_json: bool) -> None:
    """List the methods, what each guarantees, and what has been refuted."""
    from dataclasses import fields

    from sfumato.method.catalogue import METHODS

    rows: list[dict[str, Any]] = [
        {
            "name": m.name,
            "summary": m.summary,
            "guarantees": m.guarantees,
            "refuted": m.refuted,
            "settings": {f.name: f.default for f in fields(m)},
        }
        for m in METHODS.values()
    ]
    if as_json:
        _print_json(rows)
        return
    for row in rows:
        settings = ", ".join(f"{n} = {json.dumps(v)}" for n, v in row["settings"].items())
        click.echo(f"{row['name']}: {row['summary']}")
        click.echo(f"  guarantees: {row['guarantees']}")
        click.echo(f"  refuted:    {row['refuted'] or 'nothing'}")
        click.echo(f"  settings:   {settings or 'none'}")


@cli.command()
@_common
def models(as_json: bool) -> None:
    """List the requirement models and their parameters."""
    from dataclasses import MISSING

    from sfumato.requirement.catalogue import MODELS

    rows: list[dict[str, Any]] = [
        {
            "model": m.model,
            "summary": m.summary,
            "monotone": getattr(m, "monotone", None),
            "parameters": {
                word: "required" if f.default is MISSING else f.default for word, f in m.public_fields().items()
            },
        }
        for m in MODELS.values()
    ]
    if as_json:
        _print_json(rows)
        return
    for row in rows:
        names = [n if v == "required" else f"[{n}]" for n, v in row["parameters"].items()]
        click.echo(f"{row['model']} ({', '.join(names)}): {row['summary']}")


@cli.command()
@click.argument("policy", type=click.Path(path_type=Path), required=False)
@click.option("--domain", type=int, help="How many values the sensitive attribute can have.")
@click.option("--lambda", "skew", type=float, help="The greatest prior probability that an adversary gives a value.")
@click.option("--rho1", type=float, help="How sure an adversary may be of a statement before.")
@click.option("--rho2", type=float, help="How sure he may be after: solve for the largest p.")
@click.option("--delta", type=float, help="By how much his confidence may grow: solve for the largest p.")
@click.option("-k", "ks", type=int, multiple=True, help="Least size of a group; may be repeated.")
@click.option("-p", "ps", type=float, multiple=True, help="Retention probability; may be repeated.")
@_common
def plan(policy: Path | None, as_json: bool, **given: Any) -> None:
    """Show what pg guarantees for POLICY (or for the options), so that k and p can be chosen."""
    from sfumato.errors import PolicyError
    from sfumato.publisher.plan import Plan, plan_of

    names = {"delta": "growth"}
    options = {names.get(n, n): v for n, v in given.items() if v is not None and v != ()}
    if policy is not None:
        chosen = plan_of(policy, **options)
    elif {"domain", "skew"} <= options.keys():
        chosen = Plan(**options)
    else:
        raise PolicyError("name a policy, or --domain and --lambda")
    if as_json:
        _print_json(chosen.as_dict())
    else:
        click.echo("\n".join(chosen.lines()))


def _as_seen_from(data: str, policy: Path | None) -> tuple[str, list[str]]:
    """The source as the policy should name it: relative to its folder, or with variables in place of passwords."""
    from sfumato.table.address import Address, begins_with_variable

    folder = policy.parent if policy is not None else Path()
    address = Address.of(data)
    if address is not None:
        public, variables = address.seen_from(folder).without_secrets()
        return str(public), variables
    return data if begins_with_variable(data) else os.path.relpath(data or ".", folder), []


def _write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    from sfumato.release.files.output import whole_file

    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=1))


@contextmanager
def _interrupts(choice: str, progress: Callable[[str, float], None]) -> Iterator[Callable[[str, float], None]]:
    """While a table is refined Ctrl-C waits for the next valid one; at any other time it ends the command."""
    from sfumato.method.base import STEP, Enough

    refining = pressed = False

    def press(number: int, frame: object) -> None:
        nonlocal pressed
        if not refining or pressed:
            raise KeyboardInterrupt
        pressed = True

    def heard(stage: str, done: float) -> None:
        nonlocal refining
        refining = stage.startswith(STEP)
        progress(stage, done)
        if pressed and refining:
            refining = False
            progress(_PAUSE, 0.0)
            raise Enough if _wanted(choice, stage) else KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, press)
    except ValueError:  # not the main thread: nobody presses keys here
        yield progress
        return
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)


def _wanted(choice: str, stage: str) -> bool:
    """Whether the last valid table shall be published."""
    if choice != "ask" or not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        return choice == "publish"
    return click.confirm(f"Stopped after {stage.partition(':')[0]}. Publish this table?", default=False, err=True)


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody sits at a stream; one that was closed before we began is None."""
    return stream is not None and stream.isatty()


@contextmanager
def _progress() -> Iterator[Callable[[str, float], None]]:
    """Progress on a terminal, silence in a pipe."""
    if not _is_terminal(sys.stderr):
        yield lambda stage, done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from sfumato.kernel.jit import hearing_compilation
    from sfumato.method.base import STEP

    words = ""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def compiling(begun: bool) -> None:
            bar.update(task, description=f"{words}: {_compiling()}" if begun else words, refresh=True)

        def show(stage: str, done: float) -> None:
            nonlocal words
            words = _STAGES.get(stage, stage)
            if stage == _PAUSE:
                bar.stop()
                return
            if stage.startswith(STEP):
                bar.console.print(stage, markup=False, highlight=False, soft_wrap=True)
                words = _STAGES["steps"]
            bar.update(task, description=words, total=1.0 if done else None, completed=done)

        with hearing_compilation(compiling):
            yield show


def _compiling() -> str:
    """What is said while a kernel is compiled."""
    from sfumato.kernel.cache import are_kept

    return "compiling (once)" if are_kept() else "compiling"


@contextmanager
def _compile_note() -> Iterator[None]:
    """On a terminal, a line if a command that shows no progress has to compile a kernel."""
    if not _is_terminal(sys.stderr):
        yield
        return
    from sfumato.kernel.jit import hearing_compilation

    told: list[str] = []

    def compiling(begun: bool) -> None:
        if begun and not told:
            told.append(_compiling())
            click.echo(told[0], err=True)

    with hearing_compilation(compiling):
        yield


def main(arguments: list[str] | None = None) -> None:
    """Run a command; every error becomes one paragraph on stderr and an exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    _end_in_order()
    _fill_closed_streams()
    _prepare_streams()
    try:
        code = cli.main(given, prog_name="sfumato", standalone_mode=False)
        _flush()
    except click.exceptions.Abort:
        click.echo("stopped; nothing was written", err=True)
        sys.exit(130)
    except click.ClickException as e:
        _show_usage(e)
        sys.exit(2)
    except SystemExit as e:  # click's answer to a closed pipe is 1, which here means a bug
        sys.exit(_CLOSED_PIPE if e.code == 1 else e.code)
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        _give_up_output()
        sys.exit(_CLOSED_PIPE)
    except SfumatoError as e:
        _explain(e, str(e), "--debug" in given)
        sys.exit(e.exit_code)
    except MemoryError as e:
        _explain(e, "the machine ran out of memory; publish fewer columns or a sample", "--debug" in given)
        sys.exit(2)
    except OSError as e:
        _give_up_output()
        place = f"{e.filename}: " if e.filename else ""
        _explain(e, f"{place}{os_words(e)}", "--debug" in given)
        sys.exit(2)
    except Exception as e:
        words = f"unexpected {type(e).__name__}: {e}. This is a bug: please report it, with --debug for the traceback"
        _explain(e, words, "--debug" in given)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _end_in_order() -> None:
    """Let a signal that ends the process end it as an error does, so that no draft is left; nohup stays nohup."""

    def end(number: int, frame: object) -> None:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    with suppress(ValueError):  # not the main thread: signals are somebody else's business
        for each in signals:
            if signal.getsignal(each) == signal.SIG_DFL:
                signal.signal(each, end)


def _show_usage(error: click.ClickException) -> None:
    """How the command is used, and what was wrong, as click says it."""
    context = getattr(error, "ctx", None)
    usage = f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n\n" if context else ""
    with contextlib.suppress(OSError):  # a terminal that cannot be written to
        click.echo(f"{usage}Error: {_one_paragraph(error.format_message())}", err=True)


def _explain(error: BaseException, words: str, debug: bool) -> None:
    if debug:
        import traceback

        traceback.print_exception(error)
    with contextlib.suppress(OSError):  # a terminal that cannot be written to
        click.echo(f"error: {_one_paragraph(words)}", err=True)


def _one_paragraph(words: str) -> str:
    """The words on one line and of bounded length."""
    printed = _printable(words)
    return printed if len(printed) <= 2 * _HALF else f"{printed[:_HALF]} … {printed[-_HALF:]}"


def _printable(words: str) -> str:
    """The words on one line; what could steer a terminal, as a column's name may, is shown as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)


def _fill_closed_streams() -> None:
    """Lead streams that were closed before we began nowhere, or a file of a release would take their number."""
    with suppress(OSError):
        while (file := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(file, True)
        os.close(file)


def _prepare_streams() -> None:
    """Print what no encoding can show as escapes, and warnings of the library as our own."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    log = logging.getLogger("sfumato")
    if not log.handlers:
        log.addHandler(_Warnings())


class _Warnings(logging.Handler):
    """Prints what the library warns of, to stderr as it is now."""

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):  # a terminal that cannot be written to
            click.echo(f"warning: {_one_paragraph(record.getMessage())}", err=True)


def _flush() -> None:
    """Write out what was printed while an error can still be told."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _give_up_output() -> None:
    """Send what is still to be printed nowhere, or Python would fail on it once more as it ends."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
