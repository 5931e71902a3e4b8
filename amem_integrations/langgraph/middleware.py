"""AMemMiddleware: long-term memory for an agent of `langchain.agents.create_agent`.

Before the model is called, notes are recalled into its prompt, once a turn and outside of the
state; after the agent the turn is remembered. A memory that fails never fails the reply.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, SystemMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO, async_form, sync_form
from amem_integrations.core.namespace import Namespace
from amem_integrations.errors import InvalidInputError
from amem_integrations.formation.pipeline import Formation
from amem_integrations.langchain.namespaces import RunNamespace, namespace_resolver, thread_id
from amem_integrations.langchain.tools import MEMORY, create_memory_tools
from amem_integrations.langgraph.graph import create_memory_graph
from amem_integrations.langgraph.messages import last_question, last_turn, note_keys, turn_items
from amem_integrations.lifecycle.feedback import feedback_from_reply
from amem_integrations.memory.attachments import Captioner, Captioning, captioning_of
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.options import check_choice
from amem_integrations.memory.search import find
from amem_integrations.memory.turns import REMEMBER, Remember, remember_turns
from amem_integrations.memory.wiring import Adapter
from amem_integrations.recall.prompt import pack, shown_in
from amem_integrations.recall.signals import check_relevance
from amem_integrations.recall.turns import TurnRecalls

_LOG = logging.getLogger(__name__)

Write: TypeAlias = Literal["background", "after_agent", "off"]
_FORMATION: dict[Write, Formation] = {
    "background": "background",
    "after_agent": "inline",
    "off": "off",
}


class _Turn(NamedTuple):
    namespace: Namespace
    thread: str | None
    message_id: str
    question: str

    @property
    def conversation(self) -> str | None:
        """What has one turn at a time; without a thread, each message is by itself."""
        return self.message_id if self.thread is None else self.thread


class _Recalled(NamedTuple):
    """The block of notes for the prompt, and its hits if the memory learns from their use."""

    packed: str
    hits: list[Hit]


class AMemMiddleware(Adapter, AgentMiddleware[AgentState[Any], Any, Any]):
    """Adds recalled notes to the prompt of an agent's model, and stores each turn.

    Notes recalled for the last user message go into the system message as fenced data, and nowhere
    else: not into messages, checkpoints or the output. Notes that the messages show are skipped.
    With a memory opened with `lifecycle`, it reports which notes the answer used. Failures are
    logged without content and counted in `memory.admin.health()`. After a turn,
    `memory.last_recall(namespace)` tells what was recalled; its one line of numbers is logged at
    INFO.

    Args:
        memory: the memory to recall from and write to.
        namespace: labels, labels with fields such as ("users", "{user_id}") that the run's context
            or `configurable` fills, or a function of LangGraph's `Runtime`.
        k: how many notes are recalled, at most.
        hops: how many links are followed.
        token_budget: the most tokens of recalled notes.
        min_relevance: as for `AgenticMemory.search`.
        write: "background" stores what the user said and the answer before the reply is returned,
            and forms them afterwards; "after_agent" forms them before; "off" stores nothing.
        tools: give the agent search_memory and manage_memory, if its model can call tools.
        review: with write="after_agent", stop at an `interrupt` before a turn's notes are
            committed, as `create_memory_graph` does; the agent needs a checkpointer.
        remember: "both": what users said and what the replies added, as `AgenticMemory.add_turn`
            decides; "user": without the replies; "all": each turn as it is.
        captioner: describes the images, audio and files of a message; a function of an
            `Attachment`, or a `Captioning`. Without one they are only counted in the metadata.
        name: what the agent calls this middleware, and its tools: search_<name> and manage_<name>.
            By default it is called by its namespace, and the tools by "memory".

    An agent takes several of them, such as one for the user and one for the team. All but one of
    those with tools need a `name`.

    Raises:
        InvalidInputError: an argument is invalid; when the agent runs, the run does not name its
            user, or two middlewares have tools of one name; no model is called then.

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
        namespace: RunNamespace,
        k: int = 5,
        hops: int = 1,
        token_budget: int = 1500,
        min_relevance: float | None = None,
        write: Write = "background",
        tools: bool = True,
        review: bool = False,
        remember: Remember = "both",
        captioner: Captioner | Captioning | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(memory)
        check_choice("write", write, tuple(_FORMATION))
        check_choice("remember", remember, REMEMBER)
        check_relevance(min_relevance)
        if review and write != "after_agent":
            raise InvalidInputError(
                f'review=True needs write="after_agent", where the agent waits; got {write!r}.'
            )
        recall: dict[str, Any] = {"hops": hops, "min_relevance": min_relevance}
        called = MEMORY if name is None else name
        self.tools = (
            create_memory_tools(memory, namespace=namespace, name=called, **recall) if tools else []
        )
        self._resolve = namespace_resolver(namespace)
        self._name = _name_of(namespace) if name is None else name
        self._recall_options: dict[str, Any] = {"k": k, **recall}
        self._token_budget = token_budget
        self._formation: Formation = _FORMATION[write]
        self._what: Remember = remember
        self._captioning = captioning_of(captioner)
        self._review_graph: Any = (
            create_memory_graph(
                memory, namespace=namespace, review=True, remember=remember, captioner=captioner
            )
            if review
            else None
        )
        self._recalled: TurnRecalls[_Recalled] = TurnRecalls()
        self._warned = False

    @property
    def name(self) -> str:
        """What the agent calls this middleware; its nodes are called by it."""
        return self._name

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Call the model with the recalled notes."""
        recalled = self._recall(request.messages)
        try:
            return handler(_insert(self._offer_tools(request), recalled))
        except BaseException:
            self._drop(request.messages)
            raise

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """`wrap_model_call`, awaited."""
        recalled = await self._arecall(request.messages)
        try:
            return await handler(_insert(self._offer_tools(request), recalled))
        except BaseException:
            self._drop(request.messages)
            raise

    @sync_form
    async def after_agent(self, io: IO, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Remember the turn."""
        turn = self._turn(state["messages"])
        if turn is not None:
            await self._report_use(io, turn, state["messages"])
        if self._review_graph is not None:
            # With no config of its own it takes part in the agent's checkpoints.
            await io.invoke(self._review_graph, {"messages": state["messages"]})
        elif self._formation != "off":
            await self._remember(io, state["messages"])
        if turn is not None and _LOG.isEnabledFor(logging.INFO):
            _LOG.info("%s", self._wiring.recalls.last(turn.namespace, io.now()))

    aafter_agent = async_form(after_agent)  # pyright: ignore[reportAssignmentType]

    def _offer_tools(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Return the request, without the memory's tools if the model cannot call any."""
        names = {tool.name for tool in self.tools}
        for tool in request.tools:
            if isinstance(tool, BaseTool) and tool.name in names and tool not in self.tools:
                raise InvalidInputError(
                    f"The agent has two tools called {tool.name}. Give this AMemMiddleware a name= "
                    "of its own, which its tools get too, or tools=False."
                )
        kind = type(request.model)
        if not self.tools or getattr(kind, "bind_tools", None) is not BaseChatModel.bind_tools:
            return request
        if not self._warned:
            self._warned = True
            _LOG.warning(
                "%s cannot call tools, so it is not offered %s; "
                "AMemMiddleware(..., tools=False) says so from the start. This is said once.",
                kind.__name__,
                " and ".join(tool.name for tool in self.tools),
            )
        return request.override(tools=[tool for tool in request.tools if tool not in self.tools])

    def _turn(self, messages: Sequence[AnyMessage]) -> _Turn | None:
        """Return the turn at hand; None if the user asked nothing in it."""
        labels, question = self._resolve(), last_question(messages)
        if question is None or not question.text.strip():
            return None
        return _Turn(labels, thread_id(), question.id or "", str(question.text))

    @sync_form
    async def _recall(self, io: IO, messages: Sequence[AnyMessage]) -> str:
        """Return the block of notes for the prompt, the same one throughout a turn."""
        turn = self._turn(messages)
        if turn is None:
            return ""
        try:
            recalled = await self._recalled.get(io, turn.namespace, turn.conversation, turn)
        except Exception as error:
            # Whether these notes may still be shown is not known.
            self._fail("recall", error)
            return ""
        if recalled is None:
            recalled = await self._search(io, turn, note_keys(messages, turn.thread))
        return recalled.packed

    _arecall = async_form(_recall)

    def _drop(self, messages: Sequence[AnyMessage]) -> None:
        """Drop what was recalled for a turn that failed; it is recalled anew if it goes on."""
        turn = self._turn(messages)
        if turn is not None:
            self._recalled.pop(turn.namespace, turn.conversation)

    async def _search(self, io: IO, turn: _Turn, shown: list[str]) -> _Recalled:
        """Recall for the turn, and keep that until it ends.

        shown: the keys of notes that the messages show anyway.
        """
        drops = io.caches.drops
        unseen = {"key": {"$nin": shown}, "$not": {"source_id": {"$in": shown}}} if shown else None
        try:
            hits = await find(
                self._wiring,
                io,
                turn.question,
                namespace=turn.namespace,
                filter=unseen,
                **self._recall_options,
            )
            packed = pack(hits, self._token_budget)
            self._wiring.recalls.shown(turn.namespace, hits, packed)
        except Exception as error:
            self._fail("recall", error)
            hits, packed = [], ""
        hits = shown_in(hits, packed)
        recalled = _Recalled(packed, [] if self._wiring.policy is None else hits)
        self._recalled.keep(
            io.caches, drops, turn.namespace, turn.conversation, turn, hits, recalled
        )
        return recalled

    async def _report_use(self, io: IO, turn: _Turn, messages: Sequence[AnyMessage]) -> None:
        """Report which of the recalled notes the answer used."""
        recalled = self._recalled.pop(turn.namespace, turn.conversation)
        if recalled is None or not recalled.hits:
            return
        hits = recalled.hits
        *_, answer = last_turn(messages)
        text = str(answer.text)
        try:
            await feedback_from_reply(io, turn.namespace, hits, text, turn.question, turn.thread)
        except Exception as error:
            self._fail("feedback", error)

    async def _remember(self, io: IO, messages: Sequence[AnyMessage]) -> None:
        labels, thread = self._resolve(), thread_id()
        count = self._wiring.settings.ledger.count
        try:
            items = await turn_items(io, count, self._captioning, messages, thread)
            await remember_turns(self._wiring, io, items, labels, self._formation, self._what)
        except GraphBubbleUp:
            raise
        except Exception as error:
            self._fail("remember", error)

    def _fail(self, verb: str, error: Exception) -> None:
        self._report(_LOG, f"langgraph.{verb}.failed", f"The memory could not {verb}", error)


def _name_of(namespace: RunNamespace) -> str:
    """Return a name for the graph's nodes, in which some signs have a meaning."""
    if callable(namespace):
        labels: Sequence[str] = (getattr(namespace, "__qualname__", type(namespace).__qualname__),)
    else:
        labels = (namespace,) if isinstance(namespace, str) else namespace
    words = ("_".join(re.findall(r"\w+", label)) for label in labels)
    return "-".join(["AMemMiddleware", *words])


def _insert(request: ModelRequest[Any], recalled: str) -> ModelRequest[Any]:
    """Return the request with the recalled notes at the end of its system message."""
    if not recalled:
        return request
    system = request.system_message
    if system is None:
        message = SystemMessage(recalled)
    elif isinstance(system.content, str):
        message = system.model_copy(update={"content": f"{system.content}\n\n{recalled}"})
    else:
        block = {"type": "text", "text": recalled}
        message = system.model_copy(update={"content": [*system.content, block]})
    return request.override(system_message=message)
