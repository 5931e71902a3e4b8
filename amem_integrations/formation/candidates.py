"""Candidates: the older notes that a new one is compared with (paper §3.2, the top-k neighbours).

The nearest by meaning come first. Notes that share its words fill up the list, so that a
language the embedder does not know still finds its neighbours.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from amem_integrations.core.engine import Point, Query, Vector
from amem_integrations.core.filters import Condition, Not, Range, both, ids, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status
from amem_integrations.formation.state import (
    CandidateRef,
    FormationState,
    RunContext,
    Settings,
    namespace_of,
    open_ids,
    read_ref,
    understanding_from,
)
from amem_integrations.stores.codec import micros, within
from amem_integrations.stores.passages import passages, sparse_text, understanding

SHOWN = (Status.RAW, Status.PLAIN, Status.FORMED, Status.PARKED)
ENOUGH = 100
"""How many random pairs tell which similarity is usual."""
_LINKABLE = match("status", Status.RAW, Status.FORMED, Status.PARKED)
_SAMPLE = 48
_SMALL_SAMPLE = 24


async def find_candidates(
    io: IO, settings: Settings, state: FormationState, context: RunContext
) -> dict[str, Any]:
    """Find the candidates of every open note."""
    notes = await context.load(io, open_ids(state), namespace_of(state))
    understood = state.get("understanding", {})
    subjects = [
        as_understood(note, understood[note.id]) if note.id in understood else note
        for note in notes.values()
    ]
    vectors = await _vectors(io, subjects, context)
    found = await io.gather(
        *(_neighbours(io, settings, note, vectors[note.id], context) for note in subjects)
    )
    return {"candidates": dict(zip((note.id for note in subjects), found, strict=True))}


def as_understood(note: Note, data: Mapping[str, Any]) -> Note:
    """The note with what the state has as its understanding."""
    found = understanding_from(data)
    return replace(note, keywords=found.keywords, tags=found.tags, context=found.context)


async def _vectors(io: IO, subjects: Sequence[Note], context: RunContext) -> dict[str, Vector]:
    """A vector of each subject: the stored one, unless more has been understood since."""
    stored = [note.id for note in subjects if note.parts is not None or not understanding(note)]
    await context.points(io, stored)
    vectors = {id: context.vectors[id][0] for id in stored if context.vectors.get(id)}
    rest = [note for note in subjects if note.id not in vectors]
    if rest:
        found = await io.embed([passages(note)[0] for note in rest])
        vectors.update(zip((note.id for note in rest), found, strict=True))
    return vectors


async def _neighbours(
    io: IO, settings: Settings, subject: Note, vector: Vector, context: RunContext
) -> list[CandidateRef]:
    limit = settings.neighbours
    where = older_than(subject)
    by_words = io.sparse.query(sparse_text(subject))
    queries = [Query(vector, where, limit)]
    if by_words.indices:
        queries.append(Query(by_words, where, limit, corpus=within(subject.namespace)))
    dense, *sparse = await io.engine.query(queries)
    spare = max(2, limit // 3)
    chosen = dict.fromkeys(
        [
            *await _turn_before(io, subject),
            *(hit.id for hit in dense[: limit - spare]),
            *(hit.id for hits in sparse for hit in hits[:spare]),
            *(hit.id for hit in dense),
        ]
    )
    points = await io.engine.get(list(chosen)[:limit], vectors=True)
    for point in points:
        context.keep(point)
    ranked = sorted(
        ((similarity(vector, point.dense), point) for point in points),
        key=lambda pair: (-pair[0], pair[1].id),
    )
    reverse = await _reverse_ranks(io, settings, where, ranked)
    return [
        CandidateRef(
            **read_ref(context.notes[point.id]),
            similarity=cosine,
            rank=rank,
            reverse_rank=reverse.get(point.id),
        )
        for rank, (cosine, point) in enumerate(ranked)
    ]


async def _turn_before(io: IO, subject: Note) -> list[str]:
    """The turn that the subject follows in its session, however little it resembles it."""
    if subject.session is None:
        return []
    where = [older_than(subject), match("session", subject.session)]
    if subject.sequence is not None:
        where.append(Range("sequence", gte=subject.sequence - 1, lte=subject.sequence - 1))
    points = await io.engine.scroll(
        both(*where), limit=1, order_by="created_at", descending=True, fields=("key",)
    )
    return [point.id for point in points]


def older_than(subject: Note) -> Condition:
    """Notes that are older than the subject: links lead from new to old (paper §3.2)."""
    return within(
        subject.namespace,
        _LINKABLE,
        Range("created_at", lt=micros(subject.created_at)),
        Not(ids([subject.id])),
    )


async def _reverse_ranks(
    io: IO, settings: Settings, older: Condition, ranked: Sequence[tuple[float, Point]]
) -> dict[str, int]:
    """How many notes are nearer to each candidate than the subject is, when few are."""
    near = [(cosine, point) for cosine, point in ranked if point.dense]
    if not settings.analyst.needs_statistics or not near:
        return {}
    lists = await io.engine.query(
        [
            Query(point.dense[0], both(older, Not(ids([point.id]))), settings.neighbours)
            for _, point in near
        ]
    )
    ranks = {
        point.id: sum(hit.score > cosine for hit in hits)
        for (cosine, point), hits in zip(near, lists, strict=True)
    }
    return {id: rank for id, rank in ranks.items() if rank < settings.neighbours}


# -- similarity ------------------------------------------------------------------------------


def similarity(vector: Vector, passages: Sequence[Vector]) -> float:
    """The cosine to the best passage, in [-1, 1]; 0 where there is none."""
    return max((_cosine(vector, passage) for passage in passages), default=0.0)


def _cosine(a: Vector, b: Vector) -> float:
    norm = math.hypot(*a) * math.hypot(*b)
    return sum(x * y for x, y in zip(a, b, strict=True)) / norm if norm else 0.0


async def usual_cosines(io: IO, namespace: Namespace, *, sample: int = _SAMPLE) -> list[float]:
    """The cosines of random pairs of a namespace's notes, ascending; empty if they are few."""
    # Ids are digests, so the first ones are as good as any.
    where = within(namespace, match("status", *SHOWN))
    found = await io.engine.scroll(where, limit=sample, fields=("kind",))
    return cosines_of(await io.engine.get([point.id for point in found], vectors=True))


