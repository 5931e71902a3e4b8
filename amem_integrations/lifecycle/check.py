"""A full scan for what must never be there; a healthy memory has no findings."""

from dataclasses import dataclass

from amem_integrations.conditions import match
from amem_integrations.namespace import Namespace
from amem_integrations.note import Status, note_id
from amem_integrations.ports import IO
from amem_integrations.store.reading import every_note, every_point


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a note: `what` is a short stable word."""

    note_id: str
    what: str
    detail: str = ""


async def check(io: IO) -> list[Finding]:
    """Links and revisions that lead nowhere or into another namespace, and broken notes."""
    notes = {note.id: note for note in await every_note(io)}
    homes: dict[str, Namespace] = {note.id: note.namespace for note in notes.values()}
    findings: list[Finding] = []
    for note in notes.values():
        if note.id != note_id(note.namespace, note.key):
            findings.append(Finding(note.id, "id", "does not follow from namespace and key"))
        if note.status is Status.FORMED and note.content and not (note.keywords or note.context):
            findings.append(Finding(note.id, "empty", "formed, yet nothing was understood"))
        for link in note.outgoing:
            if link.to not in homes:
                findings.append(Finding(note.id, "dangling-link", link.to))
            elif homes[link.to] != note.namespace:
                findings.append(Finding(note.id, "foreign-link", link.to))
        if note.revision is not None and note.revision.version > note.version:
            findings.append(Finding(note.id, "version", "behind its own revision"))
    for point in await every_point(io, match("kind", "revision")):
        if point.payload["of"] not in homes:
            findings.append(Finding(point.payload["of"], "orphaned-revision", point.id))
    return findings
