"""Labels are named once per distinct box, in the order of the boxes."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.engine.local import LocalEngine
from sfumato.engine.overview import overview
from sfumato.kernel.arrange import by_group
from sfumato.kernel.axes import summarize
from sfumato.release.scheme.group_labels import show, space_of
from strategies import examples

TREE = {"Any": {"N": ["a", "b"], "S": ["c", "d", "e"]}}


def table(ages: list[int], places: list[str]) -> sf.Microdata:
    return sf.read(
        pl.DataFrame({"age": ages, "place": places, "ill": ["x"] * len(ages)}),
        quasi=["age", "place"],
        sensitive="ill",
        taxonomies={"place": TREE},
    )


ROWS = st.lists(st.tuples(st.integers(0, 6), st.sampled_from("abcde"), st.integers(0, 4)), min_size=1, max_size=14)


@examples(60)
@given(ROWS, st.booleans())
def test_boxes_are_numbered_in_their_order(rows: list[tuple[int, str, int]], sets: bool) -> None:
    private = table([r[0] for r in rows], [r[1] for r in rows])
    group = np.unique([r[2] for r in rows], return_inverse=True)[1].astype(np.int64)
    number = int(group.max()) + 1
    placed, starts = by_group([c.codes for c in private.quasi], group, number)
    summary = summarize(space_of(private.quasi, sets=sets), placed, starts, len(group))
    for j, shown in enumerate(show(private, group, number, sets=sets)):
        ordered = private.quasi[j].domain.ordered
        boxes = [tuple(int(x) for x in box) for box in summary[:, j].T]
        boxes = boxes if ordered else [b if b[0] == b[1] else (-1, -1, *b[2:]) for b in boxes]
        distinct = sorted(set(boxes))
        assert shown.of_group.tolist() == [distinct.index(b) for b in boxes]
        assert list(shown.meanings) == [private.quasi[j].domain.box(*b).meaning for b in distinct]


@examples(40)
@given(ROWS)
def test_who_agrees_is_found_once_and_right(rows: list[tuple[int, str, int]]) -> None:
    engine = LocalEngine(table([r[0] for r in rows], [r[1] for r in rows]))
    whole = overview(engine)
    found, names = whole.agreeing(("place",)), whole["place"].codes
    assert (
        len({(int(a), int(b)) for a, b in zip(found.of_row, names, strict=True)}) == len(found.size) == len(set(names))
    )
    assert found.size.sum() == len(rows)
    assert engine.count([]).weights.sum() == len(rows)
    assert whole.agreeing(("age", "place")) is engine.count(["ill"]).agreeing(("age", "place"))
