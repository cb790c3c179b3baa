"""What a run of odd inputs or of mutants came to."""

from dataclasses import dataclass, field


@dataclass
class Summary:
    """How many inputs were refused in words, how many accepted, and how many ended in a defect."""

    inputs: int = 0
    clean: int = 0
    accepted: int = 0
    unverifiable: int = 0
    """Accepted ones of which nobody outside can tell; the check says that they are stated."""
    tracebacks: int = 0
    hangs: int = 0
    wrong: int = 0
    """Accepted though false or to be refused, read as something else, or refused without a readable sentence."""
    failures: list[str] = field(default_factory=list)

    @property
    def defects(self) -> int:
        return self.tracebacks + self.hangs + self.wrong


def as_table(rows: dict[str, Summary]) -> str:
    """A line for each kind of input.

    >>> print(as_table({"inputs": Summary(inputs=3, clean=2, accepted=1)}))
                  inputs     clean  accepted  tracebacks  hangs  wrong
    inputs             3         2         1           0      0      0
    """
    lines = [f"{'':12}{'inputs':>8}{'clean':>10}{'accepted':>10}{'tracebacks':>12}{'hangs':>7}{'wrong':>7}"]
    for name, s in rows.items():
        lines.append(f"{name:12}{s.inputs:8}{s.clean:10}{s.accepted:10}{s.tracebacks:12}{s.hangs:7}{s.wrong:7}")
    return "\n".join(lines)
