"""Chat engines with a memory: what one session told is known in the next, and to nobody else."""

from collections.abc import Callable
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.llama_index.support import CHATS, ENGINES, contents, context, memory_of, simple

Chat = Callable[[Any, str], str]
Engine = Callable[..., Any]

FACT = "My dog is called Rex."
QUESTION = "What is the name of my dog?"


def prompts(llm: ScriptedLLM) -> str:
    return "\n".join(call.text for call in llm.calls)


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_one_session_told_reaches_the_prompt_of_the_next(
    core: AgenticMemory, engine: Engine, chat: Chat
) -> None:
    first, second = ScriptedLLM(["Noted."], after="repeat"), ScriptedLLM(["Rex."], after="repeat")
    assert chat(engine(first, memory_of(core)), FACT) == "Noted."
    assert chat(engine(second, memory_of(core)), QUESTION) == "Rex."
    assert "Rex" not in QUESTION
    assert FACT in prompts(second)


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("engine", ENGINES)
def test_another_user_is_told_nothing(core: AgenticMemory, engine: Engine, chat: Chat) -> None:
    chat(engine(ScriptedLLM(["Noted."], after="repeat"), memory_of(core)), FACT)
    llm = ScriptedLLM(["I do not know."], after="repeat")
    chat(engine(llm, memory_of(core, "hobbes")), QUESTION)
    assert llm.calls
    assert "Rex" not in prompts(llm)
    assert "memory" not in prompts(llm)


@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize("engine", ENGINES)
def test_each_message_becomes_one_note(core: AgenticMemory, engine: Engine, chat: Chat) -> None:
    talk = engine(ScriptedLLM(["Noted."], after="repeat"), memory_of(core))
    chat(talk, FACT)
    chat(talk, "She is two.")
    assert contents(core) == [FACT, "Noted.", "She is two.", "Noted."]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_chat_itself_is_kept_as_ever(core: AgenticMemory, engine: Engine) -> None:
    talk = engine(ScriptedLLM(["Noted."], after="repeat"), memory_of(core))
    talk.chat(FACT)
    assert [message.content for message in talk.chat_history] == [FACT, "Noted."]
    talk.reset()
    assert talk.chat_history == []
    assert core.count("calvin") == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_recall_asks_no_model(core: AgenticMemory, engine: Engine) -> None:
    core.add(FACT, namespace="calvin")
    with_memory = ScriptedLLM(["Rex."], after="repeat")
    before = core.usage().total.calls
    engine(with_memory, memory_of(core)).chat(QUESTION)
    without = ScriptedLLM(["Rex."], after="repeat")
    engine(without, memory_of(core, "hobbes")).chat(QUESTION)
    assert core.usage().total.calls == before
    # The engines that condense a question do so once there is something to condense it with.
    condensing = engine.__name__.startswith("condense")
    assert len(with_memory.calls) == len(without.calls) + condensing


@pytest.mark.parametrize("engine", [simple, context])
def test_an_answer_that_is_not_read_to_its_end_is_remembered(
    core: AgenticMemory, engine: Engine
) -> None:
    talk = engine(ScriptedLLM(["A long answer in many words."]), memory_of(core))
    response = talk.stream_chat("Tell me.")
    pieces = response.response_gen
    next(pieces)
    pieces.close()
    assert contents(core) == ["Tell me.", "A long answer in many words."]


def test_a_history_given_with_the_message_is_remembered_once(core: AgenticMemory) -> None:
    talk = simple(ScriptedLLM(["Noted."], after="repeat"), memory_of(core))
    talk.chat("One")
    talk.chat("Two", chat_history=talk.chat_history)
    talk.chat("Three", chat_history=talk.chat_history)
    assert contents(core) == ["One", "Noted.", "Two", "Noted.", "Three", "Noted."]


def test_an_engine_makes_its_own_memory_from_the_class(core: AgenticMemory) -> None:
    from llama_index.core import Settings
    from llama_index.core.chat_engine import SimpleChatEngine

    from amem_integrations.llama_index import AMemMemory
    from tests.embedders.test_llama_index import plain

    Settings.embed_model = plain()
    try:
        llm = ScriptedLLM(["Noted.", "Rex."])
        talk = SimpleChatEngine.from_defaults(llm=llm, memory_cls=AMemMemory)
        talk.chat(FACT)
        talk.chat(QUESTION)
        assert [message.content for message in talk.chat_history][-1] == "Rex."
    finally:
        Settings._embed_model = None
    talk._memory.close()
