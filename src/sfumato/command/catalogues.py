"""`sfumato methods` and `sfumato models`: the methods and requirement models to choose from."""

import json
from typing import Any

import click

from sfumato.command.options import common_options
from sfumato.command.printing import print_json
from sfumato.command.streams import printing_result


@click.command()
@common_options
def methods(as_json: bool) -> None:
    """List the methods, what each guarantees and what is refuted."""
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
    with printing_result():
        if as_json:
            print_json(rows)
        else:
            _print_methods(rows)


def _print_methods(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        settings = ", ".join(f"{n} = {json.dumps(v)}" for n, v in row["settings"].items())
        click.echo(f"{row['name']}: {row['summary']}")
        click.echo(f"  guarantees: {row['guarantees']}")
        click.echo(f"  refuted:    {row['refuted'] or 'nothing'}")
        click.echo(f"  settings:   {settings or 'none'}")


@click.command()
@common_options
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
    with printing_result():
        if as_json:
            print_json(rows)
        else:
            _print_models(rows)


def _print_models(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        names = [n if v == "required" else f"[{n}]" for n, v in row["parameters"].items()]
        click.echo(f"{row['model']} ({', '.join(names)}): {row['summary']}")
