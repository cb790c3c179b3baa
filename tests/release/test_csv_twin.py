"""The csv files of a release: `load` and `query` leave them alone; `check` reads them, and whoever states digests."""

import hashlib
import json
import time
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli import main
from sfumato.release import release as release_module
from sfumato.release.check import statement
from sfumato.release.earlier import as_earlier
from sfumato.release.files import store
from sfumato.release.files.csv_twin import same_bytes, same_values
from sfumato.release.files.spreadsheet import csv_of
from sfumato.release.manifest import OutputEntry
from strategies import examples


def holds(file: Path, frame: pl.DataFrame, output: OutputEntry | None, cells: int) -> bool:
    found = {same_bytes(file, frame, output, cells, many) for many in (0, 100)}
    assert len(found) == 1
    return found == {True} or same_values(file, frame, output)


def private() -> sf.Microdata:
    frame = pl.DataFrame({"age": [20, 21, 35, 36], "ill": ["flu", "HIV", "flu", "=1"], "dose": [0.5, 1e-7, 2.0, 3.25]})
    return sf.read(frame, quasi=["age"], sensitive="ill", insensitive=["dose"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sf.publish(private(), require=sf.KAnonymity(k=2)).write(tmp_path / "release")
    return tmp_path / "release"


def forge(folder: Path, *, restated: bool) -> None:
    """Change what people read in the csv file; ``restated``: with its digest in the manifest, as a careful forger."""
    file = folder / "data.csv"
    file.write_text(file.read_text().replace("HIV", "flu"))
    if restated:
        forge_digests(folder)


def forge_digests(folder: Path) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for entry in manifest["tables"]:
        entry["sha256"] = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()
    path.write_text(json.dumps(manifest), encoding="utf-8")


@pytest.mark.parametrize("restated", [False, True])
def test_a_forged_twin_is_found_by_check_and_by_those_who_state_its_digest(folder: Path, restated: bool) -> None:
    forge(folder, restated=restated)
    release = sf.load(folder)  # the parquet file is what the manifest says
    assert sorted(release.tables["data"]["ill"]) == ["=1", "HIV", "flu", "flu"]
    with pytest.raises(sf.ReleaseError, match=r"data\.csv"):
        release.check()
    with pytest.raises(sf.ReleaseError, match=r"data\.csv"):
        sf.audit(release, truth=private())
    with pytest.raises(sf.ReleaseError, match=r"cannot be used: data\.csv"):
        as_earlier(folder, "T2")


def test_a_query_answers_from_the_parquet_file_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge(folder, restated=False)
    with pytest.raises(SystemExit) as done:
        main(["query", str(folder), "SELECT COUNT(*) WHERE ill = 'HIV'", "--json"])
    assert done.value.code in (0, None)
    assert json.loads(capsys.readouterr().out)["estimate"] == 1.0


FORGED_WORDS = {"twice": b"3;flu3;flu", "too short": b"2;fl9;HIV", "negative": b"-1;flu", "no number": b"flu"}


@pytest.mark.parametrize("words", FORGED_WORDS.values(), ids=[*FORGED_WORDS])
def test_words_that_no_column_can_list_are_refused(
    folder: Path, words: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """Polars panics at them, which is not an `Exception`."""
    told = pq.read_table(folder / "data.parquet")
    fields = [f.with_metadata({b"_PL_ENUM_VALUES2": words}) if f.metadata else f for f in told.schema]
    assert any(f.metadata for f in told.schema)
    pq.write_table(pa.table(told.columns, schema=pa.schema(fields)), folder / "data.parquet")
    forge_digests(folder)
    with pytest.raises(SystemExit) as done:
        main(["check", str(folder)])
    assert done.value.code == 4
    assert "data.parquet cannot be read as parquet" in capsys.readouterr().err


def test_a_time_that_cannot_be_written_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pl.DataFrame({"age": [20, 21, 35, 36], "ill": ["flu", "HIV"] * 2, "when": [1, 2, 3, 4]})
    table = sf.read(frame, quasi=["age"], sensitive="ill", insensitive=["when"])
    folder = tmp_path / "release"
    sf.publish(table, require=sf.KAnonymity(k=2)).write(folder)
    file = folder / "data.parquet"
    pl.read_parquet(file).with_columns(pl.lit(2**62).cast(pl.Datetime("ms")).alias("when")).write_parquet(file)
    forge_digests(folder)
    with pytest.raises(SystemExit) as done:
        main(["check", str(folder)])
    assert done.value.code == 4
    assert "'when' has days before the year 1" in capsys.readouterr().err


def test_a_panic_while_a_twin_is_compared_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object) -> bool:
        raise pl.exceptions.PanicException("no such day")

    for name in ("same_bytes", "same_values"):
        with monkeypatch.context() as patched:
            patched.setattr(store, "same_bytes", lambda *_: False)
            patched.setattr(store, name, panic)
            with pytest.raises(sf.ReleaseError, match="cannot be written as csv"):
                sf.load(folder).check()


def test_no_file_is_in_use_when_a_check_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []

    def slow(*_: object) -> bool:
        time.sleep(0.3)
        ended.append(True)
        return True

    def fails(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(store, "same_bytes", slow)
    monkeypatch.setattr(release_module, "shown_groups", fails)
    with pytest.raises(MemoryError):
        sf.load(folder).findings()
    assert ended


def test_a_column_named_like_a_pattern_is_refused(folder: Path) -> None:
    frame = pl.read_parquet(folder / "data.parquet").rename({"dose": "^d$"})
    frame.write_parquet(folder / "data.parquet")
    path = folder / "manifest.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"dose"', '"^d$"'), encoding="utf-8")
    forge_digests(folder)
    with pytest.raises(sf.ReleaseError, match="no release has such a column"):
        sf.load(folder)


def test_a_column_has_no_codes_beyond_the_words_that_it_lists(tmp_path: Path) -> None:
    """Kernels rely on this where codes are places in memory: words that are left out are missing values."""
    there = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 9, pa.uint8()), pa.array(["a", "b", "c"]), ordered=True)
    field = pa.field("w", there.type, metadata={b"_PL_ENUM_VALUES2": b"1;a"})
    pq.write_table(pa.table([there], schema=pa.schema([field])), tmp_path / "w.parquet")
    column = pl.read_parquet(tmp_path / "w.parquet")["w"]
    assert column.dtype == pl.Enum(["a"])
    assert column.to_physical().max() == 0
    assert column.null_count() == 18


def test_a_twin_that_is_missing_is_refused_at_once(folder: Path) -> None:
    (folder / "data.csv").unlink()
    with pytest.raises(sf.ReleaseError, match=r"data\.csv is missing"):
        sf.load(folder)


TABLES = st.lists(st.tuples(st.sampled_from(["a", "=b", 'c"', "d,e", ""]), st.floats(-9, 9)), max_size=9)


@examples(60)
@given(TABLES, st.integers(1, 4), st.sampled_from(["plain", "safe"]), st.data())
def test_some_rows_at_a_time_are_compared_as_all_at_once(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, float]],
    cells: int,
    spreadsheet: str,
    data: st.DataObject,
) -> None:
    frame = pl.DataFrame(rows, schema={"=text": pl.String, "number": pl.Float64}, orient="row")
    file = tmp_path_factory.mktemp("twin") / "data.csv"
    content = csv_of(frame, {"spreadsheet": spreadsheet}).write_csv().encode()
    file.write_bytes(content)
    assert holds(file, frame, {"spreadsheet": spreadsheet}, cells)
    file.write_bytes(content + b"more,1.0\n")
    assert not holds(file, frame, {"spreadsheet": spreadsheet}, cells)
    if rows:
        changed = bytearray(content)
        at = data.draw(st.sampled_from([i for i, c in enumerate(content) if chr(c) in "abcde"] or [0]))
        changed[at] ^= 1
        file.write_bytes(bytes(changed))
        assert not holds(file, frame, {"spreadsheet": spreadsheet}, cells)


