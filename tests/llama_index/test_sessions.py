"""Many users with many sessions at once: each recalls its own, and nothing is left pending."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from amem_integrations import AgenticMemory
from amem_integrations.llama_index import AMemMemory
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.llama_index.support import (
    ENGINES,
    LLAMA_INDEX_WARNS,
    contents,
    function_agent,
    memory_of,
    plainly,
    prompts,
    simple,
)

pytestmark = LLAMA_INDEX_WARNS

USERS = 25
NAMES = [f"Rex{n}x" for n in range(USERS)]
QUESTION = "What is the name of my dog?"

Place = Callable[..., AMemMemory]


@pytest.fixture
def in_process(core: AgenticMemory) -> Place:
    """Makes a session of the n-th user."""
    return lambda n: memory_of(core, f"user {n}")


@pytest.fixture
def in_file(core: AgenticMemory, tmp_path: Path) -> Place:
    """Makes a session of the n-th user; one file has the chats of all."""
    uri = f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}"
    return lambda n: memory_of(core, f"user {n}", async_database_uri=uri)


async def talk(session: AMemMemory, text: str, reply: str) -> str:
    """Say something in a streaming chat; return all that the model was shown."""
    llm = ScriptedLLM([reply])
    response = await simple(llm, session).astream_chat(text)
    assert "".join([piece async for piece in response.async_response_gen()]) == reply
    return prompts(llm)


async def ask_agent(session: AMemMemory, text: str, reply: str) -> str:
    agent, llm = function_agent(plainly(reply))
    assert str(await agent.run(user_msg=text, memory=session)) == reply
    return prompts(llm)


@pytest.mark.parametrize(("place", "say"), [("in_process", ask_agent), ("in_file", talk)])
def test_fifty_sessions_at_once_recall_across_sessions_and_never_across_users(
    core: AgenticMemory, request: pytest.FixtureRequest, place: str, say: Any
) -> None:
    session_of: Place = request.getfixturevalue(place)

    async def all_at_once() -> tuple[list[AMemMemory], list[str]]:
        told = [session_of(n) for n in range(USERS)]
        others = [session_of(n) for n in range(USERS)]
        await asyncio.gather(
            *(say(told[n], f"My dog is called {NAMES[n]}.", "Noted.") for n in range(USERS)),
            *(say(others[n], "I like it here.", "Nice.") for n in range(USERS)),
        )
        asking = [session_of(n) for n in range(USERS)]
        shown = await asyncio.gather(*(say(asking[n], QUESTION, "I know.") for n in range(USERS)))
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return [*told, *others, *asking], shown

    threads = threading.active_count()
    sessions, shown = asyncio.run(all_at_once())
    for n, prompt in enumerate(shown):
        assert [name for name in NAMES if name in prompt] == [NAMES[n]]
        expected = {f"My dog is called {NAMES[n]}.", "I like it here.", QUESTION}
        assert expected <= set(contents(core, f"user {n}"))
    assert all(session.events == {} for session in sessions)
    assert all(len(session.get_all()) == 2 for session in sessions)
    # Those of the memory; a session has none.
    assert threading.active_count() < threads + 5


@pytest.mark.parametrize("engine", ENGINES)
def test_users_in_threads_recall_across_sessions_and_never_across_users(
    in_file: Place, engine: Any
) -> None:
    def use(n: int) -> str:
        for reply, text in (("Noted.", f"My dog is called {NAMES[n]}."), ("I know.", QUESTION)):
            llm = ScriptedLLM([reply], after="repeat")
            engine(llm, in_file(n)).chat(text)
        return prompts(llm)

    with ThreadPoolExecutor(4) as threads:
        shown = list(threads.map(use, range(8)))
    for n, prompt in enumerate(shown):
        assert [name for name in NAMES if name in prompt] == [NAMES[n]]
