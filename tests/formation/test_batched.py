"""Several new notes judged in one question: what they share, in what order, what goes wrong."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from amem_integrations import Status
from amem_integrations.analysts.prompts import SUBJECT_CHARS
from amem_integrations.errors import InvalidInputError
from amem_integrations.formation.batch import BATCH_CHARS
from amem_integrations.formation.state import initial_state
from tests.formation.batches import REDIS, answering, events, form, raw, steps
from tests.support import (
    again,
    chat_model,
    judgement,
    open_memory,
    shown_batch,
    words,
)

# -- one question for all -------------------------------------------------------------------


def test_one_call_serves_all_notes_of_a_batch() -> None:
    model = chat_model()
    with open_memory(mode="batched", model=model) as memory:
        formed = form(memory, raw(memory, REDIS))
        assert len(model.calls) == 1
        assert all(note.status is Status.FORMED for note in formed)
        assert all(note.keywords and note.tags and note.context for note in formed)


def test_notes_that_are_added_together_are_judged_together() -> None:
    model = chat_model()
    with open_memory(mode="batched", model=model, batch=2) as memory:
        notes = memory.add_many(REDIS)
        assert [len(shown_batch(call.messages)) for call in model.calls] == [2, 0]
        assert {note.status for note in notes} == {Status.FORMED}


def test_notes_that_wait_in_the_background_are_judged_together() -> None:
    model = chat_model()
    with open_memory(mode="batched", model=model) as memory:
        raw(memory, REDIS)
        assert memory.resume() == 3
        assert len(model.calls) == 1


async def test_one_call_serves_all_notes_of_a_batch_asynchronously() -> None:
    model = chat_model()
    async with open_memory(mode="batched", model=model) as memory:
        notes = await memory.aadd_many(REDIS, formation="off")
        await memory.graph().ainvoke(initial_state(notes))
        assert len(model.calls) == 1
        assert {(await memory.aget(note)).status for note in notes} == {Status.FORMED}  # type: ignore[union-attr]


def test_a_candidate_of_several_notes_is_shown_once() -> None:
    model = chat_model()
    with open_memory(mode="batched", model=model) as memory:
        memory.add("Redis is our cache")
        form(memory, raw(memory, REDIS))
        assert model.calls[-1].messages[1].text.count("Redis is our cache") == 1


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


def test_every_note_of_a_batch_has_its_nearest_shown() -> None:
    model = chat_model(lambda text, _: judgement(text))
    topics = ["kayak", "violin", "oven", "garden", "redis"]
    with open_memory(mode="batched", model=model, neighbours=1) as memory:
        for topic in topics:
            memory.add(f"The {topic} of old")
        form(memory, raw(memory, [f"The {topic} of late" for topic in topics]))
        ((_, shown), *_) = shown_batch(model.calls[-1].messages).values()
        assert {c["text"] for c in shown} == {f"The {topic} of old" for topic in topics}


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


def test_only_notes_of_the_same_namespace_are_shown() -> None:
    model = chat_model()
    with open_memory(mode="batched", model=model) as memory:
        memory.add("The redis cache of another", namespace="other")
        form(memory, raw(memory, REDIS))
        assert "of another" not in model.calls[-1].messages[1].text


# -- order ----------------------------------------------------------------------------------


def test_a_note_links_to_an_earlier_one_of_its_batch_and_lets_it_evolve() -> None:
    with open_memory(mode="batched", model=chat_model()) as memory:
        first, second, third = form(memory, raw(memory, REDIS))
        assert [link.to for link in second.outgoing] == [first.id]
        assert {link.to for link in third.outgoing} == {first.id, second.id}
        assert "seen-Redis" in first.keywords or "seen-redis" in first.keywords
        assert first.revision is not None
        assert first.revision.kind == "evolved"
        assert events(memory)["evolution.merged"] > 0
        assert memory.admin.check() == []


def test_an_earlier_note_keeps_its_own_understanding_when_a_later_one_evolves_it() -> None:
    with open_memory(mode="batched", model=chat_model()) as memory:
        first, *_ = form(memory, raw(memory, REDIS))
        assert set(words(REDIS[0])) <= set(first.keywords) | {"redis", "cache"}
        assert first.context == "About redis cache."


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


def test_handles_that_no_note_bears_are_dropped_and_counted() -> None:
    def change(items: list[dict[str, Any]]) -> Any:
        items[1]["links"] = [{"to": to, "reason": "r", "strength": 1} for to in ("99", "x", "1")]
        return {"notes": items}

    with open_memory(mode="batched", model=answering(change)) as memory:
        first, second, _ = form(memory, raw(memory, REDIS))
        assert [link.to for link in second.outgoing] == [first.id]
        assert events(memory)["dropped.link.not_offered"] == 2


# -- limits ---------------------------------------------------------------------------------


def test_a_batch_of_one_is_a_fused_question() -> None:
    with open_memory(mode="batched", model=chat_model()) as memory:
        note = memory.add("The redis cache")
        assert steps(memory) == {"fuse": 1}
        assert note.revision is not None
        assert note.revision.analyst.endswith("/fused")


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


@pytest.mark.parametrize("batch", [0, -1, 33])
def test_a_batch_that_cannot_be_meant_is_refused(batch: int) -> None:
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


def test_the_mode_is_on_the_note() -> None:
    with open_memory(mode="batched", model=chat_model(lambda text, _: judgement(text))) as memory:
        formed = form(memory, raw(memory, REDIS))
        assert {note.revision.analyst.split("/")[1] for note in formed if note.revision} == {
            "batched"
        }


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


def test_without_a_model_a_batch_links_to_the_turn_before() -> None:
    with open_memory(mode="batched") as memory:
        first, second, third = form(memory, raw(memory, REDIS, session="s"))
        assert first.id in {link.to for link in second.outgoing}
        assert second.id in {link.to for link in third.outgoing}
        assert memory.admin.check() == []
