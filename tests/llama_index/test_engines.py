"""Chat engines with a memory: what one session told is known in the next, and to nobody else."""

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core import Settings
from llama_index.core.base.llms.types import MessageRole
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.schema import QueryBundle

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemory
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.embedders.test_llama_index import plain
from tests.llama_index.support import (
    CHATS,
    ENGINES,
    FACT,
    QUESTION,
    condense_plus_context,
    contents,
    context,
    memory_of,
    prompts,
    simple,
)

Chat = Callable[[Any, str], str]
Engine = Callable[..., Any]


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_next_session_of_the_user_recalls_what_was_said_and_nobody_else_does(
    core: AgenticMemory, engine: Engine, chat: Chat
) -> None:
    first, second, other = (
        ScriptedLLM([reply], after="repeat") for reply in ("Noted.", "Rex", "?")
    )
    assert chat(engine(first, memory_of(core)), FACT) == "Noted."
    assert chat(engine(second, memory_of(core)), QUESTION) == "Rex"
    chat(engine(other, memory_of(core, "hobbes")), QUESTION)
    assert contents(core) == [FACT, "Noted.", QUESTION, "Rex"]
    assert FACT in prompts(second)
    assert other.calls
    assert "Rex" not in prompts(other)
    assert "memory" not in prompts(other)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_engine_keeps_its_chat(core: AgenticMemory, engine: Engine) -> None:
    talk = engine(ScriptedLLM(["Noted."], after="repeat"), memory_of(core))
    talk.chat(FACT)
    talk.chat("She is two.")
    chat = [FACT, "Noted.", "She is two.", "Noted."]
    assert [message.content for message in talk.chat_history] == contents(core) == chat
    talk.reset()
    assert talk.chat_history == []
    assert core.count("calvin") == 4


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("engine", [context, condense_plus_context])
def test_an_engine_may_be_asked_with_a_query(
    told: AgenticMemory, engine: Engine, chat: Any
) -> None:
    llm = ScriptedLLM(["Rex."], after="repeat")
    assert chat(engine(llm, memory_of(told)), QueryBundle(QUESTION)) == "Rex."
    assert FACT in prompts(llm)


@pytest.mark.parametrize("engine", [simple, context])
def test_an_answer_that_is_not_read_to_its_end_is_remembered(
    core: AgenticMemory, engine: Engine
) -> None:
    talk = engine(ScriptedLLM(["A long answer in many words."]), memory_of(core))
    pieces = talk.stream_chat("Tell me.").response_gen
    next(pieces)
    pieces.close()
    assert contents(core) == ["Tell me.", "A long answer in many words."]


def test_a_history_given_with_the_message_is_remembered_once(core: AgenticMemory) -> None:
    talk = simple(ScriptedLLM(["Noted."], after="repeat"), memory_of(core))
    talk.chat("One")
    talk.chat("Two", chat_history=talk.chat_history)
    talk.chat("Three", chat_history=talk.chat_history)
    assert contents(core) == ["One", "Noted.", "Two", "Noted.", "Three", "Noted."]


def test_an_engine_with_a_system_prompt_sends_one_system_message(told: AgenticMemory) -> None:
    llm = ScriptedLLM(["Rex."], after="repeat")
    SimpleChatEngine.from_defaults(llm=llm, memory=memory_of(told), system_prompt="Be kind.").chat(
        QUESTION
    )
    context(llm, memory_of(told)).chat(QUESTION)
    for call in llm.calls:
        roles = [message.role for message in call.messages]
        assert roles.count(MessageRole.SYSTEM) == 1
        assert FACT in call.text


def test_an_engine_makes_its_own_memory_from_the_class() -> None:
    Settings.embed_model = plain()
    try:
        llm = ScriptedLLM(["Noted.", "Rex."])
        talk = SimpleChatEngine.from_defaults(llm=llm, memory_cls=AMemMemory)
        talk.chat(FACT)
        talk.chat(QUESTION)
        assert [message.content for message in talk.chat_history][-1] == "Rex."
        # Without a namespace, its notes are its own.
        other = AMemMemory.from_defaults(chat_history=[], token_limit=4000)
        assert other.get(input=QUESTION) == []
    finally:
        Settings._embed_model = None
    talk._memory.close()
    other.close()
