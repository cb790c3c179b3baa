"""Which methods can serve a job, and whether they are refuted; which cannot, and why; and what is impossible."""

from collections.abc import Sequence

from sfumato.engine.local import LocalEngine
from sfumato.errors import SfumatoError
from sfumato.method.base import Method
from sfumato.method.catalogue import METHODS
from sfumato.method.choice import ready
from sfumato.publisher.compare.points import ComparisonPlan, planned
from sfumato.release.judgement import completed, refuse_infeasible
from sfumato.requirement.base import Requirement
from sfumato.table.microdata import Microdata


def offers(table: Microdata, requirements: Sequence[Requirement], own: Method | None = None) -> ComparisonPlan:
    """Ask every method whether it can serve these requirements on this table; ``own`` has settings of its own.

    The points are the methods that can, each with the settings that make it possible, those that are not refuted first;
    for the others the plan says why they cannot.

    >>> import polars as pl, sfumato as sf
    >>> table = sf.read(pl.DataFrame({"age": [20, 21, 40]}), quasi=["age"])
    >>> [point.method.name for point in offers(table, [sf.KAnonymity(k=2)]).points]
    ['mondrian', 'incognito', 'local-recoding', 'tdr', 'tdd']
    """
    every = [own if own is not None and own.name == name else ready(name, requirements) for name in METHODS]
    plan = planned(table, requirements, every, {})
    return ComparisonPlan(tuple(sorted(plan.points, key=lambda p: p.refuted is not None)), plan.unserved)


def impossible(table: Microdata, requirements: Sequence[Requirement]) -> dict[int, str]:
    """The requirements that even the whole table as one group fails, by their place, with limit and remedy.

    >>> import polars as pl, sfumato as sf
    >>> table = sf.read(pl.DataFrame({"age": [20, 21, 40]}), quasi=["age"])
    >>> impossible(table, [sf.KAnonymity(k=2), sf.KAnonymity(k=5)])
    {1: 'k-anonymity: 3 rows cannot be 5-anonymous; lower k to 3 or less'}
    """
    engine = LocalEngine(table)
    found: dict[int, str] = {}
    for place, needed in enumerate(requirements):
        try:
            bound = completed([needed], table)
            refuse_infeasible(bound, engine.count([name for r in bound for name in r.reads()]))
        except SfumatoError as e:
            found[place] = str(e)
    return found
