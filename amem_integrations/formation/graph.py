"""The formation subgraph: LangGraph draws it, streams it, checkpoints it, interrupts it."""

# LangGraph's own annotations leave type arguments open in these calls.
# pyright: reportUnknownMemberType=false

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import get_runtime
from langgraph.types import interrupt

from amem_integrations.core.io import IO, Runnable, run
from amem_integrations.core.namespace import encode
from amem_integrations.core.note import Note, Status
from amem_integrations.formation.plan import STEPS, Step
from amem_integrations.formation.state import (
    FormationState,
    Run,
    RunContext,
    Settings,
    content_digest,
    outcome,
)
from amem_integrations.llms.redaction import redaction
from amem_integrations.stores.read import load

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

Graph: TypeAlias = "CompiledStateGraph[FormationState, None, FormationState, FormationState]"
"""Its input and output are a FormationState."""

_REJECTED = "turned down in review"
_WAITING = "waits for review"
# Of each text that a person is shown; the interrupt is kept in the checkpoint.
_SHOWN_CHARS = 2000


def build(
    settings: Settings,
    sync_io: IO,
    async_io: IO,
    *,
    review: bool = False,
    checkpointer: "BaseCheckpointSaver[Any] | bool | None" = None,
) -> Graph:
    """The compiled graph of `settings.mode`.

    review: stop at an `interrupt` before the commit. Resume with True to commit, with False
        to leave the notes unformed, or with a mapping of note id to True or False. Until then,
        and when turned down, they are parked: nothing else forms them unless asked to.
    """
    builder = StateGraph(FormationState)
    steps = dict(STEPS[settings.mode])
    order = list(steps)
    if review:
        steps |= {"hold": _hold, "review": _review, "release": _release}
        order = ["accept", "hold", *order[1:-1], "review", "release", "commit"]
    for name, step in steps.items():
        builder.add_node(name, _node(name, step, settings, sync_io, async_io))
    for source, target in zip([START, *order], [*order, END], strict=True):
        builder.add_edge(source, target)
    return builder.compile(checkpointer=checkpointer, name=f"formation-{settings.mode}")


@dataclass(frozen=True)
class Traced(Runnable):
    """The graph as a memory runs it by itself; its input is a state and the run's context.

    content: whether the caller's callbacks see inputs and outputs of its runs.
    """

    graph: Graph
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
                "amem_namespace": content_digest(encode(tuple(state.get("namespace", ())))),
                "amem_notes": len(state.get("notes", ())),
            },
        }


def _node(
    name: str, step: Step, settings: Settings, sync_io: IO, async_io: IO
) -> RunnableLambda[FormationState, dict[str, Any]]:
    async def take(io: IO, state: FormationState) -> dict[str, Any]:
        context: Any = get_runtime().context
        # A graph around this one has a context of its own, or there is none: read anew.
        known = context if isinstance(context, RunContext) else RunContext()
        return await step(io, Run(settings, state, known))

    def call(state: FormationState) -> dict[str, Any]:
        return run(take(sync_io, state))

    async def acall(state: FormationState) -> dict[str, Any]:
        return await take(async_io, state)

    return RunnableLambda(call, afunc=acall, name=name)


# -- review ----------------------------------------------------------------------------------


async def _hold(io: IO, run: Run) -> dict[str, Any]:
    """Park the notes that are to be reviewed: nothing else forms them meanwhile."""
    for note in (await load(io, run.open_ids, run.namespace)).values():
        if note.status is Status.RAW:
            await _set_status(io, note, Status.PARKED, _WAITING)
    return {}


async def _review(io: IO, run: Run) -> dict[str, Any]:
    """Ask a person. A resumed node runs from its start, so nothing is written here."""
    state, outcomes = run.state, run.outcomes
    waiting = [ref["id"] for ref in state.get("notes", ()) if ref["id"] not in outcomes]
    if not waiting:
        return {}
    links, evolutions = state.get("links", {}), state.get("evolutions", {})
    others = [str(link["to"]) for id in waiting for link in links.get(id, ())]
    others += [str(change["note_id"]) for id in waiting for change in evolutions.get(id, ())]
    notes = await load(io, dict.fromkeys([*waiting, *others]), run.namespace)

    def text(id: str) -> str | None:
        return notes[id].content[:_SHOWN_CHARS] if id in notes else None

    answer = interrupt(
        {
            id: {
                "text": text(id),
                "understanding": state.get("understanding", {}).get(id),
                "links": [{**link, "text": text(link["to"])} for link in links.get(id, ())],
                "evolutions": [
                    {**change, "text": text(change["note_id"])} for change in evolutions.get(id, ())
                ],
            }
            for id in waiting
        }
    )
    approved = (
        cast("dict[str, bool]", answer)
        if isinstance(answer, dict)
        else dict.fromkeys(waiting, bool(answer))
    )
    rejected = {id: outcome("rejected", _REJECTED) for id in waiting if not approved.get(id)}
    return {"outcomes": {**outcomes, **rejected}}


async def _release(io: IO, run: Run) -> dict[str, Any]:
    """Queue the notes again that may be committed or failed; rejected ones stay parked."""
    rejected = {id for id, found in run.outcomes.items() if found["status"] == "rejected"}
    ids = [ref["id"] for ref in run.state.get("notes", ())]
    for note in (await load(io, ids, run.namespace)).values():
        if note.status is not Status.PARKED or note.last_error != _WAITING:
            continue
        if note.id in rejected:
            await _set_status(io, note, Status.PARKED, _REJECTED)
        else:
            await _set_status(io, note, Status.RAW, None)
    return {}


async def _set_status(io: IO, note: Note, status: Status, why: str | None) -> None:
    # The version stays, and with it what was proposed for the note.
    await io.engine.patch(
        note.id, {"status": str(status), "last_error": why}, expect={"version": note.version}
    )
