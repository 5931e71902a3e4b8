"""What is read in a note is kept as long as the note, and no longer."""

import gc
from datetime import UTC, datetime

from amem_integrations.analysts import readings
from amem_integrations.analysts.readings import reading_of
from amem_integrations.analysts.words import MAX_TEXT_CHARS, keys
from amem_integrations.core.note import Note, make_note

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def note(content: str) -> Note:
    return make_note(content, namespace="a", now=START)


def test_a_note_is_read_once() -> None:
    cache = note("The redis cache")
    assert reading_of(cache) is reading_of(cache)
    assert reading_of(cache).keys == {"the", "redis", "cache"} == reading_of(cache).vocabulary.keys


def test_of_a_long_note_the_background_has_the_beginning_only() -> None:
    long = note(f"{'word ' * 1000} ending")
    assert "ending" in reading_of(long).keys == keys(long.content[:MAX_TEXT_CHARS])
    assert "ending" not in reading_of(long).vocabulary.keys


def test_an_equal_note_with_another_text_has_a_reading_of_its_own() -> None:
    first, second = note("The redis cache"), note("The garden gate")
    assert reading_of(first).keys != reading_of(second).keys


def test_nothing_is_kept_of_a_note_that_nobody_holds() -> None:
    gc.collect()
    before = len(readings._readings)
    cache, picture = note("The redis cache"), note(f"Look {'aB3' * 2000}")
    assert reading_of(cache).keys
    assert reading_of(picture).keys == {"look"}
    assert len(readings._readings) == before + 2
    del cache, picture
    gc.collect()
    assert len(readings._readings) == before
