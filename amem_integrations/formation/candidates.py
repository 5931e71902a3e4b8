"""Candidates: the older notes that a new one is compared with (paper §3.2, the top-k neighbours).

The nearest by meaning come first. Notes that share its words fill up the list, so that a
language the embedder does not know still finds its neighbours.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from operator import mul
from types import MappingProxyType
from typing import Any

from amem_integrations.core.engine import Point, Query, Vector
from amem_integrations.core.filters import Condition, Not, Range, both, ids, match
from amem_integrations.core.io import IO
from amem_integrations.core.namespace import Namespace
from amem_integrations.core.note import Note, Status
from amem_integrations.core.status import SHOWN
from amem_integrations.formation.state import (
    CandidateRef,
    Run,
    RunContext,
    read_ref,
)
from amem_integrations.stores.codec import micros, note_from, within
from amem_integrations.stores.read import load, recent
from amem_integrations.stores.write import passages, sparse_text, understanding

ENOUGH = 100
"""How many random pairs tell which similarity is usual."""
_LINKABLE = (Status.RAW, Status.FORMED, Status.PARKED)
_BACKGROUND = 64
# The field by which notes are in order, which engines read from an index.
_ORDER = ("created_at", "sequence")
# What says nothing may stand between a turn and the one that it answers.
_FOLLOWED = 3
_SAMPLE = 48
_SMALL_SAMPLE = 24


async def find_candidates(io: IO, run: Run) -> dict[str, Any]:
    """Find the candidates of every open note."""
    subjects = [run.as_understood(note) for note in await run.open_notes(io)]
    vectors = await _vectors(io, subjects, run.context)
    found = await io.gather(*(_candidates(io, run, note, vectors[note.id]) for note in subjects))
    candidates: dict[str, list[CandidateRef]] = {}
    for note, refs in zip(subjects, found, strict=True):
        ids = {ref["id"] for ref in refs}
        # What was read to construct the note stays known, though it may be gone by now.
        candidates[note.id] = [*refs, *(r for r in run.candidates(note.id) if r["id"] not in ids)]
    return {"candidates": candidates}


async def turns_before(io: IO, run: Run) -> dict[str, list[CandidateRef]]:
    """The turn before each open note as its one candidate, for the notes that have one."""
    found: dict[str, list[CandidateRef]] = {}
    for note in await run.open_notes(io):
        before = await turn_before(io, note, older_than(note, *_LINKABLE, Status.SKIPPED))
        if before is not None:
            run.context.notes[before.id] = note_from(before)
            ref = read_ref(run.context.notes[before.id])
            found[note.id] = [CandidateRef(**ref, similarity=0.0, rank=0, reverse_rank=None)]
    return found


async def _vectors(io: IO, subjects: Sequence[Note], context: RunContext) -> dict[str, Vector]:
    """A vector of each subject: the stored one, unless more has been understood since."""
    stored = [note.id for note in subjects if note.parts is not None or not understanding(note)]
    await context.points(io, stored)
    read = {id: context.vectors[id].dense for id in stored if id in context.vectors}
    vectors = {id: dense[0] for id, dense in read.items() if dense}
    rest = [note for note in subjects if note.id not in vectors]
    if rest:
        found = await io.embed([passages(note)[0] for note in rest])
        vectors.update(zip((note.id for note in rest), found, strict=True))
    return vectors


async def _candidates(io: IO, run: Run, subject: Note, vector: Vector) -> list[CandidateRef]:
    limit = run.settings.neighbours
    older = older_than(subject)
    by_meaning, by_words = await search(io, subject, vector, limit, limit)
    # The turn before comes first, however little it resembles the subject.
    chosen = [ref["id"] for ref in run.candidates(subject.id)]
    if "candidates" not in run.state:
        # What is written of a note may draw on a turn that says nothing by itself.
        context = (Status.SKIPPED,) if run.settings.analyst.reads_candidates else ()
        spoken = older_than(subject, *_LINKABLE, *context)
        chosen = [each.id for each in await _turns_before(io, subject, spoken)]
    spare = max(2, limit // 3)
    chosen += [*by_meaning[: limit - spare], *by_words[:spare], *by_meaning]
    chosen = list(dict.fromkeys(chosen))[:limit]
    context = run.context
    await context.points(io, chosen)
    found = [id for id in chosen if id in context.vectors]
    near = [(similarity(vector, context.vectors[id].dense), id) for id in found]
    ranked = sorted(near, key=lambda pair: (-pair[0], pair[1]))
    reverse = await _reverse_ranks(io, run, older, ranked)
    return [
        CandidateRef(
            **read_ref(context.notes[id]),
            similarity=cosine,
            rank=rank,
            reverse_rank=reverse.get(id),
        )
        for rank, (cosine, id) in enumerate(ranked)
    ]


async def search(
    io: IO, note: Note, vector: Vector, by_meaning: int, by_words: int
) -> tuple[list[str], list[str]]:
    """Ids of the older notes that are nearest by meaning, and of those that share most words."""
    where = older_than(note)
    queries = [Query(vector, where, by_meaning)]
    words = io.sparse.query(sparse_text(note))
    if words.indices:
        queries.append(Query(words, where, by_words, corpus=within(note.namespace)))
    dense, *sparse = await io.engine.query(queries)
    return [hit.id for hit in dense], [hit.id for hits in sparse for hit in hits]


async def by_similarity(
    io: IO, vector: Vector, note_ids: Collection[str]
) -> list[tuple[float, Point]]:
    """The notes that exist, with their similarity to the vector, nearest first."""
    points = await io.engine.get(list(note_ids), vectors=True)
    pairs = [(similarity(vector, point.dense), point) for point in points]
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1].id))


async def turn_before(io: IO, note: Note, where: Condition) -> Point | None:
    """The last of the turns that a note follows in its session that meets `where`, if any does."""
    return next(iter(await _followed(io, note, where)), None)


async def _turns_before(io: IO, note: Note, where: Condition) -> list[Point]:
    """The turn before, and if that says nothing by itself, the last one that does as well."""
    found = await _followed(io, note, where, fields=(*_ORDER, "status"))
    said = [each for each in found if each.payload["status"] != Status.SKIPPED]
    return list({each.id: each for each in (*found[:1], *said[:1])}.values())


async def _followed(
    io: IO, note: Note, where: Condition, *, fields: tuple[str, ...] | None = None
) -> list[Point]:
    """The turns that a note follows in its session, the last one first."""
    if note.session is None:
        return []
    parts = [where, match("session", note.session)]
    if note.sequence is not None:
        parts.append(Range("sequence", gte=note.sequence - _FOLLOWED, lte=note.sequence - 1))
    found = await io.engine.scroll(
        both(*parts),
        limit=2 * _FOLLOWED,
        order_by="created_at",
        descending=True,
        fields=fields,
    )
    # Of several with one number, the newest.
    return sorted(found, key=lambda point: -(point.payload.get("sequence") or 0))


async def background(
    io: IO, note: Note, known: Mapping[str, Note] = MappingProxyType({})
) -> list[Note]:
    """Recent notes of the namespace that are older than `note`, newest first.

    known: notes that were read before, by id, as long as they are what is stored.
    """
    where = older_than(note)
    if len(known) < _BACKGROUND:
        return await recent(io, note.namespace, limit=_BACKGROUND, where=where)
    points = await io.engine.scroll(
        where, limit=_BACKGROUND, order_by="created_at", descending=True, fields=_ORDER
    )
    ids = [point.id for point in points]
    found = await load(io, [id for id in ids if id not in known], note.namespace)
    every = {**known, **found}
    return [every[id] for id in ids if id in every]


def older_than(subject: Note, *statuses: Status) -> Condition:
    """Notes that are older than the subject: links lead from new to old (paper §3.2).

    statuses: those of the notes; without any, those that can be linked to.
    """
    return within(
        subject.namespace,
        match("status", *(statuses or _LINKABLE)),
        Range("created_at", lt=micros(subject.created_at)),
        Not(ids([subject.id])),
    )


async def _reverse_ranks(
    io: IO, run: Run, older: Condition, ranked: Sequence[tuple[float, str]]
) -> dict[str, int]:
    """How many notes are nearer to each candidate than the subject is, when few are."""
    vectors = run.context.vectors
    near = [(cosine, id) for cosine, id in ranked if vectors[id].dense]
    if not run.settings.analyst.needs_statistics or not near:
        return {}
    # One more than wanted: the candidate is the nearest to itself.
    limit = run.settings.neighbours + 1
    lists = await io.engine.query([Query(vectors[id].dense[0], older, limit) for _, id in near])
    ranks = {
        id: sum(hit.score > cosine and hit.id != id for hit in hits)
        for (cosine, id), hits in zip(near, lists, strict=True)
    }
    return {id: rank for id, rank in ranks.items() if rank < run.settings.neighbours}


# -- similarity ------------------------------------------------------------------------------


def similarity(vector: Vector, passages: Sequence[Vector]) -> float:
    """The cosine to the best passage, in [-1, 1]; 0 where there is none."""
    length = math.hypot(*vector)
    return max((_cosine(vector, passage, length) for passage in passages), default=0.0)


def _cosine(a: Vector, b: Vector, length: float) -> float:
    norm = length * math.hypot(*b)
    return sum(map(mul, a, b)) / norm if norm else 0.0


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
    own = context.vectors[note.id].dense if note.id in context.vectors else ()
    nearest = {
        id: max((similarity(vector, context.vectors[id].dense) for vector in own), default=0.0)
        for id in others
        if id in context.vectors
    }
    return {id: bisect_left(usual, cosine) / len(usual) for id, cosine in nearest.items()}


def _unit(vector: Sequence[float]) -> Vector:
    length = math.hypot(*vector) or 1.0
    return [x / length for x in vector]
