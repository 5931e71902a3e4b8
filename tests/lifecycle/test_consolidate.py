"""Consolidating: a list first, then merging, distilling and setting aside, all of it undone."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.lifecycle.policy import DEFAULT_POLICY
from amem_integrations.lifecycle.tenure import is_worn_out
from amem_integrations.testing import ScriptedChatModel
from tests.lifecycle.engines import open_on
from tests.support import again, chat_model, judgement, open_memory, replies

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
FACT = "The redis cache holds 512 entries."


class Clock:
    """A clock that moves when it is told to, and a little at each look."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def twice(memory: AgenticMemory, **fields: Any) -> tuple[Note, Note]:
    first = memory.add(FACT, session="monday", **fields)
    memory.add("Violin lessons begin in autumn", session="monday")
    return first, memory.add(FACT, session="tuesday", **fields)


def standing(note: Note) -> Note:
    """What undoing has to give back: all but versions and times of writing."""
    return replace(note, version=0, revision=None, updated_at=START)


# -- merging ---------------------------------------------------------------------------------


def test_a_dry_run_lists_and_changes_nothing() -> None:
    with open_memory() as memory:
        first, second = twice(memory)
        plan = memory.lifecycle.consolidate()
        (merge,) = plan.merges
        assert (merge.into, merge.merged) == (first.id, (second.id,))
        assert not plan.applied
        assert again(memory, second).id == second.id
        assert memory.lifecycle.archived() == []


def test_the_older_note_stays_and_the_other_leads_to_it() -> None:
    with open_memory() as memory:
        first, second = twice(memory)
        assert memory.lifecycle.consolidate(dry_run=False).applied
        (merged,) = memory.lifecycle.archived()
        assert (merged.id, merged.merged_into) == (second.id, first.id)
        assert again(memory, second).id == first.id
        assert second.id not in {hit.note.id for hit in memory.search("redis entries")}
        assert memory.admin.check() == []


def test_one_who_was_merged_into_a_merged_note_is_found_as_the_last() -> None:
    with open_memory() as memory:
        first, second = twice(memory)
        memory.lifecycle.archive(first)
        third = memory.add(FACT, session="friday")
        memory.lifecycle.consolidate(dry_run=False)
        memory.lifecycle.restore(first)
        memory.lifecycle.consolidate(dry_run=False)
        assert {again(memory, each).id for each in (second, third)} == {first.id}


def test_the_older_note_gains_terms_and_links() -> None:
    with open_memory(model=chat_model()) as memory:
        first = memory.add(FACT, session="monday")
        second = memory.add(FACT, session="tuesday")
        third = memory.add("Memcached instead of redis", session="tuesday")
        memory.forget(memory.add("Unrelated"))
        before = again(memory, first)
        plan = memory.lifecycle.consolidate(similarity=0.1)
        memory.lifecycle.apply(plan)
        after = again(memory, first)
        assert set(before.keywords) < set(after.keywords) | {"x"}
        assert {link.other(first.id) for link in after.links} >= {third.id}
        assert second.id in {note.id for note in memory.lifecycle.archived()}
        assert memory.admin.check() == []


def test_a_repetition_counts_as_an_occasion_and_as_support_of_another_source() -> None:
    with open_memory() as memory:
        first = memory.add(FACT, session="monday", source="user")
        memory.add(FACT, session="tuesday", source="tool")
        memory.lifecycle.consolidate(dry_run=False)
        life = again(memory, first).life
        assert set(life.occasions) == {"monday", "tuesday"}
        assert (life.confirmations, life.supports) == (1, 1)


def test_what_was_merged_supports_still_when_support_is_counted_again() -> None:
    with open_memory() as memory:
        first = memory.add(FACT, session="monday", source="user")
        memory.add(FACT, session="tuesday", source="tool")
        memory.lifecycle.consolidate(dry_run=False)
        memory.update(first, metadata={"seen": True})
        memory.lifecycle.maintain()
        assert again(memory, first).life.supports == 1


