"""The formation subgraph: LangGraph draws it, streams it, checkpoints it, interrupts it."""

# LangGraph's own annotations leave type arguments open in these calls.
# pyright: reportUnknownMemberType=false

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import get_runtime
from langgraph.types import interrupt

from amem_integrations.core.io import IO, Runnable, run
from amem_integrations.core.namespace import encode
from amem_integrations.formation.batch import batch
from amem_integrations.formation.candidates import find_candidates
from amem_integrations.formation.commit import commit
from amem_integrations.formation.state import (
    FormationState,
    RunContext,
    Settings,
    content_digest,
    namespace_of,
    open_ids,
    outcome,
)
from amem_integrations.formation.steps import (
    REJECTED,
    admit,
    construct,
    evolve,
    fuse,
    hold,
    link,
    release,
)
from amem_integrations.llms.redaction import redaction

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

Operation: TypeAlias = Callable[
    [IO, Settings, FormationState, RunContext], Awaitable[dict[str, Any]]
]

STEPS: dict[str, dict[str, Operation]] = {
    "staged": {
        "accept": admit,
        "construct": construct,
        "candidates": find_candidates,
        "link": link,
        "evolve": evolve,
    },
    "fused": {
        "accept": admit,
        "candidates": find_candidates,
        "judge": fuse,
    },
    "batched": {
        "accept": admit,
        "candidates": find_candidates,
        "judge": batch,
    },
}


def build(
    settings: Settings,
    sync_io: IO,
    async_io: IO,
    *,
    review: bool = False,
    checkpointer: "BaseCheckpointSaver[Any] | bool | None" = None,
) -> "CompiledStateGraph[FormationState, None, FormationState, FormationState]":
    """The compiled graph of `settings.mode`; input and output are a FormationState.

    review: stop at an `interrupt` before the commit. Resume with True to commit, with False
        to leave the notes unformed, or with a mapping of note id to True or False. Until then,
        and when turned down, they are parked: nothing else forms them unless asked to.
    """
    builder = StateGraph(FormationState)
    steps = {**STEPS[settings.mode], "commit": commit}
    order = list(steps)
    if review:
        steps |= {"hold": hold, "release": release}
        order = ["accept", "hold", *order[1:-1], "review", "release", "commit"]
        builder.add_node("review", _review)
    for name, operation in steps.items():
        builder.add_node(name, _node(name, operation, settings, sync_io, async_io))
    for source, target in zip([START, *order], [*order, END], strict=True):
        builder.add_edge(source, target)
    return builder.compile(checkpointer=checkpointer, name=f"formation-{settings.mode}")


@dataclass(frozen=True)
class Traced(Runnable):
    """The graph as a memory runs it by itself; its input is a state and the run's context.

    content: whether the caller's callbacks see inputs and outputs of its runs.
    """

    graph: "CompiledStateGraph[FormationState, None, FormationState, FormationState]"
    mode: str
    content: bool

    def invoke(self, input: tuple[FormationState, Any]) -> Any:
        state, context = input
        with nullcontext() if self.content else redaction():
            return self.graph.invoke(state, self._about(state), context=context)

    async def ainvoke(self, input: tuple[FormationState, Any]) -> Any:
        state, context = input
        with nullcontext() if self.content else redaction(awaited=True):
            return await self.graph.ainvoke(state, self._about(state), context=context)

    def _about(self, state: FormationState) -> "RunnableConfig":
        return {
            "tags": ["amem"],
            "metadata": {
                "amem_mode": self.mode,
                "amem_namespace": content_digest(encode(namespace_of(state))),
                "amem_notes": len(state.get("notes", ())),
            },
        }


def _node(
    name: str, operation: Operation, settings: Settings, sync_io: IO, async_io: IO
) -> RunnableLambda[FormationState, dict[str, Any]]:
    def call(state: FormationState) -> dict[str, Any]:
        return run(_operate(sync_io, state))

    async def _operate(io: IO, state: FormationState) -> dict[str, Any]:
        context: Any = get_runtime().context
        # A graph around this one has a context of its own, or there is none: read anew.
        known = context if isinstance(context, RunContext) else RunContext()
        return await operation(io, settings, state, known)

    async def acall(state: FormationState) -> dict[str, Any]:
        return await _operate(async_io, state)

    return RunnableLambda(call, afunc=acall, name=name)


def _review(state: FormationState) -> dict[str, Any]:
    """Ask a person. Nothing else happens here, because a resumed node runs from its start."""
    waiting = open_ids(state)
    if not waiting:
        return {}
    answer = interrupt(
        {
            id: {
                "understanding": state.get("understanding", {}).get(id),
                "links": state.get("links", {}).get(id, []),
                "evolutions": state.get("evolutions", {}).get(id, []),
            }
            for id in waiting
        }
    )
    approved = (
        cast("dict[str, bool]", answer)
        if isinstance(answer, dict)
        else dict.fromkeys(waiting, bool(answer))
    )
    rejected = {id: outcome("rejected", REJECTED) for id in waiting if not approved.get(id)}
    return {"outcomes": {**state.get("outcomes", {}), **rejected}}
