"""The claims on each method's page are those of its class, word for word: ``make pictures`` copies them again."""

import re
from pathlib import Path

from docs.tools.blocks import method_page
from sfumato.method.base import Method
from sfumato.method.catalogue import METHODS

NOT_REFUTED = "Nothing has been refuted."


def quoted(text: str) -> str:
    """A claim as a block quote: a sentence."""
    return f"> {text[0].upper()}{text[1:].rstrip('.')}."


def claims(method: type[Method]) -> dict[str, str]:
    """What the page must quote, below which heading."""
    refuted = method.refuted
    return {"Guarantee": quoted(method.guarantees), "Refuted?": quoted(refuted) if refuted else f"> {NOT_REFUTED}"}


def with_claims(text: str, method: type[Method]) -> str:
    """The text of a page in which the first quote below each heading is the claim of the class."""
    for heading, quote in claims(method).items():
        below = rf"(^## {re.escape(heading)}\n\n)(?:>[^\n]*\n)*"
        text = re.sub(below, lambda m, quote=quote: f"{m[1]}{quote}\n", text, count=1, flags=re.M)  # type: ignore[misc]
    return text


def main() -> None:
    """Write the claims of all classes into the pages that there are."""
    for name in METHODS:
        page: Path = method_page(name)
        if page.is_file():
            page.write_text(with_claims(page.read_text(encoding="utf-8"), METHODS[name]), encoding="utf-8")


if __name__ == "__main__":
    main()
