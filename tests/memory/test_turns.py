"""add_turn: what becomes of a turn of a conversation."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.core.io import run
from amem_integrations.errors import InvalidInputError, NoteNotFoundError
from amem_integrations.memory.turns import TurnResult
from tests.support import EMBEDDER, again, chat_model, io_of, open_memory

MEETING = "The board meeting is on Monday at ten."
KAYAK = "I bought a red kayak from a shop in Kiel last summer."
SINK = "By the way, the plumber fixed the kitchen sink and wants 200 euros."
TWO_IDEAS = f"{KAYAK} {SINK}"
AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def memory() -> Iterator[AgenticMemory]:
    with open_memory() as memory:
        yield memory


def kinds(result: TurnResult) -> list[str]:
    return [idea.kind for idea in result.ideas]


def state(memory: AgenticMemory) -> dict[str, tuple[Any, ...]]:
    return {
        note.id: (note.version, note.content, note.status, note.links, note.created_at)
        for note in memory.recent(limit=100)
    }


def events(memory: AgenticMemory) -> dict[str, int]:
    return {name: n for name, n in memory.admin.health().items() if name.startswith("turn.")}


# -- new --------------------------------------------------------------------------------------


def test_a_turn_of_one_idea_is_the_note_that_add_makes() -> None:
    about: dict[str, Any] = {
        "speaker": "Ann",
        "session": "s",
        "sequence": 3,
        "occurred_at": AT,
        "metadata": {"x": 1},
    }

    def moment() -> datetime:
        return AT

    with open_memory(clock=moment) as one, open_memory(clock=moment) as other:
        added = one.add(MEETING, **about)
        result = other.add_turn(MEETING, **about)
    (idea,) = result.ideas
    assert (idea.kind, idea.of) == ("new", None)
    # The graph is told the time more often here or there.
    same = {"revision": added.revision, "created_at": added.created_at}
    assert idea.note.evolve(**same, updated_at=added.updated_at) == added


async def test_add_turn_has_an_awaited_form() -> None:
    async with await AgenticMemory.aopen(embedder=EMBEDDER) as memory:
        result = await memory.aadd_turn(TWO_IDEAS, key="turn")
        assert kinds(result) == ["new", "new"]
        assert [note.id for note in await memory.aget_turn(result.notes[1])] == [
            note.id for note in result.notes
        ]
        plain = await memory.aadd_turn("ok, thanks")
        assert (await memory.aform(plain.notes[0])).status is Status.FORMED


@pytest.mark.parametrize("formation", ["inline", "background", "off"])
def test_what_is_new_is_formed_as_the_caller_says(formation: Any) -> None:
    with open_memory() as memory:
        result = memory.add_turn(TWO_IDEAS, formation=formation)
        statuses = {note.status for note in result.notes}
        if formation != "background":
            assert statuses == {Status.FORMED if formation == "inline" else Status.RAW}
        if formation == "off":
            assert memory.resume() == 2
        memory.flush()
        assert {again(memory, note).status for note in result.notes} == {Status.FORMED}
        assert memory.admin.check() == []


def test_a_wrong_formation_is_refused_before_anything_is_stored(memory: AgenticMemory) -> None:
    wrong: Any = "later"
    with pytest.raises(InvalidInputError, match="formation"):
        memory.add_turn("ok", formation=wrong)
    with pytest.raises(InvalidInputError, match="blank"):
        memory.add_turn("  \n")
    assert memory.count() == 0


# -- several ideas ------------------------------------------------------------------------------


def test_several_ideas_become_several_notes_of_one_turn(memory: AgenticMemory) -> None:
    result = memory.add_turn(TWO_IDEAS, key="turn", speaker="Ann", session="s", sequence=1)
    kayak, sink = result.notes
    assert (kayak.content, sink.content) == (KAYAK, SINK)
    assert kinds(result) == ["new", "new"]
    for note in result.notes:
        assert (note.speaker, note.session, note.sequence) == ("Ann", "s", 1)
        assert note.source_id == "turn"
        assert note.position is not None
        assert TWO_IDEAS[note.position :].startswith(note.content)
    assert kayak.created_at < sink.created_at
    assert events(memory) == {"turn.new": 2, "turn.split": 1}


def test_the_turn_of_a_note_can_be_found(memory: AgenticMemory) -> None:
    first, second = memory.add_turn(TWO_IDEAS, key="turn").notes
    memory.add_turn(TWO_IDEAS, key="another turn")
    alone = memory.add_turn(MEETING).notes[0]
    assert [note.id for note in memory.get_turn(second)] == [first.id, second.id]
    assert [note.id for note in memory.get_turn(alone)] == [alone.id]
    hits = memory.search("kayak sink", filter={"source_id": "turn"})
    assert {hit.note.id for hit in hits} == {first.id, second.id}
    with pytest.raises(NoteNotFoundError):
        memory.get_turn(first, namespace="elsewhere")


# -- nothing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["ok, thanks", "好的，谢谢！", "😂", "Good morning everyone!", "When is my violin lesson?"],
)
def test_nothing_worth_forming_is_skipped_and_not_found(memory: AgenticMemory, text: str) -> None:
    (idea,) = memory.add_turn(text).ideas
    assert idea.kind == "nothing"
    assert idea.note.status is Status.SKIPPED
    assert (idea.note.keywords, idea.note.context, idea.note.links) == ((), "", ())
    assert memory.admin.health()["skipped"] == memory.admin.health()["turn.nothing"] == 1
    assert memory.search(text) == []
    asked = memory.search(text, filter={"status": "skipped"})
    assert [hit.note.id for hit in asked] == [idea.note.id]


def test_the_queue_never_takes_what_is_skipped(memory: AgenticMemory) -> None:
    note = memory.add_turn("ok, thanks", formation="off").notes[0]
    assert memory.resume() == memory.admin.retry() == 0
    assert memory.flush(5)
    assert again(memory, note).status is Status.SKIPPED
    assert memory.admin.check() == []


def test_what_is_skipped_can_be_formed_later(memory: AgenticMemory) -> None:
    note = memory.add_turn("ok, thanks").notes[0]
    assert memory.form(note).status is Status.FORMED
    assert memory.form(note).status is Status.FORMED
    assert memory.admin.health()["formation.formed"] == 1
    with pytest.raises(NoteNotFoundError):
        memory.form(note, namespace="elsewhere")


def test_a_note_that_was_given_up_can_be_formed_as_well(memory: AgenticMemory) -> None:
    note = memory.add(MEETING)
    run(io_of(memory).engine.patch(memory.revert(note).id, {"status": "parked"}))
    parked = again(memory, note)
    assert parked.status is Status.PARKED
    assert memory.form(parked).status is Status.FORMED


def test_nothing_is_linked_to_what_says_nothing(memory: AgenticMemory) -> None:
    memory.add_turn(MEETING, session="s", sequence=1)
    plain = memory.add_turn("ok, thanks", session="s", sequence=2).notes[0]
    memory.add_turn("Ten is too early for the board meeting.", session="s", sequence=3)
    assert memory.links(plain) == ()


def test_an_update_of_a_plain_note_can_be_undone(memory: AgenticMemory) -> None:
    plain = memory.add_turn("ok, thanks").notes[0]
    memory.update(plain, MEETING)
    undone = memory.revert(plain, to_version=1)
    assert (undone.content, undone.status) == ("ok, thanks", Status.SKIPPED)


def test_an_answer_is_new(memory: AgenticMemory) -> None:
    memory.add_turn("Can we move the call to nine?", speaker="Wei", session="s", sequence=1)
    result = memory.add_turn("ok", speaker="Ann", session="s", sequence=2)
    assert kinds(result) == ["new"]
    assert kinds(memory.add_turn("ok", speaker="Wei", session="s", sequence=3)) == ["nothing"]


def test_a_skipped_question_says_what_its_answer_is_about(memory: AgenticMemory) -> None:
    memory.add_turn("Where does your sister Ines live?", speaker="Bob", session="s", sequence=1)
    answer = memory.add_turn("In Lisbon.", speaker="Ann", session="s", sequence=2).notes[0]
    memory.add_turn("The sink leaks.", speaker="Ann", session="t", sequence=1)
    hits = memory.search("Where does Ines live?", hops=0)
    assert hits[0].note.id == answer.id
    assert "Ines" not in " ".join(hit.note.content for hit in hits)


def test_a_model_reads_the_skipped_question_and_links_nothing_to_it() -> None:
    judge = chat_model()
    with open_memory(model=judge) as memory:
        question = memory.add_turn("Where does your sister Ines live?", session="s").notes[0]
        memory.add_turn("The sink leaks at home.", session="t")
        answer = memory.add_turn("She lives in Lisbon.", session="s").notes[0]
        shown = str(judge.calls[-1].messages[1].content)
        assert "Ines" in shown
        assert question.id not in {link.to for link in answer.links}
        assert "dropped.link.not_offered" not in memory.admin.health()


def test_an_echo_of_the_assistant_is_skipped_and_its_result_is_formed(
    memory: AgenticMemory,
) -> None:
    told: dict[str, Any] = {"speaker": "Ann", "session": "s"}
    reply: dict[str, Any] = {"speaker": "assistant", "session": "s"}
    memory.add_turn("My violin lesson with Rosa is on Friday.", **told)
    assert kinds(memory.add_turn("Your violin lesson with Rosa is on Friday.", **reply)) == [
        "nothing"
    ]
    memory.add_turn("When is my violin lesson?", **told | {"session": "t"})
    echo = "Your lesson is on Friday, with Rosa."
    assert kinds(memory.add_turn(echo, **reply | {"session": "t"})) == ["nothing"]
    memory.add_turn("Can you book us a table at Nonna for the 12th?", **told | {"session": "t"})
    booked = "I booked table 4 at Nonna for the 12th, reference KX-4417."
    (idea,) = memory.add_turn(booked, **reply | {"session": "t"}).ideas
    assert (idea.kind, idea.note.status) == ("new", Status.FORMED)


# -- repetitions ----------------------------------------------------------------------------------


def repeated(memory: AgenticMemory) -> tuple[Note, Note]:
    old = memory.add_turn(MEETING, speaker="Ann", session="s", sequence=1).notes[0]
    (idea,) = memory.add_turn(MEETING, speaker="Ann", session="t", sequence=1).ideas
    assert (idea.kind, idea.of) == ("repetition", old.id)
    return old, idea.note


def test_a_repetition_reinforces_the_old_note_and_is_not_formed(memory: AgenticMemory) -> None:
    old, repetition = repeated(memory)
    before = memory.admin.health()["formation.formed"]
    memory.add_turn(f"Well, {MEETING}", speaker="Bob", session="t", sequence=2)
    assert memory.admin.health()["formation.formed"] == before == 1
    assert repetition.status is Status.SKIPPED
    held = again(memory, old)
    assert [link.kind for link in held.incoming] == ["repeats", "repeats"]
    assert held.version == old.version
    assert memory.admin.health()["turn.repetition"] == 2
    assert memory.admin.check() == []


def test_what_repeats_a_forgotten_note_says_it_first(memory: AgenticMemory) -> None:
    old, repetition = repeated(memory)
    forgotten = memory.forget(old)
    assert forgotten.unformed == (repetition.id,)
    held = again(memory, repetition)
    assert (held.status, held.links) == (Status.FORMED, ())
    assert memory.admin.check() == []


def test_what_repeats_a_note_that_is_changed_says_it_first(memory: AgenticMemory) -> None:
    old, repetition = repeated(memory)
    memory.update(old, "The board meeting is on Friday at nine.")
    assert "repeats" not in {link.kind for link in again(memory, repetition).links}
    assert again(memory, repetition).status is Status.FORMED


def test_a_repetition_formed_on_demand_still_repeats(memory: AgenticMemory) -> None:
    old, repetition = repeated(memory)
    formed = memory.form(repetition)
    assert formed.status is Status.FORMED
    assert [(link.to, link.kind) for link in formed.outgoing if link.to == old.id] == [
        (old.id, "repeats")
    ]


def test_another_namespace_repeats_nothing(memory: AgenticMemory) -> None:
    memory.add_turn(MEETING, namespace="a")
    assert kinds(memory.add_turn(MEETING, namespace="b")) == ["new"]


# -- corrections ----------------------------------------------------------------------------------


def test_a_correction_is_formed_and_leads_to_what_it_corrects(memory: AgenticMemory) -> None:
    old = memory.add_turn(MEETING, session="s", sequence=1).notes[0]
    result = memory.add_turn("Actually it is Tuesday, not Monday", session="s", sequence=2)
    (idea,) = result.ideas
    assert (idea.kind, idea.of) == ("correction", old.id)
    assert idea.note.status is Status.FORMED
    assert [link.kind for link in idea.note.outgoing if link.to == old.id] == ["corrects"]
    assert [link.source for link in again(memory, old).incoming] == [idea.note.id]
    assert memory.admin.health()["turn.correction"] == 1


def test_a_correction_outlasts_a_new_formation(memory: AgenticMemory) -> None:
    old = memory.add_turn(MEETING, session="s", sequence=1).notes[0]
    other = memory.add_turn("Tuesday is the day of the market.", session="s", sequence=2).notes[0]
    right = memory.add_turn("Actually it is Tuesday, not Monday", session="s", sequence=3).notes[0]
    memory.forget(other)
    held = again(memory, right)
    assert held.status is Status.FORMED
    assert ("corrects", old.id) in {(link.kind, link.to) for link in held.outgoing}
    memory.forget(old)
    assert not any(link.kind == "corrects" for link in again(memory, right).links)
    assert memory.admin.check() == []


# -- the same turn again --------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["ok, thanks", MEETING, TWO_IDEAS, "Actually it was moved."])
def test_the_same_turn_twice_changes_nothing(memory: AgenticMemory, text: str) -> None:
    memory.add_turn(MEETING, speaker="Ann", session="r")
    about: dict[str, Any] = {"speaker": "Ann", "session": "s", "sequence": 1}
    first = memory.add_turn(text, **about)
    before = state(memory)
    second = memory.add_turn(text, **about)
    assert state(memory) == before
    assert [(each.kind, each.of, each.note) for each in second.ideas] == [
        (each.kind, each.of, each.note) for each in first.ideas
    ]
    assert memory.admin.health()["turn.again"] == 1


def test_a_turn_that_was_added_is_not_split(memory: AgenticMemory) -> None:
    added = memory.add(TWO_IDEAS)
    assert memory.add_turn(TWO_IDEAS).notes[0].id == added.id
    assert memory.count() == 1


def test_the_metadata_of_a_turn_that_comes_again_is_updated(memory: AgenticMemory) -> None:
    memory.add_turn(TWO_IDEAS, key="turn", metadata={"x": 1})
    result = memory.add_turn(TWO_IDEAS, key="turn", metadata={"x": 2})
    assert [note.metadata for note in result.notes] == [{"x": 2}] * 2
    assert [note.metadata for note in memory.add_turn(TWO_IDEAS, key="turn").notes] == [
        {"x": 2}
    ] * 2


@pytest.mark.parametrize(("first", "second"), [(TWO_IDEAS, MEETING), (MEETING, TWO_IDEAS)])
def test_other_content_under_a_key_takes_the_place_of_the_old(
    memory: AgenticMemory, first: str, second: str
) -> None:
    memory.add_turn(first, key="turn")
    result = memory.add_turn(second, key="turn")
    assert " ".join(note.content for note in result.notes) == second
    assert {note.id for note in memory.recent()} == {note.id for note in result.notes}
    assert memory.admin.check() == []


def test_a_turn_cut_short_is_not_taken_for_the_whole(memory: AgenticMemory) -> None:
    memory.add_turn(TWO_IDEAS, key="turn")
    longer = f"{TWO_IDEAS} He comes again on Friday."
    result = memory.add_turn(longer, key="turn")
    assert result.notes[-1].content.endswith("Friday.")
    assert memory.count() == 2


# -- whatever may come between ------------------------------------------------------------------


def test_a_note_forgotten_while_it_is_repeated_leaves_no_link(
    memory: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = memory.add_turn(MEETING, session="s").notes[0]
    engine: Any = io_of(memory).engine
    insert: Callable[..., Any] = engine.insert

    async def forgotten_just_before(points: Any) -> Any:
        monkeypatch.undo()
        memory.forget(old)
        return await insert(points)

    monkeypatch.setattr(engine, "insert", forgotten_just_before, raising=False)
    (idea,) = memory.add_turn(MEETING, session="t").ideas
    assert (idea.kind, idea.of, idea.note.links) == ("new", None, ())
    assert idea.note.status is Status.FORMED
    assert memory.admin.check() == []


def test_exported_turns_come_back_with_their_parts_and_what_is_skipped(
    memory: AgenticMemory,
) -> None:
    memory.add_turn(TWO_IDEAS, key="turn")
    old, repetition = repeated(memory)
    memory.add_turn("ok, thanks")
    lines = list(memory.admin.export("default"))
    with open_memory() as other:
        other.admin.import_(lines, namespace="moved", trust=True)
        first, second = other.search("kayak sink", namespace="moved", filter={"source_id": "turn"})
        assert {note.id for note in other.get_turn(first.note)} == {first.note.id, second.note.id}
        assert other.admin.health("moved")["skipped"] == 2
        held = next(n for n in other.recent(namespace="moved") if n.key == old.key)
        assert [link.kind for link in held.incoming] == ["repeats"]
        assert other.admin.check() == []
    assert repetition.source_id is None
