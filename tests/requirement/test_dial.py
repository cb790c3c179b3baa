"""Sliders: every model can be set by them, and what they say is true of the requirement."""

import pytest

from sfumato.requirement.base import Dial
from sfumato.requirement.catalogue import MODELS, from_table
from sfumato.requirement.dial import choices, matching_entry, starting_entry


@pytest.mark.parametrize("name", list(MODELS))
def test_a_model_begins_as_a_valid_requirement(name: str) -> None:
    model = MODELS[name]
    needed = from_table(starting_entry(model, "disease"))
    assert type(needed) is model
    told = needed.in_short("disease")
    assert told[0].isupper()
    assert told.endswith(".")


@pytest.mark.parametrize("name", list(MODELS))
def test_the_ends_of_a_dial_are_valid(name: str) -> None:
    entry = starting_entry(MODELS[name], "disease")
    for word, dial in MODELS[name].dials.items():
        assert dial.least < dial.start < dial.greatest or dial.least == dial.start
        for end in (dial.least, dial.greatest):
            others = {"rho1": 0.05, "rho2": 0.95} if name == "rho-breach" else {}
            shown = {**entry, **others, word: end}
            if dial.only is not None:
                shown = {**shown, dial.only[0]: dial.only[1]}
            if word == "rho1" and end > 0.9 - 1e-9:
                shown["rho2"] = 0.95
            if word == "rho2":
                shown["rho1"] = 0.05
            from_table(shown)


@pytest.mark.parametrize("name", list(MODELS))
def test_every_word_that_can_be_chosen_is_valid(name: str) -> None:
    model = MODELS[name]
    for word, words in choices(model).items():
        for chosen in words:
            from_table(matching_entry(model, starting_entry(model, "disease") | {word: chosen}))


def test_parameters_that_no_longer_matter_are_left_out() -> None:
    model = MODELS["l-diversity"]
    recursive = matching_entry(model, {"model": "l-diversity", "l": 3, "variant": "recursive"})
    assert recursive["c"] == 3
    assert "c" not in matching_entry(model, recursive | {"variant": "entropy"})


def test_the_meaning_follows_the_slider() -> None:
    told = [from_table({"model": "l-diversity", "l": l}).in_short("diagnosis") for l in (2, 3)]
    assert told == [
        "Nobody’s diagnosis can be guessed with a probability above 1 in 2 (50%).",
        "Nobody’s diagnosis can be guessed with a probability above 1 in 3 (33.3%).",
    ]
    assert (
        from_table({"model": "k-anonymity", "k": 2}).in_short("") == "Nobody can be told apart from at least 1 other."
    )


def test_a_dial_widens_for_an_unusual_value() -> None:
    assert Dial(2, 100, 1, start=5).around(500) == Dial(2, 500, 1, start=5)
    assert Dial(2, 100, 1, start=5).around(50) == Dial(2, 100, 1, start=5)