def test_a_repetition_in_the_same_session_confirms_nothing() -> None:
    with open_memory() as memory:
        first = memory.add(FACT, session="monday", key="a")
        memory.add(FACT, session="monday", key="b")
        memory.lifecycle.consolidate(dry_run=False)
        life = again(memory, first).life
        assert (life.confirmations, life.supports) == (0, 0)


def test_facts_that_differ_in_a_number_are_not_merged() -> None:
    with open_memory() as memory:
        memory.add(FACT)
        memory.add(FACT.replace("512", "513"))
        assert not memory.lifecycle.consolidate(similarity=0.0)


def test_the_same_words_understood_otherwise_are_not_merged() -> None:
    def judge(text: str, candidates: Any) -> dict[str, Any]:
        words = ["sea", "harbour", "sail"] if candidates else ["money", "loan", "credit"]
        return judgement(text, keywords=words, tags=words, context=" ".join(words * 8))

    with open_memory(model=chat_model(judge)) as memory:
        memory.add("The bank is closed", key="a")
        memory.add("The bank is closed", key="b")
        assert not memory.lifecycle.consolidate().merges


def test_an_explicit_write_of_a_merged_note_takes_it_apart_again() -> None:
    with open_memory() as memory:
        memory.add(FACT, key="a")
        memory.add(FACT, key="b")
        memory.lifecycle.consolidate(dry_run=False)
        note = memory.add(FACT, key="b")
        assert (note.key, note.status, note.merged_into) == ("b", Status.FORMED, None)


def test_a_new_text_under_the_key_of_a_merged_note_is_a_note_of_its_own() -> None:
    with open_memory() as memory:
        memory.add(FACT, key="a")
        memory.add(FACT, key="b")
        memory.lifecycle.consolidate(dry_run=False)
        note = memory.add("Violin lessons", key="b")
        assert (note.content, note.status, note.merged_into) == (
            "Violin lessons",
            Status.FORMED,
            None,
        )


def test_forgetting_the_one_that_stayed_brings_the_other_back() -> None:
    with open_memory() as memory:
        first, second = twice(memory)
        memory.lifecycle.consolidate(dry_run=False)
        memory.forget(first)
        assert (again(memory, second).id, again(memory, second).status) == (
            second.id,
            Status.FORMED,
        )
        assert memory.admin.check() == []


def test_forgetting_the_merged_one_takes_back_what_it_had_brought() -> None:
    with open_memory(model=chat_model()) as memory:
        first = memory.add(FACT, key="a")
        aside = memory.lifecycle.archive(first)
        second = memory.add(FACT.replace("redis", "redis"), key="b")
        third = memory.add("Memcached instead", key="c")
        first = memory.lifecycle.restore(aside)
        assert again(memory, first).links == ()
        memory.lifecycle.consolidate(dry_run=False, similarity=0.1)
        assert third.id in {link.to for link in again(memory, first).outgoing}
        memory.forget(memory.lifecycle.archived()[0])
        assert second.id not in {note.id for note in memory.recent()}
        assert again(memory, first).outgoing == ()
        assert memory.admin.check() == []


# -- applying --------------------------------------------------------------------------------


def test_a_note_that_was_changed_since_the_plan_is_left_alone() -> None:
    with open_memory() as memory:
        _, second = twice(memory)
        plan = memory.lifecycle.consolidate()
        memory.update(second, metadata={"a": 1})
        done = memory.lifecycle.apply(plan)
        assert (done.merges, [each for each, _ in done.left]) == ((), [second.id])
        assert memory.lifecycle.archived() == []


def test_a_plan_applied_twice_does_nothing_more() -> None:
    with open_memory() as memory:
        twice(memory)
        plan = memory.lifecycle.consolidate()
        memory.lifecycle.apply(plan)
        done = memory.lifecycle.apply(plan)
        assert not done
        assert len(memory.lifecycle.archived()) == 1
        assert not memory.lifecycle.consolidate()


