"""Odd inputs, each the same on every run, and as many more by chance as are wanted."""

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fuzz import commands, earlier, methods, policies, tables, taxonomies
from fuzz.harness import GOOD, Case, case, run_case, to_csv, ward
from fuzz.summary import Summary


def listed() -> list[Case]:
    """All inputs that were thought of."""
    return [*_quick(), *methods.cases(), *earlier.cases()]


def _quick() -> list[Case]:
    """Those that need no more than the kernels of mondrian."""
    return [*policies.cases(), *taxonomies.cases(), *tables.cases(), *commands.cases(), *commands.manifests()]


def fixed(count: int) -> list[Case]:
    """As many of them, spread over all kinds: every one that knows what should come of it, then the others evenly."""
    everything = _quick()
    known = [c for c in everything if c.expect != "either"]
    others = [c for c in everything if c.expect == "either"]
    wanted = max(0, count - len(known))
    return known + [others[i * len(others) // wanted] for i in range(min(wanted, len(others)))]


def mutated(seed: int) -> Iterator[Case]:
    """Policies, tables and taxonomies with bytes changed by chance, without end."""
    draw = random.Random(seed)
    tree = GOOD.replace('taxonomy = { Any = ["M", "F"] }', 'taxonomy = "sex.csv"')
    sources = [("policy", GOOD.encode()), ("table", to_csv(ward()).encode()), ("taxonomy", b"M;men;*\nF;women;*\n")]
    number = 0
    while True:
        what, text = draw.choice(sources)
        spoiled = _spoiled(text, draw)
        number += 1
        name = f"{what} by chance {seed}.{number}"
        if what == "policy":
            yield case(name, policy=spoiled)
        elif what == "table":
            yield case(name, data=spoiled)
        else:
            yield case(name, policy=tree, files={"sex.csv": spoiled})


def _spoiled(text: bytes, draw: random.Random) -> bytes:
    """The text with one to five changes: a byte, a piece cut, doubled or moved, a number or a bracket put in."""
    pieces = [
        b"\0",
        b"\xff",
        b'"',
        b"'",
        b",",
        b"\n",
        b"[",
        b"]",
        b"{",
        b"}",
        b"=",
        b"-1",
        b"0",
        b"1e400",
        b"nan",
        b"*",
        b"\xe2\x80\xae",
    ]
    for _ in range(draw.randint(1, 5)):
        at, end = sorted((draw.randrange(len(text) + 1), draw.randrange(len(text) + 1)))
        end = min(end, at + draw.choice((1, 3, 20)))
        cut = text[at:end]
        there = draw.randrange(len(text) + 1)
        text = draw.choice(
            (
                text[:at] + bytes([draw.randrange(256)]) + text[at + 1 :],
                text[:at] + text[end:],
                text[:end] + cut + text[end:],
                text[:there] + cut + text[there:],
                text[:at] + draw.choice(pieces) + text[at:],
            )
        )
    return text


def run(count: int, seed: int = 0) -> Summary:
    """The listed inputs, then mutated ones up to ``count``."""
    cases = listed()[:count]
    more = mutated(seed)
    cases += [next(more) for _ in range(count - len(cases))]
    total = Summary()
    for one in cases:
        add(total, one)
    return total


def add(total: Summary, one: Case) -> None:
    """Run a case and count what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        outcome, words = run_case(one, Path(folder))
    total.inputs += 1
    total.clean += outcome == "clean"
    total.accepted += outcome == "accepted"
    total.tracebacks += outcome == "traceback"
    total.hangs += outcome == "hang"
    total.wrong += outcome == "wrong"
    if outcome not in ("clean", "accepted"):
        total.failures.append(f"{one.name}: {outcome}: {words}")
