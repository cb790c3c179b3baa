"""The code blocks of a page: fenced ones, and what is run before them but not shown."""

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[1]

_FENCE = re.compile(r"^( *)```(\w+)?([^\n]*)\n(.*?)^\1```$|^( *)<!-- run\n(.*?)^\5-->$", re.M | re.S)
_TITLE = re.compile(r'title="([\w./-]+)"')


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, what stands behind the language, its text and the line where it begins.

    The language ``run`` is Python in a comment, ``<!-- run`` to ``-->``: it prepares what the next blocks need.
    """

    language: str
    info: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The file that the block shows: ``title="policy.toml"``."""
        found = _TITLE.search(self.info)
        return found[1] if found else None


def blocks(page: Path, language: str | None = None) -> list[Block]:
    """All blocks of a page in order, or those of one language."""
    text = page.read_text(encoding="utf-8")
    found = [_block(match, text) for match in _FENCE.finditer(text)]
    return [block for block in found if language in (None, block.language)]


def section(page: Path, heading: str) -> str:
    """The text below a second-level heading, up to the next; empty if there is none."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found[1] if found else ""


def method_page(name: str) -> Path:
    """The page of a method: a plus is written out."""
    return DOCS / "methods" / f"{name.replace('+', '-plus')}.md"


def _block(match: re.Match[str], text: str) -> Block:
    line = text[: match.start()].count("\n") + 2
    if match[6] is not None:
        return Block("run", "", _dedented(match[6], len(match[5])), line)
    return Block(match[2] or "", match[3].strip(), _dedented(match[4], len(match[1])), line)


def _dedented(text: str, spaces: int) -> str:
    return "".join(line[spaces:] if line[:spaces].isspace() else line for line in text.splitlines(keepends=True))