def test_a_plan_can_be_read_and_written_as_json() -> None:
    with open_memory() as memory:
        first, second = twice(memory)
        plan = memory.lifecycle.consolidate()
        shown = str(plan)
        assert "nothing was changed yet" in shown
        assert f"merge into {first.id[:8]} {FACT}" in shown
        data = json.loads(json.dumps(plan.as_dict()))
        assert data["merges"][0]["merged"] == [second.id]
        assert str(memory.lifecycle.consolidate("elsewhere")) == "elsewhere: nothing to do"


# -- setting aside ---------------------------------------------------------------------------


def filled(memory: AgenticMemory) -> list[Note]:
    texts = ("alpha beta", "gamma delta", "epsilon zeta", "eta theta")
    return [memory.add(f"The {text} report") for text in texts]


def test_what_is_worth_least_is_archived_until_there_is_room() -> None:
    clock = Clock()
    with open_memory(clock=clock) as memory:
        old = filled(memory)
        clock.now += timedelta(days=60)
        new = memory.add("Quite another subject")
        plan = memory.lifecycle.consolidate(max_notes=3)
        assert len(plan.archived) == 2
        assert {each.note for each in plan.archived} < {note.id for note in old}
        assert "5 notes where 3 have room; value" in plan.archived[0].why
        memory.lifecycle.apply(plan)
        left = {note.id for note in memory.recent() if note.status is Status.FORMED}
        assert (len(left), new.id in left) == (3, True)
        assert not memory.lifecycle.consolidate(max_notes=3)


def test_what_nobody_needed_for_too_long_is_archived() -> None:
    clock = Clock()
    with open_memory(clock=clock) as memory:
        old = filled(memory)
        clock.now += timedelta(days=60)
        memory.add("Quite another subject")
        plan = memory.lifecycle.consolidate(max_age=timedelta(days=30))
        assert {each.note for each in plan.archived} == {note.id for note in old}
        assert "for 60 days; 30 days may pass" in plan.archived[0].why
        assert not memory.lifecycle.consolidate(max_age=timedelta(days=61))


def test_a_merge_makes_room() -> None:
    with open_memory() as memory:
        twice(memory)
        plan = memory.lifecycle.consolidate(max_notes=2)
        assert (len(plan.merges), plan.archived) == (1, ())


def test_what_waits_to_be_formed_is_not_set_aside() -> None:
    with open_memory(formation="off") as memory:
        filled(memory)
        assert not memory.lifecycle.consolidate(max_notes=0)


def test_limits_that_make_no_sense_are_refused() -> None:
    with open_memory() as memory:
        with pytest.raises(InvalidInputError, match="max_notes"):
            memory.lifecycle.consolidate(max_notes=-1)
        with pytest.raises(InvalidInputError, match="similarity"):
            memory.lifecycle.consolidate(similarity=2)


# -- distilling ------------------------------------------------------------------------------

MATTER = "The redis cache of the billing service"


