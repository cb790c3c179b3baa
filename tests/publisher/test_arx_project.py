"""`sfumato import`: projects laid out as ARX saves them, and files that only pretend to be one."""

import json
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from click.testing import CliRunner

from sfumato.cli import cli
from sfumato.errors import DataError, OutputError
from sfumato.publisher.arx import archive
from sfumato.publisher.arx.project import POLICY, import_project, read_project
from sfumato.publisher.policy import read_policy
from sfumato.publisher.publish import publish_policy

ROWS = "age;sex;zip;disease;name\n" + "".join(
    f"{20 + i % 40};{'MF'[i % 2]};0{1060 + i % 3};{['flu', 'HIV', 'cancer'][i % 3]};n{i}\n" for i in range(60)
)


def assignment(name: str, role: str, datatype: str = "String", **more: str) -> str:
    told = {"name": name, "type": role, "datatype": datatype, **more}
    return "<assigment>" + "".join(f"<{k}>{escape(v)}</{k}>" for k, v in told.items()) + "</assigment>"


def project(path: Path, criteria: list[str], **changed: str | bytes | None) -> Path:
    """A .deid file with the entries of ARX 3; ``changed`` replaces entries by name (None: left out)."""
    definition = "".join(
        [
            assignment("age", "QUASI_IDENTIFYING_ATTRIBUTE", "Integer"),
            assignment("sex", "QUASI_IDENTIFYING_ATTRIBUTE", ref="hierarchies/sex.csv", min="All", max="All"),
            assignment("zip", "QUASI_IDENTIFYING_ATTRIBUTE", ref="hierarchies/zip.csv", min="0", max="All"),
            assignment("disease", "SENSITIVE_ATTRIBUTE"),
            assignment("name", "IDENTIFYING_ATTRIBUTE"),
        ]
    )
    told = "".join(f"<criterion>{escape(c)}</criterion>" for c in criteria)
    entries: dict[str, str | bytes | None] = {
        "metadata.xml": "<metadata>\n\t<version>3.9.2</version>\n\t<vocabulary>2.0</vocabulary>\n</metadata>\n",
        "project.dat": b"\xac\xed\x00\x05 a Java object that nobody reads",
        "project.xml": "<project><name>Ward of Dr X</name><separator>;</separator></project>",
        "data/input.csv": ROWS,
        "input/config.dat": b"\xac\xed\x00\x05",
        "input/config.xml": "<config><relativeMaxOutliers>0.05</relativeMaxOutliers><metric>Loss (0.5)</metric>"
        f"<criteria>{told}</criteria></config>",
        "input/definition.xml": f"<definition>{definition}</definition>",
        "input/hierarchies/sex.csv": "M;*\nF;*\n",
        "input/hierarchies/zip.csv": "01060;0106*;*\n01061;0106*;*\n01062;0106*;*\n",
    }
    entries |= changed
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in entries.items():
            if content is not None:
                packed.writestr(name, content)
    return path


def test_a_project_becomes_a_job_that_publishes(tmp_path: Path) -> None:
    criteria = ["3-anonymity", "distinct-2-diversity for attribute 'disease'", "(0.1, 0.5)-presence"]
    found = import_project(project(tmp_path / "p.deid", criteria), tmp_path / "job")
    policy = read_policy(tmp_path / "job" / POLICY)
    assert {a.name: a.role.value for a in policy.attributes} == {
        **{"age": "quasi", "sex": "quasi", "zip": "quasi", "disease": "sensitive", "name": "identifier"}
    }
    assert [r.model for r in policy.requirements] == ["k-anonymity", "l-diversity"]
    assert policy.content["method"]["name"] == "incognito"
    assert policy.content["method"]["suppression"] == 0.05
    assert any("presence" in note for note in found.unmapped)
    assert any("limits of generalization of 'zip'" in note for note in found.unmapped)
    assert not any("Ward" in line for line in (tmp_path / "job" / POLICY).read_text().splitlines() if line[:1] != "#")
    assert (tmp_path / "job" / "data.csv").stat().st_mode & 0o077 == 0
    made = publish_policy(tmp_path / "job" / POLICY, tmp_path / "out")
    made.release.check()
    assert {c.model for c in made.release.description.requirements} == {"k-anonymity", "l-diversity"}


