"""What a memory does, each as one operation over io; `memory.py` gives them their two forms."""

import contextlib
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from amem_integrations.conditions import EVERYTHING, Condition, match
from amem_integrations.errors import InvalidInputError, NoteNotFoundError, StoreError
from amem_integrations.formation import outbox
from amem_integrations.formation.accept import accept
from amem_integrations.formation.commit import note_failure
from amem_integrations.formation.judging import failure
from amem_integrations.formation.state import Outcome, Settings, initial_state, outcome
from amem_integrations.formation.worker import Batch
from amem_integrations.lifecycle import forget as forgetting
from amem_integrations.lifecycle import revise
from amem_integrations.lifecycle.archive import restore
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.models.chat_failures import is_interrupt
from amem_integrations.namespace import DEFAULT, Namespace, as_namespace, encode
from amem_integrations.note import Note, Revision, Status, make_note, metadata_text
from amem_integrations.ports import IO, Runnable
from amem_integrations.recall.options import DEFAULT_OPTIONS, RecallOptions
from amem_integrations.recall.rerank import Reranking
from amem_integrations.recall.search import check_counts
from amem_integrations.store.reading import load, recent, resolved, revisions, with_links
from amem_integrations.store.schema import within

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_CHUNK = 32
_JUDGED_AGAIN = 3
_OPEN = outcome("open")
_RELEASED = ("open", "stale")
_READ = 256
_GIVEN = frozenset(inspect.signature(make_note).parameters) - {
    "namespace",
    "now",
    "repetition",
    "value",
}

FORMATIONS = ("inline", "background", "off")
Formation: TypeAlias = Literal["inline", "background", "off"]
Progress: TypeAlias = Callable[[int, int], None]
NamespaceLike: TypeAlias = str | Sequence[str]
NoteLike: TypeAlias = Note | str


