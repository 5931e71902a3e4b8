"""What the tests of the LlamaIndex adapters share: engines, agents, and ways to talk to them."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, FunctionAgent, ReActAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.memory import BaseMemory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from pydantic import PrivateAttr

from amem_integrations import AgenticMemory
from amem_integrations.errors import StoreUnavailableError
from amem_integrations.llama_index import AMemMemory
from amem_integrations.testing.llama_index import (
    ScriptedFunctionCallingLLM,
    ScriptedLLM,
    call_tool,
)

FACT = "My dog is called Rex."
QUESTION = "What is the name of my dog?"

_sessions = itertools.count()

# What the notes of a memory or block call, to be replaced in a test.
ADD = "amem_integrations.llama_index.notes.remember_turns"
FIND = "amem_integrations.llama_index.notes.find"

# LlamaIndex's agents look at deprecated attributes of themselves.
LLAMA_INDEX_WARNS = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called:DeprecationWarning"),
]


async def down(*_: Any, **__: Any) -> Any:
    """An operation on a memory that cannot be reached."""
    raise StoreUnavailableError("down")


def user(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER, content=text)


def assistant(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


def system(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.SYSTEM, content=text)


def memory_of(core: AgenticMemory, who: str = "calvin", **settings: Any) -> AMemMemory:
    """A new session of a user."""
    settings.setdefault("session_id", f"session-{next(_sessions)}")
    return AMemMemory.from_defaults(core=core, namespace=who, **settings)


def contents(core: AgenticMemory, who: str = "calvin") -> list[str]:
    """The text of every note of a user, oldest first."""
    return [note.content for note in reversed(core.recent(namespace=who, limit=1000))]


def text_of(messages: list[ChatMessage]) -> str:
    return "\n".join(message.content or "" for message in messages)


def prompts(llm: ScriptedLLM) -> str:
    """All that a model was asked."""
    return "\n".join(call.text for call in llm.calls)


class Documents(BaseRetriever):
    """A retriever over documents of the user's own, which has one."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text="Dogs are mammals."), score=1.0)]


class SharingStore(AsyncDBChatStore):
    """A chat store as somebody may write one: it keeps the very messages that it is given."""

    _kept: dict[MessageStatus, list[ChatMessage]] = PrivateAttr(
        default_factory=lambda: {status: [] for status in MessageStatus}
    )

    async def get_messages(
        self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE, *_: Any
    ) -> list[ChatMessage]:
        kept = [*self._kept[MessageStatus.ARCHIVED], *self._kept[MessageStatus.ACTIVE]]
        return kept if status is None else list(self._kept[status])

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        self._kept[status].extend(messages)

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        self._kept[status][:] = messages

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        active = self._kept[MessageStatus.ACTIVE]
        oldest, active[:] = active[:n], active[n:]
        self._kept[MessageStatus.ARCHIVED].extend(oldest)
        return oldest

    async def add_message(
        self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        await self.add_messages(key, [message], status)

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        for kept in MessageStatus if status is None else [status]:
            self._kept[kept].clear()

    async def count_messages(self, *_: Any, **__: Any) -> int:
        raise NotImplementedError

    async def delete_message(self, *_: Any, **__: Any) -> ChatMessage | None:
        raise NotImplementedError

    async def delete_oldest_messages(self, *_: Any, **__: Any) -> list[ChatMessage]:
        raise NotImplementedError

    async def get_keys(self) -> list[str]:
        raise NotImplementedError


# -- chat engines -----------------------------------------------------------------------------


def simple(llm: ScriptedLLM, memory: BaseMemory) -> BaseChatEngine:
    return SimpleChatEngine.from_defaults(llm=llm, memory=memory)


def context(llm: ScriptedLLM, memory: BaseMemory) -> BaseChatEngine:
    return ContextChatEngine.from_defaults(retriever=Documents(), llm=llm, memory=memory)


def condense_plus_context(llm: ScriptedLLM, memory: BaseMemory) -> BaseChatEngine:
    return CondensePlusContextChatEngine.from_defaults(
        retriever=Documents(), llm=llm, memory=memory
    )


def condense_question(llm: ScriptedLLM, memory: BaseMemory) -> BaseChatEngine:
    engine = RetrieverQueryEngine.from_args(Documents(), llm=llm)
    return CondenseQuestionChatEngine.from_defaults(query_engine=engine, llm=llm, memory=memory)


ENGINES = [simple, context, condense_plus_context, condense_question]


def chat(engine: BaseChatEngine, text: str) -> str:
    return str(engine.chat(text))


def stream_chat(engine: BaseChatEngine, text: str) -> str:
    return "".join(engine.stream_chat(text).response_gen)


def achat(engine: BaseChatEngine, text: str) -> str:
    return str(asyncio.run(engine.achat(text)))


def astream_chat(engine: BaseChatEngine, text: str) -> str:
    async def collect() -> str:
        response = await engine.astream_chat(text)
        return "".join([piece async for piece in response.async_response_gen()])

    return asyncio.run(collect())


CHATS = [chat, stream_chat, achat, astream_chat]


# -- agents -----------------------------------------------------------------------------------


def weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}."


