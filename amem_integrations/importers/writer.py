"""Items become notes: turns of a conversation one by one, other notes as the lines of an export.

Both can be repeated: what is there already stays as it is, unless the file is to win.
"""

import json
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from amem_integrations.admin.lines import end_line, header_line
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import REFERS, Note, Status, as_utc, make_note
from amem_integrations.formation.segments import earlier_notes
from amem_integrations.importers.items import Item
from amem_integrations.memory.operations import contest_linked
from amem_integrations.memory.turns import Remember, form_note, remember_turns
from amem_integrations.memory.wiring import Wiring


async def store_turn(
    wiring: Wiring,
    io: IO,
    item: Item,
    sequence: int,
    namespace: Namespace,
    *,
    trust: bool,
    replace: bool,
    remember: Remember,
) -> tuple[list[Note], bool]:
    """Store a turn; returns its notes, and whether they were there already.

    trust: believe that it is a user's word; otherwise it counts as imported. An assistant's
    word stays one, which is trusted no more. replace: let it win over what is there under its key.
    """
    fields = {
        "content": item.content,
        "key": item.key,
        "speaker": item.speaker,
        "session": item.session,
        "sequence": sequence,
        "occurred_at": item.occurred_at,
        "source": item.source if trust or item.source == "assistant" else "import",
        "metadata": item.metadata or None,
    }
    turn = make_note(**fields, namespace=namespace, now=io.now())  # pyright: ignore[reportArgumentType]
    stored = await earlier_notes(io, turn)
    if stored and not replace:
        kept: list[Note] = []
        for note in stored:
            # It may be what a process was at when it died.
            await contest_linked(wiring, io, note)
            raw = note.status is Status.RAW
            kept.append(await form_note(wiring, io, note.id, namespace) if raw else note)
        return kept, True
    return await remember_turns(wiring, io, [fields], namespace, remember=remember), bool(stored)


def export_lines(items: Iterable[Item], namespace: Namespace, package: str) -> Iterator[str]:
    """The items as the lines of an export, which `memory.admin.import_` reads."""
    yield header_line(namespace, package)
    count = 0
    for item in items:
        yield _line(item)
        count += 1
    yield end_line(count)


def _line(item: Item) -> str:
    occurred, offset = item.occurred_at, None
    if occurred is not None:
        occurred, offset = as_utc(occurred), occurred.utcoffset()
    # The same however often it comes, so that a link can be added once its target is there; and no
    # two are the same, since a note is linked to older ones.
    made = as_utc(occurred or item.changed_at or datetime.now(UTC))
    created = made.replace(microsecond=zlib.crc32(item.key.encode()) % 1_000_000).isoformat()
    links = [
        {"to": to, "reason": f"[[{name}]]", "created_at": created, "kind": REFERS}
        for to, name in item.links.items()
    ]
    given = {
        "key": item.key,
        "content": item.content,
        "created_at": created,
        "updated_at": created,
        "speaker": item.speaker,
        "session": item.session,
        "occurred_at": None if occurred is None else occurred.isoformat(),
        "utc_offset": None if not offset else round(offset.total_seconds() / 60),
        "source": item.source,
        "metadata": item.metadata or None,
        "links": links or None,
    }
    return json.dumps({name: value for name, value in given.items() if value is not None})