def distiller(text: str = "In short: the redis cache.") -> ScriptedChatModel:
    judge = replies(lambda text, _: judgement(text))

    def reply(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        if "Write the one note" in str(messages[0].content):
            return {"text": text, "keywords": ["short"], "tags": ["gist"], "context": "A gist."}
        return judge(messages)

    return ScriptedChatModel(reply)


def clustered(memory: AgenticMemory) -> list[Note]:
    return [memory.add(f"{MATTER} has {thing}") for thing in ("a", "b", "c", "d", "e")]


def distilled(memory: AgenticMemory) -> Note:
    (found,) = memory.lifecycle.consolidate(dry_run=False).distillations
    assert found.note is not None
    return again(memory, found.note)


def test_a_cluster_becomes_a_note_of_its_own_with_links_to_its_members() -> None:
    with open_memory(model=distiller()) as memory:
        members = clustered(memory)
        note = distilled(memory)
        assert note.content == "In short: the redis cache."
        assert note.key.startswith("distilled:")
        assert {link.to for link in note.outgoing} == {each.id for each in members}
        assert {link.kind for link in note.outgoing} == {"distils"}
        assert [again(memory, each).content for each in members] == [e.content for e in members]
        assert memory.admin.check() == []
        assert not memory.lifecycle.consolidate()


@pytest.mark.parametrize("kind", ["local", "server"])
def test_it_is_the_same_on_the_other_engines(kind: str) -> None:
    with open_on(kind, model=distiller()) as memory:
        members = clustered(memory)
        copy = memory.add(members[0].content, session="again")
        done = memory.lifecycle.consolidate(dry_run=False, similarity=0.1)
        assert len(done.merges) == len(done.distillations) == 1
        assert again(memory, copy).id == members[0].id
        assert done.distillations[0].note is not None
        assert len(again(memory, done.distillations[0].note).outgoing) == 5
        assert memory.admin.check() == []


def test_what_is_forgotten_while_the_model_writes_is_not_distilled() -> None:
    members: list[Note] = []

    def forgets(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        if "Write the one note" in str(messages[0].content):
            memory.forget(members[0])
        return {"text": "short", "keywords": ["a"], "tags": ["b"], "context": "A gist."}

    with open_memory(model=ScriptedChatModel(forgets)) as memory:
        members += clustered(memory)
        done = memory.lifecycle.consolidate(dry_run=False)
        assert done.distillations == ()
        assert "changed meanwhile" in done.left[0][1]
        assert memory.count() == 4


def test_without_a_model_nothing_is_distilled() -> None:
    with open_memory() as memory:
        clustered(memory)
        assert memory.lifecycle.consolidate().distillations == ()


def test_a_dry_run_asks_no_model() -> None:
    with open_memory(model=distiller()) as memory:
        clustered(memory)
        calls = memory.usage().total.calls
        assert len(memory.lifecycle.consolidate().distillations) == 1
        assert memory.usage().total.calls == calls


def test_a_distillation_is_counted_among_the_model_calls() -> None:
    with open_memory(model=distiller()) as memory:
        clustered(memory)
        distilled(memory)
        assert memory.usage().by_step["distil"].calls == 1


def test_where_notes_come_to_nothing_there_is_no_note() -> None:
    with open_memory(model=distiller("")) as memory:
        clustered(memory)
        done = memory.lifecycle.consolidate(dry_run=False)
        assert done.distillations == ()
        assert "nothing that they have in common" in done.left[0][1]


def test_undoing_a_distillation_sets_it_aside() -> None:
    with open_memory(model=distiller()) as memory:
        clustered(memory)
        note = distilled(memory)
        assert memory.revert(note).status is Status.ARCHIVED
        assert standing(memory.lifecycle.restore(note)) == standing(note)
        assert memory.admin.check() == []


def test_links_to_what_was_distilled_do_not_wear_off() -> None:
    with open_memory(model=distiller()) as memory:
        clustered(memory)
        note = distilled(memory)
        much_later = note.created_at + timedelta(days=3650)
        assert not any(is_worn_out(link, much_later, DEFAULT_POLICY) for link in note.outgoing)


@pytest.mark.parametrize("how", ["forget", "update"])
def test_a_distillation_goes_with_the_text_of_any_member(how: str) -> None:
    with open_memory(model=distiller()) as memory:
        members = clustered(memory)
        note = distilled(memory)
        if how == "forget":
            memory.forget(members[2])
        else:
            memory.update(members[2], "Violin lesson")
        assert memory.get(note.id) is None
        assert memory.admin.check() == []


async def test_the_async_forms_do_the_same() -> None:
    async with open_memory() as memory:
        first = await memory.aadd(FACT, key="a")
        second = await memory.aadd(FACT, key="b")
        plan = await memory.lifecycle.aconsolidate()
        await memory.lifecycle.aapply(plan)
        found = await memory.aget(second)
        assert found is not None
        assert found.id == first.id
