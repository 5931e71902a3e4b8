"""Having notes formed that are stored: at once, by the worker, or when somebody resumes.

What the formation graph is run over, and how it ended, as operations over io. `operations` and
its neighbours say which notes; the worker takes its own by `take`. What happens to a note in
the graph is `formation`'s.
"""

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias

from amem_integrations.core.io import IO, Runnable
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status
from amem_integrations.errors import AMemError, StoreClosedError, StoreError, loggable
from amem_integrations.formation import queue
from amem_integrations.formation.commit import note_failure
from amem_integrations.formation.judge import failure
from amem_integrations.formation.state import Outcome, Settings, initial_state, outcome
from amem_integrations.formation.worker import Batch
from amem_integrations.lifecycle.maintain import maintain_if_due
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.llms.failures import is_interrupt
from amem_integrations.recall.last import Recalls
from amem_integrations.recall.options import DEFAULT_OPTIONS, RecallOptions
from amem_integrations.recall.rerank import Reranking
from amem_integrations.stores.read import load

_LOG = logging.getLogger(__name__)
_JUDGED_AGAIN = 3
_OPEN = outcome("open")
_RELEASED = ("open", "stale")

FORMATIONS = ("inline", "background", "off")
Formation: TypeAlias = Literal["inline", "background", "off"]


@dataclass(frozen=True)
class Wiring:
    """What the operations work with.

    formation: when notes are formed, unless a call says otherwise. recall, reranking: how they
    are found, likewise. policy: how they are believed and kept; None leaves them as they are.
    covers: whether the embedder knows the script of a text. recalls: what was found last.
    graph: builds the formation graph on first use, because that imports LangGraph.
    wake: tells the background worker that there is something to form.
    """

    settings: Settings
    formation: Formation
    graph: Callable[[], Runnable]
    wake: Callable[[], None]
    recall: RecallOptions = DEFAULT_OPTIONS
    reranking: Reranking | None = None
    policy: Policy | None = None
    covers: Callable[[str], bool] = lambda text: True
    recalls: Recalls = field(default_factory=Recalls)

    @property
    def analyst_name(self) -> str:
        return self.settings.analyst_name

    @property
    def at_once(self) -> int:
        """How many notes go through the graph together: one after another they see each other."""
        return self.settings.batch if self.settings.mode == "batched" else 1


async def have_formed(
    wiring: Wiring,
    io: IO,
    formation: Formation,
    notes: Iterable[Note] = (),
    *,
    unformed: Mapping[Namespace, Sequence[str]] | None = None,
) -> None:
    """Form those of the notes that are raw now, or wake the worker for them, or leave them.

    unformed: ids, by namespace, of more: what they drew on was taken back.
    """
    raw: dict[Namespace, list[Note]] = {}
    for note in notes:
        if note.status is Status.RAW:
            raw.setdefault(note.namespace, []).append(note)
    again = {namespace: ids for namespace, ids in (unformed or {}).items() if ids}
    if formation == "background" and (raw or again):
        wiring.wake()
    elif formation == "inline":
        for together in raw.values():
            await form(wiring, io, together)
        for namespace, ids in again.items():
            await form(wiring, io, list((await load(io, ids, namespace)).values()))


async def form(wiring: Wiring, io: IO, notes: Sequence[Note]) -> None:
    """Take raw notes of one namespace through the formation graph.

    Whatever fails, they stay stored.
    """
    try:
        for start in range(0, len(notes), wiring.at_once):
            await _run_graph(wiring, io, notes[start : start + wiring.at_once])
    except StoreError as error:
        wiring.settings.ledger.count("formation.error")
        _LOG.warning("Formation failed (%s); the note stays raw.", loggable(error))


async def _run_graph(wiring: Wiring, io: IO, notes: Sequence[Note]) -> dict[str, Outcome]:
    """How it ended for each note. Failures are kept on the notes, unless it is the store's."""
    graph, ended = wiring.graph(), dict[str, Outcome]()
    left = notes
    try:
        for _ in range(_JUDGED_AGAIN):
            state = initial_state(left)
            try:
                ended |= (await io.invoke(graph, state))["outcomes"]
            except StoreError:
                raise
            except Exception as error:
                if is_interrupt(error):
                    raise
                result = failure(error)
                for note in left:
                    wiring.settings.ledger.count("formation.failed")
                    await note_failure(io, wiring.settings, state, note.id, result)
                    ended[note.id] = result
            left = [note for note in left if ended[note.id]["status"] == "stale"]
            if not left:
                break
    finally:
        await release(io, [n for n in notes if ended.get(n.id, _OPEN)["status"] in _RELEASED])
    return ended


async def release(io: IO, notes: Sequence[Note]) -> None:
    """Give leases back that this memory has on notes."""
    # Where the store is out of reach the leases run out by themselves.
    with contextlib.suppress(StoreError):
        await queue.release(io, notes)


async def take(wiring: Wiring, io: IO) -> Batch:
    """The oldest waiting notes of a namespace, leased; or seconds until there are some.

    Where none waits, what is stored is looked after, once in a while.
    """
    if notes := await queue.claim(io, most=wiring.at_once):
        return Batch(notes)
    due = await queue.next_due(io)
    waits = [] if due is None else [due - io.now()]
    if wiring.policy is not None:
        waits.append(await _maintain(wiring, io, wiring.policy))
    return Batch([], min(waits).total_seconds() if waits else None)


async def _maintain(wiring: Wiring, io: IO, policy: Policy) -> timedelta:
    """Look after what is stored, if that is due; how long until it is again."""
    try:
        return await maintain_if_due(io, policy, wiring.analyst_name)
    except StoreClosedError:
        raise
    except AMemError as error:
        # Nothing of it is lost, and forming goes on.
        wiring.settings.ledger.count("maintain.failed")
        _LOG.warning("Maintenance broke off (%s).", loggable(error))
        return policy.due


async def form_taken(wiring: Wiring, io: IO, notes: Sequence[Note]) -> bool:
    """Form notes that were taken; True when others would fail as well."""
    ended = await _run_graph(wiring, io, notes)
    return any(result["outage"] for result in ended.values())


async def resume(wiring: Wiring, io: IO) -> int:
    """Form every raw note that nobody else is at, each tried once; returns how many were."""
    formed, tried = 0, set[str]()
    while notes := await queue.claim(io, most=wiring.at_once, without=tried, early=True):
        ended = await _run_graph(wiring, io, notes)
        formed += sum(result["status"] == "formed" for result in ended.values())
        # One that was given other text meanwhile is another note.
        tried.update(id for id, result in ended.items() if result["status"] != "superseded")
    return formed


async def retry(wiring: Wiring, io: IO) -> int:
    """Take up what was parked, and whatever else waits."""
    await queue.unpark(io)
    return await resume(wiring, io)
