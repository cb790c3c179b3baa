"""`[context]` of a policy and the reasons of roles: read, refused, written back, and public only where disclosed."""

import json
from pathlib import Path

import pytest

from sfumato.errors import PolicyError, ReleaseError
from sfumato.publisher.policy import Policy, parse_policy
from sfumato.publisher.publish import publish_policy
from sfumato.release.check.statement import parse_manifest
from sfumato.release.release import load

POLICY = """
title = "Ward"
[data]
source = "d.csv"
[attributes]
age = { role = "quasi", reason = "in the register of voters" }
ill = { role = "sensitive" }
[[require]]
model = "k-anonymity"
k = 2
"""
CONTEXT = """
[context]
operator = "Hospital of Vinci"
recipient = "Institute of Anatomy"
purpose = "a study of fevers"
legal_basis = "Art. 89 GDPR"
reference = "2026/17"
"""


def policy(more: str = "") -> Policy:
    return parse_policy(POLICY + more, folder=Path())


def test_it_is_read_and_written_back() -> None:
    job = policy(CONTEXT + 'disclose = ["purpose"]')
    assert job.context is not None
    assert job.context.told["legal_basis"] == "Art. 89 GDPR"
    assert job.context.public() == {"purpose": "a study of fevers"}
    assert job.reasons == {"age": "in the register of voters"}
    again = parse_policy(job.to_toml(), folder=Path())
    assert (again.context, again.reasons) == (job.context, job.reasons)
    assert policy().context is None


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("[context]\n", "must be a table with operator, recipient, purpose"),
        ("[context]\noperater = 'x'", "unknown key 'operater'; did you mean 'operator'"),
        ("[context]\noperator = 5", "operator in \\[context\\] of the policy must be a string"),
        ("[context]\noperator = ''", "must be a string on one line"),
        ("[context]\noperator = 'a\\u0000'", "must be a string"),
        ('[context]\noperator = "a\\nb"', "must be a string on one line"),
        ("[context]\noperator = 'a'\ndisclose = 'operator'", "must be a list of keys"),
        ("[context]\noperator = 'a'\ndisclose = ['purpose']", "names 'purpose', which the table does not have"),
    ],
)
def test_what_is_wrong_is_refused(more: str, words: str) -> None:
    if "u0000" in more:
        more = more.replace("'a\\u0000'", '"a\\u0000"')
    with pytest.raises(PolicyError, match=words):
        policy(more)


def test_a_reason_is_a_string() -> None:
    with pytest.raises(PolicyError, match="the reason of the attribute 'age' is 5"):
        parse_policy(POLICY.replace('"in the register of voters"', "5"), folder=Path())


def test_only_what_is_disclosed_is_public(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("age,ill\n" + "31,flu\n42,gout\n" * 4)
    (tmp_path / "p.toml").write_text(POLICY + CONTEXT + 'disclose = ["operator"]')
    publish_policy(tmp_path / "p.toml", tmp_path / "out")
    release = load(tmp_path / "out" / "release")
    assert release.manifest["context"] == {"operator": "Hospital of Vinci"}
    assert list(release.manifest)[:3] == ["sfumato", "title", "context"]
    assert "Hospital of Vinci" in (tmp_path / "out" / "release" / "README.html").read_text()
    release.check()
    public = b"".join(file.read_bytes() for file in (tmp_path / "out" / "release").iterdir()).decode("latin-1")
    for secret in ("Institute of Anatomy", "fevers", "Art. 89", "2026/17", "register of voters"):
        assert secret not in public


@pytest.mark.parametrize("context", [{}, {"operator": ""}, {"operator": 5}, {"officer": "x"}, {"disclose": "x"}])
def test_no_other_context_is_in_a_manifest(context: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("age,ill\n" + "31,flu\n42,gout\n" * 4)
    (tmp_path / "p.toml").write_text(POLICY)
    publish_policy(tmp_path / "p.toml", tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "release" / "manifest.json").read_text())
    assert "context" not in manifest
    with pytest.raises(ReleaseError, match="context"):
        parse_manifest(manifest | {"context": context})


def test_two_publishers_disclose_nothing_of_one_side(tmp_path: Path) -> None:
    section = "[integrate]\nparty = 'A'\nkey = 'id'\ncertificate = 'a'\nkey_file = 'b'\nauthority = 'c'\n"
    policy(section + CONTEXT)
    with pytest.raises(PolicyError, match="a release of two publishers is the same on both sides"):
        policy(section + CONTEXT + 'disclose = ["operator"]')
