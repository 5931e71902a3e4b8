"""The formation graph with messages in front of it, to be a node of any graph.

Nothing is decided here: `turns` says what of the messages is remembered, and the steps are those
of `AgenticMemory.graph`, each of them checkpointed.
"""

# LangGraph's own annotations leave type arguments open in these calls.
# pyright: reportUnknownMemberType=false

import logging
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict, cast, get_type_hints

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableLambda
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Status
from amem_integrations.errors import loggable
from amem_integrations.formation.state import FormationState, initial_state
from amem_integrations.langchain.identity import Identity, namespace_resolver, thread_id
from amem_integrations.langgraph.turns import last_turn, said
from amem_integrations.memory.attachments import Captioner, Captioning, captioned, captioning_of
from amem_integrations.memory.client import AgenticMemory
from amem_integrations.memory.operations import add
from amem_integrations.memory.pipeline import Wiring

_LOG = logging.getLogger(__name__)

ACCEPT = "accept_messages"
FORM = "formation"


class _Nothing(TypedDict):
    """What the graph gives back: everything stays as it is."""


def create_memory_graph(
    memory: AgenticMemory,
    *,
    namespace: Identity,
    messages_key: str = "messages",
    review: bool = False,
    captioner: Captioner | Captioning | None = None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A graph that remembers the last turn of a conversation: what the user said, and the answer.

    Add it as a node, after the one that answers; it reads the state's `messages_key` and writes
    nothing. Its checkpointer is that of the graph around it: a run that is taken up again makes no
    second note and asks the model nothing twice. Stream with subgraphs=True to see its steps. A
    memory that fails does not fail the run: it is logged without content and counted.

    Args:
        memory: where it is remembered.
        namespace: as for `create_memory_tools`.
        messages_key: under which the state has the messages.
        review: stop at an `interrupt` before the commit, and resume with Command(resume=True or
            False, or a mapping of note id to either).
        captioner: as for `AMemMiddleware`.

    Raises:
        InvalidInputError: an argument cannot be used; when it is run, the run does not say who its
            user is.

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
    resolve, captioning = namespace_resolver(namespace), captioning_of(captioner)

    def accept(state: dict[str, Any]) -> dict[str, Any]:
        messages = state[messages_key]
        return memory.perform(_accepting(messages, resolve(), thread_id(), captioning))

    async def aaccept(state: dict[str, Any]) -> dict[str, Any]:
        messages = state[messages_key]
        return await memory.aperform(_accepting(messages, resolve(), thread_id(), captioning))

    formation: Any = memory.graph(review=review)

    # With no config of its own it takes part in the checkpoints of the run around it.
    def form(state: FormationState) -> dict[str, Any]:
        try:
            return formation.invoke(state)
        except GraphBubbleUp:
            raise
        except Exception as error:
            return _failed(memory, error)

    async def aform(state: FormationState) -> dict[str, Any]:
        try:
            return await formation.ainvoke(state)
        except GraphBubbleUp:
            raise
        except Exception as error:
            return _failed(memory, error)

    shared = {messages_key: Annotated[list[AnyMessage], add_messages]}
    state = _typed("MemoryState", {**shared, **get_type_hints(FormationState)})
    builder = StateGraph(state, input_schema=_typed("MemoryInput", shared), output_schema=_Nothing)
    nodes: dict[str, RunnableLambda[Any, Any]] = {
        ACCEPT: RunnableLambda(accept, afunc=aaccept, name=ACCEPT),
        FORM: RunnableLambda(form, afunc=aform, name=FORM),
    }
    for name, node in nodes.items():
        builder.add_node(name, node)
    builder.add_edge(START, ACCEPT)
    builder.add_conditional_edges(ACCEPT, _next, [FORM, END])
    builder.add_edge(FORM, END)
    return builder.compile(name="memory")


def _failed(memory: AgenticMemory, error: Exception) -> dict[str, Any]:
    _LOG.warning("Forming a turn's notes failed (%s).", loggable(error))
    _LOG.debug("Why.", exc_info=error)
    memory.admin.count_event("langgraph.formation.failed")
    return {}


def _typed(name: str, fields: dict[str, Any]) -> type[Any]:
    # The one name among the fields that is not known before is the caller's.
    return cast("type[Any]", TypedDict(name, fields, total=False))  # pyright: ignore[reportArgumentType]


def _next(state: dict[str, Any]) -> str:
    return FORM if state.get("notes") else END


def _accepting(
    messages: Sequence[AnyMessage],
    labels: Namespace,
    thread: str | None,
    captioning: Captioning | None,
) -> Any:
    turn, unusable = said(last_turn(messages), thread)

    async def accepted(wiring: Wiring, io: IO) -> dict[str, Any]:
        count = wiring.settings.ledger.count
        count("langgraph.remember.unusable", unusable)
        try:
            items = await captioned(io, count, captioning, turn)
            notes = await add(wiring, io, items, labels, "off")
        except Exception as error:
            _LOG.warning("A turn could not be remembered (%s).", loggable(error))
            _LOG.debug("Why.", exc_info=error)
            wiring.settings.ledger.count("langgraph.remember.failed")
            return {}
        raw = [note for note in notes if note.status is Status.RAW]
        return dict(initial_state(raw)) if raw else {}

    return accepted
