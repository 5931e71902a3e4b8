"""The scripts of the scripted models, asked in every form of both frameworks."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from llama_index.core.base.llms.types import ChatMessage, ChatResponse

from amem_integrations.testing import ScriptedChatModel, ScriptExhaustedError
from amem_integrations.testing.llama_index import ScriptedFunctionCallingLLM, ScriptedLLM

QUESTION = "How are you?"
MESSAGES = [ChatMessage(QUESTION)]


# -- the forms, each giving the text of an answer ----------------------------------------------


def invoke(model: ScriptedChatModel) -> str:
    return model.invoke(QUESTION).text


def ainvoke(model: ScriptedChatModel) -> str:
    return asyncio.run(model.ainvoke(QUESTION)).text


def stream(model: ScriptedChatModel) -> str:
    return "".join(chunk.text for chunk in model.stream(QUESTION))


def astream(model: ScriptedChatModel) -> str:
    async def collect() -> str:
        return "".join([chunk.text async for chunk in model.astream(QUESTION)])

    return asyncio.run(collect())


def chat(llm: ScriptedLLM) -> str | None:
    return llm.chat(MESSAGES).message.content


def achat(llm: ScriptedLLM) -> str | None:
    return asyncio.run(llm.achat(MESSAGES)).message.content


def stream_chat(llm: ScriptedLLM) -> str | None:
    return _text(list(llm.stream_chat(MESSAGES)))


def astream_chat(llm: ScriptedLLM) -> str | None:
    async def collect() -> list[ChatResponse]:
        return [chunk async for chunk in await llm.astream_chat(MESSAGES)]

    return _text(asyncio.run(collect()))


def _text(chunks: list[ChatResponse]) -> str | None:
    assert "".join(chunk.delta or "" for chunk in chunks) == chunks[-1].message.content
    return chunks[-1].message.content


def complete(llm: ScriptedLLM) -> str:
    return llm.complete(QUESTION).text


def acomplete(llm: ScriptedLLM) -> str:
    return asyncio.run(llm.acomplete(QUESTION)).text


def stream_complete(llm: ScriptedLLM) -> str:
    return list(llm.stream_complete(QUESTION))[-1].text


def astream_complete(llm: ScriptedLLM) -> str:
    async def collect() -> list[Any]:
        return [chunk async for chunk in await llm.astream_complete(QUESTION)]

    return asyncio.run(collect())[-1].text


CHAT_FORMS = [invoke, ainvoke, stream, astream]
LLM_FORMS = [chat, achat, stream_chat, astream_chat]
LLM_FORMS += [complete, acomplete, stream_complete, astream_complete]  # type: ignore[list-item]
EVERY_FORM = [
    *((ScriptedChatModel, form) for form in CHAT_FORMS),
    *((ScriptedLLM, form) for form in LLM_FORMS),
    *((ScriptedFunctionCallingLLM, form) for form in LLM_FORMS),
]
ONE_FORM = [(ScriptedChatModel, invoke), (ScriptedLLM, chat)]
Ask = Callable[[Any], Any]


@pytest.mark.parametrize(("family", "ask"), EVERY_FORM)
def test_every_form_gives_the_replies_in_order_and_raises_failures(family: Any, ask: Ask) -> None:
    error = TimeoutError("slow")
    model = family(["Fine, thank you.", error, lambda messages: "Still  fine."], latency=0.001)
    assert ask(model) == "Fine, thank you."
    with pytest.raises(TimeoutError) as caught:
        ask(model)
    assert caught.value is error
    assert ask(model) == "Still  fine."
    assert len(model.calls) == 3
    with pytest.raises(ScriptExhaustedError, match="Call 4, but the script has 3 replies"):
        ask(model)


@pytest.mark.parametrize(("family", "ask"), ONE_FORM)
def test_a_script_may_repeat_its_last_reply_or_be_one_function(family: Any, ask: Ask) -> None:
    model = family(["one", "two"], after="repeat")
    assert [ask(model) for _ in range(3)] == ["one", "two", "two"]
    model = family(lambda messages: f"{messages[-1].content} Well?")
    assert [ask(model) for _ in range(2)] == [f"{QUESTION} Well?"] * 2
    with pytest.raises(ScriptExhaustedError):
        ask(family([], after="repeat"))


@pytest.mark.parametrize(
    ("family", "reply"),
    [
        (ScriptedChatModel, "text"),
        (ScriptedChatModel, {"word": "x"}),
        (ScriptedChatModel, AIMessage("x")),
        (ScriptedLLM, ChatMessage("x")),
        (ScriptedLLM, ValueError()),
    ],
)
def test_a_lone_reply_is_refused(family: Any, reply: Any) -> None:
    with pytest.raises(TypeError, match="a list of replies"):
        family(reply)


@pytest.mark.parametrize(("family", "ask"), ONE_FORM)
def test_calls_from_many_threads_each_get_a_reply_of_their_own(family: Any, ask: Ask) -> None:
    model = family([str(n) for n in range(64)])
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.extend(ask(model) for _ in range(8)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers, key=int) == [str(n) for n in range(64)]


@pytest.mark.parametrize(("family", "ask"), EVERY_FORM[:12])
def test_latency_delays_an_answer(family: Any, ask: Ask) -> None:
    started = time.perf_counter()
    ask(family(["x"], latency=0.02))
    assert time.perf_counter() - started >= 0.02


async def test_latency_of_the_async_forms_leaves_the_loop_free() -> None:
    model = ScriptedChatModel(["x"] * 20, latency=0.1)
    waiting = [asyncio.create_task(model.ainvoke("hi")) for _ in range(20)]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    # All were asked before the first one was answered.
    assert len(model.calls) == 20
    await asyncio.gather(*waiting)
