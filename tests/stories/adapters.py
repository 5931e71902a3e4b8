"""Each way into a memory: how a chat goes in by it, and how a question is answered by it.

All with their defaults. What is formed in the background is waited for after each turn, so that
every run forms the same notes in the same order.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from llama_index.core.chat_engine import SimpleChatEngine

from amem_integrations import AgenticMemory
from amem_integrations import langchain as amem_langchain
from amem_integrations.cli import options
from amem_integrations.langchain import AMemRetriever
from amem_integrations.langgraph import AMemMiddleware, create_memory_graph
from amem_integrations.llama_index import AMemMemory, AMemMemoryBlock, create_memory_tools
from amem_integrations.testing import ScriptedChatModel
from amem_integrations.testing.llama_index import ScriptedLLM
from tests.cli.console import call, printed
from tests.llama_index.support import assistant, user
from tests.private import parts_of
from tests.stories.story import STORY, Said
from tests.support import notes_in

HOME = ("family", "krause")


class Clock:
    """The time of the story; a little later each time that it is asked."""

    def __init__(self) -> None:
        self.now = STORY.turns[0].time

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now


class Adapter(ABC):
    """One way into a memory."""

    def __init__(self, memory: AgenticMemory, clock: Clock) -> None:
        self.memory = memory
        self._clock = clock

    def fill(self) -> None:
        for said, reply in STORY.exchanges:
            self._clock.now = said.time
            self.exchange(said, reply)
            assert parts_of(self.memory).wait(60)

    def exchange(self, said: Said, reply: Said) -> None:
        """What was said to the assistant and what it answered."""
        raise NotImplementedError

    @abstractmethod
    def recall(self, question: str) -> Sequence[str]:
        """The notes that answer a question, best first."""


def _texts(packed: str) -> list[str]:
    return [note["content"] for note in notes_in(packed)]


class Turns(Adapter):
    def exchange(self, said: Said, reply: Said) -> None:
        for turn in (said, reply):
            self.memory.add_turn(
                turn.text, namespace=HOME, speaker=turn.speaker, session=turn.session
            )

    def recall(self, question: str) -> Sequence[str]:
        return [hit.note.content for hit in self.memory.search(question, namespace=HOME)]


def _replies(*sessions: str) -> list[str]:
    """What the assistant says, in all sessions if none is named."""
    replies = (turn for turn in STORY.turns if turn.is_reply)
    return [turn.text for turn in replies if not sessions or turn.session in sessions]


def _run(session: str) -> Any:
    return {"configurable": {"family": HOME[1], "thread_id": session}}


class Middleware(Adapter):
    def __init__(self, memory: AgenticMemory, clock: Clock) -> None:
        super().__init__(memory, clock)
        self._agent: Any = self._agent_of(ScriptedChatModel(_replies()))

    def exchange(self, said: Said, reply: Said) -> None:
        message = HumanMessage(said.text, name=said.speaker)
        self._agent.invoke({"messages": [message]}, _run(said.session))

    def recall(self, question: str) -> Sequence[str]:
        # Another agent, which stores nothing, so that the questions do not depend on each other.
        model = ScriptedChatModel(["?"])
        self._agent_of(model, write="off").invoke({"messages": [question]}, _run("asking"))
        first = model.calls[0].messages[0]
        return _texts(first.text) if first.type == "system" else []

    def _agent_of(self, model: ScriptedChatModel, **settings: Any) -> Any:
        remembering = AMemMiddleware(self.memory, namespace=("family", "{family}"), **settings)
        return create_agent(model, tools=[], middleware=[remembering], checkpointer=InMemorySaver())


class Graph(Adapter):
    def __init__(self, memory: AgenticMemory, clock: Clock) -> None:
        super().__init__(memory, clock)
        replies = iter(_replies())
        builder: Any = StateGraph(MessagesState)
        builder.add_node("answer", lambda state: {"messages": AIMessage(next(replies))})
        builder.add_node("memory", create_memory_graph(memory, namespace=("family", "{family}")))
        builder.add_edge(START, "answer")
        builder.add_edge("answer", "memory")
        self._graph = builder.compile(checkpointer=InMemorySaver())

    def exchange(self, said: Said, reply: Said) -> None:
        message = HumanMessage(said.text, name=said.speaker)
        self._graph.invoke({"messages": [message]}, _run(said.session))

    def recall(self, question: str) -> Sequence[str]:
        retriever = AMemRetriever(memory=self.memory, namespace=HOME)
        return [document.page_content for document in retriever.invoke(question)]


class ChatMemory(Adapter):
    """LlamaIndex's `Memory`, under a chat engine; its messages do not say which user speaks."""

    def exchange(self, said: Said, reply: Said) -> None:
        if said.number == 0:
            told = AMemMemory.from_defaults(
                core=self.memory, namespace=HOME, session_id=said.session
            )
            model = ScriptedLLM(_replies(said.session))
            self._engine = SimpleChatEngine.from_defaults(llm=model, memory=told)
        self._engine.chat(said.text)

    def recall(self, question: str) -> Sequence[str]:
        asking = AMemMemory.from_defaults(core=self.memory, namespace=HOME)
        return _texts("\n".join(message.content or "" for message in asking.get(question)))


