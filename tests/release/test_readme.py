"""README.html: a pure function of the manifest, the same bytes again, safe, and with code that runs."""

import json
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from report_page import Page
from sfumato.analyst.reconstruction import sensitive_counts
from sfumato.errors import ReleaseError
from sfumato.method.anatomy import Anatomy
from sfumato.method.incognito.incognito import Incognito
from sfumato.method.mask.mask import Mask
from sfumato.method.mondrian import Mondrian
from sfumato.method.pg import PG
from sfumato.method.rr.rr import RandomizedResponse
from sfumato.method.topdown.sequential import TopDownSequential
from sfumato.release.check.statement import parse_manifest
from sfumato.release.earlier_file import earlier
from sfumato.release.readme.answers import greatest_deviation
from sfumato.release.readme.columns import label_words
from sfumato.release.readme.page import readme
from sfumato.release.release import Release, load
from sfumato.requirement.disclosure import Disclosure
from sfumato.requirement.k_anonymity import KAnonymity
from sfumato.requirement.l_diversity import LDiversity
from sfumato.requirement.m_confidentiality import MConfidentiality
from sfumato.requirement.templates import Anonymity
from sfumato.table.distortion import Distortion
from sfumato.table.microdata import Microdata, read

HOSTILE = """<img src=x onerror=alert(1)>"'&</pre></style><script>alert(2)</script>{{7*7}}{% x %}"""
SECTIONS = ["columns", "answers", "loading", "promised", "files"]


def table(rows: int = 240) -> Microdata:
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "job" + HOSTILE: rng.choice(["Nurse", "Cook", HOSTILE], rows),
            "ill": rng.choice(["flu", "HIV", "cancer", "none"], rows),
        }
    )
    job = {"job" + HOSTILE: {"Any": ["Nurse", "Cook", HOSTILE]}}
    ill = {"ill": ["flu", "HIV", "cancer", "none"]}
    return read(frame, quasi=["age", "job" + HOSTILE], sensitive="ill", taxonomies=job, domains=ill)


def after() -> Any:
    before = pl.DataFrame({"job" + HOSTILE: ["Nurse", "Cook", HOSTILE] * 40, "town": ["A", "B"] * 60})
    job = {"job" + HOSTILE: {"Any": ["Nurse", "Cook", HOSTILE]}}
    return earlier(before, quasi=before.columns, taxonomies=job, title=HOSTILE)


MAKERS = {
    "generalization": lambda t: Mondrian().publish(t, [KAnonymity(k=5)], title=HOSTILE),
    "mask": lambda t: Mask(k=4).publish(t, [MConfidentiality(m=2, values=["HIV"])], title="Masked"),
    "suppression": lambda t: Incognito(suppression=0.2).publish(t, [KAnonymity(k=8)], title="Left out"),
    "bucketization": lambda t: Anatomy().publish(t, [LDiversity(l=2)], title=HOSTILE),
    "sampling": lambda t: PG(p=0.5, k=4).publish(t, [KAnonymity(k=4)], title=HOSTILE),
    "randomization": lambda t: RandomizedResponse(keep={"age": 0.6, "job" + HOSTILE: 0.8, "ill": 0.7}).publish(
        t, [Disclosure(tau=0.99)], title=HOSTILE
    ),
    "tdssa": lambda t: TopDownSequential(after=[after()], score="distortion").publish(
        t, [Anonymity(x=["age", "town"], k=2)], title="Again"
    ),
}


