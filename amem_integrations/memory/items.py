"""Items: notes as a key-value store has them, each a JSON value under a key of a namespace.

What such a store writes, as operations over io; the adapters to other frameworks' stores call
them. What they read with is `recall.paging` and `store.reading`.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from amem_integrations.core.io import IO, Vector
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status, note_id
from amem_integrations.errors import InvalidInputError
from amem_integrations.memory.pipeline import Formation, Wiring, have_formed
from amem_integrations.revisions import forget as forgetting
from amem_integrations.revisions.archive import restore
from amem_integrations.revisions.forget import forget
from amem_integrations.revisions.update import overwrite
from amem_integrations.stores.passages import passages
from amem_integrations.stores.read import notes_by_id
from amem_integrations.stores.write import (
    embedded_points,
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
    """The note that holds a value.

    texts: what to find it by, each by itself; without any, no query finds it, and there is
    nothing to understand. Raises InvalidInputError.
    """
    wanted = dict.fromkeys(text for text in texts if text.strip())
    return Note(
        id=address_id((namespace, key)),
        namespace=namespace,
        key=key,
        content="\n".join(wanted),
        parts=tuple(map(len, wanted)),
        created_at=now,
        updated_at=now,
        value_json=value_json,
        ttl=ttl,
        expires_at=None if ttl is None else now + ttl,
        status=Status.RAW if wanted else Status.FORMED,
    )


def address_id(address: Address) -> str:
    """The id of the note under a key, which may be any text of at most MAX_KEY_BYTES."""
    namespace, key = address
    try:
        size = len(key.encode())
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"The key {key!r} is not valid Unicode.") from error
    if size > MAX_KEY_BYTES:
        raise InvalidInputError(f"A key has at most {MAX_KEY_BYTES} bytes; this one has {size}.")
    return note_id(namespace, key)


def value_of(note: Note) -> dict[str, object]:
    """What a store shows of a note: the value put there, else its content as one."""
    return {"content": note.content} if note.value_json is None else note.value


async def write(
    wiring: Wiring,
    io: IO,
    puts: Sequence[Note],
    deleted: Mapping[str, Namespace],
    formation: Formation,
) -> None:
    """Keep items and delete others (ids, with their namespaces); then form what has new text.

    Everything is embedded before the first is written. An item is durable, and found by all
    of its texts, before any of them is formed.
    """
    vectors = await _vectors(io, puts)
    unformed: dict[Namespace, list[str]] = {}
    for id, namespace in deleted.items():
        forgotten = await forget(io, id, namespace, wiring.analyst_name)
        wiring.recalls.drop(namespace)
        unformed.setdefault(namespace, []).extend(forgotten.unformed)
    raw: list[Note] = []
    for start in range(0, len(puts), _CHUNK):
        chunk = puts[start : start + _CHUNK]
        held = await notes_by_id(io, (note.id for note in chunk))
        new = [note for note in chunk if note.id not in held]
        taken = await io.engine.insert(await embedded_points(io, new, known=vectors))
        for note in chunk:
            if note.id in held or note.id in taken:
                note, taken_back = await overwrite(
                    io, note, held.get(note.id), wiring.analyst_name, known=vectors
                )
                unformed.setdefault(note.namespace, []).extend(taken_back.unformed)
            note = await restore(io, note)
            if note.status is Status.RAW:
                raw.append(note)
    await have_formed(wiring, io, formation, raw, unformed=unformed)


async def sweep(wiring: Wiring, io: IO, formation: Formation) -> int:
    """Forget whatever is past its time; returns how many that were."""
    swept = await forgetting.sweep(io, wiring.analyst_name)
    for namespace in swept.unformed:
        wiring.recalls.drop(namespace)
    await have_formed(wiring, io, formation, unformed=swept.unformed)
    return swept.notes


async def _vectors(io: IO, notes: Sequence[Note]) -> Mapping[str, Vector]:
    """The vectors of all texts of the notes, taken from what is stored where that has them."""
    ids = [note.id for note in notes]
    stored: dict[str, Vector] = {}
    for start in range(0, len(ids), _CHUNK):
        points = await io.engine.get(ids[start : start + _CHUNK], vectors=True)
        stored.update(vectors_by_text(points))
    return await vectors_of(io, (text for note in notes for text in passages(note)), stored)
