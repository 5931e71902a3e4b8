"""What a chat memory recalls, how much, and where in the messages it stands."""

import asyncio
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import InsertMethod, StaticMemoryBlock
from llama_index.core.prompts import RichPromptTemplate

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemoryBlock, AMemRetriever, create_memory_tools
from amem_integrations.memory.search import find
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.llama_index.support import ENGINES, FIND, assistant, memory_of, system, user

FACT = "My dog is called Rex."
QUESTION = "What is the name of my dog?"


def text_of(messages: list[ChatMessage]) -> str:
    return "\n".join(message.content or "" for message in messages)


@pytest.fixture
def told(core: AgenticMemory) -> AgenticMemory:
    core.add(FACT, namespace="calvin")
    return core


# -- what is recalled ----------------------------------------------------------------------------


def test_only_so_many_notes_are_recalled(core: AgenticMemory) -> None:
    for n in range(8):
        core.add(f"Dog number {n}", namespace="calvin")
    text = text_of(memory_of(core, top_k=3).get(input="dog"))
    assert text.count("Dog number") == 3


def test_a_question_about_nothing_stored_recalls_nothing(told: AgenticMemory) -> None:
    memory = memory_of(told, min_relevance=0.55)
    assert FACT in text_of(memory.get(input=QUESTION))
    assert FACT not in text_of(memory.get(input="Which wombats live in Tasmania?"))
    again = type(memory).from_dict(memory.to_dict(), core=told)
    assert FACT not in text_of(again.get(input="Which wombats live in Tasmania?"))


def test_a_block_a_retriever_and_tools_recall_nothing_for_it_either(told: AgenticMemory) -> None:
    asked, about = "Which wombats live in Tasmania?", {"namespace": "calvin", "min_relevance": 0.55}
    block = AMemMemoryBlock(told, **about)
    assert asyncio.run(block.aget([user(asked)])) == ""
    assert FACT in asyncio.run(block.aget([user(QUESTION)]))
    retriever = AMemRetriever(told, **about)
    assert [len(retriever.retrieve(query)) for query in (asked, QUESTION)] == [0, 1]
    recall, _ = create_memory_tools(told, **about)
    assert "Nothing is remembered" in recall.call(query=asked).content
    assert FACT in recall.call(query=QUESTION).content


def test_recall_takes_no_more_tokens_than_it_may(core: AgenticMemory) -> None:
    for n in range(8):
        core.add(f"Dog number {n} " + "barks and " * 20, namespace="calvin", formation="off")
    memory = memory_of(core, max_tokens=300)
    recalled = memory.get(input="dog")
    assert 1 <= text_of(recalled).count("Dog number") < 5
    # The frame that LlamaIndex's template puts around it comes on top.
    assert memory._estimate_token_count(recalled) <= 300 + 20
    assert text_of(memory_of(core, max_tokens=10).get(input="dog")) == ""


def test_placeholders_that_are_made_harmless_count_as_they_are_shown(
    core: AgenticMemory,
) -> None:
    core.add("Dog " + "{a}" * 300, namespace="calvin", formation="off")
    core.add("Dog that barks", namespace="calvin", formation="off")
    memory = memory_of(core, max_tokens=800)
    recalled = memory.get(input="dog")
    assert "barks" in text_of(recalled)
    assert memory._estimate_token_count(recalled) <= 800 + 20


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


def test_links_are_followed_as_far_as_it_says(
    core: AgenticMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    async def record(*args: Any, **kwargs: Any) -> Any:
        asked.append(kwargs)
        return await find(*args, **kwargs)

    monkeypatch.setattr(FIND, record)
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
    (message,) = memory.get()
    assert "Answer in verse." in (message.content or "")
    assert FACT in (message.content or "")
    assert (message.content or "").endswith(QUESTION)
    memory.put(assistant("Rex."))
    assert len(memory.get_all()) == 2


@pytest.mark.parametrize("before", [[], [user("Hi"), assistant("Hello")]])
def test_with_blocks_of_the_callers_own_an_engine_sends_one_system_message_too(
    told: AgenticMemory, before: list[ChatMessage]
) -> None:
    block = StaticMemoryBlock(name="rules", static_content="Answer in verse.")
    llm = ScriptedLLM(["Rex."], after="repeat")
    for engine in ENGINES[:2]:
        memory = memory_of(told, memory_blocks=[block], chat_history=before)
        talk = engine(llm, memory)
        talk._prefix_messages = [system("Be kind.")]
        talk.chat(QUESTION)
    for call in llm.calls:
        assert [message.role for message in call.messages].count("system") == 1
        assert call.text.index("Answer in verse.") < call.text.rindex(QUESTION)
        assert call.text.count("Answer in verse.") == call.text.count(FACT) == 1
        if before:
            assert call.text.index("Hello") < call.text.index("Answer in verse.")


def test_the_template_of_memory_blocks_is_used(told: AgenticMemory) -> None:
    template = RichPromptTemplate(
        "{% for n, c in memory_blocks %}KNOWN {{ c[0].text }}{% endfor %}"
    )
    memory = memory_of(told, memory_blocks_template=template)
    assert text_of(memory.get(input=QUESTION)).startswith("KNOWN Notes from memory")