@pytest.fixture(scope="module", params=MAKERS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of each scheme, written to a folder named after it."""
    found = tmp_path_factory.mktemp("readme") / request.param
    MAKERS[request.param](table()).write(found)
    return found


def page(folder: Path) -> str:
    return (folder / "README.html").read_text(encoding="utf-8")


def test_the_manifest_alone_gives_the_same_bytes(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert readme(parse_manifest(manifest)) == (folder / "README.html").read_bytes()


def test_check_knows_it(folder: Path, tmp_path: Path) -> None:
    found = load(folder).findings()
    assert [f.status for f in found if f.claim.startswith("README.html says")] == ["holds"]
    other = shutil.copytree(folder, tmp_path / "other")
    with (other / "README.html").open("ab") as file:
        file.write(b" ")
    with pytest.raises(ReleaseError, match=r"README.html says what the manifest says.*it was changed"):
        load(other).check()
    (other / "README.html").unlink()
    assert load(other).page is None
    load(other).check()


def test_every_section_and_warning_is_there(folder: Path) -> None:
    seen, release = Page(page(folder)), load(folder)
    ids = [value for tag, name, value in seen.attributes if (tag, name) == ("h2", "id")]
    expected = ["warnings"] * bool(release.warnings) + SECTIONS
    if release.description.after:
        expected.insert(-1, "earlier")
    assert ids == expected
    for warning in release.warnings:
        assert " ".join(warning.split()) in seen.words
    for claim in release.description.requirements:
        assert claim.words in seen.words
    for file in release.description.tables or ():
        assert file.sha256 in seen.words


def test_it_is_harmless_whatever_the_names(folder: Path) -> None:
    seen = Page(page(folder))
    assert not {"script", "img", "iframe", "object", "form"} & seen.elements.keys()
    assert not [name for _, name, _ in seen.attributes if name.startswith("on")]
    assert {value for _, name, value in seen.attributes if name == "href"} <= {
        "data:,",
        *(f"#{s}" for s in [*SECTIONS, "earlier"]),
    }
    assert ("meta", "content", "default-src 'none'; style-src 'unsafe-inline'; img-src data:") in seen.attributes
    assert "49" not in re.findall(r"alert\(2\)</script>(\d+)", " ".join(seen.text))


def codes(folder: Path, language: str) -> list[str]:
    blocks = re.findall(rf'<pre data-language="{language}">(.*?)</pre>', page(folder), re.DOTALL)
    return [unescape(block) for block in blocks]


def run(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(compile(code, "README.html", "exec"), names)  # the lines of the page, as a reader would run them
    return names


def test_polars_and_pandas_load_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = load(folder)
    names = run(codes(folder, "Polars")[0], folder, monkeypatch)
    for name, frame in release.tables.items():
        assert names[name].equals(frame)
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    names = run(codes(folder, "pandas")[0], folder, monkeypatch)
    for name, frame in release.tables.items():
        assert names[name].shape == frame.shape
        assert list(names[name].columns) == frame.columns
    for name in release.tables:
        assert f'{name} <- read_parquet("{name}.parquet")' in codes(folder, "R")[0]


def test_the_further_steps_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = load(folder)
    done = [run(code, folder, monkeypatch) for code in codes(folder, "Polars")[1:]]
    assert len(done) >= (folder.name != "suppression")
    for names in done:
        if "known" in names:
            _ends(names, release)
        if "linked" in names:
            assert names["table"]["expected"].sum() == pytest.approx(release.description.rows)
        if "people" in names:
            counts = sensitive_counts(release)
            assert names["estimate"] == pytest.approx(dict(zip(counts.values, counts.counts.tolist(), strict=True)))
        if "noise" in names:
            way = release.description.distortions()[names["column"]]
            shown = [names["shown"].get(v, 0) for v in names["domain"]]
            assert list(names["estimate"].values()) == pytest.approx((way.inverse @ shown).tolist())


def _ends(names: dict[str, Any], release: Release) -> None:
    nodes = release.description.label("age").nodes
    shown, data = release.tables["data"]["age"].cast(pl.String).to_list(), names["data"]
    for place, end in enumerate(("low", "high")):
        expected = [None if (m := nodes[label]) is None or len(m) != 2 else m[place] for label in shown]
        assert data[f"age {end}"].to_list() == expected


def test_each_scheme_is_told_as_it_is(folder: Path) -> None:
    words, name = Page(page(folder)).words, folder.name
    assert ("Some values of ill were replaced on purpose" in words) == (name == "mask")
    assert ("the table “sensitive” counts every value" in words) == (name == "bucketization")
    assert ("A single randomized cell may be wrong" in words) == (name == "randomization")
    assert ("Each row stands for G people" in words) == (name == "sampling")
    assert ("This release was made with earlier ones in mind" in words) == (name == "tdssa")
    assert ("left out and not counted in any answer" in words) == bool(
        load(folder).description.settings.get("suppressed")
    )
    assert ("Counts over ill are exact" in words) == (name in ("generalization", "suppression", "tdssa"))


def test_labels_in_words() -> None:
    assert label_words("[2025-01-01, 2025-02-01)", ["2025-01-01", "2025-02-01"]) == (
        "2025-01-01 or later and before 2025-02-01"
    )
    assert label_words("< 20", [None, 20.0]) == "below 20"
    assert label_words("(known)", [None, None]) == "any value, but not a missing one"
    assert label_words("(missing)", ["(missing)"]) == "no value is known"
    assert label_words("*", None) == "hidden: could be any value"
    assert label_words("Any", [str(i) for i in range(9)]) == "one of 9 values: 0, 1, 2, 3, …"


def test_the_stated_error_is_the_greatest() -> None:
    """Over all pairs of a true value and a value that is counted, by the definition of the variance."""
    for way in (
        Distortion.keeping(0.6, 3, what="x"),
        Distortion.given([[0.7, 0.2, 0.1], [0.1, 0.5, 0.3], [0.2, 0.3, 0.6]], 3, what="x"),
    ):
        deviations = []
        for true in range(3):
            for value in range(3):
                adds, chance = way.inverse[value], way.matrix[:, true]
                mean = adds @ chance
                deviations.append(np.sqrt(((adds - mean) ** 2) @ chance))
        assert greatest_deviation(way) == pytest.approx(max(deviations))


def test_a_page_of_another_version_is_stated(tmp_path: Path) -> None:
    release = MAKERS["generalization"](table())
    release.stating(sfumato="99.0").write(tmp_path / "out")
    found = [f for f in load(tmp_path / "out").findings() if f.claim.startswith("README.html")]
    assert [f.status for f in found] == ["stated"]
    assert "the page was written by sfumato 99.0" in found[0].detail


def test_a_page_that_is_no_file_is_refused(tmp_path: Path) -> None:
    MAKERS["generalization"](table()).write(tmp_path / "out")
    place = tmp_path / "out" / "README.html"
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ReleaseError, match=r"README.html cannot be read"):
        load(tmp_path / "out")
