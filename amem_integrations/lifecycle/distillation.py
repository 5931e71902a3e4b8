"""Distillation: a new note that says in short what a cluster of notes says, written by a model.

The members stay as they are, and the new note links to each of them; forgetting or changing one of
them removes it. Ours, not the paper's.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence

from amem_integrations.core.analysis import Distilled
from amem_integrations.core.engine import Query, Vector
from amem_integrations.core.filters import Condition, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import DISTILS, Link, Note, Status, make_note, note_id
from amem_integrations.formation.state import Settings
from amem_integrations.formation.steps import metered
from amem_integrations.formation.validate import understood
from amem_integrations.lifecycle.tenure import said_at
from amem_integrations.revisions.change import revised
from amem_integrations.revisions.retract import retract
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import load
from amem_integrations.stores.usage import save_usage
from amem_integrations.stores.write import embedded_points

KEY = "distilled:"
# How near to its first note the others of a cluster are, and how many there are in all.
NEAR, LEAST, MOST = 0.6, 4, 12
AT_ONCE = 8
_PAGE = 32
_CHANGED = "one of them was changed meanwhile"
_KEYS = uuid.UUID("2f7c2a52-6a0c-5d0e-8f4b-616d656d0002")


async def find_clusters(
    io: IO, settings: Settings, namespace: Namespace, notes: Sequence[Note]
) -> list[list[Note]]:
    """Return groups of notes about one matter to distil, the largest first, at most AT_ONCE.

    Each note is in one group at most; the groups of earlier notes are filled first.
    notes: all of the namespace, with the links of both directions.
    """
    # An analyst that does not write from what it reads has nothing to distil with.
    if not settings.analyst.reads_candidates:
        return []
    free = {note.id: note for note in sorted(notes, key=_order) if _may_be_member(note)}
    known = {note.id for note in notes}
    where = within(namespace, match("status", Status.FORMED))
    found: list[list[Note]] = []
    ids = list(free)
    for start in range(0, len(ids), _PAGE):
        near = await _nearest(io, ids[start : start + _PAGE], where)
        for seed, others in near.items():
            if seed in free:
                group = [free[seed], *(free[id] for id in others if id in free and id != seed)]
                if len(group) >= LEAST:
                    found.append(sorted(group[:MOST], key=_order))
                    for note in group[:MOST]:
                        del free[note.id]
    largest = sorted(found, key=lambda group: -len(group))[:AT_ONCE]
    return [group for group in largest if note_id(namespace, key_of(group)) not in known]


def _may_be_member(note: Note) -> bool:
    if note.status is not Status.FORMED or note.parts is not None:
        return False
    if note.contested_by or note.valid_until is not None:
        return False
    return not any(link.kind == DISTILS for link in note.links)


async def _nearest(io: IO, ids: Sequence[str], where: Condition) -> Mapping[str, list[str]]:
    vectors: dict[str, Vector] = {
        point.id: point.dense[0] for point in await io.engine.get(ids, vectors=True) if point.dense
    }
    lists = await io.engine.query([Query(vector, where, 2 * MOST) for vector in vectors.values()])
    return {
        id: [hit.id for hit in near if hit.score >= NEAR]
        for id, near in zip(vectors, lists, strict=True)
    }


def key_of(members: Iterable[Note]) -> str:
    """Return the key of the note that distils these members."""
    named = "\n".join(sorted(note.key for note in members))
    return KEY + uuid.uuid5(_KEYS, named).hex


async def distil(
    io: IO, settings: Settings, members: Sequence[Note], why: str
) -> tuple[Note | None, str]:
    """Return the note that now distils the members, or None and why there is none.

    Raises AnalysisError if the model fails.
    """
    home = members[0].namespace
    account = settings.ledger.account(home, settings.mode)
    answer = await settings.analyst.distil(metered(io, account), members)
    await save_usage(io, settings.ledger)
    if answer is None:
        return None, "the model found nothing that they have in common"
    note = _distilled_note(io, members, answer, settings.analyst_name, why)
    (point,) = await embedded_points(io, [note])
    left_out = await io.engine.commit(
        [],
        expect={member.id: {"content": member.content} for member in members},
        new=[point],
    )
    if left_out:
        return None, _CHANGED
    stored = await load(io, (member.id for member in members), home)
    for member in members:
        # On a server, one can be forgotten between the check and the write.
        if member.id not in stored or stored[member.id].content != member.content:
            await retract(io, member.id, home, settings.analyst_name)
            return None, _CHANGED
    return note, ""


def _distilled_note(
    io: IO, members: Sequence[Note], answer: Distilled, analyst: str, why: str
) -> Note:
    """A formed note; undoing its one revision sets it aside."""
    times = [note.local_time for note in members if note.occurred_at is not None]
    now = io.now()
    raw = make_note(
        answer.text,
        namespace=members[0].namespace,
        now=now,
        key=key_of(members),
        occurred_at=max(times) if len(times) == len(members) else None,
        source="assistant",
    )
    note = understood(raw, answer.understanding).evolve(
        status=Status.FORMED,
        # What it says is no better founded than what it rests on.
        trust=min(note.trust for note in members),
        links=tuple(
            Link(raw.id, member.id, "what it says in short", now, DISTILS) for member in members
        ),
    )
    aside = note.evolve(status=Status.ARCHIVED)
    sources = tuple(member.id for member in members)
    return revised(aside, note, "distilled", note.id, now, analyst, sources, why)


def _order(note: Note) -> tuple[float, str]:
    return said_at(note).timestamp(), note.id
