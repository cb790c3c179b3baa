"""`sfumato plan`: what pg guarantees, to choose k and p."""

from pathlib import Path
from typing import Any

import click

from sfumato.command.options import NamedPath, common_options
from sfumato.command.printing import print_json
from sfumato.command.streams import printing_result
from sfumato.errors import PolicyError


@click.command()
@click.argument("policy", type=NamedPath(), required=False)
@click.option("--domain", type=int, help="Number of values that the sensitive attribute can have.")
@click.option("--lambda", "skew", type=float, help="Largest prior probability that an adversary assigns to a value.")
@click.option("--rho1", type=float, help="Limit on an adversary's confidence in a statement before the release.")
@click.option("--rho2", type=float, help="Limit on that confidence after the release; prints the largest p.")
@click.option("--delta", "growth", type=float, help="Limit on the growth of that confidence; prints the largest p.")
@click.option("-k", "ks", type=int, multiple=True, help="Minimum group size; can be repeated.")
@click.option("-p", "ps", type=float, multiple=True, help="Retention probability; can be repeated.")
@common_options
def plan(policy: Path | None, as_json: bool, **given: Any) -> None:
    """Show what pg guarantees, to choose k and p.

    The domain, the limits, k and p come from POLICY or from the options; an option overrides the policy.
    """
    from sfumato.publisher.plan import GuaranteePlan, plan_of

    options = {name: value for name, value in given.items() if value is not None and value != ()}
    if policy is not None:
        chosen = plan_of(policy, **options)
    else:
        missing = [option for name, option in {"domain": "--domain", "skew": "--lambda"}.items() if name not in options]
        if missing:
            raise PolicyError(
                f"a plan needs either a policy or --domain and --lambda; add {' and '.join(missing)}, or name a policy"
            )
        chosen = GuaranteePlan(**options)
    with printing_result():
        if as_json:
            print_json(chosen.as_dict())
        else:
            click.echo("\n".join(chosen.lines()))