def test_numbers_may_be_written_in_another_way(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("x\n1.50\n2\n")
    assert holds(tmp_path / "data.csv", pl.DataFrame({"x": [1.5, 2.0]}), None, 1)
    assert not holds(tmp_path / "data.csv", pl.DataFrame({"x": [1.5, 2.5]}), None, 1)


@pytest.fixture
def large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same release, with a csv file that is too large for its digest to be computed without being asked for."""
    monkeypatch.setattr(store, "DIGEST_LIMIT", (folder / "data.csv").stat().st_size - 1)
    return folder


def other_digest(folder: Path) -> None:
    """A manifest that states a SHA-256 which the csv file does not have."""
    tables = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["tables"]
    (folder / "README.html").unlink()  # it states the digests, too
    restate(folder, tables=[t | {"sha256": "0" * 64} if t["file"] == "data.csv" else t for t in tables])


def checked(folder: Path, *options: str) -> int:
    with pytest.raises(SystemExit) as done:
        main(["check", str(folder), *options])
    return int(done.value.code or 0)


def test_the_digest_of_a_large_csv_file_is_stated_unless_it_is_asked_for(
    large: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = "data.csv has the SHA-256 that the manifest states"
    found = {f.claim: f for f in sf.load(large).check()}[claim]
    assert found.status == "stated"
    assert "every byte of it was compared" in found.detail
    assert "--digests" in found.detail
    assert claim not in {f.claim for f in sf.load(large).check(digests=True)}
    assert checked(large, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert claim in {c["claim"] for c in told["claims"] if c["status"] == "stated"}
    assert checked(large) == 0
    assert "stated ones about a SHA-256 need --digests; for the others" in capsys.readouterr().out
    assert checked(large, "--digests") == 0
    assert claim not in capsys.readouterr().out


def test_a_small_csv_file_has_no_finding_about_its_digest(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(store, "DIGEST_LIMIT", (folder / "data.csv").stat().st_size)
    assert checked(folder) == 0
    assert "SHA-256" not in capsys.readouterr().out


def test_a_wrong_digest_of_a_small_file_is_found(folder: Path) -> None:
    other_digest(folder)
    with pytest.raises(sf.ReleaseError, match=r"data\.csv is not the file .* SHA-256 differs"):
        sf.load(folder).check()
    assert checked(folder) == 4


def test_a_wrong_digest_of_a_large_file_is_found_on_request_and_by_those_who_state_it(large: Path) -> None:
    other_digest(large)
    sf.load(large).check()
    with pytest.raises(sf.ReleaseError, match=r"data\.csv is not the file .* SHA-256 differs"):
        sf.load(large).check(digests=True)
    assert checked(large, "--digests") == 4
    with pytest.raises(sf.ReleaseError, match=r"cannot be used: data\.csv is not the file"):
        as_earlier(large, "T2")


@pytest.mark.parametrize("restated", [False, True])
@pytest.mark.parametrize("options", [[], ["--digests"]])
def test_a_large_csv_file_with_other_rows_is_found_in_any_case(large: Path, restated: bool, options: list[str]) -> None:
    forge(large, restated=restated)
    assert checked(large, *options) == 4
    with pytest.raises(sf.ReleaseError, match=r"data\.csv"):
        sf.audit(sf.load(large), truth=private())


def test_the_digest_of_a_large_csv_file_that_is_written_in_another_way_is_verified(large: Path) -> None:
    """Its bytes do not follow from the parquet file, so only the digest vouches for them."""
    file = large / "data.csv"
    file.write_text(file.read_text().replace("3.25", "3.250"))
    with pytest.raises(sf.ReleaseError, match=r"SHA-256 differs"):
        sf.load(large).check()
    forge_digests(large)
    (large / "README.html").unlink()  # it states the digests, too
    assert not [f for f in sf.load(large).check() if "SHA-256" in f.claim]


def test_a_damaged_parquet_file_is_refused_by_its_digest_whatever_is_in_it(folder: Path) -> None:
    for content in (b"not parquet", (folder / "data.parquet").read_bytes() + b" "):
        (folder / "data.parquet").write_bytes(content)
        with pytest.raises(sf.ReleaseError, match=r"data\.parquet is not the file .* SHA-256 differs"):
            sf.load(folder)


def restate(folder: Path, **facts: object) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest.update(facts)
    path.write_text(json.dumps(manifest), encoding="utf-8")


def test_a_forged_twin_is_an_error_whatever_else_is_wrong_unless_the_structure_is(folder: Path) -> None:
    """Claims are judged while the csv file is read, but none is told about a release with a forged one."""
    claims = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["requirements"]
    restate(folder, requirements=[claims[0] | {"achieved": {"k": 99}}])
    assert [f.status for f in sf.load(folder).findings()].count("broken") == 1
    forge(folder, restated=True)
    with pytest.raises(sf.ReleaseError, match=r"data\.csv differs in content from data\.parquet"):
        sf.load(folder).findings()
    restate(folder, rows=5)
    assert sf.load(folder).findings()[-1].status == "broken"


@pytest.mark.parametrize("fault", ["digest", "structure"])
def test_no_file_is_in_use_when_a_check_has_failed(folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Whoever then shortens a file that is still mapped into memory would end this process."""
    ended: list[bool] = []

    def slow(*args: object) -> bool:
        time.sleep(0.3)
        ended.append(True)
        return True

    monkeypatch.setattr(store, "same_bytes", slow)
    release = sf.load(folder)
    if fault == "structure":
        release.manifest["rows"] += 1
    else:
        next(table for table in release.manifest["tables"] if table["file"] == "data.csv")["sha256"] = "0" * 64
    with pytest.raises(sf.ReleaseError):
        release.check(digests=True)
    assert ended


@pytest.mark.parametrize("inner", [[], {}, (), 1, "text", [1]])
def test_a_manifest_may_be_nested_120_levels_deep(inner: object) -> None:
    for levels in (118, 119, 120, 121):
        plain: object = inner
        for _ in range(levels):
            plain = [plain]
        depth = levels + 1 + (inner == [1])
        if depth > 120:
            with pytest.raises(sf.ReleaseError, match="nested more than 120 levels"):
                statement._check_numbers({"a": plain})
        else:
            statement._check_numbers({"a": plain})


def test_a_manifest_that_contains_itself_is_refused_at_once() -> None:
    endless: list[object] = []
    endless += [endless, endless]
    with pytest.raises(sf.ReleaseError, match="nested more than 120 levels"):
        statement._check_numbers({"a": endless})


@pytest.mark.parametrize("number", [float("nan"), float("-inf"), 2**62 + 1, -(10**400)])
def test_numbers_that_no_release_has_are_refused(number: float) -> None:
    statement._check_numbers({"a": [{"b": (2**62, True, 1e300)}]})
    with pytest.raises(sf.ReleaseError, match=r"not a number|beyond 2"):
        statement._check_numbers({"a": [{"b": (1, number)}]})
