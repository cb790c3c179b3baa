"""The code blocks of a page, and the names and settings that make them run."""

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[1]

_FENCE = re.compile(r"^( *)```(\w+)?([^\n]*)\n(.*?)^\1```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, what stands behind the language, its text and the line where it begins."""

    language: str
    info: str
    text: str
    line: int


def blocks(page: Path, language: str | None = None) -> list[Block]:
    """All fenced blocks of a page, or those of one language."""
    text = page.read_text(encoding="utf-8")
    found = [
        Block(m[2] or "", m[3].strip(), _dedented(m[4], len(m[1])), text[: m.start()].count("\n") + 2)
        for m in _FENCE.finditer(text)
    ]
    return [block for block in found if language in (None, block.language)]


def section(page: Path, heading: str) -> str:
    """The text below a second-level heading, up to the next; empty if there is none."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found[1] if found else ""


def method_page(name: str) -> Path:
    """The page of a method: a plus is written out."""
    return DOCS / "methods" / f"{name.replace('+', '-plus', 1).replace('+', '-plus')}.md"


def _dedented(text: str, spaces: int) -> str:
    return "".join(line[spaces:] if line[:spaces].isspace() else line for line in text.splitlines(keepends=True))
