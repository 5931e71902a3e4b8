"""Merging a note into an older one that says the same.

The older one stays and gains what was understood of the other: terms, links, occasions. The
other is archived and leads to it. Both are revisions (the first only where something is
gained); reverting the one, and restoring the other, undoes it. What happened to the notes
(`Life`) is counted on, and is not undone.
"""

from collections.abc import Iterable
from dataclasses import replace

from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import (
    CONTRADICTS,
    CORRECTS,
    DISTILS,
    MAX_KEYWORDS,
    MAX_TAGS,
    REPEATS,
    Link,
    Note,
    Status,
    clean_terms,
)
from amem_integrations.core.status import Life
from amem_integrations.formation.validate import MAX_LINKS
from amem_integrations.lifecycle.consensus import is_support
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tiers import came_up, most_conflicts, occasion, seeded
from amem_integrations.revisions.change import change_notes, revised
from amem_integrations.stores.read import load, with_links

# These say something of the very note that made them or that they lead to.
_OWN = frozenset((REPEATS, CORRECTS, CONTRADICTS, DISTILS))


async def merge(
    io: IO, older: Note, newer: Note, why: str, analyst: str, policy: Policy
) -> Note | None:
    """Merge `newer` into `older`, which is returned; None if one was changed, and nothing done.

    Both with the links of both directions. What refers to the older one finds what it found
    before; what refers to the newer one is led on to the older.
    """
    now = io.now()
    wanted = inherited(older, newer)
    present = await load(io, [link.to for link in wanted], older.namespace)
    links = [link for link in wanted if _at_hand(present.get(link.to))]
    before = replace(older, links=older.outgoing)
    after = replace(
        before,
        keywords=clean_terms((*older.keywords, *newer.keywords), MAX_KEYWORDS),
        tags=clean_terms((*older.tags, *newer.tags), MAX_TAGS),
        links=(*older.outgoing, *links),
    )
    if after != before:
        after = revised(before, after, "merged", newer.id, now, analyst, reason=why)
    after = replace(after, life=together(older, newer, policy))
    aside = newer.evolve(status=Status.ARCHIVED, merged_into=older.id, links=newer.outgoing)
    aside = revised(newer, aside, "merged", older.id, now, analyst, reason=why)
    return after if await change_notes(io, [(before, after), (newer, aside)]) else None


def inherited(older: Note, newer: Note) -> list[Link]:
    """The links by which the older note is to reach what the newer one was linked with.

    Made by the older one itself, whoever made them before; the strongest, up to MAX_LINKS. The
    others keep theirs to the newer one, so that it has them when it is restored.
    """
    known = {older.id, newer.id, *(link.other(older.id) for link in older.links)}
    found: dict[str, Link] = {}
    for link in sorted(newer.links, key=lambda each: (-each.weight, each.other(newer.id))):
        other = link.other(newer.id)
        if other not in known and link.kind not in _OWN and len(found) < MAX_LINKS:
            found.setdefault(other, replace(link, source=older.id, to=other))
    return list(found.values())


def together(older: Note, newer: Note, policy: Policy) -> Life:
    """What happened to two notes that say the same, as of one.

    The newer one is a repetition: on an occasion of its own it confirms the older one.
    """
    one, other = seeded(older), newer.life
    said = newer.occurred_at or newer.created_at
    label = occasion(newer.session, said)
    life = came_up(one, label, said, policy)
    for each in other.occasions:
        life = came_up(life, each, other.confirmed_at or said, policy)
    return replace(
        life,
        clean=one.clean + other.clean,
        conflicting=one.conflicting + other.conflicting,
        conflicts=tuple(sorted({*one.conflicts, *other.conflicts})[-most_conflicts(policy) :]),
        used_at=max(filter(None, (one.used_at, other.used_at)), default=None),
        supports=one.supports + other.supports + is_support(older, newer),
    )


async def linked(io: IO, ids: Iterable[str], namespace: Namespace) -> dict[str, Note]:
    """The notes as they are now, with the links of both directions."""
    held = await load(io, ids, namespace)
    return {note.id: note for note in await with_links(io, list(held.values()))}


def _at_hand(note: Note | None) -> bool:
    return note is not None and note.status not in (Status.ARCHIVED, Status.QUARANTINED)
