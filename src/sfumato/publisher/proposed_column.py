"""One column of a table, with what it seems to be: its line in a proposed policy."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfumato.publisher.column_roles import Profile, Sign, dated, order, texts
from sfumato.publisher.own_taxonomies import distinct_of, lost_zeros
from sfumato.publisher.proposal import ProposedAttribute
from sfumato.table.written_tree import WrittenTree, structure_of, written_tree

SMALL_TREE = 6

WITHOUT_TREE = (
    'shown or suppressed, unless you add taxonomy = "file.csv" (an ARX hierarchy) or "file.json"; '
    "`sfumato taxonomy` writes one to begin with"
)
"""The note on a column without a taxonomy, for whoever edits the policy."""


@dataclass(frozen=True)
class ProposedColumn:
    """A column with what it is taken for."""

    seen: Profile
    sign: Sign

    def attribute(self, k: int) -> ProposedAttribute:
        """Its line, with the reasons; a value that fewer than ``k`` rows have is rare."""
        details = [self.sign.why]
        if self.sign.role == "quasi":
            details[0] += "" if "outsiders" in self.sign.why else ", which outsiders know"
            details += [f"{self.seen.distinct:,} value" + "s" * (self.seen.distinct != 1), *self._details(k)]
        return ProposedAttribute(
            name=self.seen.name,
            role=self.sign.role,
            kind=self.kind,
            taxonomy=self._taxonomy if self.sign.role == "quasi" else None,
            domain=order(self.seen) if self.kind == "ordinal" else None,
            pad=self._pad if self.sign.role == "quasi" else None,
            reason="; ".join(details),
            why=details[0],
        )

    @cached_property
    def kind(self) -> str:
        """Numbers and dates are generalized to intervals, levels to ranges, other values by a tree."""
        if self.sign.hint == "auto" and (self.seen.date or (self.seen.numeric and self.seen.distinct > 2)):
            return "date" if self.seen.date else "continuous"
        return "ordinal" if order(self.seen) else "categorical"

    @cached_property
    def _pad(self) -> int | None:
        return lost_zeros(self.seen, self.sign)

    @cached_property
    def _written(self) -> WrittenTree | None:
        """The tree that the values write themselves: of codes by their structure, of ages in bands."""
        column = distinct_of(self.seen, self.sign, self._pad)
        if column.is_age and self.kind == "continuous":
            return written_tree(column, "round")
        if self.kind != "categorical" or self.seen.distinct < 3 or dated(self.seen) or structure_of(column) is None:
            return None
        return written_tree(column, "code")

    @cached_property
    def _taxonomy(self) -> dict[str, Any] | None:
        if self._written is not None:
            return self._written.spec
        if self.kind != "categorical" or not 1 <= self.seen.distinct <= SMALL_TREE or self.sign.hint == "mask":
            return None
        root = next(name for dots in range(SMALL_TREE + 1) if (name := "Any" + "." * dots) not in self.seen.sample)
        return {root: list(self.seen.sample)}

    def _details(self, k: int) -> Iterator[str]:
        """What a steward should know about a quasi-identifier, besides why it is one."""
        if self._written is not None:
            yield self._written.reason
        if self._pad is not None:
            yield (
                f"codes lost their leading zeros, as in a spreadsheet; pad = {self._pad} restores them (remove it if "
                "they never had any)"
            )
        if self._written is None and self.kind in ("categorical", "ordinal"):
            yield from self._about_values(k)

    def _about_values(self, k: int) -> Iterator[str]:
        if dated(self.seen):
            yield "if written like 2025-12-31, it could be a date"
        elif self._taxonomy is None and self.kind == "categorical":
            yield WITHOUT_TREE
        rare = self.seen.values.filter(self.seen.counts < k)
        if len(rare):
            some = ", ".join(repr(value[:30]) for value in texts(rare.bottom_k(3)))
            listed = "; listed here, they are public" if self.kind == "ordinal" or self._taxonomy else ""
            yield f"rare values, in fewer than {k} rows: {len(rare):,} (such as {some}){listed}"
