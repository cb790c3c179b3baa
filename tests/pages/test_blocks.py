"""Every code block of the docs runs: Python and console sessions as shown, parts of policies are accepted."""

from pathlib import Path

import pytest

from docs.tools.blocks import DOCS, blocks
from docs.tools.run import NotAsShown, run_page

PAGES = sorted([*DOCS.glob("*.md"), *(DOCS / "howto").glob("*.md"), DOCS.parent / "README.md"])
RUN = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    run_page(page, tmp_path)


def shown(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize(
    "block",
    [
        "```python\nassert 1 == 2\n```\n",
        "<!-- run\nassert 1 == 2\n-->\n",
        "```console\n$ sfumato methods\nno such method\n```\n",
        "```console\n$ sfumato check nowhere\n```\n",
        "```console exit=0\n$ rm -r .\n```\n",
        '```toml\n[method]\nname = "mondrian"\n[[require]]\nmodel = "k-anonymity"\nk = \n```\n',
    ],
)
def test_what_is_not_so_is_noticed(block: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, NotAsShown)):
        run_page(shown(tmp_path, block), tmp_path)


def test_files_sessions_and_exit_codes(tmp_path: Path) -> None:
    text = '```toml title="policy.toml"\ntitle = "x"\n```\n<!-- run\nassert open("policy.toml").read()\n-->\n'
    text += (
        "```console exit=2\n$ sfumato methods\nmondrian...\n...\n  refuted: ...\n$ sfumato publish policy.toml\n```\n"
    )
    run_page(shown(tmp_path, text), tmp_path)
