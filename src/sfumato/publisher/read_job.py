"""The table of a job: read and coded, with its digests, and what is refused about it."""

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import polars as pl

from sfumato.adversary.population_risk import refuse_smaller
from sfumato.background import Later, in_background
from sfumato.engine.base import Engine
from sfumato.engine.choice import EngineChoice, choose_engine
from sfumato.engine.local import LocalEngine
from sfumato.engine.overview import Overview
from sfumato.engine.progress import with_rows
from sfumato.errors import DataError, PolicyError
from sfumato.kernel.group import load_first_kernel
from sfumato.method.base import Progress
from sfumato.publisher.insensitive import refuse_unnamed_identifiers
from sfumato.publisher.policy import Policy
from sfumato.publisher.reading_ahead import Ahead
from sfumato.table.address import expanded
from sfumato.table.batches import Told, part_of, unheard
from sfumato.table.digest import table_digest
from sfumato.table.microdata import Microdata
from sfumato.table.ranked import ranked_columns
from sfumato.table.regular_file import digest_if_readable
from sfumato.table.source import read_frame

if TYPE_CHECKING:
    from sfumato.engine.duckdb.engine import DuckDBEngine
    from sfumato.engine.spark.engine import SparkEngine


_RANKED = 0.75
"""The share of coding that goes into ranking the cells, which is most of it."""


def entities(job: Policy, table: Microdata) -> list[str]:
    """The columns by which requirements count people; whether a requirement may do so is judged when it is bound."""
    named = [getattr(r, "entity", None) for r in job.requirements]
    return [name for name in named if isinstance(name, str) and name in table.names]


@dataclass(frozen=True)
class Digests:
    """What identifies the private table; found on another core while the job goes on."""

    of_cells: Later[str]
    of_file: Later[str]

    def find(self) -> None:
        """Find them, as far as nobody does yet."""
        self.of_cells.run()
        self.of_file.run()

    @property
    def cells(self) -> str:
        """A digest of the cells."""
        return self.of_cells.result()

    @property
    def file(self) -> str:
        """The SHA-256 of the file; empty if the table is not one."""
        return self.of_file.result()


def coded_and_known(job: Policy, progress: Progress, ahead: Ahead | None = None) -> tuple[LocalEngine, Digests]:
    """The coded data and their digests, which are not looked for yet: coding keeps both cores busy."""
    if job.engine.name not in ("auto", "local"):
        raise PolicyError(
            f"this command reads the table into memory, but the policy asks for the engine {job.engine.name}; "
            'set name = "local" under [engine]'
        )
    progress("read", 0.0)
    begun = ahead if ahead is not None and ahead.reads(job.source, job.nulls, job.folder) else None
    told = partial(progress, "read")
    if begun:
        load_first_kernel()  # while the file is read
    frame = begun.take(told) if begun else read_again(job, told)
    progress = with_rows(progress, frame.height)
    progress("code", 0.0)
    told = partial(progress, "code")
    ranking = part_of(told, 0.0, _RANKED)
    ranks = begun.take_ranks(ranking) if begun else ranked_columns(frame, ranking)
    digests = Digests(
        Later(partial(table_digest, frame, ranks)), Later(begun.digest.result if begun else partial(file_digest, job))
    )
    wanted, coded = job.covering(frame.columns), part_of(told, _RANKED, 1.0)
    table = Microdata.from_frame(frame, wanted, missing=job.missing, folder=job.folder, ranks=ranks, progress=coded)
    return LocalEngine(table), digests


def engine_of(job: Policy, progress: Progress, ahead: Ahead | None = None) -> tuple[Engine, Digests, EngineChoice]:
    """The engine that serves a job, the digests of its table, and why this engine was chosen."""
    source = expanded(job.source)
    choice = choose_engine(job.engine, source, job.query, job.folder)
    if getattr(job.named, "after", ()):
        choice = _in_memory(choice)
    if choice.name == "local":
        return *coded_and_known(job, progress, ahead), choice
    progress("read", 0.0)
    stored = _engine_class(choice.name).read(
        source,
        job.covering,
        query=job.query,
        nulls=job.nulls,
        missing=job.missing,
        folder=job.folder,
        form=job.form,
        settings=job.engine,
        progress=progress,
    )
    cells, file = stored.digest(), file_digest(job)
    return stored, Digests(Later(lambda: cells), Later(lambda: file)), choice


def begin_digests_and_report(digests: Digests) -> None:
    """Find on another core, while a release is made, what is needed only when it is written: one after the other."""

    def work() -> None:
        digests.find()
        import_module("sfumato.publisher.write_steps")
        import_module("sfumato.report.report").prepare_report()

    in_background(work)


def _engine_class(name: str) -> "type[DuckDBEngine] | type[SparkEngine]":
    """The engine of a name, imported when it is needed."""
    if name == "spark":
        from sfumato.engine.spark.engine import SparkEngine

        return SparkEngine
    from sfumato.engine.duckdb.engine import DuckDBEngine

    return DuckDBEngine


def _in_memory(choice: EngineChoice) -> EngineChoice:
    """Rows are joined with earlier releases one by one, in memory; another engine is refused if it was asked for."""
    if choice.name != "local" and choice.asked:
        raise PolicyError(
            f"the engine {choice.name} cannot join rows with earlier releases; "
            'set name = "local" under [engine], or leave out [[after]]'
        )
    return EngineChoice("local", "rows are joined with earlier releases in memory")


def file_digest(job: Policy) -> str:
    """The SHA-256 of the source; empty if it is not a file, or no longer there."""
    source = expanded(job.source)
    return "" if "://" in source else digest_if_readable(job.folder / source)


def read_again(job: Policy, told: Told = unheard) -> pl.DataFrame:
    """Read the data that a policy names, now; ``told`` is told how much has been read."""
    source = expanded(job.source)
    return read_frame(source, query=job.query, nulls=job.nulls, folder=job.folder, form=job.form, told=told)


def refuse_odd(policy: Policy, table: Overview) -> None:
    """Refuse identifiers that nobody named, quasi-identifiers that tell nobody apart, a population below the table."""
    refuse_unnamed_identifiers(policy, table)
    if policy.population_size is not None:
        refuse_smaller(policy.population_size, table.rows)
    for column in table.quasi:
        if table.rows > 1 and (column.codes == column.codes[0]).all():
            raise DataError(
                f"the quasi-identifier {column.name!r} has the same value in all {table.rows} rows and distinguishes "
                'nobody: give it the role "insensitive" to publish it, or "identifier" to leave it out'
            )
