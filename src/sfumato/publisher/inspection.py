"""Inspect a table for the first time: detect how it is written, read it, and propose a policy."""

import os
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import polars as pl

from sfumato.method.base import Progress, silent
from sfumato.publisher.proposal import Proposal
from sfumato.publisher.propose import propose
from sfumato.table.address import Address, begins_with_variable, expanded
from sfumato.table.batches import Told, unheard
from sfumato.table.file_set import files_of, is_several
from sfumato.table.form import PLAIN, Form
from sfumato.table.regular_file import located
from sfumato.table.sniff import Sniffed, sniffed
from sfumato.table.source import STATISTICS, read_frame
from sfumato.table.statistics_file import variable_labels


@dataclass(frozen=True, eq=False)
class Inspected:
    """The rows of a table, and the policy that is proposed for it."""

    frame: pl.DataFrame
    proposal: Proposal


@dataclass(frozen=True, eq=False)
class Looked:
    """A table, the form that its file seems to have, and what the file calls its columns in words."""

    frame: pl.DataFrame
    form: Sniffed
    labels: dict[str, str] = field(default_factory=dict)


def inspect(
    data: str,
    *,
    query: str | None = None,
    seen_from: Path | None = None,
    form: Form = PLAIN,
    trial: bool = False,
    progress: Progress = silent,
) -> Inspected:
    """Read the table ``data`` and propose a policy for it, with a note on the passwords that it leaves out.

    ``seen_from`` is the folder of the policy, which paths are relative to; ``form`` is what is known about how the
    table is written, and the rest is detected. With ``trial`` the proposal is tried on the table first, and asks for
    less if the table does not allow it.
    """
    source, variables = as_seen_from(data, seen_from if seen_from is not None else Path())
    progress("read", 0.0)
    seen = look_at(data, query, form, partial(progress, "read"))
    progress("propose", 0.0)
    proposal = propose(seen.frame, source, query=query, form=seen.form, labels=seen.labels)
    if trial:
        from sfumato.publisher.proposal_trial import tried  # it knows all methods, which take time to import

        proposal = tried(proposal, seen.frame, progress)
    if variables:
        note = f"the policy contains no passwords; set {' and '.join(variables)} in the environment before you publish."
        proposal = replace(proposal, warnings=(*proposal.warnings, note))
    return Inspected(seen.frame, proposal)


def look_at(data: str, query: str | None = None, given: Form = PLAIN, told: Told = unheard) -> Looked:
    """Read a table by the form that it seems to have; of several files, the first says which."""
    path = _file(expanded(data))
    form = Sniffed(given) if path is None else sniffed(path, data, given)
    frame = read_frame(expanded(data), query=query, form=form.form, told=told)
    labelled = path is not None and path.suffix.lower() in STATISTICS
    return Looked(frame, form, variable_labels(path, data) if path is not None and labelled else {})


def _file(source: str) -> Path | None:
    """The file to look at; None if there is none, or nothing in it: reading it says what is wrong."""
    if "://" in source:
        return None
    path = files_of(source, None)[1][0] if is_several(source, None) else located(source, None)
    return path if path.is_file() and path.stat().st_size else None


def as_seen_from(data: str, folder: Path) -> tuple[str, list[str]]:
    """The source as a policy in ``folder`` should name it, and the variables that replace passwords."""
    address = Address.of(data)
    if address is not None:
        public, variables = address.seen_from(folder).without_secrets()
        return str(public), variables
    return data if begins_with_variable(data) else os.path.relpath(data or ".", folder), []
