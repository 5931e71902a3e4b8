"""The formation graph with messages in front of it, to be a node of any graph.

`messages` says which messages are remembered. The steps are those of `AgenticMemory.graph`, each of
them checkpointed.
"""

# LangGraph's own annotations leave type arguments open in these calls.
# pyright: reportUnknownMemberType=false

import logging
from typing import Annotated, Any, TypedDict, cast, get_type_hints

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableLambda
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph

from amem_integrations.core.io import IO, async_form, sync_form
from amem_integrations.core.note import Status
from amem_integrations.formation.state import FormationState, initial_state
from amem_integrations.langchain.namespaces import RunNamespace, namespace_resolver, thread_id
from amem_integrations.langgraph.messages import turn_items
from amem_integrations.memory.attachments import Captioner, Captioning, captioning_of
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.options import check_choice
from amem_integrations.memory.turns import REMEMBER, Remember, remember_turns
from amem_integrations.memory.wiring import Adapter

_LOG = logging.getLogger(__name__)

ACCEPT = "accept_messages"
FORM = "formation"


class _Nothing(TypedDict):
    """The graph's output: it changes nothing in the state."""


def create_memory_graph(
    memory: AgenticMemory,
    *,
    namespace: RunNamespace,
    messages_key: str = "messages",
    review: bool = False,
    remember: Remember = "both",
    captioner: Captioner | Captioning | None = None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return a graph that remembers the last turn: what the user said, and the answer.

    Add it as a node after the one that answers; it reads the state's `messages_key` and writes
    nothing. It uses the checkpointer of the graph around it: a resumed run makes no second note and
    asks the model nothing twice. Stream with subgraphs=True to see its steps. A memory that fails
    does not fail the run: the error is logged without content and counted.

    Args:
        memory: where the turn is remembered.
        namespace: as for `create_memory_tools`.
        messages_key: the key of the messages in the state.
        review: stop at an `interrupt` before the commit; resume with Command(resume=True or False,
            or a mapping of note id to either).
        remember: as for `AMemMiddleware`.
        captioner: as for `AMemMiddleware`.

    Raises:
        InvalidInputError: an argument is invalid; when it runs, the run does not name its user.

    Examples:
        >>> from langgraph.graph import START, MessagesState, StateGraph
        >>> from amem_integrations.langgraph import create_memory_graph
        >>> builder = StateGraph(MessagesState)
        >>> _ = builder.add_node("answer", lambda state: {"messages": "A fine name."})
        >>> _ = builder.add_node("memory", create_memory_graph(memory, namespace="calvin"))
        >>> _ = builder.add_edge(START, "answer")
        >>> _ = builder.add_edge("answer", "memory")
        >>> _ = builder.compile().invoke({"messages": "My boat is called Susie"})
        >>> sorted(note.content for note in memory.recent(namespace="calvin"))
        ['A fine name.', 'My boat is called Susie']
    """
    shared = {messages_key: Annotated[list[AnyMessage], add_messages]}
    state = _typed("MemoryState", {**shared, **get_type_hints(FormationState)})
    builder = StateGraph(state, input_schema=_typed("MemoryInput", shared), output_schema=_Nothing)
    check_choice("remember", remember, REMEMBER)
    turns = _Turns(memory, namespace, messages_key, remember, captioning_of(captioner))
    formation: Any = memory.graph(review=review)

    # LangGraph finds the subgraph in the closure. Without a config it takes part in the
    # checkpoints of the run around it.
    def form(state: FormationState) -> dict[str, Any]:
        try:
            return formation.invoke(state)
        except GraphBubbleUp:
            raise
        except Exception as error:
            return turns.formation_failed(error)

    async def aform(state: FormationState) -> dict[str, Any]:
        try:
            return await formation.ainvoke(state)
        except GraphBubbleUp:
            raise
        except Exception as error:
            return turns.formation_failed(error)

    accept_node: Any = RunnableLambda(turns.accept, afunc=turns.aaccept, name=ACCEPT)
    form_node: Any = RunnableLambda(form, afunc=aform, name=FORM)
    builder.add_node(ACCEPT, accept_node)
    builder.add_node(FORM, form_node)
    builder.add_edge(START, ACCEPT)
    builder.add_conditional_edges(ACCEPT, _next, [FORM, END])
    builder.add_edge(FORM, END)
    return builder.compile(name="memory")


class _Turns(Adapter):
    def __init__(
        self,
        memory: AgenticMemory,
        namespace: RunNamespace,
        messages_key: str,
        remember: Remember,
        captioning: Captioning | None,
    ) -> None:
        super().__init__(memory)
        self._resolve = namespace_resolver(namespace)
        self._messages_key = messages_key
        self._remember: Remember = remember
        self._captioning = captioning

    @sync_form
    async def accept(self, io: IO, state: dict[str, Any]) -> dict[str, Any]:
        """Store the turn, raw; the state for the formation graph."""
        labels, thread = self._resolve(), thread_id()
        count, messages = self._wiring.settings.ledger.count, state[self._messages_key]
        try:
            items = await turn_items(io, count, self._captioning, messages, thread)
            notes = await remember_turns(self._wiring, io, items, labels, "off", self._remember)
        except Exception as error:
            self._report(_LOG, "langgraph.remember.failed", "A turn could not be remembered", error)
            return {}
        raw = [note for note in notes if note.status is Status.RAW]
        return dict(initial_state(raw)) if raw else {}

    aaccept = async_form(accept)

    def formation_failed(self, error: Exception) -> dict[str, Any]:
        self._report(_LOG, "langgraph.formation.failed", "Forming a turn's notes failed", error)
        return {}


def _typed(name: str, fields: dict[str, Any]) -> type[Any]:
    # One name among the fields is the caller's.
    return cast("type[Any]", TypedDict(name, fields, total=False))  # pyright: ignore[reportArgumentType]


def _next(state: dict[str, Any]) -> str:
    return FORM if state.get("notes") else END
