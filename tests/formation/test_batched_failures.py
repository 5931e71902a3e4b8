"""A batch in which something goes wrong: what is judged alone, and what is not asked again."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from amem_integrations import AgenticMemory, Status
from amem_integrations.formation.state import initial_state
from amem_integrations.testing import ScriptedChatModel
from tests.formation.batches import REDIS, answering, events, form, raw, steps
from tests.support import (
    again,
    chat_model,
    judgement,
    open_memory,
    shown_batch,
    shown_notes,
)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda items: items[:1] + items[2:], id="left out"),
        pytest.param(lambda items: [items[0], {**items[1], "keywords": []}, items[2]], id="empty"),
        pytest.param(lambda items: [items[0], {**items[1], "links": 7}, items[2]], id="wrong type"),
        pytest.param(lambda items: [items[0], {**items[1], "n": "77"}, items[2]], id="wrong n"),
        pytest.param(lambda items: [*items, items[1]], id="twice"),
    ],
)
def test_a_note_that_the_answer_gets_wrong_is_judged_alone(change: Any) -> None:
    model = answering(lambda items: {"notes": change(items)})
    with open_memory(mode="batched", model=model) as memory:
        formed = form(memory, raw(memory, REDIS))
        assert all(note.status is Status.FORMED for note in formed)
        assert steps(memory) == {"batch": 1, "fuse": 1}
        assert shown_notes(model.calls[-1].messages)[0] == REDIS[1]
        assert events(memory)["batch.left_out"] == 1
        analysts = [note.revision.analyst.split("/")[1] for note in formed if note.revision]
        assert analysts == ["batched", "fused", "batched"]


@pytest.mark.parametrize(
    "answer", ["no JSON at all", '{"notes": [{"n": "1", "keywo', {"notes": []}, {"notes": "none"}]
)
def test_after_an_answer_that_stays_unusable_each_note_is_judged_alone(answer: Any) -> None:
    with open_memory(mode="batched", model=answering(lambda _: answer)) as memory:
        formed = form(memory, raw(memory, REDIS))
        assert all(note.status is Status.FORMED for note in formed)
        assert steps(memory) == {"batch": 2, "fuse": 3}
        assert events(memory)["batch.split"] == 1


def test_an_answer_that_can_be_used_once_repaired_is_used() -> None:
    answers = ["no JSON at all", lambda items: {"notes": items}]

    def change(items: list[dict[str, Any]]) -> Any:
        answer = answers.pop(0)
        return answer(items) if callable(answer) else answer

    with open_memory(mode="batched", model=answering(change)) as memory:
        form(memory, raw(memory, REDIS))
        assert steps(memory) == {"batch": 2}


def test_what_the_provider_refuses_for_one_note_does_not_keep_the_others_back() -> None:
    class ContentFilterFinishReasonError(Exception):
        pass

    def judge(messages: Sequence[BaseMessage]) -> Any:
        if "eviction" in messages[1].text.splitlines()[-3] or shown_batch(messages):
            return ContentFilterFinishReasonError()
        return judgement(shown_notes(messages)[0])

    with open_memory(mode="batched", model=ScriptedChatModel(judge)) as memory:
        first, second, third = form(memory, raw(memory, REDIS))
        assert [first.status, third.status] == [Status.FORMED, Status.FORMED]
        assert second.status is not Status.FORMED
        assert "content-filter" in (second.last_error or "")


def test_in_an_outage_no_note_is_asked_for_alone() -> None:
    class ModelAuthenticationError(Exception):
        pass

    model = ScriptedChatModel(lambda _: ModelAuthenticationError())
    with open_memory(mode="batched", model=model) as memory:
        formed = form(memory, raw(memory, REDIS))
        assert {note.attempts for note in formed} == {1}
        assert set(steps(memory)) == {"batch"}


@pytest.mark.parametrize(("error", "alone"), [(ZeroDivisionError(), 1), (ConnectionError(), 0)])
def test_a_note_that_spoilt_a_question_is_judged_alone_the_next_time(
    error: Exception, alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amem_integrations.analysts.llm._FIRST_WAIT", 0.0)
    failing = [error]

    def answer(messages: Sequence[BaseMessage]) -> Any:
        if failing:
            return failing[0]
        batch = shown_batch(messages)
        if batch:
            return {"notes": [{"n": n, **judgement(text)} for n, (text, _) in batch.items()]}
        return judgement(shown_notes(messages)[0])

    model = ScriptedChatModel(answer)
    with open_memory(mode="batched", model=model) as memory:
        (spoilt,) = raw(memory, ["A note that spoils everything"])
        form(memory, [spoilt])
        failing.clear()
        memory.graph().invoke(initial_state([again(memory, spoilt), *raw(memory, REDIS)]))
        asked = [len(shown_batch(call.messages)) for call in model.calls]
        assert asked[-1 - alone :] == ([3, 0] if alone else [4])
        assert events(memory).get("batch.tried_before", 0) == alone


def test_a_note_forgotten_while_its_batch_is_judged_leaves_the_others_to_be_judged_again() -> None:
    memories: list[AgenticMemory] = []

    def change(items: list[dict[str, Any]]) -> Any:
        memory = memories[0]
        if memory.get(notes[1]) is not None:
            memory.forget(notes[1])
        return {"notes": items}

    with open_memory(mode="batched", model=answering(change)) as memory:
        memories.append(memory)
        notes = raw(memory, REDIS)
        outcomes = memory.graph().invoke(initial_state(notes))["outcomes"]
        assert [outcomes[note.id]["status"] for note in notes] == ["stale", "gone", "stale"]


def test_forgetting_a_note_takes_back_what_was_judged_with_its_text_in_view() -> None:
    with open_memory(mode="batched", model=chat_model(), formation="off") as memory:
        first, second, third = form(memory, raw(memory, REDIS))
        memory.forget(third)
        assert {again(memory, note).status for note in (first, second)} == {Status.RAW}


def test_a_script_that_knows_single_notes_only_forms_a_batch_all_the_same() -> None:
    model = ScriptedChatModel([judgement("The redis cache")], after="repeat")
    with open_memory(mode="batched", model=model) as memory:
        formed = form(memory, raw(memory, REDIS))
        assert {note.status for note in formed} == {Status.FORMED}


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_mode"])
def test_a_batch_is_judged_by_any_way_of_structured_output(method: str) -> None:
    model = chat_model(methods=(method,))
    with open_memory(mode="batched", model=model) as memory:
        formed = form(memory, raw(memory, REDIS))
        assert {note.status for note in formed} == {Status.FORMED}
        asked = [call.method for call in model.calls if len(shown_batch(call.messages)) == 3]
        assert asked == [method]