@dataclass(frozen=True)
class Rooms:
    """What the operations work with.

    formation: when notes are formed, unless a call says otherwise. recall, reranking: how they
    are found, likewise. policy: how they are believed and kept; None leaves them as they are.
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

    @property
    def analyst_name(self) -> str:
        return self.settings.analyst_name


class Forms:
    """What the sync and the async form of an operation are given; both halves share it."""

    _rooms: Rooms
    _sync: IO
    _async: IO


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        wanted = ", ".join(repr(choice) for choice in choices)
        raise InvalidInputError(f"{name} is one of {wanted}; got {value!r}.")


def address(note: NoteLike, namespace: NamespaceLike | None) -> tuple[str, Namespace]:
    """Id and namespace; an id alone is looked up in the given or the default namespace."""
    if isinstance(note, Note):
        return note.id, note.namespace if namespace is None else as_namespace(namespace)
    if not isinstance(note, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"Expected a note or its id, a string; got {type(note).__name__}.")
    return note, DEFAULT if namespace is None else as_namespace(namespace)


async def add(
    rooms: Rooms,
    io: IO,
    items: Iterable[str | Mapping[str, Any]],
    namespace: NamespaceLike,
    formation: Formation | None = None,
    progress: Progress | None = None,
) -> list[Note]:
    """Store notes, then form them as `formation` says; returns them in the order given.

    All items are checked before the first is written. One whose key exists with other
    content updates that note.
    """
    formation = formation or rooms.formation
    check_choice("formation", formation, FORMATIONS)
    notes = _distinct(io, items, as_namespace(namespace))
    done: list[Note] = []
    stored: list[Note] = []
    try:
        for start in range(0, len(notes), _CHUNK):
            chunk = notes[start : start + _CHUNK]
            inline = formation == "inline"
            stored = await accept(io, chunk, leased=outbox.lease(io) if inline else None)
            for group in _groups(list(zip(chunk, stored, strict=True)), _at_once(rooms)):
                held = [await _reconciled(rooms, io, *pair, formation) for pair in group]
                if inline:
                    raw = [note for note in held if note.status is Status.RAW]
                    await form(rooms, io, raw)
                for note in held:
                    done.append(note)
                    if progress is not None:
                        progress(len(done), len(notes))
        # Before the worker begins: the answer does not wait for what it is about to do.
        return await _as_they_are(io, done)
    finally:
        # Also for what was stored before `progress` failed or the call was cancelled.
        if formation == "background":
            rooms.wake()
        elif len(done) < len(notes):
            await _release(io, stored)


def _groups(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


async def _as_they_are(io: IO, notes: Sequence[Note]) -> list[Note]:
    """The notes read again, links of both directions included."""
    fresh: dict[str, Note] = {}
    for start in range(0, len(notes), _READ):
        page = await load(
            io, (note.id for note in notes[start : start + _READ]), notes[0].namespace
        )
        fresh |= {note.id: note for note in await with_links(io, list(page.values()))}
    return [fresh.get(note.id, note) for note in notes]


def _distinct(io: IO, items: Iterable[str | Mapping[str, Any]], namespace: Namespace) -> list[Note]:
    """A note for each item; equal ones without a key are told apart by how often they came."""
    # A text is iterable too, and would be one note a letter.
    if isinstance(items, str | Mapping) or not isinstance(items, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError("Expected a list of items to remember; add() takes a single one.")
    seen: dict[str, int] = {}
    notes: list[Note] = []
    for given in items:
        if not isinstance(given, str | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(
                f"An item to remember is a text or a mapping; got {type(given).__name__}."
            )
        item: dict[str, Any] = {"content": given} if isinstance(given, str) else dict(given)
        unknown = item.keys() - _GIVEN
        if unknown or "content" not in item:
            raise InvalidInputError(
                f'An item to remember has "content" and may have {", ".join(sorted(_GIVEN))}; '
                f"got {', '.join(sorted(map(str, item))) or 'nothing'}."
            )
        note = make_note(**item, namespace=namespace, now=io.now())
        repetition = seen.get(note.id, 0)
        seen[note.id] = repetition + 1
        if repetition and item.get("key") is None:
            note = make_note(
                **item, namespace=namespace, now=note.created_at, repetition=repetition
            )
        notes.append(note)
    return notes


async def _reconciled(rooms: Rooms, io: IO, given: Note, held: Note, formation: Formation) -> Note:
    """The stored note, updated if it was stored earlier with something else."""
    metadata = given.metadata_json if given.metadata_json != "{}" else None
    if held.content == given.content:
        # To say a thing again is to want it back.
        held = await restore(io, held)
    if held.content == given.content and metadata in (None, held.metadata_json):
        return held
    updated, taken_back = await revise.update(
        io, held, rooms.analyst_name, content=given.content, metadata_json=metadata
    )
    await form_again(rooms, io, taken_back.unformed, given.namespace, formation)
    return updated


async def form(rooms: Rooms, io: IO, notes: Sequence[Note]) -> list[Note]:
    """Take raw notes of one namespace through the formation graph, and read them again.

    Whatever fails, they stay stored.
    """
    try:
        for start in range(0, len(notes), _at_once(rooms)):
            await _run_graph(rooms, io, notes[start : start + _at_once(rooms)])
    except StoreError as error:
        rooms.settings.ledger.count("formation.error")
        _LOG.warning("Formation failed (%s); the note stays raw.", type(error).__name__)
    fresh = await load(io, (note.id for note in notes), notes[0].namespace) if notes else {}
    return [fresh.get(note.id, note) for note in notes]


def _at_once(rooms: Rooms) -> int:
    """How many notes go through the graph together: one after another they see each other."""
    return rooms.settings.batch if rooms.settings.mode == "batched" else 1


async def _run_graph(rooms: Rooms, io: IO, notes: Sequence[Note]) -> dict[str, Outcome]:
    """How it ended for each note. Failures are kept on the notes, unless it is the store's."""
    graph, ended = rooms.graph(), dict[str, Outcome]()
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
                    rooms.settings.ledger.count("formation.failed")
                    await note_failure(io, rooms.settings, state, note.id, result)
                    ended[note.id] = result
            left = [note for note in left if ended[note.id]["status"] == "stale"]
            if not left:
                break
    finally:
        await _release(io, [n for n in notes if ended.get(n.id, _OPEN)["status"] in _RELEASED])
    return ended


async def _release(io: IO, notes: Sequence[Note]) -> None:
    # Where the store is out of reach the leases run out by themselves.
    with contextlib.suppress(StoreError):
        await outbox.release(io, notes)


async def form_again(
    rooms: Rooms, io: IO, note_ids: Sequence[str], namespace: Namespace, formation: Formation
) -> None:
    """Notes that became raw because something they drew on was taken back."""
    if formation == "inline":
        await form(rooms, io, list((await load(io, note_ids, namespace)).values()))
    elif formation == "background" and note_ids:
        rooms.wake()


