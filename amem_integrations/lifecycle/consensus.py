"""Consensus: notes that say the same as another, and so confirm it or support it.

A note of another occasion confirms the other; if it is of another source as well, it supports it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

from amem_integrations.core.engine import Point, Query
from amem_integrations.core.filters import match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import CONTRADICTS, CORRECTS, REPEATS, Link, Note, Status
from amem_integrations.formation.candidates import SHOWN, usual_cosines
from amem_integrations.lifecycle.confidence import source_of
from amem_integrations.lifecycle.feedback import Occasions, write_life
from amem_integrations.lifecycle.policy import Policy
from amem_integrations.lifecycle.tenure import came_up, said_at
from amem_integrations.stores.codec import within
from amem_integrations.stores.read import backlinks, every_note, load

_NEAREST = 16
_USUAL = 0.99
# An engine does not keep every digit.
_ROUNDING = 1e-4
_NUMBER = re.compile(r"\d+")
_OPPOSED = (CORRECTS, CONTRADICTS)


async def usual_nearness(io: IO, namespace: Namespace) -> float:
    """Return the cosine that 99 of 100 random pairs of notes do not reach; 0 for too few pairs."""
    cosines = await usual_cosines(io, namespace)
    return cosines[ceil(_USUAL * len(cosines)) - 1] if cosines else 0.0


def say_the_same(one: Note, other: Note) -> bool:
    """Return whether two notes that are near by meaning confirm each other.

    They must share a subject or a speaker, name the same numbers, and not contradict each other.
    A note that was recognised as a repetition always does.
    """
    kinds = {
        link.kind
        for link in (*one.outgoing, *other.outgoing)
        if {link.source, link.to} == {one.id, other.id}
    }
    if kinds.intersection(_OPPOSED) or one.valid_until != other.valid_until:
        return False
    if other.id in one.contested_by or one.id in other.contested_by:
        return False
    if REPEATS in kinds:
        return True
    by_one = one.speaker is not None and one.speaker == other.speaker
    return _numbers(one) == _numbers(other) and (by_one or bool(_subject(one) & _subject(other)))


def is_support(note: Note, other: Note) -> bool:
    """Return whether `other`, which says the same, is of another session and another source."""
    if note.session == other.session:
        return False
    return source_of(note) != source_of(other) or note.speaker != other.speaker


async def agree(
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
    first = await _alike(io, namespace, note_ids, usual, policy)
    others = sorted({note.id for alike in first.values() for note in alike[1]} - first.keys())
    everyone = {**first, **await _alike(io, namespace, others, usual, policy)}
    changed: set[str] = set()
    for note, alike in everyone.values():
        if not alike and not note.life.supports:
            continue
        life = occasions.life_of(note)
        for other in sorted(alike, key=said_at):
            if other.session != note.session or occasions.session is not None:
                life = came_up(life, occasions.first_of(other), said_at(other), policy)
        life = replace(life, supports=sum(is_support(note, other) for other in alike))
        if life not in (note.life, occasions.life_of(note)):
            await write_life(io, note, life)
            changed.add(note.id)
    return changed


async def _alike(
    io: IO, namespace: Namespace, note_ids: Sequence[str], usual: float, policy: Policy
) -> dict[str, tuple[Note, list[Note]]]:
    """Return each of the notes, and those that say the same."""
    points = await io.engine.get(note_ids, vectors=True) if note_ids else []
    near = await _near(io, namespace, points, max(usual, policy.same))
    wanted = {id for ids in near.values() for id in ids}.union(point.id for point in points)
    notes = await load(io, sorted(wanted), namespace)
    asked = [notes[point.id] for point in points if point.id in notes]
    repeats = await _repeats(io, namespace, asked)
    repeated = {id for ids in repeats.values() for id in ids}
    notes |= await load(io, sorted(repeated - notes.keys()), namespace)
    merged = await _merged(io, namespace, [point.id for point in points])
    found: dict[str, tuple[Note, list[Note]]] = {}
    for note in asked:
        ids = dict.fromkeys([*near.get(note.id, ()), *repeats[note.id]])
        others = [notes[id] for id in ids if id in notes]
        same = [other for other in others if other.status in SHOWN and say_the_same(note, other)]
        found[note.id] = note, [*same, *merged.get(note.id, ())]
    return found


async def _merged(
    io: IO, namespace: Namespace, note_ids: Sequence[str]
) -> Mapping[str, list[Note]]:
    """Return the notes that were merged into each: archived, they have said it all the same."""
    found: dict[str, list[Note]] = {}
    if note_ids:
        named = (match("status", Status.ARCHIVED), match("influences", *note_ids))
        for note in await every_note(io, within(namespace, *named)):
            if note.merged_into is not None:
                found.setdefault(note.merged_into, []).append(note)
    return found


async def _near(
    io: IO, namespace: Namespace, points: Sequence[Point], least: float
) -> Mapping[str, list[str]]:
    where = within(namespace, match("status", *SHOWN))
    asked = [point for point in points if point.dense]
    queries = [Query(list(point.dense[0]), where, _NEAREST + 1) for point in asked]
    lists = await io.engine.query(queries) if queries else []
    return {
        point.id: [hit.id for hit in hits if hit.id != point.id and hit.score >= least - _ROUNDING]
        for point, hits in zip(asked, lists, strict=True)
    }


async def _repeats(io: IO, namespace: Namespace, notes: Sequence[Note]) -> dict[str, list[str]]:
    """Return what each of the notes repeats, and by what it is repeated, as their links say."""
    incoming: Mapping[str, Sequence[Link]] = {}
    if notes:
        incoming = await backlinks(io, namespace, [note.id for note in notes])
    return {
        note.id: [
            link.other(note.id)
            for link in (*note.outgoing, *incoming.get(note.id, ()))
            if link.kind == REPEATS
        ]
        for note in notes
    }


def _numbers(note: Note) -> list[str]:
    return sorted(_NUMBER.findall(note.content))


def _subject(note: Note) -> set[str]:
    """What a note is about; one that nobody understood yet, all that it says."""
    terms = {term.casefold() for term in (*note.keywords, *note.tags)}
    return terms or {note.content.casefold()}
