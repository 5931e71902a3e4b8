"""AMemMiddleware: long-term memory for an agent of `langchain.agents.create_agent`.

Before the model is asked it is told what the notes say, once a turn and outside of the state;
after the agent the turn is remembered. A memory that fails never fails the reply.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Literal, TypeAlias

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, SystemMessage
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Hit
from amem_integrations.errors import InvalidInputError, loggable
from amem_integrations.langchain.identity import Identity, namespace_resolver, thread_id
from amem_integrations.langchain.tools import create_memory_tools
from amem_integrations.langgraph.graph import create_memory_graph
from amem_integrations.langgraph.turns import keys, last_turn, question, said
from amem_integrations.lifecycle.feedback import feedback_from_reply
from amem_integrations.memory.attachments import Captioner, Captioning, captioned, captioning_of
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.operations import add
from amem_integrations.memory.options import check_choice
from amem_integrations.memory.pipeline import Formation, Wiring
from amem_integrations.memory.search import find
from amem_integrations.memory.turns import add_turn
from amem_integrations.recall.options import check_relevance
from amem_integrations.recall.prompt import pack, shown_in

_LOG = logging.getLogger(__name__)

Write: TypeAlias = Literal["background", "after_agent", "off"]
WRITES = ("background", "after_agent", "off")
_FORMATION: dict[str, Formation] = {"background": "background", "after_agent": "inline"}
_MOST_TURNS = 1024

Turn: TypeAlias = tuple[Namespace, str | None, str, str]


class AMemMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Adds recalled notes to the prompt of an agent's model, and stores each turn.

    What is recalled for the last user message goes into the system message as fenced data, and is
    nowhere else: not in messages, checkpoints or the output. What the messages show anyway is not
    recalled. With a memory that was opened with `lifecycle`, it reports which notes the answer made
    use of. What fails is logged without content and counted in `AgenticMemory.health`. What a turn
    recalled is what `AgenticMemory.last_recall(namespace)` says after it; its one line of numbers
    is logged at INFO.

    Args:
        memory: what it knows, and where it is remembered.
        namespace: whose memory: labels, labels with fields such as ("users", "{user_id}") that the
            run's context or `configurable` fills, or a function of LangGraph's `Runtime`.
        k: how many notes are recalled, at most.
        hops: how many links are followed.
        token_budget: tokens that they may take of the prompt, at most.
        min_relevance: as for `AgenticMemory.search`.
        write: remember what the user said and the answer: "background" stores them before the reply
            is returned and forms them afterwards; "after_agent" forms them before; "off" does not.
        tools: give the agent search_memory and manage_memory, if its model can call tools.
        review: with write="after_agent", stop at an `interrupt` before a turn's notes are
            committed, as `create_memory_graph` does; the agent needs a checkpointer.
        split_turns: store turns with `AgenticMemory.add_turn`: only what is new in them is formed.
        captioner: describes the images, audio and files of a message in words; a function of an
            `Attachment`, or a `Captioning`. Without one they are only counted, in the note's
            metadata.

    Raises:
        InvalidInputError: an argument cannot be used; when the agent runs, the run does not say who
            its user is, and no model is asked.

    Examples:
        >>> from langchain.agents import create_agent
        >>> from amem_integrations.langgraph import AMemMiddleware
        >>> from amem_integrations.testing import ScriptedChatModel
        >>> chat = ScriptedChatModel(["Noted.", "Susie, you said."])
        >>> remembering = AMemMiddleware(memory, namespace=("users", "{user_id}"))
        >>> agent = create_agent(chat, tools=[], middleware=[remembering])
        >>> calvin = {"configurable": {"user_id": "calvin"}}
        >>> _ = agent.invoke({"messages": "My boat is called Susie"}, calvin)
        >>> _ = agent.invoke({"messages": "What is my boat called?"}, calvin)
        >>> "My boat is called Susie" in chat.calls[-1].messages[0].text  # the system message
        True
    """

    def __init__(
        self,
        memory: AgenticMemory,
        *,
        namespace: Identity,
        k: int = 5,
        hops: int = 1,
        token_budget: int = 1500,
        min_relevance: float | None = None,
        write: Write = "background",
        tools: bool = True,
        review: bool = False,
        split_turns: bool = False,
        captioner: Captioner | Captioning | None = None,
    ) -> None:
        super().__init__()
        check_choice("write", write, WRITES)
        check_relevance(min_relevance)
        if review and write != "after_agent":
            raise InvalidInputError(
                f'review=True needs write="after_agent", where the agent waits; got {write!r}.'
            )
        if review and split_turns:
            raise InvalidInputError(
                "review=True shows whole turns; split_turns=True takes them apart."
            )
        self.tools = (
            create_memory_tools(memory, namespace=namespace, hops=hops, min_relevance=min_relevance)
            if tools
            else []
        )
        self._memory = memory
        self._resolve = namespace_resolver(namespace)
        self._k = k
        self._hops = hops
        self._token_budget = token_budget
        self._min_relevance = min_relevance
        self._write = write
        self._split_turns = split_turns
        self._captioning = captioning_of(captioner)
        self._reviewing: Any = (
            create_memory_graph(memory, namespace=namespace, review=True, captioner=captioner)
            if review
            else None
        )
        self._recalled: OrderedDict[Turn, tuple[str, list[Hit]]] = OrderedDict()
        self._lock = threading.Lock()
        self._warned = threading.Event()

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Ask the model with what the memory knows."""
        recalled = self._memory.perform(self._recall(request))
        return handler(_told(self._offering(request), recalled))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """`wrap_model_call`, awaited."""
        recalled = await self._memory.aperform(self._recall(request))
        return await handler(_told(self._offering(request), recalled))

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Remember the turn."""
        if report := self._end_turn(state):
            self._memory.perform(report)
        if self._reviewing is not None:
            # With no config of its own it takes part in the agent's checkpoints.
            self._reviewing.invoke({"messages": state["messages"]})
        elif self._write != "off":
            self._memory.perform(self._remember(state))
        self._tell(state)

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """`after_agent`, awaited."""
        if report := self._end_turn(state):
            await self._memory.aperform(report)
        if self._reviewing is not None:
            await self._reviewing.ainvoke({"messages": state["messages"]})
        elif self._write != "off":
            await self._memory.aperform(self._remember(state))
        self._tell(state)

    def _offering(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """The request, without our tools where the model cannot be given any."""
        kind = type(request.model)
        if not self.tools or getattr(kind, "bind_tools", None) is not BaseChatModel.bind_tools:
            return request
        if not self._warned.is_set():
            self._warned.set()
            _LOG.warning(
                "%s cannot call tools, so it is not offered search_memory and manage_memory; "
                "AMemMiddleware(..., tools=False) says so from the start. This is said once.",
                kind.__name__,
            )
        return request.override(tools=[each for each in request.tools if each not in self.tools])

    def _recall(
        self, request: ModelRequest[Any]
    ) -> Callable[[Wiring, IO], Coroutine[Any, Any, str]]:
        labels, thread = self._resolve(), thread_id()
        turn = _turn(request.messages, labels, thread)
        shown = keys(request.messages, thread)

        async def recalled(wiring: Wiring, io: IO) -> str:
            if turn is None:
                return ""
            with self._lock:
                known = self._recalled.get(turn)
            if known is None:
                *_, query = turn
                known = await self._searched(wiring, io, labels, query, shown)
                with self._lock:
                    self._recalled[turn] = known
                    while len(self._recalled) > _MOST_TURNS:
                        self._recalled.popitem(last=False)
            return known[0]

        return recalled

    async def _searched(
        self, wiring: Wiring, io: IO, labels: Namespace, query: str, shown: list[str]
    ) -> tuple[str, list[Hit]]:
        """What the model is told; and which hits, where it counts what comes of them."""
        try:
            hits = await find(
                wiring,
                io,
                query,
                namespace=labels,
                k=self._k,
                hops=self._hops,
                filter=_unseen(shown),
                min_relevance=self._min_relevance,
            )
            told = pack(hits, self._token_budget)
            wiring.recalls.shown(labels, hits, told)
            return told, [] if wiring.policy is None else shown_in(hits, told)
        except Exception as error:
            _failed(wiring, "recall", error)
            return "", []

    def _end_turn(
        self, state: AgentState[Any]
    ) -> Callable[[Wiring, IO], Coroutine[Any, Any, None]] | None:
        """What is left to do: to report which of the notes the answer made use of."""
        turn = _turn(state["messages"], self._resolve(), thread_id())
        if turn is None:
            return None
        with self._lock:
            _, hits = self._recalled.pop(turn, ("", []))
        if not hits:
            return None
        labels, thread, _, query = turn
        *_, answer = last_turn(state["messages"])

        async def report(wiring: Wiring, io: IO) -> None:
            try:
                await feedback_from_reply(io, labels, hits, str(answer.text), query, thread)
            except Exception as error:
                _failed(wiring, "feedback", error)

        return report

    def _tell(self, state: AgentState[Any]) -> None:
        """What the turn recalled and cost so far goes into the log, in numbers."""
        labels = self._resolve()
        if _LOG.isEnabledFor(logging.INFO) and _turn(state["messages"], labels, thread_id()):
            _LOG.info("%s", self._memory.last_recall(labels))

    def _remember(
        self, state: AgentState[Any]
    ) -> Callable[[Wiring, IO], Coroutine[Any, Any, None]]:
        labels, thread = self._resolve(), thread_id()
        turn, unusable = said(last_turn(state["messages"]), thread)
        formation = _FORMATION[self._write]

        async def remembered(wiring: Wiring, io: IO) -> None:
            count = wiring.settings.ledger.count
            count("langgraph.remember.unusable", unusable)
            try:
                items = await captioned(io, count, self._captioning, turn)
                if not self._split_turns:
                    await add(wiring, io, items, labels, formation)
                for item in items if self._split_turns else ():
                    await add_turn(wiring, io, item, labels, formation)
            except GraphBubbleUp:
                raise
            except Exception as error:
                _failed(wiring, "remember", error)

        return remembered


def _turn(messages: Sequence[AnyMessage], labels: Namespace, thread: str | None) -> Turn | None:
    """The turn at hand, with the question of it; None when there is nothing to ask."""
    asked = question(messages)
    if asked is None or not asked.text.strip():
        return None
    return labels, thread, asked.id or "", str(asked.text)


def _unseen(shown: list[str]) -> dict[str, Any] | None:
    """The filter for what the messages, by their keys, do not show anyway."""
    if not shown:
        return None
    return {"key": {"$nin": shown}, "$not": {"source_id": {"$in": shown}}}


def _told(request: ModelRequest[Any], recalled: str) -> ModelRequest[Any]:
    """The request, with the recalled notes at the end of its system message."""
    if not recalled:
        return request
    told = request.system_message
    if told is None:
        message = SystemMessage(recalled)
    elif isinstance(told.content, str):
        message = told.model_copy(update={"content": f"{told.content}\n\n{recalled}"})
    else:
        block = {"type": "text", "text": recalled}
        message = told.model_copy(update={"content": [*told.content, block]})
    return request.override(system_message=message)


def _failed(wiring: Wiring, what: str, error: Exception) -> None:
    _LOG.warning("The memory could not %s (%s).", what, loggable(error))
    _LOG.debug("Why.", exc_info=error)
    wiring.settings.ledger.count(f"langgraph.{what}.failed")