Agent = Any
Answer = Callable[[list[ChatMessage]], Any]


def function_agent(answer: Answer, **settings: Any) -> tuple[Agent, ScriptedLLM]:
    llm = ScriptedFunctionCallingLLM(answer)
    return FunctionAgent(llm=llm, tools=[weather], **settings), llm


def agent_workflow(answer: Answer, **settings: Any) -> tuple[Agent, ScriptedLLM]:
    llm = ScriptedFunctionCallingLLM(answer)
    agent = FunctionAgent(name="one", description="It", llm=llm, tools=[weather], **settings)
    return AgentWorkflow(agents=[agent], root_agent="one"), llm


def react_agent(answer: Answer, **settings: Any) -> tuple[Agent, ScriptedLLM]:
    llm = ScriptedLLM(answer)
    return ReActAgent(llm=llm, tools=[weather], **settings), llm


def code_act_agent(answer: Answer, **settings: Any) -> tuple[Agent, ScriptedLLM]:
    def run_code(code: str) -> str:
        return weather("Bern") if "weather" in code else "Nothing was printed."

    llm = ScriptedLLM(answer)
    return CodeActAgent(run_code, llm=llm, tools=[weather], **settings), llm


AGENTS = [function_agent, agent_workflow, react_agent, code_act_agent]


def with_weather(messages: list[ChatMessage]) -> Any:
    """An agent's model that asks for the weather once, then answers; in each dialect."""
    prompt = "\n".join(message.content or "" for message in messages)
    if "<execute>" in prompt:
        if messages[-1].content == "Result of executing the code given:\n\nRain in Bern.":
            return "It rains in Bern."
        return "I look it up.\n<execute>\nprint(weather('Bern'))\n</execute>"
    if "Action Input" in prompt:
        if "Observation: Rain in Bern." in prompt:
            return "Thought: I know it now.\nAnswer: It rains in Bern."
        return 'Thought: I look it up.\nAction: weather\nAction Input: {"city": "Bern"}'
    if messages[-1].role == MessageRole.TOOL:
        return "It rains in Bern."
    return call_tool("weather", city="Bern")


def plainly(text: str) -> Answer:
    """An agent's model that answers at once; in either dialect."""

    def answer(messages: list[ChatMessage]) -> Any:
        prompt = "\n".join(message.content or "" for message in messages)
        return f"Thought: Easy.\nAnswer: {text}" if "Action Input" in prompt else text

    return answer


def run_agent(agent: Agent, text: str, **about: Any) -> str:
    async def run() -> str:
        return str(await agent.run(user_msg=text, **about))

    return asyncio.run(run())


def stream_agent(agent: Agent, text: str, **about: Any) -> str:
    async def run() -> str:
        handler = agent.run(user_msg=text, **about)
        async for _ in handler.stream_events():
            pass
        return str(await handler)

    return asyncio.run(run())
