"""AMemMemory itself: its arguments, what becomes a note, and what of `Memory` stays."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.memory import Memory, StaticMemoryBlock
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.llama_index import AMemMemory
from amem_integrations.llama_index.chat_store import InProcessChatStore
from tests.embedders.test_llama_index import plain
from tests.llama_index.support import (
    FACT,
    QUESTION,
    SharingStore,
    assistant,
    contents,
    memory_of,
    system,
    text_of,
    user,
)
from tests.support import chat_model, open_memory

# -- arguments -----------------------------------------------------------------------------------


def test_it_is_a_llama_index_memory_and_never_falsy(core: AgenticMemory) -> None:
    memory = memory_of(core)
    assert isinstance(memory, Memory)
    assert bool(memory)
    assert not hasattr(memory, "__len__")
    assert memory.events == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"ingest": "sometimes"},
        {"scope": "world"},
        {"remember": "tool"},
        {"insert_method": "footer"},
        {"session_id": " "},
        {"namespace": ""},
        {"llm": "openai:gpt-4o-mini"},
        {"location": "./elsewhere"},
        {"top_k": "5"},
        {"hops": -1},
        {"max_tokens": -1},
    ],
)
def test_an_invalid_argument_is_refused(core: AgenticMemory, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        AMemMemory.from_defaults(**{"core": core, "namespace": "calvin", **wrong})
    with pytest.raises(InvalidInputError):
        AMemMemory(**{"core": core, "namespace": "calvin", **wrong})


@pytest.mark.parametrize("make", [AMemMemory, AMemMemory.from_defaults])
def test_an_argument_that_llama_index_does_not_know_is_refused(
    core: AgenticMemory, make: Callable[..., AMemMemory]
) -> None:
    with pytest.raises(TypeError, match="top_p"):
        make(core=core, top_p=1)


def test_its_constructor_makes_one_that_works(told: AgenticMemory) -> None:
    memory = AMemMemory(
        core=told, namespace="calvin", token_limit=4321, session_id="s1", insert_method="system"
    )
    memory.put(user(QUESTION))
    notes, question = memory.get()
    assert (notes.role, question.content) == ("system", QUESTION)
    assert FACT in (notes.content or "")
    assert memory.token_limit == 4321
    assert told.recent(namespace="calvin")[0].session == "s1"
    assert AMemMemory(told).namespace != AMemMemory(told).namespace


def test_without_a_namespace_notes_are_private_to_the_object(told: AgenticMemory) -> None:
    first, second = AMemMemory.from_defaults(core=told), AMemMemory.from_defaults(core=told)
    first.put(user("A secret about the dog."))
    assert first.namespace != second.namespace
    assert "secret" not in text_of(second.get(input="secret dog"))
    assert FACT not in text_of(first.get(input=QUESTION))


def test_with_a_location_it_opens_a_memory_of_its_own_and_closes_it(
    core: AgenticMemory, tmp_path: Path
) -> None:
    for text in (FACT, QUESTION):
        memory = AMemMemory.from_defaults(
            location=tmp_path, embed_model=plain(), namespace="calvin"
        )
        memory.put(user(text))
        memory.reset()
        assert FACT in text_of(memory.get(input=QUESTION))
        memory.close()
    memory_of(core).close()
    assert not core.closed


# -- what becomes a note -------------------------------------------------------------------------


def test_each_message_is_a_note_as_soon_as_it_is_put(core: AgenticMemory) -> None:
    memory = memory_of(core, session_id="s1")
    memory.put(user("One"))
    memory.put_messages([])
    memory.put_messages([ChatMessage(role=MessageRole.CHATBOT, content="Two"), user("One")])
    notes = core.recent(namespace="calvin")[::-1]
    assert [(note.content, note.speaker, note.session, note.sequence) for note in notes] == [
        ("One", "user", "s1", 0),
        ("Two", "assistant", "s1", 1),
        ("One", "user", "s1", 2),
    ]


def test_a_session_that_goes_on_with_an_empty_chat_is_counted_on(core: AgenticMemory) -> None:
    memory_of(core, session_id="s1").put_messages([user("One"), assistant("Two")])
    memory_of(core, session_id="s1").put_messages([user("Three"), assistant("Four")])
    notes = core.recent(namespace="calvin")[::-1]
    assert [note.sequence for note in notes] == [0, 1, 2, 3]


def test_what_is_remembered_can_be_said(core: AgenticMemory) -> None:
    memory_of(core, remember="user").put_messages([user("Mine"), assistant("Yours")])
    assert contents(core) == ["Mine"]


@pytest.mark.parametrize(
    "message",
    [
        system("Be kind."),
        ChatMessage(role=MessageRole.DEVELOPER, content="Be brief."),
        ChatMessage(role=MessageRole.TOOL, content="Rain in Bern."),
        ChatMessage(role=MessageRole.FUNCTION, content="Rain in Bern."),
        user(" \n"),
        ChatMessage(role=MessageRole.ASSISTANT, blocks=[]),
        ChatMessage(
            role=MessageRole.ASSISTANT,
            content="Let me look.",
            additional_kwargs={"tool_calls": [{"id": "1"}]},
        ),
        ChatMessage(
            role=MessageRole.ASSISTANT,
            blocks=[ToolCallBlock(tool_name="weather", tool_kwargs={})],
        ),
        assistant('Thought: I look it up.\nAction: weather\nAction Input: {"city": "Bern"}'),
    ],
)
def test_tool_traffic_system_messages_and_traces_are_not_remembered(
    core: AgenticMemory, message: ChatMessage
) -> None:
    memory = memory_of(core)
    memory.put(message)
    assert core.count() == 0
    assert len(memory.get_all()) == 1
    assert memory.events == {}


@pytest.mark.parametrize("ingest", ["background", "await", "manual"])
def test_notes_are_formed_when_ingest_says(ingest: Any) -> None:
    with open_memory(model=chat_model(latency=0.3)) as core:
        memory = memory_of(core, ingest=ingest)
        memory.put(user(FACT))
        status = Status.FORMED if ingest == "await" else Status.RAW
        assert core.recent(namespace="calvin")[0].status is status
        assert memory.flush(10)
        assert core.recent(namespace="calvin")[0].status is Status.FORMED


@pytest.mark.parametrize("store", [InProcessChatStore, SharingStore])
@pytest.mark.parametrize("blocks", [[], [StaticMemoryBlock(name="rules", static_content="-")]])
def test_a_reader_gets_copies_of_the_messages(
    told: AgenticMemory, store: type[AsyncDBChatStore], blocks: list[Any]
) -> None:
    memory = memory_of(told, chat_store=store(), memory_blocks=blocks)
    memory.put(given := user(QUESTION))
    given.blocks[0].text = "spoilt"
    for message in memory.get():
        for block in message.blocks:
            block.text = "spoilt"
    memory.get_all()[0].blocks.clear()
    assert "spoilt" not in text_of(memory.get())
    assert memory.get_all() == [user(QUESTION)]
    memory.set([given := user("One")])
    given.blocks.clear()
    assert memory.get_all() == [user("One")]


# -- set, reset, forget --------------------------------------------------------------------------


def test_of_a_history_that_is_set_only_what_is_new_is_remembered(core: AgenticMemory) -> None:
    memory = memory_of(core)
    memory.put_messages([user("One"), assistant("Two")])
    memory.set([user("One"), assistant("Another two"), user("Three")])
    assert contents(core) == ["One", "Two", "Another two", "Three"]
    assert [message.content for message in memory.get_all()] == ["One", "Another two", "Three"]
    memory.set([user("One")])
    memory.put(assistant("Two"))
    assert contents(core)[4:] == ["Two"]


def test_a_history_set_by_another_object_is_not_remembered_again(core: AgenticMemory) -> None:
    history = [user("ok"), assistant("Two"), user("ok")]
    for _ in range(3):
        memory = memory_of(core, session_id="s1", chat_history=history)
    memory.put(user("ok"))
    assert contents(core) == ["ok", "Two", "ok", "ok"]


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
    assert FACT in text_of(memory_of(core).get(input=QUESTION))
    assert memory.forget().notes == 1
    assert (core.count("calvin"), core.count("hobbes")) == (0, 1)
    assert text_of(memory.get(input=QUESTION)) == FACT


def test_forget_in_the_scope_of_a_session_removes_its_notes_only(core: AgenticMemory) -> None:
    memory_of(core).put(user("Said elsewhere."))
    memory = memory_of(core, scope="session")
    memory.put_messages([user(FACT), assistant("Noted.")])
    assert memory.forget(core.search("dog", namespace="calvin", k=1)[0].note.id).notes == 1
    assert contents(core) == ["Said elsewhere.", "Noted."]
    assert memory.forget().notes == 1
    assert contents(core) == ["Said elsewhere."]


def test_notes_recalled_while_they_are_being_forgotten_are_not_shown_again(
    told: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_of(told)
    forget = told.admin.forget_namespace

    def read_first(namespace: Any) -> Any:
        assert memory.get(input="dog")
        return forget(namespace)

    monkeypatch.setattr(told.admin, "forget_namespace", read_first)
    memory.forget()
    assert memory.get(input="dog") == []


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
