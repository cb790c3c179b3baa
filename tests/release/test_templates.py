"""Page templates are compiled once, and again whenever what was kept is not what would be compiled now."""

from pathlib import Path

import jinja2
import pytest

from sfumato import own_folder
from sfumato.release.readme import templates
from sfumato.release.readme.page import environment


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own for compiled templates, which is empty."""
    tmp_path.chmod(0o700)
    monkeypatch.setattr(templates, "user_folder", lambda: str(tmp_path))
    own_folder.is_private.cache_clear()
    return tmp_path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that were compiled."""
    found: list[str] = []
    compile_ = jinja2.Environment.compile

    def noted(self: jinja2.Environment, source: str) -> object:
        found.append(source)
        return compile_(self, source)

    monkeypatch.setattr(jinja2.Environment, "compile", noted)
    return found


def style() -> str:
    made = templates.template(environment(), "sfumato.report", "compare.html.j2")
    return "".join(made.root_render_func.__code__.co_varnames)


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("templates/*.code"))


def test_a_template_is_compiled_once(folder: Path, compiled: list[str]) -> None:
    assert style() == style()
    assert len(compiled) == len(kept(folder)) == 1


def test_what_was_kept_renders_as_what_was_compiled(folder: Path) -> None:
    made = [templates.template(environment(), "sfumato.report", "report.md.j2") for _ in range(2)]
    assert len(kept(folder)) == 1
    assert made[0].root_render_func.__code__.co_code == made[1].root_render_func.__code__.co_code
    assert set(made[0].blocks) == set(made[1].blocks)


@pytest.mark.parametrize("harm", [lambda d: d[:-1], lambda d: b"", lambda d: d[:-9] + bytes([d[-9] ^ 1]) + d[-8:]])
def test_what_is_damaged_is_compiled_again(folder: Path, compiled: list[str], harm: object) -> None:
    style()
    (file,) = kept(folder)
    file.write_bytes(harm(file.read_bytes()))  # type: ignore[operator]
    style()
    style()
    assert len(compiled) == 2


def test_other_sources_are_compiled_again(folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    style()
    monkeypatch.setattr(templates, "_stamp", lambda: "other")
    style()
    assert len(compiled) == len(kept(folder)) == 2


def test_a_folder_that_others_can_write_is_not_used(folder: Path, compiled: list[str]) -> None:
    (folder / "templates").mkdir()
    (folder / "templates").chmod(0o777)
    own_folder.is_private.cache_clear()
    style()
    style()
    assert len(compiled) == 2
    assert not kept(folder)


def test_without_a_folder_templates_are_compiled(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "user_folder", lambda: None)
    style()
    assert len(compiled) == 1
