"""The certificates that sfumato makes are what OpenSSL accepts, and their keys are for their owner alone."""

import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sfumato.errors import OutputError, PolicyError
from sfumato.integration import der, sodium
from sfumato.integration.certificates import Authority, KeyPair, make_certificates
from sfumato.integration.credentials import Credentials


def test_a_folder_of_certificates(tmp_path: Path) -> None:
    made = make_certificates(tmp_path / "new" / "folder")
    assert [path.name for path in made] == ["ca.pem", "a.pem", "a.key", "b.pem", "b.key"]
    assert sorted(made) == sorted((tmp_path / "new" / "folder").iterdir())  # the authority's key is not kept
    assert {path.stat().st_mode & 0o777 for path in made if path.suffix == ".key"} == {0o600}
    for name in ("a", "b"):
        folder = made[0].parent
        given = Credentials(
            certificate=folder / f"{name}.pem", key_file=folder / f"{name}.key", authority=folder / "ca.pem"
        )
        given.context(server=True)
        given.context(server=False)


def test_existing_files_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "b.key").write_text("precious")
    with pytest.raises(OutputError, match=r"already has b\.key; choose another folder"):
        make_certificates(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["b.key"]
    assert (tmp_path / "b.key").read_text() == "precious"


def test_a_folder_that_cannot_be_made_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot write certificates to"):
        make_certificates(tmp_path / "file" / "folder")


def test_each_run_makes_new_keys(tmp_path: Path) -> None:
    first, second = (make_certificates(tmp_path / name) for name in ("1", "2"))
    texts = [path.read_text() for path in first + second]
    assert len(set(texts)) == 10


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Whether pynacl is usable is asked again, before and after."""
    sodium.bindings.cache_clear()
    yield
    sodium.bindings.cache_clear()


@pytest.mark.usefixtures("forgetful")
def test_without_pynacl_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "nacl.bindings", None)
    with pytest.raises(PolicyError, match=r'pip install "sfumato\[two-party\]"'):
        make_certificates(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("forgetful")
def test_an_old_or_minimal_pynacl_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.delattr("nacl.bindings.crypto_core_ed25519_from_uniform")
        with pytest.raises(PolicyError, match=r"pynacl \d.* is too old for two publishers; update it"):
            sodium.bindings()
    monkeypatch.setattr("nacl.bindings.has_crypto_core_ed25519", False)
    with pytest.raises(PolicyError, match="minimal libsodium that lacks the arithmetic"):
        sodium.bindings()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command")
def test_openssl_reads_them_as_they_are_meant(tmp_path: Path) -> None:
    make_certificates(tmp_path)
    for purpose in ("sslserver", "sslclient"):
        strict = ["openssl", "verify", "-x509_strict", "-purpose", purpose, "-CAfile", str(tmp_path / "ca.pem")]
        done = subprocess.run([*strict, tmp_path / "a.pem", tmp_path / "b.pem"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    text = subprocess.run(
        ["openssl", "x509", "-in", tmp_path / "b.pem", "-noout", "-text"], capture_output=True, text=True
    ).stdout
    for words in ("CN = sfumato party B", "CA:FALSE", "ED25519", "TLS Web Server Authentication, TLS Web Client"):
        assert words.replace(" = ", "=") in text.replace(" = ", "="), text
    asked = ["openssl", "pkey", "-in", tmp_path / "b.key", "-pubout"]
    public = subprocess.run(asked, capture_output=True, text=True).stdout
    asked = ["openssl", "x509", "-in", tmp_path / "b.pem", "-noout", "-pubkey"]
    assert public == subprocess.run(asked, capture_output=True, text=True).stdout


@pytest.mark.parametrize("year", [2031, 2049, 2050, 2107])
def test_dates_of_all_centuries_are_read_back(year: int, tmp_path: Path) -> None:
    """Two digits of the year up to 2049, four after."""
    authority = Authority.new()
    end = datetime(year, 12, 31, 23, 59, 58, tzinfo=UTC)
    file = tmp_path / "c.pem"
    file.write_text(authority.certificate(datetime(2020, 1, 2, tzinfo=UTC), end))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(file)
    (found,) = context.get_ca_certs()
    assert ssl.cert_time_to_seconds(str(found["notAfter"])) == end.timestamp()
    assert ssl.cert_time_to_seconds(str(found["notBefore"])) == datetime(2020, 1, 2, tzinfo=UTC).timestamp()


def test_an_end_certificate_cannot_sign_others() -> None:
    """Whoever has the certificate of party A cannot make one of party B."""
    authority, keys = Authority.new(), KeyPair.new()
    start, end = datetime(2020, 1, 1, tzinfo=UTC), datetime(2090, 1, 1, tzinfo=UTC)
    text = authority.issue("sfumato party A", keys, start, end)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=text)
    assert context.get_ca_certs() == []


@pytest.mark.parametrize("size", [0, 1, 127, 128, 255, 256, 65535, 65536])
def test_lengths_in_der_are_the_shortest(size: int) -> None:
    written = der.element(4, bytes(size))
    header = written[: len(written) - size]
    if size < 128:
        assert header == bytes([4, size])
    else:
        assert header[1] == 0x80 + len(header) - 2
        assert int.from_bytes(header[2:]) == size
        assert header[2] != 0


@pytest.mark.parametrize(("number", "written"), [(0, "020100"), (127, "02017f"), (128, "02020080"), (256, "02020100")])
def test_integers_in_der_have_a_sign(number: int, written: str) -> None:
    assert der.integer(number).hex() == written
