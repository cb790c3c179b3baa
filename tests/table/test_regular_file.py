"""Digests of files, whatever their size beside that of the chunks they are read in."""

from hashlib import sha256
from pathlib import Path

import pytest

from sfumato.table import regular_file
from sfumato.table.regular_file import digest, digest_if_readable


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 128, 200])
def test_the_digest_is_that_of_all_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(regular_file, "_CHUNK", 64)
    content = bytes(place % 251 for place in range(size))
    (tmp_path / "file").write_bytes(content)
    assert digest(tmp_path / "file") == sha256(content).hexdigest()


def test_a_file_that_cannot_be_read_has_no_digest(tmp_path: Path) -> None:
    assert digest_if_readable(tmp_path / "absent") == ""
    assert digest_if_readable(tmp_path) == ""
    with pytest.raises(FileNotFoundError):
        digest(tmp_path / "absent")
