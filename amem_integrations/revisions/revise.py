"""Revisions: every change of a note says what changed, when, and which note caused it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from amem_integrations.core.io import Point
from amem_integrations.core.note import Change, Note, Revision
from amem_integrations.stores.codec import link_json, revision_point


def revised(
    before: Note,
    after: Note,
    kind: str,
    cause: str,
    now: datetime,
    analyst: str,
    sources: tuple[str, ...] = (),
    reason: str = "",
) -> Note:
    """`after` as the next version of `before`, carrying the revision that says what changed."""
    version = before.version + 1
    revision = Revision(
        version=version,
        kind=kind,
        cause=cause,
        at=now,
        analyst=analyst,
        changes=changes_between(before, after),
        sources=sources,
        reason=reason,
    )
    return replace(after, version=version, revision=revision)


def changes_between(before: Note, after: Note) -> dict[str, Change]:
    """What differs in texts, own links, status and standing, as JSON-native values."""
    standing = after.standing
    values = (
        ("content", before.content, after.content),
        ("keywords", list(before.keywords), list(after.keywords)),
        ("tags", list(before.tags), list(after.tags)),
        ("context", before.context, after.context),
        ("links", _links_json(before), _links_json(after)),
        ("status", str(before.status), str(after.status)),
        *((name, old, standing[name]) for name, old in before.standing.items()),
    )
    return {name: Change(old, new) for name, old, new in values if old != new}


def _links_json(note: Note) -> list[dict[str, Any]]:
    return [link_json(link) for link in note.outgoing]


def archived(notes: Sequence[Note]) -> list[Point]:
    """The current revision of each note as a record of its own.

    For the commit that gives the note a newer one. Written apart from it, a record could
    bring back what was taken out of the note in the meantime.
    """
    return [revision_point(note, note.revision) for note in notes if note.revision is not None]
