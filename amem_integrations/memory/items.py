"""Items: notes as a key-value store has them, each a JSON value under a key of a namespace.

The adapters to frameworks write them here, and read with `recall.search`.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from amem_integrations.core.engine import Vector
from amem_integrations.core.hit import Hit
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import MAX_PARTS, Note, Status, note_id
from amem_integrations.errors import InvalidInputError
from amem_integrations.formation.pipeline import Formation, have_formed
from amem_integrations.memory.options import Options
from amem_integrations.memory.wiring import Wiring
from amem_integrations.revisions import forget as forgetting
from amem_integrations.revisions.archive import restore
from amem_integrations.revisions.forget import forget, make_way
from amem_integrations.revisions.update import overwrite
from amem_integrations.stores.read import notes_by_id
from amem_integrations.stores.write import (
    embedded_points,
    embedded_texts,
    vectors_by_text,
    vectors_of,
)

Address: TypeAlias = tuple[Namespace, str]

MAX_KEY_BYTES = 4096
LONGEST_TTL = timedelta(days=365 * 100)
_CHUNK = 64


def item_note(
    namespace: Namespace,
    key: str,
    value_json: str,
    texts: Iterable[str],
    *,
    now: datetime,
    ttl: timedelta | None = None,
) -> Note:
    """Return the note that holds a value; raises InvalidInputError for an unusable key.

    texts: each is embedded by itself; those after the first MAX_PARTS are joined to the last of
        these. Without any, no query finds the note and nothing is formed.
    """
    indexed = list(dict.fromkeys(text for text in texts if text.strip()))
    indexed[MAX_PARTS - 1 :] = ["\n".join(indexed[MAX_PARTS - 1 :])] * (len(indexed) >= MAX_PARTS)
    return Note(
        id=address_id((namespace, key)),
        namespace=namespace,
        key=key,
        content="\n".join(indexed),
        parts=tuple(map(len, indexed)),
        created_at=now,
        updated_at=now,
        value_json=value_json,
        ttl=ttl,
        expires_at=None if ttl is None else now + ttl,
        status=Status.RAW if indexed else Status.FORMED,
    )


def address_id(address: Address) -> str:
    """Return the id of the note under a key, which may be any text up to MAX_KEY_BYTES."""
    namespace, key = address
    try:
        size = len(key.encode())
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"The key {key!r} is not valid Unicode.") from error
    if size > MAX_KEY_BYTES:
        raise InvalidInputError(f"A key has at most {MAX_KEY_BYTES} bytes; this one has {size}.")
    return note_id(namespace, key)


def value_of(note: Note) -> dict[str, object]:
    """Return the value of a note; for one without a value, its content as one."""
    return {"content": note.content} if note.value_json is None else note.value


def least_relevance(options: Options, given: float | None) -> float:
    """Return the `min_relevance` of a retriever: its own, the memory's, or 0, which drops nothing.

    With any of them relevance is measured, which a framework's score is.
    """
    least = options.recall_options.min_relevance if given is None else given
    return 0.0 if least is None else least


def hit_metadata(hit: Hit) -> dict[str, object]:
    """Return what a document or node of a framework tells of a hit beside its text, JSON-native."""
    note = hit.note
    return {
        "why": dict(hit.why),
        "relevance": hit.relevance,
        "keywords": list(note.keywords),
        "tags": list(note.tags),
        "context": note.context,
        "questions": list(note.questions),
        "links": [
            {"to": link.other(note.id), "kind": link.kind, "reason": link.reason}
            for link in note.links
        ],
        "speaker": note.speaker,
        "session": note.session,
        "created_at": note.created_at.isoformat(),
        "metadata": note.metadata,
    }


async def write(
    wiring: Wiring,
    io: IO,
    puts: Sequence[Note],
    deleted: Mapping[str, Namespace],
    formation: Formation,
) -> None:
    """Write items, delete others (ids with their namespaces), then form what has new text.

    All texts are embedded before the first write. An item is durable, and found by all of its
    texts, before any of them is formed.
    """
    vectors = await _vectors(io, puts)
    unformed: dict[Namespace, list[str]] = {}
    for id, namespace in deleted.items():
        forgotten = await forget(io, id, namespace, wiring.analyst_name)
        unformed.setdefault(namespace, []).extend(forgotten.unformed)
    written: list[Note] = []
    for chunk in _chunks(puts):
        stored = await notes_by_id(io, (note.id for note in chunk))
        new = [note for note in chunk if note.id not in stored]
        points = await embedded_points(io, new, known=vectors)
        taken = await io.engine.insert(points)
        taken, again = await make_way(io, points, taken, wiring.analyst_name)
        for namespace, ids in again.items():
            unformed.setdefault(namespace, []).extend(ids)
        for note in chunk:
            if note.id in stored or note.id in taken:
                note, taken_back = await overwrite(
                    io, note, stored.get(note.id), wiring.analyst_name, known=vectors
                )
                unformed.setdefault(note.namespace, []).extend(taken_back.unformed)
            written.append(await restore(io, note))
    await have_formed(wiring, io, formation, written, unformed=unformed)


async def sweep(wiring: Wiring, io: IO, formation: Formation) -> int:
    """Forget every expired note; returns how many."""
    swept = await forgetting.sweep(io, wiring.analyst_name)
    await have_formed(wiring, io, formation, unformed=swept.unformed)
    return swept.notes


async def _vectors(io: IO, notes: Sequence[Note]) -> Mapping[str, Vector]:
    """Return the vectors of all texts of the notes, reusing those that are stored."""
    stored: dict[str, Vector] = {}
    for chunk in _chunks(notes):
        points = await io.engine.get([note.id for note in chunk], vectors=True)
        stored.update(vectors_by_text(points))
    return await vectors_of(io, (text for note in notes for text in embedded_texts(note)), stored)


def _chunks(notes: Sequence[Note]) -> list[Sequence[Note]]:
    return [notes[start : start + _CHUNK] for start in range(0, len(notes), _CHUNK)]