class Block(Adapter):
    def __init__(self, memory: AgenticMemory, clock: Clock) -> None:
        super().__init__(memory, clock)
        self._block = AMemMemoryBlock(memory, namespace=HOME)

    def exchange(self, said: Said, reply: Said) -> None:
        messages = [user(said.text), assistant(reply.text)]
        asyncio.run(self._block.aput(messages, session_id=said.session))

    def recall(self, question: str) -> Sequence[str]:
        return _texts(asyncio.run(self._block.aget([user(question)])))


class _Tools(Adapter):
    """An agent that remembers the facts that it hears or brings, and what users say once more."""

    _remember: Callable[[str], Any]

    def exchange(self, said: Said, reply: Said) -> None:
        for turn in (said, reply):
            for idea in turn.ideas:
                echo = turn.is_reply and idea.decision == "repeats"
                if idea.decision != "nothing" and not echo:
                    self._remember(idea.text)


class LangChainTools(_Tools):
    def __init__(self, memory: AgenticMemory, clock: Clock) -> None:
        super().__init__(memory, clock)
        search, manage = amem_langchain.create_memory_tools(memory, namespace=HOME)
        self._search = search
        self._remember = lambda text: manage.invoke({"content": text})

    def recall(self, question: str) -> Sequence[str]:
        return _texts(self._search.invoke({"query": question}))


class LlamaIndexTools(_Tools):
    def __init__(self, memory: AgenticMemory, clock: Clock) -> None:
        super().__init__(memory, clock)
        recall, remember = create_memory_tools(memory, namespace=HOME)
        self._search = recall
        self._remember = lambda text: remember(content=text)

    def recall(self, question: str) -> Sequence[str]:
        return _texts(str(self._search(query=question)))


class CommandLine(Adapter):
    """`amem`, on a memory that is open meanwhile."""

    def fill(self) -> None:
        lines = [
            json.dumps(
                {
                    "content": turn.text,
                    "speaker": turn.speaker,
                    "session": turn.session,
                    "occurred_at": turn.time.isoformat(),
                }
            )
            for turn in STORY.turns
        ]
        result = self._with_own_model(
            lambda: call(
                "add", "--chat", "--json-lines", "--json", *self._home, input="\n".join(lines)
            )
        )
        assert result.exit_code == 0, result.output

    def recall(self, question: str) -> Sequence[str]:
        found = self._with_own_model(lambda: printed("search", question, *self._home))
        return [hit["note"]["content"] for hit in found["hits"]]

    @property
    def _home(self) -> list[str]:
        labels = [part for label in HOME for part in ("-n", label)]
        return ["-l", str(self.memory.options.location), *labels]

    def _with_own_model(self, act: Callable[[], Any]) -> Any:
        """Call `amem` with the model and embedder of the memory, which have no names there."""
        own = self.memory.options

        def opened(location: Any, **settings: Any) -> AgenticMemory:
            return AgenticMemory(
                location, **{**settings, "model": own.model, "embedder": own.embedder}
            )

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(options, "AgenticMemory", opened)
            return act()


ADAPTERS: dict[str, type[Adapter]] = {
    "add_turn": Turns,
    "middleware": Middleware,
    "graph": Graph,
    "llama_index memory": ChatMemory,
    "llama_index block": Block,
    "langchain tools": LangChainTools,
    "llama_index tools": LlamaIndexTools,
    "command line": CommandLine,
}
