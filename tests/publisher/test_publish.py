"""Publishing from Python: what is no microdata is refused with the way to it."""

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import PolicyError


@pytest.mark.parametrize("call", [sf.publish, sf.partition])
def test_a_frame_has_to_be_read_first(call: object) -> None:
    with pytest.raises(PolicyError, match=r"sf\.read"):
        call(pl.DataFrame({"x": [1]}), require=sf.KAnonymity(k=1))  # type: ignore[operator]
