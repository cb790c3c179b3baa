"""`sfumato plan`: what pg guarantees, to choose k and p."""

from pathlib import Path
from typing import Any

import click

from sfumato.command.options import common_options, policy_file
from sfumato.command.printing import print_json
from sfumato.errors import PolicyError


@click.command()
@click.argument("policy", type=policy_file, required=False)
@click.option("--domain", type=int, help="How many values the sensitive attribute can have.")
@click.option("--lambda", "skew", type=float, help="The greatest prior probability that an adversary gives a value.")
@click.option("--rho1", type=float, help="How sure an adversary may be of a statement before.")
@click.option("--rho2", type=float, help="How sure he may be after: solve for the largest p.")
@click.option("--delta", "growth", type=float, help="By how much his confidence may grow: solve for the largest p.")
@click.option("-k", "ks", type=int, multiple=True, help="Least size of a group; may be repeated.")
@click.option("-p", "ps", type=float, multiple=True, help="Retention probability; may be repeated.")
@common_options
def plan(policy: Path | None, as_json: bool, **given: Any) -> None:
    """Show what pg guarantees for POLICY (or for the options), so that k and p can be chosen."""
    from sfumato.publisher.plan import Plan, plan_of

    options = {name: value for name, value in given.items() if value is not None and value != ()}
    if policy is not None:
        chosen = plan_of(policy, **options)
    elif {"domain", "skew"} <= options.keys():
        chosen = Plan(**options)
    else:
        raise PolicyError("name a policy, or --domain and --lambda")
    if as_json:
        print_json(chosen.as_dict())
    else:
        click.echo("\n".join(chosen.lines()))
