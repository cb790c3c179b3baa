"""`sfumato compare`: privacy and utility of several methods side by side."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.command.options import NamedPath, WholeNumber, common_options
from sfumato.command.printing import print_json, printable
from sfumato.command.progress import progress_bar
from sfumato.command.streams import printing_result
from sfumato.errors import Infeasible, OutputError, PolicyError

if TYPE_CHECKING:
    from sfumato.publisher.compare.comparison import Comparison

FILES = ("compare.html", "compare.md", "compare.csv", "compare.json")
"""What a folder gets; a single file is written in the form that its ending names."""


@click.command()
@click.argument("policy", type=NamedPath())
@click.option(
    "--method", "methods", multiple=True, help="A method to compare; repeat for each. Default: all that can serve."
)
@click.option("--sweep", "sweeps", multiple=True, help="Values of a parameter, such as k=2,5,10; can be repeated.")
@click.option(
    "-o",
    "--out",
    type=NamedPath(),
    help="Folder to write, or a file: .html, .md, .csv, .json; with --take, the policy.",
)
@click.option("--take", type=WholeNumber(min=1), help="Write the policy of the point with this number to -o.")
@click.option("--workers", type=WholeNumber(min=1), help="Number of processes. Default: one per core.")
@click.option(
    "--cache", type=NamedPath(), help="Folder for outcomes that are measured once. Default: the user's cache."
)
@click.option("--no-cache", is_flag=True, help="Measure everything again and keep nothing.")
@click.option("--force", is_flag=True, help="Replace an earlier comparison or policy.")
@common_options
def compare(
    policy: Path,
    methods: tuple[str, ...],
    sweeps: tuple[str, ...],
    out: Path | None,
    take: int | None,
    workers: int | None,
    cache: Path | None,
    no_cache: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Compare methods on the table of a policy.

    For each method that can serve POLICY, and each value of a swept parameter: what its release gives away, how useful
    it still is, and how long it takes to make.

    Private: the figures are computed from the private table. If it is stopped, running it again resumes where it
    stopped.
    """
    if take is not None and out is None:
        raise PolicyError("--take writes a policy; name the file with -o, e.g. -o policy.toml")
    if out is not None:
        _refuse_output(out, force, folder=take is None and out.suffix not in _FORMS)
    from sfumato.publisher.compare.compare import compare_policy

    with progress_bar() as progress:
        found = compare_policy(
            policy,
            methods=methods,
            sweep=parse_sweeps(sweeps),
            workers=workers,
            cache=cache,
            keep=not no_cache,
            folder=None if out is None or take is None else out.parent,
            progress=progress,
        )
    if out is not None:
        _write(found, out, take)
    with printing_result(f"{out} was written completely" if out else ""):
        _print(found, out, take, as_json)
    _refuse_all_infeasible(found)


def _refuse_all_infeasible(found: "Comparison") -> None:
    """If no method could publish the table, the command fails as `publish` would, after showing the reasons."""
    why = [outcome.refused for outcome in found.outcomes]
    if why and why[0] is not None and all(why):
        raise Infeasible(
            f"none of the {len(why)} points can publish this table; the first one: {why[0]}. Ask for less, or name "
            "other methods with --method"
        )


def parse_sweeps(texts: tuple[str, ...]) -> dict[str, list[float]]:
    """The parameters to sweep, from ``NAME=VALUE,VALUE``.

    >>> parse_sweeps(("k=2,5", "t=0.1"))
    {'k': [2, 5], 't': [0.1]}
    """
    found: dict[str, list[float]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        name = name.strip()
        if name in found:
            raise PolicyError(f"--sweep names {name!r} twice; give all its values at once")
        try:
            numbers = [float(v) for v in values.split(",")]
            found[name] = [int(n) if n.is_integer() else n for n in numbers]
        except (ValueError, OverflowError):
            raise PolicyError(f"--sweep {text!r} must be a parameter and its values, e.g. k=2,5,10") from None
    return found


_FORMS = (".html", ".md", ".csv", ".json")


def _refuse_output(out: Path, force: bool, *, folder: bool) -> None:
    """Refuse an output that exists, is of the other kind, or would be handed over with a release."""
    from sfumato.release.files.recognize import public_part_around

    if (public := public_part_around(out)) is not None:
        raise OutputError(
            f"{out} is inside the public part of a release ({public}), but a comparison is private; write it elsewhere"
        )
    if not os.path.lexists(out):
        return
    if folder != out.is_dir():
        kind = "a folder" if out.is_dir() else "a file"
        raise OutputError(f"{out} is {kind}; name {'a folder, or a file with an ending' if folder else 'a file'}")
    if not force:
        raise OutputError(f"{out} already exists; choose another name, or replace it with --force")
    if folder and (strange := sorted({p.name for p in out.iterdir()} - set(FILES))):
        raise OutputError(f"{out} contains {strange[0]}, which is not part of a comparison; choose another folder")


def _write(found: "Comparison", out: Path, take: int | None) -> None:
    """Write what was asked for, each file whole, readable by its owner alone."""
    if take is not None:
        _write_private(out, found.policy(take))
    elif out.suffix in _FORMS:
        _write_private(out, _text(found, out.suffix))
    else:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        out.chmod(0o700)
        for name in FILES:
            _write_private(out / name, _text(found, Path(name).suffix))


def _text(found: "Comparison", form: str) -> str:
    import json

    if form == ".html":
        return found.html()
    if form == ".md":
        return found.markdown()
    return (
        found.frame.write_csv() if form == ".csv" else json.dumps(found.as_dict(), ensure_ascii=False, indent=1) + "\n"
    )


def _write_private(path: Path, text: str) -> None:
    from sfumato.release.files.output import whole_file

    with whole_file(path) as draft:
        draft.touch(mode=0o600)
        draft.chmod(0o600)
        draft.write_bytes(text.encode("utf-8", errors="xmlcharrefreplace"))


def _print(found: "Comparison", out: Path | None, take: int | None, as_json: bool) -> None:
    from sfumato.report.compare_page import PRIVATE, lines

    if as_json:
        print_json(found.as_dict() | ({"out": str(out)} if out else {}))
        return
    if take is not None:
        click.echo(f"Wrote {out}: {printable(found.points[take - 1].label)}. To publish: sfumato publish {out}")
        return
    for line in lines(found.rows(), found.unserved):
        click.echo(printable(line))
    click.echo(PRIVATE, err=True)
    if out is not None:
        click.echo(f"Wrote {out}")
