"""What a memory must be after any fault, found by scanning all that is stored."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from amem_integrations import AgenticMemory, Note, Status
from amem_integrations.core.filters import match
from amem_integrations.core.io import run
from amem_integrations.stores.codec import note_from, revision_from
from amem_integrations.stores.read import load_points, with_links
from tests.support import io_of


def stored_text(memory: AgenticMemory) -> str:
    """Everything that is stored of notes, revisions and usage, ids included."""
    points = run(load_points(io_of(memory)))
    return "\n".join(json.dumps([each.id, each.payload], ensure_ascii=False) for each in points)


def wrongs(memory: AgenticMemory) -> list[str]:
    """Every broken invariant, in words; empty when all is well. Nothing may be at work."""
    points = run(load_points(io_of(memory), match("kind", "note")))
    leased = [each for each in points if each.payload.get("leased_by")]
    notes = [note_from(point) for point in points]
    said = Counter((note.namespace, note.content) for note in notes)
    return [
        *(f"{each.what}: {each.note_id} {each.detail}" for each in memory.admin.check()),
        *(f"stored twice: {content}" for (_, content), times in said.items() if times > 1),
        *(f"leased: {each.id}" for each in leased if each.payload["status"] == Status.FORMED),
        *(f"one-way link: {ends}" for ends in _one_way_links(memory, notes)),
        *_half_commits(memory, notes),
    ]


def _one_way_links(memory: AgenticMemory, notes: Sequence[Note]) -> Iterator[tuple[str, str]]:
    """Links that only one of their ends shows."""
    for namespace in {note.namespace for note in notes}:
        own = [note for note in notes if note.namespace == namespace]
        linked = run(with_links(io_of(memory), own))
        there = {(link.source, link.to) for note in linked for link in note.outgoing}
        back = {(link.source, link.to) for note in linked for link in note.links} - there
        back |= {(each.source, each.to) for n in linked for each in n.links if each.to == n.id}
        yield from there ^ back


def _half_commits(memory: AgenticMemory, notes: Sequence[Note]) -> Iterator[str]:
    """Notes that another changed which is gone or unformed, and what was committed twice."""
    by_id = {note.id: note for note in notes}
    done = Counter((n.id, n.revision.kind, n.revision.cause) for n in notes if n.revision)
    current = {(note.id, note.revision.version) for note in notes if note.revision}
    for point in run(load_points(io_of(memory), match("kind", "revision"))):
        each = revision_from(point.payload["revision"])
        # Redone on a server, a commit may have left its neighbours' records twice over.
        if (point.payload["of"], each.version) not in current:
            done[point.payload["of"], each.kind, each.cause] += 1
    for (owner, kind, cause), times in done.items():
        if kind not in ("formed", "evolved"):
            continue
        if cause not in by_id or by_id[cause].status is not Status.FORMED:
            yield f"half a commit: {owner} {kind} by {cause}"
        if times > 1:
            yield f"committed twice: {owner} {kind} by {cause}"
