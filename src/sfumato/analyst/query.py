"""The small language of queries: SELECT COUNT(*) [, columns] [WHERE condition] [GROUP BY columns | CUBE columns]
[ORDER BY columns [DESC]] [LIMIT number].

>>> parse("select count(*), sex where age >= 30 and job in ('Nurse', 'Cook') group by sex").columns
('sex',)
>>> parse_condition("age >= 30 and not ill = 'flu'").parts[1]
Not(part=AttributeCondition(attribute='ill', op='=', literals=('flu',)))
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from sfumato.analyst.answer import ADDED
from sfumato.analyst.condition import All, AttributeCondition, Condition, Not, Some
from sfumato.errors import PolicyError

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.-])"
    r"|(?P<text>'(?:[^']|'')*')"
    r'|(?P<quoted>"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])'
    r"|(?P<word>[^\W\d][\w.-]*)"
    r"|(?P<sign><=|>=|<>|!=|==|[=<>(),*;]))"
)
_FORM = (
    "write SELECT COUNT(*) [, columns] [WHERE condition] [GROUP BY columns | CUBE columns] [ORDER BY columns [DESC]] "
    "[LIMIT number]; in place of COUNT(*) also AVG(column), SUM, MIN, MAX, MEDIAN or QUANTILE(column, share)"
)
_LONGEST = 100_000
_DEEPEST = 60
_RESERVED = {
    "select",
    "count",
    "from",
    "where",
    "group",
    "by",
    "cube",
    "and",
    "or",
    "not",
    "in",
    "between",
    "order",
    "limit",
}


@dataclass(frozen=True)
class Query:
    """What is asked: counts of the rows for which ``where`` is true, by ``columns``, with all subtotals if ``cube``.

    ``order``: by which columns of the answer it is sorted, and whether from the greatest down; ``limit``: how many
    groups are shown at most.
    """

    columns: tuple[str, ...] = ()
    cube: bool = False
    where: Condition = All()  # noqa: RUF009 - it is frozen
    order: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None
    figure: "Figure | None" = None


class Figure(NamedTuple):
    """A figure of a number: avg, sum, or the quantile of a share."""

    name: str
    column: str
    share: float = 0.5


_FIGURES = {"avg": 0.5, "sum": 0.5, "min": 0.0, "max": 1.0, "median": 0.5, "quantile": 0.5}


class _Token(NamedTuple):
    kind: str
    text: str


def parse(text: str) -> Query:
    """Parse a query; a syntax error says where it is."""
    reader = _Reader(text)
    if reader.now.kind == "end":
        raise PolicyError(f"the query is empty; {_FORM}")
    reader.need("select")
    selected, figure = reader.selection()
    if reader.takes("from"):
        reader.name()
    where: Condition = reader.condition() if reader.takes("where") else All()
    columns, cube = reader.grouping()
    order, limit = reader.ordering(), reader.most()
    reader.takes(";")
    reader.end()
    if columns and (extra := [c for c in selected if c not in columns]):
        raise PolicyError(f"the query selects {extra[0]!r} but does not group by it; add it to GROUP BY")
    chosen = columns or selected
    if figure and cube:
        raise PolicyError(f"CUBE is for counts; group {figure.name.upper()} by columns instead: GROUP BY")
    if len(set(chosen)) < len(chosen):
        raise PolicyError("the query names a column twice; name it once")
    if (order or limit is not None) and not chosen:
        raise PolicyError("ORDER BY and LIMIT apply to groups, but the query has none; add GROUP BY, or leave them out")
    answered = [*chosen, figure.name if figure else ADDED[0], *ADDED[1:]]
    if unknown := [n for n, _ in order if n not in answered]:
        raise PolicyError(
            f"the query is ordered by {unknown[0]!r}, which is not in the answer; order by one of {', '.join(answered)}"
        )
    return Query(tuple(chosen), cube, where, tuple(order), limit, figure)


def parse_condition(text: str) -> Condition:
    """Parse a condition alone; an empty one is always true."""
    reader = _Reader(text)
    if reader.now.kind == "end":
        return All()
    condition = reader.condition()
    reader.end()
    return condition


class _Reader:
    """A recursive-descent parser: one method per rule of the grammar."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str) or len(text) > _LONGEST:
            raise PolicyError(f"a query must be a string of at most {_LONGEST:,} characters")
        self.tokens = list(_tokens(text))
        self.at = 0
        self.depth = 0

    @property
    def now(self) -> _Token:
        return self.tokens[self.at]

    @property
    def here(self) -> str:
        """The place of an error, in words."""
        return repr(self.now.text) if self.now.text else "the end"

    def takes(self, word: str) -> bool:
        """Consume the next token if it is this word or symbol."""
        found = self.now.kind in ("word", "sign") and self.now.text.lower() == word
        self.at += found
        return found

    def need(self, word: str) -> None:
        if not self.takes(word):
            raise PolicyError(f"syntax error at {self.here}: expected {word.upper()}; {_FORM}")

    def end(self) -> None:
        if self.now.kind != "end":
            raise PolicyError(f"syntax error at {self.now.text!r}; join conditions with AND or OR")

    def name(self) -> str:
        token = self.now
        if token.kind == "quoted":
            self.at += 1
            return token.text[1:-1].replace('""', '"') if token.text[0] == '"' else token.text[1:-1]
        if token.kind != "word" or token.text.lower() in _RESERVED:
            raise PolicyError(
                f'syntax error at {self.here}: expected a column; quote names that contain spaces: "marital status"'
            )
        self.at += 1
        return token.text

    def names(self) -> list[str]:
        found = [self.name()]
        while self.takes(","):
            found.append(self.name())
        return found

    def figure(self) -> Figure | None:
        """AVG(column), SUM, MIN, MAX, MEDIAN, or QUANTILE(column, share); a column may have the same name."""
        name, after = self.now.text.lower(), self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if self.now.kind != "word" or name not in _FIGURES or after.text != "(":
            return None
        self.at += 2
        column, share = self.name(), _FIGURES[name]
        if name == "quantile":
            self.need(",")
            value = self.literal()
            if isinstance(value, str):
                raise PolicyError("QUANTILE needs a column and a share from 0 to 1: QUANTILE(age, 0.9)")
            share = value
        self.need(")")
        return Figure(name, column, share)

    def selection(self) -> tuple[list[str], Figure | None]:
        """COUNT(*) or a figure exactly once, optionally with columns."""
        columns: list[str] = []
        figures: list[Figure | None] = []
        while True:
            if figure := self.figure():
                figures.append(figure)
            elif self.takes("count"):
                self.need("(")
                self.need("*")
                self.need(")")
                figures.append(None)
            else:
                columns.append(self.name())
            if not self.takes(","):
                break
        if len(figures) != 1:
            raise PolicyError(
                "a query must count rows or ask for one figure: SELECT COUNT(*), or AVG(column), exactly once, "
                "optionally with columns"
            )
        return columns, figures[0]

    def grouping(self) -> tuple[list[str], bool]:
        grouped = self.takes("group")
        if grouped:
            self.need("by")
        cube = self.takes("cube")
        if not grouped and not cube:
            return [], False
        inside = self.takes("(")
        columns = self.names()
        if inside:
            self.need(")")
        return columns, cube

    def ordering(self) -> list[tuple[str, bool]]:
        """ORDER BY columns, each with ASC or DESC; COUNT(*) is the column count."""
        if not self.takes("order"):
            return []
        self.need("by")
        found = [self._ordered()]
        while self.takes(","):
            found.append(self._ordered())
        return found

    def _ordered(self) -> tuple[str, bool]:
        if self.takes("count"):
            if self.takes("("):
                self.need("*")
                self.need(")")
            name = "count"
        else:
            name = self.name()
        return name, self.takes("desc") or (self.takes("asc") and False)

    def most(self) -> int | None:
        """LIMIT number."""
        if not self.takes("limit"):
            return None
        token = self.now
        if token.kind != "number" or not token.text.isdigit():
            raise PolicyError(f"syntax error at {self.here}: LIMIT needs a whole number, 0 or more")
        self.at += 1
        return int(token.text)

    def condition(self) -> Condition:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise PolicyError(f"the condition is nested deeper than {_DEEPEST} levels; simplify it")
        parts = [self.conjunction()]
        while self.takes("or"):
            parts.append(self.conjunction())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def conjunction(self) -> Condition:
        parts = [self.negation()]
        while self.takes("and"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def negation(self) -> Condition:
        odd = False
        while self.takes("not"):
            odd = not odd
        part = self.primary()
        return Not(part) if odd else part

    def primary(self) -> Condition:
        if self.takes("("):
            inside = self.condition()
            self.need(")")
            return inside
        return self.comparison()

    def comparison(self) -> Condition:
        name = self.name()
        negated = self.takes("not")
        if self.takes("in"):
            self.need("(")
            values = [self.literal()]
            while self.takes(","):
                values.append(self.literal())
            self.need(")")
            return AttributeCondition(name, "!=" if negated else "=", tuple(values))
        if self.takes("between"):
            low = self.literal()
            self.need("and")
            inside = All((AttributeCondition(name, ">=", (low,)), AttributeCondition(name, "<=", (self.literal(),))))
            return Not(inside) if negated else inside
        op = {"<>": "!=", "==": "="}.get(self.now.text, self.now.text)
        if negated or self.now.kind != "sign" or op not in ("=", "!=", "<", "<=", ">", ">="):
            raise PolicyError(
                f"syntax error at {self.here}: expected =, !=, <, <=, >, >=, IN or BETWEEN after {name!r}"
            )
        self.at += 1
        return AttributeCondition(name, op, (self.literal(),))

    def literal(self) -> str | float:
        token = self.now
        if token.kind not in ("number", "text"):
            raise PolicyError(f"syntax error at {self.here}: expected a value; put words in single quotes: 'Sales'")
        self.at += 1
        return float(token.text) if token.kind == "number" else token.text[1:-1].replace("''", "'")


def _tokens(text: str) -> "list[_Token]":
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.end() == at:
            raise PolicyError(
                f"syntax error at {text[at:].lstrip()[:20]!r}; put words in single quotes and names that contain "
                "spaces in double quotes; numbers need no quotes"
            )
        kind = str(match.lastgroup)
        found.append(_Token(kind, match.group(kind)))
        at = match.end()
    return [*found, _Token("end", "")]
