"""A hundred thousand mutated conversations: none crashes the reader, and each is read as its twin reads it."""

from random import Random

from fuzz import frames


def test_mutated_frames_are_refused_in_words_or_read_as_they_are() -> None:
    summary = frames.run(100_000, seed=15)
    assert not summary.defects, "\n".join(summary.failures[:20])
    assert summary.inputs == 100_000
    assert summary.clean > 50_000
    assert summary.accepted > 5_000  # what was not changed is read


def test_a_conversation_that_was_not_changed_is_read_as_it_was_sent() -> None:
    rng = Random(3)
    for _ in range(200):
        said, due = frames.talk(rng)
        stream = b"".join(said)
        assert frames.heard(stream, due) == frames.naive(stream, due)
