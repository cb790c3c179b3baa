"""Look at a table for the first time: find out how it is written, read it, and propose a policy."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from sfumato.method.base import Progress, silent
from sfumato.publisher.propose import Proposal, propose
from sfumato.table.address import Address, begins_with_variable, expanded
from sfumato.table.checks import located
from sfumato.table.form import PLAIN, Form
from sfumato.table.sniff import Sniffed, sniffed
from sfumato.table.source import read_frame


@dataclass(frozen=True, eq=False)
class Inspected:
    """The rows of a table, and the policy that is proposed for it."""

    frame: pl.DataFrame
    proposal: Proposal


def inspect(
    data: str,
    *,
    query: str | None = None,
    seen_from: Path | None = None,
    form: Form = PLAIN,
    progress: Progress = silent,
) -> Inspected:
    """Read the table ``data`` and propose a policy for it, with a note on the passwords that it leaves out.

    ``seen_from`` is the folder of the policy, by which it names the table; ``form`` is what is known of how the table
    is written, the rest is found out.
    """
    source, variables = as_seen_from(data, seen_from if seen_from is not None else Path())
    progress("read", 0.0)
    found = form_of(data, form)
    frame = read_frame(expanded(data), query=query, form=found.form)
    progress("propose", 0.0)
    proposal = propose(frame, source, query=query, form=found)
    if variables:
        note = f"the policy contains no passwords: set {' and '.join(variables)} in the environment before you publish."
        proposal = replace(proposal, warnings=(*proposal.warnings, note))
    return Inspected(frame, proposal)


def form_of(data: str, given: Form = PLAIN) -> Sniffed:
    """How a file writes its rows; for anything else, and for a file that cannot be read, only what is ``given``."""
    source = expanded(data)
    path = None if "://" in source else located(source, None)
    if path is None or not path.is_file() or path.stat().st_size == 0:  # reading it says what is wrong
        return Sniffed(given)
    return sniffed(path, data, given)


def as_seen_from(data: str, folder: Path) -> tuple[str, list[str]]:
    """The source as a policy in ``folder`` should name it, and the variables that stand in place of passwords."""
    address = Address.of(data)
    if address is not None:
        public, variables = address.seen_from(folder).without_secrets()
        return str(public), variables
    return data if begins_with_variable(data) else os.path.relpath(data or ".", folder), []
