"""AMemMemory itself: what becomes a note, what is recalled, and what of `Memory` stays."""

from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock
from llama_index.core.memory import Memory

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.llama_index import AMemMemory
from tests.llama_index.support import assistant, contents, memory_of, user
from tests.support import chat_model, open_memory

FACT = "My dog is called Rex."
QUESTION = "What is the name of my dog?"


def text_of(messages: list[ChatMessage]) -> str:
    return "\n".join(message.content or "" for message in messages)


@pytest.fixture
def told(core: AgenticMemory) -> AgenticMemory:
    core.add(FACT, namespace="calvin")
    return core


# -- what may be given ---------------------------------------------------------------------------


def test_it_is_a_llama_index_memory_and_never_falsy(core: AgenticMemory) -> None:
    memory = memory_of(core)
    assert isinstance(memory, Memory)
    assert bool(memory)
    assert not hasattr(memory, "__len__")


@pytest.mark.parametrize(
    "wrong",
    [
        {"ingest": "sometimes"},
        {"scope": "world"},
        {"roles": ("user", "tool")},
        {"insert_method": "footer"},
        {"session_id": " "},
        {"session_id": "s" * 5000},
        {"namespace": ""},
        {"llm": "openai:gpt-4o-mini"},
        {"location": "./elsewhere"},
        {"top_k": -1},
        {"top_k": "5"},
        {"hops": -1},
        {"max_tokens": -1},
    ],
)
def test_what_cannot_be_meant_is_refused_when_it_is_built(
    core: AgenticMemory, wrong: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        AMemMemory.from_defaults(**{"core": core, "namespace": "calvin", **wrong})


def test_an_argument_that_llama_index_does_not_know_is_refused(core: AgenticMemory) -> None:
    with pytest.raises(TypeError, match="top_p"):
        memory_of(core, top_p=1)


def test_without_a_namespace_notes_are_private_to_the_object(told: AgenticMemory) -> None:
    first, second = AMemMemory.from_defaults(core=told), AMemMemory.from_defaults(core=told)
    first.put(user("A secret about the dog."))
    assert first.namespace != second.namespace
    assert "secret" not in text_of(second.get(input="secret dog"))
    assert FACT not in text_of(first.get(input=QUESTION))


def test_with_a_location_it_opens_a_memory_of_its_own_and_closes_it(tmp_path: Any) -> None:
    from tests.embedders.test_llama_index import plain

    memory = AMemMemory.from_defaults(location=tmp_path, embed_model=plain(), namespace="calvin")
    memory.put(user(FACT))
    memory.close()
    again = AMemMemory.from_defaults(location=tmp_path, embed_model=plain(), namespace="calvin")
    assert FACT in text_of(again.get(input=QUESTION))
    again.close()


def test_a_memory_that_was_given_is_not_closed(core: AgenticMemory) -> None:
    memory_of(core).close()
    assert not core.closed


# -- what becomes a note -------------------------------------------------------------------------


def test_a_message_is_a_note_as_soon_as_it_is_put(core: AgenticMemory) -> None:
    memory = memory_of(core, session_id="s1")
    memory.put(user(FACT))
    (note,) = core.recent(namespace="calvin")
    assert (note.content, note.speaker, note.session, note.sequence) == (FACT, "user", "s1", 0)


def test_notes_know_their_place_in_the_session(core: AgenticMemory) -> None:
    memory = memory_of(core)
    memory.put_messages([user("One"), assistant("Two")])
    memory.put(user("Three"))
    notes = core.recent(namespace="calvin")
    assert [(note.content, note.sequence) for note in reversed(notes)] == [
        ("One", 0),
        ("Two", 1),
        ("Three", 2),
    ]


def test_the_same_words_said_twice_are_two_notes(core: AgenticMemory) -> None:
    memory = memory_of(core)
    for _ in range(2):
        memory.put(user("ok"))
    assert contents(core) == ["ok", "ok"]


def test_only_the_given_roles_are_remembered(core: AgenticMemory) -> None:
    memory = memory_of(core, roles=("user",))
    memory.put_messages([user("Mine"), assistant("Yours")])
    assert contents(core) == ["Mine"]


def test_text_beside_an_image_is_remembered(core: AgenticMemory) -> None:
    image = ImageBlock(url="http://example.org/dog.png")
    memory_of(core).put(ChatMessage(role="user", blocks=[image, TextBlock(text="My dog.")]))
    assert contents(core) == ["My dog."]


def test_no_messages_are_no_trouble(core: AgenticMemory) -> None:
    memory = memory_of(core)
    memory.put_messages([])
    assert memory.get() == []
    assert core.count() == 0


@pytest.mark.parametrize(
    ("ingest", "status"),
    [("await", Status.FORMED), ("manual", Status.RAW)],
)
def test_notes_are_formed_when_it_says(ingest: Any, status: Status) -> None:
    with open_memory(model=chat_model()) as core:
        memory = memory_of(core, ingest=ingest)
        memory.put(user(FACT))
        assert core.recent(namespace="calvin")[0].status is status
        assert memory.flush(10)
        assert core.recent(namespace="calvin")[0].status is Status.FORMED


def test_in_the_background_a_put_does_not_wait_for_the_model() -> None:
    with open_memory(model=chat_model(latency=0.3)) as core:
        memory = memory_of(core)
        memory.put(user(FACT))
        assert core.recent(namespace="calvin")[0].status is Status.RAW
        assert memory.flush(10)
        assert core.recent(namespace="calvin")[0].status is Status.FORMED


# -- setting, resetting, forgetting --------------------------------------------------------------


def test_a_history_that_is_set_is_remembered_by_what_is_new_in_it(core: AgenticMemory) -> None:
    memory = memory_of(core)
    memory.put_messages([user("One"), assistant("Two")])
    memory.set([user("One"), assistant("Another two"), user("Three")])
    assert contents(core) == ["One", "Two", "Another two", "Three"]
    assert [message.content for message in memory.get_all()] == ["One", "Another two", "Three"]


def test_the_same_history_set_by_another_object_is_not_remembered_again(
    core: AgenticMemory,
) -> None:
    history = [user("ok"), assistant("Two"), user("ok")]
    for _ in range(3):
        memory = memory_of(core, session_id="s1", chat_history=history)
    memory.put(user("ok"))
    assert contents(core) == ["ok", "Two", "ok", "ok"]


def test_a_shorter_history_takes_nothing_back(core: AgenticMemory) -> None:
    memory = memory_of(core)
    memory.put_messages([user("One"), assistant("Two")])
    memory.set([user("One")])
    memory.put(assistant("Two"))
    assert contents(core) == ["One", "Two", "Two"]


def test_reset_clears_the_chat_and_keeps_the_notes(core: AgenticMemory) -> None:
    memory = memory_of(core)
    memory.put(user(FACT))
    memory.reset()
    assert memory.get_all() == []
    assert FACT in text_of(memory.get(input=QUESTION))
    memory.put(user(FACT))
    assert contents(core) == [FACT, FACT]


def test_forget_removes_the_notes_of_the_user_and_keeps_the_chat(core: AgenticMemory) -> None:
    memory, other = memory_of(core), memory_of(core, "hobbes")
    memory.put(user(FACT))
    other.put(user("I am a tiger."))
    assert memory.forget().notes == 1
    assert (core.count("calvin"), core.count("hobbes")) == (0, 1)
    assert len(memory.get_all()) == 1


def test_forget_in_the_scope_of_a_session_removes_its_notes_only(core: AgenticMemory) -> None:
    memory_of(core).put(user("Said elsewhere."))
    memory = memory_of(core, scope="session")
    memory.put_messages([user(FACT), assistant("Noted.")])
    assert memory.forget().notes == 2
    assert contents(core) == ["Said elsewhere."]


def test_one_note_can_be_forgotten(core: AgenticMemory) -> None:
    memory = memory_of(core)
    memory.put_messages([user(FACT), assistant("Noted.")])
    fact = core.search("dog", namespace="calvin", k=1)[0].note
    assert memory.forget(fact.id).notes == 1
    assert contents(core) == ["Noted."]


def test_what_was_recalled_before_it_was_forgotten_is_not_shown_again(
    told: AgenticMemory,
) -> None:
    memory = memory_of(told)
    assert FACT in text_of(memory.get(input=QUESTION))
    memory.forget()
    assert memory.get(input=QUESTION) == []


# -- both forms ----------------------------------------------------------------------------------


async def test_every_operation_has_an_async_form(told: AgenticMemory) -> None:
    memory = memory_of(told)
    await memory.aput(user("One"))
    await memory.aput_messages([assistant("Two")])
    await memory.aset([user("One"), assistant("Two"), user("Three")])
    assert [message.content for message in await memory.aget_all()] == ["One", "Two", "Three"]
    assert FACT in text_of(await memory.aget(input=QUESTION))
    assert await memory.aflush(10)
    assert (await memory.aforget()).notes == 4
    await memory.areset()
    assert await memory.aget() == []
    await memory.aclose()


@pytest.mark.parametrize("role", [MessageRole.CHATBOT, MessageRole.MODEL])
def test_the_assistant_is_known_by_other_names(core: AgenticMemory, role: MessageRole) -> None:
    memory_of(core).put(ChatMessage(role=role, content="Hello."))
    assert core.recent(namespace="calvin")[0].speaker == "assistant"


def test_events_are_counted_from_nothing(core: AgenticMemory) -> None:
    assert memory_of(core).events == {}
