"""AMemMemory itself: what becomes a note, what is recalled, and what of `Memory` stays."""

from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock
from llama_index.core.memory import InsertMethod, Memory, StaticMemoryBlock

from amem_integrations import AgenticMemory, Status
from amem_integrations.errors import InvalidInputError
from amem_integrations.llama_index import AMemMemory
from tests.llama_index.support import assistant, contents, memory_of, system, user
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
        {"namespace": ""},
        {"llm": "openai:gpt-4o-mini"},
        {"location": "./elsewhere"},
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
    from tests.models.test_embedding_llama_index import plain

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


# -- what is recalled ----------------------------------------------------------------------------


def test_only_so_many_notes_are_recalled(core: AgenticMemory) -> None:
    for n in range(8):
        core.add(f"Dog number {n}", namespace="calvin")
    text = text_of(memory_of(core, top_k=3).get(input="dog"))
    assert text.count("Dog number") == 3


def test_recall_takes_no_more_tokens_than_it_may(core: AgenticMemory) -> None:
    for n in range(8):
        core.add(f"Dog number {n} " + "barks and " * 20, namespace="calvin", formation="off")
    memory = memory_of(core, max_tokens=300)
    recalled = memory.get(input="dog")
    assert 1 <= text_of(recalled).count("Dog number") < 5
    # The frame that LlamaIndex's template puts around it comes on top.
    assert memory._estimate_token_count(recalled) <= 300 + 20
    assert text_of(memory_of(core, max_tokens=10).get(input="dog")) == ""


def test_recall_leaves_the_chat_its_room(told: AgenticMemory) -> None:
    memory = memory_of(told, token_limit=100, chat_history=[user("word " * 90)])
    assert FACT not in text_of(memory.get(input=QUESTION))


def test_what_the_chat_shows_anyway_is_not_recalled(told: AgenticMemory) -> None:
    memory = memory_of(told)
    memory.put(user(QUESTION))
    assert text_of(memory.get()).count(QUESTION) == 1
    memory.put(assistant("I think it is Rex, your dog."))
    memory.put(user("Are you sure about the name of my dog?"))
    text = text_of(memory.get())
    assert FACT in text
    assert text.count("I think it is Rex") == text.count(QUESTION) == 1


def test_what_has_left_the_chat_is_recalled(core: AgenticMemory) -> None:
    memory = memory_of(core, token_limit=500, token_flush_size=50)
    memory.put_messages([user(FACT), assistant("Noted.")])
    for n in range(40):
        memory.put_messages([user(f"Now to topic {n}, which is long."), assistant("Fine.")])
    assert FACT not in text_of(memory.get(input="topic"))
    assert FACT in text_of(memory.get(input=QUESTION))
    assert core.count("calvin") == 82


def test_in_the_scope_of_a_session_only_that_is_recalled(told: AgenticMemory) -> None:
    memory_of(told, session_id="s1").put(user("My dog likes fish."))
    same = memory_of(told, session_id="s1", scope="session", chat_history=[])
    text = text_of(same.get(input=QUESTION))
    assert "fish" in text
    assert "Rex" not in text


def test_links_are_followed_as_far_as_it_says(core: AgenticMemory) -> None:
    asked: list[dict[str, Any]] = []
    search = core.search

    def recorded(*args: Any, **kwargs: Any) -> Any:
        asked.append(kwargs)
        return search(*args, **kwargs)

    core.search = recorded  # type: ignore[method-assign]
    memory_of(core, hops=3, top_k=7).get(input="dog")
    assert (asked[0]["hops"], asked[0]["k"]) == (3, 7)


# -- where it goes -------------------------------------------------------------------------------


def test_nothing_found_adds_nothing(core: AgenticMemory) -> None:
    memory = memory_of(core, chat_history=[system("Be kind."), user(QUESTION)])
    assert [message.content for message in memory.get()] == ["Be kind.", QUESTION]


def test_the_one_system_message_is_extended(told: AgenticMemory) -> None:
    memory = memory_of(told, chat_history=[system("Be kind."), user(QUESTION)])
    first, second = memory.get()
    assert (first.role, second.content) == ("system", QUESTION)
    assert (first.content or "").startswith("Be kind.\n")
    assert FACT in (first.content or "")


def test_without_a_system_message_notes_stand_with_the_question(told: AgenticMemory) -> None:
    memory = memory_of(told, chat_history=[user("Hi"), assistant("Hello"), user(QUESTION)])
    *before, last = memory.get()
    assert text_of(before) == "Hi\nHello"
    assert FACT in (last.content or "")
    assert (last.content or "").endswith(QUESTION)


@pytest.mark.parametrize("method", [InsertMethod.SYSTEM, "system"])
def test_a_system_message_is_made_where_one_is_wanted(told: AgenticMemory, method: Any) -> None:
    memory = memory_of(told, insert_method=method, chat_history=[user(QUESTION)])
    first, second = memory.get()
    assert (first.role, second.content) == ("system", QUESTION)
    assert FACT in (first.content or "")


@pytest.mark.parametrize("method", [InsertMethod.USER, "user"])
def test_notes_stand_with_the_question_although_there_is_a_system_message(
    told: AgenticMemory, method: Any
) -> None:
    memory = memory_of(
        told, insert_method=method, chat_history=[system("Be kind."), user(QUESTION)]
    )
    first, second = memory.get()
    assert first.content == "Be kind."
    assert FACT in (second.content or "")


def test_blocks_of_the_callers_own_stay(told: AgenticMemory) -> None:
    block = StaticMemoryBlock(name="rules", static_content="Answer in verse.")
    memory = memory_of(told, memory_blocks=[block], chat_history=[user(QUESTION)])
    messages = memory.get()
    assert [message.role for message in messages] == ["system", "user"]
    assert "Answer in verse." in text_of(messages)
    assert FACT in text_of(messages)
    memory.put(assistant("Rex."))
    assert len(memory.get_all()) == 2


def test_the_template_of_memory_blocks_is_used(told: AgenticMemory) -> None:
    from llama_index.core.prompts import RichPromptTemplate

    template = RichPromptTemplate(
        "{% for n, c in memory_blocks %}KNOWN {{ c[0].text }}{% endfor %}"
    )
    memory = memory_of(told, memory_blocks_template=template)
    assert text_of(memory.get(input=QUESTION)).startswith("KNOWN Notes from memory")


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
