"""Items: the notes that hold values, and writing many of them at once."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_integrations import Status
from amem_integrations.core.io import run
from amem_integrations.core.note import Note, make_note
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.items import MAX_KEY_BYTES, address_id, item_note, value_of, write
from amem_integrations.stores.codec import note_from, note_point
from amem_integrations.stores.read import load_all_notes
from amem_integrations.stores.write import passages
from tests.support import EMBEDDER, io_of, open_memory

NS = ("users", "ann")
NOW = datetime(2026, 3, 1, tzinfo=UTC)

texts = st.lists(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=20).filter(
        lambda text: any(map(str.isalnum, text))
    ),
    max_size=6,
    unique=True,
)


def item(*of: str, key: str = "k", **options: Any) -> Note:
    return item_note(NS, key, '{"a":1}', of, now=NOW, **options)


@given(texts)
def test_an_item_is_embedded_as_its_texts_and_nothing_else(of: list[str]) -> None:
    note = item(*of)
    assert note.texts == tuple(of)
    understood = note.evolve(keywords=("new",), context="New.")
    assert passages(note) == passages(understood) == of


@given(texts)
def test_an_item_comes_back_from_the_store_as_it_was(of: list[str]) -> None:
    note = item(*of, ttl=timedelta(minutes=1.5))
    assert note_from(note_point(note, [], None)) == note
    assert note_from(note_point(note, [], None)).texts == tuple(of)


def test_without_text_there_is_nothing_to_form() -> None:
    note = item(" ")
    assert (note.content, note.texts, note.status) == ("", (), Status.FORMED)
    assert passages(note) == []
    assert item("tea").status is Status.RAW


def test_a_plain_note_has_its_content_for_value() -> None:
    assert value_of(make_note("tea", namespace=NS, now=NOW)) == {"content": "tea"}
    assert value_of(item("tea")) == {"a": 1}


def test_a_note_needs_content_unless_it_has_no_texts() -> None:
    with pytest.raises(InvalidInputError):
        make_note("tea", namespace=NS, now=NOW).evolve(content="")
    with pytest.raises(InvalidInputError):
        make_note("tea", namespace=NS, now=NOW).evolve(content=" ", parts=(1,))


@pytest.mark.parametrize("key", ["", " ", "a.b", "\x00", "素", "x" * MAX_KEY_BYTES])
def test_any_text_can_be_a_key(key: str) -> None:
    assert item(key=key).id == address_id((NS, key))


@pytest.mark.parametrize("key", ["x" * (MAX_KEY_BYTES + 1), "素" * MAX_KEY_BYTES, "\ud800"])
def test_keys_that_cannot_be_are_refused(key: str) -> None:
    with pytest.raises(InvalidInputError, match="key"):
        item(key=key)


def test_when_embedding_fails_nothing_is_written() -> None:
    def breaks(given_texts: Sequence[str]) -> list[list[float]]:
        if any("bad" in text for text in given_texts):
            raise RuntimeError("no vectors today")
        return EMBEDDER.embed_documents(list(given_texts))

    with open_memory(embedder=breaks) as memory:
        first = [item("old", key="kept")]
        memory.perform(lambda wiring, io: write(wiring, io, first, {}, "off"))
        notes = [item(f"tea {n}", key=str(n)) for n in range(70)] + [item("bad", key="bad")]
        deleted = {first[0].id: NS}
        with pytest.raises(RuntimeError):
            memory.perform(lambda wiring, io: write(wiring, io, notes, deleted, "off"))
        assert [note.key for note in run(load_all_notes(io_of(memory)))] == ["kept"]


def test_add_takes_no_value() -> None:
    with open_memory() as memory, pytest.raises(InvalidInputError, match="value"):
        memory.add_many([{"content": "tea", "value": {"a": 1}}])
