"""What the LLM-free analyst reads of a value: the texts in it, in their order."""

from datetime import UTC, datetime

import pytest

from amem_integrations.analysts.statistical import _readable
from amem_integrations.core.analysis import Candidate, Subject
from amem_integrations.core.note import Note, make_note
from amem_integrations.memory.items import item_note

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def item(text: str) -> Note:
    return item_note(("a",), "k", "{}", [text], now=NOW)


def read(note: Note) -> str:
    return _readable(Subject(note)).note.content


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"text": "tea", "kind": "drink"}', "tea\ndrink"),
        ('{"a": {"b": ["one", {"c": "two"}]}, "n": 1}', "one\ntwo"),
        ('["one", "two"]', "one\ntwo"),
        ('{"n": 1}', '{"n": 1}'),
        ('{"text": " "}', '{"text": " "}'),
        ("{not json}", "{not json}"),
        ("plain text", "plain text"),
        ("[1] is a reference", "[1] is a reference"),
        ("[" * 5000, "[" * 5000),
    ],
    ids=range(9),
)
def test_a_value_is_read_by_its_texts(text: str, expected: str) -> None:
    assert read(item(text)) == expected


def test_content_that_is_no_value_is_read_as_it_is() -> None:
    text = '{"text": "tea"}'
    assert read(make_note(text, namespace="a", now=NOW)) == text


def test_candidates_and_background_are_read_the_same_way() -> None:
    note = item('{"text": "tea"}')
    subject = _readable(Subject(note, (Candidate(note, 0.5, 0),), (note,)))
    assert subject.candidates[0].note.content == subject.background[0].content == "tea"
    assert subject.candidates[0].note.id == note.id
    assert subject.candidates[0].similarity == 0.5
