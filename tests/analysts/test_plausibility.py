"""A small model that describes another note than the one asked about is not believed."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from amem_integrations.analysts.answers import UnusableAnswerError
from amem_integrations.analysts.plausibility import require_own
from amem_integrations.core import note as notes
from amem_integrations.core.analysis import Understanding
from amem_integrations.core.note import Note, Status
from tests.support import again, chat_model, judgement, open_memory

TEXTS = (
    "Mara's violin lesson is on Tuesday at nine",
    "The catalogue service keeps four replicas of its cache",
    "Jonas moved from Hamburg to a flat in Leipzig",
    "Der Zahnarzt hat den Termin auf den 12. Mai verschoben",
)


def make_note(text: str) -> Note:
    return notes.make_note(
        content=text, namespace=("default",), now=datetime(2026, 3, 1, tzinfo=UTC)
    )


def understood(text: str) -> Understanding:
    words = text.split()
    return Understanding((words[0], words[1], words[-1]), ("talk",), f"{text}.")


def known(text: str) -> Note:
    said = understood(text)
    return replace(make_note(text), keywords=said.keywords, tags=said.tags, context=said.context)


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_said_of_the_note_itself_is_taken(text: str) -> None:
    others = [known(other) for other in TEXTS if other != text]
    require_own(make_note(text), understood(text), others)
    # Nor need it have the note's words, if it has nobody's.
    require_own(make_note(text), Understanding(("music",), ("hobby",), "A hobby."), others)


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_known_of_another_note_is_refused(text: str) -> None:
    others = [known(other) for other in TEXTS if other != text]
    for other in others:
        told = Understanding(other.keywords, ("x",), other.context)
        with pytest.raises(UnusableAnswerError) as caught:
            require_own(make_note(text), told, others)
        assert caught.value.reason == "implausible"
        with pytest.raises(UnusableAnswerError):
            require_own(make_note(text), replace(told, context=""), [known(other.content)])


def test_a_description_of_another_note_in_new_words_is_refused() -> None:
    told = Understanding(("violin", "lesson"), ("music",), "When the lesson takes place: Tuesday.")
    with pytest.raises(UnusableAnswerError):
        require_own(make_note(TEXTS[1]), told, [make_note(TEXTS[0])])
    require_own(make_note(TEXTS[0]), told, [make_note(TEXTS[1])])


def test_a_short_answer_is_described_in_the_words_of_the_question_before_it() -> None:
    before = make_note("Which bicycle did Ada buy in Leipzig?")
    told = Understanding(("bicycle", "Ada"), ("shopping",), "Ada bought a bicycle in Leipzig.")
    require_own(make_note("Yes, blue"), told, [before])


def test_equal_texts_may_be_described_alike() -> None:
    require_own(make_note(TEXTS[0]), understood(TEXTS[0]), [known(TEXTS[0])])


# -- through a memory --------------------------------------------------------------------------


def first_note_again(text: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """As a model of half a billion parameters: whatever is asked, it tells of the first note."""
    return judgement(candidates[0]["text"] if candidates else text)


@pytest.mark.parametrize("mode", ["fused", "batched"])
def test_a_model_that_always_tells_of_the_first_note_forms_none_wrongly(mode: Any) -> None:
    with open_memory(model=chat_model(first_note_again), mode=mode) as memory:
        notes = [again(memory, note) for note in memory.add_many(list(TEXTS))]
        contexts = [note.context for note in notes if note.status is Status.FORMED]
        assert len(set(contexts)) == len(contexts)
        refused = [note for note in notes if note.status is Status.RAW]
        assert refused
        assert all((note.last_error or "").startswith("implausible") for note in refused)
        assert memory.admin.health()["formation.implausible"] >= len(refused)


def test_auto_asks_such_a_model_for_what_the_note_is_about_alone() -> None:
    with open_memory(model=chat_model(first_note_again), mode="auto") as memory:
        notes = [again(memory, note) for note in memory.add_many(list(TEXTS))]
        assert {note.status for note in notes} == {Status.FORMED}
        for note in notes:
            assert note.keywords[0] in note.content
        assert memory.admin.health()["formation.simplified"] > 0
