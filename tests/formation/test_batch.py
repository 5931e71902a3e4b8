"""Several new notes analysed in one question: what they share, in what order, what goes wrong."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.analysts.prompts import SUBJECT_CHARS
from amem_integrations.errors import InvalidInputError
from amem_integrations.formation.batch import BATCH_CHARS
from amem_integrations.formation.state import initial_state
from amem_integrations.testing import ScriptedChatModel
from tests.support import (
    again,
    chat_model,
    judgement,
    open_memory,
    shown_batch,
    shown_notes,
)

REDIS = ["The redis cache", "Redis eviction policy", "The redis cache needs memory"]


def raw(memory: AgenticMemory, texts: Sequence[str], **about: Any) -> list[Note]:
    return memory.add_many([{"content": text, **about} for text in texts], formation="off")


def form(memory: AgenticMemory, notes: Sequence[Note]) -> list[Note]:
    """The notes after one run of the graph."""
    memory.graph().invoke(initial_state(notes))
    return [again(memory, note) for note in notes]


def events(memory: AgenticMemory) -> Mapping[str, int]:
    return memory.admin.health()


def answering(change: Callable[[list[dict[str, Any]]], Any]) -> ScriptedChatModel:
    """Answers a batched question with what `change` makes of the right answer; others rightly."""

    def answer(messages: Sequence[BaseMessage]) -> Any:
        batch = shown_batch(messages)
        if not batch:
            return judgement(shown_notes(messages)[0])
        return change([{"n": n, **judgement(text)} for n, (text, _) in batch.items()])

    return ScriptedChatModel(answer)


def steps(memory: AgenticMemory) -> dict[str, int]:
    return {name: use.calls for name, use in memory.usage().by_step.items()}


# -- one question for all -------------------------------------------------------------------


@pytest.mark.parametrize("form_of_call", ["sync", "async", "resume"])
async def test_one_call_serves_all_notes_of_a_batch(form_of_call: str) -> None:
    model = chat_model()
    with open_memory(mode="batched", model=model) as memory:
        notes = raw(memory, REDIS)
        if form_of_call == "sync":
            form(memory, notes)
        elif form_of_call == "async":
            await memory.graph().ainvoke(initial_state(notes))
        else:
            assert memory.resume() == 3
        first, second, third = (again(memory, note) for note in notes)
        assert len(model.calls) == 1
        assert {note.status for note in (first, second, third)} == {Status.FORMED}
        assert third.revision is not None
        assert third.revision.analyst.endswith("/batched")
        # Each links to the earlier ones and lets them evolve.
        assert [link.to for link in second.outgoing] == [first.id]
        assert {link.to for link in third.outgoing} == {first.id, second.id}
        assert {"redis", "cache", "seen-Redis"} <= set(first.keywords)
        assert events(memory)["evolution.merged"] > 0
        assert memory.admin.check() == []


def test_notes_that_are_added_together_are_judged_together() -> None:
    model = chat_model()
    with open_memory(mode="batched", model=model, batch=2) as memory:
        notes = memory.add_many(REDIS)
        assert [len(shown_batch(call.messages)) for call in model.calls] == [2, 0]
        assert {note.status for note in notes} == {Status.FORMED}


def test_a_note_may_link_to_a_candidate_that_only_another_one_found() -> None:
    def judge(text: str, shown: list[dict[str, Any]]) -> dict[str, Any]:
        kayak = [c["n"] for c in shown if "kayak" in c["text"]]
        return judgement(text, links=[{"to": n, "reason": "r", "strength": 1} for n in kayak])

    with open_memory(mode="batched", model=chat_model(judge), neighbours=1) as memory:
        kayak = memory.add("The kayak trip")
        memory.add("The violin lesson")
        violin, _ = form(memory, raw(memory, ["The violin lesson again", "The kayak trip again"]))
        assert [link.to for link in violin.outgoing] == [kayak.id]


def test_no_more_candidates_are_shown_than_one_more_for_each_further_note() -> None:
    model = chat_model(lambda text, _: judgement(text))
    with open_memory(mode="batched", model=model, neighbours=2) as memory:
        for n in range(20):
            memory.add(f"The redis cache {n}, {['kayak', 'violin', 'oven'][n % 3]}")
        form(memory, raw(memory, ["redis kayak", "redis violin", "redis oven"]))
        first = next(iter(shown_batch(model.calls[-1].messages).values()))
        assert len(first[1]) == 2 + 3


def test_the_turn_before_a_batch_is_shown_though_it_resembles_nothing() -> None:
    model = chat_model(lambda text, _: judgement(text))
    with open_memory(mode="batched", model=model, neighbours=2) as memory:
        for n in range(8):
            memory.add(f"The redis cache {n}", session="s", sequence=n)
        memory.add("Lunch?", session="s", sequence=8)
        notes = [
            memory.add(f"The redis cache {n}", session="s", sequence=n, formation="off")
            for n in (9, 10, 11)
        ]
        form(memory, notes)
        assert "Lunch?" in model.calls[-1].messages[1].text


# -- order ----------------------------------------------------------------------------------


def test_notes_are_committed_oldest_first_in_whatever_order_they_are_given() -> None:
    with open_memory(mode="batched", model=chat_model()) as memory:
        notes = raw(memory, REDIS)
        memory.graph().invoke(initial_state(notes[::-1]))
        first, second, third = (again(memory, note) for note in notes)
        assert first.outgoing == ()
        assert [link.to for link in second.outgoing] == [first.id]
        assert {link.to for link in third.outgoing} == {first.id, second.id}


@pytest.mark.parametrize("kind", ["links", "evolutions"])
@pytest.mark.parametrize(("target", "reason"), [("3", "not_offered"), ("1", "self")])
def test_a_note_names_neither_a_later_one_nor_itself(kind: str, target: str, reason: str) -> None:
    name = {"links": "to", "evolutions": "note"}[kind]

    def change(items: list[dict[str, Any]]) -> Any:
        items[0][kind] = [{name: target, "reason": "r", "context": "forged", "strength": 1}]
        return {"notes": items}

    with open_memory(mode="batched", model=answering(change)) as memory:
        first, _, third = form(memory, raw(memory, REDIS))
        assert first.outgoing == ()
        assert "forged" not in (first.context, third.context)
        assert events(memory)[f"dropped.{kind[:-1]}.{reason}"] == 1


# -- limits ---------------------------------------------------------------------------------


def test_no_question_serves_more_notes_than_asked_for() -> None:
    model = chat_model(lambda text, _: judgement(text))
    with open_memory(mode="batched", model=model, batch=3) as memory:
        form(memory, raw(memory, [f"The redis cache {n}" for n in range(8)]))
        assert [len(shown_batch(call.messages)) for call in model.calls] == [3, 3, 2]


def test_long_notes_share_a_question_with_fewer_others() -> None:
    model = chat_model(lambda text, _: judgement(text))
    long = ["redis " * (SUBJECT_CHARS // 6 + n) for n in range(5)]
    with open_memory(mode="batched", model=model) as memory:
        form(memory, raw(memory, long))
        served = [len(shown_batch(call.messages)) for call in model.calls]
        assert max(served) == BATCH_CHARS // SUBJECT_CHARS
        assert sum(max(n, 1) for n in served) == 5


@pytest.mark.parametrize("batch", [0, 33])
def test_a_batch_outside_its_range_is_refused(batch: int) -> None:
    with pytest.raises(InvalidInputError, match="batch"):
        open_memory(batch=batch)


@pytest.mark.parametrize("switch", ["link", "evolve"])
def test_a_step_that_is_switched_off_proposes_nothing(switch: str) -> None:
    with open_memory(mode="batched", model=chat_model(), **{switch: False}) as memory:
        formed = form(memory, raw(memory, REDIS))
        kinds = {each.kind for note in formed for each in memory.history(note)}
        assert any(note.outgoing for note in formed) == (switch != "link")
        assert ("evolved" in kinds) == (switch != "evolve")


# -- who judged -----------------------------------------------------------------------------


def test_without_a_model_a_batch_is_formed_as_the_same_notes_one_by_one() -> None:
    start = datetime(2026, 3, 2, tzinfo=UTC)

    def formed(**settings: Any) -> list[tuple[Any, ...]]:
        moments = (start + timedelta(seconds=n) for n in range(1000))
        with open_memory(clock=lambda: next(moments), **settings) as memory:
            return [
                (note.content, note.keywords[:3], note.context)
                for note in form(memory, raw(memory, REDIS, session="s"))
            ]

    assert formed(mode="batched") == formed(mode="fused")


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
