"""Support: which notes say the same as another, and so confirm it or support it.

A note of another occasion confirms the other (`tenure.came_up`). If it is of another session and an
independent source as well, that supports it, which `confidence` counts. What contradicts a note is
in `revisions.contradiction`. Ours, not the paper's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

from amem_integrations.analysts.statements import compare_notes
from amem_integrations.core.engine import Point, Query
from amem_integrations.core.filters import match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import OPPOSING, REPEATS, Note, Status
from amem_integrations.core.status import AT_HAND
from amem_integrations.formation.candidates import usual_cosines
from amem_integrations.lifecycle.confidence import source_of, voice_of
from amem_integrations.lifecycle.feedback import Occasions, write_life
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tenure import came_up, said_at
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import backlinks, load, load_all_notes

_NEAREST = 16
_USUAL = 0.99
# An engine does not keep every digit.
_ROUNDING = 1e-4


def say_the_same(note: Note, other: Note) -> bool:
    """Return whether two notes that are near by meaning say the same.

    All that one says of substance the other says, or one was recognised as a repetition. What
    contradicts a note never says the same, nor does what an older state of things says.
    """
    between = [
        (link.kind, holder.source)
        for holder, to in ((note, other), (other, note))
        for link in holder.outgoing
        if link.to == to.id
    ]
    if any(kind in OPPOSING for kind, _ in between) or note.valid_until != other.valid_until:
        return False
    if other.id in note.contested_by or note.id in other.contested_by:
        return False
    older, newer = sorted((note, other), key=said_at)
    found = compare_notes(older, newer).kind
    # An import may have brought the link, and claim anything.
    repeats = any(kind == REPEATS and source != "import" for kind, source in between)
    return found == "same" or (repeats and found != "contradicts")


def is_echo(other: Note, note: Note, policy: Policy) -> bool:
    """Return whether `other` may say the same only because it has read `note` or its like.

    An assistant says what was recalled into its prompt, and a tool what it was asked with.
    """
    source = source_of(other, policy)
    return source == "assistant" or (source == "tool" and source_of(note, policy) == "user")


def count_supports(note: Note, same: Sequence[Note], policy: Policy) -> int:
    """Return how many independent sources say the same as `note` in another session.

    Each user is one, and each other kind of source, however many names it goes by. Echoes are none.
    """
    voices = {
        voice_of(other, policy)
        for other in same
        if other.session != note.session and not is_echo(other, note, policy)
    }
    return len(voices - {voice_of(note, policy)})


# -- counting --------------------------------------------------------------------------------


async def usual_nearness(io: IO, namespace: Namespace) -> float:
    """Return the cosine that 99 of 100 random pairs of notes do not reach; 0 for too few pairs."""
    cosines = await usual_cosines(io, namespace)
    return cosines[ceil(_USUAL * len(cosines)) - 1] if cosines else 0.0


async def update_support(
    io: IO,
    namespace: Namespace,
    note_ids: Sequence[str],
    usual: float,
    occasions: Occasions,
    policy: Policy,
) -> set[str]:
    """Update the confirmations and supports of these notes and of those that say the same.

    Returns the ids of the changed ones. Safe to repeat: all is computed anew from what is stored.
    """
    first = await _find_same(io, namespace, note_ids, usual, policy)
    others = sorted({note.id for _, same in first.values() for note in same} - first.keys())
    everyone = {**first, **await _find_same(io, namespace, others, usual, policy)}
    changed: set[str] = set()
    for note, same in everyone.values():
        if not same and not note.life.supports:
            continue
        life = occasions.life_of(note)
        for other in sorted(same, key=said_at):
            if is_echo(other, note, policy):
                continue
            if other.session != note.session or occasions.session is not None:
                life = came_up(life, occasions.first_of(other), said_at(other), policy)
        life = replace(life, supports=count_supports(note, same, policy))
        if life not in (note.life, occasions.life_of(note)):
            await write_life(io, note, life)
            changed.add(note.id)
    return changed


async def _find_same(
    io: IO, namespace: Namespace, note_ids: Sequence[str], usual: float, policy: Policy
) -> dict[str, tuple[Note, list[Note]]]:
    """Return each of the notes, and those that say the same.

    These are near by meaning, repeat it, are repeated by it, or were merged into it.
    """
    if not note_ids:
        return {}
    points = await io.engine.get(note_ids, vectors=True)
    near = await _near(io, namespace, points, max(usual, policy.merge_similarity))
    asked = await load(io, [point.id for point in points], namespace)
    incoming = await backlinks(io, namespace, list(asked))
    wanted = {
        note.id: [
            *near.get(note.id, ()),
            *(
                link.other(note.id)
                for link in (*note.outgoing, *incoming.get(note.id, ()))
                if link.kind == REPEATS
            ),
        ]
        for note in asked.values()
    }
    others = await load(io, sorted({id for ids in wanted.values() for id in ids}), namespace)
    found = {
        note.id: (
            note,
            [
                others[id]
                for id in dict.fromkeys(wanted[note.id])
                if id in others and others[id].status in AT_HAND and say_the_same(note, others[id])
            ],
        )
        for note in asked.values()
    }
    # Merged notes are archived; they said it all the same.
    merged = (match("status", Status.ARCHIVED), match("influences", *asked))
    for note in await load_all_notes(io, within(namespace, *merged)) if asked else ():
        if note.merged_into in found and note.source != "import":
            found[note.merged_into][1].append(note)
    return found


async def _near(
    io: IO, namespace: Namespace, points: Sequence[Point], least: float
) -> Mapping[str, list[str]]:
    where = within(namespace, match("status", *AT_HAND))
    asked = [point for point in points if point.dense]
    queries = [Query(list(point.dense[0]), where, _NEAREST + 1) for point in asked]
    lists = await io.engine.query(queries) if queries else []
    return {
        point.id: [hit.id for hit in hits if hit.id != point.id and hit.score >= least - _ROUNDING]
        for point, hits in zip(asked, lists, strict=True)
    }