def cosines_of(points: Sequence[Point]) -> list[float]:
    """The cosines of all pairs of points, ascending; empty if there are fewer than ENOUGH."""
    units = [_unit(point.dense[0]) for point in points if point.dense]
    cosines = sorted(sum(map(float.__mul__, a, b)) for a, b in combinations(units, 2))
    return cosines if len(cosines) >= ENOUGH else []


async def percentiles(
    io: IO, note: Note, others: Collection[str], context: RunContext
) -> Mapping[str, float]:
    """For each other note, the share of random pairs that are less similar than it is to `note`.

    In [0, 1]; empty if the namespace has too few notes to tell. A model can link what has
    nothing in common, so its links begin with the strength it gives them, times this share: a
    true link loses little, a made-up one half. Ours, not the paper's.
    """
    usual = await usual_cosines(io, note.namespace, sample=_SMALL_SAMPLE) if others else []
    if not usual:
        return {}
    await context.points(io, [note.id, *others])
    own = context.vectors.get(note.id, [])
    nearest = {
        id: max((similarity(vector, context.vectors[id]) for vector in own), default=0.0)
        for id in others
        if id in context.vectors
    }
    return {id: bisect_left(usual, cosine) / len(usual) for id, cosine in nearest.items()}


def _unit(vector: Sequence[float]) -> Vector:
    length = math.hypot(*vector) or 1.0
    return [x / length for x in vector]