async def take(rooms: Rooms, io: IO) -> Batch:
    """The oldest waiting notes of a namespace, leased; or seconds until there are some."""
    if notes := await outbox.claim(io, most=_at_once(rooms)):
        return Batch(notes)
    due = await outbox.next_due(io)
    return Batch([], None if due is None else (due - io.now()).total_seconds())


async def form_taken(rooms: Rooms, io: IO, notes: Sequence[Note]) -> bool:
    """Form notes that were taken; True when others would fail as well."""
    ended = await _run_graph(rooms, io, notes)
    return any(result["outage"] for result in ended.values())


async def resume(rooms: Rooms, io: IO) -> int:
    """Form every raw note that nobody else is at, each tried once; returns how many were."""
    formed, tried = 0, set[str]()
    while notes := await outbox.claim(io, most=_at_once(rooms), without=tried, early=True):
        ended = await _run_graph(rooms, io, notes)
        formed += sum(result["status"] == "formed" for result in ended.values())
        # One that was given other text meanwhile is another note.
        tried.update(id for id, result in ended.items() if result["status"] != "superseded")
    return formed


async def retry(rooms: Rooms, io: IO) -> int:
    """Take up what was parked, and whatever else waits."""
    await outbox.unpark(io)
    return await resume(rooms, io)


async def read(io: IO, note_id: str, namespace: Namespace) -> Note | None:
    """A note with the links of both directions; for one that was merged, what it went into."""
    notes = list((await resolved(io, [note_id], namespace)).values())
    return (await with_links(io, notes))[0] if notes else None


async def require(io: IO, note_id: str, namespace: Namespace) -> Note:
    """The note itself, or NoteNotFoundError."""
    notes = await load(io, [note_id], namespace)
    if note_id not in notes:
        raise NoteNotFoundError(
            f"There is no note {note_id!r} in namespace {'/'.join(namespace)}; "
            "it may have been forgotten, or live in another namespace."
        )
    return notes[note_id]


async def update(
    rooms: Rooms,
    io: IO,
    note: NoteLike,
    namespace: NamespaceLike | None,
    content: str | None,
    metadata: Mapping[str, Any] | None,
) -> Note:
    held = await require(io, *address(note, namespace))
    updated, taken_back = await revise.update(
        io,
        held,
        rooms.analyst_name,
        content=held.content if content is None else content,
        metadata_json=None if metadata is None else metadata_text(metadata),
    )
    if updated.status is Status.RAW and rooms.formation == "inline":
        (updated,) = await form(rooms, io, [updated])
    elif rooms.formation == "background":
        rooms.wake()
    await form_again(rooms, io, taken_back.unformed, updated.namespace, rooms.formation)
    return await read(io, updated.id, updated.namespace) or updated


async def revert(
    rooms: Rooms,
    io: IO,
    note: NoteLike,
    namespace: NamespaceLike | None,
    to_version: int | None,
) -> Note:
    held = await require(io, *address(note, namespace))
    reverted, taken_back = await revise.revert(io, held, rooms.analyst_name, to_version=to_version)
    await form_again(rooms, io, taken_back.unformed, held.namespace, rooms.formation)
    return await read(io, reverted.id, reverted.namespace) or reverted


async def forget(
    rooms: Rooms, io: IO, note: NoteLike, namespace: NamespaceLike | None
) -> forgetting.Forgotten:
    note_id, home = address(note, namespace)
    forgotten = await forgetting.forget(io, note_id, home, rooms.analyst_name)
    await form_again(rooms, io, forgotten.unformed, home, rooms.formation)
    return forgotten


async def history(io: IO, note_id: str, namespace: Namespace) -> list[Revision]:
    return await revisions(io, await require(io, note_id, namespace))


async def listed(
    io: IO, namespace: Namespace, limit: int, where: Condition = EVERYTHING
) -> list[Note]:
    """The newest notes of a namespace, newest first, with their links."""
    check_counts(limit=limit)
    limit = min(limit, await io.engine.count(within(namespace, where)))
    if not limit:
        return []
    return await with_links(io, await recent(io, namespace, limit=limit, where=where))


async def counts(io: IO, namespace: NamespaceLike | None) -> dict[str, int]:
    """How many notes there are by status."""
    if namespace is None:
        where = match("kind", "note")
    else:
        where = match("ns", encode(as_namespace(namespace)))
    return await io.engine.facet("status", where, limit=len(Status))
