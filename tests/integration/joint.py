"""A joined table split by columns between two publishers, who refine it together in two threads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from integration.parties import converse
from sfumato.integration.channel import Channel
from sfumato.integration.columns import own_columns
from sfumato.integration.common_table import CommonTable
from sfumato.integration.mirror import PartyRefinement, mirrored
from sfumato.integration.refine import Compare, JointRefinement
from sfumato.integration.wire import Message, Reason
from sfumato.method.topdown.search import SCORES
from sfumato.method.topdown.templates import bound_to, refuse_unmet, templates_of
from sfumato.method.topdown.topdown import TopDown
from sfumato.release.judgement import TableSchema
from sfumato.requirement.base import Requirement
from sfumato.table.encode import Role
from sfumato.table.microdata import Microdata


def compare_plainly(channel: Channel, value: int | None) -> int:
    """The comparison without any secrecy, for tests of everything else."""
    mine = value or 0
    theirs = int.from_bytes(channel.exchange(Message.DIGEST, mine.to_bytes(8, "big"), at_most=8), "big")
    first, second = (mine, theirs) if channel.party == 1 else (theirs, mine)
    return 2 if second > first else 1


def ordered(table: Microdata, held_by_a: Sequence[str]) -> Microdata:
    """The joined table in the joint order: A's columns, then B's."""
    first = {n: c for n, c in table.columns.items() if n in held_by_a}
    return replace(table, columns=first | {n: c for n, c in table.columns.items() if n not in held_by_a})


def masked_by(table: Microdata, require: Sequence[Requirement]) -> Microdata:
    """The table without quasi-identifiers that no template masks; publishers do not bring these."""
    wanted = [getattr(r, "x", None) for r in require]
    keep = {c.name for c in table.quasi if any(x is None or c.name in x for x in wanted)}
    return replace(table, columns={n: c for n, c in table.columns.items() if c.role is not Role.QUASI or n in keep})


def side_of(table: Microdata, held: Sequence[str]) -> Microdata:
    """What one publisher holds of a joined table: its own quasi-identifiers; the others are mirrors."""
    others = [c.name for c in table.quasi if c.name not in held]
    return replace(table, columns={**table.columns, **mirrored(others, table.rows)})


@dataclass
class Side:
    """What a publisher has after the refinement."""

    joint: JointRefinement

    @property
    def labels(self) -> dict[str, list[str]]:
        """The label of each record on each masked attribute."""
        common = self.joint.common
        return {
            name: [labels[i].label for i in of_record]
            for name, labels, of_record in zip(common.names, common.labels, common.of_record, strict=True)
        }


def party(table: Microdata, held: Sequence[str], require: Sequence[Requirement], method: TopDown) -> PartyRefinement:
    """The state of one publisher."""
    mine = side_of(table, held)
    bound = bound_to(require, mine, "tds2p")
    refuse_unmet(bound, mine)
    templates, _ = templates_of(bound, TableSchema(mine))
    mirrors = [c.name for c in table.quasi if c.name not in held]
    suppress = method.categorical == "suppress"
    return PartyRefinement(mine, templates, SCORES[method.score], suppress=suppress, mirrors=mirrors)


def refine_together(
    table: Microdata,
    held_by_a: Sequence[str],
    require: Sequence[Requirement],
    method: TopDown,
    *,
    compare: Compare = compare_plainly,
    record: bool = False,
) -> tuple[Side, Side, list[str], Channel, Channel]:
    """Both sides after the refinement, and the steps as they were shown to A."""
    table = masked_by(ordered(table, held_by_a), require)
    held_by_b = [c.name for c in table.quasi if c.name not in held_by_a]
    sides = [party(table, held, require, method) for held in (held_by_a, held_by_b)]
    start = own_columns(sides[0]) | own_columns(sides[1])
    names = [c.name for c in sides[0].columns]
    told: list[str] = []

    def run(own: PartyRefinement, channel: Channel) -> Side:
        common = CommonTable(names, [start[n].root for n in names], table.rows)
        listen = (lambda stage, done: told.append(stage)) if channel.party == 1 else (lambda stage, done: None)
        joint = JointRefinement(channel, own, common, compare=compare, progress=listen)
        try:
            joint.run()
        except BaseException:
            channel.abort(Reason.FAILED)
            raise
        return Side(joint)

    a, b, first, second = converse(partial(run, sides[0]), partial(run, sides[1]), record=record)
    return a, b, told, first, second
