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


async def test_the_older_note_stays_and_the_other_leads_to_it(target: AgenticMemory) -> None:
    first, second = twice(target)
    plan = await target.lifecycle.aconsolidate()
    (merge,) = plan.merges
    assert (merge.into, merge.merged, plan.applied) == (first.id, (second.id,), False)
    # So far, nothing was changed.
    assert again(target, second).id == second.id
    assert (await target.lifecycle.aapply(plan)).applied
    (merged,) = target.lifecycle.archived()
    assert (merged.id, merged.merged_into) == (second.id, first.id)
    assert again(target, second).id == first.id
    assert second.id not in {hit.note.id for hit in target.search("redis entries")}
    # Applied again, it does nothing more.
    assert not target.lifecycle.apply(plan)
    assert not target.lifecycle.consolidate()


def test_the_older_note_gains_terms_and_links(memory: AgenticMemory) -> None:
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


def test_a_repetition_counts_as_an_occasion_and_as_support_of_another_source(
    target: AgenticMemory,
) -> None:
    first = target.add(FACT, session="monday", source="user")
    target.add(FACT, session="tuesday", source="web")
    target.lifecycle.consolidate(dry_run=False)
    life = again(target, first).life
    assert set(life.occasions) == {"monday", "tuesday"}
    assert (life.confirmations, life.supports) == (1, 1)


def test_the_same_words_understood_otherwise_are_not_merged() -> None:
    def judge(text: str, candidates: Any) -> dict[str, Any]:
        words = ["sea", "harbour", "sail"] if candidates else ["money", "loan", "credit"]
        return judgement(text, keywords=words, tags=words, context=" ".join(words * 8))

    with open_memory(model=chat_model(judge)) as memory:
        memory.add("The bank is closed", key="a")
        memory.add("The bank is closed", key="b")
        assert not memory.lifecycle.consolidate().merges


def test_an_explicit_write_of_a_merged_note_takes_it_apart_again(target: AgenticMemory) -> None:
    target.add(FACT, key="a")
    target.add(FACT, key="b")
    target.lifecycle.consolidate(dry_run=False)
    note = target.add(FACT, key="b")
    assert (note.key, note.status, note.merged_into) == ("b", Status.FORMED, None)


def test_forgetting_the_one_that_stayed_brings_the_other_back(target: AgenticMemory) -> None:
    first, second = twice(target)
    target.lifecycle.consolidate(dry_run=False)
    target.forget(first)
    assert (again(target, second).id, again(target, second).status) == (
        second.id,
        Status.FORMED,
    )


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("duplicates", [False, True])
def test_forgetting_says_which_notes_hold_the_same_words_and_can_take_them_too(
    target: AgenticMemory, which: int, duplicates: bool
) -> None:
    pair = twice(target)
    third = target.add(FACT, session="friday")
    same = (*pair, third)
    target.lifecycle.consolidate(dry_run=False)
    forgotten = target.forget(same[which], duplicates=duplicates)
    others = tuple(sorted(note.id for note in same if note is not same[which]))
    assert (forgotten.notes, forgotten.duplicates) == ((3, ()) if duplicates else (1, others))
    exported = "".join(target.admin.export("default"))
    assert (FACT in exported) is not duplicates
    assert bool(target.forget(same[which]).duplicates) is False


def test_forgetting_the_merged_one_takes_back_what_it_had_brought(memory: AgenticMemory) -> None:
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


# -- applying --------------------------------------------------------------------------------


def test_a_note_that_was_changed_since_the_plan_is_left_alone(target: AgenticMemory) -> None:
    _, second = twice(target)
    plan = target.lifecycle.consolidate()
    target.update(second, metadata={"a": 1})
    done = target.lifecycle.apply(plan)
    assert (done.merges, [each for each, _ in done.left]) == ((), [second.id])
    assert target.lifecycle.archived() == []


def test_a_plan_can_be_read_and_written_as_json(target: AgenticMemory) -> None:
    first, second = twice(target)
    plan = target.lifecycle.consolidate()
    shown = str(plan)
    assert "nothing was changed yet" in shown
    assert f"merge into {first.id[:8]} {FACT}" in shown
    data = json.loads(json.dumps(plan.as_dict()))
    assert data["merges"][0]["merged"] == [second.id]
    assert str(target.lifecycle.consolidate("elsewhere")) == "elsewhere: nothing to do"


# -- archiving -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "count", "why"),
    [
        ({"max_notes": 3}, 2, "5 notes where 3 have room; value"),
        ({"max_age": timedelta(days=30)}, 4, "for 60 days; 30 days may pass"),
        ({"max_age": timedelta(days=61)}, 0, ""),
    ],
)
def test_idle_notes_and_the_least_valuable_are_archived(
    limits: dict[str, Any], count: int, why: str
) -> None:
    clock = Clock()
    with open_memory(clock=clock) as memory:
        texts = ("alpha beta", "gamma delta", "epsilon zeta", "eta theta")
        old = {memory.add(f"The {text} report").id for text in texts}
        clock.now += timedelta(days=60)
        new = memory.add("Quite another subject")
        plan = memory.lifecycle.consolidate(**limits)
        assert len(plan.archived) == count
        assert {each.note for each in plan.archived} <= old
        assert all(why in each.why for each in plan.archived)
        memory.lifecycle.apply(plan)
        assert again(memory, new).status is Status.FORMED
        assert len(memory.lifecycle.archived()) == count
        assert not memory.lifecycle.consolidate(**limits)


def test_a_raw_note_is_not_archived() -> None:
    with open_memory(formation="off") as memory:
        memory.add("The alpha report")
        assert not memory.lifecycle.consolidate(max_notes=0)


@pytest.mark.parametrize("wrong", [{"max_notes": -1}, {"similarity": 2}, {"max_age": 3}])
def test_invalid_limits_are_refused(target: AgenticMemory, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        target.lifecycle.consolidate(**wrong)


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
        calls = memory.usage().total.calls
        assert len(memory.lifecycle.consolidate().distillations) == 1
        # A dry run asks no model.
        assert memory.usage().total.calls == calls
        note = distilled(memory)
        assert memory.usage().by_step["distil"].calls == 1
        assert note.content == "In short: the redis cache."
        assert note.key.startswith("distilled:")
        assert {link.to for link in note.outgoing} == {each.id for each in members}
        assert {link.kind for link in note.outgoing} == {"distils"}
        much_later = note.created_at + timedelta(days=3650)
        assert not any(is_worn_out(link, much_later, DEFAULT_POLICY) for link in note.outgoing)
        assert [again(memory, each).content for each in members] == [e.content for e in members]
        assert not memory.lifecycle.consolidate()
        # Undoing it archives it.
        assert memory.revert(note).status is Status.ARCHIVED
        assert standing(memory.lifecycle.restore(note)) == standing(note)
        assert memory.admin.check() == []


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


def test_without_a_model_nothing_is_distilled(target: AgenticMemory) -> None:
    clustered(target)
    assert target.lifecycle.consolidate().distillations == ()


def test_where_notes_have_nothing_in_common_there_is_no_note() -> None:
    with open_memory(model=distiller("")) as memory:
        clustered(memory)
        done = memory.lifecycle.consolidate(dry_run=False)
        assert done.distillations == ()
        assert "nothing that they have in common" in done.left[0][1]


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
