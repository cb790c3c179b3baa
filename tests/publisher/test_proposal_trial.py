"""A proposal is tried on the table before it is proposed: it can be met, and it does not mask everything."""

import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.cli import main
from sfumato.publisher import proposal_trial
from sfumato.publisher.policy import parse_policy
from sfumato.publisher.proposal import Proposal
from sfumato.publisher.proposal_trial import LEAST_KEPT, tried
from sfumato.publisher.propose import propose
from sfumato.publisher.publish import publish_policy


def ward(rows: int = 300, seed: int = 1, **more: list[str]) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(18, 90, rows).astype(str).tolist(),
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "diagnosis": rng.choice(["flu", "HIV", "cancer", "asthma", "burn", "fracture"], rows).tolist(),
    }
    return pl.DataFrame(columns | more)


def proposal_of(frame: pl.DataFrame) -> Proposal:
    return tried(propose(frame, "t.csv"), frame)


def published(proposal: Proposal, frame: pl.DataFrame, folder: Path) -> None:
    frame.write_csv(folder / "t.csv")
    (folder / "p.toml").write_text(proposal.to_toml())
    publish_policy(folder / "p.toml", folder / "out")


def test_what_is_proposed_was_tried(tmp_path: Path) -> None:
    frame = ward()
    found = proposal_of(frame)
    assert found.trial is not None
    assert (found.trial.rows, found.trial.sampled) == (300, False)
    assert found.trial.kept is not None
    assert LEAST_KEPT < found.trial.kept < 1
    assert found.trial.risk_before == 1
    assert found.trial.risk_after <= 1 / 5
    assert found.trial.guesses["diagnosis"] <= 1 / 2
    assert "Tried on all 300 rows" in found.to_toml()
    assert found.to_dict()["trial"]["rows"] == 300
    published(found, frame, tmp_path)


def test_a_rare_value_stays_below_its_bound(tmp_path: Path) -> None:
    frame = ward(hiv_status=["positive" if i % 9 == 0 else "negative" for i in range(300)]).drop("diagnosis")
    found = proposal_of(frame)
    entry = tomllib.loads(found.to_toml())["require"][1]
    assert entry == {"model": "confidentiality", "y": {"hiv_status": ["positive"]}, "k": 0.25}
    assert found.trial is not None
    assert found.trial.bounded["hiv_status"] <= 0.25
    assert "the confidence in a bounded value" in found.trial.words()
    published(found, frame, tmp_path)


def test_less_is_required_where_more_would_mask_everything() -> None:
    """Two values that hardly differ by share: mondrian+ and its kin would leave one group of 40 rows."""
    frame = ward(40, diagnosis=["flu"] * 17 + ["HIV"] * 17 + ["burn"] * 6)
    first = propose(frame, "t.csv")
    found = proposal_of(frame)
    assert found.trial is not None
    assert found.trial.kept is not None
    asked = [n.entry for n in found.requirements]
    if asked != [n.entry for n in first.requirements]:
        assert any("stricter requirements were tried first" in warning for warning in found.warnings)
    assert found.trial.kept >= LEAST_KEPT or any("is kept" in warning for warning in found.warnings)


def test_each_ask_is_weaker_and_parses() -> None:
    frame = ward(hiv_status=["positive" if i % 9 == 0 else "negative" for i in range(300)])
    first = propose(frame, "t.csv")
    kinds = [[n.entry["model"] + str(n.entry.get("variant", "")) for n in ask.requirements] for ask in first.weaker]
    assert kinds[-1] == ["k-anonymity"]
    for ask in first.weaker:
        parse_policy(proposal_trial._asking(first, ask).to_toml(), folder=Path())


def test_infeasible_requirements_are_never_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the first that is asked for fails, the next is taken, and the proposal says so."""
    frame = ward()
    real, calls = proposal_trial._trial, []

    def fails_first(*arguments: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            raise proposal_trial.SfumatoError("no such luck")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(proposal_trial, "_trial", fails_first)
    found = proposal_of(frame)
    assert found.trial is not None
    assert any("cannot be met (no such luck)" in warning for warning in found.warnings)


def test_nobody_can_be_hidden_in_one_row() -> None:
    found = proposal_of(ward(1))
    assert found.trial is None
    assert any("tried and cannot be met" in warning for warning in found.warnings)


def test_large_tables_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposal_trial, "MOST_ROWS", 100)
    found = proposal_of(ward(300))
    assert found.trial is not None
    assert (found.trial.rows, found.trial.sampled) == (100, True)
    assert "100 rows drawn at random" in found.trial.words()


def test_the_command_prints_loss_and_risk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ward().write_csv("t.csv")
    for more, said in (([], True), (["--no-trial"], False)):
        with pytest.raises(SystemExit) as end:
            main(["init", "t.csv", "-o", "p.toml", "--force", *more])
        assert end.value.code == 0
        assert ("of the information and lowers the greatest risk" in capsys.readouterr().out) == said