def test_every_model_that_has_a_counterpart(tmp_path: Path) -> None:
    criteria = [
        "(5)-anonymity",
        "entropy-2.5-diversity for attribute 'disease'",
        "recursive-(4.0,2)-diversity for attribute 'disease'",
        "0.2-closeness with equal distance for attribute 'disease'",
        "enhanced-1.5-likeness for attribute 'disease'",
        "basic-2.0-likeness for attribute 'disease'",
        "1.0-disclosure privacy for attribute 'disease'",
        "0.2-closeness with equal distance for attribute 'age'",
    ]
    found = read_project(project(tmp_path / "p.deid", criteria))
    models = [entry["model"] for entry in found.content["require"]]
    assert models == [
        *("k-anonymity", "l-diversity", "l-diversity", "t-closeness", "beta-likeness", "beta-likeness"),
        "delta-disclosure",
    ]
    assert any("attribute 'age'" in note for note in found.unmapped)  # not sensitive there


def test_dates_and_odd_names(tmp_path: Path) -> None:
    definition = assignment("when", "QUASI_IDENTIFYING_ATTRIBUTE", "Date/time", format="dd.MM.yyyy") + assignment(
        "../../sex", "QUASI_IDENTIFYING_ATTRIBUTE", ref="hierarchies/../../sex.csv"
    )
    path = project(
        tmp_path / "p.deid",
        ["2-anonymity"],
        **{
            "data/input.csv": "when;../../sex\n31.12.2024;M\n01.02.2025;F\n",
            "input/definition.xml": f"<definition>{definition}</definition>",
            "input/hierarchies/../../sex.csv": "M;*\nF;*\n",
        },
    )
    found = import_project(path, tmp_path / "deep" / "job")
    assert found.content["data"]["dates"] == "%d.%m.%Y"
    assert sorted(p.name for p in (tmp_path / "deep" / "job").iterdir()) == ["data.csv", "policy.toml", "sex.csv"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep", "p.deid"]


BOMB = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><config>&b;</config>"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"input/config.xml": BOMB}, "document type"),
        ({"input/config.xml": '<!DOCTYPE x SYSTEM "file:///etc/passwd"><config/>'}, "document type"),
        ({"input/config.xml": BOMB.encode("utf-16")}, "not UTF-8"),
        ({"input/config.xml": "<config>"}, "not XML"),
        ({"input/definition.xml": "<definition/>"}, "no column"),
        ({"data/input.csv": None}, "no data/input.csv"),
        ({"input/config.xml": b" " * (17 << 20)}, "larger than 16 MiB"),
        ({"input/definition.xml": "<definition>" + assignment("a", "ODD") + "</definition>"}, "'ODD'"),
    ],
)
def test_what_is_no_project_is_refused(tmp_path: Path, changed: dict[str, str | bytes | None], says: str) -> None:
    path = project(tmp_path / "p.deid", ["2-anonymity"], **changed)
    with pytest.raises(DataError, match=says):
        import_project(path, tmp_path / "job")
    assert not (tmp_path / "job").exists()


def test_the_command(tmp_path: Path) -> None:
    path = project(tmp_path / "p.deid", ["2-anonymity", "odd model"])
    ran = CliRunner().invoke(cli, ["import", str(path), "-o", str(tmp_path / "job")], catch_exceptions=False)
    assert ran.exit_code == 0
    assert "sfumato publish" in ran.output
    assert "odd model" in ran.stderr
    with pytest.raises(OutputError, match="already exists"):
        CliRunner().invoke(cli, ["import", str(path), "-o", str(tmp_path / "job")], catch_exceptions=False)
    told = CliRunner().invoke(cli, ["import", str(path), "-o", str(tmp_path / "two"), "--json"], catch_exceptions=False)
    assert json.loads(told.stdout)["policy"]["method"]["name"] == "incognito"
    (tmp_path / "no.deid").write_bytes(b"PK no zip")
    with pytest.raises(DataError, match="ARX project"):
        import_project(tmp_path / "no.deid", tmp_path / "three")


def test_archives_that_unpack_to_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes that stand for gigabytes: one entry, or all of them together."""
    file = project(tmp_path / "p.deid", ["3-anonymity"], **{"data/input.csv": ROWS + ";;;;\n" * 1_000_000})
    assert file.stat().st_size < 100_000
    monkeypatch.setattr(archive, "_LARGEST_TABLE", 1 << 20)
    with pytest.raises(DataError, match=r"data/input\.csv is larger than 1 MiB"):
        read_project(file)
    monkeypatch.setattr(archive, "_LARGEST_TABLE", 1 << 30)
    monkeypatch.setattr(archive, "_LARGEST_TOTAL", 1 << 20)
    with pytest.raises(DataError, match="larger than 1 MiB together"):
        read_project(file)
