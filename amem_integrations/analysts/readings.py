"""What statistics read in a note: once, as long as the note is in memory.

A note is in the background of all that come after it, so reading it each time would be most of
what forming without a model costs. Nothing is kept of a note that nobody holds any more.
"""

import weakref
from dataclasses import replace
from functools import cached_property

from amem_integrations.analysts import words
from amem_integrations.analysts.terms import MAX_BACKGROUND_CHARS, Vocabulary, vocabulary_of
from amem_integrations.core.note import Note
from amem_integrations.core.value_text import text_without_labels
from amem_integrations.core.values import readable


class Reading:
    """The words of a text, each kind looked for on first use."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def keys(self) -> frozenset[str]:
        """All folded words."""
        if len(self._text) <= MAX_BACKGROUND_CHARS:
            return self.vocabulary.keys
        return words.keys(self._text[: words.MAX_TEXT_CHARS])

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Of the beginning, which is what counts in the background."""
        return vocabulary_of(self._text)

    @cached_property
    def script(self) -> str:
        return words.script(self._text)


# By the identity of a note: to compare notes takes longer than to read them.
_readings: dict[int, tuple["weakref.ref[Note]", Reading]] = {}


def reading_of(note: Note) -> Reading:
    """Return what is read in the note's content, see `without_data`."""
    key = id(note)
    known = _readings.get(key)
    if known is None:
        alive = weakref.ref(note, lambda _: _readings.pop(key, None))
        known = _readings[key] = alive, Reading(without_data(note).content)
    return known[1]


def without_data(note: Note) -> Note:
    """Return the note with the texts in its content alone, without labels and encoded data.

    The labels of a value would be words that all such notes share.
    """
    content = readable(note.content)
    if note.value_json is not None:
        content = text_without_labels(content, note.value)
    return note if content == note.content else replace(note, content=content, parts=None)
