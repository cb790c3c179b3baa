"""Small messy tables, each with the policy that `init` must propose; and that `publish` accepts what is proposed."""

import json
from pathlib import Path

import pytest

from publisher.messy_files import FILES, POLICIES, proposed
from sfumato.publisher.inspection import inspect
from sfumato.publisher.publish import publish_policy

EXPECTED = json.loads(POLICIES.read_text(encoding="utf-8"))
PUBLISHED = (
    *("german clinic in cp1252", "folder", "cover, title and lost zeros", "spss with labels", "survey weights"),
    *("mostly negative", "british postcodes", "many markers", "polish clinic in utf-16", "american times"),
)


def test_there_are_sixty() -> None:
    assert len(FILES) >= 60
    assert set(EXPECTED) == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_what_is_proposed(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")
    assert proposed(name, tmp_path) == EXPECTED[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_proposed_can_be_published(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")
    found = inspect(str(tmp_path / FILES[name](tmp_path)), seen_from=tmp_path, trial=True).proposal
    assert found.trial is not None
    (tmp_path / "policy.toml").write_text(found.to_toml(), encoding="utf-8")
    made = publish_policy(tmp_path / "policy.toml", tmp_path / "out", ledger=False)
    made.release.check()
    assert made.summary.published == 60
