"""Odd inputs end in a clear refusal or in a release that shows what was read: no traceback, and an end."""

from pathlib import Path

import pytest

from fuzz import inputs
from fuzz.harness import Case, run_case

FIXED = inputs.fixed(1000)


@pytest.mark.parametrize("one", FIXED, ids=str)
def test_odd_input(one: Case, tmp_path: Path) -> None:
    outcome, words = run_case(one, tmp_path)
    assert outcome in ("clean", "accepted"), words


def test_the_inputs_are_many_and_each_is_its_own() -> None:
    names = [c.name for c in inputs.listed()]
    assert len(names) > 3000
    assert len(set(names)) == len(names)
    assert len(FIXED) >= 1000


def test_chance_repeats_with_the_seed() -> None:
    first, again, other = (inputs.mutated(seed) for seed in (1, 1, 2))
    draws = [next(first) for _ in range(20)]
    assert draws == [next(again) for _ in range(20)]
    assert [c.files for c in draws] != [next(other).files for _ in range(20)]
