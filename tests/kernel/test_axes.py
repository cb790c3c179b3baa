"""Labels of many groups are found on two threads, and are those of one."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.kernel import axes
from sfumato.kernel.arrange import by_group
from sfumato.release.scheme.group_labels import space_of

TREE = {"Any": {"A": ["a", "b", "c"], "B": ["d", "e"]}}


@pytest.mark.parametrize("groups", [1, 2, 3, 40])
@pytest.mark.parametrize("sets", [True, False])
def test_two_threads_summarize_every_group_as_one_does(
    groups: int, sets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(groups)
    frame = pl.DataFrame({"age": rng.integers(0, 90, 200), "job": rng.choice(list("abcde"), 200)})
    quasi = sf.read(frame, quasi=["age", "job"], taxonomies={"job": TREE}).quasi
    group = np.sort(np.append(np.arange(groups), rng.integers(0, groups, 200 - groups) ** 2 // groups))
    rows, starts = by_group([c.codes for c in quasi], group, groups)
    space = space_of(quasi, sets=sets)
    alone = axes.summarize(space, rows, starts, len(group))
    monkeypatch.setattr(axes, "_MANY", 1)
    assert (axes.summarize(space, rows, starts, len(group)) == alone).all()
    assert (alone[1, 0] >= alone[0, 0]).all()
    assert (alone[1] > 0).any()
